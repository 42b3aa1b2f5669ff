"""A user's int8 models without a picture: whether a board has room, and sessions on firmware."""

import dataclasses
import importlib
import json
import shutil
from contextlib import closing

import numpy as np
import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import InputError, SessionError, UnavailableError, UnsupportedError, UsageError
from edgebench.prepare.samples import samples_scene
from edgebench.records.model import PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import ImageSet, Variant
from edgebench.run.measuring.session import compare, require
from edgebench.run.model_choice import resolve_sources, with_golden
from tests.backends.cortexm.board_faults import FaultyBoard
from tests.backends.cortexm.first_light import SHORT
from tests.backends.cortexm.simulated import clocks, served
from tests.backends.cortexm.tflm_programs import board_library
from tests.models.crafted_lite import CLASSES, write_memory

artifacts = importlib.import_module("edgebench.backends.cortexm.artifacts")
backend = importlib.import_module("edgebench.backends.cortexm.backend")
boards = importlib.import_module("edgebench.backends.cortexm.boards")
engines = importlib.import_module("edgebench.backends.cortexm.engines")
simulator = importlib.import_module("edgebench.backends.cortexm.simulator.engine")
tflm_library = importlib.import_module("edgebench.backends.cortexm.tflm_library")

NUCLEO = ("--board", "nucleo-h743zi2")


def quiet(_):
    pass


@pytest.fixture
def call(session_cache, monkeypatch):
    """`edgebench cortexm` with a user's model, without a TFLM."""
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("no cross-compiler: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi")
    pytest.importorskip("tflite_micro")
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(session_cache.root))
    monkeypatch.delenv(tflm_library.VARIABLE, raising=False)
    return lambda *words: CliRunner().invoke(app, ["cortexm", *map(str, words)])


@pytest.fixture(params=["keywords", "autoencoder"])
def prepared(request, user_models, session_cache):
    """An artifact of 490 inputs, 12 or 490 scores, and what it was asked for as."""
    pytest.importorskip("ai_edge_litert")
    asked = artifacts.request_of(
        str(user_models / f"{request.param}_int8.tflite"), "tflm", session_cache, quiet
    )
    [artifact] = backend.CortexMBackend().prepare([asked], session_cache, quiet)
    assert artifact.scores == {"keywords": 12, "autoencoder": 490}[request.param], artifact
    return artifact, asked


def test_whether_it_fits_is_known_without_a_port_and_without_tflm(call, user_models, prepared):
    artifact, asked = prepared
    done = call("size", "--model", asked.source.path, *NUCLEO, "--json")
    assert done.exit_code == 0, done.exception
    assert "TFLM's own code is not counted" in done.stderr
    used = {entry["name"]: entry["used_bytes"] for entry in json.loads(done.stdout)["firmware"]["memory"]}
    arena = engines.arena_bytes(artifact, quiet)
    assert artifact.size_bytes < used["FLASH"] < artifact.size_bytes + 20_000
    assert arena + 8192 < used["RAM"] < arena + 8192 + 5_000
    assert 490 <= used["INPUT_RAM"] < 500


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        ("heavy_int8.tflite", UnsupportedError, "bytes more than the board's 2,097,152"),
        ("wide_int8.tflite", UnsupportedError, "INPUT_RAM takes 37,856 bytes more than the board's 262,144"),
        ("two_int8.tflite", UnsupportedError, "it has 2 inputs"),
        ("gelu_int8.tflite", UnsupportedError, "GELU"),
        ("keywords.tflite", UnsupportedError, "its firmware takes int8"),
        ("tower.keras", UnsupportedError, "its firmware takes int8"),
        ("labels.txt", InputError, "its name ends in '.txt'"),
        ("no.tflite", InputError, "No such file"),
        pytest.param(
            "cut.tflite",
            InputError,
            "damaged",
            marks=pytest.mark.attack("a .tflite is cut off: `cortexm size` says that it is damaged"),
        ),
    ],
)
def test_what_is_no_model_for_a_board(call, user_models, tmp_path, model, error, words):
    path = user_models / model
    if model == "cut.tflite":
        path = tmp_path / model
        path.write_bytes((user_models / "keywords_int8.tflite").read_bytes()[:2000])
    raised = call("size", "--model", path, *NUCLEO).exception
    assert isinstance(raised, error), raised
    assert words in raised.why and raised.fix


