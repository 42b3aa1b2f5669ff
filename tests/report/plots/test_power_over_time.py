from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from edgebench.judge.judged import Judged
from edgebench.judge.power.trace import PowerTrace, RailTrace
from edgebench.judge.requirements.profile import Profile, shipped_profiles
from edgebench.report.plots import drawing
from edgebench.report.plots.power import (
    drawn_traces,
    power_limits,
    power_over_time,
    power_over_time_picture,
)
from tests.report import samples
from tests.report.plots.drawn import HOSTILE, figure_of, is_a, lines_of, svg_of

RAIL = samples.power()[0]
TRACE = PowerTrace(
    "a", 1, "board",
    (RailTrace(RAIL, np.arange(100) / 10, np.where(np.arange(100) < 30, 1.0, 3.0), 2.9),),
    np.array([[4.0, 6.0], [6.0001, 8.0]]), np.array([[0.0, 3.0], [9.0, 9.9]]),
)  # fmt: skip


def lines(axes: Axes, kind: str) -> list[list[list[float]]]:
    """The points of all lines of one kind."""
    drawn = [
        np.column_stack([np.asarray(data, float) for data in line.get_data()])
        for line in lines_of(axes, kind)
    ]
    return [points.tolist() for points in drawn]


def spans(axes: Axes, kind: str) -> list[tuple[float, float]]:
    """Start and end of every shaded area of one kind."""
    [shaded] = [collection for collection in axes.collections if is_a(collection, kind)]
    times = [np.asarray(path.vertices, float)[:, 0] for path in shaded.get_paths()]
    return [(float(times_s.min()), float(times_s.max())) for times_s in times]


def test_samples_passes_idle_windows_mean_and_limits_are_drawn_where_they_are() -> None:
    all_axes = power_over_time([TRACE], {"a": "0.25 int8"}, {"disco, peak": 5.0})
    [axes] = all_axes
    [rail] = TRACE.rails
    assert lines(axes, "power") == [np.column_stack((rail.t_s, rail.watts)).tolist()]
    assert lines(axes, "mean") == [[[4.0, 2.9], [8.0, 2.9]]]
    assert [points[0][1] for points in lines(axes, "limit")] == [5.0]
    assert spans(axes, "steady") == [(4.0, 8.0)]  # with less than a pixel between them
    assert spans(axes, "idle") == [(0.0, 3.0), (9.0, 9.9)]
    assert axes.get_title(loc="left") == "0.25 int8, session 001"
    assert axes.get_ylabel() == "power of the board, W" and axes.get_xlabel().endswith(", s")
    assert axes.get_ylim() == pytest.approx((0.0, 5.6))
    [legend] = figure_of(all_axes).legends
    named = {text.get_text() for text in legend.get_texts()}
    assert {"rapl package-0", "steady passes", "idle"} <= named
    assert [text.get_text() for text in axes.texts] == ["disco, peak: 5 W"]


def test_other_scopes_and_trials_are_panels_of_their_own_with_one_scale_a_scope() -> None:
    [rail] = TRACE.rails
    chip = replace(TRACE, scope="chip", rails=(replace(rail, watts=rail.watts / 10),))
    higher = replace(TRACE, trial="b", rails=(replace(rail, watts=rail.watts * 4),))
    names = {"a": "0.25 int8", "b": "1.0 fp32"}
    all_axes = power_over_time([TRACE, chip, higher], names, {})
    tops = [axes.get_ylim()[1] for axes in all_axes]
    assert len(tops) == 3 and tops[0] == tops[2] > 10 * tops[1]
    assert [axes.get_ylabel().split()[-2] for axes in all_axes] == ["board,", "chip,", "board,"]


def test_gaps_break_the_line_and_a_lone_sample_is_a_dot() -> None:
    [rail] = TRACE.rails
    watts = rail.watts.copy()
    watts[40:60] = np.nan
    watts[50] = 7.0
    all_axes = power_over_time([replace(TRACE, rails=(replace(rail, watts=watts),))], {"a": ""}, {})
    [axes] = all_axes
    [line] = lines_of(axes, "power")
    assert np.isnan(np.asarray(line.get_ydata(), float)).sum() == 2
    dots = [np.asarray(other.get_ydata()).tolist() for other in axes.lines if other.get_marker() == "."]
    assert dots == [[7.0]]


@pytest.mark.attack("a meter gives a reading every 10 us: the figure of its power stays below 100 kB")
def test_a_million_samples_make_no_larger_figure() -> None:
    t_s = np.arange(1_000_000) / 1e5
    rails = (RailTrace(RAIL, t_s, 3 + np.sin(t_s * 1e4), 3.0),)
    svg = svg_of(power_over_time([replace(TRACE, rails=rails)], {"a": ""}, {}))
    assert len(svg) < 100_000


@pytest.mark.attack("a meter's name, rail and scope hold markup: the figure of its power draws them as text")
def test_names_from_outside_are_drawn_as_text() -> None:
    [rail] = TRACE.rails
    scope: Any = HOSTILE
    hostile = replace(rail.rail, name=f"{HOSTILE} {HOSTILE}", scope=scope)
    trace = replace(TRACE, scope=scope, rails=(replace(rail, rail=hostile),))
    svg = svg_of(power_over_time([trace], {"a": HOSTILE}, {HOSTILE: 5.0}))
    assert b"<b>" not in svg and b"&_x" not in svg


def test_limits_of_power_are_in_watts_with_their_statistic() -> None:
    own = Profile.model_validate(
        {
            "name": "own",
            "requirements": [{"name": "mean", "quantity": "power_mean_w", "limit": 900, "unit": "mW"}],
        }
    )
    limits = power_limits([*shipped_profiles(), own])
    assert limits["own, mean power"] == 0.9
    assert limits["disco-realtime, peak power over 1 s"] == 5.0


def test_a_page_has_the_figure_where_a_meter_was(hostile: Judged, whole: Judged) -> None:
    picture = power_over_time_picture(hostile.results, hostile.trials, shipped_profiles())
    assert picture is not None and picture.figure is not None
    assert "coral on the Pi" in picture.alt and "samples over" in picture.alt
    assert power_over_time_picture(whole.results, whole.trials, ()) is None
    metered = next(trial for trial in hostile.trials if trial.rails)
    unread = replace(metered, rails=tuple(replace(rail, channel="gone") for rail in metered.rails))
    picture = power_over_time_picture(hostile.results, [unread], ())
    assert picture is not None and picture.figure is None and "no meter gave a sample" in picture.caption


def test_some_trials_of_every_target_are_drawn(hostile: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "MAX_PANELS", 2)
    picture = power_over_time_picture(hostile.results, hostile.trials, ())
    metered = [trial for trial in hostile.trials if trial.rails]
    drawn = drawn_traces(hostile.results, hostile.trials)
    by_key = {trial.key: trial.target for trial in metered}
    assert [by_key[trace.trial] for trace in drawn] == list(dict.fromkeys(by_key.values()))
    assert (
        picture is not None
        and f"Not drawn: {len(metered) - 2} trials; the figure is full." in picture.caption
    )


def test_a_limit_far_above_the_power_is_left_to_the_caption() -> None:
    [axes] = power_over_time([TRACE], {"a": ""}, {"near": 5.0, "far": 15.0, "farther": 40.0})
    [near] = lines_of(axes, "limit")
    assert np.asarray(near.get_ydata()).tolist() == [5.0, 5.0]
    assert axes.get_ylim()[1] < 7
