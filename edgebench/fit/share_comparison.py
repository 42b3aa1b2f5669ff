"""Two trials compared by shares: of the images that are right, of the sessions that failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from edgebench.fit.accuracy import Predictions
from edgebench.fit.accuracy_drop import drop_of
from edgebench.fit.compared_metric import (
    MetricComparison,
    Threshold,
    TrialSide,
    Word,
    missing_figure,
    with_figures,
)
from edgebench.fit.metric import Metric
from edgebench.fit.trial_summary import Accuracy
from edgebench.stats.proportion import fisher, mcnemar, share_difference


def by_images(
    blank: MetricComparison,
    metric: Metric,
    set_name: Literal["images", "scene"],
    a: TrialSide,
    b: TrialSide,
    threshold: Threshold,
) -> MetricComparison:
    """Image by image where both predicted one set; else as two shares, where the sets are of one kind."""
    of_a, of_b = metric.value(a.summary), metric.value(b.summary)
    if not isinstance(of_a, Accuracy) or not isinstance(of_b, Accuracy):
        return replace(with_figures(blank, metric, a, b), reason=missing_figure(metric, a, b))
    counted = replace(
        with_figures(blank, metric, a, b),
        scale="points",
        a_n=of_a.n,
        b_n=of_b.n,
        of="images" if set_name == "images" else "patches",
    )
    sets = [side.images if set_name == "images" else side.scene for side in (a, b)]
    is_same_set = sets[0] is not None and sets[1] is not None and sets[0].sha256 == sets[1].sha256
    mine, theirs = (side.predictions(set_name) if is_same_set else None for side in (a, b))
    drop = drop_of(mine, theirs) if mine is not None and theirs is not None else None
    if mine is not None and theirs is not None and drop is not None and _predict_alike(a, b, mine, theirs):
        nothing = replace(counted, word="same", difference=0.0, low=0.0, high=0.0)
        return replace(nothing, note="the same file predicts the same of each image")
    if drop is not None:  # of A below B
        p = mcnemar(drop.only_this_right, drop.only_fp32_right)
        right, wrong = drop.only_fp32_right, drop.only_this_right
        outcome = replace(counted, difference=drop.points, low=drop.low, high=drop.high, p=p, test="McNemar")
        return _by_points(
            outcome,
            metric,
            threshold,
            note=f"right on {right} that A is wrong on, wrong on {wrong} that A is right on{_overlap(of_a)}",
        )
    if sorted(of_a.class_names) != sorted(of_b.class_names):
        return replace(counted, reason="the images have other classes")
    difference, low, high = (100 * share for share in share_difference((of_a.k, of_a.n), (of_b.k, of_b.n)))
    p = fisher((of_a.k, of_a.n), (of_b.k, of_b.n))
    outcome = replace(counted, difference=difference, low=low, high=high, p=p, test="Fisher")
    note = "not of the same images: the sets may differ in how hard they are"
    if is_same_set:
        note = "predictions of both sides cannot be matched image by image"
    return _by_points(outcome, metric, threshold, note=f"{note}{_overlap(of_a)}")


def _overlap(accuracy: Accuracy) -> str:
    return "; overlapping crops make its interval a little too narrow" if accuracy.overlapping else ""


def _predict_alike(a: TrialSide, b: TrialSide, of_a: Predictions, of_b: Predictions) -> bool:
    """Whether one file gave both and they agree throughout: nothing is left to chance then."""
    same_file = a.artifact_sha256 is not None and a.artifact_sha256 == b.artifact_sha256
    return same_file and np.array_equal(of_a.predicted, of_b.predicted)


def _by_points(
    outcome: MetricComparison, metric: Metric, threshold: Threshold, *, note: str
) -> MetricComparison:
    """With its word: different where it is significant and large enough, the same where that is excluded."""
    assert outcome.difference is not None and outcome.low is not None and outcome.high is not None
    word: Word = "undecided"
    if (outcome.p or 0.0) < threshold.alpha and abs(outcome.difference) >= threshold.minimum_points:
        word = "better" if (outcome.difference > 0) == (metric.better == "higher") else "worse"
    elif -threshold.minimum_points < outcome.low and outcome.high < threshold.minimum_points:
        word = "same"
    of_each = f"{outcome.a_n}" if outcome.a_n == outcome.b_n else f"{outcome.a_n} and {outcome.b_n}"
    reason = f"{of_each} {outcome.of} are too few to tell" if word == "undecided" else ""
    return replace(outcome, word=word, reason=reason, note=note)


def by_failures(
    blank: MetricComparison, metric: Metric, a: TrialSide, b: TrialSide, threshold: Threshold
) -> MetricComparison:
    """By how many of the sessions failed that came to an end by themselves."""
    of_a, of_b = a.summary.failed_sessions, b.summary.failed_sessions
    if of_a is None or of_b is None:
        return replace(with_figures(blank, metric, a, b), reason=missing_figure(metric, a, b))
    difference, low, high = (100 * share for share in share_difference((of_a.k, of_a.n), (of_b.k, of_b.n)))
    outcome = replace(
        with_figures(blank, metric, a, b),
        scale="points",
        difference=difference,
        low=low,
        high=high,
        p=fisher((of_a.k, of_a.n), (of_b.k, of_b.n)),
        test="Fisher",
        a_n=of_a.n,
        b_n=of_b.n,
        of="sessions",
    )
    return _by_points(outcome, metric, threshold, note="")
