"""The packets of FNIRSI's USB meters: 64 bytes each way, the last a CRC-8 of those between the first and it.

A data packet (type 04) has four samples of 15 bytes from offset 2, little-endian and unsigned, 10 ms apart:
volts / 1e5 and amperes / 1e5 in 4 bytes each, then the data lines and a temperature, which are not read here.
"""

import struct
from typing import List, NamedTuple, Optional, Tuple

PACKET_BYTES = 64
BEGIN = 0xAA
DATA = 0x04
SAMPLES = 4
SAMPLE_BYTES = 15
PER_UNIT = 1e5
SHOWN_BYTES = 16
POLYNOMIAL, INITIAL = 0x39, 0x42


class Sample(NamedTuple):
    """V and A at one moment."""

    volts: float
    amperes: float


def crc8(data: bytes) -> int:
    """Polynomial 0x39, initial value 0x42, not reflected and not inverted."""
    crc = INITIAL
    for byte in data:
        crc = _TABLE[crc ^ byte]
    return crc


def _step(value: int) -> int:
    for _ in range(8):
        value = (value << 1 ^ POLYNOMIAL) & 0xFF if value & 0x80 else value << 1
    return value


_TABLE = [_step(value) for value in range(256)]


def command(number: int) -> bytes:
    """What asks the meter: 81 and 82 begin, 83 keeps the samples coming."""
    body = bytes([number]) + bytes(PACKET_BYTES - 3)
    return bytes([BEGIN]) + body + bytes([crc8(body)])


START, SELECT, GO_ON = command(0x81), command(0x82), command(0x83)


def samples_of(packet: bytes) -> Tuple[Optional[List[Sample]], str]:
    """The samples of a packet; none for another type; None, and in words why, for what is no packet."""
    if len(packet) != PACKET_BYTES or packet[0] != BEGIN:
        return None, "{} bytes of no packet: {}".format(len(packet), shown(packet))
    if crc8(packet[1:-1]) != packet[-1]:
        return None, "a packet of another checksum: {} ... {:02x}".format(shown(packet), packet[-1])
    if packet[1] != DATA:
        return [], ""
    offsets = range(2, 2 + SAMPLES * SAMPLE_BYTES, SAMPLE_BYTES)
    pairs = [struct.unpack_from("<II", packet, offset) for offset in offsets]
    return [Sample(volts / PER_UNIT, amperes / PER_UNIT) for volts, amperes in pairs], ""


def shown(data: bytes) -> str:
    """The first bytes as hexadecimal numbers."""
    return " ".join("{:02x}".format(byte) for byte in data[:SHOWN_BYTES])
