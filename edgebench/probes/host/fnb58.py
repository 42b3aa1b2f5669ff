"""FNB58, FNB48, FNB48S and C1: FNIRSI's USB meters over USB, 100 times a second.

They are read by Linux' hidraw (see `hidraw`) in packets of four samples. A packet of
another checksum, or silence for a second, is a gap; so is the time for which the meter is unplugged.
"""

import glob
import os
import struct
import time
from typing import Dict, List, NamedTuple, Optional, Tuple

from ..basics import ADDRESS, ProbeDenied, ProbeMissing, now_ns, the_only
from .sampling import CURRENT, VOLTAGE, Pace, StreamingMeter, power_channel, shown, until_samples_come
from .serial_port import Ids, rule_fix, usb_match

# The packets of FNIRSI's USB meters: 64 bytes each way, the last a CRC-8 of those between the first and it.
#
# A data packet (type 04) has four samples of 15 bytes from offset 2, little-endian and unsigned, 10 ms
# apart:
# volts / 1e5 and amperes / 1e5 in 4 bytes each, then the data lines and a temperature, which are not read
# here.


PACKET_BYTES = 64
BEGIN = 0xAA
DATA = 0x04
SAMPLES = 4
SAMPLE_BYTES = 15
PER_UNIT = 1e5
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
        return None, "a packet of another checksum: {} {:02x}".format(shown(packet), packet[-1])
    if packet[1] != DATA:
        return [], ""
    offsets = range(2, 2 + SAMPLES * SAMPLE_BYTES, SAMPLE_BYTES)
    pairs = [struct.unpack_from("<II", packet, offset) for offset in offsets]
    return [Sample(volts / PER_UNIT, amperes / PER_UNIT) for volts, amperes in pairs], ""


# HID devices by Linux' hidraw: found by their ids in sysfs, opened, read and written packet by packet.


TREE = "/sys/class/hidraw"
NODES = "/dev"
USB_BUS = 3
MOST_BYTES = 4096


class HidNode(NamedTuple):
    """A device: its node, its ids, its serial number (perhaps empty) and whether its reports are numbered."""

    path: str
    ids: Ids
    serial: str
    numbered: bool


def find_nodes(wanted: List[Ids]) -> List[HidNode]:
    """The USB devices with these ids that are plugged in, by their nodes' names."""
    nodes = []
    for folder in sorted(glob.glob(os.path.join(glob.escape(TREE), "hidraw*"))):
        try:
            facts = _facts(os.path.join(folder, "device", "uevent"))
            bus, vendor, product = (int(word, 16) for word in facts["HID_ID"].split(":"))
            with open(os.path.join(folder, "device", "report_descriptor"), "rb") as file:
                numbered = has_report_numbers(file.read(MOST_BYTES))
        except (OSError, KeyError, ValueError):  # unplugged at this moment, or no HID device at all
            continue
        if bus == USB_BUS and (vendor, product) in wanted:
            path = os.path.join(NODES, os.path.basename(folder))
            nodes.append(HidNode(path, (vendor, product), facts.get("HID_UNIQ", ""), numbered))
    return nodes


