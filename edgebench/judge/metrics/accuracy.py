"""Accuracy, agreement with fp32 and the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from edgebench.judge.metric import POINT_UNITS, SHARE_UNITS, Metric, Option, Reading
from edgebench.judge.trial import Conditions, Estimate, Trial

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded

OVERLAPPING = "overlapping crops make it a little too narrow"


def accuracy_reason(recorded: Recorded, worker: int | None = None) -> str:
    """Reason why a measured trial, or a worker, has no accuracy; empty where it has one."""
    trial, experiment = recorded.trial, recorded.experiment
    if trial.accuracy_reason:
        return trial.accuracy_reason
    if experiment.images_of(trial) is None:
        return trial.images_reason or experiment.images_reason or "no images were given"
    if recorded.detects_anomalies:
        return "an anomaly detector is judged by auc"
    images = recorded.predictions("images", worker)
    if images is not None:
        return images.reason
    if recorded.is_shared and worker is None:
        return f"{len(recorded.workers)} workers predicted them: each has an accuracy of its own"
    return "no finished session has predicted the images" if recorded.ok else ""


def _accuracy(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    from edgebench.judge.accuracy import share_right

    tested = recorded.experiment.images_of(recorded.trial)
    for worker in (None, *recorded.several_workers):
        confusion = recorded.confusion("images", worker)
        if confusion is None:
            yield metric.missing(accuracy_reason(recorded, worker), worker)
            continue
        overlapping = OVERLAPPING if tested is not None and tested.overlapping else ""
        assumed = [f"assumed of the input: {assumption}" for assumption in recorded.trial.assumed]
        estimate = share_right(sum(confusion.right), sum(confusion.n), overlapping, *assumed)
        yield Reading(metric.key(worker), estimate)


def _scene_accuracy(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    from edgebench.judge.accuracy import share_right

    confusion = recorded.confusion("scene")
    if confusion is None:
        unlabelled = "the scene has no labels in the artifact's classes"
        yield metric.missing(recorded.measured_reason(unlabelled))
    else:
        yield Reading(metric.key(), share_right(sum(confusion.right), sum(confusion.n)))


def _fp32_siblings(recorded: Recorded) -> list[Recorded]:
    """Trials at fp32 of the same model, depth, target and batch."""

    def model(other: Recorded) -> tuple[object, ...]:
        trial = other.trial
        return trial.target, trial.depth_multiplier, trial.variant.rpartition("-")[0], trial.batch

    siblings = recorded.siblings.values()
    return [
        other for other in siblings if other.trial.precision == "fp32" and model(other) == model(recorded)
    ]


def _agreement(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    from edgebench.judge.accuracy import agreement_of
    from edgebench.stats.compare import mcnemar

    if recorded.trial.precision == "fp32":
        yield metric.missing("this is the fp32 variant")
        return
    mine = recorded.predictions("images")
    theirs = (other.predictions("images") for other in _fp32_siblings(recorded))
    fp32 = next((predictions for predictions in theirs if predictions is not None), None)
    agreement = agreement_of(mine, fp32) if mine is not None and fp32 is not None else None
    if agreement is None:
        yield metric.missing("there is no fp32 variant to compare with" if recorded.ok else "")
        return
    only = agreement.only_this_right, agreement.only_fp32_right
    counts = f"{agreement.alike} of {agreement.n}"
    discordant = f"{only[1]} right with fp32 alone and {only[0]} with this alone"
    no_interval = "McNemar's test takes the place of an interval"
    share = Estimate(agreement.alike / agreement.n, n=agreement.n, reason=no_interval, final=True)
    yield Reading(metric.key(), share.with_notes(counts, discordant))
    p_key = metric.key()._replace(statistic="mcnemar_p")
    if agreement.is_labelled:
        p = Estimate(mcnemar(*only), n=agreement.n, reason="a p-value has no interval", final=True)
        yield Reading(p_key, p.with_notes(discordant))
    else:
        yield Reading(p_key, Estimate(reason="the images are not labelled"))


def _accuracy_drop(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    yield Reading(metric.key(), _drop(recorded))


def _drop(recorded: Recorded) -> Estimate:
    from edgebench.judge.accuracy import drop_of

    tested = recorded.experiment.images_of(recorded.trial)
    confusion = recorded.confusion("images")
    if confusion is None:
        return Estimate(reason=accuracy_reason(recorded) or recorded.unpooled_reason)
    if recorded.trial.precision == "fp32":
        return Estimate.exact(0.0, n=sum(confusion.n)).with_notes("this is the fp32 variant")
    target, references = recorded.trial.target, _fp32_siblings(recorded)
    if not references:
        return Estimate(reason=f"the fp32 variant of this model was not measured on {target}")
    compared = [other for other in references if other.confusion("images")]
    reference = next(iter([*compared, *references]))
    mine, theirs = recorded.predictions("images"), reference.predictions("images")
    if not compared or mine is None or theirs is None:
        no_accuracy = f"the fp32 variant of this model has no accuracy on {target}"
        return Estimate(reason=f"{no_accuracy}: {accuracy_reason(reference)}")
    other_images = reference.experiment.images_of(reference.trial)
    is_alike = (tested and tested.sha256) == (other_images and other_images.sha256)
    drop = drop_of(mine, theirs) if is_alike else None
    if drop is None:
        return Estimate(reason="its fp32 variant was tested with other images")
    return drop.with_notes(OVERLAPPING if tested is not None and tested.overlapping else "")


def _auc(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    from edgebench.stats.auc import area_of

    if not recorded.detects_anomalies:
        yield metric.missing("an anomaly detector has it, by --inputs with labels")
        return
    scores = recorded.anomaly_scores
    if scores is None:
        reason = f"{len(recorded.workers)} workers predicted them" if recorded.is_shared else ""
        yield metric.missing(reason or "no finished session has predicted normal and anomalous inputs")
        return
    area, low, high = area_of(*scores)
    normal, anomalous = map(len, scores)
    estimate = Estimate(area, low, high, n=normal + anomalous, final=True)
    yield Reading(metric.key(), estimate.with_notes(f"{normal} normal and {anomalous} anomalous"))


def _agreement_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    """Share of equal predictions, or p of McNemar's exact test."""
    key = metric.key()._replace(statistic=conditions.statistic)
    return (trial.estimates.get(key, trial.estimate(metric.name)),)


