"""A whole binary load, over a line of a test."""

import importlib

upload_frames = importlib.import_module("edgebench.backends.cortexm.line")
SYNC = upload_frames.SYNC
frame = upload_frames.frame
frames_of = upload_frames.frames_of


def upload(line, tensor, window=8):
    """A whole load over a line that loses nothing; the lines after `m-[Expecting`, without `m-ready`."""
    line.send(b"db bin %d%%" % len(tensor))
    assert line.line() == f"m-[Expecting {len(tensor)} bytes]"
    frames = frames_of(tensor)
    sent = taken = 0
    while taken < len(frames) - 1:
        while sent < min(taken + window, len(frames) - 1):
            line.send(frames[sent])
            sent += 1
        kind, _, number = line.line().rpartition("-")
        assert kind in ("m-ack", "m-nack"), kind
        taken = int(number)
        if kind == "m-nack":
            sent = taken
    line.send(frames[-1])
    return line.answer()[:-1]
