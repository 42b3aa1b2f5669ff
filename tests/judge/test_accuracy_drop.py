from typing import Any

import numpy as np
import pandas as pd
import pytest

from edgebench.judge.accuracy import Predictions, drop_of
from edgebench.judge.metrics import METRICS
from edgebench.judge.recorded import Recorded
from edgebench.records.stored import ExperimentRecord, ImagesRecord, SceneRecord, SessionRecord, TrialRecord
from tests.sample_tables import rows_of_frame

INT8, FP32 = "mobilenet_v1-0.25-int8", "mobilenet_v1-0.25-fp32"
CLASSES = ("a", "b")
IMAGES = ImagesRecord(name="images", sha256="a" * 64, n=40, labelled=True, class_names=CLASSES)
OTHER_IMAGES = {"images": IMAGES.model_copy(update={"sha256": "b" * 64})}
OK = SessionRecord(
    trial="0" * 16, n=0, round=0, status="ok", started_utc="2025-03-01T12:00:00Z", duration_s=1.0
)  # fmt: skip
NO_ROWS = rows_of_frame(pd.DataFrame({"session": [], "worker": []}).astype("int64"))


def predictions(right, labels=None):
    right = np.array(right, dtype=bool)
    label = np.zeros(len(right), np.int64) if labels is None else np.array(labels)
    return Predictions(np.arange(len(right)), label, np.where(right, label, label + 1))


def trial(variant, key, **changes):
    fields = {"target": "nano", "depth_multiplier": 0.25, "batch": 1, "class_names": CLASSES, **changes}
    return TrialRecord(key=key * 16, variant=variant, precision=variant.rpartition("-")[2], **fields)


def drops(trials, right):
    """Drops of the trials; `right` has by key which images were right, or None without predictions."""
    experiment = ExperimentRecord.model_construct(
        trials=tuple(trials), images=IMAGES, images_reason="", scene=SceneRecord.model_construct()
    )
    siblings: dict[str, Recorded] = {}
    unread: Any = None
    for planned in trials:
        answers = right[planned.key] or []
        columns = {"session": 0, "worker": 0, "set": "images", "index": range(len(answers)), "label": 0}
        frame = pd.DataFrame({**columns, "predicted": [int(not answer) for answer in answers]})
        frame = frame.astype({"session": "int64", "worker": "int64"})
        siblings[planned.key] = Recorded(
            experiment, planned, [OK], 0.95, unread, NO_ROWS, NO_ROWS, rows_of_frame(frame), unread, siblings
        )
    drop = METRICS["accuracy_drop"]
    return [reading.estimate for each in siblings.values() for _, reading in drop.readings(each)]


THEIRS, MINE = [True] * 38 + [False] * 2, [True] * 34 + [False] * 5 + [True]


def test_points_below_fp32_over_the_same_images():
    mine, reference = trial(INT8, "1"), trial(FP32, "2")
    dropped, fp32 = drops([mine, reference], {mine.key: MINE, reference.key: THEIRS})
    assert (dropped.value, dropped.n) == (7.5, 40)
    assert dropped.notes == ("4 right with fp32 alone and 1 with this alone",)
    assert dropped.low < 0 < dropped.value < dropped.high < 30
    assert dropped.reason == ""
    assert (fp32.value, fp32.low, fp32.high) == (0, 0, 0)


def test_images_without_a_label_are_left_out():
    labels = [-1] * 4 + [0] * 36
    drop = drop_of(predictions(MINE, labels), predictions(THEIRS, labels))
    assert drop is not None and drop.n == 36


@pytest.mark.parametrize(
    ("reference", "theirs", "reason"),
    [
        (trial("mobilenet_v1-0.5-fp32", "2", depth_multiplier=0.5), THEIRS, "was not measured on nano"),
        (trial(FP32, "2", target="coral"), THEIRS, "was not measured on nano"),
        (trial(FP32, "2", batch=4), THEIRS, "was not measured on nano"),
        (trial(FP32, "2"), None, "no finished session has predicted the images"),
        (trial(FP32, "2", **OTHER_IMAGES), THEIRS, "was tested with other images"),
        (trial(FP32, "2"), THEIRS[1:], "was tested with other images"),
    ],
)
def test_without_the_same_images_of_fp32_there_is_no_drop(reference, theirs, reason):
    mine = trial(INT8, "1")
    dropped, _ = drops([mine, reference], {mine.key: MINE, reference.key: theirs})
    assert dropped.value is None
    assert dropped.reason.endswith(reason)


def test_without_an_accuracy_there_is_no_drop_of_it():
    mine, reference = trial(INT8, "1", images_reason="no images were given"), trial(FP32, "2")
    dropped, _ = drops([mine, reference], {mine.key: None, reference.key: THEIRS})
    assert (dropped.value, dropped.reason) == (None, "no images were given")


def test_images_without_labels_have_no_drop():
    assert drop_of(predictions([True], [-1]), predictions([True], [-1])) is None
