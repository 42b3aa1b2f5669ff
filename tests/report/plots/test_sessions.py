"""Sessions and passes in time order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edgebench.judge.trial import Trial
from edgebench.report.plots import drawing
from edgebench.report.plots.sessions import (
    IN_A_PANEL,
    MAX_TRIALS,
    MOST_POINTS,
    drawn_trials,
    sessions,
    sessions_picture,
    thinned,
)
from edgebench.stats.warnings import Caution, Flag
from tests.report import samples
from tests.report.plots.drawn import figure_of, lines_of, svg_of

VALUES_S = ((0.20, 0.21, 0.20), (0.22, 0.23, 0.24))


def trial(values_s: tuple[tuple[float, ...], ...] = VALUES_S, **changes: Any) -> Trial:
    median = float(np.mean([np.median(session) for session in values_s if session]))
    return samples.summary(image_s=samples.interval(median), image_s_values=values_s, **changes)


def test_passes_stand_in_time_order_as_shares_of_the_trials_median() -> None:
    [axes] = sessions([trial()])
    [line] = lines_of(axes, "trial")
    x, y = (np.asarray(data, float) for data in line.get_data())
    drawn = ~np.isnan(y)
    assert y[drawn] == pytest.approx(np.array(VALUES_S).ravel() / 0.215 * 100)
    assert (np.diff(x[drawn]) > 0).all()
    assert np.isnan(y[3])  # no line from one session to the next
    [medians] = [collection.get_segments() for collection in axes.collections]  # type: ignore[attr-defined]
    assert [segment[0][1] for segment in medians] == pytest.approx([0.20 / 0.215 * 100, 0.23 / 0.215 * 100])
    assert axes.get_ylabel() == "latency per image,\n% of the trial's median"
    assert "passes in time order" in axes.get_xlabel()


def test_p90_takes_ten_passes() -> None:
    long = tuple(0.2 + number / 1000 for number in range(11))
    figure = figure_of(sessions([trial((long,)), replace(trial(), key="b" * 16)]))
    [axes] = figure.axes
    p90 = [np.asarray(line.get_ydata(), float).tolist() for line in axes.lines if line.get_marker() == "v"]
    assert p90[0] == [pytest.approx(np.percentile(long, 90) / np.median(long) * 100)]
    assert np.isnan(p90[1]).all()
    first, _ = drawing.tooltips(figure).values()
    assert first.endswith(": 0.205 s in one session")


def test_suspected_throttling_is_told_apart_and_named() -> None:
    hot = trial(key="b" * 16, cautions=(Caution(Flag.THERMAL_SUSPECTED),))
    trials = [trial(), replace(hot, precision="fp16", variant="mobilenet_v1-0.25-fp16")]
    figure = figure_of(sessions(trials))
    colours = [line.get_color() for line in lines_of(figure.axes[0], "trial")]
    assert colours == [drawing.SKY, drawing.VERMILION]
    assert "passes,\nthrottling suspected" in [text.get_text() for text in figure.legends[0].get_texts()]
    assert "Throttling is suspected of 0.25 fp16." in sessions_picture(trials).caption


def test_passes_far_above_the_rest_stand_at_the_edge_and_flatten_nothing() -> None:
    steady = (0.2,) * 50 + (9.0,)
    [axes] = sessions([trial((steady,))])
    assert axes.get_ylim()[1] < 120
    [edge] = [line for line in axes.lines if line.get_color() == drawing.ORANGE]
    assert np.asarray(edge.get_ydata()).tolist() == [axes.get_ylim()[1]]


def test_thinning_keeps_the_lowest_and_the_highest_in_order() -> None:
    values = np.random.default_rng(3).normal(1, 0.1, 10_001)
    values[7_777], values[1_234] = 9.0, 0.1
    at = thinned(values, 100)
    assert len(at) <= 100 and (np.diff(at) > 0).all()
    assert {7_777, 1_234} <= set(at.tolist())
    assert thinned(values[:5], 100).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.attack("100 trials of 3,000 passes: the figure of their sessions stays below 300 kB")
def test_a_large_result_makes_no_large_figure() -> None:
    rng = np.random.default_rng(1)
    blocks = [tuple(rng.normal(0.2, 0.002, 1_000).tolist()) for _ in range(3)]
    trials = [
        trial(tuple(blocks), key=f"{number:016x}", target=f"board {number % 4}") for number in range(100)
    ]
    shown = drawn_trials(trials)
    assert len(shown) == MAX_TRIALS and {trial.target for trial in shown} == {f"board {n}" for n in range(4)}
    all_axes = sessions(trials)
    assert len(all_axes) == 4 and MAX_TRIALS // 4 == IN_A_PANEL
    drawn = sum(np.asarray(line.get_xdata()).size for axes in all_axes for line in lines_of(axes, "trial"))
    assert drawn <= MOST_POINTS + 3 * MAX_TRIALS
    assert len(svg_of(all_axes)) < 300_000
    caption = sessions_picture(trials).caption
    assert "drawn by the lowest and the highest pass of each part" in caption
    assert "36 of 100 trials are drawn." in caption


def test_trials_without_passes_are_left_out_with_the_reason() -> None:
    published = replace(samples.summary(), values={})
    [axes] = sessions([published])
    assert [text.get_text() for text in axes.texts] == ["no trial has passes"]
    assert sessions_picture([published]).figure is None
    [axes] = sessions([published, trial(((), VALUES_S[1]), key="b" * 16)])
    assert len(lines_of(axes, "trial")) == 1


def test_a_trial_whose_median_is_zero_has_no_shares() -> None:
    nil = trial(((0.0, 0.0, 0.0),))
    sound = trial()
    assert drawn_trials([nil, sound]) == [sound]
