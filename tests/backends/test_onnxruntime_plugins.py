"""ONNX Runtime's plug-ins of Intel and Qualcomm for real, each in a Python of its own."""

import platform
import re
from contextlib import closing
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.prepare.cache import Cache
from edgebench.records.session import ColdFigures, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.run.measuring.session import compare, require
from edgebench.run.model_choice import requests_for, resolve_sources
from tests.fakes import agent_backend
from tests.link.old_python import ONNX_OPENVINO, ONNX_QNN, python_of
from tests.link.rig import make_rig

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the plug-ins' packages here are for x86-64"),
]

backend = agent_backend("onnxruntime")
CPUINFO = Path("/proc/cpuinfo")
IS_INTEL = CPUINFO.exists() and re.search("^vendor_id.*GenuineIntel", CPUINFO.read_text(), re.MULTILINE)
needs_intel = pytest.mark.skipif(not IS_INTEL, reason="the OpenVINO plug-in supports Intel's devices only")
OPENVINO, QNN, CPU = "OpenVINOExecutionProvider", "QNNExecutionProvider", "CPUExecutionProvider"


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


def opened(board, tmp_path):
    python, why = python_of(board)
    if python is None:
        pytest.skip(why)
    agent, _ = agent_file(Cache(tmp_path / "agent"))
    return closing(AgentDevice(LocalLink(agent, python), backend.runner_files()))


def settings(provider, **chosen):
    options = backend.options_model.model_validate({"threads": 1, "provider": provider, **chosen})
    return SessionSettings(1, options.model_dump(mode="json"), Launch())


def measured(device, rig, artifact, chosen):
    """Facts, phases of the passes, and the predictions; the golden scores are right."""
    with device.session(artifact, chosen) as session:
        require(compare(session.golden(), artifact.golden, chosen.options))
        phases = [timed.phase for timed in session.measure(rig.plan(passes=1))]
        return session.facts(), phases, session.predict(rig.images)


@needs_intel
def test_openvino_carries_out_every_operation(onnx_quarter, rig, tmp_path):
    artifact = onnx_quarter["int8"]
    with opened(ONNX_OPENVINO, tmp_path) as device:
        facts, phases, predicted = measured(device, rig, artifact, settings(OPENVINO))
        _, _, expected = measured(device, rig, artifact, settings(CPU))
    assert list(facts.runtime["placement"]) == [OPENVINO]
    assert facts.runtime["placement"][OPENVINO] > 100
    assert (facts.emulated, facts.warnings) == (False, ())
    assert (phases[0], phases[-1]) == ("first", "steady")
    assert np.abs(predicted - expected).max() <= artifact.golden.tolerance


def test_qnn_is_emulated(onnx_quarter, rig, tmp_path):
    artifact = onnx_quarter["int8"]
    with opened(ONNX_QNN, tmp_path) as device:
        facts, phases, predicted = measured(device, rig, artifact, settings(QNN))
        # As written: optimised integer kernels overflow on x86-64 processors without VNNI.
        _, _, expected = measured(device, rig, artifact, settings(CPU, optimisation="disabled"))
    assert facts.runtime["placement"][QNN] > 100
    assert facts.emulated
    assert (phases, facts.cold, facts.warmup) == (["steady"], ColdFigures(), None)
    assert np.abs(predicted - expected).max() <= artifact.golden.tolerance


def with_determinants(path, before, cache):
    """The artifact of `before` operations and a determinant, which neither plug-in has."""
    nodes = [
        *(helper.make_node("Neg", [f"x{n}" if n else "x"], [f"x{n + 1}"]) for n in range(before)),
        helper.make_node("Det", [f"x{before}" if before else "x"], ["y"]),
    ]
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 3, 4, 4]), ("y", [1, 3]))
    ]
    graph = helper.make_graph(nodes, "determinants", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    chosen = resolve_sources((str(path),), cache=cache, progress=lambda _: None)
    [artifact] = backend.prepare(requests_for(chosen, backend, ("fp32",), 1, cache), cache, lambda _: None)
    return artifact


@pytest.mark.parametrize(
    ("board", "provider"),
    [pytest.param(ONNX_OPENVINO, OPENVINO, marks=needs_intel), (ONNX_QNN, QNN)],
)
def test_an_operation_that_a_provider_lacks_is_counted(tmp_path, session_cache, board, provider):
    artifact = with_determinants(tmp_path / "det.onnx", 3, session_cache)
    with opened(board, tmp_path) as device:
        with device.session(artifact, settings(provider, optimisation="disabled")) as session:
            facts = session.facts()
        assert facts.runtime["placement"] == {provider: 3, CPU: 1}
        assert facts.warnings == ("1 of 4 operations on the processor",)
        alone = with_determinants(tmp_path / "alone.onnx", 0, session_cache)
        with pytest.raises(SessionError, match="1 of 1 operations on the processor") as caught:
            device.session(alone, settings(provider, optimisation="disabled")).__enter__()
    assert caught.value.status == "load_failed"


@needs_intel
def test_doctor_lists_the_device_of_a_real_plugin():
    python, why = python_of(ONNX_OPENVINO)
    if python is None:
        pytest.skip(why)
    target = Target("ort", "onnxruntime", {"provider": OPENVINO}, Launch(python=python))
    messages = [finding.message for finding in backend.check(target) if finding.subject == "plug-in"]
    assert any(message.startswith(f"{OPENVINO}: cpu") for message in messages)
