"""Top-5 accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgebench.judge.metrics.accuracy import IMAGES, image_metric, of_labelled
from edgebench.judge.trial import Confusion, Estimate

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded

HIGHEST = 5
LEAST_CLASSES = 10
"""Classes from which on it is computed: of fewer, five are half of them."""


def _top_5(recorded: Recorded, worker: int | None, confusion: Confusion) -> Estimate:
    from edgebench.judge.accuracy import share_right

    if (classes := len(confusion.classes)) < LEAST_CLASSES:
        return Estimate(reason=f"it takes {LEAST_CLASSES} classes, and there are {classes}", final=True)
    right = recorded.among_highest(HIGHEST, worker)
    if right is None:
        return Estimate(reason="the scores of the classes were not stored")
    return share_right(int(right.sum()), len(right))


METRICS = (
    image_metric(
        "accuracy_top5",
        "Labelled images whose label is among the five highest scores, of a model with 10 classes or more.",
        source="predictions.parquet",
        read=of_labelled(_top_5),
        by_worker=True,
        label="Top-5 accuracy",
        options=(IMAGES._replace(reason="with a model of 10 classes or more"),),
        tables=("matrix", "accuracy"),
        heading="Top-5 accuracy, %",
    ),
)
