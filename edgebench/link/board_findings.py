"""What a board's facts mean for a measurement, and what is missing there, each problem with its fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.agent.hardware import ACCELERATORS
from edgebench.errors import EdgeBenchError
from edgebench.link.board_facts import BoardFacts, UsbAccelerator
from edgebench.link.board_failures import NO_ROOM_FOR_FILES
from edgebench.link.board_packages import package_finding
from edgebench.link.power_mode import (
    SUDOERS,
    UNASKED,
    mode_in_force,
    mode_text,
    require_power_mode,
    wanted_mode,
)
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json

MOST_LOAD_A_CORE = 0.25
LEAST_MEMORY_BYTES = 1 << 30
COARSEST_CLOCK_NS = 1000.0
HOT_C = 80.0
LEAST_DISK_BYTES = 256 << 20
SCENE_BYTES = 4512 * 4512 * 3  # of the shipped scene, with which a run without --scene begins
USB3_MBPS = 5000.0
OLDEST_PYTHON = (3, 6)

POWER_MODE = "power mode"
OF_THE_MACHINE = frozenset({"governor", "load", "memory", "clock", "temperature"})
"""Subjects of `board_findings`, which are the same for all targets on a machine."""


def board_findings(facts: Mapping[str, Json]) -> list[Finding]:
    """What the board's facts (edgebench.agent.facts) mean for a measurement."""
    known = BoardFacts.of(facts)
    return [
        _governor(known.governor),
        _load(known.load_average, known.cores),
        _memory(known.memory_available_bytes),
        _clock(known.timer_resolution_ns),
        _temperature(known.temperatures_c),
    ]


def _governor(governor: str | None) -> Finding:
    if governor is None:
        return Finding(
            "warning",
            "governor",
            "cannot be read, as in most virtual machines: clocks may change unseen",
            "measure on the machine itself where that matters",
        )
    if governor == "performance":
        return Finding("ok", "governor", governor)
    fix = "sudo cpupower frequency-set -g performance"
    return Finding("warning", "governor", f"{governor}: clocks change with the load", fix)


def _load(load: list[float] | None, cores: int | None) -> Finding:
    if not load or not cores:
        return Finding("warning", "load", "cannot be read", "see that nothing else runs")
    text = f"{load[0]:.2f} over the last minute on {cores} {'core' if cores == 1 else 'cores'}"
    if load[0] > MOST_LOAD_A_CORE * cores:
        return Finding("warning", "load", text, "end other programs, or wait a minute")
    return Finding("ok", "load", text)


def _memory(available: int | None) -> Finding:
    if available is None:
        return Finding("warning", "memory", "cannot be read", "see that at least 1 GiB is free")
    text = f"{available / (1 << 20):.0f} MiB available"
    if available < LEAST_MEMORY_BYTES:
        return Finding(
            "warning", "memory", text, "end other programs: the scene and the runtime take 0.3 GiB"
        )
    return Finding("ok", "memory", text)


def _clock(resolution_ns: float | None) -> Finding:
    if resolution_ns is None:
        return Finding("warning", "clock", "resolution unknown", "use Linux with high-resolution timers")
    text = f"resolution {resolution_ns:g} ns"
    if resolution_ns > COARSEST_CLOCK_NS:
        return Finding("warning", "clock", text, "boot a kernel with high-resolution timers")
    return Finding("ok", "clock", text)


def _temperature(temperatures: Mapping[str, float] | None) -> Finding:
    if not temperatures:
        fix = "watch for a drift of the passes instead: the report shows it"
        return Finding("warning", "temperature", "no sensor can be read", fix)
    name, hottest = max(temperatures.items(), key=lambda item: item[1])
    text = f"{hottest:.0f} °C at {name}"
    if hottest > HOT_C:
        return Finding("warning", "temperature", text, "let it cool down, or improve the cooling")
    return Finding("ok", "temperature", text)


