"""Top-5 accuracy, balanced accuracy and recalls by class of a model of twelve classes that a run measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import edgebench
from edgebench.cli.main import app

NAMES = [f"kind{number:02d}" for number in range(12)]
PROFILE = """
name = "many"
[[requirements]]
quantity = "accuracy_top5"
limit = 99
unit = "%"
[[requirements]]
quantity = "accuracy_balanced"
limit = 1
unit = "%"
[[requirements]]
quantity = "accuracy_balanced"
limit = 0.9
wanted = true
"""


def write_model(path: Path) -> None:
    """Write a convolution of random weights with a softmax over 12 classes, for 32 x 32 pixels in colour."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    weights = np.random.default_rng(1).normal(0, 1, (12, 3, 8, 8)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["pixels", "weights"], ["seen"], strides=[8, 8]),
        helper.make_node("GlobalAveragePool", ["seen"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Softmax", ["flat"], ["scores"], axis=1),
    ]
    number = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "twelve",
        [helper.make_tensor_value_info("pixels", number, [1, 3, 32, 32])],
        [helper.make_tensor_value_info("scores", number, [1, 12])],
        [onnx.numpy_helper.from_array(weights - weights.mean(axis=(1, 2, 3), keepdims=True), "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def write_pictures(folder: Path) -> None:
    """Write 2 to 5 noisy pictures of every class but the last, which does not occur."""
    from PIL import Image

    rng = np.random.default_rng(2)
    for place, name in enumerate(NAMES[:-1]):
        (folder / name).mkdir(parents=True)
        for number in range(2 + place % 4):
            pixels = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> edgebench.Results:
    folder = tmp_path_factory.mktemp("twelve")
    write_model(folder / "twelve.onnx")
    write_pictures(folder / "pictures")
    (folder / "labels.txt").write_text("\n".join(NAMES) + "\n")
    (folder / "many.toml").write_text(PROFILE)
    words = ["run", "--device", "onnxruntime", "--precision", "fp32", "--sessions", "2", "--passes", "2"]
    files = {
        "--model": "twelve.onnx",
        "--labels": "labels.txt",
        "--images": "pictures",
        "--scene": "pictures/kind00/0.png",
        "--profile": "many.toml",
    }
    for option, name in files.items():
        words += [option, str(folder / name)]
    words += ["--output-dir", str(folder), "--name", "played", "--quiet"]
    cache = {"XDG_CACHE_HOME": str(folder / "cache")}
    done = CliRunner().invoke(app, words, env=cache)
    assert done.exit_code in (0, 3), (done.output, done.exception)
    return edgebench.load(folder / "played")


@pytest.fixture(scope="module")
def tested(results: edgebench.Results) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scores of one prediction per image, shape (images, 12), and the classes' numbers, shape (images,)."""
    rows = results.predictions
    rows = rows[rows["set"] == "images"].drop_duplicates("index")
    assert [NAMES[label] for label in rows["label"]] == list(rows["label_name"])
    return np.stack(rows["scores"].to_list()).astype(float), rows["label"].to_numpy(np.int64)


def value(results: edgebench.Results, metric: str) -> pd.Series:
    [(_, row)] = results.estimates().query("metric == @metric").iterrows()
    return row


def test_accuracies_are_those_of_the_stored_scores(
    results: edgebench.Results, tested: tuple[NDArray[np.float64], NDArray[np.int64]]
) -> None:
    scores, labels = tested
    best = np.argsort(-scores, axis=1)[:, :5]
    recalls = [(best[labels == place, 0] == place).mean() for place in range(11)]
    top5 = value(results, "accuracy_top5")
    assert top5["value"] == pytest.approx((best == labels[:, None]).any(axis=1).mean(), rel=1e-12)
    assert top5["low"] < top5["value"] < top5["high"] and top5["n"] == len(labels) == 37
    balanced = value(results, "accuracy_balanced")
    assert balanced["value"] == pytest.approx(np.mean(recalls), rel=1e-12)
    accuracy = value(results, "accuracy")["value"]
    assert accuracy == pytest.approx((best[:, 0] == labels).mean(), rel=1e-12)
    assert accuracy != balanced["value"]


def test_classes_have_their_counts(
    results: edgebench.Results, tested: tuple[NDArray[np.float64], NDArray[np.int64]]
) -> None:
    scores, labels = tested
    classes = results.classes().set_index("class")
    assert list(classes.index) == NAMES
    for place, name in enumerate(NAMES):
        right = (scores[labels == place].argmax(axis=1) == place) if place in labels else np.array([], bool)
        row = classes.loc[name]
        assert (row["n"], row["right"]) == (len(right), right.sum())
        assert pd.isna(row["recall"]) if not len(right) else row["recall"] == right.mean()


def test_a_profile_judges_both(results: edgebench.Results) -> None:
    verdicts = results.verdicts()
    judged = {(row.metric, row.wanted): (row.verdict, row.value) for row in verdicts.itertuples()}
    word, share = judged["accuracy_top5", False]
    assert word == "fail" and share == pytest.approx(100 * value(results, "accuracy_top5")["value"])
    word, share = judged["accuracy_balanced", True]
    assert word == "fail" and share == pytest.approx(value(results, "accuracy_balanced")["value"])
    assert judged["accuracy_balanced", False][0] in ("pass", "inconclusive")
