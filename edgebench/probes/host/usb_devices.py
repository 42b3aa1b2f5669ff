"""USB devices as Linux' sysfs has them, and the udev rule that lets every user open one."""

import glob
import os
from typing import List, NamedTuple, Optional, Tuple

from ..basics import ProbeDenied

TREE = "/sys/bus/usb/devices"
TTYS = "/sys/class/tty"
NODES = "/dev/bus/usb"
RULES = "/etc/udev/rules.d/70-edgebench-meters.rules"
MOST_BYTES = 256

Ids = Tuple[int, int]  # vendor and product


class UsbDevice(NamedTuple):
    """A device that is plugged in: its node, its ids, and what it calls itself."""

    path: str
    ids: Ids
    name: str


def find_devices(wanted: List[Ids]) -> List[UsbDevice]:
    """Those with these ids that are plugged in; none where there is no sysfs."""
    devices = []
    for folder in sorted(glob.glob(os.path.join(glob.escape(TREE), "*"))):
        device = _device(folder)
        if device is not None and device.ids in wanted:
            devices.append(device)
    return devices


def ids_of_tty(path: str) -> Optional[Ids]:
    """The ids of the USB device behind a serial port; None for a port that is none of USB."""
    name = os.path.basename(os.path.realpath(path))
    folder = os.path.realpath(os.path.join(TTYS, name, "device"))
    while os.path.dirname(folder) != folder:
        device = _device(folder)
        if device is not None:
            return device.ids
        folder = os.path.dirname(folder)
    return None


def rule_fix(match: str) -> str:
    """The commands that add a udev rule for what it matches."""
    return (
        "echo '{}, MODE=\"0666\"' | sudo tee -a {}; sudo udevadm control --reload; "
        "then plug it in again".format(match, RULES)
    )


def usb_match(subsystem: str, ids: Ids) -> str:
    """What a rule matches a USB device's node of a subsystem (usb, tty, hidraw) by."""
    ends = "ATTR" if subsystem == "usb" else "ATTRS"
    form = 'SUBSYSTEM=="{}", {}{{idVendor}}=="{:04x}", {}{{idProduct}}=="{:04x}"'
    return form.format(subsystem, ends, ids[0], ends, ids[1])


def require_openable(device: UsbDevice) -> None:
    """ProbeDenied with the udev rule where this user may not open its node."""
    if os.path.exists(device.path) and not os.access(device.path, os.R_OK | os.W_OK):
        raise ProbeDenied(
            "this user may not open {}, {}".format(device.path, device.name),
            rule_fix(usb_match("usb", device.ids)),
            port=device.path,
        )


def _device(folder: str) -> Optional[UsbDevice]:
    try:
        ids = int(_text(folder, "idVendor"), 16), int(_text(folder, "idProduct"), 16)
        numbers = int(_text(folder, "busnum")), int(_text(folder, "devnum"))
    except (OSError, ValueError):  # an interface, or unplugged at this moment
        return None
    path = os.path.join(NODES, "{:03d}".format(numbers[0]), "{:03d}".format(numbers[1]))
    try:
        name = _text(folder, "product")
    except OSError:
        name = "{:04x}:{:04x}".format(*ids)
    return UsbDevice(path, ids, name)


def _text(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), errors="replace") as file:
        return file.read(MOST_BYTES).strip()
