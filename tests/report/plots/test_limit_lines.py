"""Limits on an axis, where it holds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgebench.report import drawing
from edgebench.report.plots.latency import depth_picture, latency, latency_limits, targets
from edgebench.report.plots.limits import LimitLine, limit_lines
from tests.report import samples
from tests.report.plots.drawn import HOSTILE, figure_of, lines_of, texts


def test_a_limit_is_inside_up_to_three_times_from_the_figures() -> None:
    limits = {"near": 6.0, "also": 6.0, "late": 6.1, "soon": 0.3, "broken": float("nan"), "none": 0.0}
    assert limit_lines(limits, [1.0, 2.0]) == [
        LimitLine(0.3, ("soon",), "below"),
        LimitLine(6.0, ("near", "also"), "inside"),
        LimitLine(6.1, ("late",), "above"),
    ]
    assert limit_lines(limits, []) == []


def test_a_far_limit_is_left_to_the_caption() -> None:
    [axes] = latency(samples.nine(), {**samples.LIMITS, "soon": 0.01})
    [inside] = lines_of(axes, "limit")
    assert np.asarray(inside.get_ydata()).tolist() == [4.42, 4.42]
    low, high = axes.get_ylim()
    assert low < 0.2 and 4.42 < high < 70
    figure = figure_of([axes])
    assert "disco-realtime: 4.42 s" in texts(figure)
    assert drawing.tooltips(figure)[str(inside.get_gid())] == "disco-realtime: 4.42 s"


def test_a_limit_far_below_has_its_place_on_an_axis_from_zero() -> None:
    [axes] = latency([samples.summary()], {"soon": 0.001})
    assert axes.get_yscale() == "linear"
    [line] = lines_of(axes, "limit")
    assert np.asarray(line.get_ydata()).tolist() == [0.001, 0.001]
    assert axes.get_ylim()[0] == 0


def test_upright_lines_have_their_names_above_the_axes() -> None:
    axes = targets(samples.nine(), samples.LIMITS)
    [inside] = lines_of(axes, "limit")
    assert np.asarray(inside.get_xdata()).tolist() == [4.42, 4.42]
    assert "disco-realtime: 4.42 s" in texts(figure_of([axes]))


def test_names_of_profiles_are_text() -> None:
    [axes] = latency([samples.summary()], {HOSTILE: 0.3})
    figure = figure_of([axes])
    assert any("$\\frac" in text and "??" in text for text in texts(figure))
    assert b"<b>" not in drawing.as_bytes(figure, "svg", outlined=False)


def test_the_caption_names_the_limits_beyond_the_axis() -> None:
    nine = samples.nine()
    [verdict, *_] = samples.verdicts(nine)
    limits = [replace(verdict, profile="soon", limit=0.001), replace(verdict, profile="late", limit=9000.0)]
    caption = depth_picture(nine, limits).caption
    assert "Far from every figure: the limits of soon (0.001 s) and late (9000 s)." in caption
    assert "Dashed" not in caption


def test_a_limit_in_milliseconds_is_drawn_in_seconds() -> None:
    nine = samples.nine()
    [verdict, *_] = samples.verdicts(nine)
    in_ms = replace(verdict, profile="in-ms", limit=1200.0, unit="ms", wanted=False)
    assert latency_limits([in_ms], verdict.quantity) == {"in-ms": pytest.approx(1.2)}
    assert "Far" not in depth_picture(nine, [in_ms]).caption
