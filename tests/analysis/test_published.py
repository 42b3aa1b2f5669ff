"""The published figures as frames: nothing of them is lost or made up on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import edgebench
from edgebench.judge.published import judge_published
from edgebench.stats.compare import wilson


def figure(metric: str, target: str, variant: str | None = None) -> dict[str, Any]:
    figures = edgebench.published().figures
    rows = figures[(figures["target"] == target) & (figures["metric"] == metric)]
    rows = rows if variant is None else rows[rows["variant"] == variant]
    assert len(rows) == 1
    return {str(name): value for name, value in rows.iloc[0].items()}


def test_every_published_figure_has_one_row_with_its_source() -> None:
    figures = edgebench.published().figures
    judged = judge_published([])
    assert set(figures["trial"]) == {trial.key for trial in judged.trials} and len(figures) > 20
    assert figures["address"].str.startswith("https://").all()
    assert set(figures["form"]) == {"number", "share", "bound", "picture"}
    assert figures.loc[figures["form"] == "picture", ["value", "low", "high"]].isna().all(axis=None)


def test_a_time_of_one_patch_is_scaled_up_and_says_of_how_many_it_was() -> None:
    row = figure("infer_s", "stm32h747", "mobilenet_v1-0.25-int8")
    assert row["value"] == pytest.approx(400 * 0.16378)
    assert (row["patches"], row["unit"], row["form"]) == (1, "s", "number")
    assert np.isnan([row["low"], row["high"]]).all()


def test_a_bound_has_the_one_end_that_is_known_and_the_words() -> None:
    peak = figure("power_peak_w", "jetson-nano")
    assert (peak["form"], peak["bound"], peak["low"]) == ("bound", "above", 5.0)
    assert np.isnan([peak["value"], peak["high"]]).all()
    assert peak["words"] == "exceeds 5 W peak"
    latency = figure("image_s", "coral-usb")
    assert (latency["bound"], latency["high"]) == ("at most", 4.42) and np.isnan(latency["value"])


def test_a_share_has_its_wilson_interval() -> None:
    row = figure("accuracy", "disco-flowers", "mobilenet_v1-0.25-int8")
    assert (row["k"], row["n"], row["value"]) == (619, 734, 619 / 734)
    assert (row["low"], row["high"]) == wilson(619, 734)


def test_verdicts_are_those_of_the_command() -> None:
    judged = judge_published()
    frame = edgebench.published().verdicts()
    assert list(frame["trial"]) == [verdict.trial for verdict in judged.verdicts]
    assert list(frame["verdict"]) == [verdict.word for verdict in judged.verdicts]
    of_one = edgebench.published().verdicts("disco-realtime")
    assert set(of_one["profile"]) == {"disco-realtime"}
    decided = of_one[of_one["verdict"].isin(["pass", "fail"])]
    decided = decided[decided["metric"] != "size_mm"]  # of boards
    slow = ("coral-dev-board-cpu", "stm32h747", "stm32mp257f")  # by their inference alone
    assert set(zip(decided["target"], decided["metric"], decided["verdict"], strict=True)) == {
        *((target, "image_s", "fail") for target in slow),
        ("coral-mini", "image_s", "pass"),
        ("coral-mini", "power_peak_w", "pass"),
        ("coral-usb", "image_s", "pass"),
        ("coral-usb", "power_peak_w", "pass"),
        ("jetson-nano", "power_peak_w", "fail"),
        ("ncs2", "power_peak_w", "fail"),
    }


def test_it_shows_itself() -> None:
    published = edgebench.published()
    assert "11 targets" in repr(published)
    assert published._repr_html_().count("<tr>") == len(published.figures)