def missing_findings(
    facts: Mapping[str, Json], runtimes: Sequence[str], target: Target, power_mode_obstacle: str = ""
) -> list[Finding]:
    """Whether the board has what a measurement needs.

    Args:
        facts: of edgebench.agent.facts, as they came from the board.
        runtimes: the distributions of which one must be there; none where the runner brings its own.
        target: for its power mode.
        power_mode_obstacle: where the target sets its mode, what keeps it from that.
    """
    known = BoardFacts.of(facts)
    findings = [_python(known), package_finding(known, ("numpy",))]
    if runtimes:
        findings.append(package_finding(known, runtimes))
    findings.append(_disk(known.disk_available_bytes, known.disk_kept_bytes))
    findings += [accelerator_finding(accelerator) for accelerator in known.usb_accelerators or ()]
    if target.power_mode is not None:
        findings.append(_power_mode(facts, target, power_mode_obstacle))
    return findings


def _python(known: BoardFacts) -> Finding:
    text = f"{known.python or 'version unknown'} ({known.python_executable or 'path unknown'})"
    numbers = tuple(int(part) for part in (known.python or "").split(".")[:2] if part.isdecimal())
    if len(numbers) == 2 and numbers < OLDEST_PYTHON:
        return Finding("error", "python", f"{text} is too old", "name one of 3.6 or newer with --python")
    if known.python_bits == 32 and known.machine in ("aarch64", "x86_64"):
        fix = "install a 64-bit system, or a 64-bit Python and name it with --python"
        return Finding("warning", "python", f"{text} has 32 bits on a 64-bit kernel", fix)
    return Finding("ok", "python", text)


def _disk(available: int | None, kept: int | None) -> Finding:
    if available is None:
        return Finding("warning", "disk", "free space cannot be read", "see that 256 MiB are free")
    text = f"{available / (1 << 20):.0f} MiB free"
    if kept:
        text += f" in addition to {kept / (1 << 20):.0f} MiB that EdgeBench keeps"
    if available >= LEAST_DISK_BYTES:
        return Finding("ok", "disk", text)
    # A scene may be among what is kept: then only what is new needs room.
    if available < SCENE_BYTES and (kept or 0) < SCENE_BYTES:
        text += f": no room for the scene, which takes {SCENE_BYTES / (1 << 20):.0f} MiB"
        return Finding("error", "disk", text, NO_ROOM_FOR_FILES)
    return Finding("warning", "disk", f"{text}: scene, images and artifacts go there", NO_ROOM_FOR_FILES)


def accelerator_finding(accelerator: UsbAccelerator) -> Finding:
    """How fast an accelerator's bus is, and what USB 2 means for that accelerator."""
    if accelerator.speed_mbps is None:
        return Finding(
            "warning", "usb", f"{accelerator.name}: bus speed unknown", "see `lsusb -t` on the board"
        )
    text = f"{accelerator.name} at {accelerator.speed_mbps:g} Mbit/s"
    if accelerator.speed_mbps >= USB3_MBPS:
        return Finding("ok", "usb", text)
    known = ACCELERATORS.get(accelerator.id)
    if known is not None and known.shows_usb2:
        text += ", as at any port before its firmware is loaded: each session records the speed after that"
        return Finding("ok", "usb", text)
    text += ", which is USB 2"
    if known is not None:
        text += f": a pass takes up to {known.usb2_slowdown:g} times as long as on USB 3"
    return Finding("warning", "usb", text, "plug it into a USB 3 port, where the board has one")


def _power_mode(facts: Mapping[str, Json], target: Target, obstacle: str) -> Finding:
    try:
        if target.set_power_mode and not obstacle:
            wanted, now = mode_text(facts, wanted_mode(facts, target)), mode_in_force(facts)
            text = f"{now} now; a run sets {wanted} and pins the clocks, and puts both back at its end"
            return Finding("ok", POWER_MODE, text)
        in_force = require_power_mode(facts, target, obstacle or UNASKED)
    except EdgeBenchError as error:
        return Finding(
            "error", POWER_MODE, f"{error.what}{f' ({error.why})' if error.why else ''}", error.fix
        )
    if obstacle:
        return Finding(
            "error",
            POWER_MODE,
            f"{in_force}, and its clocks cannot be pinned ({obstacle})",
            f"on the board: {SUDOERS}",
        )
    return Finding("ok", POWER_MODE, in_force)
