"""Confusion matrices in the report: whole up to 40 classes, the worst of more."""

from dataclasses import replace

import numpy as np

from edgebench.judge.trial_summary import Accuracy
from edgebench.report.sections import _confusion
from tests.report.samples import summary


def test_of_more_than_40_classes_the_worst_and_the_commonest_confusions_are_shown() -> None:
    counts = np.diag(np.full(50, 10))
    counts[3, 3], counts[3, 9] = 2, 8
    counts[20, 20], counts[20, 21] = 7, 3
    counts[40, 40] = 0
    names = tuple(f"c{number}" for number in range(50))
    accuracy = Accuracy(469, 480, 0.95, 0.99, tuple(map(tuple, counts.tolist())), names)
    trial = replace(summary(), accuracy=accuracy)
    worst, confusions = _confusion([trial], {trial.key: "0.25 int8"})
    assert worst.rows[:3] == (("c3", "2", "10"), ("c20", "7", "10"), ("c0", "10", "10"))
    assert len(worst.rows) == 10
    assert worst.title.startswith("0.25 int8: the 10 worst of 49 classes")
    assert "predictions.parquet" in worst.title
    assert confusions.rows == (("c3", "c9", "8"), ("c20", "c21", "3"))
