"""Limits on an axis, where it holds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgebench.judge.trial import Estimate
from edgebench.judge.verdicts.verdict import verdict_of
from edgebench.report.plots import drawing
from edgebench.report.plots.accuracy import accuracy, accuracy_picture
from edgebench.report.plots.latency import depth_picture, latency, limits_of, targets
from edgebench.report.plots.panels import Scale, limits_note
from tests.report import samples
from tests.report.plots.drawn import HOSTILE, figure_of, lines_of, texts


def scale(limits: dict[str, float], *values: float) -> Scale:
    return Scale("", "s", [Estimate(value) for value in values], limits)


def test_a_limit_is_inside_up_to_three_times_from_the_figures() -> None:
    limits = {"near": 6.0, "also": 6.0, "late": 6.1, "soon": 0.3, "broken": float("nan"), "none": 0.0}
    assert scale(limits, 1.0, 2.0).lines == {6.0: ["near", "also"]}
    assert scale({"low": 0.34, "high": 6.0}, 1.0, 2.0).lines == {0.34: ["low"], 6.0: ["high"]}
    assert scale(limits).lines == {} and limits_note(scale(limits)) == ""


def test_a_far_limit_is_left_to_the_caption() -> None:
    [axes] = latency(samples.nine(), {**samples.LIMITS, "soon": 0.01})
    [inside] = lines_of(axes, "limit")
    assert np.asarray(inside.get_ydata()).tolist() == [4.42, 4.42]
    low, high = axes.get_ylim()
    assert low < 0.2 and 4.42 < high < 70
    figure = figure_of([axes])
    assert "disco-realtime: 4.42 s" in texts(figure)
    assert drawing.tooltips(figure)[str(inside.get_gid())] == "disco-realtime: 4.42 s"


def test_equal_far_limits_are_listed_once() -> None:
    limits = {f"Mission number {n}": 71.7375 for n in range(1, 13)} | {"Other": 90.0}
    assert limits_note(scale(limits, 1.0)) == (
        "Limits beyond the axis: Mission number 1, 2, 3 and 9 more (71.7 s) and Other (90.0 s)."
    )


def test_upright_lines_have_their_names_above_the_axes() -> None:
    axes = targets(samples.nine(), samples.LIMITS)
    [inside] = lines_of(axes, "limit")
    assert np.asarray(inside.get_xdata()).tolist() == [4.42, 4.42]
    assert "disco-realtime: 4.42 s" in texts(figure_of([axes]))


def test_the_chart_of_accuracy_has_the_limits_of_both() -> None:
    nine = samples.nine()
    shares = {"disco-realtime": 0.93, "far": 0.05}
    [axes] = accuracy(nine, samples.LIMITS, shares)
    upright, level = lines_of(axes, "limit")
    assert np.asarray(upright.get_xdata()).tolist() == [4.42, 4.42]
    assert np.asarray(level.get_ydata()).tolist() == [93.0, 93.0]
    assert {"disco-realtime: 4.42 s", "disco-realtime: 93 %"} <= set(texts(figure_of([axes])))
    caption = accuracy_picture(nine, samples.LIMITS, shares).caption
    assert caption.count("Dashed") == 1
    assert "disco-greenland (270 s) and far (5.00 %)." in caption


def test_names_of_profiles_are_text() -> None:
    [axes] = latency([samples.summary()], {HOSTILE: 0.3})
    figure = figure_of([axes])
    assert any("$\\frac" in text and "??" in text for text in texts(figure))
    assert b"<b>" not in drawing.as_bytes(figure, "svg", outlined=False)


def test_the_caption_names_the_limits_beyond_the_axis() -> None:
    caption = depth_picture(samples.nine(), {"soon": 0.001, "late": 9000.0}).caption
    assert "Limits beyond the axis: soon (0.00100 s) and late (9000 s)." in caption
    assert "Dashed" not in caption


def test_a_limit_in_milliseconds_is_drawn_in_seconds() -> None:
    nine = samples.nine()
    [verdict, *_] = samples.verdicts(nine)
    requirement = verdict.requirement.model_copy(update={"limit": 1200.0, "unit": "ms"})
    in_ms = replace(verdict_of(nine[0], requirement), profile="in-ms")
    assert limits_of([in_ms], requirement.quantity) == {"in-ms": pytest.approx(1.2)}
    assert "Dashed" in depth_picture(nine, {"in-ms": 1.2}).caption
