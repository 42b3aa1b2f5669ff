"""Sessions of a stick through agent and worker, on a made sysfs and a stand-in module for OpenVINO."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from edgebench import registry
from edgebench.errors import SessionError
from edgebench.prepare.cache import Cache
from edgebench.prepare.onnx import OnnxChain
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import SessionFacts, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import Variant
from tests.backends.openvino_stub import make_openvino
from tests.backends.usb_trees import USB_2, Tree

BOOT = ("03e7", "2485")
backend: Any = registry.backend("ncs2")


@pytest.fixture(scope="module")
def artifact(prepared_quarter, tmp_path_factory) -> Artifact:
    """An .onnx file that nobody reads."""
    path, digest = Cache(tmp_path_factory.mktemp("onnx")).add_bytes(b"onnx", ".onnx")
    return Artifact.model_validate({**prepared_quarter["fp32"].model_dump(), "path": path, "sha256": digest})


@pytest.fixture(scope="module")
def device() -> Iterator[Any]:
    opened = backend.open(Target("ncs2", "ncs2", {}))
    yield opened
    opened.close()


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "root")


@pytest.fixture
def session(device, artifact, tree, tmp_path):
    """The facts of a session that loads, with what the module that stands for OpenVINO is to do."""

    @contextmanager
    def of(**stub: Any) -> Iterator[SessionFacts]:
        folder = make_openvino(tmp_path / "python", (1, 224, 224, 3), **stub)
        env = {"PYTHONPATH": str(folder), "EDGEBENCH_TEST_ROOT": str(tree.root)}
        options = backend.options_model().model_dump()
        with device.session(artifact, SessionSettings(1, options, Launch(env=env))) as opened:
            yield opened.facts()

    return of


@pytest.mark.attack("OpenVINO cannot open its stick: the session fails with what USB shows and what to try")
def test_a_stick_that_cannot_be_opened(session, tree):
    tree.stick(BOOT, USB_2)
    with pytest.raises(SessionError) as caught, session(error="Can not init Myriad device: NC_ERROR"):
        pass
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    assert caught.value.what == "the Neural Compute Stick 2 cannot be opened"
    assert caught.value.why == (
        "Can not init Myriad device: NC_ERROR; on USB: 03e7:2485 before its firmware at 480 Mbit/s"
    )
    assert caught.value.fix.startswith("end what else holds it")


@pytest.mark.parametrize("booted_mbps", [480, 5000])
def test_the_bus_speed_is_recorded_once_the_firmware_is_loaded(session, tree, booted_mbps):
    stick = tree.stick(BOOT, USB_2)
    with session(stick=stick, booted_mbps=booted_mbps) as facts:
        pass
    [recorded] = facts.runtime["usb"]
    assert (recorded["id"], recorded["speed_mbps"]) == ("03e7:f63b", float(booted_mbps))
    assert facts.runtime["firmware_before"] is False
    on_usb_2 = [warning for warning in facts.warnings if "on USB 2 (480 Mbit/s)" in warning]
    assert len(on_usb_2) == (booted_mbps == 480)


@pytest.mark.parametrize(("device", "mark"), [("MYRIAD", ""), ("CPU", "on the CPU")])
def test_figures_of_the_processor_in_place_of_the_stick_are_marked(monkeypatch, artifact, device, mark):
    monkeypatch.setattr(OnnxChain, "find", lambda *arguments: artifact)
    monkeypatch.setattr(OnnxChain, "artifact", lambda *arguments: artifact)
    request = PrepareRequest(Variant(0.25, "fp16"), 1, {"device": device})
    [prepared] = backend.prepare([request], Cache(), lambda line: None)
    assert prepared.mark == mark
    assert backend.prepare_inputs(request).get("mark", "") == mark
