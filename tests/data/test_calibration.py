"""Calibration images: a bounded choice, and never those of the test."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from edgebench.errors import InputError
from edgebench.prepare import image_sets as calibration
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import load_calibration, refuse_overlap
from edgebench.prepare.images import load_images
from tests.user_models import make_pictures


def test_more_than_are_needed_are_chosen_evenly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calibration, "MOST", 3)
    cache, folder = Cache(tmp_path / "cache"), make_pictures(tmp_path / "set", 1)
    chosen, whole = load_calibration(folder, cache, 16), load_images(folder, cache, 16)
    assert (chosen.n, chosen.labels) == (3, (0, 1, 2))
    np.testing.assert_array_equal(np.load(chosen.path), np.load(whole.path)[[0, 4, 8]])
    assert load_calibration(folder, cache, 16) == chosen


def test_a_picture_in_both_sets_is_found_by_its_content(tmp_path: Path):
    cache = Cache(tmp_path / "cache")
    tested, other = make_pictures(tmp_path / "test", 1), make_pictures(tmp_path / "other", 2)
    refuse_overlap(load_calibration(other, cache, 16), load_images(tested, cache, 16))
    shutil.copyfile(tested / "dog" / "1.png", other / "cat" / "under_another_name.png")
    with pytest.raises(InputError) as caught:
        refuse_overlap(load_calibration(other, cache, 16), load_images(tested, cache, 16))
    assert "number 5 of test" in caught.value.why
