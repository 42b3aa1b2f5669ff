"""The simulated board: the same answers as the firmware, a declared time, and what a reset does."""

import random

import pytest

from tests.backends.cortexm.conftest import BANNER, booted
from tests.backends.cortexm.host_programs import INPUT_BYTES, SCORES, HostProgram
from tests.backends.cortexm.simulated import Brightness, SimulatedDevice
from tests.backends.cortexm.uploading import frames_of, upload

TENSOR = random.Random(5).randbytes(INPUT_BYTES)
WORDS = (
    *("name", "timestamp", "help", "db", "infer", "results", "load", "bin", "print", "", " ", "%", "%"),
    *("0", "1", "3", "-1", "11", "x", "a1", "0102030405", "zz", "[", "\xe9", "\r\n", "\0"),
)


def booted_device(*faults, **board):
    [device] = booted(SimulatedDevice(*faults, **board))
    return device


def laps(lines):
    return [int(line.removeprefix("m-lap-us-")) for line in lines if line.startswith("m-lap-us-")]


def without_times(lines):
    return [line for line in lines if not line.startswith("m-lap-us-")]


def test_firmware_and_simulator_answer_alike(host_firmware):
    """Random words; the profile, of which each has its own, is tried elsewhere."""
    drawn = random.Random(6)
    simulated = booted_device()
    with HostProgram(host_firmware, "--stdio", "--clock-speed", 1) as device:
        device.answer()
        for _ in range(400):
            command = " ".join(drawn.choices(WORDS, k=drawn.randint(1, 4))).replace("%", "")
            if command.split()[:2] == ["db", "bin"]:
                continue
            assert without_times(device.command(command)) == without_times(simulated.command(command)), (
                command
            )


def test_a_declared_time_passes_without_waiting():
    engine = Brightness()
    device = booted_device(engine=engine, inference_ms=163.8, start_us=2**32 - 1_000_000)
    assert upload(device, TENSOR) == ["m-load-done"]
    before_us, *_ = laps(device.command("timestamp"))
    start_us, end_us = laps(device.command("infer 100 5"))
    after_us, *_ = laps(device.command("timestamp"))
    assert (end_us - start_us) % 2**32 == 16_380_000
    assert (start_us - before_us) % 2**32 == pytest.approx(5 * 163_800, abs=100)
    assert (after_us - end_us) % 2**32 == pytest.approx(0, abs=100)
    assert engine.inferred == 1
    upload(device, TENSOR[::-1])
    device.command("infer 1 0")
    assert engine.inferred == 2


def test_scores_of_a_declared_time_follow_the_input():
    device = booted_device(inference_ms=10)
    part = INPUT_BYTES // SCORES
    upload(device, bytes(INPUT_BYTES))
    assert device.command("infer 2 1")[-1] == "m-results-[0.000,0.000,0.000,0.000,0.000]"
    upload(device, b"\xff" * part + bytes(INPUT_BYTES - part))
    assert device.command("infer 2 1")[-1] == "m-results-[1.000,0.000,0.000,0.000,0.000]"


def test_a_reset_forgets_the_input_and_restarts_the_clock():
    device = booted_device("reset-in-infer:1", start_us=1000)
    upload(device, TENSOR)
    device.send(b"infer%")
    lines = device.lines()
    assert lines[-4:] == ["m-infer-start-1", *BANNER]
    assert device.command("results") == ["m-results-[0.000,0.000,0.000,0.000,0.000]"]
    assert device.command("db print") == []
    assert "m-info-[reset=watchdog]" in device.command("profile")
    assert laps(device.command("timestamp"))[0] < 2000


def test_an_engine_that_cannot_start():
    class Broken(Brightness):
        def start(self):
            return False

    device = booted_device(engine=Broken())
    assert device.command("infer") == ["e-[The model cannot be started]"]
    assert device.command("results") == ["e-[The model cannot be started]"]


@pytest.mark.attack(
    "a host sends a simulated board bytes without end and without meaning: its buffers stay small"
)
def test_buffers_are_bounded():
    device = booted_device()
    for _ in range(100):
        device.send(b"x" * 4096)
    assert device.command("") == ["e-[Command exceeds 80 characters]"]
    device.send(b"db bin 2000%")
    device.line()
    for _ in range(100):
        device.send(b"\xa5\x5a\x00\x00\x00\x02" + b"\xa5" * 400)
    device.send(b"".join(frames_of(TENSOR)[:1]))
    assert device.line() == "m-ack-1"
