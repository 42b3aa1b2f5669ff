"""The simulated board of these tests answers as the firmware does."""

import random

from tests.backends.cortexm.conftest import booted
from tests.backends.cortexm.host_programs import HostProgram
from tests.backends.cortexm.simulated import SimulatedDevice

WORDS = (
    *("name", "timestamp", "help", "db", "infer", "results", "load", "bin", "print", "", " ", "%", "%"),
    *("0", "1", "3", "-1", "11", "x", "a1", "0102030405", "zz", "[", "\xe9", "\r\n", "\0"),
)


def booted_device(*faults, **board):
    [device] = booted(SimulatedDevice(*faults, **board))
    return device


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
