"""Accuracy, agreement with fp32 and the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import SHARE_UNITS, Metric, Option, Reading
from edgebench.judge.trial import UNPOOLED, Confusion, Estimate

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded
    from edgebench.records.stored import TrialRecord

FP32 = "this is the fp32 variant"
OVERLAPPING = "overlapping crops make it a little too narrow"
IMAGES = Option(("--images", "DIR|CSV"))


def accuracy_reason(recorded: Recorded, worker: int | None = None) -> str:
    """Reason why a measured trial, or a worker, has no accuracy; empty where it has one."""
    trial = recorded.trial
    if trial.accuracy_reason:
        return trial.accuracy_reason
    if recorded.tested is None:
        return trial.images_reason or recorded.experiment.images_reason or "no images were given"
    if recorded.detects_anomalies:
        return "an anomaly detector is judged by auc"
    images = recorded.predictions("images", worker)
    if images is not None:
        return images.reason
    if recorded.is_shared and worker is None:
        return f"{len(recorded.workers)} workers predicted them, and their accuracies are {UNPOOLED}"
    return "no finished session has predicted the images" if recorded.ok else ""


def of_labelled(
    compute: Callable[[Recorded, int | None, Confusion], Estimate],
) -> Callable[[Recorded, int | None], Estimate]:
    """Reader of what is computed of the labelled images of a trial or worker, else of the reason."""

    def read(recorded: Recorded, worker: int | None) -> Estimate:
        confusion = recorded.confusion("images", worker)
        if confusion is None:
            reason = accuracy_reason(recorded, worker)
            return Estimate(reason=reason, final=recorded.detects_anomalies)
        return compute(recorded, worker, confusion)

    return read


def image_metric(name: str, sentence: str, **fields: Any) -> Metric:
    """Metric of the labelled images; a share of them by default."""
    common: dict[str, Any] = {
        "units": SHARE_UNITS,
        "source": "sessions",
        "statistics": ("share",),
        "better": "higher",
        "tables": ("accuracy",),
        "compared": "",
        "belongs_to": "board",
        "share_of": "image",
    }
    return Metric(name, sentence, **common | fields)


def _accuracy(recorded: Recorded, worker: int | None, confusion: Confusion) -> Estimate:
    from edgebench.judge.accuracy import share_right

    assumed = [f"assumed of the input: {assumption}" for assumption in recorded.trial.assumed]
    return share_right(sum(confusion.right), sum(confusion.n), _overlapping(recorded), *assumed)


def _overlapping(recorded: Recorded) -> str:
    return OVERLAPPING if recorded.tested and recorded.tested.overlapping else ""


def _scene_accuracy(recorded: Recorded, worker: int | None) -> Estimate:
    from edgebench.judge.accuracy import share_right

    confusion = recorded.confusion("scene")
    if confusion is None:
        return Estimate(reason=recorded.measured_reason("the scene has no labels in the artifact's classes"))
    return share_right(sum(confusion.right), sum(confusion.n))


def _fp32_siblings(recorded: Recorded) -> list[Recorded]:
    """Trials at fp32 of the same model, depth, target and batch."""

    def model(trial: TrialRecord) -> tuple[object, ...]:
        return trial.target, trial.depth_multiplier, trial.variant.rpartition("-")[0], trial.batch

    return [
        sibling
        for sibling in recorded.siblings.values()
        if sibling.trial.precision == "fp32" and model(sibling.trial) == model(recorded.trial)
    ]


def _agreement(recorded: Recorded, worker: int | None) -> Iterable[Reading]:
    from edgebench.judge.accuracy import agreement_of

    if recorded.trial.precision == "fp32":
        return [Reading(Estimate(reason=FP32))]
    mine = recorded.predictions("images")
    theirs = (other.predictions("images") for other in _fp32_siblings(recorded))
    fp32 = next((predictions for predictions in theirs if predictions is not None), None)
    agreement = agreement_of(mine, fp32) if mine is not None and fp32 is not None else None
    if agreement is None:
        return [Reading(Estimate(reason="there is no fp32 variant to compare with" if recorded.ok else ""))]
    share, p = agreement
    return [Reading(share), Reading(p, statistic="mcnemar_p")]


def _drop(recorded: Recorded, worker: int | None) -> Estimate:
    from edgebench.judge.accuracy import drop_of

    confusion = recorded.confusion("images")
    if confusion is None:
        return Estimate(reason=accuracy_reason(recorded) or recorded.unpooled_reason)
    if recorded.trial.precision == "fp32":
        return Estimate.exact(0.0, n=sum(confusion.n)).with_notes(FP32)
    target, references = recorded.trial.target, _fp32_siblings(recorded)
    if not references:
        return Estimate(reason=f"the fp32 variant of this model was not measured on {target}")
    compared = [other for other in references if other.confusion("images")]
    reference = next(iter([*compared, *references]))
    mine, theirs = recorded.predictions("images"), reference.predictions("images")
    if not compared or mine is None or theirs is None:
        no_accuracy = f"the fp32 variant of this model has no accuracy on {target}"
        return Estimate(reason=f"{no_accuracy}: {accuracy_reason(reference)}")
    is_alike = len({side.tested and side.tested.sha256 for side in (recorded, reference)}) == 1
    drop = drop_of(mine, theirs) if is_alike else None
    if drop is None:
        return Estimate(reason="its fp32 variant was tested with other images")
    return drop.with_notes(_overlapping(recorded))


def _auc(recorded: Recorded, worker: int | None) -> Estimate:
    from edgebench.stats.auc import area_of

    if not recorded.detects_anomalies:
        return Estimate(reason="an anomaly detector has it, by --inputs with labels")
    scores = recorded.anomaly_scores
    if scores is None:
        workers = f"{len(recorded.workers)} workers predicted them, and their scores are {UNPOOLED}"
        reason = workers if recorded.is_shared else ""
        return Estimate(reason=reason or "no finished session has predicted normal and anomalous inputs")
    normal, anomalous = map(len, scores)
    estimate = Estimate(*area_of(*scores), n=normal + anomalous, final=True)
    return estimate.with_notes(f"{normal} normal and {anomalous} anomalous")


METRICS = (
    image_metric(
        "accuracy",
        "Right ones of the labelled images, predicted by the very artifact that was timed.",
        read=of_labelled(_accuracy),
        by_worker=True,
        options=(IMAGES,),
        tables=("matrix", "accuracy"),
        heading="Accuracy, %",
        compared="images",
        usual="also",
    ),
    image_metric(
        "accuracy_drop",
        "Points of accuracy (hundredths of the images) below the fp32 variant of its depth on the same "
        "target, over the same images, with Tango's paired interval; below 0 where it is right more often. "
        "Of an fp32 variant it is 0.",
        units={"points": 1.0, "1": 100.0},
        statistics=("difference",),
        read=_drop,
        label="Accuracy below fp32",
        better="lower",
        options=(IMAGES._replace(reason="and --precision fp32 with the others"),),
        heading="Points below fp32",
    ),
    image_metric(
        "scene_accuracy",
        "Right ones of the scene's own patches.",
        read=_scene_accuracy,
        label="Accuracy on the scene",
        heading="Right of the scene's patches",
        compared="images",
        share_of="patch",
    ),
    image_metric(
        "agreement",
        "Share of images for which it predicts the class that the fp32 variant of its depth predicts on the "
        "same target; with p of McNemar's exact test.",
        statistics=("share", "mcnemar_p"),
        read=_agreement,
        label="Same class as fp32",
    ),
    image_metric(
        "auc",
        "Area under the ROC curve: share of pairs in which an anomalous sample, or group, scores higher than "
        "a normal one.",
        source="predictions.parquet",
        statistics=("recorded",),
        read=_auc,
        label="Area under the ROC curve",
        options=(Option(("--inputs",), "with labels, of an anomaly detector"),),
        tables=("matrix", "accuracy"),
        heading="ROC AUC",
        compared="scores",
        share_of="",
        most=1.0,
        usual="also",
    ),
)
