"""One metric of two trials: is B better than A, worse, or the same?

A metric of which sessions have values is compared by `stats.compare`; power and energy where meters of one
scope took both sides, and never as declared. Accuracy is compared image by image where both trials predicted
the very same set, with McNemar's exact test and the paired interval. What is one exact number a trial, such
as the size of a file, is compared as that.
"""

from __future__ import annotations

from dataclasses import replace

from edgebench.fit.compared_metric import MetricComparison, Threshold, TrialSide, has_figure, with_figures
from edgebench.fit.metric import BySession, Metric
from edgebench.fit.session_comparison import by_rails, by_sessions, exactly
from edgebench.fit.share_comparison import by_failures, by_images
from edgebench.stats.intervals import session_medians
from edgebench.store.records import SceneRecord


def compare_metric(metric: Metric, a: TrialSide, b: TrialSide, threshold: Threshold) -> MetricComparison:
    """B against A, for itself: `adjusted_p` is not known yet."""
    blank = MetricComparison(metric.name, metric.unit, "not compared")
    if reason := _unlike(metric, a, b):
        return replace(with_figures(blank, metric, a, b), reason=reason)
    compared = metric.comparison
    if isinstance(compared, BySession):
        values = [session_medians(compared.values(side.summary)) for side in (a, b)]
        outcome = by_sessions(blank, metric, a, b, values, threshold)
    elif compared == "rails":
        outcome = by_rails(blank, metric, a, b, threshold)
    elif compared in ("images", "scene"):
        outcome = by_images(blank, metric, "images" if compared == "images" else "scene", a, b, threshold)
    elif compared == "failures":
        outcome = by_failures(blank, metric, a, b, threshold)
    elif compared == "exact":
        outcome = exactly(blank, metric, a, b, threshold)
    else:
        raise ValueError(f"results are not compared by {metric.name}")
    measured = compared != "exact" and outcome.word != "not compared"
    return _as_identical(outcome) if measured and _are_identical(a, b) else outcome


def _are_identical(a: TrialSide, b: TrialSide) -> bool:
    """Whether both sides are the very same sessions: their records hold the hashes of what was measured."""
    return bool(a.records) and list(a.records) == list(b.records)


def _as_identical(outcome: MetricComparison) -> MetricComparison:
    """Nothing is to be tested: what is itself is the same."""
    nothing = 1.0 if outcome.scale == "ratio" else 0.0
    return replace(
        outcome,
        word="same",
        difference=nothing,
        low=nothing,
        high=nothing,
        test="",
        p=None,
        sessions_needed=None,
        identical=True,
        reason="",
        note="the very same sessions",
    )


def _unlike(metric: Metric, a: TrialSide, b: TrialSide) -> str:
    """Why the figures of two trials are not of the same thing; empty where they are."""
    if metric.of_a_pass and (reason := _unlike_passes(a.scene, b.scene)):
        return reason
    if metric.name == "image_s" and a.summary.untimed_stages != b.summary.untimed_stages:
        lacks = [
            f"{name} is without {' and '.join(side.summary.untimed_stages)}"
            for name, side in (("A", a), ("B", b))
            if side.summary.untimed_stages and has_figure(metric, side.summary)
        ]
        if lacks:
            return f"image_s of {', of '.join(lacks)}"
    if metric.rail and a.period_s != b.period_s:
        periods = [_period(side.period_s) for side in (a, b)]
        return f"A was measured {periods[0]}, B {periods[1]}: power and energy hold the pauses"
    return ""


def _period(period_s: float | None) -> str:
    return "back to back" if period_s is None else f"every {period_s:g} s"


def _unlike_passes(a: SceneRecord, b: SceneRecord) -> str:
    """Why a pass over the one scene is not one over the other."""
    passes = [
        (scene.kind, scene.rows, scene.columns, scene.patch, scene.patch_width or scene.patch, scene.stride)
        for scene in (a, b)
    ]
    sizes = [(scene.height, scene.width) for scene in (a, b)]
    if passes[0] == passes[1] and sizes[0] == sizes[1]:
        return ""
    texts = [
        f"{scene.patches} patches of {scene.patch_width or scene.patch} x {scene.patch} "
        f"in {scene.width} x {scene.height} pixels"
        if scene.kind == "picture"
        else f"{scene.patches} samples"
        for scene in (a, b)
    ]
    return f"a pass of A is {texts[0]}, of B {texts[1]}"
