"""Rockchip's neural units on stand-ins for the toolkit and rknnlite; the toolkit for real where it is."""

from __future__ import annotations

import json
import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from PIL import Image

from edgebench.errors import SessionError, UnavailableError, UnsupportedError
from edgebench.prepare.image_sets import shipped_images
from edgebench.prepare.workers.processes import HelperError
from edgebench.records.model import Artifact, InputChoice, PrepareRequest
from edgebench.records.session import ColdFigures, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import Variant
from edgebench.run.measuring.session import compare, require
from edgebench.run.model_choice import requests_for, resolve_sources
from edgebench.stats.compare import wilson
from tests.backends.rknn import stand_in_python
from tests.fakes import agent_backend
from tests.link.rig import make_rig, stored
from tests.models.crafted import onnx_file

backend: Any = agent_backend("rknn")
PYTHON = "EDGEBENCH_RKNN_PYTHON"
REAL = os.environ.get(PYTHON)
SIDE = 32


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    """The stand-ins prepare, and are the simulator."""
    monkeypatch.setenv(PYTHON, stand_in_python.shared())


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> tuple[Path, Path]:
    """An .onnx that weighs the mean of each channel, its channels first, and a folder of pictures."""
    folder = tmp_path_factory.mktemp("model")
    nodes = [
        helper.make_node("GlobalAveragePool", ["image"], ["means"]),
        helper.make_node("Flatten", ["means"], ["row"]),
        helper.make_node("Gemm", ["row", "weights", "bias"], ["sums"]),
        helper.make_node("Softmax", ["sums"], ["scores"], axis=1),
    ]
    weights = np.array([[2, -1, 0], [-1, 1, 0], [1, 0, -2]], np.float32)
    constants = {"weights": weights, "bias": np.array([0.1, 0.2, 0.3], np.float32)}
    path = onnx_file(
        folder / "means.onnx", nodes, {"image": [1, 3, SIDE, SIDE]}, {"scores": [1, 3]}, constants
    )
    pictures = folder / "pictures"
    pictures.mkdir()
    random = np.random.default_rng(5)
    for number in range(4):
        pixels = random.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
        Image.fromarray(pixels).save(pictures / f"{number}.png")
    return path, pictures


def requests(model, cache, precisions, **chosen):
    options = backend.options_model.model_validate(chosen).model_dump(mode="json")
    choice = InputChoice(scale=(58, 57, 57), mean=(124, 116, 104))
    sources = resolve_sources(
        (str(model[0]),), cache=cache, progress=lambda _: None, choice=choice, calibration=model[1]
    )
    return requests_for(sources, backend, precisions, 1, cache, options)


def prepared(model, cache, precisions=("int8",), **chosen):
    return backend.prepare(requests(model, cache, precisions, **chosen), cache, lambda _: None)


def settings(core_mask="auto", env=None, **chosen):
    options = backend.options_model.model_validate({"core_mask": core_mask, **chosen})
    return SessionSettings(1, options.model_dump(mode="json"), Launch(env=env or {}))


def target(python=None, **chosen):
    options = backend.options_model.model_validate(chosen).model_dump(mode="json")
    return Target("rock", "rknn", options, Launch(python=python))


def on_board(artifact, rig, **chosen):
    """Facts of a session on the stand-in board, and the phases of its passes; the golden scores are right."""
    with (
        closing(backend.open(target(stand_in_python.shared()))) as device,
        device.session(artifact, settings(**chosen)) as session,
    ):
        require(compare(session.golden(), artifact.golden, {}))
        phases = [timed.phase for timed in session.measure(rig.plan(passes=1))]
        return session.facts(), phases


def test_a_model_is_converted_with_its_normalisation_and_calibration_images(model, session_cache, rig):
    fp16, int8 = prepared(model, session_cache, ("fp16", "int8"), soc="rk3566")
    built = [json.loads(artifact.path.read_bytes().split(b"\0")[1]) for artifact in (fp16, int8)]
    assert [(file["soc"], file["images"]) for file in built] == [("rk3566", 0), ("rk3566", 4)]
    np.testing.assert_allclose(built[0]["std"], [58, 57, 57])
    np.testing.assert_allclose(built[0]["mean"], [124, 116, 104])
    assert (fp16.format, fp16.input.dtype, fp16.input.layout) == ("rknn", "uint8", "NHWC")
    assert (fp16.path.suffix, fp16.input_shapes) == (".rknn", ((1, SIDE, SIDE, 3),))
    assert int8.provenance["tools"]["rknn-toolkit2"] == "2.3.2"
    assert int8.golden.reference.startswith("ONNX Runtime")
    again, other = prepared(model, session_cache, soc="rk3566") + prepared(model, session_cache)
    assert again == int8
    assert other.sha256 != int8.sha256


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_a_board_runs_the_model_and_its_versions_are_recorded(model, session_cache, rig, precision):
    [artifact] = prepared(model, session_cache, (precision,))
    facts, phases = on_board(artifact, rig)
    runtime = facts.runtime
    assert (runtime["name"], runtime["version"], runtime["driver"]) == ("librknnrt", "2.3.2", "0.9.8")
    assert (runtime["toolkit"], runtime["absent"]) == ("2.3.2", {})
    assert (facts.emulated, facts.warnings) == (False, ())
    assert (phases[0], phases[-1]) == ("first", "steady")


