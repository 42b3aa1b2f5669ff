"""HID devices by Linux' hidraw: found by their ids in sysfs, opened, read and written packet by packet."""

import glob
import os
from typing import List, NamedTuple

from ..basics import ProbeDenied, ProbeMissing
from .usb_devices import Ids, rule_fix, usb_match

TREE = "/sys/class/hidraw"
NODES = "/dev"
USB_BUS = 3
MOST_BYTES = 4096
MOST_LISTED = 8


class HidNode(NamedTuple):
    """A device: its node, its ids, its serial number (perhaps empty) and whether its reports are numbered."""

    path: str
    ids: Ids
    serial: str
    numbered: bool


class HidDevice:
    """An open node; whatever fails is an OSError."""

    def __init__(self, node: HidNode) -> None:
        self._numbered = node.numbered
        self.descriptor = open_node(node)

    def write(self, packet: bytes) -> None:
        """Send a packet; one of a device without numbered reports goes out behind the number 0."""
        os.write(self.descriptor, packet if self._numbered else b"\0" + packet)

    def read(self) -> bytes:
        """The next packet; empty where none has come."""
        try:
            packet = os.read(self.descriptor, MOST_BYTES)
        except BlockingIOError:
            return b""
        if not packet:
            raise OSError("it has hung up")
        return packet

    def close(self) -> None:
        """Let it go; safe to call twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


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


def nodes_in_words() -> str:
    """The HID devices of this machine by their nodes, with what they call themselves."""
    names = []
    for folder in sorted(glob.glob(os.path.join(glob.escape(TREE), "hidraw*"))):
        try:
            name = _facts(os.path.join(folder, "device", "uevent")).get("HID_NAME", "")
        except OSError:  # unplugged at this moment
            continue
        names.append("{} ({})".format(os.path.join(NODES, os.path.basename(folder)), name[:60]))
    return "there are {}".format(", ".join(names[:MOST_LISTED])) if names else "there is no HID device"


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
