"""The frames of a UM25C: what is believable, and how they are found among other bytes."""

import random
import struct

import pytest

from edgebench.probes.host.um25c import FRAME_BYTES, FrameBuffer, Um25cReading, parse
from tests.probes.um25c_meter import MODELS, frame


@pytest.mark.parametrize("model", MODELS)
def test_a_frame_is_read_in_the_steps_of_its_model(model):
    reading = parse(frame(5.12, 0.743, model))
    assert reading is not None
    assert reading.model == model
    assert (reading.volts, reading.amperes) == pytest.approx((5.12, 0.743))
    assert reading.watts == pytest.approx(3.804)


def test_the_watts_tell_in_which_step_the_amperes_are():
    word = MODELS["UM25C"][0]
    head = struct.pack(">HHHI", word, 5000, 743, 3715)  # 0.743 A in milliamperes
    reading = parse(head.ljust(FRAME_BYTES, b"\0"))
    assert reading == Um25cReading("UM25C", 5.0, 0.743, 3.715)


@pytest.mark.parametrize("model", MODELS)
def test_whatever_is_rounded_or_cut_off_is_believable(model):
    _, per_volt, per_ampere = MODELS[model]
    rng = random.Random(5)
    for _ in range(300):
        volts, amperes = rng.uniform(0, 24), rng.uniform(0, 5)
        whole = frame(int(volts * per_volt) / per_volt, int(amperes * per_ampere) / per_ampere, model)
        exact = struct.pack(">I", int(volts * amperes * 1000))
        reading = parse(whole[:6] + exact + whole[10:])
        assert reading is not None and reading.watts == pytest.approx(volts * amperes, abs=1e-3)


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param(b"\x09\xca" + frame()[2:], id="another model"),
        pytest.param(frame(5.0, 1.0, watts=5.1), id="watts that are not volts times amperes"),
        pytest.param(frame()[:3] + frame()[4:] + b"\0", id="a byte lost before the watts"),
        pytest.param(frame()[:-1], id="129 bytes"),
        pytest.param(frame() + b"\0", id="131 bytes"),
    ],
)
def test_what_is_not_believable(spoilt):
    assert parse(spoilt) is None


@pytest.mark.parametrize("size", [1, 7, 20, 129, 130, 131, 500])
def test_frames_come_in_pieces(size):
    stream = b"".join(frame(5.0, n / 10) for n in range(5))
    buffer = FrameBuffer()
    readings = []
    for start in range(0, len(stream), size):
        complete, rejected = buffer.feed(stream[start : start + size])
        readings += complete
        assert rejected == []
    assert [reading.watts for reading in readings] == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])
    assert len(buffer) == 0


def test_it_finds_a_frame_behind_garbage_and_says_what_it_passed_over():
    buffer = FrameBuffer()
    spoilt = bytearray(frame())
    spoilt[8] ^= 0x55  # the watts
    readings, rejected = buffer.feed(b"\x00\xff\x09" + bytes(spoilt) + frame(5.0, 0.5))
    assert [reading.watts for reading in readings] == [2.5]
    assert rejected == [
        "133 bytes of no believable frame: 00 ff 09 09 c9 13 88 27 10 00 00 46 88 00 19 00 ..."
    ]


def test_random_bytes_are_no_frame():
    rng = random.Random(1)
    buffer = FrameBuffer()
    words = [struct.pack(">H", word) for word, _, _ in MODELS.values()]
    for _ in range(100):
        readings, _ = buffer.feed(rng.choice(words) + rng.randbytes(300))
        assert readings == []
    assert len(buffer) < 2 * FRAME_BYTES


def test_an_unfinished_frame_is_forgotten_in_words():
    buffer = FrameBuffer()
    buffer.feed(frame()[:3])
    assert buffer.clear() == "3 of 130 bytes of a frame: 09 c9 13"
    assert buffer.clear() == ""
