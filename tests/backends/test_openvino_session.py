"""OpenVINO for real, through the agent: today's release here, and two old ones on Pythons of their time."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.prepare.cache import Cache
from edgebench.prepare.onnx import OnnxChain, OnnxForm
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch
from edgebench.records.values import PRECISIONS, ImageSet, Variant
from edgebench.run.measuring.session import compare, require
from edgebench.run.model_choice import requests_for, resolve_sources
from tests.backends import openvino_models as models
from tests.fakes import agent_backend
from tests.link.old_python import OPENVINO_2021, OPENVINO_2022, python_of
from tests.models.crafted_ir import ir_file, two_inputs

backend, stick = agent_backend("openvino"), agent_backend("ncs2")
LIBRARY = Path(backend.runner_files()[0]).parent / "library.py"
CURRENT = "current"
OLD = {board.packages[0].partition("==")[2]: board for board in (OPENVINO_2021, OPENVINO_2022)}
RELEASES = [CURRENT, *(pytest.param(version, marks=pytest.mark.slow) for version in OLD)]
BRIGHT, DARK = models.BRIGHT, models.DARK


def python_for(release: str) -> str | None:
    if release == CURRENT:
        return None
    python, why = python_of(OLD[release])
    if python is None:
        pytest.skip(why)
    return python


@pytest.fixture(scope="module")
def devices(tmp_path_factory):
    agent, _ = agent_file(Cache(tmp_path_factory.mktemp("agent")))
    opened: dict[str, AgentDevice] = {}

    def device(release: str) -> AgentDevice:
        if release not in opened:
            link = LocalLink(agent, python_for(release))
            opened[release] = AgentDevice(link, backend.runner_files(), explain=backend.explain)
        return opened[release]

    yield device
    for each in opened.values():
        each.close()


@pytest.fixture(params=RELEASES)
def device(request, devices):
    return devices(request.param)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Ten patches of smooth noise."""
    coarse = np.random.default_rng(2).integers(0, 256, (10, 7, 7, 3), np.uint8)
    held = io.BytesIO()
    np.save(held, coarse.repeat(32, 1).repeat(32, 2))
    path, digest = Cache(tmp_path_factory.mktemp("images")).add_bytes(held.getvalue(), ".npy")
    return ImageSet("noise", path, digest, 10, None, ())


@pytest.fixture(scope="session")
def channels_first_quarter(session_cache):
    """Depth multiplier 0.25 as the backend has it converted, by precision."""
    requests = [PrepareRequest(Variant(0.25, precision), 1, {}) for precision in PRECISIONS]
    outcomes = OnnxChain(lambda _: OnnxForm(layout="NCHW")).prepare(requests, session_cache, lambda _: None)
    assert all(isinstance(outcome, Artifact) for outcome in outcomes), outcomes
    return dict(zip(PRECISIONS, outcomes, strict=True))


def settings(**chosen: Any) -> SessionSettings:
    return SessionSettings(1, backend.options_model.model_validate(chosen).model_dump(), Launch())


def stick_settings(**chosen: Any) -> SessionSettings:
    return SessionSettings(1, stick.options_model.model_validate(chosen).model_dump(), Launch())


def run(device, artifact, settings, images):
    """Golden scores checked; the scores of images, and what the runtime says of itself."""
    with device.session(artifact, settings) as session:
        require(compare(session.golden(), artifact.golden, settings.options))
        predicted = session.predict(images)
        return predicted, session.facts()


# --- today's release, on what takes no conversion ---


@pytest.fixture(scope="module")
def one_by_one(devices, prepared_quarter, images):
    """Scores of a user's .tflite, one request after the other."""
    return run(devices(CURRENT), prepared_quarter["int8"], settings(), images)


def test_a_tflite_file_is_computed_as_it_is(one_by_one):
    """Its integers come out as real scores: the golden ones are LiteRT's."""
    predicted, facts = one_by_one
    np.testing.assert_allclose(predicted.sum(axis=1), 1, atol=0.02)
    assert (facts.runtime["name"], facts.runtime["api"]) == ("openvino", "openvino")
    assert (facts.runtime["requests"], facts.runtime["hint"]) == (1, "latency")
    assert {"i8", "u8"} <= set(facts.runtime["layer_precisions"])
    assert facts.cold.load_s > 0


def test_one_request_and_four_give_the_same_scores(devices, prepared_quarter, images, one_by_one):
    predicted, facts = run(devices(CURRENT), prepared_quarter["int8"], settings(requests=4), images)
    np.testing.assert_array_equal(predicted, one_by_one[0])
    assert (facts.runtime["requests"], facts.runtime["hint"]) == (4, "throughput")


@pytest.mark.slow
def test_fp32_is_computed_in_f32(devices, prepared_quarter, images):
    """Whatever the processor would take by itself; the tolerance is one that 16 bits do not meet."""
    _, facts = run(devices(CURRENT), prepared_quarter["fp32"], settings(threads=1), images)
    runtime = facts.runtime
    assert (runtime["execution_precision"], runtime["threads"], runtime["runs_on"]) == ("f32", 1, ["CPU"])
    assert set(runtime["layer_precisions"]) == {"f32"}
    assert runtime["warnings"] == []
    assert runtime["device_name"]


