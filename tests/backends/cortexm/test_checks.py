"""What `doctor` says of a board at its port."""

import importlib

import pytest

from edgebench.records.target import Target
from tests.backends.cortexm.simulated_board import simulated_board

checks = importlib.import_module("edgebench.backends.cortexm.backend")
CortexMOptions = importlib.import_module("edgebench.backends.cortexm.options").CortexMOptions
conversation = importlib.import_module("edgebench.backends.cortexm.conversation")


def findings(port):
    return checks.CortexMBackend().check(Target("m7", "cortex-m", port=port))


def test_a_board_with_edgebenchs_firmware():
    with simulated_board("mobilenet_v1-0.25-int8:00ff") as port:
        board, firmware = findings(port)
    assert (board.level, firmware.level) == ("ok", "ok")
    assert "made-up, Cortex-M7, 400 MHz" in board.message
    assert "mobilenet_v1-0.25-int8:00ff" in firmware.message and "brightness 1" in firmware.message


def test_other_firmware_is_named_and_may_be_measured():
    with simulated_board("vww01", "foreign") as port:
        board, firmware = findings(port)
    assert (board.level, firmware.level) == ("ok", "warning")
    assert firmware.fix


def test_without_a_port_those_that_there_are_are_listed(monkeypatch):
    monkeypatch.setattr(checks, "ports_in_words", lambda: "there are /dev/ttyACM0 (STM32 STLink, 0483:374b)")
    [finding] = findings(None)
    assert finding.level == "error" and "/dev/ttyACM0" in finding.message and "--port" in finding.fix


@pytest.mark.parametrize("baud", [1_525, 6_250_001])
def test_a_rate_that_the_boards_port_does_not_take(baud):
    CortexMOptions(board="nucleo-h743zi2", baud=1_526)
    CortexMOptions(board="nucleo-h743zi2", baud=6_250_000)
    CortexMOptions(board="mps2-an500", baud=baud)
    with pytest.raises(ValueError, match="ST Nucleo-H743ZI2 takes 1526 to 6250000 baud"):
        CortexMOptions(board="nucleo-h743zi2", baud=baud)


def test_a_port_that_is_not_there(tmp_path):
    [finding] = findings(str(tmp_path / "ttyACM0"))
    assert finding.level == "error" and "ttyACM0" in finding.message and finding.fix


def test_what_cannot_be_read_is_of_another_baud(monkeypatch):
    monkeypatch.setattr(conversation, "RESYNCHRONISE_S", 0.5)
    with simulated_board("mobilenet_v1-0.25-int8:00ff", "garbage-bytes:1") as port:
        [finding] = findings(port)
    assert finding.level == "error" and "the board's rate is another one" in finding.message
    assert "--set baud=921600" in finding.fix


def test_a_board_that_starts_and_then_answers_nothing(monkeypatch):
    monkeypatch.setattr(conversation, "RESYNCHRONISE_S", 0.5)
    with simulated_board("mobilenet_v1-0.25-int8:00ff", "stall:1") as port:
        [finding] = findings(port)
    assert finding.level == "error" and "reset" in finding.fix and "baud" not in finding.fix
