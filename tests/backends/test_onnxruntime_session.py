"""ONNX Runtime for real: sessions on prepared artifacts against plain calls, options, and doctor."""

import importlib
import io
import sys
from importlib.metadata import PackageNotFoundError
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from pydantic import ValidationError

from edgebench import installed
from edgebench.errors import SessionError, UnsupportedError, UsageError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.prepare import onnx as onnx_packages
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import ImageSet, Variant
from edgebench.run.measuring.session import compare, require
from edgebench.run.model_choice import requests_for, require_batch_axes, resolve_sources
from tests.fakes import agent_backend
from tests.models.crafted import onnx_file

backend = agent_backend("onnxruntime")
checks: Any = importlib.import_module(backend.__module__.rpartition(".")[0] + ".backend")
TARGET = Target(name="ort", device="onnxruntime")


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    agent, _ = agent_file(Cache(tmp_path_factory.mktemp("agent")))
    opened = AgentDevice(LocalLink(agent), backend.runner_files())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Ten patches of smooth noise."""
    coarse = np.random.default_rng(2).integers(0, 256, (10, 7, 7, 3), np.uint8)
    held = io.BytesIO()
    np.save(held, coarse.repeat(32, 1).repeat(32, 2))
    path, digest = Cache(tmp_path_factory.mktemp("images")).add_bytes(held.getvalue(), ".npy")
    return ImageSet("noise", path, digest, 10, None, ())


def options(**chosen):
    return backend.options_model.model_validate({"threads": 1, **chosen}).model_dump(mode="json")


def settings(**chosen):
    return SessionSettings(1, options(**chosen), Launch())


def plainly(artifact, patches):
    """The same by the runtime's own `run`, and another way of preprocessing."""
    choice = onnxruntime.SessionOptions()
    choice.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(artifact.path), choice, providers=["CPUExecutionProvider"])
    rows = []
    for patch in patches:
        if artifact.input.dtype == "int8":
            pixels = (patch.astype(np.int16) - 128).astype(np.int8)
        else:
            pixels = patch.astype(np.float32) / np.float32(127.5) - np.float32(1)
        rows.append(session.run(None, {session.get_inputs()[0].name: pixels[None]})[0][0])
    return np.stack(rows)


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_scores_are_to_the_bit_those_of_plain_calls(device, onnx_quarter, images, precision):
    artifact = onnx_quarter[precision]
    with device.session(artifact, settings()) as session:
        golden = session.golden()
        predicted = session.predict(images)
        runtime = session.facts().runtime
    np.testing.assert_array_equal(predicted, plainly(artifact, np.load(images.path)))
    require(compare(golden, artifact.golden, options()))
    assert (runtime["name"], runtime["version"]) == ("onnxruntime", onnxruntime.__version__)
    assert (runtime["providers"], runtime["threads"]) == (["CPUExecutionProvider"], 1)


@pytest.mark.parametrize(
    ("chosen", "change", "words"),
    [
        ({"provider": "CUDAExecutionProvider"}, {}, "CPUExecutionProvider"),
        ({}, {"path": "broken.onnx"}, ""),
    ],
)
def test_what_cannot_be_loaded_is_a_failed_load(device, onnx_quarter, tmp_path, chosen, change, words):
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    if "path" in change:
        change = {"path": tmp_path / change["path"]}
    artifact = Artifact.model_validate({**onnx_quarter["int8"].model_dump(), **change})
    with pytest.raises(SessionError) as caught:
        device.session(artifact, settings(**chosen)).__enter__()
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    assert words in str(caught.value)


def test_options_are_checked_and_decide_the_int8_file():
    for wrong in ({"provider": "cuda"}, {"provider_options": "a"}, {"provider_options": "a=1,,"}, {"x": 1}):
        with pytest.raises(ValidationError):
            backend.options_model.model_validate(wrong)

    def inputs(precision, **chosen):
        request = PrepareRequest(Variant(0.25, precision), 1, options(**chosen))
        return backend.prepare_inputs(request)

    assert inputs("int8")["form"]["activations"] == "int8"
    assert inputs("int8", int8="qoperator")["form"]["activations"] == "uint8"
    assert inputs("int8", int8="qoperator", activations="int8")["form"]["activations"] == "int8"
    assert inputs("fp32", int8="qoperator") == inputs("fp32")
    # What decides only how a session runs leaves the artifact alone.
    assert inputs("int8", threads=3, optimisation="basic") == inputs("int8")
    with pytest.raises(UnsupportedError):
        inputs("int4")


def subjects(target=TARGET):
    return {finding.subject: finding for finding in backend.check(target)}


def test_doctor_asks_the_runtime_for_its_providers():
    findings = subjects()
    assert (findings["onnxruntime"].level, findings["onnxruntime"].message) == ("ok", onnxruntime.__version__)
    assert (findings["provider"].level, findings["preparing"].level) == ("ok", "ok")
    asked = Target(name="ort", device="onnxruntime", options={"provider": "CUDAExecutionProvider"})
    provider = subjects(asked)["provider"]
    assert provider.level == "error"
    assert "CPUExecutionProvider" in provider.message
    assert provider.fix
    assert {"governor", "memory", "clock"} <= {finding.subject for finding in backend.check(TARGET)}


