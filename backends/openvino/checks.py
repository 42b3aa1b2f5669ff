"""What `doctor` says of OpenVINO, its plugins and devices, and of a Neural Compute Stick 2."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from edgebench.agent.facts import UNTOLD, board_facts, openvino_files
from edgebench.errors import SessionError, UnavailableError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.board_findings import accelerator_finding, board_findings, package_finding
from edgebench.link.failures import Cause, explain_by_causes
from edgebench.link.inspection import ask_library
from edgebench.prepare.onnx import packages_finding
from edgebench.records.board_facts import BoardFacts, UsbAccelerator
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

PIP = "pip install openvino, for the Python that runs there"

LIBRARIES = {
    "libusb-1.0.so.0": "sudo apt install libusb-1.0-0",
    "libOpenCL.so.1": "install the GPU's OpenCL driver: sudo apt install intel-opencl-icd",
}
"""What installs a library that a plugin needs and no wheel brings, by its name."""

_USB = re.compile(rf"{USB_STATE} (?P<state>[^\n]{{1,300}})")
_LISTED = re.compile(r"devices found: [^)\n]{1,200}")
_RELEASE = r"OpenVINO (?P<release>[0-9.]{1,20})[^\s;]{0,100}"
_PLUGINS = r"it has (?P<plugins>[A-Z, ]{0,99}[A-Z])"

# The words of the runner and of the library; the first that fits counts.
_CAUSES = (
    Cause(
        rf"{_RELEASE} has no plugin for MYRIAD[^\s;]{{0,54}}; {_PLUGINS}",
        f"OpenVINO {{release}} has no plugin for the {STICK} (MYRIAD)",
        "it has {plugins}",
        WAYS,
    ),
    *(
        Cause(
            re.escape(library),
            "OpenVINO's plugin cannot be loaded: {words} is missing",
            "the loader does not find it there{in_brackets}",
            fix,
        )
        for library, fix in LIBRARIES.items()
    ),
    Cause(
        # 2021.4 says the first, 2022 the second; the third is of a stick that was named (MYRIAD.1.2-ma2480).
        r"Can not init Myriad device: [A-Z_]+|MYRIAD device is not opened|Myriad device: \S+ not found",
        f"the {STICK} cannot be opened",
        "{words}; on USB: {state}",
        "{of_stick}",
    ),
    Cause(
        r"plugins\.xml",
        "the OpenVINO that is installed there is incomplete: its plugins.xml cannot be read",
        "{end}",
        f"install it again: {PIP}",
        {"ncs2": f"install it again: {WAYS}"},
    ),
    Cause(
        r"no OpenVINO here \((?P<reason>[^\n]{1,300})\)",
        "the Python that runs there has no OpenVINO",
        "{reason}",
        PIP,
        {"ncs2": WAYS},
    ),
)


def _stick_fix(state: str) -> str:
    """The causes that are left, the likeliest first by what USB shows."""
    udev = "install the udev rule (backends/openvino/README.md has it)"
    hub = "use the board's own port or a powered hub: a USB 2 hub gives it too little power"
    if "may not write" in state:
        return f"{udev}; else {hub}"
    if state.startswith((BOOT_ID, READY_ID)):
        return f"end what else holds it; else {hub}; else {udev}"
    return f"plug it in where the session runs; if it is, {hub}; else {udev}"


LIBRARY = Path(__file__).parent / "device" / "library.py"
LIBUSB = "libusb-1.0.so.0"
APIS = {
    2023: "openvino.Core",
    2022: "openvino.runtime.Core",
    0: "openvino.inference_engine.IECore, the API until 2021.4",
}
"""By the year of the first release that has it."""
_STICK_IDS = (BOOT_ID, READY_ID)


class OpenVinoLibrary(BaseModel):
    """What device/library.py prints."""

    version: str | None
    why_none: str
    folder: str = ""
    devices: list[str] = []
    plugins: dict[str, str] = {}
    broken_plugins: dict[str, str] = {}


def _device(target: Target) -> str:
    return str(target.options.get("device") or (PLUGIN if target.device == "ncs2" else "CPU"))


def _of_library(library: OpenVinoLibrary, python: str, device: str) -> list[Finding]:
    if library.version is None:
        message = f"not found by {python}: {library.why_none}"
        return [Finding("error", "openvino", message, _install(device, f"{python} -m pip install openvino"))]
    listed = ", ".join(library.plugins) or "none"
    if library.broken_plugins:
        listed += f"; cannot be loaded: {', '.join(library.broken_plugins)}"
    listed += f"; devices found: {', '.join(library.devices) or 'none'}"
    return [_version(library.version), Finding("ok", "plugins", listed), _usable(library, device)]


def _version(version: str) -> Finding:
    year = re.match(r"([0-9]{4})(\.|$)", version)
    if year is None:
        message = f"{version}: its API is found when a session starts"
        return Finding("warning", "openvino", message, "start a session: its record names it")
    api = next(api for first, api in APIS.items() if int(year[1]) >= first)
    return Finding("ok", "openvino", f"{'-'.join(version.split('-')[:2])}, by {api}")


def _usable(library: OpenVinoLibrary, device: str) -> Finding:
    name = device.partition(".")[0].partition(":")[0]
    if why := library.broken_plugins.get(name):
        lacking = next((file for file in LIBRARIES if file in why), None)
        message = f"{name}: its plugin cannot be loaded: {f'{lacking} is missing' if lacking else why}"
        return Finding("error", "device", message, LIBRARIES.get(lacking or "", "repair what it names"))
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
    """Version and plugins by the files where the board's Python looks."""
    plugins = known.openvino.plugins if known.openvino is not None else []
    version = (known.packages or {}).get("openvino") or (UNTOLD if plugins else None)
    if version is None:
        missing = package_finding(known, ("openvino",))
        return [Finding("error", "openvino", missing.message, _install(device, missing.fix))]
    name = device.partition(".")[0].partition(":")[0]
    if not plugins:
        message = f"whether it has {name} is not known: no plugins are next to the package"
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
    findings = [_permission(stick) for stick in _sticks(known)]
    if not findings:
        message = f"none is seen on USB, neither {BOOT_ID} nor {READY_ID}"
        if known.usb_accelerators is None:
            message = "USB cannot be read, as in many containers: whether a stick is there is not known"
        fix = "plug the stick in where this runs; a virtual machine needs both its ids passed through"
        findings.append(Finding("error", "stick", message, fix))
    # The firmware's file is next to the plugin that sends it; where there is no such plugin, that is missing.
    if known.openvino is not None and PLUGIN in known.openvino.plugins:
        if files := ", ".join(known.openvino.firmware):
            findings.append(Finding("ok", "firmware", f"{files} next to OpenVINO's plugins"))
        else:
            message = "no usb-ma2x8x.mvcmd next to OpenVINO's plugins: the stick cannot be started"
            findings.append(Finding("error", "firmware", message, WAYS))
    return findings