def test_a_build_takes_the_users_tflm_and_a_benchmarks_id(call, user_models, tmp_path):
    model, elf = user_models / "autoencoder_int8.tflite", tmp_path / "ad.elf"
    assert isinstance(call("build", "--model", model).exception, UnavailableError)
    tflm = board_library(tmp_path / "tflm", 490, boards.board_of(NUCLEO[1]).cpu_flags)
    done = call("build", "--model", model, *NUCLEO, "--tflm", tflm, "--benchmark-id", "ad01", "-o", elf)
    assert done.exit_code == 0, done.exception
    content = elf.read_bytes()
    assert model.read_bytes() in content and b"autoencoder_int8-" in content and b"ad01" in content
    assert "not counted" not in call("size", "--model", model, *NUCLEO, "--tflm", tflm).stderr
    # The stand-in has few operators.
    raised = call("build", "--model", user_models / "keywords_int8.tflite", "--tflm", tflm).exception
    assert isinstance(raised, UnsupportedError) and "lacks Reshape" in raised.why


@pytest.mark.parametrize(
    "words",
    [
        ("size",),
        ("size", "x.elf", "--model", "x.tflite"),
        ("size", "x.elf", "--engine", "tflm"),
        ("flash", "x.elf", "--model", "x.tflite"),
        ("build", "--benchmark-id", "kws02"),
    ],
)
def test_options_that_contradict_each_other(call, words):
    done = call(*words)
    assert isinstance(done.exception, UsageError) or done.exit_code == 2


@pytest.mark.parametrize("fault", ["stray-ready:2", "foreign"])
def test_a_session_on_firmware_that_has_it(prepared, fault):
    pytest.importorskip("tflite_micro")
    artifact, asked = prepared
    scene = samples_scene(asked.source.inputs, is_users=False)
    with simulator.TflmEngine(artifact, quiet) as engine:
        engine.start()
        board = FaultyBoard(
            [fault],
            model_id=engines.model_id(artifact),
            engine=engine,
            clock=clocks.SimulatedClock(),
            benchmark_id="kws01",
        )
        with (
            served(board) as port,
            closing(backend.CortexMDevice(Target("m7", "cortex-m", port=port), SHORT)) as device,
            device.session(artifact, SessionSettings(1, {}, Launch())) as session,
        ):
            scores = session.golden()
            require(compare(scores, artifact.golden, {}))
            golden = artifact.golden
            labelled = ImageSet(
                "given", golden.patches, golden.patches_sha256, len(scores), None, (), kind="samples"
            )
            assert np.array_equal(session.predict(labelled), scores)
            windows = list(session.measure(MeasurePlan(scene, 3, 2, images=None, patches=2)))
            facts = session.facts()
    # Two of 400 samples take turns; the first is golden, too.
    assert [window.patch for window in windows] == [0, 0, 200, 0]
    assert np.array_equal(windows[1].scores, scores[0])
    assert not np.array_equal(windows[2].scores, scores[0])
    is_own = fault != "foreign"
    assert facts.runtime["own_firmware"] is is_own
    assert facts.runtime.get("input_convention") == (None if is_own else "as the model takes it")
    assert facts.runtime["model"] == (engines.model_id(artifact) if is_own else "vww01")


def test_a_state_is_reset_before_each_inference_of_a_window(tmp_path, session_cache):
    pytest.importorskip("tflite_micro")
    inputs, path = tmp_path / "samples.npz", write_memory(tmp_path / "memory.tflite", quantised=True)
    samples = np.eye(CLASSES, dtype=np.float32)[:, None] * 4
    np.savez(inputs, samples=samples)
    (chosen,) = resolve_sources([str(path)], cache=session_cache, progress=quiet, inputs=inputs)
    source = with_golden(chosen, session_cache, None, None).source
    request = PrepareRequest(Variant(None, "int8", source.name), 1, {"engine": "tflm"}, source)
    [artifact] = backend.CortexMBackend().prepare([request], session_cache, quiet)
    assert artifact.state == "reset" and np.array_equal(artifact.golden.scores, samples[:, 0])
    kept = artifacts.with_printed_tolerance(artifact.model_copy(update={"state": "kept"}))
    assert isinstance(kept, UnsupportedError) and "--keep-state" in kept.fix
    with simulator.TflmEngine(artifact, quiet) as engine:
        engine.start()
        board = FaultyBoard(
            [], model_id=engines.model_id(artifact), engine=engine, clock=clocks.SimulatedClock()
        )
        with (
            served(board) as port,
            closing(backend.CortexMDevice(Target("m7", "cortex-m", port=port), SHORT)) as device,
            device.session(artifact, SessionSettings(1, {}, Launch())) as session,
        ):
            require(compare(session.golden(), artifact.golden, {}))
            assert source.inputs is not None
            scene = samples_scene(source.inputs, is_users=True)
            windows = list(session.measure(MeasurePlan(scene, 2, 2, images=None, patches=1)))
            profile = device.identify()
    assert all(np.array_equal(window.scores, samples[0, 0]) for window in windows)
    foreign = dataclasses.replace(profile, firmware="another 1", infos={})
    with pytest.raises(SessionError, match="not the artifact"):
        foreign.require_fits(artifact)
