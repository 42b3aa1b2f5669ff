"""The answers of a UM24C, UM25C or UM34C: frames of 130 bytes, big-endian and unsigned, without a checksum.

    offset  bytes  field
    0       2      model
    2       2      volts, in steps of the model
    4       2      amperes, in steps of the model
    6       4      watts / 1000

A frame is believable when its model is known, it is whole, and its watts are its volts times its amperes
within the steps in which they are given.
"""

import struct
from typing import List, NamedTuple, Optional, Tuple

REQUEST = b"\xf0"
FRAME_BYTES = 130
PER_WATT = 1000.0
SHOWN_BYTES = 16

Model = NamedTuple("Model", [("name", str), ("per_volt", float), ("per_ampere", Tuple[float, ...])])

# Sources disagree on the UM25C's amperes: the watts tell which step a frame has.
MODELS = {
    0x0963: Model("UM24C", 100.0, (1000.0,)),
    0x09C9: Model("UM25C", 1000.0, (10000.0, 1000.0)),
    0x0D4C: Model("UM34C", 100.0, (1000.0,)),
}
_MODEL_WORDS = [struct.pack(">H", word) for word in MODELS]


class Reading(NamedTuple):
    """One frame: the model's name, and V, A and W."""

    model: str
    volts: float
    amperes: float
    watts: float


class FrameBuffer:
    """Frames out of the pieces in which they come: Bluetooth cuts them."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def __len__(self) -> int:
        """Bytes of a frame that is not complete."""
        return len(self._bytes)

    def feed(self, data: bytes) -> Tuple[List[Reading], List[str]]:
        """The readings that are complete with these bytes, and in words what was no part of any."""
        self._bytes += data
        readings: List[Reading] = []
        rejected: List[str] = []
        skipped = bytearray()
        while self._bytes:
            if not _may_begin_frame(self._bytes):
                skipped.append(self._bytes.pop(0))
                continue
            if len(self._bytes) < FRAME_BYTES:
                break
            reading = parse(bytes(self._bytes[:FRAME_BYTES]))
            if reading is None:
                skipped.append(self._bytes.pop(0))
                continue
            readings.append(reading)
            del self._bytes[:FRAME_BYTES]
        if skipped:
            rejected.append("{} bytes of no believable frame: {}".format(len(skipped), shown(skipped)))
        return readings, rejected

    def clear(self) -> str:
        """Forget the beginning of a frame that will have no end; in words what it was, empty for nothing."""
        left, self._bytes = self._bytes, bytearray()
        return "{} of {} bytes of a frame: {}".format(len(left), FRAME_BYTES, shown(left)) if left else ""


def parse(frame: bytes) -> Optional[Reading]:
    """The reading of FRAME_BYTES bytes; None where they are not believable."""
    word, volt_steps, ampere_steps, watt_steps = struct.unpack(">HHHI", frame[:10])
    model = MODELS.get(word)
    if model is None or len(frame) != FRAME_BYTES:
        return None
    volts, watts = volt_steps / model.per_volt, watt_steps / PER_WATT
    for per_ampere in model.per_ampere:
        amperes = ampere_steps / per_ampere
        # Each of the three is rounded or cut off: a whole step of each.
        rounding_w = 1 / PER_WATT + volts / per_ampere + (amperes + 1 / per_ampere) / model.per_volt
        if abs(volts * amperes - watts) <= rounding_w:
            return Reading(model.name, volts, amperes, watts)
    return None


def shown(data: bytearray) -> str:
    """The first bytes as hexadecimal numbers."""
    text = " ".join("{:02x}".format(byte) for byte in data[:SHOWN_BYTES])
    return text + (" ..." if len(data) > SHOWN_BYTES else "")


def _may_begin_frame(data: bytearray) -> bool:
    return any(word.startswith(bytes(data[:2])) for word in _MODEL_WORDS)
