"""Confusion matrices in the report: whole up to 40 classes, the worst of more."""

import numpy as np
import pytest

from edgebench.judge.accuracy import Predictions, confusion_of
from edgebench.report.sections import _confusion_tables
from tests.report.samples import summary


@pytest.mark.parametrize(
    ("classes", "rest"),
    [(50, "predictions.parquet, confusions of trial.json"), (1_001, "predictions.parquet")],
)
def test_of_more_than_40_classes_the_worst_and_the_commonest_confusions_are_shown(classes: int, rest: str):
    label = np.repeat(np.delete(np.arange(classes), 40), 10)
    predicted = label.copy()
    predicted[30:38] = 9  # eight pictures of class 3
    predicted[200:203] = 21  # three of class 20
    predicted[50] = -1  # one of class 5 without a prediction
    names = [f"c{number}" for number in range(classes)]
    confusion = confusion_of(Predictions(np.arange(len(label)), label, predicted), names, "images")
    assert confusion is not None
    assert (sum(confusion.right), sum(confusion.n)) == (len(label) - 12, len(label))
    assert bool(confusion.counts) == (classes == 50)
    worst, commonest = _confusion_tables(summary(confusions=(confusion,)), "0.25 int8")
    assert worst.rows[:4] == (("c3", "2", "10"), ("c20", "7", "10"), ("c5", "9", "10"), ("c0", "10", "10"))
    assert worst.title == f"0.25 int8: the 10 worst classes (all: {rest})"
    assert len(worst.rows) == 10
    assert commonest.rows == (("c3", "c9", "8"), ("c20", "c21", "3"))


def test_up_to_40_classes_have_their_matrix():
    label = np.arange(40)
    confusion = confusion_of(Predictions(label, label, label), [str(n) for n in label], "images")
    assert confusion is not None and confusion.commonest == ()
    [matrix] = _confusion_tables(summary(confusions=(confusion,)), "0.25 int8")
    assert len(matrix.rows) == 40
