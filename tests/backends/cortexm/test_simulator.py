"""The simulated board: the same answers as the firmware, a declared time, and each fault as it says."""

import random

import pytest

from edgebench.errors import UsageError
from tests.backends.cortexm.conftest import BANNER, booted
from tests.backends.cortexm.host_programs import INPUT_BYTES, SCORES, HostProgram
from tests.backends.cortexm.simulated import Brightness, SimulatedDevice, fault_table
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


def test_every_nth_byte_is_lost():
    device = booted_device("lost-bytes:7")
    device.send(b"db 0102%results%")
    odd, _, unknown, _ = device.lines()
    assert (odd, unknown) == ("e-[Insufficent number of hex digits]", "e-[Unknown command: resuls]")
    device = SimulatedDevice("lost-answer-bytes:20")
    assert device.answer()[0] == "m-timestamp-mode-peformance"


def test_every_nth_ready_comes_twice():
    device = SimulatedDevice("doubled-ready:2")
    device.send(b"%%")
    assert device.lines() == [*BANNER, "m-ready", "m-ready", "m-ready"]


def test_a_ready_comes_that_nothing_asked_for():
    device = booted_device("stray-ready:2")
    device.send(b"name%name%")
    name = ["m-name-dut-[edgebench]", "m-ready"]
    assert device.lines() == [*name, "m-ready", *name]


def test_garbage_comes():
    device = booted_device("garbage-lines:2")
    device.send(b"%name%")
    first, *garbage, name, ready = device.lines()
    assert (first, name, ready) == ("m-ready", "m-name-dut-[edgebench]", "m-ready")
    assert max(map(len, garbage)) > 1000
    device = booted_device("garbage-bytes:4")
    device.send(b"name%")
    assert device.lines() == ["\x00\xff\xa5\x80%m-name-dut-[edgebench]", "m-ready"]


def test_the_board_resets_when_it_is_opened_again():
    device = booted_device("reset-on-open")
    device.open()
    assert device.lines() == BANNER
    assert "m-info-[reset=pin]" in device.command("profile")
    device = booted_device()
    device.open()
    assert device.is_silent()


def test_the_board_resets_amid_a_load():
    device = booted_device("reset-in-load:2")
    assert upload(device, TENSOR) == ["m-load-done"]
    device.send(b"db load 2%db 0102%")
    assert device.lines() == ["m-[Expecting 2 bytes]", "m-ready", *BANNER]


def test_an_aborting_engine_resets_the_board():
    device = booted_device("abort:2")
    device.command("infer 1 0")
    device.send(b"infer 1 0%")
    assert device.lines() == ["m-warmup-start-0", *BANNER]
    assert "m-info-[reset=fault]" in device.command("profile")


def test_the_board_stalls():
    device = booted_device("stall:2")
    assert device.command("name") == ["m-name-dut-[edgebench]"]
    device.send(b"name%name%")
    assert device.is_silent()
    device = booted_device("stall-in-infer:1")
    device.send(b"infer 1 0%name%")
    assert device.lines() == ["m-warmup-start-0"]


@pytest.mark.parametrize("load", ["db load 4", "db bin 4"])
def test_a_load_is_refused(load):
    device = booted_device("load-error:2")
    assert device.command("db load 4") == ["m-[Expecting 4 bytes]"]
    assert device.command(load) == ["e-[Out of memory]"]
    assert device.command("name") == ["m-name-dut-[edgebench]"]


@pytest.mark.parametrize(
    ("fault", "results"),
    [
        ("truncated-results:2", "m-results-[1.000,0.000"),
        ("nan-results", "m-results-[nan,nan,nan,nan,nan]"),
        ("other-results", "m-results-[0.000,1.000,0.000,0.000,0.000]"),
        ("other-results:6", "m-results-[0.000,1.000,0.000,0.000,0.000]"),
    ],
)
def test_results_are_others(fault, results):
    device = booted_device(fault)
    part = INPUT_BYTES // SCORES
    upload(device, b"\xff" * part + bytes(INPUT_BYTES - part))
    assert device.command("infer 1 0")[-1] == results
    assert device.command("results") == [results]


def test_another_count_comes_back():
    assert "m-infer-start-7" in booted_device("wrong-count:4").command("infer 3 0")


@pytest.mark.parametrize("board", [{}, {"inference_ms": 50.0}])
def test_the_clock_wraps_within_each_window(board):
    device = booted_device("wrap", **board)
    for _ in range(2):
        start_us, end_us = laps(device.command("infer 10 1"))
        assert start_us > 2**32 - 1_000_000
        assert end_us < 1_000_000


def test_firmware_of_another_kind():
    device = booted_device("other-model")
    assert f"m-model-[first-light:{'0' * 64}]" in device.command("profile")
    device = booted_device("no-binary-load")
    assert not [line for line in device.command("help") if "bin" in line]
    assert device.command("db bin 4") == ["e-[Insufficent number of hex digits]"]
    device = booted_device("foreign")
    assert device.command("profile") == ["m-profile-[Vendor firmware 2.1]", "m-model-[vww01]"]
    assert device.command("db load 99999") == [f"Supplied buffer size 99999 exceeds maximum of {INPUT_BYTES}"]


def test_slow_answers_are_whole():
    assert booted_device("slow:1").command("name") == ["m-name-dut-[edgebench]"]


def test_faults_go_together():
    device = SimulatedDevice("foreign", "energy", "wrong-count")
    assert device.answer()[0] == "m-timestamp-mode-energy"
    assert "m-infer-start-2" in device.command("infer 1 0")


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


@pytest.mark.parametrize(
    "text", ["", "stale", "foreign:1", "wrap:", "slow:", "slow:0", "slow:x", "slow:" + "9" * 30]
)
def test_what_is_no_fault(text):
    with pytest.raises(UsageError):
        fault_table.faults_of([text])


def test_every_fault_is_described():
    assert len(fault_table.descriptions()) == len(fault_table.FAULTS) > 20
