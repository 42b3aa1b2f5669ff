"""What `doctor` says of OpenVINO, its plugins and devices, and of a Neural Compute Stick 2."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from edgebench.agent.facts import UNTOLD, board_facts, openvino_files
from edgebench.errors import SessionError, UnavailableError
from edgebench.link.board_facts import BoardFacts, UsbAccelerator
from edgebench.link.board_findings import accelerator_finding, board_findings, package_finding
from edgebench.link.failures import Cause, Explained, explain_by_causes
from edgebench.link.inspection import ask_library
from edgebench.prepare.onnx import packages_finding
from edgebench.records.target import Target
from edgebench.records.values import Finding, Json

from .device.record import BOOT_ID, PLUGIN, READY_ID, USB_STATE

# Why OpenVINO cannot open a device, in words that know the Neural Compute Stick 2.


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


LIBRARY = Path(__file__).parent / "device" / "library.py"
LIBUSB = "libusb-1.0.so.0"
FIRST_RUNTIME, FIRST_CORE = 2022, 2023  # years of releases: openvino.runtime, and openvino.Core
_STICK_IDS = (BOOT_ID, READY_ID)


class Library(BaseModel):
    """What device/library.py prints."""

    version: str | None
    why_none: str
    folder: str = ""
    devices: list[str] = []
    plugins: dict[str, str] = {}
    broken_plugins: dict[str, str] = {}


def findings(target: Target) -> list[Finding]:
    """Of this machine, with the target's Python and its environment."""
    python = target.launch.python or sys.executable
    facts: dict[str, Json] = board_facts()
    try:
        library = ask_library("OpenVINO", LIBRARY, Library, python, target.launch.env)
    except UnavailableError as error:
        here = [Finding("error", "openvino", f"{error.what}: {error.why}", error.fix)]
    else:
        facts["openvino"] = dict(openvino_files([library.folder] if library.folder else []))
        here = _of_library(library, python, _device(target))
    known = BoardFacts.of(facts)
    here += [accelerator_finding(stick) for stick in _sticks(known)]
    return [*here, *_of_stick(known, _device(target)), packages_finding(), *board_findings(facts)]


def board_check(facts: Mapping[str, Json], target: Target) -> list[Finding]:
    """Of a board, by its files and what it shows on USB: nothing of OpenVINO is run there."""
    known, device = BoardFacts.of(facts), _device(target)
    libusb = [_libusb(known)] if device.startswith(PLUGIN) else []
    return [*_of_packages(known, device), *_of_stick(known, device), *libusb]


def _device(target: Target) -> str:
    return str(target.options.get("device") or (PLUGIN if target.device == "ncs2" else "CPU"))


def _of_library(library: Library, python: str, device: str) -> list[Finding]:
    if library.version is None:
        message = f"not found by {python}: {library.why_none}"
        return [Finding("error", "openvino", message, _install(device, f"{python} -m pip install openvino"))]
    listed = ", ".join(library.plugins) or "none"
    if library.broken_plugins:
        listed += f"; cannot be loaded: {', '.join(library.broken_plugins)}"
    listed += f"; devices found: {', '.join(library.devices) or 'none'}"
    return [_version(library.version), Finding("ok", "plugins", listed), _usable(library, device)]


def _version(version: str) -> Finding:
    release = "-".join(version.split("-")[:2])
    first = version.partition(".")[0]
    year = int(first) if first.isdecimal() and len(first) == len("2021") else 0
    if year == 0:
        message = f"{version}: its API is found when a session starts"
        return Finding("warning", "openvino", message, "start a session: its record names it")
    api = "openvino.Core" if year >= FIRST_CORE else "openvino.runtime.Core"
    if year < FIRST_RUNTIME:
        api = "openvino.inference_engine.IECore, the API until 2021.4"
    return Finding("ok", "openvino", f"{release}, by {api}")


