"""Accuracy and agreement from predictions of the very artifact that was timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.trial_summary import Accuracy, AccuracyDrop, Agreement, TrialSummary
from edgebench.records.stored import ExperimentRecord, TrialRecord
from edgebench.results.load import StoredResults
from edgebench.results.rows import Rows
from edgebench.stats.auc import Floats
from edgebench.stats.compare import mcnemar, paired_difference, wilson

MAX_CONFUSION = 200
"""More classes than this make a confusion matrix that is too large to store; it is left out."""

WORST = 10
"""Number of worst classes and of commonest confusions."""


@dataclass(frozen=True)
class Predictions:
    """What one trial predicted of one set, ordered by image.

    Attributes:
        index: which image, int64 [n], each once.
        label: class of the artifact that it has, int64 [n]; -1 where it is unknown.
        predicted: class that it was given, int64 [n]; -1 where the scores were no numbers.
        reason: why the labels cannot be used; empty where they can.
    """

    index: NDArray[np.int64]
    label: NDArray[np.int64]
    predicted: NDArray[np.int64]
    reason: str = ""


def predictions_of(
    rows: Rows,
    set_name: str,
    sessions: Sequence[int],
    labelled_as: Sequence[str],
    classes: Sequence[str],
) -> Predictions | None:
    """The last finished session's predictions of a set; None without any.

    Args:
        rows: a trial's rows of `predictions` (see store.records.PREDICTION_COLUMNS).
        set_name: `scene` or `images`.
        sessions: numbers of the finished sessions.
        labelled_as: the class names that labels index; empty where there are no labels.
        classes: the artifact's class names, which predictions index.
    """
    last = _last_of(rows, set_name, sessions)
    if last is None:
        return None
    index, label, predicted = (last.whole(name) for name in ("index", "label", "predicted"))
    if reason := _labels_reason(label, predicted, labelled_as, classes):
        return Predictions(index, np.full(len(label), -1, np.int64), predicted, reason)
    # One more at the end, so that -1 stays -1.
    translated = np.array([*(list(classes).index(name) for name in labelled_as), -1], dtype=np.int64)
    return Predictions(index, translated[label], predicted)


def _last_of(rows: Rows, set_name: str, sessions: Sequence[int]) -> Rows | None:
    """The rows of a set in the last session that has any, one an image and in their order."""
    session = rows.whole("session")
    mine = rows.equal("set", set_name) & np.isin(session, sessions)
    if not mine.any():
        return None
    last = rows.take(mine & (session == session[mine].max()))
    return last.take(np.unique(last.whole("index"), return_index=True)[1])


def scored_of(results: StoredResults, key: str, sessions: Sequence[int]) -> tuple[Floats, Floats] | None:
    """The scores of normal and of anomalous units of a trial, float64 [n] and [m], read from disk.

    None without both kinds.
    """
    rows = results.rows("predictions", ["worker", "set", "index", "label", "scores"], [key])
    last = _last_of(rows, "images", sessions)
    if last is None:
        return None
    scores = np.array([row[0] if len(row) else np.nan for row in np.asarray(last["scores"])], np.float64)
    label = np.where(np.isfinite(scores), last.whole("label"), -1)
    normal, anomalous = scores[label == 0], scores[label == 1]
    return (normal, anomalous) if len(normal) and len(anomalous) else None


def _labels_reason(
    label: NDArray[np.int64], predicted: NDArray[np.int64], labelled_as: Sequence[str], classes: Sequence[str]
) -> str:
    if not labelled_as or not (label >= 0).any():
        return "the images are not labelled"
    if not classes:
        return "the model's classes have no names (--labels FILE)"
    if not set(labelled_as) <= set(classes):
        return (
            f"the images' classes ({_shortened(labelled_as)}) are not the artifact's ({_shortened(classes)})"
        )
    for what, values, names in (("label", label, labelled_as), ("prediction", predicted, classes)):
        if values.min() < -1 or values.max() >= len(names):
            return f"a {what} lies outside its {len(names)} classes"
    return ""


def accuracy_of(predictions: Predictions, classes: Sequence[str], *, overlapping: bool) -> Accuracy | None:
    """How many of the labelled images are right; None where the labels are of no use."""
    if predictions.reason:
        return None
    known = predictions.label >= 0
    label, predicted = predictions.label[known], predictions.predicted[known]
    k, n = int((label == predicted).sum()), len(label)
    confusion: tuple[tuple[int, ...], ...] = ()
    if len(classes) <= MAX_CONFUSION:
        counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
        named = predicted >= 0
        np.add.at(counts, (label[named], predicted[named]), 1)
        confusion = tuple(tuple(row) for row in counts.tolist())
    low, high = wilson(k, n)
    return Accuracy(
        k,
        n,
        low,
        high,
        confusion,
        tuple(classes),
        overlapping,
        worst_classes=_worst_classes(label, predicted),
        confusions=_commonest_confusions(label, predicted),
    )


_Counts = tuple[tuple[int, int, int], ...]


def _worst_classes(label: NDArray[np.int64], predicted: NDArray[np.int64]) -> _Counts:
    classes, place, images = np.unique(label, return_inverse=True, return_counts=True)
    right = np.bincount(place, label == predicted)
    worst = np.argsort(right / images, kind="stable")[:WORST]
    return tuple((int(classes[at]), int(right[at]), int(images[at])) for at in worst)


def _commonest_confusions(label: NDArray[np.int64], predicted: NDArray[np.int64]) -> _Counts:
    wrong = (label != predicted) & (predicted >= 0)
    pairs, images = np.unique(np.stack([label[wrong], predicted[wrong]]), axis=1, return_counts=True)
    commonest = np.argsort(-images, kind="stable")[:WORST]
    return tuple((int(pairs[0, at]), int(pairs[1, at]), int(images[at])) for at in commonest)


def agreement_of(this: Predictions, fp32: Predictions) -> Agreement | None:
    """How often two variants predict the same, with McNemar's exact test where both are labelled.

    None where they share no image.
    """
    _, at_this, at_fp32 = np.intersect1d(this.index, fp32.index, return_indices=True)
    n = len(at_this)
    if not n:
        return None
    mine, theirs = this.predicted[at_this], fp32.predicted[at_fp32]
    k = int(((mine == theirs) & (mine >= 0)).sum())
    label = this.label[at_this]
    known = (label >= 0) & (label == fp32.label[at_fp32])
    only_this = int((known & (mine == label) & (theirs != label)).sum())
    only_fp32 = int((known & (mine != label) & (theirs == label)).sum())
    return Agreement(k, n, only_this, only_fp32, mcnemar(only_this, only_fp32) if known.any() else None)


def _shortened(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, ... {len(names)} in all"


# A trial held against the fp32 variant of its model, which is another trial.


POINTS = 100.0
"""Points in a share of one: a point is a hundredth of the images."""


def against_fp32(
    summaries: Sequence[TrialSummary],
    experiment: ExperimentRecord,
    images: Mapping[str, Predictions | None],
) -> list[TrialSummary]:
    """The trials, each with its agreement with fp32 of its model, depth, target and batch, and with its drop
    below it or why it has none.

    An fp32 variant is not below itself: its drop is 0.

    Args:
        summaries: one a trial of the experiment, in its order.
        experiment: which planned them.
        images: by trial key the predictions of the labelled images.
    """
    by_key = {summary.key: summary for summary in summaries}

    def compared(summary: TrialSummary, trial: TrialRecord) -> TrialSummary:
        mine, is_fp32 = images[trial.key], trial.precision == "fp32"
        references = [] if is_fp32 else _fp32_variants(trial, experiment.trials)
        predicted = [of_fp32 for other in references if (of_fp32 := images[other.key]) is not None]
        agreement = agreement_of(mine, predicted[0]) if mine is not None and predicted else None
        known = [other for other in references if by_key[other.key].accuracy]
        reference = next(iter([*known, *references]), trial)
        theirs, tested = images[reference.key], map(experiment.images_of, (trial, reference))
        drop = None
        if summary.accuracy is not None and is_fp32:
            drop = AccuracyDrop(0.0, 0.0, 0.0, summary.accuracy.n, 0, 0)
        elif summary.accuracy is not None and known and mine is not None and theirs is not None:
            drop = drop_of(mine, theirs) if len({of and of.sha256 for of in tested}) == 1 else None
        no_accuracy = f"the fp32 variant of this model has no accuracy on {trial.target}: "
        reasons = (
            (drop, ""),
            (summary.accuracy is None, summary.accuracy_reason or summary.unpooled),
            (not references, f"the fp32 variant of this model was not measured on {trial.target}"),
            (
                not known or theirs is None or mine is None,
                f"{no_accuracy}{by_key[reference.key].accuracy_reason}",
            ),
        )
        otherwise = "its fp32 variant was tested with other images"
        reason = next((why for holds, why in reasons if holds), otherwise)
        return replace(summary, agreement=agreement, accuracy_drop=drop, accuracy_drop_reason=reason)

    return [compared(*pair) for pair in zip(summaries, experiment.trials, strict=True)]


def _fp32_variants(trial: TrialRecord, trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The trials at fp32 of the same model, depth, target and batch."""
    return [other for other in trials if other.precision == "fp32" and _model(other) == _model(trial)]


def _model(trial: TrialRecord) -> tuple[str, float | None, str, int]:
    return trial.target, trial.depth_multiplier, trial.variant.rpartition("-")[0], trial.batch


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
