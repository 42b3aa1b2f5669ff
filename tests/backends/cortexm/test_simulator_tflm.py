"""Inferences of a simulated board by tflite-micro: to the last bit LiteRT's, and a process that dies."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from edgebench.errors import UnavailableError, UnsupportedError, UsageError
from tests.backends.cortexm.conftest import BANNER, booted
from tests.backends.cortexm.simulated import SimulatedDevice, engines
from tests.backends.cortexm.uploading import upload

tflm = importlib.import_module("edgebench.backends.cortexm.simulator.engine")
ABORTING = "tests.backends.cortexm.aborting_interpreter"
program = importlib.import_module("edgebench.backends.cortexm.simulator.simulate")


@pytest.fixture(scope="module")
def messages():
    return []


@pytest.fixture(scope="module")
def engine(prepared_quarter, messages):
    pytest.importorskip("tflite_micro")
    with tflm.TflmEngine(prepared_quarter["int8"], messages.append) as engine:
        assert engine.start()
        yield engine


@pytest.fixture
def device(engine):
    yield from booted(SimulatedDevice(engine=engine))


def tensors(artifact):
    """The golden patches as int8 inputs: pixel - 128."""
    return [
        (patch.astype(np.int16) - 128).astype(np.int8).tobytes() for patch in np.load(artifact.golden.patches)
    ]


def test_scores_are_those_of_litert_s_reference_kernels(prepared_quarter, engine):
    """All golden patches; the second of two inferences of one input, which the first overwrites, is alike."""
    artifact = prepared_quarter["int8"]
    assert artifact.golden.reference == "LiteRT reference kernels"
    for index, tensor in enumerate(tensors(artifact)):
        assert engine.infer(tensor, 2 if index == 0 else 1)[0] == artifact.golden.scores[index]


def test_a_board_with_it(prepared_quarter, device):
    artifact = prepared_quarter["int8"]
    infos = device.command("profile")
    assert "m-info-[input-bytes=150528]" in infos and "m-info-[input-type=int8]" in infos
    [arena] = [line for line in infos if line.startswith("m-info-[engine-bytes=")]
    assert 400_000 < int(arena.removesuffix("]").partition("=")[2]) < 500_000
    assert upload(device, tensors(artifact)[0]) == ["m-load-done"]
    lines = device.command("infer 1 0")
    expected = ",".join(f"{score:.3f}" for score in artifact.golden.scores[0])
    assert lines[-1] == f"m-results-[{expected}]"
    start_us, end_us = (int(line.removeprefix("m-lap-us-")) for line in lines if "-lap-" in line)
    assert 0 < (end_us - start_us) % 2**32 < 2**31


def test_floats_are_taken(prepared_quarter, messages):
    pytest.importorskip("tflite_micro")
    artifact = prepared_quarter["fp32"]
    patch = np.load(artifact.golden.patches)[0]
    with tflm.TflmEngine(artifact, messages.append) as engine:
        assert engine.start()
        scores, _ = engine.infer((patch / np.float32(127.5) - 1).astype(np.float32).tobytes(), 1)
    assert scores == pytest.approx(artifact.golden.scores[0], abs=artifact.golden.tolerance)


@pytest.mark.attack(
    "the interpreter of a simulated board aborts during an inference: the board resets and goes on"
)
def test_an_interpreter_that_aborts(prepared_quarter, messages, monkeypatch):
    pytest.importorskip("tflite_micro")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    with tflm.TflmEngine(prepared_quarter["int8"], messages.append, ABORTING) as engine:
        [device] = booted(SimulatedDevice(engine=engine))
        assert upload(device, bytes(150_528)) == ["m-load-done"]
        device.command("infer 1 0")
        device.send(b"infer 13 0%")
        assert device.lines() == ["m-warmup-start-0", "m-warmup-done", "m-infer-start-13", *BANNER]
        assert "SIGABRT" in messages[-1]
        assert "m-info-[reset=fault]" in device.command("profile")
        assert device.command("infer 1 0")[-1].startswith("m-results-[")


@pytest.mark.attack(
    "a simulated board's interpreter cannot take the model: it says so, and every infer is an error"
)
def test_a_model_that_does_not_start(prepared_quarter, tmp_path, messages):
    pytest.importorskip("tflite_micro")
    artifact = prepared_quarter["int8"]
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(artifact.path.read_bytes()[:200_000])
    with tflm.TflmEngine(artifact.model_copy(update={"path": broken}), messages.append) as engine:
        [device] = booted(SimulatedDevice(engine=engine))
        assert "cannot be started" in messages[-1]
        assert device.command("infer 1 0") == ["e-[The model cannot be started]"]


def test_an_inference_that_fails(engine):
    """A tensor of another size: the interpreter says so, and lives."""
    with pytest.raises(engines.InferenceFailed):
        engine.infer(b"\0", 1)
    assert engine.infer(bytes(150_528), 1)[0]


def test_tflite_micro_is_missing(monkeypatch):
    monkeypatch.setattr(tflm, "version_of", lambda _: None)
    with pytest.raises(UnavailableError) as error:
        program.simulate()
    assert "edgebench[simulator]" in error.value.fix


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"precision": "fp16"}, UnsupportedError),
        ({"precision": "int4"}, UsageError),
        ({"depth": 0.3}, UsageError),
        ({"inference_ms": 0.0}, UsageError),
        ({"inference_ms": float("nan")}, UsageError),
    ],
)
def test_what_cannot_be_simulated(settings, kind):
    pytest.importorskip("tflite_micro")
    with pytest.raises(kind) as error:
        program.simulate(**settings)
    assert error.value.fix


def test_pictures_alone_are_simulated(prepared_quarter):
    pytest.importorskip("tflite_micro")
    with pytest.raises(UnsupportedError):
        tflm.TflmEngine(prepared_quarter["int8"].model_copy(update={"batch": 2}), print)
