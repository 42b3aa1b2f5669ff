"""Models of a few operations for the tests of OpenVINO: slow by what they see, or failing on it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from edgebench.prepare.cache import Cache, sha256_file
from edgebench.records.model import Artifact, Golden, InputSpec
from edgebench.records.values import Scene
from tests.models.crafted import onnx_file

SIDE = 16
DARK, BRIGHT = 0, 255
CHANNELS_FIRST: tuple[int, ...] = (1, 3, SIDE, SIDE)
MATRIX = 96


def artifact(path: Path, folder: Path, golden: int = DARK) -> Artifact:
    """Of a file that gives the mean of its input, from -1 to 1, and its negative, as two classes."""
    patches = np.full((2, SIDE, SIDE, 3), golden, np.uint8)
    held = io.BytesIO()
    np.save(held, patches)
    patches_path, digest = Cache(folder / "cache").add_bytes(held.getvalue(), ".npy")
    mean = golden / 127.5 - 1
    return Artifact(
        variant="crafted-fp32",
        batch=1,
        format="onnx",
        path=path,
        sha256=sha256_file(path),
        size_bytes=path.stat().st_size,
        input=InputSpec(dtype="float32", layout="NCHW", height=SIDE, width=SIDE),
        class_names=("bright", "dark"),
        golden=Golden(
            patches=patches_path,
            patches_sha256=digest,
            scores=((mean, -mean),) * 2,
            reference="arithmetic",
            tolerance=1e-4,
        ),
        provenance={},
    )


def scene(folder: Path, brightness: list[int]) -> Scene:
    """One row of patches, each of one grey."""
    row = np.concatenate([np.full((SIDE, SIDE, 3), grey, np.uint8) for grey in brightness], axis=1)
    path = folder / "scene.npy"
    np.save(path, row)
    return Scene(path, sha256_file(path), SIDE, SIDE * len(brightness), patch=SIDE)


def slow_where_bright(path: Path, most_turns: int = 200) -> Path:
    """The mean of its input, after the more matrix products the brighter it is."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["going_on"]),
            helper.make_node("MatMul", ["matrix", "unit"], ["product"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("matrix", TensorProto.FLOAT, [MATRIX, MATRIX]),
        ],
        [
            helper.make_tensor_value_info("going_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("product", TensorProto.FLOAT, [MATRIX, MATRIX]),
        ],
    )
    nodes = [
        helper.make_node("GlobalAveragePool", ["image"], ["channels"]),
        helper.make_node("ReduceMean", ["channels"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Add", ["mean", "above_zero"], ["brightness"]),
        helper.make_node("Mul", ["brightness", "half_of_most"], ["turns"]),
        helper.make_node("Cast", ["turns"], ["whole_turns"], to=TensorProto.INT64),
        helper.make_node("Loop", ["whole_turns", "true", "unit"], ["unit_again"], body=body),
        helper.make_node("ReduceMax", ["unit_again"], ["one"], axes=[0, 1], keepdims=0),
        helper.make_node("Mul", ["mean", "one"], ["score"]),
        *_as_scores("score"),
    ]
    constants = {
        "above_zero": np.float32(1.02),  # one turn at least
        "half_of_most": np.float32(most_turns / 2),
        "true": np.array(True),
        "unit": np.eye(MATRIX, dtype=np.float32),
        **_SHAPES,
    }
    return onnx_file(path, nodes, {"image": CHANNELS_FIRST}, {"scores": (1, 2)}, constants)


def failing_where_bright(path: Path) -> Path:
    """The mean of a dark input; where it is bright it writes outside a table, which the library refuses."""
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Cast", ["mean"], ["place"], to=TensorProto.INT64),
        helper.make_node("Abs", ["place"], ["place_or_outside"]),
        helper.make_node("Add", ["place", "place_or_outside"], ["outside"]),
        helper.make_node("ScatterElements", ["table", "outside", "none"], ["table_again"], axis=0),
        helper.make_node("Add", ["mean", "table_again"], ["score"]),
        *_as_scores("score"),
    ]
    constants = {"table": np.zeros(1, np.float32), "none": np.zeros(1, np.float32), **_SHAPES}
    return onnx_file(path, nodes, {"image": CHANNELS_FIRST}, {"scores": (1, 2)}, constants)


def mean_of(path: Path, shape: tuple[int | str, ...] = CHANNELS_FIRST) -> Path:
    """The mean of its input."""
    nodes = [
        helper.make_node("ReduceMean", ["camera"], ["mean"], axes=[1, 2, 3], keepdims=0),
        *_as_scores("mean"),
    ]
    return onnx_file(path, nodes, {"camera": shape}, {"scores": (1, 2)}, _SHAPES)


def mean_of_in_two(path: Path) -> Path:
    """The same two scores as two outputs, whose names are in another order when they are sorted."""
    nodes = [
        helper.make_node("ReduceMean", ["camera"], ["zenith"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Neg", ["zenith"], ["abyss"]),
    ]
    return onnx_file(path, nodes, {"camera": CHANNELS_FIRST}, {"zenith": (1,), "abyss": (1,)}, {})


_SHAPES: dict[str, Any] = {"row": np.array([1, 1], np.int64)}


def _as_scores(mean: str) -> list[Any]:
    return [
        helper.make_node("Reshape", [mean, "row"], ["bright"]),
        helper.make_node("Neg", ["bright"], ["dark"]),
        helper.make_node("Concat", ["bright", "dark"], ["scores"], axis=1),
    ]
