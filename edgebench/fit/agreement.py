"""A trial's agreement with the fp32 variant of its model, which is another trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgebench.fit.accuracy import Predictions, agreement_of
from edgebench.fit.trial_summary import TrialSummary
from edgebench.store.records import TrialRecord


def with_agreement(
    summary: TrialSummary,
    trial: TrialRecord,
    trials: Sequence[TrialRecord],
    images: Mapping[str, Predictions | None],
) -> TrialSummary:
    """The summary with its agreement with the fp32 variant of the same model, depth, target and batch.

    As it is where there is none.

    Args:
        summary: of `trial`.
        trial: one of the `trials`.
        trials: all of the experiment.
        images: by trial key the predictions of the labelled images.
    """
    mine = images[trial.key]
    if trial.precision == "fp32" or mine is None:
        return summary
    for other in trials:
        theirs = images[other.key]
        if other.precision == "fp32" and theirs is not None and same_model(other, trial):
            return replace(summary, agreement=agreement_of(mine, theirs))
    return summary


def same_model(one: TrialRecord, other: TrialRecord) -> bool:
    """Whether two trials are of one model, depth, target and batch, and differ in precision at most."""
    return _model(one) == _model(other)


def _model(trial: TrialRecord) -> tuple[str, float | None, str, int]:
    return trial.target, trial.depth_multiplier, trial.variant.rpartition("-")[0], trial.batch
