"""What `doctor` says of the Edge TPU: runtime, libedgetpu, bus, permissions, compiler."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from edgebench.agent.facts import board_facts
from edgebench.errors import SessionError
from edgebench.link.board_facts import BoardFacts
from edgebench.link.board_findings import accelerator_finding, board_findings
from edgebench.prepare.edgetpu import compiler_finding
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
    """What is to be said of a runtime that Google's libedgetpu most likely does not fit; nothing of others.

    A tflite-runtime that does not tell its version is one of the others.
    """
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if name == "tflite-runtime" and (len(numbers) < 2 or numbers <= NEWEST_THAT_FITS):
        return ""
    return f"{name} {version}, and {PAIRS}"


def explain(error: SessionError) -> SessionError | None:
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
        why=f"{error.signal} in {last['delegate']} under {last['runtime']}, Python {last['python']}: most "
        f"likely it was built against another TFLite; {PAIRS}",
        fix=HOW,
    )


ASK_S = 60.0
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
# Google's pycoral is known by its module: another program of that name is on the package index.
_ASK = """
import importlib.util, json, os
spec = importlib.util.find_spec("pycoral")
places = list(spec.submodule_search_locations or ()) if spec else []
google = any(os.path.isfile(os.path.join(place, "utils", "edgetpu.py")) for place in places)
try:
    import tflite_runtime as found
    name = "tflite-runtime"
except ImportError:
    import ai_edge_litert as found
    name = "ai-edge-litert"
print(json.dumps([name, str(getattr(found, "__version__", "unknown")), google, bool(spec)]))
"""


def findings(target: Target) -> list[Finding]:
    """Of this machine, with the target's Python."""
    facts = board_facts()
    findings_here = [_runtime(target.launch.python or sys.executable, target)]
    findings_here += [
        accelerator_finding(accelerator)
        for accelerator in BoardFacts.of(facts).usb_accelerators or ()
        if accelerator.id in USB_IDS
    ]
    return findings_here + board_check(facts, target) + [_converter()] + board_findings(facts)


def board_check(facts: Mapping[str, Json], target: Target) -> list[Finding]:
    """The Edge TPU and libedgetpu by a board's facts, and the compiler on this machine."""
    # On the processor all of this may be missing, and the figures say so.
    grave: Literal["warning", "error"] = "warning" if target.options.get("allow_cpu") else "error"
    known = BoardFacts.of(facts)
    return [_library(known, target, grave), *_edgetpu(known, grave), compiler_finding(target.options)]


def runtime_check(facts: Mapping[str, Json], target: Target) -> list[Finding]:
    """A warning where the runtime among a board's packages is none that Google's libedgetpu fits."""
    packages = BoardFacts.of(facts).packages or {}
    runtime = next((name for name in RUNTIMES if name in packages), None)
    text = "" if runtime is None else _misfit(runtime, packages[runtime], target)
    return [Finding("warning", "runtime", text, HOW)] if text else []


def _misfit(name: str, version: str, target: Target) -> str:
    # A library that the user names may have been built for that runtime; the processor needs none.
    google = (target.options.get("delegate") or DELEGATE) == DELEGATE
    return misfit(name, version) if google and not target.options.get("allow_cpu") else ""


def _runtime(python: str, target: Target) -> Finding:
    """Asked in a process of its own: it never lives in the harness's."""
    try:
        asked = subprocess.run(
            [python, "-c", _ASK], capture_output=True, text=True, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("error", "runtime", f"{python} cannot be run: {error}", "name another Python")
    try:
        name, version, google, other = json.loads(asked.stdout.strip().splitlines()[-1])
    except (IndexError, TypeError, ValueError):
        last = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        message = f"neither tflite_runtime nor ai_edge_litert is found by {python}: {last}"
        return Finding("error", "runtime", message, f"{ENVIRONMENT[0]}, then {ENVIRONMENT[1]}")
    if other and not google:
        message = f"{name} {version}; the pycoral that is there is another program, and is passed by"
        return Finding("warning", "runtime", message, f"{python} -m pip uninstall pycoral")
    if text := _misfit(name, version, target):
        return Finding("warning", "runtime", text, HOW)
    text = f"pycoral, with {name} {version}" if google else f"{name} {version}"
    return Finding("ok", "runtime", f"{text} (whether it fits libedgetpu: {PAIRS})")


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


def _edgetpu(known: BoardFacts, grave: Literal["warning", "error"]) -> list[Finding]:
    sticks = [accelerator for accelerator in known.usb_accelerators or () if accelerator.id in USB_IDS]
    cards = list(known.pcie_accelerators or ())
    if not sticks and not cards:
        message = "none is seen, neither on USB (1a6e:089a, 18d1:9302) nor on PCIe (/sys/class/apex)"
        fix = "plug the stick in where this runs, or load the drivers of the card: gasket and apex"
        return [Finding(grave, "edge tpu", message, fix)]
    findings_seen = []
    for stick in sticks:
        state = (
            "before its firmware, which the first session loads"
            if stick.id == BOOT_ID
            else "with its firmware"
        )
        if stick.writable is False:
            message = f"a stick on USB ({state}) that this user may not open"
            findings_seen.append(Finding("error", "edge tpu", message, UDEV))
        else:
            findings_seen.append(Finding("ok", "edge tpu", f"a stick on USB, {state}"))
    for card in cards:
        warmth = "" if card.temperature_c is None else f", {card.temperature_c:.0f} °C"
        if card.writable is False:
            fix = "add the user to the group apex: `sudo usermod -aG apex $USER`, and log in again"
            findings_seen.append(
                Finding("error", "edge tpu", f"{card.name} on PCIe, which this user may not open", fix)
            )
        else:
            findings_seen.append(Finding("ok", "edge tpu", f"{card.name} on PCIe{warmth}"))
    return findings_seen


def _converter() -> Finding:
    if find_spec("tensorflow") is not None:
        return Finding("ok", "tensorflow", "is installed (makes the int8 models)")
    message = "is not installed: int8 models that are not cached cannot be made"
    return Finding("warning", "tensorflow", message, "pip install 'edgebench[prepare]'")
