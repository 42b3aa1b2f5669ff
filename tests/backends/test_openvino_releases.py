"""The stick on the real old releases of OpenVINO, without a stick: what doctor and a session say."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from edgebench import registry
from edgebench.agent.facts import board_facts
from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.prepare.cache import Cache
from edgebench.records.session import SessionSettings
from edgebench.records.target import Launch, Target
from tests.backends import openvino_models as models
from tests.fakes import agent_backend
from tests.link.old_python import OPENVINO_2021, OPENVINO_2022, python_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(stick["id"].startswith("03e7:") for stick in board_facts()["usb_accelerators"] or ()),
        reason="a stick is plugged in",
    ),
]

checks: Any = importlib.import_module("edgebench.backends.openvino.checks")
BACKEND: Any = registry.backend("openvino")
backend = agent_backend("ncs2")
NO_LIBUSB = "OpenVINO's plugin cannot be loaded: libusb-1.0.so.0 is missing"


def python_for(board):
    python, why = python_of(board)
    if python is None:
        pytest.skip(why)
    return python


def failure_on(board, tmp_path) -> SessionError:
    agent, _ = agent_file(Cache(tmp_path / "agent"))
    device = AgentDevice(LocalLink(agent, python_for(board)), backend.runner_files(), explain=backend.explain)
    artifact = models.artifact(models.mean_of(tmp_path / "mean.onnx"), tmp_path)
    options = backend.options_model().model_dump()
    try:
        with (
            pytest.raises(SessionError) as caught,
            device.session(artifact, SessionSettings(1, options, Launch())),
        ):
            pass
    finally:
        device.close()
    return caught.value


def test_the_plugin_of_2021_4_finds_no_stick(tmp_path):
    error = failure_on(OPENVINO_2021, tmp_path)
    if error.what == NO_LIBUSB:  # where the system has none, the plugin gets no further
        assert error.fix == "sudo apt install libusb-1.0-0"
        return
    assert error.what == "the Neural Compute Stick 2 cannot be opened"
    assert error.why.startswith("Can not init Myriad device: NC_ERROR; on USB: no")


def test_the_wheel_of_2022_3_has_no_plugin_for_it(tmp_path):
    error = failure_on(OPENVINO_2022, tmp_path)
    assert error.what == "OpenVINO 2022.3.2 has no plugin for the Neural Compute Stick 2 (MYRIAD)"
    assert "openvino==2021.4.2" in error.fix


@pytest.mark.parametrize(
    ("board", "api", "firmware"),
    [(OPENVINO_2021, "IECore", True), (OPENVINO_2022, "openvino.runtime.Core", False)],
    ids=["2021.4.2", "2022.3.2"],
)
def test_doctor_tells_the_release_its_devices_and_the_firmware(board, api, firmware):
    target = Target("ncs2", "ncs2", {"device": "MYRIAD"}, Launch(python=python_for(board)))
    findings = {finding.subject: finding for finding in BACKEND.check(target)}
    assert api in findings["openvino"].message
    assert "devices found: CPU" in findings["plugins"].message
    assert findings["device"].level == findings["stick"].level == "error"
    assert ("usb-ma2x8x.mvcmd" in findings["firmware"].message) if firmware else "firmware" not in findings
