"""Every command and every error of the firmware as a program of this machine, and of the simulator."""

import re
import subprocess

import pytest

from tests.backends.cortexm.conftest import BANNER
from tests.backends.cortexm.host_programs import (
    FLAGS,
    INPUT_BYTES,
    MOST_INFERENCES,
    SCORES,
    HostProgram,
    compile_program,
    require_compiler,
)

LAP = re.compile(r"m-lap-us-(\d+)")
NO_RESULTS = "m-results-[0.000,0.000,0.000,0.000,0.000]"


def lap_of(lines):
    [line] = lines
    match = LAP.fullmatch(line)
    assert match, line
    return int(match[1])


def test_who_it_is(device):
    assert device.command("name") == ["m-name-dut-[edgebench]"]
    firmware, model, *information = device.command("profile")
    assert (firmware, model) == ("m-profile-[edgebench-cortexm 1]", "m-model-[first-light:00ff]")
    assert all(line.startswith("m-info-[") and line.endswith("]") for line in information)
    facts = dict(line.removeprefix("m-info-[")[:-1].split("=", 1) for line in information)
    assert facts.pop("copy-us").isdigit()
    assert facts == {
        **device.infos,
        "engine": "brightness 1",
        "input-type": "uint8",
        "input-bytes": str(INPUT_BYTES),
        "scores": str(SCORES),
        "engine-bytes": "0",
    }


def test_a_benchmarks_id_in_place_of_the_models(tmp_path):
    require_compiler()
    program = compile_program("host", tmp_path, flags=(*FLAGS, '-DBENCHMARK_ID="vww01"'))
    with HostProgram(program, "--stdio") as board:
        assert board.answer() == BANNER
        lines = board.command("profile")
    assert "m-model-[vww01]" in lines and "m-info-[model=first-light:00ff]" in lines


def test_help_offers_the_binary_load(device):
    lines = device.command("help")
    assert not [line for line in lines if line.startswith(("m-", "e-"))]
    assert [line for line in lines if re.match(r"db bin N .*: version=1 payload=512 window=8$", line)]


def test_timestamps_go_on(device):
    first, second = (lap_of(device.command("timestamp")) for _ in range(2))
    assert (second - first) % 2**32 < 60_000_000


def test_a_load_by_digits(device):
    assert device.command("db load 11") == ["m-[Expecting 11 bytes]"]
    assert device.command("db 0001020304") == []
    assert device.command("db fFaAbB0506") == []
    assert device.command("db 07ee99") == ["m-load-done"]
    rows = ["m-buffer-00-01-02-03-04-ff-aa-bb", "m-buffer-05-06-07"]
    assert device.command("db print") == rows
    assert device.command("db 0102") == []
    assert device.command("db print") == rows


def test_a_load_begins_anew(device):
    device.command("db load 4")
    device.command("db 0102")
    device.command("db load 2")
    assert device.command("db aabb") == ["m-load-done"]


def test_inferences_work_on_the_resident_input(device):
    """The engine overwrites its input: without copies all inferences but the first would give 0."""
    part = INPUT_BYTES // SCORES
    tensor = b"".join(bytes([level]) * part for level in (255, 128, 1, 0, 51))
    device.command(f"db load {INPUT_BYTES}")
    for start in range(0, INPUT_BYTES, 31):
        done = device.command(f"db {tensor[start : start + 31].hex()}")
    assert done == ["m-load-done"]
    lines = device.command("infer 3 2")
    assert [LAP.sub("m-lap-us-", line) for line in lines] == [
        "m-warmup-start-2",
        "m-warmup-done",
        "m-infer-start-3",
        "m-lap-us-",
        "m-lap-us-",
        "m-infer-done",
        "m-results-[1.000,0.502,0.004,0.000,0.200]",
    ]
    assert device.command("results") == lines[-1:]


