"""LiteRT for real: sessions on prepared artifacts, exact where they must be, and against plain calls."""

import io
from contextlib import closing

import numpy as np
import pytest

from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.prepare.cache import Cache
from edgebench.prepare.samples import samples_scene
from edgebench.records.model import Artifact
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch
from edgebench.records.values import ImageSet
from edgebench.run.model_choice import requests_for, resolve_sources
from tests.agent.test_facts import planted
from tests.fakes import agent_backend

from ai_edge_litert.interpreter import Interpreter, OpResolverType  # isort: skip


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    agent, _ = agent_file(Cache(tmp_path_factory.mktemp("agent")))
    opened = AgentDevice(LocalLink(agent), agent_backend("cpu").runner_files())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Ten patches of smooth noise."""
    coarse = np.random.default_rng(2).integers(0, 256, (10, 7, 7, 3), np.uint8)
    pixels = coarse.repeat(32, 1).repeat(32, 2)
    held = io.BytesIO()
    np.save(held, pixels)
    path, digest = Cache(tmp_path_factory.mktemp("images")).add_bytes(held.getvalue(), ".npy")
    return ImageSet("noise", path, digest, 10, None, ())


def settings(kernels="xnnpack", threads=1):
    return SessionSettings(1, {"threads": threads, "kernels": kernels}, Launch())


def plainly(artifact, patches, kernels):
    """The same by LiteRT's own set_tensor and get_tensor, and another way of preprocessing."""
    resolver = OpResolverType.BUILTIN_REF if kernels == "reference" else OpResolverType.AUTO
    runtime = Interpreter(str(artifact.path), num_threads=1, experimental_op_resolver_type=resolver)
    runtime.allocate_tensors()
    model_input, model_output = runtime.get_input_details()[0], runtime.get_output_details()[0]
    rows = []
    for patch in patches:
        if model_input["dtype"] == np.int8:
            pixels = (patch.astype(np.int16) - 128).astype(np.int8)
        else:
            pixels = patch.astype(np.float32) / np.float32(127.5) - np.float32(1)
        runtime.set_tensor(model_input["index"], pixels[None])
        runtime.invoke()
        out = runtime.get_tensor(model_output["index"])[0]
        if model_output["dtype"] == np.int8:
            scale, zero_point = model_output["quantization"]
            out = (out.astype(np.float32) - zero_point) * np.float32(scale)
        rows.append(out)
    return np.stack(rows)


@pytest.mark.parametrize("kernels", ["xnnpack", "reference"])
@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_scores_are_to_the_bit_those_of_plain_calls(device, prepared_quarter, images, precision, kernels):
    artifact = prepared_quarter[precision]
    with device.session(artifact, settings(kernels)) as session:
        golden = session.golden()
        predicted = session.predict(images)
        runtime = session.facts().runtime
    np.testing.assert_array_equal(predicted, plainly(artifact, np.load(images.path), kernels))
    reference = np.array(artifact.golden.scores, np.float32)
    exact = (kernels, precision) == ("reference", "int8")
    assert not exact or "kernels=reference" in artifact.golden.exact_with
    assert np.abs(golden - reference).max() <= (0.0 if exact else artifact.golden.tolerance)
    ordered = np.sort(reference, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 2 * artifact.golden.tolerance
    np.testing.assert_array_equal(golden.argmax(1)[clear], reference.argmax(1)[clear])
    assert runtime["name"] == "ai-edge-litert"
    assert (runtime["kernels"], runtime["threads"]) == (kernels, 1)


def test_a_file_that_is_no_model_fails_to_load(device, prepared_quarter, tmp_path):
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(prepared_quarter["int8"].path.read_bytes()[:1000])
    other = Artifact.model_validate({**prepared_quarter["int8"].model_dump(), "path": broken})
    with pytest.raises(SessionError) as caught:
        device.session(other, settings()).__enter__()
    assert caught.value.status in {"load_failed", "crash"}
    assert caught.value.stage == "load"


@pytest.mark.parametrize(
    "name",
    [
        *("autoencoder.keras", "keywords.keras", "lstm.keras"),
        *("autoencoder.tflite", "keywords.tflite", "lstm.tflite", "wave_int8.tflite"),
    ],
)
def test_models_that_take_no_picture_are_given_their_samples(device, user_models, session_cache, name):
    file = str(user_models / name)
    chosen = resolve_sources((file,), cache=session_cache, progress=lambda _: None)
    backend = agent_backend("cpu")
    precision = "int8" if "int8" in name else "fp32"
    requests = requests_for(chosen, backend, (precision,), 1, session_cache)
    (artifact,) = backend.prepare(requests, session_cache, lambda _: None)
    assert isinstance(artifact, Artifact), artifact
    inputs = chosen[0].source.inputs
    assert inputs is not None
    scene = samples_scene(inputs, False)
    with device.session(artifact, settings()) as session:
        golden = session.golden()
        first, *_ = session.measure(MeasurePlan(scene, passes=1, warmup_cap=10))
    reference = np.array(artifact.golden.scores, np.float32)
    assert np.abs(golden - reference).max() <= artifact.golden.tolerance
    np.testing.assert_array_equal(first.scores[: len(golden)], golden)


@pytest.mark.parametrize("name", ["cpu", "openvino"])
def test_a_containers_cpu_quota_limits_the_default_number_of_threads(
    name, prepared_quarter, tmp_path, monkeypatch
):
    tree = {
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": "31 23 0:28 / /cgroup rw - cgroup2 cgroup2 rw\n",
        "cgroup/cpu.max": "150000 100000\n",
    }
    monkeypatch.setenv("EDGEBENCH_BOARD_ROOT", str(planted(tmp_path / "board", tree)))
    backend = agent_backend(name)
    agent, _ = agent_file(Cache(tmp_path / "agent"))
    with closing(AgentDevice(LocalLink(agent), backend.runner_files())) as device:
        options = backend.options_model().model_dump(mode="json")
        with device.session(prepared_quarter["int8"], SessionSettings(1, options, Launch())) as session:
            session.golden()
            facts = session.facts()
        assert device.describe()["cpu_quota_cores"] == 1
    assert facts.runtime["threads"] == 1
