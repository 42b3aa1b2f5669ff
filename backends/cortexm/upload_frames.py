"""Frames of the binary load, as firmware/README.md has them, and the line of help that offers it."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable
from typing import NamedTuple

SYNC = b"\xa5\x5a"
SEQUENCE_MODULUS = 65_536
VERSION = 1
MOST_PAYLOAD_BYTES = 512
MOST_WINDOW = 64
_OFFER = re.compile(
    r"db bin N .*\bversion=([0-9]{1,5}) payload=([0-9]{1,5}) window=([0-9]{1,5})\b.*", re.ASCII
)


class BinaryOffer(NamedTuple):
    """How a firmware takes a binary load.

    Attributes:
        payload_bytes: of a frame, at most.
        window: how many frames may be under way without acknowledgement.
    """

    payload_bytes: int
    window: int


def offered_frames(help_lines: Iterable[str]) -> BinaryOffer | None:
    """What help offers; None without an offer, or with one of another version."""
    for line in help_lines:
        match = _OFFER.fullmatch(line)
        if match is None:
            continue
        version, payload_bytes, window = map(int, match.groups())
        if version == VERSION and payload_bytes >= 4 and window >= 1:  # a checksum has 4 bytes
            return BinaryOffer(min(payload_bytes, MOST_PAYLOAD_BYTES), min(window, MOST_WINDOW))
    return None


def frame(sequence: int, payload: bytes) -> bytes:
    """One frame."""
    checked = struct.pack("<HH", sequence % SEQUENCE_MODULUS, len(payload)) + payload
    return SYNC + checked + struct.pack("<I", zlib.crc32(checked))


def frames_of(tensor: bytes, payload_bytes: int = MOST_PAYLOAD_BYTES) -> list[bytes]:
    """All frames of a tensor; the last one carries its checksum and ends the load."""
    payloads = [tensor[start : start + payload_bytes] for start in range(0, len(tensor), payload_bytes)]
    payloads.append(struct.pack("<I", zlib.crc32(tensor)))
    return [frame(sequence, payload) for sequence, payload in enumerate(payloads)]


def give_up_frame() -> bytes:
    """Ends a load that is under way, whichever frame it is at."""
    return frame(0, b"")
