"""Inputs on their way to a board: as digits and as frames, whole and broken."""

import importlib
import random
import subprocess
import time
from contextlib import contextmanager

import pytest

from tests.backends.cortexm.host_programs import INPUT_BYTES
from tests.backends.cortexm.scripted_line import BenchmarkFirmware, ScriptedLine, lines

conversation = importlib.import_module("edgebench.backends.cortexm.conversation")
faults = importlib.import_module("edgebench.backends.cortexm.line")
line_module = importlib.import_module("edgebench.backends.cortexm.line")
upload_frames = importlib.import_module("edgebench.backends.cortexm.line")

TENSOR = random.Random(8).randbytes(INPUT_BYTES)
STRAY = b"m-ready\r\n"


class DamagedLine:
    """A Line that changes what passes.

    Args:
        line: to the board.
        send, receive: of the bytes of one call, what is passed on.
    """

    def __init__(self, line, send=lambda data: data, receive=lambda data: data):
        self._line, self._send, self._receive = line, send, receive
        self.drop_input, self.close = line.drop_input, line.close

    def write(self, data):
        self._line.write(self._send(data))

    def read(self, timeout_s):
        return self._receive(self._line.read(timeout_s))


def every(number, change):
    """Changes each n-th call's bytes."""
    calls = iter(range(1, 10**6))
    return lambda data: change(data) if next(calls) % number == 0 else data


@contextmanager
def on_a_pty(*command):
    """The line of a firmware that runs on a pty."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = line_module.open_line(process.stdout.readline().strip(), 115_200)
            yield line
            line.close()
        finally:
            process.kill()


@pytest.fixture
def program(host_firmware):
    with on_a_pty(host_firmware) as line:
        yield line


def test_a_line_that_is_as_slow_as_a_uart(host_firmware):
    baud = 921_600
    with on_a_pty(host_firmware, "--baud", baud) as line:
        board = conversation.Conversation(line, baud)
        board.resynchronise()
        start_s = time.monotonic()
        board.load(TENSOR)
        seconds = time.monotonic() - start_s
        assert resident(line) == TENSOR
    assert seconds > INPUT_BYTES * 10 / baud, "bytes pass faster than the line lets them"


def resident(line):
    """What the board holds."""
    line.write(b"db print%")
    text = b""
    while not text.endswith(b"m-ready\r\n"):
        data = line.read(10.0)
        assert data
        text += data
    rows = [row.removeprefix("m-buffer-") for row in text.decode().split("\r\n")[:-2]]
    return bytes.fromhex("".join(rows).replace("-", ""))


def test_a_firmware_that_offers_frames(program):
    board = conversation.Conversation(program, 115_200)
    board.resynchronise()
    board.load(TENSOR)
    assert resident(program) == TENSOR
    assert len(board.infer(2, 0, 0.1, 5).scores) == 5
    assert dict(board.profile().infos)["input-bytes"] == str(INPUT_BYTES)


@pytest.mark.attack("a line loses, flips and doubles bytes of a binary load: frames are sent again")
@pytest.mark.parametrize(
    ("send", "receive"),
    [
        pytest.param(every(4, lambda data: data[:50] + data[51:]), bytes, id="lost byte"),
        pytest.param(every(4, lambda data: data[:50] + b"\x55" + data[51:]), bytes, id="changed byte"),
        pytest.param(every(3, lambda data: data + data), bytes, id="doubled frames"),
        pytest.param(
            bytes, every(4, lambda data: data.replace(b"m-ack", b"m-a")), id="lost acknowledgements"
        ),
        pytest.param(bytes, lambda data: data.replace(b"m-ready", b""), id="lost end"),
    ],
)
def test_frames_over_a_bad_line(program, send, receive, monkeypatch):
    monkeypatch.setattr(conversation, "STALL_S", 0.5)
    board = conversation.Conversation(program, 115_200)
    board.resynchronise()
    board.load(b"\0")  # asks for the offer
    board.line = DamagedLine(
        program, lambda data: data if data.startswith(b"db bin") else send(data), receive
    )
    board.load(TENSOR)
    board.line = program
    board.resynchronise()
    assert resident(program) == TENSOR


def test_a_firmware_without_an_offer():
    firmware = BenchmarkFirmware()
    line = ScriptedLine(firmware)
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    for tensor in (TENSOR, TENSOR[:31], TENSOR[:32]):
        board.load(tensor)
        assert firmware.tensor == tensor
    assert loads(line) == 3
    assert line.written.count("help") == 1
    assert max(map(len, line.written)) == 65


@pytest.mark.parametrize("answer", [lines("e-[Unknown command: help]"), b""], ids=["unknown", "silent"])
def test_a_firmware_without_help(answer):
    firmware = BenchmarkFirmware({"help": answer})
    line = ScriptedLine(firmware)
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    board.load(TENSOR)
    assert loads(line) == 1
    assert firmware.tensor == TENSOR


@pytest.mark.attack("the line that begins a binary load is lost: the board's call for frame 0 replaces it")
def test_a_beginning_that_is_lost(program):
    board = conversation.Conversation(program, 115_200)
    board.resynchronise()
    board.line = DamagedLine(program, receive=lambda data: data.replace(b"m-[Exp", b"m-[EXP"))
    board.load(TENSOR)
    board.line = program
    board.resynchronise()
    assert resident(program) == TENSOR


def loads(line):
    """How many loads by digits began."""
    return sum(command.startswith("db load") for command in line.written)


def broken_once(change):
    """The 20th command of the first load goes wrong."""
    calls = iter(range(1, 10**6))
    return lambda own: change if next(calls) == 20 else own


@pytest.mark.attack("a load by digits loses or gains bytes, or its answers: it is sent again")
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="no answer"),
        pytest.param(lines("e-[Invalid hex digit '0?']"), id="invalid digit"),
        pytest.param(lines("m-load-done"), id="done too early"),
        pytest.param(b"\xff" * 20, id="noise"),
    ],
)
def test_a_broken_load_by_digits(answer):
    firmware = BenchmarkFirmware({"db": broken_once(answer)})
    line = ScriptedLine(firmware)
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    board.load(TENSOR)
    assert loads(line) == 2
    assert firmware.tensor == TENSOR


@pytest.mark.parametrize("stray_at", [2, 20, 60])
def test_a_stray_ready_amid_a_load(stray_at):
    calls = iter(range(1, 10**6))
    firmware = BenchmarkFirmware({"db": lambda own: own + STRAY if next(calls) == stray_at else own})
    line = ScriptedLine(firmware)
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    board.load(TENSOR)
    assert firmware.tensor == TENSOR
    assert board.profile().name == "vendor"


def test_a_load_that_always_breaks_is_a_fault():
    line = ScriptedLine(BenchmarkFirmware({"db 0": b"", "db f": lines("e-[no]")}))
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    with pytest.raises(faults.LoadFailed) as raised:
        board.load(bytes(100))
    assert "awaited" in raised.value.why
    with pytest.raises(faults.LoadFailed):
        board.load(b"\xff" * 100)


def test_a_size_that_the_board_refuses_is_not_tried_again():
    line = ScriptedLine(
        BenchmarkFirmware({"db load": lines("e-[Supplied buffer size 9 exceeds maximum of 8]")})
    )
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    with pytest.raises(faults.RefusedLoad):
        board.load(TENSOR)
    assert [command for command in line.written if command.startswith("db")] == [f"db load {INPUT_BYTES}"]


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("Supplied buffer size 150528 exceeds maximum of 27648", "at most 27,648 bytes"),
        ("Supplied buffer size exceeds the maximum", "no input of this size"),
        ("input too large", "no input of this size"),
    ],
)
def test_a_board_that_refuses_a_size_in_plain_words_is_believed_at_once(text, most):
    """As the benchmark's reference firmware does: without an error, and with the size stored."""
    line = ScriptedLine(BenchmarkFirmware({"db load": lines(text)}))
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    with pytest.raises(faults.RefusedLoad) as raised:
        board.load(bytes(150_528))
    assert most in raised.value.what and "150,528" in raised.value.what
    assert text in raised.value.why and "baud" not in raised.value.fix
    assert [command for command in line.written if command.startswith("db")] == ["db load 150528"]


