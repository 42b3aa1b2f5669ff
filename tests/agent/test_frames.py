"""Frames: whole through any cut, and garbage, truncation and oversize named for what they are."""

import os
import re
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.agent import frames
from edgebench.agent.frames import Decoder, Frame, FrameStream, Outgoing, ProtocolError, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
MESSAGES = st.dictionaries(st.text(max_size=8), JSON, max_size=5)


def joined(message, payload=b""):
    return b"".join(bytes(piece) for piece in encode(message, payload))


@pytest.mark.attack("frames arrive cut anywhere: they are whole")
@settings(deadline=None)
@given(st.lists(st.tuples(MESSAGES, st.binary(max_size=300)), max_size=4), st.data())
def test_frames_survive_any_cut(sent, data):
    stream = b"".join(joined(message, payload) for message, payload in sent)
    decoder = Decoder()
    arrived: list[Frame] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        arrived += decoder.feed(stream[:size])
        stream = stream[size:]
    decoder.end()
    assert arrived == [Frame(message, payload) for message, payload in sent]


@pytest.mark.attack("a stream ends inside a frame: the error says so")
@settings(deadline=None)
@given(MESSAGES, st.binary(max_size=50), st.data())
def test_a_stream_that_ends_inside_a_frame_says_so(message, payload, data):
    whole = joined(message, payload)
    decoder = Decoder()
    assert decoder.feed(whole[: data.draw(st.integers(1, len(whole) - 1))]) == []
    with pytest.raises(ProtocolError):
        decoder.end()


@pytest.mark.attack("a stream holds garbage: its first bytes are named")
@settings(deadline=None)
@given(st.binary(min_size=1, max_size=64).filter(lambda data: not frames.MAGIC.startswith(data[:4])))
def test_garbage_is_named_at_its_first_bytes(garbage):
    with pytest.raises(ProtocolError, match=re.escape(repr(garbage))):
        Decoder().feed(garbage)


def head(version=frames.VERSION, zero=0, text=2, payload=0):
    return struct.pack(">4sHHIQ", frames.MAGIC, version, zero, text, payload)


@pytest.mark.attack("a frame's header or message is wrong: it is refused")
@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (head(version=9), "version 9"),
        (head(zero=1), "version 1"),
        (head(text=frames.MAX_JSON_BYTES + 1), "over the bounds"),
        (head(payload=frames.MAX_PAYLOAD_BYTES + 1), "over the bounds"),
        (head(text=2) + b"[]", "not an object"),
        (head(text=2) + b"{]", "not JSON"),
        (head(text=2) + b"\xff\xfe", "not JSON"),
        (head(text=60000) + b"[" * 60000, "not JSON"),
    ],
)
def test_a_wrong_header_or_message_is_refused(data, complaint):
    with pytest.raises(ProtocolError, match=complaint):
        Decoder().feed(data)


def test_what_is_sent_is_bounded_too(monkeypatch):
    monkeypatch.setattr(frames, "MAX_PAYLOAD_BYTES", 10)
    monkeypatch.setattr(frames, "MAX_JSON_BYTES", 20)
    with pytest.raises(ProtocolError, match="11 bytes"):
        encode({}, bytes(11))
    with pytest.raises(ProtocolError, match="31 bytes"):
        encode({"text": "x" * 20})
    with pytest.raises(ValueError):
        encode({"x": float("nan")})


def test_a_blocking_stream_reads_frames_then_the_end():
    read_end, write_end = os.pipe()
    stream = FrameStream(read_end, write_end)
    stream.write({"a": 1}, memoryview(b"abc"))
    stream.write({"b": 2})
    assert stream.read() == Frame({"a": 1}, b"abc")
    assert stream.read() == Frame({"b": 2}, b"")
    os.close(write_end)
    assert stream.read() is None
    os.close(read_end)


def test_a_blocking_stream_names_a_truncated_frame():
    read_end, write_end = os.pipe()
    os.write(write_end, joined({"a": 1})[:-1])
    os.close(write_end)
    with pytest.raises(ProtocolError):
        FrameStream(read_end, read_end).read()
    os.close(read_end)


def test_what_nobody_reads_waits_and_blocks_nobody():
    read_end, write_end = os.pipe()
    outgoing = Outgoing(write_end)
    outgoing.add({"a": 1}, bytes(1 << 20))  # more than any pipe holds
    outgoing.add({"b": 2})
    assert outgoing.flush()
    arrived: list[Frame] = []
    decoder = Decoder()
    while len(arrived) < 2:
        arrived += decoder.feed(os.read(read_end, 1 << 16))
        outgoing.flush()
    assert arrived == [Frame({"a": 1}, bytes(1 << 20)), Frame({"b": 2}, b"")]
    assert not outgoing.flush()
    os.close(read_end)
    outgoing.add({"c": 3})
    with pytest.raises(BrokenPipeError):
        outgoing.flush()
    outgoing.drop()
    assert not outgoing.flush()
    os.close(write_end)
