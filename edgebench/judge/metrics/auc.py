"""Area under the ROC curve of an anomaly detector, over labelled inputs."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.metric import SHARE_UNITS, Asked, ByArea, Metric, Shown

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import TrialSummary


def _auc(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    if (auc := trial.auc) is None:
        return Figure(reason=trial.auc_reason)
    of = f"{auc.normal} normal and {auc.anomalous} anomalous"
    what = f"the whole interval of Newcombe's method 5 over {of}"
    return Figure(auc.area, auc.low, auc.high, what=what, lasting=True)  # taken once a trial


METRICS = (
    Metric(
        "auc",
        "Area under the ROC curve: how often an anomalous sample, or group, scores higher than a normal one.",
        SHARE_UNITS,
        label="Area under the ROC curve",
        source="predictions.parquet",
        better="higher",
        statistics=("recorded",),
        judged=_auc,
        compared=ByArea(),
        usual="also",
        brought_by="--inputs with labels, of an anomaly detector",
        missing=attrgetter("auc_reason"),
        most=1.0,
        shown=(Shown("matrix", "ROC AUC", "area", where_present=True), Shown("accuracy", "ROC AUC", "area")),
    ),
)
