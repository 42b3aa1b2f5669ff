"""How long sessions of windows are said to take."""

from dataclasses import replace
from pathlib import Path

import pytest

from edgebench.link.window_session import GOLDEN_PATCHES, USUAL, window_stages_s
from edgebench.records.session import MeasurePlan
from edgebench.records.values import ImageSet, Scene

PLAN = MeasurePlan(Scene(Path("scene.npy"), "00", 4512, 4512), 5, patches=1)
LOAD_S = (13.3, 31.6)


def seconds(plan=PLAN, inference_s=(0.16, 0.16)):
    return window_stages_s(plan, USUAL, LOAD_S, inference_s)


def test_windows_take_what_they_may_until_an_inference_is_known():
    assert seconds(inference_s=None)["passes"] == (50.0, 5 * 27.5)
    least_s, most_s = seconds()["passes"]
    assert least_s == pytest.approx(5 * 69 * 0.16)  # 11 s of them
    assert most_s == pytest.approx(least_s + 5 * 2.5)  # and their warm-up


def test_inferences_that_are_known_roughly_make_windows_of_their_own():
    stages = seconds(inference_s=(0.16, 2.0))
    assert stages["first pass"] == pytest.approx((13.3 + 69 * 0.16, 31.6 + 10 * 2.0 + 2.5))
    assert stages["load"] == pytest.approx((GOLDEN_PATCHES * 13.46, GOLDEN_PATCHES * 33.6))


def test_patches_that_take_turns_are_sent_anew():
    one, several = seconds(), seconds(plan=replace(PLAN, patches=5))
    assert several["passes"][0] - one["passes"][0] == pytest.approx(5 * 13.3)


def test_images_and_golden_patches_are_sent_one_by_one():
    images = ImageSet("some", Path("images.npy"), "00", 50, None, ())
    stages = seconds(plan=replace(PLAN, images=images))
    assert stages["images"] == pytest.approx((50 * 13.46, 50 * 31.76))
    assert stages["images"][0] == pytest.approx(50 / GOLDEN_PATCHES * stages["load"][0])


def test_a_sustained_part_is_as_long_as_it_was_asked_for():
    assert seconds(plan=replace(PLAN, sustained_s=600.0))["passes"] == (600.0, 600.0)
