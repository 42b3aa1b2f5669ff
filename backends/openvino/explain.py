"""Why OpenVINO cannot open a device, in words that know the Neural Compute Stick 2."""

from __future__ import annotations

import re

from edgebench.errors import SessionError
from edgebench.link.known_causes import Cause, Explained, explain_by_causes

from .device.stick import BOOT_ID, READY_ID, USB_STATE

STAGES = ("load", "golden")
STICK = "Neural Compute Stick 2"

UDEV = (
    'echo \'SUBSYSTEM=="usb", ATTRS{idVendor}=="03e7", MODE="0666"\' | '
    "sudo tee /etc/udev/rules.d/97-myriad-usbboot.rules, sudo udevadm control --reload-rules, and plug the "
    "stick in again"
)
"""What lets every user open the stick, before its firmware and with it."""

WAYS = (
    "pip install openvino==2021.4.2 (x86-64, Python 3.6 to 3.9), the archive of 2022.3 LTS, or on a "
    "Raspberry Pi that archive for ARM: backends/openvino/README.md has the steps"
)
"""The three ways to a working stick."""

LIBRARIES = {
    "libusb-1.0.so.0": "sudo apt install libusb-1.0-0",
    "libOpenCL.so.1": "install the GPU's OpenCL driver: sudo apt install intel-opencl-icd",
}
"""What installs a library that a plugin needs and no wheel brings, by its name."""

# 2021.4 says the first, 2022 the second; the third is of a stick that was named (MYRIAD.1.2-ma2480).
_NO_STICK = re.compile(
    r"Can not init Myriad device: [A-Z_]+|MYRIAD device is not opened|Myriad device: \S+ not found"
)
_LISTED = re.compile(r"devices found: [^)\n]{1,200}")
_USB = re.compile(rf"{USB_STATE} (?P<state>[^\n]{{1,300}})")


def explain(error: SessionError, device: str) -> SessionError | None:
    """A device or a library that is missing; None for any other failure.

    Args:
        error: of a session.
        device: a name of `edgebench devices`: which OpenVINO to install depends on it.
    """
    if error.stage not in STAGES:
        return None
    return explain_by_causes(error, _CAUSES, (error.why,), device)


def how_to_install(device: str) -> str:
    """What brings an OpenVINO for a device of `edgebench devices`."""
    return WAYS if device == "ncs2" else "pip install openvino, for the Python that runs there"


def _no_stick(match: re.Match[str], device: str) -> Explained:
    usb = _USB.search(match.string)
    state = usb["state"] if usb else "not known, see `lsusb -d 03e7:`"
    what = f"the {STICK} cannot be opened"
    return Explained(what, f"{match.group()}; on USB: {state}", _stick_fix(state))


def _stick_fix(state: str) -> str:
    """The causes that are left, the likeliest first by what USB shows."""
    udev = "install the udev rule (backends/openvino/README.md has it)"
    hub = "use the board's own port or a powered hub: a USB 2 hub gives it too little power"
    if "may not write" in state:
        return f"{udev}; else {hub}"
    if state.startswith((BOOT_ID, READY_ID)):
        return f"end what else holds it; else {hub}; else {udev}"
    return f"plug it in where the session runs; if it is, {hub}; else {udev}"


def _no_plugin(match: re.Match[str], device: str) -> Explained:
    library, why = f"OpenVINO {match['release']}", f"it has {match['plugins'].strip()}"
    if match["device"].startswith("MYRIAD"):
        return Explained(f"{library} has no plugin for the {STICK} (MYRIAD)", why, WAYS)
    what = f"{library} has no plugin for {match['device']}"
    return Explained(what, why, "name one of these: --set device=NAME")


def _no_library(match: re.Match[str], device: str) -> Explained:
    listed = _LISTED.search(match.string)
    why = f"the loader does not find it there{f' ({listed.group()})' if listed else ''}"
    what = f"OpenVINO's plugin cannot be loaded: {match.group()} is missing"
    return Explained(what, why, LIBRARIES[match.group()])


def _no_device(match: re.Match[str], device: str) -> Explained:
    what = f"no {match['device']} is found here"
    fix = f"install the driver of the {match['device']}, or name one that is found: --set device=NAME"
    return Explained(what, match["listed"], fix)


def _no_folder(match: re.Match[str], device: str) -> Explained:
    fix = "name another one (--set cache=FOLDER), or none"
    return Explained(f"the cache folder {match['folder']} cannot be written to", match["reason"], fix)


def _no_plain_file(match: re.Match[str], device: str) -> Explained:
    what = f"the cache folder {match['folder']} cannot be used"
    return Explained(what, match["reason"], "remove it, or name another folder (--set cache=FOLDER)")


def _no_list_of_plugins(match: re.Match[str], device: str) -> Explained:
    what = "the OpenVINO that is installed there is incomplete: its plugins.xml cannot be read"
    return Explained(what, match.string[-200:].strip(), f"install it anew: {how_to_install(device)}")


def _no_tflite(match: re.Match[str], device: str) -> Explained:
    what = f"OpenVINO {match['release']} does not read .tflite"
    why = "releases from 2023.0 on do; those until 2022.3 read .onnx"
    return Explained(what, why, "give the .onnx or .keras that it was made from, or take --device cpu")


def _no_openvino(match: re.Match[str], device: str) -> Explained:
    return Explained("the Python that runs there has no OpenVINO", match["reason"], how_to_install(device))


# The words of the runner and of the library; the first that fits counts.
_CAUSES: tuple[Cause, ...] = (
    (
        re.compile(
            r"OpenVINO (?P<release>[0-9.]{1,20})[^\s;]{0,100} has no plugin for (?P<device>[^\s;]{1,60}); "
            r"it has (?P<plugins>[A-Z, ]{1,100})"
        ),
        _no_plugin,
    ),
    (re.compile("|".join(re.escape(name) for name in LIBRARIES)), _no_library),
    (_NO_STICK, _no_stick),
    (
        re.compile(r"no (?P<device>[^\s(]{1,60}) is found here \((?P<listed>devices found: [^)\n]{1,200})"),
        _no_device,
    ),
    (
        re.compile(
            r"the cache folder (?P<folder>[^\n]{1,300}) cannot be written to: (?P<reason>[^;\n]{1,200})"
        ),
        _no_folder,
    ),
    (
        re.compile(r"the cache folder (?P<folder>[^\n]{1,300}) cannot be used: (?P<reason>[^;\n]{1,300})"),
        _no_plain_file,
    ),
    (re.compile(r"OpenVINO (?P<release>[0-9.]{1,20})[^\s;]{0,100} does not read \.tflite"), _no_tflite),
    (re.compile(r"plugins\.xml"), _no_list_of_plugins),
    (re.compile(r"no OpenVINO here \((?P<reason>[^\n]{1,300})\)"), _no_openvino),
)