def test_a_library_of_another_release_is_a_warning(model, session_cache, rig):
    [artifact] = prepared(model, session_cache)
    facts, _ = on_board(artifact, rig, env={"STANDIN_RUNTIME": "1.6.0"})
    assert facts.runtime["version"] == "1.6.0"
    [warning] = facts.warnings
    assert "rknn-toolkit2 2.3.2" in warning and "librknnrt 1.6.0" in warning


@pytest.mark.parametrize(("chosen", "number"), [("auto", 0), ("0", 1), ("2", 4), ("0_1", 3), ("0_1_2", 7)])
def test_the_core_mask_reaches_the_runtime(model, session_cache, chosen, number):
    [artifact] = prepared(model, session_cache)
    with (
        closing(backend.open(target(stand_in_python.shared()))) as device,
        pytest.raises(SessionError) as caught,
        device.session(artifact, settings(chosen, {"STANDIN_FAULT": "any"})),
    ):
        pass
    assert f"core_mask={number}\n" in caught.value.stderr_tail


FAULTS = [
    ("Invalid RKNN model version 6", ("librknnrt version: 1.2.1", "toolkit2 2.3.2"), "librknnrt.so"),
    ("parseRKNN from buffer: Invalid RKNN format!", ("librknnrt version: 1.2.1", "2.3.2"), "librknnrt.so"),
    ("parseRKNN from buffer: Invalid RKNN fromat!", ("librknnrt version: 1.2.1", "2.3.2"), "librknnrt.so"),
    ("The rknn model does not match the RKNPU hardware version!", ("hardware version",), "--set soc="),
    ("failed to open rknpu module, need to insmod rknpu dirver!", ("insmod",), "driver rknpu"),
]  # fmt: skip


@pytest.mark.attack("a board's librknnrt refuses a .rknn: the session fails with both versions and the fix")
@pytest.mark.parametrize(("fault", "whys", "fix"), FAULTS)
def test_a_refused_model_is_explained(model, session_cache, fault, whys, fix):
    [artifact] = prepared(model, session_cache)
    env = {"STANDIN_FAULT": fault, "STANDIN_RUNTIME": "1.2.1"}
    with (
        closing(backend.open(target(stand_in_python.shared()))) as device,
        pytest.raises(SessionError) as caught,
        device.session(artifact, settings(env=env)),
    ):
        pass
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    assert all(why in caught.value.why for why in whys), caught.value.why
    assert fix in caught.value.fix


@pytest.mark.parametrize(("chosen", "env", "words"), [
    ("all", {}, "NPU_CORE_ALL"),
    ("auto", {"STANDIN_FAULT": "inference"}, "did not carry out the inference"),
])  # fmt: skip
def test_other_failures_name_their_reason(model, session_cache, chosen, env, words):
    [artifact] = prepared(model, session_cache)
    with (
        closing(backend.open(target(stand_in_python.shared()))) as device,
        pytest.raises(SessionError) as caught,
        device.session(artifact, settings(chosen, env)) as session,
    ):
        session.golden()
    assert words in caught.value.why


def test_the_simulator_builds_the_onnx_in_the_toolkits_python(model, session_cache, rig):
    [artifact] = prepared(model, session_cache, simulator=True)
    assert (artifact.format, artifact.path.suffix, list(artifact.companions)) == (
        "onnx",
        ".onnx",
        ["build.npz"],
    )
    with (
        closing(backend.open(target(simulator=True))) as device,
        device.session(artifact, settings(simulator=True)) as session,
    ):
        require(compare(session.golden(), artifact.golden, {}))
        phases = [timed.phase for timed in session.measure(rig.plan(passes=3))]
        facts = session.facts()
    assert (facts.runtime["name"], facts.runtime["version"]) == ("rknn-toolkit2", "2.3.2")
    assert (facts.emulated, phases, facts.cold, facts.warmup) == (True, ["steady"], ColdFigures(), None)


