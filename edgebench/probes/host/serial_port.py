"""A serial port of the host by pyserial, and in words why one cannot be opened."""

import errno
import grp
import os
from typing import Any

from ..basics import ProbeDenied, ProbeMissing

# Of a Bluetooth port whose device is off, away, or not paired.
UNREACHABLE = (errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ECONNREFUSED, errno.ETIMEDOUT, errno.ENXIO)
BUSY = (errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK)


def open_port(path: str, baud: int) -> Any:
    """The open serial.Serial, locked against others that ask for a lock, whose read and write never wait.

    Raises:
        ProbeMissing: with the reason and the fix; ProbeDenied where this user may not open it.
    """
    try:
        import serial
    except ImportError:
        raise ProbeMissing("pyserial is not installed", "pip install 'edgebench[meters]'") from None
    try:
        return serial.Serial(path, baud, timeout=0, write_timeout=0, exclusive=True)
    except (serial.SerialException, OSError, ValueError) as error:
        raise refusal(path, getattr(error, "errno", None), str(error)) from None


def refusal(path: str, number: Any, words: str) -> ProbeMissing:
    """Why a port cannot be opened, by the error's number, with what helps."""
    if number in (errno.ENOENT, errno.ENODEV):
        return ProbeMissing(
            "there is no port {}".format(path),
            "plug the meter in, or pair it and `sudo rfcomm bind 0 ITS:BLUETOOTH:ADDRESS`, which makes "
            "/dev/rfcomm0; the ports of USB are below /dev/serial/by-id",
        )
    if number in (errno.EACCES, errno.EPERM):
        group = _group(path)
        return ProbeDenied(
            "this user may not open {}".format(path),
            "sudo usermod -aG {} $USER, then log in again; or a udev rule: "
            'KERNEL=="{}", MODE="0660", GROUP="{}"'.format(group, os.path.basename(path), group),
        )
    if number in BUSY:
        return ProbeMissing(
            "another program uses {}".format(path), "end it: `fuser -v {}` names it".format(path)
        )
    if number in UNREACHABLE:
        return ProbeMissing(
            "nothing answers behind {}: {}".format(path, words),
            "switch the meter on, and end whatever else is connected to it by Bluetooth",
        )
    return ProbeMissing(
        "{} is no serial port: {}".format(path, words), "name the meter's port, such as /dev/rfcomm0"
    )


def _group(path: str) -> str:
    """The group that owns the port, which is dialout or uucp."""
    try:
        name = grp.getgrgid(os.stat(path).st_gid).gr_name
    except (OSError, KeyError):
        return "dialout"
    return name if name != "root" else "dialout"