def _usable(library: Library, device: str) -> Finding:
    name = device.partition(".")[0].partition(":")[0]
    if why := library.broken_plugins.get(name):
        lacking = next((file for file in LIBRARIES if file in why), None)
        message = f"{name}: its plugin cannot be loaded: {f'{lacking} is missing' if lacking else why}"
        return Finding("error", "device", message, LIBRARIES.get(lacking or "", "mend what it names"))
    if name not in library.plugins:
        return _without_plugin(name, sorted(library.plugins))
    if any(there == device or there.startswith(f"{name}.") for there in library.devices) or name == "AUTO":
        return Finding("ok", "device", name)
    fix = "plug the stick in" if name == PLUGIN else f"install the driver of {name}, or name another device"
    message = f"{name}: its plugin finds no such device (found: {', '.join(library.devices) or 'none'})"
    return Finding("error", "device", message, fix)


def _without_plugin(device: str, plugins: list[str]) -> Finding:
    message = f"{device} is not in this build, which has {', '.join(plugins) or 'no plugin'}"
    return Finding("error", "device", message, _install(device, "name one of these: --set device=NAME"))


def _install(device: str, otherwise: str) -> str:
    return WAYS if device.startswith(PLUGIN) else otherwise


def _of_packages(known: BoardFacts, device: str) -> list[Finding]:
    """Version and plugins by what lies where the board's Python looks."""
    plugins = known.openvino.plugins if known.openvino is not None else []
    version = (known.packages or {}).get("openvino") or (UNTOLD if plugins else None)
    if version is None:
        missing = package_finding(known, ("openvino",))
        return [Finding("error", "openvino", missing.message, _install(device, missing.fix))]
    name = device.partition(".")[0].partition(":")[0]
    if not plugins:
        message = f"whether it has {name} is not known: no plugins lie beside the package"
        fix = "start a session: its record names the device"
        return [_version(version), Finding("warning", "device", message, fix)]
    if name not in plugins:
        return [_version(version), _without_plugin(name, plugins)]
    listed = f"{', '.join(plugins)}; which of these devices are there shows when a session starts"
    return [_version(version), Finding("ok", "plugins", listed)]


def _sticks(known: BoardFacts) -> list[UsbAccelerator]:
    return [stick for stick in known.usb_accelerators or () if stick.id in _STICK_IDS]


def _of_stick(known: BoardFacts, device: str) -> list[Finding]:
    """The stick with its permission, and its firmware file; nothing where it is not asked for."""
    if not device.startswith(PLUGIN):
        return []
    return [*_on_usb(known), *_firmware(known)]


def _on_usb(known: BoardFacts) -> list[Finding]:
    sticks = _sticks(known)
    if not sticks:
        message = f"none is seen on USB, neither {BOOT_ID} nor {READY_ID}"
        if known.usb_accelerators is None:
            message = "USB cannot be read, as in many containers: whether a stick is there is not known"
        fix = "plug the stick in where this runs; a virtual machine needs both its ids passed through"
        return [Finding("error", "stick", message, fix)]
    return [_permission(stick) for stick in sticks]


def _permission(stick: UsbAccelerator) -> Finding:
    state = "with its firmware" if stick.id == READY_ID else "before its firmware, which each session loads"
    text = f"{stick.id} on USB ({state})"
    if stick.writable is False:
        return Finding("error", "stick", f"{text}, which this user may not open", UDEV)
    if stick.writable is None:
        message = f"{text}; whether this user may open it shows when a session starts"
        return Finding("warning", "stick", message, UDEV)
    return Finding("ok", "stick", f"{text}, and this user may open it")


def _firmware(known: BoardFacts) -> list[Finding]:
    """It lies beside the plugin that sends it; where there is no such plugin, that is what is lacking."""
    if known.openvino is None or PLUGIN not in known.openvino.plugins:
        return []
    if known.openvino.firmware:
        files = ", ".join(known.openvino.firmware)
        return [Finding("ok", "firmware", f"{files} beside OpenVINO's plugins")]
    message = "no usb-ma2x8x.mvcmd beside OpenVINO's plugins: the stick cannot be started"
    return [Finding("error", "firmware", message, WAYS)]


def _libusb(known: BoardFacts) -> Finding:
    """Of a board, whose plugins nobody has loaded: what the MYRIAD plugin needs and no wheel brings."""
    if path := (known.libraries or {}).get(LIBUSB):
        return Finding("ok", "libusb", path)
    message = f"the loader finds no {LIBUSB}: the MYRIAD plugin cannot be loaded"
    return Finding("warning", "libusb", message, LIBRARIES[LIBUSB])
