"""Files that cannot be measured as was asked: the reason is the file's own."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgebench.errors import UnsupportedError
from edgebench.prepare.cache import Cache
from edgebench.prepare.chain import Chain
from edgebench.prepare.description import show
from edgebench.prepare.edgetpu import EdgeTpuChain
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.records.model import Artifact, Prepared, PrepareRequest
from edgebench.records.values import Variant
from edgebench.run.model_choice import resolve_sources, with_golden
from tests.models.crafted import Codes, Lite, Types, tflite

cortexm: Any = importlib.import_module("edgebench.backends.cortexm.artifacts")
ONNX = OnnxChain(lambda _: OnnxForm())


def dense(
    path: Path, *, batch: int | None = 1, reshape: int | None = None, factor: float = 1.0, mask: bool = False
) -> Path:
    """x [batch, 8] times `factor`, then a matrix of 1/8 `factor`; a Reshape in between, and a mask."""
    weights = {"factor": np.float32(factor), "matrix": np.eye(8, 4, dtype=np.float32) / factor / 8}
    nodes = [helper.make_node("Mul", ["x", "factor"], ["large"])]
    if mask:
        weights["mask"] = np.array([0] * 7 + [np.finfo(np.float32).min], np.float32)
        nodes += [helper.make_node("Add", ["large", "mask"], ["masked"])]
    if reshape:
        weights["sides"] = np.array([reshape, 8])
        nodes += [helper.make_node("Reshape", ["large", "sides"], ["flat"], name="flatten")]
    taken = "flat" if reshape else "large"
    nodes += [helper.make_node("MatMul", [taken, "matrix"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch or "n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch or "n", 4])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    if mask:
        graph.output.append(helper.make_tensor_value_info("masked", TensorProto.FLOAT, [1, 8]))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def picture(path: Path, reshape: int) -> Path:
    """A picture [n, 3, 4, 4] to its mean colour [n, 3], by a Reshape to a batch of its own."""
    graph = helper.make_graph(
        [
            helper.make_node("GlobalAveragePool", ["x"], ["mean"]),
            helper.make_node("Reshape", ["mean", "sides"], ["y"], name="flatten"),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(np.array([reshape, 3]), "sides")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def outcome(path: Path, chain: Chain, precision: str, cache: Cache, batch: int = 1) -> Prepared:
    (chosen,) = resolve_sources([str(path)], cache=cache, progress=lambda _: None)
    source = with_golden(chosen, cache, None, None).source
    request = PrepareRequest(Variant(None, precision, source.name), batch, {}, source=source)
    (prepared,) = chain.prepare([request], cache, lambda _: None)
    return prepared


def test_a_reshape_that_fixes_the_batch_is_named(tmp_path: Path):
    cache = Cache(tmp_path / "cache")
    assert isinstance(outcome(picture(tmp_path / "open.onnx", -1), ONNX, "fp32", cache, 2), Artifact)
    fixed = picture(tmp_path / "fixed.onnx", 1)
    assert isinstance(outcome(fixed, ONNX, "fp32", cache), Artifact)
    refused = outcome(fixed, ONNX, "fp32", cache, 2)
    assert not isinstance(refused, Artifact)
    assert "'flatten' to [1, 3] fixes a batch of 1" in refused.why
    assert "--batch 1" in refused.fix and "opset" not in str(refused)


@pytest.mark.parametrize(("factor", "what"), [(1e6, "value 'large'"), (1e-6, "weight 'matrix'")])
def test_what_overflows_in_fp16_is_refused_when_it_is_prepared(tmp_path: Path, factor: float, what: str):
    refused = outcome(dense(tmp_path / "m.onnx", factor=factor), ONNX, "fp16", Cache(tmp_path / "cache"))
    assert isinstance(refused, UnsupportedError)
    assert what in refused.why and "65,504" in refused.why and "fp32" in refused.fix


def test_activations_overflow_too_and_masks_do_not(tmp_path: Path):
    cache, path = Cache(tmp_path / "cache"), dense(tmp_path / "m.onnx", factor=5e4)
    refused = outcome(path, ONNX, "fp16", cache)
    assert not isinstance(refused, Artifact) and "value 'large'" in refused.why
    assert isinstance(outcome(path, ONNX, "fp32", cache), Artifact)
    assert isinstance(outcome(dense(tmp_path / "ok.onnx", factor=2.0), ONNX, "fp16", cache), Artifact)


def test_a_mask_is_no_overflow(tmp_path: Path):
    running: Any = importlib.import_module("edgebench.prepare.workers.onnx_running")
    feeds = [(np.ones((1, 8), np.float32),)]
    _, value = running.largest_value(dense(tmp_path / "m.onnx", mask=True, factor=3.0), feeds)
    assert value == 3.0


def test_who_takes_16x8_is_said(tmp_path: Path):
    path = tflite(
        tmp_path / "wide.tflite",
        [
            Lite((1, 8), Types.INT16, scale=0.1),
            Lite((4, 8), Types.INT8, stored=True, scale=0.1),
            Lite((1, 4), Types.INT16, scale=0.1),
        ],
        [(Codes.FULLY_CONNECTED, [0, 1], [2])],
        [0],
        [2],
    )
    cache = Cache(tmp_path / "cache")
    assert show(str(path), cache)["is_16x8"]
    (chosen,) = resolve_sources([str(path)], cache=cache, progress=lambda _: None)
    request = PrepareRequest(Variant(None, "mixed", chosen.source.name), 1, {}, source=chosen.source)
    refusals = [cortexm.refusal_of(request)]
    with pytest.raises(UnsupportedError) as caught:
        EdgeTpuChain("coral", takes_uncompiled=False).recipe(request)
    for refusal in (*refusals, caught.value):
        assert "16x8" in refusal.why and "device cpu" in refusal.fix
