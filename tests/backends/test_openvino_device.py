"""What the OpenVINO runner decides by itself, without the library: settings, flight, records, failures."""

from __future__ import annotations

import importlib
import random
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from edgebench.errors import UnsupportedError
from edgebench.prepare.formats import refusal_of
from edgebench.records.model import SHIPPED, ModelSource, PrepareRequest
from edgebench.records.values import Variant
from tests.fakes import agent_backend
from tests.models.crafted import onnx_file

DEVICE = "edgebench.backends.openvino.device."
compile_cache: Any = importlib.import_module(DEVICE + "library")
failures: Any = importlib.import_module(DEVICE + "library")
flight: Any = importlib.import_module("edgebench.backends.device.flight")
library: Any = importlib.import_module(DEVICE + "library")
onnx_names: Any = importlib.import_module(DEVICE + "old_api")
record: Any = importlib.import_module(DEVICE + "record")
settings: Any = importlib.import_module(DEVICE + "library")

openvino, ncs2 = agent_backend("openvino"), agent_backend("ncs2")


def settings_of(backend=openvino, precision="fp32", **chosen):
    options = backend.options_model.model_validate(chosen).model_dump(mode="json")
    return settings.settings_of({**options, "precision": precision})


# --- what is asked of the device ---


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_stick_takes_fp16_alone(precision):
    with pytest.raises(UnsupportedError) as caught:
        ncs2.prepare_inputs(PrepareRequest(Variant(0.25, precision), 1, {}, SHIPPED))
    assert "--precision fp16" in caught.value.why == ncs2.precision_reasons[precision]


def test_no_release_that_drives_the_stick_reads_tflite(tmp_path):
    request = PrepareRequest(
        Variant(None, "fp16", "own"), 1, {}, ModelSource("own", "tflite", tmp_path / "own")
    )
    refused = refusal_of(ncs2, request)
    assert refused is not None
    assert refused.what == "own is not taken by ncs2"
    assert "its format is" in refused.why and "OpenVINO IR" in refused.why
    assert refused.fix


def test_what_stands_in_for_the_stick_is_another_artifact():
    def inputs(**options):
        return ncs2.prepare_inputs(PrepareRequest(Variant(0.25, "fp16"), 1, options, SHIPPED))

    assert inputs() == inputs(device="MYRIAD.1.2-ma2480")
    assert inputs(device="CPU") == {**inputs(), "mark": "on the CPU"}


@pytest.mark.parametrize(
    ("precision", "chosen", "tried"),
    [
        ("fp32", {}, ["f32"]),
        ("fp16", {}, ["f16", "f32"]),
        ("int8", {}, ["f32", ""]),
        ("mixed", {}, ["f32", ""]),
        ("fp32", {"execution_precision": "bf16"}, ["bf16"]),
        ("fp32", {"execution_precision": "device"}, [""]),
    ],
)
def test_the_precision_follows_the_variant_unless_it_is_named(precision, chosen, tried):
    assert settings_of(precision=precision, **chosen).precisions == tried


@pytest.mark.parametrize(
    ("chosen", "hint"),
    [
        ({}, "latency"),
        ({"requests": 2}, "throughput"),
        ({"requests": 2, "hint": "latency"}, "latency"),
        ({"hint": "none"}, ""),
    ],
    ids=str,
)
def test_the_hint_follows_the_requests_unless_it_is_named(chosen, hint):
    assert settings_of(**chosen).hint == hint


# --- several requests in flight ---


class Overtaking:
    """A request that is through when its turn comes, whenever it was started."""

    def __init__(self, order, failing=()):
        self.outputs = self._input = None
        self._order, self._failing = order, failing

    def give(self, value):
        self._input = value

    def start(self):
        self.outputs = self._input

    def wait(self):
        self._order.take_turn(self.outputs)
        if self.outputs in self._failing:
            raise RuntimeError(f"the library refuses {self.outputs}")


class Order:
    """Lets values through in an order that is not that of their start."""

    def __init__(self, values):
        self._left = list(values)
        self._changed = threading.Condition()

    def take_turn(self, value):
        with self._changed:
            assert self._changed.wait_for(lambda: self._left[0] == value, timeout=20)
            self._left.pop(0)
            self._changed.notify_all()


