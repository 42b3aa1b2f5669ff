"""What the backend takes, prepares, refuses and says beforehand."""

import importlib

import pytest
from pydantic import ValidationError

from edgebench.errors import UnsupportedError, UsageError
from edgebench.records.model import Artifact, InputSpec, PrepareRequest, TensorInput
from edgebench.records.session import MeasurePlan
from edgebench.records.target import Target
from edgebench.testing.backend_kit import scene_of
from tests.backends.coralmicro import played_faults, sums
from tests.backends.coralmicro.played_board import PlayedBoard
from tests.backends.coralmicro.played_firmware import PlayedFirmware

backend = importlib.import_module("edgebench.backends.coralmicro.backend")
options = importlib.import_module("edgebench.backends.coralmicro.backend")
reach = importlib.import_module("edgebench.backends.coralmicro.board_address")
room = importlib.import_module("edgebench.backends.coralmicro.session")
checks = importlib.import_module("edgebench.backends.coralmicro.backend")
BACKEND = backend.CoralMicroBackend()
TARGET = Target("micro", "coral-micro", {})


@pytest.fixture
def artifact(session_cache):
    return sums.artifact_of(session_cache)


@pytest.fixture
def prepared(session_cache):
    def prepared(address, count=1):
        requests = [PrepareRequest(sums.VARIANT, 1, {"address": address})] * count
        return sums.SumBackend().prepare(requests, session_cache, lambda text: None)

    return prepared


@pytest.mark.parametrize("address", ["board.local", "10.0.0.7:8080", "[fe80::1]:80"])
def test_an_address_is_a_host_and_perhaps_a_port(address):
    assert options.CoralMicroOptions(address=address).address == address


@pytest.mark.parametrize(
    "address", ["", "http://10.10.10.1", "10.10.10.1/jsonrpc", "10.10.1", "a:99999", "a b"]
)
def test_an_address_of_another_form_is_refused(address):
    with pytest.raises(ValidationError, match="such as --set address="):
        options.CoralMicroOptions(address=address)


# --- what does not fit ---


def test_what_fits_the_board_that_answers_is_prepared(prepared, artifact):
    with PlayedBoard(PlayedFirmware(sums.engine_of)) as board:
        assert prepared(board.address) == [artifact]


@pytest.mark.parametrize("block", ["model", "scene", "images"])
def test_what_does_not_fit_is_unsupported_with_both_figures(prepared, artifact, block):
    with PlayedBoard(PlayedFirmware(sums.engine_of, room={block: 150})) as board:
        outcomes = prepared(board.address, 2)
        assert len(board.firmware.calls) == 1  # one board is asked once, however many its requests
    for outcome in outcomes:
        assert isinstance(outcome, UnsupportedError)
        due_bytes = artifact.size_bytes if block == "model" else sums.SIDE**2 * 3
        assert "150" in outcome.why and f"{due_bytes:,}" in outcome.why and outcome.fix


def test_where_no_board_answers_the_session_will_tell(prepared, artifact):
    with PlayedBoard() as board:
        pass
    assert prepared(board.address) == [artifact]


@pytest.mark.parametrize(
    "change",
    [
        {"batch": 2},
        {"tensors": (TensorInput(name="x", dtype="int8", shape=(1, 4)),)},
        {"input": InputSpec(dtype="float32")},
        {"input": InputSpec(dtype="int8", layout="NCHW", scale=0.1, zero_point=0)},
        {"input": InputSpec(dtype="int8")},
    ],
)
def test_an_input_that_no_firmware_takes(artifact, change):
    assert room.why_not_taken(artifact) == ""
    assert room.why_not_taken(Artifact.model_copy(artifact, update=change))


# --- what is asked of a plan ---


@pytest.fixture
def plan(artifact, session_cache):
    return MeasurePlan(scene_of(artifact, session_cache), 4)


def test_a_period_is_refused(plan, artifact, session_cache):
    paced = MeasurePlan(plan.scene, 4, period_s=1.0)
    with pytest.raises(UsageError, match="cannot be paced") as caught:
        BACKEND.check_plan(TARGET, paced, None, 1)
    assert "--period" in caught.value.fix
    BACKEND.check_plan(TARGET, plan, None, 1)


# --- doctor ---


def findings(address, **more):
    target = Target("micro", "coral-micro", {"address": address, **more})
    return {finding.subject: finding for finding in checks.CoralMicroBackend().check(target)}


def test_doctor_says_what_answers_and_what_it_has():
    with PlayedBoard() as board:
        found = findings(board.address)
    assert {finding.level for name, finding in found.items() if name != "compiler"} == {"ok"}
    assert "edgebench-coral-micro 1.0" in found["firmware"].message
    assert "250 MHz" in found["edge tpu"].message and "42 °C" in found["edge tpu"].message
    assert "24 MiB" in found["memory"].message
    assert "edgetpu_compiler" in found["compiler"].message


def test_doctor_warns_of_firmware_that_times_inference_alone():
    with PlayedBoard(PlayedFirmware(times="inference")) as board:
        assert findings(board.address)["times"].level == "warning"


def test_a_board_without_an_edge_tpu():
    with PlayedBoard() as board:
        board.befall("describe", played_faults.edited(tpu=""), times=2)
        assert findings(board.address)["edge tpu"].level == "error"
        assert findings(board.address, allow_cpu=True)["edge tpu"].level == "warning"


def test_doctor_where_nobody_is():
    with PlayedBoard() as board:
        pass
    found = findings(board.address)["board"]
    assert found.level == "error" and found.fix


@pytest.mark.parametrize("change", [{"firmware": "camera"}, {"protocol": 2}])
def test_doctor_names_other_firmware(change):
    with PlayedBoard() as board:
        board.befall("describe", played_faults.edited(**change))
        found = findings(board.address)["firmware"]
    assert found.level == "error" and str(*change.values()) in found.message and "README" in found.fix


def test_without_the_boards_network_its_usual_address_is_not_asked(monkeypatch):
    monkeypatch.setattr(reach.psutil, "net_if_addrs", dict)
    found = findings(reach.USUAL_HOST)["board"]
    assert found.level == "error" and "interface" in found.message and "--set address" in found.fix


@pytest.mark.parametrize("own, there", [("10.10.10.2", True), ("10.10.11.2", False)])
def test_the_boards_network_is_that_of_an_interface(monkeypatch, own, there):
    import socket
    from types import SimpleNamespace

    interface = SimpleNamespace(family=socket.AF_INET, address=own, netmask="255.255.255.0")
    monkeypatch.setattr(reach.psutil, "net_if_addrs", lambda: {"usb0": [interface]})
    board = importlib.import_module("edgebench.backends.coralmicro.board_address").board_address
    assert (reach.missing_interface(board(reach.USUAL_HOST)) == "") is there
    assert reach.missing_interface(board("192.168.3.4")) == ""
