"""What `doctor` says of the Edge TPU: runtime, libedgetpu, bus, permissions, compiler."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from edgebench.agent.facts import board_facts
from edgebench.errors import SessionError, UnavailableError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.board_findings import accelerator_finding, board_findings
from edgebench.link.inspection import ask_library
from edgebench.prepare.edgetpu import compiler_finding
from edgebench.records.board_facts import BoardFacts, UsbAccelerator
from edgebench.records.target import Target
from edgebench.records.values import Finding, Json

# Why a worker died by a signal in libedgetpu, and how a board gets a runtime that fits it.


SIGNALS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")
STAGES = ("load", "golden")  # a delegate that does not fit dies when it is loaded or at the first inference
# What the runner writes to stderr before and after.
LOADING = re.compile(
    r"^edgebench: loading the delegate (?P<delegate>.{1,300}) under (?P<runtime>.{1,120}), "
    r"Python (?P<python>[0-9][0-9A-Za-z.+]{0,20})$",
    re.MULTILINE,
)
READY = "edgebench: the delegate is ready"

NEWEST_THAT_FITS = (2, 11)
PAIRS = (
    "Google's libedgetpu 16.0 works with TFLite up to about 2.11 (tflite-runtime 2.11.0 on Python 3.7 to "
    "3.9, or Google's pycoral 2.0 with its own tflite-runtime 2.5); newer runtimes need a libedgetpu that "
    "was built against the same TFLite"
)
ENVIRONMENT = (
    "python3.9 -m venv ~/coral && ~/coral/bin/pip install 'tflite-runtime==2.11.0' 'numpy<2'",
    "--python /home/USER/coral/bin/python",
)
"""What makes the pinned environment on a board, and the option that names its Python."""

HOW = (
    f"on the board, with its Python 3.7, 3.8 or 3.9: `{ENVIRONMENT[0]}`, then add {ENVIRONMENT[1]}; or "
    "install the libedgetpu that was built for the runtime that is there"
)


def misfit(name: str, version: str) -> str:
    """The finding for a runtime that Google's libedgetpu most likely does not fit; none for others.

    A tflite-runtime that does not tell its version is one of the others.
    """
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if name == "tflite-runtime" and (len(numbers) < 2 or numbers <= NEWEST_THAT_FITS):
        return ""
    return f"{name} {version}, and {PAIRS}"


DELEGATE = "libedgetpu.so.1"
RUNTIMES = ("tflite-runtime", "ai-edge-litert")  # in the order in which the runner takes them
USB_IDS = ("1a6e:089a", "18d1:9302")
BOOT_ID = USB_IDS[0]
PACKAGE = (
    "install Google's package libedgetpu1-std (or -max) of its Coral apt repository, see the backend's README"
)
UDEV = (
    "install libedgetpu1-std, which brings the udev rule, `sudo usermod -aG plugdev $USER`, log in again and "
    "plug the stick in again"
)
_ASK = """
import json
try:
    import tflite_runtime as found
    name = "tflite-runtime"
except ImportError:
    import ai_edge_litert as found
    name = "ai-edge-litert"
version = str(getattr(found, "__version__", "unknown"))
print(json.dumps({"name": name, "version": version}))
"""


class Runtime(BaseModel):
    """What `_ASK` prints."""

    name: str
    version: str


def _misfit(name: str, version: str, target: Target) -> str:
    # A library that the user names may have been built for that runtime; the processor needs none.
    google = (target.options.get("delegate") or DELEGATE) == DELEGATE
    return misfit(name, version) if google and not target.options.get("allow_cpu") else ""


def _runtime(target: Target) -> Finding:
    """Asked in a process of its own: it never lives in the harness's."""
    python = target.launch.python or sys.executable
    fix = f"{ENVIRONMENT[0]}, then {ENVIRONMENT[1]}"
    try:
        runtime = ask_library("a TFLite runtime", _ASK, Runtime, python, target.launch.env, fix)
    except UnavailableError as error:
        message = f"{error.what}, by tflite_runtime or ai_edge_litert: {error.why}"
        return Finding("error", "runtime", message, error.fix)
    if warning := _misfit(runtime.name, runtime.version, target):
        return Finding("warning", "runtime", warning, HOW)
    message = f"{runtime.name} {runtime.version} (whether it fits libedgetpu: {PAIRS})"
    return Finding("ok", "runtime", message)