@pytest.mark.parametrize("after", ["db load", "db 0"])
def test_a_reset_amid_a_load(after):
    banner = lines("m-timestamp-mode-performance", "m-init-done")
    line = ScriptedLine(BenchmarkFirmware({after: banner}))
    board = conversation.Conversation(line, 115_200, line.clock_ns)
    with pytest.raises(faults.BoardReset):
        board.load(bytes(100))


OFFER = "db bin N             expect N bytes of input, as frames: version=1 payload=512 window=8"


@pytest.mark.parametrize(
    ("text", "offer"),
    [
        (OFFER, (512, 8)),
        (OFFER.replace("=512", "=64"), (64, 8)),
        (OFFER.replace("=512", "=99999").replace("=8", "=99999"), (512, 64)),
        (OFFER.replace("version=1", "version=2"), None),
        (OFFER.replace("=512", "=3"), None),
        (OFFER.replace("=8", "=0"), None),
        (OFFER.replace("payload", "pay"), None),
        ("db bin N", None),
    ],
)
def test_what_help_offers(text, offer):
    assert upload_frames.offered_frames(["db load N", text, "db print"]) == offer


def test_what_the_line_allows_for_digits():
    assert conversation.hex_line_s(31_000, 115_200) == pytest.approx((75_000 + 13) / 11_520)
    assert conversation.hex_line_s(32, 9600) == pytest.approx((75 + 15 + 13) / 960)
