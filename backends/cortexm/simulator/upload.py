"""The binary load on the device's side, as firmware/core/upload.h has it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

from .resident_input import ResidentInput

VERSION = 1
PAYLOAD_BYTES = 512
WINDOW = 8
_SYNC = b"\xa5\x5a"
_HEADER = struct.Struct("<2sHH")
_CRC = struct.Struct("<I")
_SILENCE_US = 200_000
_TIMEOUT_US = 5_000_000


class Upload:
    """One load; it begins when it is made.

    Attributes:
        is_over: whether its last line has been sent.
        rest: what came behind its last frame: commands.
    """

    def __init__(self, tensor: ResidentInput, now_us: Callable[[], int]) -> None:
        self.is_over = False
        self.rest = b""
        self._tensor = tensor
        self._now_us = now_us
        self._held = bytearray()  # the beginning of a frame
        self._next = 0
        self._has_answered_gap = False
        self._last_byte_us = self._last_frame_us = now_us()

    def receive(self, data: bytes) -> Iterator[str]:
        """The lines that answer these bytes."""
        self._last_byte_us = self._now_us()
        if self._has_timed_out():  # garbage without end is no upload
            self.rest = data
            yield self._time_out()
            return
        self._held += data
        while not self.is_over and (frame := self._frame()) is not None:
            yield from self._sort_in(*frame)
        if self.is_over:
            self.rest = bytes(self._held)

    def wait(self) -> Iterator[str]:
        """The lines for there being no byte."""
        if self._has_timed_out():
            yield self._time_out()
        elif self._since(self._last_byte_us) >= _SILENCE_US:
            self._last_byte_us = self._now_us()
            self._held.clear()  # the rest of a frame that began does not come any more
            self._has_answered_gap = False
            yield self._answer("nack")

    def _since(self, past_us: int) -> int:
        return (self._now_us() - past_us) % (1 << 32)

    def _has_timed_out(self) -> bool:
        return self._since(self._last_frame_us) >= _TIMEOUT_US

    def _time_out(self) -> str:
        self.is_over = True
        return f"e-[Binary load: {self._tensor.filled_bytes} of {self._tensor.expected_bytes} bytes]"

    def _frame(self) -> tuple[int, bytes] | None:
        """Sequence number and payload of the next whole frame; what is none is dropped."""
        while self._held:
            start = self._held.find(_SYNC[:1])
            del self._held[: len(self._held) if start < 0 else start]
            if len(self._held) < _HEADER.size and _SYNC.startswith(bytes(self._held[:2])):
                return None
            sync, sequence, length = (
                _HEADER.unpack_from(self._held) if len(self._held) >= _HEADER.size else (b"", 0, 0)
            )
            if sync == _SYNC and length <= PAYLOAD_BYTES:
                end = _HEADER.size + length
                if len(self._held) < end + _CRC.size:
                    return None
                if zlib.crc32(self._held[2:end]) == _CRC.unpack_from(self._held, end)[0]:
                    payload = bytes(self._held[_HEADER.size : end])
                    del self._held[: end + _CRC.size]
                    return sequence, payload
            del self._held[:1]
        return None

    def _sort_in(self, sequence: int, payload: bytes) -> Iterator[str]:
        ahead = (sequence - self._next) % (1 << 16)
        if not payload or ahead == 0:
            self._has_answered_gap = False
            self._last_frame_us = self._now_us()
            yield self._take(payload)
        elif ahead >= 1 << 15:  # taken already: its acknowledgement was lost
            yield self._answer("ack")
        elif not self._has_answered_gap:
            self._has_answered_gap = True
            yield self._answer("nack")

    def _take(self, payload: bytes) -> str:
        if payload and self._tensor.filled_bytes < self._tensor.expected_bytes:
            self._tensor.append(payload)
            self._next = (self._next + 1) % (1 << 16)
            return self._answer("ack")
        self.is_over = True
        if not payload:
            return "e-[Binary load: given up by the host]"
        is_equal = payload == _CRC.pack(zlib.crc32(self._tensor.expected_part()))
        return "m-load-done" if is_equal else "e-[Binary load: checksum differs]"

    def _answer(self, kind: str) -> str:
        return f"m-{kind}-{self._next}"