def open_node(node: HidNode) -> int:
    """Its descriptor, which never waits; ProbeDenied with the udev rule where this user may not open it."""
    try:
        return os.open(node.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        raise ProbeDenied(
            "this user may not open {}".format(node.path),
            rule_fix(usb_match("hidraw", node.ids)),
            port=node.path,
        ) from None
    except OSError as error:
        raise ProbeMissing(
            "{} cannot be opened: {}".format(node.path, error.strerror),
            "plug the meter in again",
            port=node.path,
        ) from None


def has_report_numbers(descriptor: bytes) -> bool:
    """Whether a HID report descriptor has an item Report ID: each report begins with its number then."""
    at = 0
    while at < len(descriptor):
        prefix = descriptor[at]
        if prefix == 0xFE:  # a long item: its size is in the next byte
            at += 3 + (descriptor[at + 1] if at + 1 < len(descriptor) else 0)
            continue
        if prefix & 0xFC == 0x84:
            return True
        at += 1 + (4 if prefix & 3 == 3 else prefix & 3)
    return False


def _facts(path: str) -> "dict[str, str]":
    """The lines NAME=VALUE of an uevent file."""
    with open(path, errors="replace") as file:
        pairs = [line.rstrip("\n").partition("=") for line in file.read(MOST_BYTES).splitlines()]
    return {name: value for name, _, value in pairs}


PLACE = "host"
RATE_HZ = 100.0
SAMPLE_NS = 10000000
MOST_W = 400.0


class Model(NamedTuple):
    """One of the meters: what ends its start, and how often it has to be asked to go on."""

    name: str
    last_of_start: bytes
    go_on_s: float


MODELS = {
    (0x2E3C, 0x5558): Model("FNB58", SELECT, 1.0),
    (0x2E3C, 0x0049): Model("FNB48S", SELECT, 1.0),
    (0x0483, 0x003A): Model("FNB48", GO_ON, 0.003),
    (0x0483, 0x003B): Model("C1", GO_ON, 0.003),
}


class Link:
    """An open meter whose samples arrive (see StreamingMeter); whatever fails is an OSError."""

    def __init__(self, node: HidNode) -> None:
        self._model = MODELS[node.ids]
        self._numbered = node.numbered
        self._pace = Pace()
        self._asked_s = time.monotonic()
        self.descriptor = open_node(node)
        try:
            for packet in (START, SELECT, self._model.last_of_start):
                self._write(packet)
        except OSError:
            self.close()
            raise

    def ask_again(self) -> None:
        """Ask for further samples: after a packet where that is due, and after silence."""
        self._asked_s = time.monotonic()
        self._write(GO_ON)

    def read(self) -> Tuple[List[Tuple[int, Dict[str, float]]], str]:
        """The next packet's samples with their stamps, and in words what was no packet."""
        try:
            packet = os.read(self.descriptor, MOST_BYTES)
        except BlockingIOError:
            return [], ""
        if not packet:
            raise OSError("it has hung up")
        arrived_ns = now_ns()
        samples, why = samples_of(packet)
        if time.monotonic() - self._asked_s >= self._model.go_on_s:
            self.ask_again()
        if not samples:
            return [], why
        end_ns = self._pace.end_ns(arrived_ns, len(samples) * SAMPLE_NS)
        first_ns = end_ns - (len(samples) - 1) * SAMPLE_NS
        return [
            (
                first_ns + number * SAMPLE_NS,
                {"usb": volts * amperes, "voltage": volts, "current": amperes},
            )
            for number, (volts, amperes) in enumerate(samples)
        ], why

    def close(self) -> None:
        """Let it go; safe to call twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _write(self, packet: bytes) -> None:
        """Send a packet; one of a device without numbered reports goes out behind the number 0."""
        os.write(self.descriptor, packet if self._numbered else b"\0" + packet)


class Fnb58Probe(StreamingMeter):
    """Power, voltage and current of the USB line.

    Args:
        address: as it was given.
        node: the meter's.
        link: open, with samples that come.
        rejected: what came before them.
    """

    def __init__(self, address: str, node: HidNode, link: Link, rejected: List[str]) -> None:
        info = {
            "kind": "fnb58",
            "address": address,
            "rate_hz": RATE_HZ,
            "averaging_ms": None,
            "resolution": "{}: 10 uV, 10 uA".format(MODELS[node.ids].name),
            "scope": "usb",
            "channels": [power_channel("usb", MOST_W), VOLTAGE, CURRENT],
        }
        super(Fnb58Probe, self).__init__(info, link, rejected)
        self._node = node
        self.port = node.path

    def _open(self) -> Link:
        """The same meter, at whatever node it is now."""
        for node in find_nodes([self._node.ids]):
            if node.serial == self._node.serial:
                return Link(node)
        raise ProbeMissing("the meter is unplugged", "plug it in again")


def open_probe(address: str) -> Fnb58Probe:
    """The probe of `fnb58:SERIAL` or `fnb58:/dev/hidrawN`, or of `fnb58` where one is plugged in."""
    node = _chosen(address)
    try:
        link = Link(node)
        rejected = until_samples_come(link, node.path, node.path)
    except OSError as error:
        raise ProbeMissing(
            "{}: {}".format(node.path, error), "plug the meter in again", port=node.path
        ) from None
    return Fnb58Probe(address, node, link, rejected)


def _chosen(address: str) -> HidNode:
    nodes = find_nodes(list(MODELS))
    there = ", ".join("{} {} ({})".format(MODELS[n.ids].name, n.serial or "-", n.path) for n in nodes)
    if not nodes:
        raise ProbeMissing(
            "no FNB58, FNB48, FNB48S or C1 is plugged in",
            "connect the meter's own USB port for data with this machine (Linux alone has hidraw)",
        )
    return the_only(
        [node for node in nodes if address in ("", node.serial, node.path)],
        ProbeMissing("there is no meter {!r}".format(address), "there are {}".format(there)),
        ProbeMissing(
            "several meters are plugged in: {}".format(there),
            "name one by its serial number or its node: --meter fnb58:{}".format(nodes[0].path),
            ADDRESS,
        ),
    )