def flown(values, order, n=3, failing=()):
    """What `done` was told, and what was raised."""
    turns = Order(order)
    requests = [Overtaking(turns, failing) for _ in range(n)]
    free, number_of, told = list(range(n)), {}, []

    def slots():
        for index, value in enumerate(values):
            number_of[index] = number = free.pop(0)
            requests[number].give(value)
            yield index, SimpleNamespace(number=number, array=[])

    def done(index, request, extra_ns):
        assert extra_ns == 0  # nobody has measured any
        told.append((index, request.outputs))
        free.append(number_of[index])

    crew = flight.Flight(requests, requests, "requests=1")
    try:
        crew.fly(slots(), done)
    except RuntimeError as error:
        return told, error
    finally:
        crew.close()
    return told, None


def test_results_go_to_the_batch_that_they_are_of():
    told, error = flown("abcdef", "cbdafe")
    assert error is None
    assert told == [(2, "c"), (1, "b"), (3, "d"), (0, "a"), (5, "f"), (4, "e")]


def test_a_request_that_fails_is_told_when_the_others_are_through():
    told, error = flown("abcdef", "bacdef", failing=("b",))
    assert str(error) == "the library refuses b"
    assert (1, "b") not in told and (0, "a") in told


def test_tensors_are_refused_more_than_one_at_a_time():
    requests = [Overtaking(Order("")) for _ in range(2)]
    crew = flight.Flight(requests, requests, "requests=1")
    slot = SimpleNamespace(number=0, array=(1, 2))
    with pytest.raises(ValueError, match="--set requests=1"):
        crew.fly(iter([(0, slot)]), lambda *_: None)
    crew.close()


# --- the record ---

LAYERS = [("Const", "f32"), ("Input", "I8"), ("Convolution", "U8"), ("Reorder", "FP32"), ("Softmax", "f32")]
FLOAT_LAYERS = [("FakeQuantize", "FP32"), ("Convolution", "FP32"), ("FullyConnected", "FP32")]


def test_layers_are_counted_by_what_they_compute_in():
    assert record.layer_precisions(LAYERS) == {"u8": 1, "f32": 2}


@pytest.mark.parametrize(
    ("precision", "chosen", "computed", "layers", "words"),
    [
        ("fp32", {}, "f32", [], None),
        ("fp32", {}, "bf16", [], "f32 was asked for, and the compiled model computes in bf16"),
        ("fp16", {}, "f32", [], "f16 was asked for, and the compiled model computes in f32"),
        ("fp16", {}, None, [], None),
        ("fp16", {"execution_precision": "device"}, "f32", [], None),
        ("int8", {}, "f32", LAYERS, None),
        ("int8", {}, "f32", FLOAT_LAYERS, "int8 was asked for, and the layers that multiply compute in f32"),
        ("int8", {}, "f32", [], None),
    ],
)
def test_another_precision_than_the_one_that_was_asked_for_is_a_warning(
    precision, chosen, computed, layers, words
):
    warnings = record.precision_warnings(
        settings_of(precision=precision, **chosen), precision, computed, layers
    )
    assert [warning.partition(", none")[0] for warning in warnings] == ([] if words is None else [words])


@pytest.mark.parametrize(
    ("streams", "threads", "words"),
    [
        (2, None, []),
        (1, 4, ["streams=2 was asked for, and the compiled model has 1"]),
        (2, 2, ["threads=4"]),
    ],
)
def test_other_streams_or_threads_than_were_asked_for_are_a_warning(streams, threads, words):
    warnings = record.setting_warnings(settings_of(streams=2, threads=4), streams, threads)
    assert len(warnings) == len(words)
    assert all(word in warning for word, warning in zip(words, warnings, strict=True))


@pytest.mark.attack("the environment turns OpenVINO's own switches (OV_...): a warning names them")
def test_switches_of_the_environment_are_a_warning():
    assert record.environment_warnings({"PATH": "/bin", "OPENVINO_LIB_PATHS": "x", "MY_OV_X": "1"}) == []
    [warning] = record.environment_warnings({"OV_CPU_MAX_ISA": "secret", "OV_" + "X" * 10_000: ""})
    assert "OV_CPU_MAX_ISA" in warning
    assert "secret" not in warning and len(warning) < 500