@pytest.mark.parametrize(
    ("command", "inferences", "warm_ups"), [("infer", 1, 10), ("infer 4", 4, 10), ("infer 2 0 x", 2, 0)]
)
def test_counts_that_are_left_out(device, command, inferences, warm_ups):
    lines = device.command(command)
    assert lines[0] == f"m-warmup-start-{warm_ups}"
    assert f"m-infer-start-{inferences}" in lines


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("photograph", "Unknown command: photograph"),
        ("names", "Unknown command: names"),
        ("Name", "Unknown command: Name"),
        ("\r\nname", "Unknown command: ??name"),
        ("n\xe4me [x]", "Unknown command: n?me"),
        ("[x]", "Unknown command: ?x?"),
        ("infer 0", "Inference iterations must be >0"),
        ("infer -1 1", "Inference iterations must be >0"),
        ("infer many", "Inference iterations must be >0"),
        ("infer 1 -1", "Inference warmup must be >=0"),
        (f"infer {MOST_INFERENCES + 1}", f"At most {MOST_INFERENCES} inferences"),
        ("infer 1 99999999999999999999", f"At most {MOST_INFERENCES} inferences"),
        ("db", "Command 'db' requires a subcommand"),
        ("db load", "Command 'db load' requires the # of bytes"),
        ("db load 0", "Command 'db load' must be >0 bytes"),
        ("db load -5", "Command 'db load' must be >0 bytes"),
        ("db bin", "Command 'db bin' requires the # of bytes"),
        ("db bin x", "Command 'db bin' must be >0 bytes"),
        ("db 123", "Insufficent number of hex digits"),
        ("db 12xy", "Invalid hex digit 'xy'"),
        ("db 0\xe9", "Invalid hex digit '0?'"),
        ("x" * 80, "Command exceeds 80 characters"),
        ("db " + "00" * 2000, "Command exceeds 80 characters"),
    ],
)
def test_errors(device, command, text):
    assert device.command(command) == [f"e-[{text}]"]
    assert device.command("name") == ["m-name-dut-[edgebench]"]


@pytest.mark.attack("a host sends more bytes than a board's buffer holds: refused, and nothing is written")
@pytest.mark.parametrize("load", ["db load", "db bin"])
@pytest.mark.parametrize("size", [INPUT_BYTES + 1, 2**31 - 1, 2**32, 10**30])
def test_a_load_that_does_not_fit_leaves_size_0(device, load, size):
    device.command("db load 3")
    [line] = device.command(f"{load} {size}")
    assert line.startswith("e-[Supplied buffer size")
    assert device.command("db 010203") == []
    assert device.command("db print") == []


def test_the_longest_command_and_the_empty_one(device):
    digits = "ab" * 38
    device.command("db load 38")
    assert device.command(f"db {digits}") == ["m-load-done"]
    assert device.command("") == []
    assert device.command("   ") == []


def test_bytes_come_as_they_like(device):
    for byte in b"name%":
        device.send(bytes([byte]))
    assert device.answer() == ["m-name-dut-[edgebench]", "m-ready"]
    device.send(b"name%%results%")
    answers = [device.answer() for _ in range(3)]
    assert answers == [["m-name-dut-[edgebench]", "m-ready"], ["m-ready"], [NO_RESULTS, "m-ready"]]
    device.send(b"results")
    assert device.is_silent()
    device.send(b"%")
    assert device.answer() == [NO_RESULTS, "m-ready"]


def test_laps_wrap_at_32_bits(wrapping_device):
    assert lap_of(wrapping_device.command("timestamp")) < 2**31


def test_the_program_on_a_pty(host_firmware):
    serial = pytest.importorskip("serial")
    with subprocess.Popen([host_firmware], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            with serial.Serial(program.stdout.readline().strip(), 115200, timeout=20) as port:
                # Opening the port drops what has come by then: the banner is read whole, in part or not.
                port.write(b"name%")
                lines = [port.readline()]
                while lines[-1] not in (b"m-name-dut-[edgebench]\r\n", b""):
                    lines.append(port.readline())
                lines.append(port.readline())
        finally:
            program.kill()
    assert lines[-2:] == [b"m-name-dut-[edgebench]\r\n", b"m-ready\r\n"]


def test_stamps_of_an_energy_build_are_pulses_and_no_lines(energy_device):
    assert energy_device.answer() == ["m-timestamp-mode-energy", "m-init-done", "m-ready"]
    assert energy_device.command("timestamp") == []
    assert energy_device.command("infer 2 1") == [
        "m-warmup-start-1",
        "m-warmup-done",
        "m-infer-start-2",
        "m-infer-done",
        NO_RESULTS,
    ]
