"""Accuracy and agreement from predictions of the very artifact that was timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.fit.trial_summary import Accuracy, Agreement
from edgebench.stats.proportion import mcnemar, wilson

MAX_CONFUSION = 200
"""More classes than this make a confusion matrix that nobody reads; it is left out."""


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
    rows: pd.DataFrame,
    set_name: str,
    sessions: Sequence[int],
    labelled_as: Sequence[str],
    classes: Sequence[str],
) -> Predictions | None:
    """The last finished session's predictions of a set; None where there are none.

    Args:
        rows: a trial's rows of `predictions` (see store.records.PREDICTION_COLUMNS).
        set_name: `scene` or `images`.
        sessions: numbers of the finished sessions.
        labelled_as: the class names that labels index; empty where there are no labels.
        classes: the artifact's class names, which predictions index.
    """
    mine = rows[(rows["set"] == set_name) & rows["session"].isin(sessions)]
    if mine.empty:
        return None
    last = mine[mine["session"] == mine["session"].max()].drop_duplicates("index").sort_values("index")
    index, label, predicted = (last[name].to_numpy(np.int64) for name in ("index", "label", "predicted"))
    reason = _labels_reason(label, predicted, labelled_as, classes)
    if reason:
        return Predictions(index, np.full(len(label), -1, np.int64), predicted, reason)
    place = {name: at for at, name in enumerate(classes)}
    # One more at the end, so that -1 stays -1.
    translated = np.array([*(place[name] for name in labelled_as), -1], dtype=np.int64)
    return Predictions(index, translated[label], predicted)


def _labels_reason(
    label: NDArray[np.int64], predicted: NDArray[np.int64], labelled_as: Sequence[str], classes: Sequence[str]
) -> str:
    if not labelled_as or not (label >= 0).any():
        return "the images are not labelled"
    if not classes:
        return "nobody named the model's classes (--labels FILE)"
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
    return Accuracy(k, n, low, high, confusion, tuple(classes), overlapping)


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