@pytest.mark.parametrize(
    ("cache", "hit", "words"),
    [("", None, []), ("kept", None, ["keeps no"]), ("kept", False, []), ("kept", True, ["no cold load_s"])],
)
def test_a_cache_is_told_of_where_it_was_not_used_or_hit(cache, hit, words):
    warnings = record.cache_warnings(settings_of(cache=cache), hit)
    assert len(warnings) == len(words)
    assert all(word in warning for word, warning in zip(words, warnings, strict=True))


@pytest.mark.attack(
    "a cache folder for compiled models that cannot be written to: the load fails with the reason"
)
def test_a_cache_folder_that_cannot_be_written_to():
    with pytest.raises(
        OSError, match="the cache folder /proc/x cannot be written to: No such file"
    ) as refused:
        compile_cache.CompileCache("/proc/x")
    assert "--set cache=FOLDER" in str(refused.value)


def test_a_cache_that_gained_a_model_was_no_hit(tmp_path):
    empty = compile_cache.CompileCache(str(tmp_path / "new" / "folder"))
    assert not empty.is_unchanged()
    (tmp_path / "new" / "folder" / "1.blob").write_bytes(b"")
    assert not empty.is_unchanged()
    assert compile_cache.CompileCache(empty.folder).is_unchanged()


# --- the order of a file's inputs and outputs ---


def two_in_two_out(path):
    nodes = [helper.make_node("Sub", ["z", "a"], ["y"]), helper.make_node("Mul", ["y", "two"], ["b"])]
    constants = {"two": np.float32(2)}
    return onnx_file(path, nodes, {"z": (1, 3), "a": (1, 3)}, {"y": (1, 3), "b": (1, 3)}, constants)


def test_names_of_inputs_and_outputs_come_in_the_order_of_the_file(tmp_path):
    path = two_in_two_out(tmp_path / "model.onnx")
    assert onnx_names.names_of(str(path)) == (["z", "a"], ["y", "b"])
    model = onnx.load(path)  # which files of old list among the inputs, too
    model.graph.input.append(helper.make_tensor_value_info("two", onnx.TensorProto.FLOAT, []))
    onnx.save(model, path)
    assert onnx_names.names_of(str(path)).inputs == ["z", "a"]


@pytest.mark.attack(
    "a model's file is cut off or changed anywhere: its names are refused or read, in no time"
)
def test_names_of_a_damaged_file(tmp_path):
    whole = two_in_two_out(tmp_path / "model.onnx").read_bytes()
    rng = random.Random(1)
    damaged = [whole[:length] for length in range(len(whole))]
    for _ in range(300):
        at = rng.randrange(len(whole))
        damaged.append(whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :])
    refused = 0
    for content in damaged:
        (tmp_path / "damaged.onnx").write_bytes(content)
        try:
            onnx_names.names_of(str(tmp_path / "damaged.onnx"))
        except ValueError as error:
            assert "no .onnx" in str(error)
            refused += 1
    assert refused > len(whole) / 2


# --- a device that is missing ---


class Core:
    """Two plugins that work, and one that cannot be loaded."""

    available_devices = ("CPU", "GPU.0", "GPU.1")

    def get_versions(self, name):
        if name == "NPU":
            raise RuntimeError("Cannot load library 'libnpu.so'")
        if name not in ("CPU", "GPU"):
            raise RuntimeError(f'Device with "{name}" name is not registered in the OpenVINO Runtime')
        return {name: SimpleNamespace(build_number="1")}


@pytest.mark.attack("a device that this build of OpenVINO lacks: the failure names the ones that it has")
@pytest.mark.parametrize(
    ("device", "words"),
    [
        (
            "MYRIAD",
            "OpenVINO 1.0 has no plugin for MYRIAD; it has CPU, GPU, NPU: name one with --set device",
        ),
        ("NPU", "the plugin for NPU cannot be loaded (devices found: CPU, GPU.0, GPU.1): no way"),
        ("GPU.2", "no GPU.2 is found here (devices found: CPU, GPU.0, GPU.1): no way; install its driver"),
        ("GPU.1", "GPU.1 does not take the model: no way"),
        ("GPU", "GPU does not take the model: no way"),
    ],
)
def test_a_device_that_does_not_load_is_told_with_those_that_there_are(device, words):
    error = RuntimeError("Exception from src/core.cpp:77:\nno way\n\n")
    found = library.Library(library.NEW, None, "1.0")
    assert str(failures.device_failure(found, Core(), device, error)).startswith(words)
