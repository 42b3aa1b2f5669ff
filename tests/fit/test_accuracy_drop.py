from dataclasses import replace

import numpy as np
import pytest

from edgebench.judge.accuracy import Predictions, against_fp32, drop_of
from edgebench.records.stored import ExperimentRecord, ImagesRecord, SceneRecord, TrialRecord
from tests.fit.summaries import summary

INT8, FP32 = "mobilenet_v1-0.25-int8", "mobilenet_v1-0.25-fp32"
IMAGES = ImagesRecord(name="images", sha256="a" * 64, n=40, labelled=True)


def predictions(right, labels=None, index=None):
    right = np.array(right, dtype=bool)
    label = np.zeros(len(right), np.int64) if labels is None else np.array(labels)
    at = np.arange(len(right)) if index is None else np.array(index)
    return Predictions(at, label, np.where(right, label, label + 1))


def trial(variant, key, **changes):
    fields = {"target": "nano", "depth_multiplier": 0.25, "batch": 1, **changes}
    return TrialRecord(key=key * 16, variant=variant, precision=variant.rpartition("-")[2], **fields)


def drops(trials, images, **changes):
    """The trials' summaries, `images` by key."""
    experiment = ExperimentRecord.model_construct(
        trials=tuple(trials),
        images=IMAGES,
        images_reason="",
        scene=SceneRecord.model_construct(),
    )
    summaries = [
        replace(
            summary(accuracy=(1, 2)) if images[each.key] else summary(),
            key=each.key,
            precision=each.precision,
            **changes,
        )
        for each in trials
    ]
    return against_fp32(summaries, experiment, images)


THEIRS, MINE = [True] * 38 + [False] * 2, [True] * 34 + [False] * 5 + [True]


def test_points_below_fp32_over_the_same_images():
    mine, reference = trial(INT8, "1"), trial(FP32, "2")
    here = {mine.key: predictions(MINE), reference.key: predictions(THEIRS)}
    dropped, fp32 = drops([mine, reference], here)
    drop = dropped.accuracy_drop
    assert (drop.points, drop.n, drop.only_this_right, drop.only_fp32_right) == (7.5, 40, 1, 4)
    assert drop.low < 0 < drop.points < drop.high < 30
    assert dropped.accuracy_drop_reason == ""
    assert (fp32.accuracy_drop.points, fp32.accuracy_drop.low, fp32.accuracy_drop.high) == (0, 0, 0)


def test_images_without_a_label_are_left_out():
    labels = [-1] * 4 + [0] * 36
    drop = drop_of(predictions(MINE, labels), predictions(THEIRS, labels))
    assert drop is not None and drop.n == 36


OTHER_IMAGES = {"images": IMAGES.model_copy(update={"sha256": "b" * 64})}


@pytest.mark.parametrize(
    ("reference", "theirs", "reason"),
    [
        (trial("mobilenet_v1-0.5-fp32", "2", depth_multiplier=0.5), THEIRS, "was not measured on nano"),
        (trial(FP32, "2", target="coral"), THEIRS, "was not measured on nano"),
        (trial(FP32, "2", batch=4), THEIRS, "was not measured on nano"),
        (trial(FP32, "2"), None, "has no accuracy on nano: no images were given"),
        (trial(FP32, "2", **OTHER_IMAGES), THEIRS, "was tested with other images"),
        (trial(FP32, "2"), THEIRS[1:], "was tested with other images"),
    ],
)
def test_without_the_same_images_of_fp32_there_is_no_drop(reference, theirs, reason):
    mine = trial(INT8, "1")
    images = {mine.key: predictions(MINE), reference.key: None if theirs is None else predictions(theirs)}
    dropped, _ = drops([mine, reference], images)
    assert dropped.accuracy_drop is None
    assert dropped.accuracy_drop_reason.endswith(reason)


def test_without_an_accuracy_there_is_no_drop_of_it():
    mine, reference = trial(INT8, "1"), trial(FP32, "2")
    dropped, _ = drops([mine, reference], {mine.key: None, reference.key: predictions(THEIRS)})
    assert (dropped.accuracy, dropped.accuracy_drop) == (None, None)
    assert dropped.accuracy_drop_reason == "no images were given"


def test_nothing_is_said_of_images_without_labels():
    assert drop_of(predictions([True], [-1]), predictions([True], [-1])) is None