def test_a_missing_toolkit_is_named_with_its_variable(model, session_cache, monkeypatch):
    [request] = requests(model, session_cache, ("int8",), soc="rk3562")
    monkeypatch.delenv(PYTHON)
    lack = backend.missing(request)
    assert PYTHON in lack.why and "README" in lack.fix
    [outcome] = backend.prepare([request], session_cache, lambda _: None)
    assert isinstance(outcome, UnavailableError)
    # The simulator is built by the session's Python.
    assert backend.missing(replace(request, options={"simulator": True})) is None
    with pytest.raises(UnavailableError, match="rknn-toolkit2 is missing") as caught:
        backend.open(target(simulator=True))
    assert PYTHON in caught.value.fix


def test_a_build_that_fails_takes_no_other_model_with_it(model, session_cache, monkeypatch, tmp_path):
    fault = "The input shape is wrong"
    monkeypatch.setenv(PYTHON, stand_in_python.write(tmp_path, STANDIN_FAULT=fault))
    failed, simulated = (
        prepared(model, session_cache, soc="rk3568")[0],
        prepared(model, session_cache, soc="rk3568", simulator=True)[0],
    )
    assert isinstance(failed, HelperError) and fault in failed.why
    assert isinstance(simulated, Artifact)


def test_what_the_neural_unit_does_not_take_is_refused(onnx_quarter, session_cache):
    for precision in ("int8", "fp16"):
        [request] = requests((onnx_quarter[precision].path, None), session_cache, (precision,))
        with pytest.raises(UnsupportedError, match="not taken by rknn") as caught:
            backend.prepare_inputs(request)
        assert "fp32" in caught.value.fix
    [request] = requests((onnx_quarter["fp32"].path, None), session_cache, ("fp16",))
    fp32 = replace(request, variant=replace(request.variant, precision="fp32"))
    [refusal] = backend.prepare([fp32], session_cache, lambda _: None)
    assert isinstance(refusal, UnsupportedError) and "--precision fp16" in refusal.why


def test_doctor_names_toolkit_and_package(monkeypatch):
    found = {finding.subject: finding for finding in backend.check(target())}
    assert found["rknn-toolkit2"].level == "ok"
    assert "2.3.2" in found["rknn-toolkit2"].message
    assert found["rknn-toolkit-lite2"].level == "error"
    [package, *_] = backend.check(target(stand_in_python.shared()))
    assert (package.level, package.subject, package.message) == ("ok", "rknn-toolkit-lite2", "2.3.2")
    [toolkit] = backend.board_check({}, target(simulator=True))
    assert toolkit.subject == "rknn-toolkit2"
    monkeypatch.delenv(PYTHON)
    assert backend.board_check({}, target())[-1].level == "warning"


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason=f"{PYTHON} names no Python with rknn-toolkit2")
def test_the_real_toolkit_converts_and_its_simulator_is_as_accurate_as_the_processor(
    session_cache, prepared_quarter, monkeypatch
):
    monkeypatch.setenv(PYTHON, str(REAL))
    converted, simulated = (
        PrepareRequest(Variant(0.25, "int8"), 1, target(simulator=simulator).options)
        for simulator in (False, True)
    )
    board, artifact = backend.prepare([converted, simulated], session_cache, lambda _: None)
    assert board.path.read_bytes()[:4] == b"RKNN"
    images = shipped_images(session_cache, "test")
    assert images.labels is not None
    patches, digest = stored(session_cache, np.load(images.path, mmap_mode="r")[::10])
    chosen = replace(images, path=patches, sha256=digest, n=100, labels=images.labels[::10])
    right = {}
    for device, made, python in (
        (backend, artifact, target(simulator=True)),
        (agent_backend("cpu"), prepared_quarter["int8"], Target("cpu", "cpu")),
    ):
        options = device.options_model.model_validate(dict(python.options)).model_dump(mode="json")
        with (
            closing(device.open(python)) as opened,
            opened.session(made, SessionSettings(1, options, Launch())) as session,
        ):
            require(compare(session.golden(), made.golden, options))
            right[device.name] = int((session.predict(chosen).argmax(1) == np.array(chosen.labels)).sum())
            emulated = session.facts().emulated
        assert emulated == (device is backend)
    low, high = wilson(right["cpu"], 100)
    assert low <= right["rknn"] / 100 <= high
