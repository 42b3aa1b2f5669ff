"""What `doctor` says of OpenVINO, its plugins and devices, and of a Neural Compute Stick 2."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from edgebench.agent.facts import board_facts
from edgebench.agent.openvino_files import openvino_files
from edgebench.agent.packages import UNTOLD
from edgebench.errors import UnavailableError
from edgebench.link.board_facts import BoardFacts, UsbAccelerator
from edgebench.link.board_findings import accelerator_finding, board_findings
from edgebench.link.board_packages import package_finding
from edgebench.link.library_program import ask_library
from edgebench.models.prepare.onnx_packages import packages_finding
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json

from .device.stick import BOOT_ID, PLUGIN, READY_ID
from .explain import LIBRARIES, UDEV, WAYS

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
        return _no_plugin(name, sorted(library.plugins))
    if any(there == device or there.startswith(f"{name}.") for there in library.devices) or name == "AUTO":
        return Finding("ok", "device", name)
    fix = "plug the stick in" if name == PLUGIN else f"install the driver of {name}, or name another device"
    message = f"{name}: its plugin finds no such device (found: {', '.join(library.devices) or 'none'})"
    return Finding("error", "device", message, fix)


def _no_plugin(device: str, plugins: list[str]) -> Finding:
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
        return [_version(version), _no_plugin(name, plugins)]
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
