"""Frames over a byte stream: a fixed header, a JSON message and a binary payload, all bounded.

Layout, big-endian: magic b"EdBn", u16 version, u16 zero, u32 length of the JSON, u64 length of the
payload (20 bytes), then the JSON object in UTF-8, then the payload. Host, agent and worker use this one
copy.
"""

import json
import os
import select
import struct
from collections import deque
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Union

MAGIC = b"EdBn"
VERSION = 1
MAX_JSON_BYTES = 1 << 20
MAX_PAYLOAD_BYTES = 1 << 30
READ_BYTES = 1 << 18
_HEAD = struct.Struct(">4sHHIQ")

Message = Dict[str, Any]
Buffer = Union[bytes, bytearray, memoryview]
Send = Callable[[Message, bytes], None]
"""Sends a message with its payload, which may be empty."""


class ProtocolError(Exception):
    """Bytes that are no frame, or a frame beyond the bounds; has the bytes."""


Frame = NamedTuple("Frame", [("message", Message), ("payload", bytes)])


def encode(message: Message, payload: Buffer = b"") -> List[Buffer]:
    """The pieces of one frame in order; ProtocolError when it exceeds the bounds."""
    text = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("utf-8")
    size = memoryview(payload).nbytes
    if len(text) > MAX_JSON_BYTES:
        raise ProtocolError("a message of {} bytes is over the {} allowed".format(len(text), MAX_JSON_BYTES))
    if size > MAX_PAYLOAD_BYTES:
        raise ProtocolError("a payload of {} bytes is over the {} allowed".format(size, MAX_PAYLOAD_BYTES))
    head = _HEAD.pack(MAGIC, VERSION, 0, len(text), size) + text
    return [head, payload] if size else [head]


class Decoder:
    """Turns bytes, cut anywhere, into frames; the first wrong byte of a header is a ProtocolError."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._lengths: Optional[List[int]] = None

    def feed(self, data: Buffer) -> List[Frame]:
        """The frames that are complete with these bytes."""
        self._buffer += data
        frames: List[Frame] = []
        while True:
            frame = self._next()
            if frame is None:
                return frames
            frames.append(frame)

    def end(self) -> None:
        """Say that the stream has ended; ProtocolError when it ended inside a frame."""
        if self._buffer or self._lengths is not None:
            raise ProtocolError("the stream ended inside a frame, after {!r}".format(self._seen()))

    def _next(self) -> Optional[Frame]:
        if self._lengths is None:
            if not MAGIC.startswith(bytes(self._buffer[: len(MAGIC)])):
                raise ProtocolError("not a frame: {!r}".format(self._seen()))
            if len(self._buffer) < _HEAD.size:
                return None
            _magic, version, zero, text_size, payload_size = _HEAD.unpack(bytes(self._buffer[: _HEAD.size]))
            if version != VERSION or zero != 0:
                raise ProtocolError("a frame of version {}, this side speaks {}".format(version, VERSION))
            if text_size > MAX_JSON_BYTES or payload_size > MAX_PAYLOAD_BYTES:
                words = "a frame announces {} + {} bytes, over the bounds"
                raise ProtocolError(words.format(text_size, payload_size))
            self._lengths = [text_size, payload_size]
            del self._buffer[: _HEAD.size]
        text_size, payload_size = self._lengths
        if len(self._buffer) < text_size + payload_size:
            return None
        message = _parsed(bytes(self._buffer[:text_size]))
        payload = bytes(memoryview(self._buffer)[text_size : text_size + payload_size])
        del self._buffer[: text_size + payload_size]
        self._lengths = None
        return Frame(message, payload)

    def _seen(self) -> bytes:
        return bytes(self._buffer[:64])


def _parsed(text: bytes) -> Message:
    try:
        message = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ProtocolError("a frame whose message is not JSON: {!r}".format(text[:64])) from None
    if not isinstance(message, dict):
        raise ProtocolError("a frame whose message is not an object: {!r}".format(text[:64]))
    return message


class Outgoing:
    """Frames on their way out of a non-blocking descriptor: a reader that is slow blocks no writer.

    Args:
        descriptor: non-blocking from here on.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.waiting_bytes = 0
        self._pieces: Deque[memoryview] = deque()

    def add(self, message: Message, payload: Buffer = b"") -> None:
        """Put a frame behind those that wait; `flush` writes it."""
        for piece in encode(message, payload):
            self._pieces.append(memoryview(piece).cast("B"))
            self.waiting_bytes += len(self._pieces[-1])

    def flush(self) -> bool:
        """Write what is taken in now; whether anything is left. OSError when the other side has closed."""
        try:
            while self._pieces:
                piece = self._pieces[0]
                written = os.write(self.descriptor, piece)
                self.waiting_bytes -= written
                if written < len(piece):
                    self._pieces[0] = piece[written:]
                else:
                    self._pieces.popleft()
        except BlockingIOError:
            pass
        return bool(self._pieces)

    def drop(self) -> None:
        """Forget what waits."""
        self._pieces.clear()
        self.waiting_bytes = 0


class FrameStream:
    """Blocking frames over two descriptors, as the worker uses them."""

    def __init__(self, read_from: int, write_to: int) -> None:
        self._read_from = read_from
        self._write_to = write_to
        self._decoder = Decoder()
        self._waiting: List[Frame] = []

    def read(self) -> Optional[Frame]:
        """The next frame; None when the other side has closed; ProtocolError on anything else."""
        while not self._waiting:
            data = os.read(self._read_from, READ_BYTES)
            if not data:
                self._decoder.end()
                return None
            self._waiting = self._decoder.feed(data)
        return self._waiting.pop(0)

    def pending(self, wait_s: float = 0.0) -> bool:
        """Whether there is something to read, at most `wait_s` later: a frame, a part of one, or the end."""
        return bool(self._waiting) or bool(select.select([self._read_from], [], [], wait_s)[0])

    def write(self, message: Message, payload: Buffer = b"") -> None:
        """Send one frame, all of it."""
        for piece in encode(message, payload):
            view = memoryview(piece).cast("B")
            while view.nbytes:
                view = view[os.write(self._write_to, view) :]