STAND_IN = """
from types import SimpleNamespace as Of
__version__ = "9"
registered = []
get_available_providers = lambda: ["CPUExecutionProvider"]
def register_execution_provider_library(name, path):
    if "broken" in path:
        raise RuntimeError("no driver")
    registered.append(name)
def get_ep_devices():
    return [Of(ep_name=name, device=Of(type=Of(name=kind))) for name in registered for kind in ("GPU", "NPU")
            if "idle" not in name]
"""


def test_doctor_lists_plugins_with_their_devices(tmp_path):
    (tmp_path / "onnxruntime.py").write_text(STAND_IN)
    for name in ("good", "broken", "idle"):
        text = (
            f"get_ep_names = lambda: ['{name}ExecutionProvider']\nget_library_path = lambda: '/{name}.so'\n"
        )
        (tmp_path / f"onnxruntime_ep_{name}.py").write_text(text)
    launch = Launch(env={"PYTHONPATH": str(tmp_path)})
    chosen = {"provider": "ownExecutionProvider", "provider_library": "/own.so"}
    target = Target("ort", "onnxruntime", chosen, launch)
    findings = backend.check(target)
    assert [(finding.level, finding.message) for finding in findings if finding.subject == "plug-in"] == [
        ("ok", "goodExecutionProvider: gpu, npu"),
        ("ok", "idleExecutionProvider: no device here"),
        ("ok", "ownExecutionProvider: gpu, npu"),
        ("warning", "brokenExecutionProvider: RuntimeError: no driver"),
    ]
    assert subjects(target)["provider"].level == "ok"
    broken = Target("ort", "onnxruntime", {"provider": "brokenExecutionProvider"}, launch)
    assert subjects(broken)["provider"].level == "error"
    idle = subjects(Target("ort", "onnxruntime", {"provider": "idleExecutionProvider"}, launch))["provider"]
    assert (idle.level, idle.message) == ("error", "idleExecutionProvider supports no device of this machine")
    gone = subjects(Target("ort", "onnxruntime", {"provider": "goneExecutionProvider"}, launch))["provider"]
    assert gone.level == "error"
    assert "provider_library=PATH" in gone.fix


def test_doctor_names_what_is_missing(monkeypatch, tmp_path):
    def missing(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(installed, "version", missing)
    assert subjects()["preparing"].level == "warning"
    assert "no model can be prepared, or found among" in subjects()["preparing"].message
    monkeypatch.setattr(onnx_packages, "PACKAGES", ("tf2onnx",))
    assert "only .onnx files can be prepared, or found among" in subjects()["preparing"].message
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    for python in (str(bare), "/no/such/python"):
        target = Target(name="ort", device="onnxruntime", launch=Launch(python=python))
        assert subjects(target)["onnxruntime"].level == "error"
        assert "provider" not in subjects(target)


SHAPES_OF_SAMPLES: list[tuple[dict[str, list[int]], list[Any], list[int], int]] = [
    # Inputs, nodes, output, scores.
    ({"x": [16]}, [helper.make_node("MatMul", ["x", "w"], ["y"])], [4], 4),
    ({"x": [16]}, [helper.make_node("Neg", ["x"], ["y"])], [16], 16),
    (
        {"x": [16]},
        [helper.make_node("Unsqueeze", ["x", "one"], ["c"]), helper.make_node("Mul", ["c", "v"], ["y"])],
        [16, 4],
        64,
    ),
    (
        {"x": [1, 16], "state": [2, 1, 16]},
        [
            helper.make_node("ReduceMean", ["state"], ["m"], axes=[0], keepdims=0),
            helper.make_node("Add", ["x", "m"], ["a"]),
            helper.make_node("MatMul", ["a", "w"], ["y"]),
        ],
        [1, 4],
        4,
    ),
]


@pytest.mark.parametrize(("inputs", "nodes", "output", "scores"), SHAPES_OF_SAMPLES)
def test_inputs_without_a_batch_axis_are_one_sample(
    device, tmp_path, session_cache, inputs, nodes, output, scores
):
    rng = np.random.default_rng(3)
    numbers = {"w": rng.normal(size=(16, 4)), "v": rng.normal(size=(1, 4))}
    constants = {name: value.astype(np.float32) for name, value in numbers.items()} | {"one": np.array([1])}
    path = onnx_file(tmp_path / "m.onnx", nodes, inputs, {"y": output}, constants)
    chosen = resolve_sources((str(path),), cache=session_cache, progress=lambda _: None)
    requests = requests_for(chosen, backend, ("fp32",), 1, session_cache)
    (artifact,) = backend.prepare(requests, session_cache, lambda _: None)
    assert isinstance(artifact, Artifact), artifact
    assert artifact.outputs == scores
    with device.session(artifact, settings()) as session:
        golden = session.golden()
    runtime = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    with np.load(artifact.golden.patches) as samples:
        fed = [dict(zip(inputs, arrays, strict=True)) for arrays in zip(*samples.values(), strict=True)]
    expected = np.stack([np.ravel(runtime.run(None, feed)[0]) for feed in fed])
    np.testing.assert_allclose(golden, expected, atol=1e-5)


def test_a_batch_without_an_axis_is_a_usage_error(tmp_path, session_cache):
    path = onnx_file(tmp_path / "m.onnx", [helper.make_node("Neg", ["x"], ["y"])], {"x": [16]}, {"y": [16]})
    chosen = resolve_sources((str(path),), cache=session_cache, progress=lambda _: None)
    require_batch_axes(chosen, (1,))
    with pytest.raises(UsageError, match="--batch 2") as caught:
        require_batch_axes(chosen, (1, 2))
    assert "x [16]" in caught.value.why