# --- every release ---


def test_auto_takes_the_settings_of_the_device_that_it_chooses(device, tmp_path):
    artifact = models.artifact(models.mean_of(tmp_path / "mean.onnx"), tmp_path)
    chosen = settings(device="AUTO", threads=1, streams=1, requests=2)
    with device.session(artifact, chosen) as session:
        require(compare(session.golden(), artifact.golden, chosen.options))
    runtime = session.facts().runtime
    assert (runtime["device"], runtime["execution_precision"]) == ("AUTO", "f32")
    if "inference_engine" not in str(runtime["api"]):  # which does not tell
        assert (runtime["runs_on"], runtime["streams"], runtime["threads"]) == (["CPU"], 1, 1)
        assert runtime["warnings"] == []


def test_requests_that_end_out_of_order_are_not_mixed_up(device, tmp_path):
    """A bright patch takes long, and the dark ones behind it are through before it."""
    # Long enough that a busy machine's scheduler does not put them in order.
    model = models.slow_where_bright(tmp_path / "slow.onnx", most_turns=4000)
    artifact = models.artifact(model, tmp_path)
    greys = [BRIGHT, 8, 16, 24, 32, BRIGHT, 40, 48, 56, 64, 72, 80]
    plan = MeasurePlan(models.scene(tmp_path, greys), passes=1, warmup_floor=1, warmup_cap=1)
    chosen = settings(requests=4, streams=2, threads=2)
    with device.session(artifact, chosen) as session:
        require(compare(session.golden(), artifact.golden, chosen.options))
        steady = list(session.measure(plan))[-1]
    infer = steady.stamps_ns[:, steady.stages.index("infer")]
    starts, ends = infer[:, 0], infer[:, 1]
    assert (np.diff(ends) < 0).any(), "none ended before an earlier one: nothing was tried"
    assert (starts[1:] < ends[:-1]).any()
    means = np.array(greys) / 127.5 - 1
    np.testing.assert_allclose(steady.scores, np.stack([means, -means], axis=1), atol=1e-4)


def test_outputs_come_in_the_order_of_the_file(device, tmp_path):
    artifact = models.artifact(models.mean_of_in_two(tmp_path / "two.onnx"), tmp_path)
    with device.session(artifact, settings(requests=2)) as session:
        require(compare(session.golden(), artifact.golden, {}))


