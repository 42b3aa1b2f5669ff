"""The binary load over a line that loses, doubles and invents bytes."""

import random

import pytest

from tests.backends.cortexm.host_programs import INPUT_BYTES
from tests.backends.cortexm.uploading import SYNC, frame, frames_of, upload

TENSOR = random.Random(3).randbytes(INPUT_BYTES)
LAST = INPUT_BYTES // 512 + 1  # the number of data frames


def printed(device):
    rows = device.command("db print")
    return bytes.fromhex("".join(row.removeprefix("m-buffer-") for row in rows).replace("-", ""))


def begin(device, size=INPUT_BYTES):
    device.send(b"db bin %d%%" % size)
    assert device.line() == f"m-[Expecting {size} bytes]"


def finish(device, first=0):
    """Sends the frames from one on."""
    frames = frames_of(TENSOR)
    for number in range(first, LAST):
        device.send(frames[number])
        assert device.line() == f"m-ack-{number + 1}"
    device.send(frames[LAST])
    assert device.answer() == ["m-load-done", "m-ready"]
    assert printed(device) == TENSOR


def test_a_whole_load(device):
    assert upload(device, TENSOR) == ["m-load-done"]
    assert printed(device) == TENSOR
    assert upload(device, TENSOR[::-1], window=1) == ["m-load-done"]
    assert printed(device) == TENSOR[::-1]


def test_more_than_was_expected_is_dropped(device):
    begin(device, 5)
    device.send(frame(0, b"123456789"))
    assert device.line() == "m-ack-1"
    device.send(frame(1, frames_of(b"12345")[-1][6:10]))
    assert device.answer() == ["m-load-done", "m-ready"]


@pytest.mark.attack("a serial line loses a frame of a binary load: the board says from where to go on")
def test_a_lost_frame(device):
    begin(device)
    frames = frames_of(TENSOR)
    device.send(frames[0] + frames[2] + frames[3])
    assert [device.line(), device.line()] == ["m-ack-1", "m-nack-1"]
    finish(device, 1)


@pytest.mark.attack(
    "a serial line doubles a frame of a binary load: it is acknowledged again, and taken once"
)
def test_a_doubled_frame(device):
    begin(device)
    frames = frames_of(TENSOR)
    device.send(frames[0] + frames[0] + frames[1])
    assert [device.line() for _ in range(3)] == ["m-ack-1", "m-ack-1", "m-ack-2"]
    finish(device, 2)


@pytest.mark.attack("bytes of a binary load are lost, flipped or added: the frame is sent again")
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[:100] + data[101:], id="lost byte"),
        pytest.param(lambda data: data[:1] + data[2:], id="lost sync"),
        pytest.param(lambda data: data[:4] + b"\xff\xff" + data[6:], id="length too large"),
        pytest.param(lambda data: data[:4] + b"\xff\x01" + data[6:], id="length too small"),
        pytest.param(lambda data: data[:300] + bytes([data[300] ^ 4]) + data[301:], id="flipped bit"),
        pytest.param(lambda data: data[:200] + SYNC + data[200:], id="added sync"),
        pytest.param(lambda data: data[:5], id="only its header"),
    ],
)
def test_damaged_frames(device, damage):
    begin(device)
    frames = frames_of(TENSOR)
    device.send(frames[0] + damage(frames[1]) + frames[2] + frames[3])
    assert [device.line(), device.line()] == ["m-ack-1", "m-nack-1"]
    finish(device, 1)


@pytest.mark.attack("garbage before and between the frames of a binary load: it is skipped")
def test_garbage_between_frames(device):
    begin(device)
    for number, data in enumerate(frames_of(TENSOR)[:-1]):
        device.send(random.Random(number).randbytes(37).replace(SYNC[:1], b"%") + SYNC[:1] + SYNC + data)
        assert device.line() == f"m-ack-{number + 1}"
    finish(device, LAST)


@pytest.mark.attack("a host falls silent during a binary load: the board asks, then is back at commands")
def test_silence_asks_for_the_next_frame_and_then_ends_the_load(impatient_device):
    device = impatient_device
    begin(device)
    device.send(frames_of(TENSOR)[0][:-1])
    asked = [device.line(), device.line()]
    assert asked == ["m-nack-0", "m-nack-0"]
    device.send(frames_of(TENSOR)[0])
    lines = device.answer()
    lines = lines[lines.index("m-ack-1") + 1 :]
    assert set(lines[:-2]) == {"m-nack-1"}
    assert lines[-2:] == [f"e-[Binary load: 512 of {INPUT_BYTES} bytes]", "m-ready"]
    assert device.command("name") == ["m-name-dut-[edgebench]"]


def test_a_load_is_given_up(device):
    begin(device)
    device.send(frames_of(TENSOR)[0] + frame(7, b""))
    assert device.answer() == ["m-ack-1", "e-[Binary load: given up by the host]", "m-ready"]


@pytest.mark.parametrize("end", [b"\0\0\0\0", b"\0"])
def test_a_checksum_that_differs(device, end):
    begin(device)
    device.send(b"".join(frames_of(TENSOR)[:-1]) + frame(LAST, end))
    assert device.answer()[-2:] == ["e-[Binary load: checksum differs]", "m-ready"]


def test_sequence_numbers_wrap(roomy_device):
    """More than 65,536 frames, of one byte each."""
    device = roomy_device
    tensor = random.Random(4).randbytes(66_000)
    begin(device, len(tensor))
    frames = frames_of(tensor, 1)
    for start in range(0, len(tensor), 500):
        device.send(b"".join(frames[start : start + 500]))
        for number in range(start, start + 500):
            assert device.line() == f"m-ack-{(number + 1) % 65536}"
    device.send(frames[-1])
    assert device.answer() == ["m-load-done", "m-ready"]