def _library(known: BoardFacts, target: Target, grave: Literal["warning", "error"]) -> Finding:
    wanted = str(target.options.get("delegate") or DELEGATE)
    if "/" in wanted:
        if target.host is not None or Path(wanted).is_file():
            there = "is looked for there when a session starts" if target.host is not None else "is there"
            return Finding("ok", "libedgetpu", f"{wanted} {there}")
        return Finding(grave, "libedgetpu", f"there is no file {wanted}", "name another --set delegate=PATH")
    library_path = (known.libraries or {}).get(wanted)
    if library_path:
        return Finding("ok", "libedgetpu", library_path)
    if wanted != DELEGATE:
        message = f"whether the loader finds {wanted} shows when a session starts"
        return Finding("warning", "libedgetpu", message, "name it by its path: --set delegate=PATH")
    message = f"the loader finds no {wanted}"
    return Finding(grave, "libedgetpu", message, f"{PACKAGE}; or name one: --set delegate=PATH")


def _sticks(known: BoardFacts) -> list[UsbAccelerator]:
    return [accelerator for accelerator in known.usb_accelerators or () if accelerator.id in USB_IDS]


def _edgetpu(known: BoardFacts, grave: Literal["warning", "error"]) -> list[Finding]:
    findings_seen = []
    for stick in _sticks(known):
        state = "with its firmware"
        if stick.id == BOOT_ID:
            state = "before its firmware, which the first session loads"
        findings_seen.append(_usable(f"a stick on USB, {state}", stick.writable, UDEV))
    for card in known.pcie_accelerators or ():
        warmth = "" if card.temperature_c is None else f", {card.temperature_c:.0f} °C"
        fix = "add the user to the group apex: `sudo usermod -aG apex $USER`, and log in again"
        findings_seen.append(_usable(f"{card.name} on PCIe{warmth}", card.writable, fix))
    if findings_seen:
        return findings_seen
    message = "none is seen, neither on USB (1a6e:089a, 18d1:9302) nor on PCIe (/sys/class/apex)"
    fix = "plug the stick in where this runs, or load the drivers of the card: gasket and apex"
    return [Finding(grave, "edge tpu", message, fix)]


def _usable(device: str, writable: bool | None, fix: str) -> Finding:
    if writable is False:
        return Finding("error", "edge tpu", f"{device}, which this user may not open", fix)
    return Finding("ok", "edge tpu", device)


def edgetpu_findings(facts: Mapping[str, Json], target: Target) -> list[Finding]:
    """The Edge TPU and libedgetpu by a board's facts, and the compiler on this machine."""
    # On the processor all of this may be missing, and the figures say so.
    grave: Literal["warning", "error"] = "warning" if target.options.get("allow_cpu") else "error"
    known = BoardFacts.of(facts)
    return [_library(known, target, grave), *_edgetpu(known, grave), compiler_finding(target.options)]


class CoralChecks(AgentBackend):
    """What a board, this machine and a failed session say of an Edge TPU."""

    def check(self, target: Target) -> list[Finding]:
        """Findings on this machine, with the target's Python."""
        facts = board_facts()
        tensorflow = Finding("ok", "tensorflow", "is installed (makes the int8 models)")
        if find_spec("tensorflow") is None:
            message = "is not installed: int8 models that are not cached cannot be made"
            tensorflow = Finding("warning", "tensorflow", message, "pip install 'edgebench[prepare]'")
        return [
            _runtime(target),
            *map(accelerator_finding, _sticks(BoardFacts.of(facts))),
            *edgetpu_findings(facts, target),
            tensorflow,
            *board_findings(facts),
        ]

    def board_check(self, facts: Mapping[str, Json], target: Target) -> list[Finding]:
        """A runtime that libedgetpu does not fit; the Edge TPU and libedgetpu there, the compiler here."""
        packages = BoardFacts.of(facts).packages or {}
        runtime = next((name for name in RUNTIMES if name in packages), None)
        text = "" if runtime is None else _misfit(runtime, packages[runtime], target)
        misfits = [Finding("warning", "runtime", text, HOW)] if text else []
        return misfits + edgetpu_findings(facts, target)

    def explain(self, error: SessionError) -> SessionError | None:
        """The crash as what it most likely is; None for any other failure."""
        begun = list(LOADING.finditer(error.stderr_tail))
        if error.signal not in SIGNALS or error.stage not in STAGES or not begun:
            return None
        last = begun[-1]
        ready = READY in error.stderr_tail[last.end() :]
        if error.stage == "load" and ready:
            return None
        doing = "at its first inference" if ready else "while it was loaded"
        return SessionError(
            f"the Edge TPU's delegate crashed {doing}",
            status=error.status,
            stage=error.stage,
            signal=error.signal,
            stderr_tail=error.stderr_tail,
            why=f"{error.signal} in {last['delegate']} under {last['runtime']}, Python {last['python']}: "
            f"most likely it was built against another TFLite; {PAIRS}",
            fix=HOW,
        )
