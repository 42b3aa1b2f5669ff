"""Labelled inputs of models that take no picture: classes, anomalies, groups, and what is refused."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgebench.agent.files import samples
from edgebench.errors import InputError
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import load_calibration_inputs, refuse_overlap, subset
from edgebench.prepare.samples import anomaly_scores, labelled_set, read_inputs
from edgebench.prepare.user_model import understand
from edgebench.records.model import InputChoice, ModelFacts, TensorFacts, TensorInput, UserModel
from edgebench.records.values import ImageSet

SCALE, ZERO_POINT = 0.5, -3


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def model_of(taken: tuple[int, ...] = (1, 4), given: tuple[int, ...] = (1, 3)) -> UserModel:
    """An int8 model of one input and one output."""
    inputs = (TensorFacts("serving_default_x:0", "int8", taken, SCALE, ZERO_POINT),)
    facts = ModelFacts("tflite", inputs, (TensorFacts("y", "int8", given, 0.1, 0),), {}, None, None, "int8")
    return understand(facts, InputChoice(), "m.tflite")


CLASSIFIER, DETECTOR, SCORER = model_of(), model_of(given=(1, 4)), model_of(given=(1, 1))
ROWS = np.arange(24, dtype=np.float32).reshape(6, 4)


def labelled(path: Path, model: UserModel, cache: Cache, names: tuple[str, ...] | None = None) -> ImageSet:
    return labelled_set(path, read_inputs(path, model.inputs), model, names, cache)


def saved(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "given.npz", **arrays)
    return folder / "given.npz"


def test_a_classifier_has_classes_by_number_or_by_name(tmp_path: Path, cache: Cache):
    by_number = labelled(saved(tmp_path, x=ROWS, labels=[0, 1, 2, 2, 1, 0]), CLASSIFIER, cache)
    assert (by_number.task, by_number.n, by_number.units) == ("classes", 6, 6)
    assert (by_number.labels, by_number.class_names) == ((0, 1, 2, 2, 1, 0), ("0", "1", "2"))
    words = saved(tmp_path, x=ROWS, labels=["yes", "no", "go", "go", "no", "yes"])
    by_name = labelled(words, CLASSIFIER, cache, ("yes", "no", "go"))
    assert by_name.labels == by_number.labels
    assert by_name.sha256 == by_number.sha256  # the same inputs with the same labels
    other = labelled(saved(tmp_path, x=ROWS, labels=[1, 1, 2, 2, 1, 0]), CLASSIFIER, cache)
    assert other.sha256 != by_number.sha256


def test_real_numbers_are_quantised_as_the_input_is(tmp_path: Path, cache: Cache):
    images = labelled(saved(tmp_path, x=ROWS * 10, labels=[0, 1, 2, 2, 1, 0]), CLASSIFIER, cache)
    tensor = {"dtype": "int8", "shape": [1, 4], "scale": SCALE, "zero_point": ZERO_POINT}
    rows = [row for (row,) in samples(str(images.path), [tensor])]
    assert rows[0].tolist() == [[-3, 17, 37, 57]]
    assert rows[-1].tolist() == [[127] * 4]  # clipped
    floats = samples(str(images.path), [{"dtype": "float32", "shape": [1, 4]}])
    np.testing.assert_array_equal(np.concatenate([row for (row,) in floats]), ROWS * 10)
    whole = labelled(saved(tmp_path, x=ROWS.astype(np.int8), labels=[0, 1, 2, 2, 1, 0]), CLASSIFIER, cache)
    assert samples(str(whole.path), [tensor])[1][0].tolist() == [[4, 5, 6, 7]]  # they are quantised already


def test_a_csv_names_files_of_arrays(tmp_path: Path, cache: Cache):
    np.save(tmp_path / "a.npy", ROWS[0])
    np.save(tmp_path / "b.npy", ROWS[1].astype(np.int8))
    np.savez(tmp_path / "c.npz", x=ROWS[2:3])
    listing = tmp_path / "labels.csv"
    listing.write_text("path,label\na.npy,0\nc.npz,2\n")
    images = labelled(listing, CLASSIFIER, cache)
    assert (images.labels, images.paths) == ((0, 2), ("a.npy", "c.npz"))
    listing.write_text("path,label\nb.npy,go\n")
    images = labelled(listing, CLASSIFIER, cache, ("yes", "no", "go"))
    with np.load(images.path) as stored:
        assert (stored["0"].tolist(), stored["0"].dtype) == ([[[4, 5, 6, 7]]], np.int8)
    (tmp_path / "b.npy").rename(tmp_path / "b.bin")
    listing.write_text("path,label\nb.bin,go\n")
    with pytest.raises(InputError, match=r"b\.bin cannot be read as inputs"):
        labelled(listing, CLASSIFIER, cache)


def test_groups_of_an_anomaly_detector_are_judged_as_one(tmp_path: Path, cache: Cache):
    groups = ["b", "b", "a", "a", "a", "c"]
    path = saved(tmp_path, x=ROWS, labels=[0, 0, 1, 1, 1, 0], groups=groups)
    images = labelled(path, DETECTOR, cache)
    assert (images.task, images.n, images.units) == ("reconstruction", 6, 3)
    assert (images.labels, images.groups) == ((1, 0, 0), (1, 1, 0, 0, 0, 2))
    assert images.class_names == ("normal", "anomaly")
    fewer = subset(images, 2, 7, cache)
    assert (fewer.units, sorted(fewer.labels or ())) == (2, [0, 1])
    assert set(fewer.groups or ()) == {0, 1} and fewer.n == len(fewer.groups or ())
    assert labelled(path, SCORER, cache).task == "score"


def test_the_samples_of_a_file_are_a_group(tmp_path: Path, cache: Cache):
    np.save(tmp_path / "long.npy", ROWS[:4])
    np.save(tmp_path / "short.npy", ROWS[4:])
    (tmp_path / "l.csv").write_text("path,label\nshort.npy,normal\nlong.npy,anomaly\n")
    images = labelled(tmp_path / "l.csv", DETECTOR, cache)
    assert (images.labels, images.groups) == ((0, 1), (0, 0, 1, 1, 1, 1))
    assert images.paths == ("short.npy", "long.npy")


def test_calibration_samples_are_bounded_and_none_of_the_tested(tmp_path: Path, cache: Cache):
    tested = labelled(saved(tmp_path, x=ROWS, labels=[0, 1, 2, 2, 1, 0]), CLASSIFIER, cache)
    many = np.arange(4 * 700, dtype=np.float32).reshape(700, 4) + 0.5
    calibration = load_calibration_inputs(saved(tmp_path, x=many), CLASSIFIER.inputs, cache)
    assert calibration.n == 500
    refuse_overlap(calibration, tested)
    many[699] = ROWS[4]
    with pytest.raises(
        InputError, match="1 of the samples are calibration samples too\nthe first is number 5"
    ):
        refuse_overlap(load_calibration_inputs(saved(tmp_path, x=many), CLASSIFIER.inputs, cache), tested)


@pytest.mark.attack("labels or inputs of samples that cannot be: refused before anything starts")
@pytest.mark.parametrize(
    ("model", "arrays", "says"),
    [
        (CLASSIFIER, {"labels": [0, 1]}, r"labels of .*given\.npz are int64 \[2\]\nthere are 6"),
        (
            CLASSIFIER,
            {"labels": [0, 1, 2, 0, 1, 3]},
            "none of the 3 classes\nsample 5, counted from 0, has 3",
        ),
        (CLASSIFIER, {"labels": [0, 1, 2, 0, 1, -1]}, "sample 5, counted from 0, has -1"),
        (CLASSIFIER, {"labels": np.full(6, 2**64 - 1, np.uint64)}, "has 18446744073709551615"),
        (CLASSIFIER, {"labels": [0.0, 1, 2, 0, 1, np.nan]}, r"are float64 \[6\]"),
        (CLASSIFIER, {"labels": ["a", "b\x1b[2J"] * 3}, r"sample 0, counted from 0, has 'a'"),
        (CLASSIFIER, {"labels": ["1", "9" * 5000] * 3}, r"sample 1, counted from 0, has '9{79}"),
        (CLASSIFIER, {"labels": np.array([{}] * 6)}, r"cannot be read as inputs\n.*allow_pickle"),
        (CLASSIFIER, {"x": np.array([{}] * 6), "labels": [0] * 6}, "cannot be read as inputs"),
        (
            CLASSIFIER,
            {"x": np.where(ROWS == 9, np.nan, ROWS), "labels": [0] * 6},
            "no finite numbers\nthe first is in",
        ),
        (CLASSIFIER, {"x": ROWS[:, :3], "labels": [0] * 6}, r"is \[6, 3\]\n\[n, 4\] was expected"),
        (CLASSIFIER, {"x": ROWS * 1j, "labels": [0] * 6}, "is complex"),
        (CLASSIFIER, {"labels": [0] * 6, "groups": [0] * 6}, "has groups of samples"),
        (DETECTOR, {"labels": [0] * 6}, r"all labels of .*given\.npz are normal \(0\)"),
        (DETECTOR, {"labels": [0, 1, 2, 0, 1, 0]}, "none of the 2 classes"),
        (
            DETECTOR,
            {"labels": [0, 1] * 3, "groups": [0, 0, 1, 1, 2, 2]},
            "normal and of anomalous samples: 0",
        ),
        (DETECTOR, {"labels": [0, 1] * 3, "groups": [0.5] * 6}, "the groups of"),
        (model_of(given=(1, 3, 3)), {"labels": [0] * 6}, "are of no use for this model"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, cache: Cache, model: UserModel, arrays: Any, says: str):
    with pytest.raises(InputError, match=says) as caught:
        labelled(saved(tmp_path, **{"x": ROWS, **arrays}), model, cache)
    assert caught.value.fix and "\x1b" not in str(caught.value)


def test_a_reconstruction_is_judged_by_its_mean_squared_error(tmp_path: Path, cache: Cache):
    given = {"labels": [0, 0, 1, 1, 1, 0], "groups": [0, 0, 1, 1, 1, 2]}
    outputs = ROWS + np.array([[1], [3], [0], [0], [6], [2]], np.float32)
    tensor = TensorInput(name="x", dtype="int8", shape=(1, 4), scale=SCALE, zero_point=ZERO_POINT)
    images = labelled(saved(tmp_path, x=ROWS, **given), DETECTOR, cache)
    assert anomaly_scores(images, outputs, [tensor]).ravel().tolist() == [5, 12, 4]
    stored = (ROWS / SCALE + ZERO_POINT).astype(np.int8)  # what the model takes, as integers
    images = labelled(saved(tmp_path, x=stored, **given), DETECTOR, cache)
    assert anomaly_scores(images, outputs, [tensor]).ravel().tolist() == [5, 12, 4]
    alone = labelled(saved(tmp_path, x=ROWS, labels=given["labels"]), SCORER, cache)
    assert anomaly_scores(alone, outputs[:, :1], [tensor]).tolist() == outputs[:, :1].tolist()


@pytest.mark.attack("a member of a .npz, or a file called .npy, is no array: refused by name")
def test_what_is_no_array(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("x", "text")
    np.savez(tmp_path / "a.npz", x=ROWS)
    (tmp_path / "a.npz").rename(tmp_path / "x.npy")
    for name in ("text.npz", "x.npy"):
        with pytest.raises(InputError, match="'x' is no array"):
            read_inputs(tmp_path / name, CLASSIFIER.inputs)
