"""Top-5 accuracy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from edgebench.judge.metric import SHARE_UNITS, Metric, Option, Reading
from edgebench.judge.metrics.accuracy import accuracy_reason
from edgebench.judge.trial import Estimate

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded

HIGHEST = 5
LEAST_CLASSES = 10
"""Classes from which on it is computed: of fewer, five are half of them."""


def _read(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    from edgebench.judge.accuracy import share_right

    for worker in (None, *recorded.several_workers):
        if recorded.confusion("images", worker) is None:
            yield metric.missing(accuracy_reason(recorded, worker), worker)
            continue
        classes = len(recorded.class_names(worker))
        if classes < LEAST_CLASSES:
            few = Estimate(reason=f"it takes {LEAST_CLASSES} classes, and there are {classes}", final=True)
            yield Reading(metric.key(worker), few)
            continue
        images = recorded.scores(worker)
        if images is None:
            yield metric.missing("the scores of the classes were not stored", worker)
            continue
        right = images.among_highest(HIGHEST)
        yield Reading(metric.key(worker), share_right(int(right.sum()), len(right)))


METRICS = (
    Metric(
        "accuracy_top5",
        "Labelled images whose label is among the five highest scores, of a model with 10 classes or more.",
        SHARE_UNITS,
        source="predictions.parquet",
        statistics=("share",),
        read=_read,
        label="Top-5 accuracy",
        better="higher",
        options=(Option(("--images", "DIR|CSV"), "with a model of 10 classes or more"),),
        tables=("matrix", "accuracy"),
        heading="Top-5 accuracy, %",
        where_present=True,
        compared="",
        belongs_to="board",
        share_of="image",
    ),
)