@pytest.mark.parametrize("requests", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.attack(
    "an inference fails while others are in flight: the session fails with the library's own words"
)
def test_an_inference_that_fails_ends_the_session_with_its_own_message(device, tmp_path, requests):
    artifact = models.artifact(models.failing_where_bright(tmp_path / "failing.onnx"), tmp_path)
    plan = MeasurePlan(models.scene(tmp_path, [DARK, DARK, BRIGHT, DARK, DARK, DARK]), passes=1)
    with (
        pytest.raises(SessionError) as caught,
        device.session(artifact, settings(requests=requests)) as session,
    ):
        require(compare(session.golden(), artifact.golden, {}))
        list(session.measure(plan))
    assert (caught.value.status, caught.value.stage) == ("error", "measure")
    if requests == 1 or "inference_engine" not in str(session.facts().runtime["api"]):
        assert "Scatter" in caught.value.why
    assert "RuntimeError" in caught.value.why


@pytest.mark.parametrize(
    ("chosen", "model", "words"),
    [
        pytest.param(
            {"device": "GPU.1"}, "mean", ["GPU", "devices found: CPU"], id="a device that is not here"
        ),
        pytest.param({}, "open", ["camera", "open shape"], id="an input that leaves its shape open"),
        pytest.param({}, "broken", ["cannot read the model"], id="no model", marks=pytest.mark.slow),
        pytest.param({"cache": "file"}, "mean", ["cache folder", "written"], id="a cache in a file's place"),
    ],
)
def test_what_cannot_be_loaded_says_why(device, tmp_path, chosen, model, words):
    (tmp_path / "file").write_bytes(b"")
    if "cache" in chosen:
        chosen = {"cache": str(tmp_path / chosen["cache"])}
    path = tmp_path / "model.onnx"
    if model == "broken":
        path.write_bytes(b"no model")
    else:
        models.mean_of(path, ("N", 3, "H", "W") if model == "open" else models.CHANNELS_FIRST)
    with pytest.raises(SessionError) as caught:
        device.session(models.artifact(path, tmp_path), settings(**chosen)).__enter__()
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    said = f"{caught.value.what} {caught.value.why} {caught.value.fix}"
    assert [word for word in words if word not in said] == []


def ir_artifact(folder: Path, version: int, device: Any) -> Artifact:
    """Of an IR with float16 weights, two inputs and three outputs, as `device` prepares it."""
    cache = Cache(folder / "cache")
    path = ir_file(two_inputs(folder / "m.onnx"), folder / "m.xml", version=version, half=True)
    (chosen,) = resolve_sources([str(path)], cache=cache, progress=lambda _: None)
    options = {"device": "CPU", "requests": 1}
    (artifact,) = device.prepare(requests_for([chosen], device, (), 1, cache, options), cache, lambda _: None)
    assert isinstance(artifact, Artifact), artifact
    return artifact


@pytest.mark.parametrize("measured", [backend, stick], ids=["openvino", "ncs2"])
def test_an_ir_with_two_inputs_is_computed_in_the_order_of_its_file(device, tmp_path, measured):
    artifact = ir_artifact(tmp_path, 10, measured)
    assert artifact.mark == ("on the CPU" if measured is stick else "")
    with device.session(artifact, settings()) as session:
        require(compare(session.golden(), artifact.golden, {}))


@pytest.mark.slow
def test_2021_4_names_the_ir_that_it_cannot_read(devices, tmp_path):
    release = OPENVINO_2021.packages[0].partition("==")[2]
    with pytest.raises(SessionError) as caught:
        devices(release).session(ir_artifact(tmp_path, 11, backend), settings()).__enter__()
    assert f"OpenVINO {release}" in str(caught.value) and "IR 11" in str(caught.value)


def test_a_load_from_the_cache_is_no_cold_one(devices, tmp_path):
    artifact = models.artifact(models.mean_of(tmp_path / "mean.onnx"), tmp_path)
    chosen = settings(cache=str(tmp_path / "kept" / "models"))
    loads = []
    for _ in range(2):
        with devices(CURRENT).session(artifact, chosen) as session:
            require(compare(session.golden(), artifact.golden, {}))
            loads.append(session.facts())
    assert [facts.runtime["from_cache"] for facts in loads] == [False, True]
    assert loads[0].cold.load_s > 0 and loads[1].cold.load_s is None
    assert any("earlier session" in warning for warning in loads[1].runtime["warnings"])


@pytest.mark.slow
def test_a_build_without_the_stick_says_what_it_has(devices, tmp_path):
    artifact = models.artifact(models.mean_of(tmp_path / "mean.onnx"), tmp_path)
    with pytest.raises(SessionError) as caught:
        devices(CURRENT).session(artifact, stick_settings()).__enter__()
    assert caught.value.status == "load_failed"
    assert "MYRIAD" in f"{caught.value.what} {caught.value.why}"


@pytest.mark.attack("OpenVINO's telemetry package is installed: it is not imported, and no socket is opened")
def test_nothing_is_sent_anywhere():
    """Its import sends a note to its maker, unless that package cannot be had."""
    watch = (
        "import runpy, sys\n"
        "events = []\n"
        "sys.addaudithook(lambda event, _: events.append(event) if event.startswith('socket.') else None)\n"
        f"runpy.run_path({str(LIBRARY)!r}, run_name='__main__')\n"
        "assert 'openvino' in sys.modules\n"
        "assert sys.modules['openvino_telemetry'] is None\n"
        "assert not events, events\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", watch], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


# --- the old releases, and every precision as the backend converts it ---


@pytest.mark.slow
@pytest.mark.parametrize("release", [CURRENT, *OLD])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_precision_is_computed_right(devices, channels_first_quarter, images, release, precision):
    artifact = channels_first_quarter[precision]
    one, facts = run(devices(release), artifact, settings(), images)
    four, _ = run(devices(release), artifact, settings(requests=4), images)
    np.testing.assert_array_equal(four, one)
    version = facts.runtime["version"]
    assert version.startswith(release) if release != CURRENT else version
    computed_in = facts.runtime["execution_precision"]
    if computed_in == "f16":
        assert (release, precision) == (CURRENT, "fp16")
        assert "avx512_fp16" in Path("/proc/cpuinfo").read_text()
    elif computed_in == "bf16":  # the 16 bits that the processor has
        assert (release, precision) == (CURRENT, "fp16")
        assert "bf16" in Path("/proc/cpuinfo").read_text()
    else:
        assert computed_in == "f32"  # a processor without arithmetic of 16 bits
    if precision == "fp16" and computed_in != "f16":
        assert "f16 was asked for" in facts.runtime["warnings"][0]
    in_8_bits = {"i8", "u8"} & set(facts.runtime["layer_precisions"])
    if precision == "int8" and release == OPENVINO_2021.packages[0].partition("==")[2]:
        assert "none of them in 8 bits" in facts.runtime["warnings"][0]
    else:
        assert bool(in_8_bits) == (precision == "int8")


@pytest.mark.slow
@pytest.mark.parametrize("release", OLD)
def test_the_sticks_way_on_a_processor(devices, channels_first_quarter, images, release):
    """fp16 and four requests, as the stick takes them."""
    _, facts = run(devices(release), channels_first_quarter["fp16"], stick_settings(device="CPU"), images)
    assert (facts.runtime["requests"], facts.runtime["runs_on"]) == (4, ["CPU"])


@pytest.mark.slow
@pytest.mark.parametrize("release", OLD)
def test_an_old_release_does_not_read_tflite(devices, prepared_quarter, release):
    with pytest.raises(SessionError) as caught:
        devices(release).session(prepared_quarter["int8"], settings()).__enter__()
    assert "does not read .tflite, releases from 2023.0 on do" in caught.value.why
