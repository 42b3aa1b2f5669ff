"""All targets on one axis, with the ratio to the quickest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import Trial
from edgebench.report.plots import drawing
from edgebench.report.plots.latency import (
    MAX_ROWS,
    quickest_first,
    ratios_to_quickest,
    targets,
    targets_picture,
)
from edgebench.report.words import interval
from edgebench.stats.compare import compare
from tests.report import samples
from tests.report.plots.drawn import figure_of, lines_of, texts

QUICK_S, SLOW_S = ((0.20, 0.201), (0.21, 0.211), (0.20, 0.202)), ((0.40, 0.41), (0.42, 0.43), (0.44, 0.45))


def trial(target: str, key: str, values_s: tuple[tuple[float, ...], ...], **changes: Any) -> Trial:
    median = float(np.mean([np.median(session) for session in values_s]))
    latency = samples.interval(median, sessions=len(values_s))
    return samples.summary(target=target, key=key, image_s=latency, image_s_values=values_s, **changes)


def pair() -> list[Trial]:
    return [trial("slow board", "b" * 16, SLOW_S), trial("quick board", "a" * 16, QUICK_S)]


def test_a_row_a_trial_from_the_quickest_with_its_interval_and_ratio() -> None:
    axes = targets(pair())
    points = [np.column_stack(line.get_data()).tolist() for line in lines_of(axes, "trial")]
    medians = [float(np.mean([np.median(session) for session in each])) for each in (QUICK_S, SLOW_S)]
    assert points == [[[pytest.approx(medians[0]), 0.0]], [[pytest.approx(medians[1]), 1.0]]]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "quick board: 0.25 int8",
        "slow board: 0.25 int8",
    ]
    expected = compare(
        [float(np.median(session)) for session in QUICK_S],
        [float(np.median(session)) for session in SLOW_S],
        lower_is_better=True,
    )
    ratio = ratios_to_quickest(quickest_first(pair()))["b" * 16]
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx(
        (expected.ratio, expected.low, expected.high)
    )
    drawn = texts(figure_of([axes]))
    assert {"quickest", interval(ratio), "times the quickest\n(95 % interval)"} <= drawn
    assert axes.get_xlabel().endswith("\nbars: 95 % intervals")


def test_each_row_has_its_own_name_where_targets_alternate() -> None:
    keys = [letter * 16 for letter in "abcd"]
    trials = [
        samples.summary(key=key, target="ab"[at % 2], batch=1 + at, image_s=samples.interval(1.0 + at))
        for at, key in enumerate(keys)
    ]
    axes = targets(trials)
    names = [label.get_text().split(" 1.")[0].replace("\n", " ") for label in axes.get_yticklabels()]
    assert [name[0] + name[-1] for name in names] == ["a1", "b2", "a3", "b4"]
    assert [text[0] for text in drawing.tooltips(figure_of([axes])).values()] == ["a", "b", "a", "b"]


def test_few_sessions_and_published_figures_have_a_ratio_without_interval() -> None:
    few = [trial("a", "a" * 16, QUICK_S[:2]), trial("b", "b" * 16, SLOW_S)]
    published = [replace(trial, values={}) for trial in pair()]
    for trials in (few, published):
        [ratio] = ratios_to_quickest(quickest_first(trials)).values()
        assert ratio.low is None and ratio.high is None and ratio.value and ratio.value > 1
        caption = targets_picture(trials, {}).caption
        assert "A ratio without an interval: published, or too few sessions." in caption
    assert "times the quickest" in texts(figure_of([targets(few)]))


def test_of_many_trials_the_quickest_of_each_target_is_drawn() -> None:
    many = [
        samples.summary(
            target=f"board {number % 40:02}",
            key=f"{number:016x}",
            image_s=samples.interval(0.1 + number / 100),
        )
        for number in range(80)
    ]
    rows = quickest_first(many)
    assert len(rows) == MAX_ROWS == len({trial.target for trial in rows})
    assert rows[0].key == f"{0:016x}" and rows[1].key == f"{1:016x}"
    assert (
        "Drawn of 80 trials: the quickest of each target, the first 36." in targets_picture(many, {}).caption
    )


def test_times_of_different_kinds_are_not_mixed() -> None:
    infer_alone = samples.summary(1.0, image_s=None)
    drawn = quickest_first([*pair(), infer_alone])
    assert [trial.latency_metric for trial in drawn] == ["image_s"] * 2
    assert targets([infer_alone]).get_xlabel().startswith(METRICS["infer_s"].titled)


def test_nothing_to_draw_has_its_reason() -> None:
    axes = targets([samples.without_figures(0.25, "int8", "failed", "it crashed")])
    assert [text.get_text() for text in axes.texts] == ["no trial has a time"]
    picture = targets_picture([], {})
    assert picture.figure is None and "no trial has a time" in picture.caption


def test_every_row_tells_its_figures_when_pointed_at_and_to_those_who_cannot_see_it() -> None:
    ratio = interval(ratios_to_quickest(quickest_first(pair()))["b" * 16])
    first, second = drawing.tooltips(figure_of([targets(pair())])).values()
    assert first.startswith("quick board: 0.25 int8: 0.20") and first.endswith("the quickest")
    assert second.endswith(f"{ratio} times the quickest")
    subject = "Median latency per image from the quickest to the slowest"
    assert targets_picture(pair(), {}).alt == f"{subject}: {first}; {second}"
