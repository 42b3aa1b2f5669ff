"""Accuracy and agreement from predictions of the very artifact that was timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.trial import Confusion, Estimate
from edgebench.results.load import StoredResults
from edgebench.results.rows import Rows
from edgebench.stats.auc import Floats
from edgebench.stats.compare import mcnemar, paired_difference, wilson

MAX_CONFUSION = 200
"""Classes up to which the confusion matrix is kept."""

COMMONEST = 10
"""Number of commonest confusions that are kept."""

POINTS = 100.0
"""Points in a share of one: a point is a hundredth of the images."""


@dataclass(frozen=True)
class Predictions:
    """Predictions of one set by one trial, ordered by image.

    Attributes:
        index: number of the image, int64 [n], each once.
        label: its class of the artifact, int64 [n]; -1 where unknown.
        predicted: predicted class, int64 [n]; -1 where the scores were no numbers.
        reason: cause of labels that cannot be used; empty where they can.
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
    """Predictions of a set by the last finished session that has any; None without.

    Args:
        rows: a trial's rows of `predictions` (see records.stored.PREDICTION_COLUMNS).
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
    return Predictions(index, _translated(label, labelled_as, classes), predicted)


def _translated(
    label: NDArray[np.int64], labelled_as: Sequence[str], classes: Sequence[str]
) -> NDArray[np.int64]:
    """Labels as classes of the artifact; -1 stays -1."""
    places = {name: place for place, name in enumerate(classes)}
    return np.array([*(places[name] for name in labelled_as), -1], dtype=np.int64)[label]


def _last_of(rows: Rows, set_name: str, sessions: Sequence[int]) -> Rows | None:
    """Rows of a set in the last session that has any, one per image and in their order."""
    session = rows.whole("session")
    mine = rows.equal("set", set_name) & np.isin(session, sessions)
    if not mine.any():
        return None
    last = rows.take(mine & (session == session[mine].max()))
    return last.take(np.unique(last.whole("index"), return_index=True)[1])


def scored_of(results: StoredResults, key: str, sessions: Sequence[int]) -> tuple[Floats, Floats] | None:
    """Scores of normal and of anomalous units of a trial, float64 [n] and [m], read from disk.

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


def _shortened(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown}, ... {len(names)} in all"


def among_highest(
    rows: Rows, sessions: Sequence[int], labelled_as: Sequence[str], classes: Sequence[str], count: int
) -> NDArray[np.bool_] | None:
    """Labelled images whose label is among the highest scores, bool [n]; a tie goes to the lower class.

    Of the last finished session that has scores of all classes; None without labels or scores.
    """
    last = _last_of(rows, "images", sessions)
    if last is None or "scores" not in last:
        return None
    label, predicted = last.whole("label"), last.whole("predicted")
    if _labels_reason(label, predicted, labelled_as, classes):
        return None
    labelled = np.flatnonzero(label >= 0)
    lists = np.asarray(last["scores"])[labelled]
    if not len(labelled) or any(len(scores) != len(classes) for scores in lists):
        return None
    label = _translated(label[labelled], labelled_as, classes)[:, None]
    scores = np.stack([np.asarray(row, np.float64) for row in lists])
    own = np.take_along_axis(scores, label, axis=1)
    before = (scores > own) | ((scores == own) & (np.arange(len(classes)) < label))
    among: NDArray[np.bool_] = np.isfinite(own[:, 0]) & (before.sum(axis=1) < count)
    return among


def confusion_of(
    predictions: Predictions,
    classes: Sequence[str],
    images: Literal["images", "scene"],
    worker: int | None = None,
) -> Confusion | None:
    """Counts of labelled images by class; None where the labels are of no use."""
    if predictions.reason:
        return None
    labelled = predictions.label >= 0
    label, predicted = predictions.label[labelled], predictions.predicted[labelled]
    sides = (label, label[label == predicted])
    n, right = (tuple(np.bincount(side, minlength=len(classes)).tolist()) for side in sides)
    counts: tuple[tuple[int, ...], ...] = ()
    if len(classes) <= MAX_CONFUSION:
        matrix = np.zeros((len(classes), len(classes)), dtype=np.int64)
        named = predicted >= 0
        np.add.at(matrix, (label[named], predicted[named]), 1)
        counts = tuple(tuple(row) for row in matrix.tolist())
    commonest = _commonest_confusions(label, predicted)
    return Confusion(images, tuple(classes), n, right, counts, commonest, worker)


def _commonest_confusions(
    label: NDArray[np.int64], predicted: NDArray[np.int64]
) -> tuple[tuple[int, int, int], ...]:
    wrong = (label != predicted) & (predicted >= 0)
    pairs, images = np.unique(np.stack([label[wrong], predicted[wrong]]), axis=1, return_counts=True)
    commonest = np.argsort(-images, kind="stable")[:COMMONEST]
    return tuple((int(pairs[0, pair]), int(pairs[1, pair]), int(images[pair])) for pair in commonest)


def share_right(k: int, n: int, *notes: str) -> Estimate:
    """Share of right ones with its Wilson interval. More sessions leave it as it is."""
    low, high = wilson(k, n)
    return Estimate(k / n, low, high, n=n, final=True).with_notes(f"{k} of {n}", *notes)


def agreement_of(this: Predictions, fp32: Predictions) -> tuple[Estimate, Estimate] | None:
    """Share of images of one prediction, and p of McNemar's exact test; None where they share no image."""
    _, at_this, at_fp32 = np.intersect1d(this.index, fp32.index, return_indices=True)
    if not (n := len(at_this)):
        return None
    mine, theirs = this.predicted[at_this], fp32.predicted[at_fp32]
    label = this.label[at_this]
    labelled = (label >= 0) & (label == fp32.label[at_fp32])
    equal = int(((mine == theirs) & (mine >= 0)).sum())
    only_this = int((labelled & (mine == label) & (theirs != label)).sum())
    only_fp32 = int((labelled & (mine != label) & (theirs == label)).sum())
    only = _only_right(only_fp32, only_this)
    no_interval = "McNemar's test takes the place of an interval"
    share = Estimate(equal / n, n=n, reason=no_interval, final=True).with_notes(f"{equal} of {n}", only)
    if not labelled.any():
        return share, Estimate(reason="the images are not labelled")
    p = mcnemar(only_this, only_fp32)
    return share, Estimate(p, n=n, reason="a p-value has no interval", final=True).with_notes(only)


def _only_right(only_fp32: int, only_this: int) -> str:
    return f"{only_fp32} right with fp32 alone and {only_this} with this alone"


def matched_counts(this: Predictions, other: Predictions) -> tuple[int, int, int] | None:
    """Images that this alone has right, that the other alone has right, and all labelled images.

    None where the two did not predict the same images, or none is labelled.
    """
    if not np.array_equal(this.index, other.index) or not np.array_equal(this.label >= 0, other.label >= 0):
        return None
    labelled = this.label >= 0
    mine, theirs = (side.predicted[labelled] == side.label[labelled] for side in (this, other))
    n = int(labelled.sum())
    return (int((mine & ~theirs).sum()), int((theirs & ~mine).sum()), n) if n else None


def drop_of(this: Predictions, fp32: Predictions) -> Estimate | None:
    """Points below fp32 over labelled images of one set, with Tango's paired interval.

    None where the two did not predict the same images.
    """
    counts = matched_counts(this, fp32)
    if counts is None:
        return None
    only_this, only_fp32, n = counts
    points, low, high = (POINTS * share for share in paired_difference(only_fp32, only_this, n))
    return Estimate(points, low, high, n=n, final=True).with_notes(_only_right(only_fp32, only_this))