def _permission(stick: UsbAccelerator) -> Finding:
    state = "with its firmware" if stick.id == READY_ID else "before its firmware, which each session loads"
    text = f"{stick.id} on USB ({state})"
    if stick.writable is None:
        text += "; whether this user may open it shows when a session starts"
        return Finding("warning", "stick", text, UDEV)
    if stick.writable:
        return Finding("ok", "stick", f"{text}, and this user may open it")
    return Finding("error", "stick", f"{text}, which this user may not open", UDEV)


def _libusb(known: BoardFacts) -> Finding:
    """Finding for a board, where no plugin was loaded: what the MYRIAD plugin needs and no wheel brings."""
    if path := (known.libraries or {}).get(LIBUSB):
        return Finding("ok", "libusb", path)
    message = f"the loader finds no {LIBUSB}: the MYRIAD plugin cannot be loaded"
    return Finding("warning", "libusb", message, LIBRARIES[LIBUSB])


class LibraryChecks(AgentBackend):
    """What a board, this machine and a failed session say of OpenVINO."""

    def check(self, target: Target) -> list[Finding]:
        """Findings on this machine, with the target's Python and its environment."""
        python = target.launch.python or sys.executable
        facts: dict[str, Json] = board_facts()
        try:
            library = ask_library("OpenVINO", LIBRARY, OpenVinoLibrary, python, target.launch.env)
        except UnavailableError as error:
            here = [Finding("error", "openvino", f"{error.what}: {error.why}", error.fix)]
        else:
            facts["openvino"] = dict(openvino_files([library.folder] if library.folder else []))
            here = _of_library(library, python, _device(target))
        known = BoardFacts.of(facts)
        here += [accelerator_finding(stick) for stick in _sticks(known)]
        return [*here, *_of_stick(known, _device(target)), packages_finding(), *board_findings(facts)]

    def runtime_finding(self, facts: Mapping[str, Json], target: Target) -> Finding:
        """Finding about OpenVINO, by its package or its plugins."""
        return _of_packages(BoardFacts.of(facts), _device(target))[0]

    def board_check(self, facts: Mapping[str, Json], target: Target) -> list[Finding]:
        """Findings on a board, by its files and what it shows on USB: nothing of OpenVINO is run there."""
        known, device = BoardFacts.of(facts), _device(target)
        libusb = [_libusb(known)] if device.startswith(PLUGIN) else []
        return [*_of_packages(known, device), *_of_stick(known, device), *libusb]

    def explain(self, error: SessionError) -> SessionError | None:
        """A device or a library that is missing; None for any other failure."""
        if error.stage not in STAGES:
            return None
        usb, listed = _USB.search(error.why), _LISTED.search(error.why)
        state = usb["state"] if usb else "not known, see `lsusb -d 03e7:`"
        return explain_by_causes(
            error,
            _CAUSES,
            (error.why,),
            self.name,
            state=state,
            of_stick=_stick_fix(state),
            in_brackets=f" ({listed.group()})" if listed else "",
            end=error.why[-200:].strip(),
        )
