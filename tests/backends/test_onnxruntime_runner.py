"""ONNX Runtime's runner: bound memory, outputs of any kind, and providers that are not there."""

import importlib
import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgebench import registry
from tests.backends.onnx_plugin import NPU, Runtime
from tests.models.crafted import onnx_file

# By its entry point, as the harness finds it: no checker follows the folder that it is installed from.
runner: Any = importlib.import_module(
    registry.backend("onnxruntime").__module__.rpartition(".")[0] + ".device.runner"
)

OPTIONS = registry.backend("onnxruntime").options_model().model_dump(mode="json") | {"threads": 2}


def slot(array):
    return SimpleNamespace(number=0, array=array)


@pytest.fixture
def doubled(tmp_path):
    """Twice the sum over pixels, a channel each: [2, 3]."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["twice"]),
        helper.make_node("ReduceSum", ["twice", "axes"], ["y"], keepdims=0),
    ]
    path = tmp_path / "doubled.onnx"
    axes = np.array([2, 3], np.int64)
    return str(onnx_file(path, nodes, {"x": [2, 3, 4, 4]}, {"y": [2, 3]}, {"axes": axes}))


def test_the_input_is_bound_and_so_are_the_scores(doubled):
    model = runner.load(doubled, OPTIONS)
    assert (model.input_shape, model.input_dtype) == ((2, 3, 4, 4), "float32")
    [model_input] = model.buffers()
    model_input[:] = np.arange(6, dtype=np.float32).reshape(2, 3, 1, 1)
    first = model.infer(slot(model_input))
    np.testing.assert_array_equal(first, 32 * np.arange(6).reshape(2, 3))
    model_input[:] = 1
    second = model.infer(slot(model_input))
    assert second is first  # written over, nothing made
    np.testing.assert_array_equal(second, np.full((2, 3), 32))


def test_it_says_what_truly_runs(doubled):
    description = runner.load(doubled, {**OPTIONS, "optimisation": "basic"}).describe()
    assert description["name"] == "onnxruntime"
    assert (description["threads"], description["optimisation"]) == (2, "basic")
    assert description["providers"] == ["CPUExecutionProvider"]
    assert description["version"]


@pytest.mark.parametrize("level", list(runner.LEVELS))
def test_every_level_of_optimisation_computes_the_same(doubled, level):
    model = runner.load(doubled, {**OPTIONS, "optimisation": level})
    [model_input] = model.buffers()
    model_input[:] = 3
    np.testing.assert_array_equal(model.infer(slot(model_input)), np.full((2, 3), 96))


@pytest.mark.parametrize("level", ["all", "extended"])
def test_products_of_uint8_and_int8_do_not_overflow(tmp_path, level):
    """Two products of 255 and 127 are more than 16 bits hold: without VNNI the plain kernels overflow."""
    path = tmp_path / "integers.onnx"
    scales = ["scale", "zero", "scale", "none", "wide", "zero"]
    node = helper.make_node("QLinearConv", ["x", *scales[:2], "weights", *scales[2:]], ["y"])
    constants = {
        "scale": np.array(1, np.float32),
        "wide": np.array(1000, np.float32),
        "zero": np.array(0, np.uint8),
        "none": np.array(0, np.int8),
        "weights": np.full((3, 4, 1, 1), 127, np.int8),
    }
    onnx_file(path, [node], {"x": [1, 4, 2, 2]}, {"y": [1, 3, 2, 2]}, constants, dtype=TensorProto.UINT8)
    model = runner.load(str(path), {**OPTIONS, "optimisation": level, "int8": "qoperator"})
    [model_input] = model.buffers()
    model_input[:] = 255
    (scores,) = model.infer(slot(model_input))
    assert scores.tolist() == np.full((1, 3, 2, 2), 130).tolist()  # 4 * 255 * 127 in thousands


def test_without_a_number_there_is_a_thread_a_core_and_at_most_four(doubled, monkeypatch):
    for cores, threads in ((2, 2), (16, 4)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, cores=cores: set(range(cores)))
        assert runner.load(doubled, {**OPTIONS, "threads": 0}).describe()["threads"] == threads
    monkeypatch.setenv("EDGEBENCH_CPU_QUOTA", "3")
    assert runner.load(doubled, {**OPTIONS, "threads": 0}).describe()["threads"] == 3


def test_scores_behind_axes_of_one_are_a_row(tmp_path):
    node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[2, 3], keepdims=1)
    path = onnx_file(tmp_path / "pooled.onnx", [node], {"x": [1, 3, 4, 4]}, {"y": [1, 3, 1, 1]})
    model = runner.load(str(path), OPTIONS)
    [model_input] = model.buffers()
    model_input[:] = 5
    np.testing.assert_array_equal(model.infer(slot(model_input)), [[5, 5, 5]])


@pytest.fixture
def two(tmp_path):
    """Two inputs, and two outputs: a map and one number."""
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["m"]),
        helper.make_node("ReduceSum", ["m"], ["s"], keepdims=0),
    ]
    return str(onnx_file(tmp_path / "two.onnx", nodes, {"a": [1, 4], "b": [1, 4]}, {"m": [1, 4], "s": []}))


def test_several_inputs_are_bound_where_they_lie(two):
    model = runner.load(two, OPTIONS)
    held = (np.full((1, 4), 2, np.float32), np.full((1, 4), 3, np.float32))
    outputs = model.infer(slot(held))
    np.testing.assert_array_equal(outputs[0], np.full((1, 4), 6))
    assert float(outputs[1]) == 24
    held[1][:] = 5
    assert float(model.infer(slot(held))[1]) == 40
    with pytest.raises(ValueError, match="2 inputs"):
        model.buffers()


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ((np.zeros((1, 4), np.float32),), "2 inputs, 1 were given"),
        ((np.zeros((1, 4), np.float32), np.zeros((1, 5), np.float32)), r"b is float32 \[1, 4\]"),
        ((np.zeros((1, 4), np.float32), np.zeros((1, 4), np.int64)), "int64"),
        ((np.zeros((1, 4), np.float32), np.zeros((1, 8), np.float32)[:, ::2]), "b is float32"),
    ],
)
def test_samples_that_do_not_fit_are_refused(two, arrays, words):
    with pytest.raises(ValueError, match=words):
        runner.load(two, OPTIONS).infer(slot(arrays))


def test_open_axes_are_told_and_outputs_may_have_any_length(tmp_path):
    node = helper.make_node("NonZero", ["x"], ["y"])
    path = onnx_file(tmp_path / "open.onnx", [node], {"x": ["n", "length"]}, {})
    model = onnx.load(path)
    model.graph.output.append(helper.make_tensor_value_info("y", TensorProto.INT64, [2, "found"]))
    onnx.save(model, path)
    with pytest.raises(ValueError, match="'length'"):
        runner.load(str(path), OPTIONS)
    loaded = runner.load(str(path), {**OPTIONS, "input_shapes": [[1, 5]]})
    [model_input] = loaded.buffers()
    model_input[0, [1, 4]] = 1
    (positions,) = loaded.infer(slot(model_input))
    np.testing.assert_array_equal(positions, [[0, 0], [1, 4]])
    model_input[:] = 1
    assert loaded.infer(slot(model_input))[0].shape == (2, 5)


def test_an_input_that_is_not_understood(tmp_path):
    node = helper.make_node("Identity", ["x"], ["y"])
    path = onnx_file(tmp_path / "text.onnx", [node], {"x": [1]}, {"y": [1]}, dtype=TensorProto.STRING)
    with pytest.raises(ValueError, match="string"):
        runner.load(str(path), OPTIONS)


def test_a_provider_that_the_build_lacks_is_refused_with_those_it_has(doubled):
    with pytest.raises(RuntimeError, match=r"Tensorrt.* not in this .*CPUExecutionProvider"):
        runner.load(doubled, {**OPTIONS, "provider": "TensorrtExecutionProvider"})


class Build:
    """A build that has a provider whose libraries may be missing."""

    __version__ = "9"
    ExecutionMode = SimpleNamespace(ORT_SEQUENTIAL=0)
    GraphOptimizationLevel = SimpleNamespace(ORT_ENABLE_ALL=99)
    SessionOptions = SimpleNamespace
    asked: Any = None

    def __init__(self, started):
        self._started = started

    def get_available_providers(self):
        return ["CUDAExecutionProvider", "CPUExecutionProvider"]

    def InferenceSession(self, path, settings, providers):
        self.asked = providers
        return SimpleNamespace(get_providers=lambda: self._started)


def test_the_processor_does_not_step_in_unseen():
    options = {**OPTIONS, "provider": "CUDAExecutionProvider", "provider_options": "device_id=1,a=b=c"}
    with pytest.raises(RuntimeError, match="only CPUExecutionProvider"):
        runner._session(Build(["CPUExecutionProvider"]), "m.onnx", options, 1)
    there = Build(["CUDAExecutionProvider", "CPUExecutionProvider"])
    runner._session(there, "m.onnx", options, 1)
    assert there.asked == [("CUDAExecutionProvider", {"device_id": "1", "a": "b=c"})]


def test_no_runtime_says_how_to_get_one(monkeypatch, doubled):
    monkeypatch.setattr(runner, "_RUNTIME", None)
    monkeypatch.setattr(runner, "_WHY_NONE", "No module named 'onnxruntime'")
    with pytest.raises(ImportError, match="No module named 'onnxruntime'"):
        runner.load(doubled, OPTIONS)


# Providers with memory of their own, in place of which a stand-in computes.


def test_a_provider_that_copies_what_is_bound_sees_each_patch(doubled):
    model = runner.Model(Runtime(built=[NPU]), doubled, {**OPTIONS, "provider": NPU})
    [model_input] = model.buffers()
    for value in (1, 3):
        model_input[:] = value
        np.testing.assert_array_equal(model.infer(slot(model_input)), np.full((2, 3), 32 * value))


def test_it_sees_each_sample_too(two):
    model = runner.Model(Runtime(built=[NPU]), two, {**OPTIONS, "provider": NPU})
    held = (np.full((1, 4), 2, np.float32), np.full((1, 4), 3, np.float32))
    assert float(model.infer(slot(held))[1]) == 24
    held[1][:] = 5
    assert float(model.infer(slot(held))[1]) == 40
