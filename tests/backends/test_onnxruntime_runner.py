"""ONNX Runtime's runner: bound memory, outputs of any kind, and providers that are not there."""

import importlib
import os
import sys
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
plugins: Any = importlib.import_module(runner.__name__.rpartition(".")[0] + ".plugins")

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


def test_the_processor_does_not_step_in_unseen(doubled):
    options = {**OPTIONS, "provider": NPU, "provider_options": "device_id=1,a=b=c"}
    with pytest.raises(RuntimeError, match="only CPUExecutionProvider"):
        runner.Model(Runtime(built=[NPU], started=False), doubled, options)
    there = Runtime(built=[NPU])
    runner.Model(there, doubled, options)
    assert there.chosen == (NPU, "", {"device_id": "1", "a": "b=c"})


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


# Providers in libraries of their own, and where the operations went.


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with the provider, and one that is broken."""
    text = f"get_ep_names = lambda: [{NPU!r}]\nget_library_path = lambda: '/opt/libnpu.so'\n"
    (tmp_path / "onnxruntime_ep_npu.py").write_text(text)
    (tmp_path / "onnxruntime_ep_broken.py").write_text("raise OSError('no libgone.so')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("onnxruntime_ep_npu", None)


DEVICES = {NPU: ("cpu", "npu")}


@pytest.mark.parametrize(("wanted", "device"), [("", "cpu"), ("npu", "npu")])
def test_a_provider_is_found_in_a_package(package, doubled, wanted, device):
    runtime = Runtime(devices=DEVICES)
    options = {**OPTIONS, "provider": NPU, "provider_device": wanted, "provider_options": "a=1"}
    description = runner.Model(runtime, doubled, options).describe()
    assert runtime.registered == {NPU: "/opt/libnpu.so"}
    assert runtime.chosen == (NPU, device, {"a": "1"})
    assert (description["provider_library"], description["provider_device"]) == ("/opt/libnpu.so", device)
    assert (description["provider_version"], description["emulated"]) == ("7", False)


def test_the_build_comes_before_packages_and_these_before_a_named_library(package, doubled):
    options = {**OPTIONS, "provider": NPU, "provider_library": "/home/libnpu.so"}
    built = Runtime(built=[NPU], devices=DEVICES)
    assert runner.Model(built, doubled, options).describe()["provider_library"] is None
    assert built.registered == {}
    packaged = Runtime(devices=DEVICES)
    assert runner.Model(packaged, doubled, options).describe()["provider_library"] == "/opt/libnpu.so"
    other = Runtime(devices={"OtherExecutionProvider": ("gpu",)})
    runner.Model(other, doubled, {**options, "provider": "OtherExecutionProvider"})
    assert other.registered == {"OtherExecutionProvider": "/home/libnpu.so"}


@pytest.mark.parametrize(
    ("runtime", "chosen", "words"),
    [
        (Runtime(), {"provider": "GoneExecutionProvider"}, f"{NPU}, onnxruntime_ep_broken .*no libgone.so"),
        (Runtime(), {}, "supports no device of this machine"),
        (Runtime(devices=DEVICES), {"provider_device": "gpu"}, "no gpu here, but cpu, npu; choose"),
        (Runtime(built=[NPU]), {"provider_device": "gpu"}, "provider_device .* in this build"),
    ],
)
def test_a_device_that_is_not_there_is_refused_with_those_that_are(package, doubled, runtime, chosen, words):
    with pytest.raises(RuntimeError, match=words):
        runner.Model(runtime, doubled, {**OPTIONS, "provider": NPU, **chosen})


def test_a_runtime_that_loads_no_plugins_says_which_does(package):
    old = SimpleNamespace(__version__="1.22.0")
    with pytest.raises(RuntimeError, match=r"1\.22\.0 .* 1\.23 or newer"):
        plugins.plugin_of(old, {**OPTIONS, "provider": NPU})


@pytest.mark.parametrize(
    ("machine", "types", "backend", "emulated"),
    [("x86_64", "cpu", "Htp", True), ("aarch64", "npu", "Htp", False), ("aarch64", "gpu", "Gpu", False)],
)
def test_qnn_is_given_its_backend_and_emulates_on_x86(
    doubled, monkeypatch, machine, types, backend, emulated
):
    monkeypatch.setattr(plugins.platform, "machine", lambda: machine)
    monkeypatch.setattr(plugins, "package_libraries", lambda: ({plugins.QNN: "/opt/qnn/libep.so"}, {}))
    runtime = Runtime(devices={plugins.QNN: [types]})
    model = runner.Model(runtime, doubled, {**OPTIONS, "provider": plugins.QNN})
    assert runtime.chosen == (plugins.QNN, types, {"backend_path": f"/opt/qnn/libQnn{backend}.so"})
    assert model.describe()["emulated"] is emulated


def test_operations_are_counted_by_provider(doubled):
    runtime = Runtime(built=[NPU], placement={NPU: 140, runner.CPU: 12})
    description = runner.Model(runtime, doubled, {**OPTIONS, "provider": NPU}).describe()
    assert description["placement"] == {NPU: 140, runner.CPU: 12}
    assert description["warnings"] == ["12 of 152 operations on the processor"]
    assert description["absent"] == {}
    assert runner.load(doubled, OPTIONS).describe()["placement"] == {runner.CPU: 2}


def test_a_model_that_stays_on_the_processor_is_refused(doubled):
    options = {**OPTIONS, "provider": NPU}
    with pytest.raises(RuntimeError, match="3 of 3 operations on the processor"):
        runner.Model(Runtime(built=[NPU], placement={runner.CPU: 3}), doubled, {**options, "allow_cpu": True})
    with pytest.raises(RuntimeError, match="takes no operation"):  # a plug-in is then not among the providers
        plugin = Runtime(devices=DEVICES, started=False)
        runner.Model(plugin, doubled, {**options, "provider_library": "/opt/libnpu.so"})
    most = Runtime(built=[NPU], placement={NPU: 1, runner.CPU: 2})
    with pytest.raises(RuntimeError, match="allow-cpu=true"):
        runner.Model(most, doubled, options)
    allowed = runner.Model(most, doubled, {**options, "allow_cpu": True}).describe()
    assert allowed["warnings"] == ["2 of 3 operations on the processor"]


def test_a_runtime_that_does_not_tell_its_placement_has_the_reason(doubled):
    description = runner.Model(Runtime(built=[NPU]), doubled, {**OPTIONS, "provider": NPU}).describe()
    assert (description["placement"], description["warnings"]) == (None, [])
    assert "1.24 and newer" in description["absent"]["placement"]


def test_operations_on_the_processor_are_counted():
    assert runner.processor_warnings({"QNN": 152}, allow_cpu=False) == []
    counted = ["12 of 152 operations on the processor"]
    assert runner.processor_warnings({"QNN": 140, runner.CPU: 12}, allow_cpu=False) == counted
    half = ["1 of 2 operations on the processor"]
    assert runner.processor_warnings({"QNN": 1, runner.CPU: 1}, allow_cpu=False) == half


@pytest.mark.parametrize(("placement", "allow_cpu"), [({}, False), ({}, True), ({"QNN": 1}, False)])
def test_a_model_that_the_processor_carries_out_is_refused_with_the_fix(placement, allow_cpu):
    placement = {**placement, runner.CPU: 3}
    with pytest.raises(RuntimeError, match=r"3 of \d operations .*; take another model"):
        runner.processor_warnings(placement, allow_cpu)


def test_more_than_half_on_the_processor_may_be_allowed():
    allowed = runner.processor_warnings({"QNN": 1, runner.CPU: 2}, allow_cpu=True)
    assert allowed == ["2 of 3 operations on the processor"]
