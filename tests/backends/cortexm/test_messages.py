"""What boards send, as messages: the benchmark's lines, and whatever else may come."""

import importlib
import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

messages = importlib.import_module("edgebench.backends.cortexm.line")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"m-ready", ("ready", None)),
        (b"\x00\xff\x1bm-ready \x07", ("ready", None)),
        (b"m-timestamp-mode-performance", ("banner", "performance")),
        (b"m-timestamp-mode-energy", ("banner", "energy")),
        (b"m-results-[0.1m-timestamp-mode-performance", ("banner", "performance")),
        (b"m-name-dut-[a [b] c]", ("name", "a [b] c")),
        (b"m-profile-[]", ("profile", "")),
        (b"m-model-[vww01]", ("model", "vww01")),
        (b"m-info-[engine=TFLM 1=2]", ("info", ("engine", "TFLM 1=2"))),
        (b"m-info-[engine=]", ("info", ("engine", ""))),
        (b"m-info-[=x]", ("text", "m-info-[=x]")),
        (b"m-info-[]", ("text", "m-info-[]")),
        (b"m-info-[engine]", ("text", "m-info-[engine]")),
        (b"m-lap-us-0", ("lap", 0)),
        (b"m-lap-us-4294967297", ("lap", 1)),
        (b"m-lap-us--1", ("text", "m-lap-us--1")),
        (b"m-lap-us-", ("text", "m-lap-us-")),
        (b"m-[Expecting 150528 bytes]", ("expecting", 150528)),
        (b"m-load-done", ("load-done", None)),
        (b"m-ack-65535", ("ack", 65535)),
        (b"m-nack-0", ("nack", 0)),
        (b"m-warmup-start-0", ("warmup-start", 0)),
        (b"m-infer-start-10", ("infer-start", 10)),
        (b"m-infer-done", ("infer-done", None)),
        (b"m-results-[0.000,-1.250,1000.000]", ("results", (0.0, -1.25, 1000.0))),
        (b"m-results-[inf]", ("results", (math.inf,))),
        (b"m-results-[0.1,]", ("text", "m-results-[0.1,]")),
        (b"m-results-[0.1,0.2", ("text", "m-results-[0.1,0.2")),
        (b"m-results-[0x1,1_0]", ("text", "m-results-[0x1,1_0]")),
        (b"m-results-[]", ("text", "m-results-[]")),
        (b"e-[Unknown command: x]", ("error", "Unknown command: x")),
        (b"ULPMark\x1b[31m", ("text", "ULPMark?[31m")),
        ("m-lap-us-\u0661".encode(), ("text", "m-lap-us-")),
    ],
)
def test_lines(line, message):
    assert messages.parse(line) == message


def texts_of(message):
    values = message.value if isinstance(message.value, tuple) else (message.value,)
    return [value for value in values if isinstance(value, str)]


KNOWN = st.sampled_from(
    [b"m-results-[", b"m-info-[", b"m-lap-us-", b"m-ready", b"m-ack-", b"e-[", b"m-[Expecting ", b"]", b","]
)


@given(st.lists(st.binary(max_size=40) | KNOWN, max_size=12).map(b"".join))
def test_any_line_is_a_message_that_can_be_printed(line):
    message = messages.parse(line)
    for text in texts_of(message):
        assert text.isascii() and (text.isprintable() or not text)
        assert len(text) <= messages.MOST_VALUE_CHARACTERS


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_scores_are_read_as_they_were_written(values):
    line = f"m-results-[{','.join(f'{value:0.3f}' for value in values)}]".encode()
    scores = messages.parse(line).value
    assert all(abs(a - b) <= 0.0005 + 1e-9 for a, b in zip(scores, values, strict=True))


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=8))
def test_lines_are_the_same_however_their_bytes_come(data, cuts):
    data = data.replace(b"\x05", b"\n").replace(b"\x06", b"\r\n")
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = messages.LineSplitter()
    split = [line for start, end in itertools.pairwise(places) for line in pieces.lines(data[start:end])]
    whole = messages.LineSplitter()
    assert split == whole.lines(data)
    assert pieces.begun == whole.begun
    assert all(line and b"\n" not in line for line in split)


def test_a_line_without_an_end_takes_bounded_memory():
    splitter = messages.LineSplitter()
    for _ in range(100):
        assert splitter.lines(b"x" * 1000) == []
    assert len(splitter.begun) == messages.MOST_LINE_BYTES
    [line, ready] = splitter.lines(b"\r\nm-ready\r\n")
    assert len(line) == messages.MOST_LINE_BYTES
    assert ready == b"m-ready"


def test_the_scores_of_a_thousand_classes_fit():
    line = b"m-results-[" + b",".join([b"-12.345"] * 1000) + b"]\r\n"
    [whole] = messages.LineSplitter().lines(line)
    assert messages.parse(whole).value == (-12.345,) * 1000
