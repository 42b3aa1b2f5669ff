"""Accuracy, agreement and the area under the ROC curve: what a trial predicts, against labels and fp32."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.metric import (
    POINT_UNITS,
    SHARE_UNITS,
    Asked,
    ByArea,
    ByImages,
    Metric,
    Shown,
    where_measured,
)

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import TrialSummary

OVERLAPPING = "overlapping crops make it a little too narrow"


def _accuracy(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    accuracy = trial.accuracy
    if accuracy is None:
        return Figure(reason=trial.accuracy_reason or "accuracy was not taken")
    notes = [OVERLAPPING] if accuracy.overlapping else []
    notes += [f"assumed of the input: {assumption}" for assumption in trial.assumed]
    return Figure(
        accuracy.k / accuracy.n,
        accuracy.low,
        accuracy.high,
        what=f"the whole Wilson interval of {accuracy.k} of {accuracy.n}",
        note="; ".join(notes),
        lasting=True,  # taken once a trial
    )


def _accuracy_drop(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    drop = trial.accuracy_drop
    if drop is None:
        return Figure(reason=trial.accuracy_drop_reason or "there is no fp32 variant to compare with")
    if trial.precision == "fp32":
        return Figure(0.0, 0.0, 0.0, what="this is the fp32 variant, which", lasting=True)
    overlapping = trial.accuracy is not None and trial.accuracy.overlapping
    only = f"{drop.only_fp32_right} right with fp32 alone and {drop.only_this_right} with this alone"
    return Figure(
        drop.points,
        drop.low,
        drop.high,
        what=f"the whole paired interval of {drop.n} images ({only})",
        note=OVERLAPPING if overlapping else "",
        lasting=True,  # taken once a trial
    )


def _auc(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    if (auc := trial.auc) is None:
        return Figure(reason=trial.auc_reason)
    of = f"{auc.normal} normal and {auc.anomalous} anomalous"
    what = f"the whole interval of Newcombe's method 5 over {of}"
    return Figure(auc.area, auc.low, auc.high, what=what, lasting=True)  # taken once a trial


METRICS = (
    Metric(
        "accuracy",
        "Right ones of the labelled images, predicted by the very artifact that was timed.",
        SHARE_UNITS,
        label="Accuracy",
        source="sessions",
        better="higher",
        statistics=("share",),
        judged=_accuracy,
        compared=ByImages("images"),
        usual="also",
        brought_by="--images DIR|CSV",
        missing=attrgetter("accuracy_reason"),
        share_of="image",
        shown=(
            Shown("matrix", "{label}, %", "percent", where_present=True),
            Shown("trials", "Images right", "right of n"),
            Shown("accuracy", "Right of all images", "right of n"),
        ),
    ),
    Metric(
        "accuracy_drop",
        "Points of accuracy (hundredths of the images) below the fp32 variant of its depth on the same "
        "target, over the same images, with Tango's paired interval; below 0 where it is right more often. "
        "Of an fp32 variant it is 0.",
        POINT_UNITS,
        label="Accuracy below fp32",
        source="sessions",
        statistics=("difference",),
        judged=_accuracy_drop,
        brought_by="--images DIR|CSV and --precision fp32 with the others",
        missing=attrgetter("accuracy_drop_reason"),
        share_of="image",
        shown=(Shown("accuracy", "Points below fp32", "points"),),
    ),
    Metric(
        "scene_accuracy",
        "Right ones of the scene's own patches.",
        SHARE_UNITS,
        label="Accuracy on the scene",
        source="sessions",
        better="higher",
        compared=ByImages("scene"),
        missing=where_measured("the scene has no labels in the artifact's classes"),
        shown=(Shown("accuracy", "Right of the scene's patches", "right of n"),),
    ),
    Metric(
        "agreement",
        "How often it predicts what the fp32 variant of its depth predicts on the same target.",
        SHARE_UNITS,
        label="Same class as fp32",
        source="sessions",
        better="higher",
        missing=lambda trial: (
            "this is the fp32 variant"
            if trial.precision == "fp32"
            else "there is no fp32 variant to compare with"
        ),
        shown=(
            Shown("accuracy", form="right of n"),
            Shown("accuracy", "McNemar p", "p"),
        ),
    ),
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
