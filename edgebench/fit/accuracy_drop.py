"""By how many points a trial's accuracy is below that of its fp32 variant, on the very same images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from edgebench.fit.accuracy import Predictions
from edgebench.fit.agreement import same_model
from edgebench.fit.trial_summary import AccuracyDrop, TrialSummary
from edgebench.stats.paired import paired_difference
from edgebench.store.records import ExperimentRecord, TrialRecord

POINTS = 100.0
"""Of a share of one: a point is a hundredth of the images."""


def with_accuracy_drop(
    summaries: Sequence[TrialSummary],
    experiment: ExperimentRecord,
    images: Mapping[str, Predictions | None],
) -> list[TrialSummary]:
    """The trials, each with its drop below fp32 of its model, depth, target and batch, or why it has none.

    An fp32 variant is not below itself: its drop is 0.

    Args:
        summaries: one a trial of the experiment, in its order.
        experiment: which planned them.
        images: by trial key the predictions of the labelled images.
    """
    by_key = {summary.key: summary for summary in summaries}
    return [
        _with_drop(summary, trial, experiment, by_key, images)
        for summary, trial in zip(summaries, experiment.trials, strict=True)
    ]


def _with_drop(
    summary: TrialSummary,
    trial: TrialRecord,
    experiment: ExperimentRecord,
    summaries: Mapping[str, TrialSummary],
    images: Mapping[str, Predictions | None],
) -> TrialSummary:
    def without(reason: str) -> TrialSummary:
        return replace(summary, accuracy_drop_reason=reason)

    if summary.accuracy is None:
        return without(summary.accuracy_reason or summary.unpooled)
    if trial.precision == "fp32":
        return replace(summary, accuracy_drop=AccuracyDrop(0.0, 0.0, 0.0, summary.accuracy.n, 0, 0))
    references = [
        other for other in experiment.trials if other.precision == "fp32" and same_model(other, trial)
    ]
    if not references:
        return without(f"the fp32 variant of this model was not measured on {trial.target}")
    reference = next((other for other in references if summaries[other.key].accuracy), references[0])
    theirs, mine = images[reference.key], images[trial.key]
    if summaries[reference.key].accuracy is None or theirs is None or mine is None:
        why = summaries[reference.key].accuracy_reason
        return without(f"the fp32 variant of this model has no accuracy on {trial.target}: {why}")
    drop = (
        None
        if _tested_with(experiment, trial) != _tested_with(experiment, reference)
        else drop_of(mine, theirs)
    )
    if drop is None:
        return without("its fp32 variant was tested with other images")
    return replace(summary, accuracy_drop=drop)


def drop_of(this: Predictions, fp32: Predictions) -> AccuracyDrop | None:
    """The drop over labelled images of one set; None where the two did not predict the same of them."""
    if not np.array_equal(this.index, fp32.index) or not np.array_equal(this.label >= 0, fp32.label >= 0):
        return None
    known = this.label >= 0
    mine, theirs = (each.predicted[known] == each.label[known] for each in (this, fp32))
    only_this, only_fp32, n = int((mine & ~theirs).sum()), int((theirs & ~mine).sum()), int(known.sum())
    if not n:
        return None
    points, low, high = (POINTS * share for share in paired_difference(only_fp32, only_this, n))
    return AccuracyDrop(points, low, high, n, only_this, only_fp32)


def _tested_with(experiment: ExperimentRecord, trial: TrialRecord) -> str:
    """The hash of the images that a trial predicts; "" for none."""
    tested = experiment.images_of(trial)
    return tested.sha256 if tested else ""