METRICS = (
    Metric(
        "accuracy",
        "Right ones of the labelled images, predicted by the very artifact that was timed.",
        SHARE_UNITS,
        source="sessions",
        statistics=("share",),
        read=_accuracy,
        label="Accuracy",
        better="higher",
        options=(Option(("--images", "DIR|CSV")),),
        tables=("matrix", "accuracy"),
        heading="Accuracy, %",
        where_present=True,
        compared="images",
        belongs_to="board",
        share_of="image",
        usual="also",
    ),
    Metric(
        "accuracy_drop",
        "Points of accuracy (hundredths of the images) below the fp32 variant of its depth on the same "
        "target, over the same images, with Tango's paired interval; below 0 where it is right more often. "
        "Of an fp32 variant it is 0.",
        POINT_UNITS,
        source="sessions",
        statistics=("difference",),
        read=_accuracy_drop,
        label="Accuracy below fp32",
        options=(Option(("--images", "DIR|CSV"), "and --precision fp32 with the others"),),
        tables=("accuracy",),
        heading="Points below fp32",
        compared="",
        belongs_to="board",
        share_of="image",
    ),
    Metric(
        "scene_accuracy",
        "Right ones of the scene's own patches.",
        SHARE_UNITS,
        source="sessions",
        statistics=("share",),
        read=_scene_accuracy,
        label="Accuracy on the scene",
        required=False,
        better="higher",
        tables=("accuracy",),
        heading="Right of the scene's patches",
        compared="images",
        belongs_to="board",
        share_of="patch",
    ),
    Metric(
        "agreement",
        "Share of images for which it predicts the class that the fp32 variant of its depth predicts on the "
        "same target; with p of McNemar's exact test.",
        SHARE_UNITS,
        source="sessions",
        statistics=("share", "mcnemar_p"),
        read=_agreement,
        estimates=_agreement_estimates,
        label="Same class as fp32",
        required=False,
        better="higher",
        tables=("accuracy",),
        compared="",
        belongs_to="board",
        share_of="image",
    ),
    Metric(
        "auc",
        "Area under the ROC curve: share of pairs in which an anomalous sample, or group, scores higher than "
        "a normal one.",
        SHARE_UNITS,
        source="predictions.parquet",
        statistics=("recorded",),
        read=_auc,
        label="Area under the ROC curve",
        better="higher",
        options=(Option(("--inputs",), "with labels, of an anomaly detector"),),
        tables=("matrix", "accuracy"),
        heading="ROC AUC",
        where_present=True,
        compared="scores",
        belongs_to="board",
        most=1.0,
        usual="also",
    ),
)
