"""Sticks on USB as sysfs shows them (device side, Python 3.6 syntax): id, bus speed, firmware, permission.

It travels to the board with the runners of accelerators that are plugged in.
"""

import glob
import math
import os
from typing import Any, Dict, List, Optional

ROOT = "EDGEBENCH_TEST_ROOT"  # another folder than / that sysfs is found in, for tests
USB3_MBPS = 5000.0
MAX_DEVICES = 256
MAX_TEXT = 64


def usb_sticks(root: str, boot_id: str, ready_id: str, absent: Dict[str, str]) -> List[Dict[str, Any]]:
    """The sticks with one of two ids: before their firmware is there, and with it.

    Args:
        root: the folder that sysfs is found in.
        boot_id: vendor and product before the firmware is there, such as 03e7:2485.
        ready_id: the same with it.
        absent: called with the reason where something is unknown.

    Returns:
        A list of {id, speed_mbps, firmware, writable}; None for what is not known.
    """
    folder = os.path.join(root, "sys/bus/usb/devices")
    if not os.path.isdir(folder):
        absent["usb"] = "/sys/bus/usb/devices is not there"
        return []
    sticks = []
    for device in sorted(glob.glob(os.path.join(glob.escape(folder), "*")))[:MAX_DEVICES]:
        usb_id = "{}:{}".format(_text(device, "idVendor"), _text(device, "idProduct")).lower()
        if usb_id not in (boot_id, ready_id):
            continue
        speed_mbps = number_in(device, "speed")
        if speed_mbps is None:
            absent["usb_speed"] = "sysfs does not give the speed of the bus"
        sticks.append(
            {
                "id": usb_id,
                "speed_mbps": speed_mbps,
                "firmware": usb_id == ready_id,
                "writable": _writable(root, device),
            }
        )
    return sticks


def usb2_warnings(sticks: List[Dict[str, Any]], name: str, slowdown: str) -> List[str]:
    """One for each stick on USB 2; `slowdown` is how much slower it is there, in words."""
    text = "{} is on USB 2 ({:g} Mbit/s): about {} as slow as on USB 3"
    return [
        text.format(name, stick["speed_mbps"], slowdown)
        for stick in sticks
        if stick["speed_mbps"] is not None and stick["speed_mbps"] < USB3_MBPS
    ]


def number_in(folder: str, name: str) -> Optional[float]:
    """The number that a small file holds; None where it is not there or holds something else."""
    try:
        number = float(_text(folder, name))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _text(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read(MAX_TEXT).decode("ascii", "replace").strip()
    except OSError:
        return ""


def _writable(root: str, device: str) -> Optional[bool]:
    """Whether this user may talk to it: libusb opens /dev/bus/usb/BBB/DDD for writing."""
    bus, number = number_in(device, "busnum"), number_in(device, "devnum")
    if bus is None or number is None:
        return None
    node = os.path.join(root, "dev/bus/usb/{:03d}/{:03d}".format(int(bus), int(number)))
    return os.access(node, os.W_OK) if os.path.exists(node) else None
