"""A serial port of the host by pyserial, and in words why one cannot be opened."""

import errno
import glob
import grp
import os
import stat
from typing import Any, List, NamedTuple, Optional, Tuple

from ..basics import ADDRESS, ANSWER, IN_USE, PACKAGE, ProbeDenied, ProbeMissing

# USB devices as Linux' sysfs has them, and the udev rule that lets every user open one.


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
    """The ids of the USB device behind a serial port; None for a port that is not on USB."""
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


# Of a Bluetooth port whose device is off, away, or not paired.
UNREACHABLE = (errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ECONNREFUSED, errno.ETIMEDOUT, errno.ENXIO)
BUSY = (errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK)
MOST_LISTED = 8


def open_port(path: str, baud: int) -> Any:
    """The open serial.Serial, locked against others that ask for a lock, whose read and write never wait.

    Raises:
        ProbeMissing: with the reason and the fix; ProbeDenied where this user may not open it.
    """
    try:
        import serial
    except ImportError:
        raise ProbeMissing("pyserial is not installed", "pip install 'edgebench[meters]'", PACKAGE) from None
    try:
        return serial.Serial(path, baud, timeout=0, write_timeout=0, exclusive=True)
    except (serial.SerialException, OSError, ValueError) as error:
        raise refusal(path, getattr(error, "errno", None), str(error)) from None


def refusal(path: str, number: Any, words: str) -> ProbeMissing:
    """Why a port cannot be opened, by the error's number, with what helps."""
    if number in (errno.ENOENT, errno.ENODEV):
        return ProbeMissing(
            "there is no port {}".format(path),
            "name the meter's own ({}); or plug it in; or pair it and `sudo rfcomm bind 0 "
            "ITS:BLUETOOTH:ADDRESS`, which makes /dev/rfcomm0".format(ports_in_words()),
            port=path,
        )
    if number in (errno.EACCES, errno.EPERM):
        return ProbeDenied("this user may not open {}".format(path), permission_fix(path), port=path)
    if number in BUSY:
        return ProbeMissing(
            "another program uses {}".format(path),
            "end it: `sudo fuser -v {}` names it".format(path),
            IN_USE,
            path,
        )
    if number in UNREACHABLE:
        return ProbeMissing(
            "nothing answers behind {}: {}".format(path, words),
            "switch the meter on, and end whatever else is connected to it by Bluetooth",
            ANSWER,
            path,
        )
    return ProbeMissing(
        "{} is no serial port: {}".format(path, words),
        "name the meter's port, such as /dev/rfcomm0 ({})".format(ports_in_words()),
        ADDRESS,
        path,
    )


def ports_in_words() -> str:
    """The serial ports of this machine by their names, with what USB says of them."""
    ports = ports_here()
    if not ports:
        return "this machine has no port of USB or Bluetooth"
    more = "" if len(ports) <= MOST_LISTED else " and {} more".format(len(ports) - MOST_LISTED)
    return "there are {}{}".format(", ".join(ports[:MOST_LISTED]), more)


def ports_here() -> List[str]:
    """Each port of USB or Bluetooth, such as `/dev/ttyUSB0 (FT232R, 0403:6001)`."""
    try:
        from serial.tools.list_ports import comports
    except ImportError:
        return []
    texts = []
    for port in sorted(comports(), key=lambda port: str(port.device)):
        if port.vid is not None:
            texts.append("{} ({}, {:04x}:{:04x})".format(port.device, port.product, port.vid, port.pid))
        elif "rfcomm" in port.device or port.device.startswith("/dev/cu."):
            texts.append(str(port.device))
    return texts


def permission_fix(path: str) -> str:
    """What lets this user open a port: its group, or where that is not let either, a udev rule."""
    try:
        status = os.stat(path)
        group = grp.getgrgid(status.st_gid)
    except (OSError, KeyError):
        return "sudo usermod -aG dialout $USER, then log in again"
    if group.gr_name == "root" or not status.st_mode & stat.S_IWGRP:
        ids = ids_of_tty(path)
        match = 'KERNEL=="{}"'.format(os.path.basename(os.path.realpath(path)))
        return rule_fix(match if ids is None else usb_match("tty", ids))
    return "sudo usermod -aG {} $USER, then log in again".format(group.gr_name)
