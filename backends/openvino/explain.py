"""Why OpenVINO cannot open a device, in words that know the Neural Compute Stick 2."""

from __future__ import annotations

import re

from edgebench.errors import SessionError

from .device.stick import BOOT_ID, READY_ID, USB_STATE

STAGES = ("load", "golden")

# 2021.4 says the first, 2022 the second; the third is of a stick that was named (MYRIAD.1.2-ma2480).
_NO_STICK = re.compile(
    r"Can not init Myriad device: [A-Z_]+|MYRIAD device is not opened|Myriad device: \S+ not found"
)
_NO_PLUGIN = re.compile(r'Device with "MYRIAD[^"]*" name is not registered|MYRIAD\S* is not in this')
_NO_LIBRARY = re.compile(r"(?P<library>lib[A-Za-z0-9_.+-]{1,80}): cannot open shared object file")
_USB = re.compile(rf"{USB_STATE} (?P<state>[^\n]{{1,300}})")

UDEV = (
    'echo \'SUBSYSTEM=="usb", ATTRS{idVendor}=="03e7", MODE="0666"\' | '
    "sudo tee /etc/udev/rules.d/97-myriad-usbboot.rules, sudo udevadm control --reload-rules, and plug the "
    "stick in again"
)
"""What lets every user open the stick, before its firmware and with it."""

WAYS = (
    "the wheel openvino==2021.4.2 (Python 3.6 to 3.9 on x86-64), with the MYRIAD plug-in and the stick's "
    "firmware; the archive of OpenVINO 2022.3 LTS, the last with MYRIAD; on a Raspberry Pi the archive of "
    "2022.3 for ARM, or a build from source"
)
"""The three ways to a working stick; the backend's README says each step."""

LIBRARIES = {
    "libusb-1.0.so.0": "sudo apt install libusb-1.0-0",
    "libOpenCL.so.1": "install the GPU's OpenCL driver: sudo apt install intel-opencl-icd",
}
"""What installs a library that a plug-in needs and no wheel brings, by its name."""


def explain(error: SessionError) -> SessionError | None:
    """No stick, no plug-in, or a library that the plug-in lacks; None for any other failure."""
    if error.stage not in STAGES:
        return None
    if no_stick := _NO_STICK.search(error.why):
        usb = _USB.search(error.why)
        state = usb["state"] if usb else "is not known here: see `lsusb -d 03e7:`"
        return _as(
            error,
            "the Neural Compute Stick 2 cannot be opened",
            f"{no_stick.group()}; on USB: {state}",
            _fix(state),
        )
    if _NO_PLUGIN.search(error.why):
        return _as(
            error,
            "this OpenVINO has no plug-in for the Neural Compute Stick 2",
            "MYRIAD is not in this build: wheels from 2022.1 on are without it, and so is everything from "
            "2023 on",
            f"install one of: {WAYS}",
        )
    no_library = _NO_LIBRARY.search(error.why)
    if no_library and no_library["library"] in LIBRARIES:
        library = no_library["library"]
        return _as(
            error, f"OpenVINO's plug-in cannot be loaded: {library} is missing", error.why, LIBRARIES[library]
        )
    return None


def _fix(state: str) -> str:
    """What to do, the likeliest first by what USB shows."""
    plug = "plug the stick in where the session runs (a virtual machine needs both its ids passed through)"
    hub = "plug it into the board itself or a powered hub: a USB 2 hub gives it too little power to start"
    udev = f"install the udev rule: {UDEV}"
    if "not write" in state:
        return f"{udev}; else {hub}"
    if state.startswith((BOOT_ID, READY_ID)):
        return f"end what else holds the stick; else {hub}; else {udev}"
    return f"{plug}; if it is: {hub}; {udev}"


def _as(error: SessionError, what: str, why: str, fix: str) -> SessionError:
    return SessionError(
        what,
        status=error.status,
        stage=error.stage,
        signal=error.signal,
        stderr_tail=error.stderr_tail,
        why=why,
        fix=fix,
    )
