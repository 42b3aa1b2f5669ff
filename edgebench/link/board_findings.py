"""What a board's facts mean for a measurement, and what is missing there, each problem with its fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.agent.facts import ACCELERATORS
from edgebench.errors import EdgeBenchError, UnavailableError, UsageError
from edgebench.link.local import NO_ROOM_FOR_FILES
from edgebench.records.board_facts import BoardFacts, UsbAccelerator
from edgebench.records.target import Target
from edgebench.records.values import Finding, Json

# The packages that a board's Python needs: whether they are there, and how a missing one gets there.


Version = tuple[int, int]

VENV = "~/edgebench"
"""Where the advice puts a virtual environment on a board."""

# The Pythons for which the package index has wheels, from the first to the last, and for which processors.
_WHEELS: Mapping[str, tuple[Version, Version, tuple[str, ...]]] = {
    "ai-edge-litert": ((3, 9), (3, 99), ("x86_64", "aarch64")),
    "tflite-runtime": ((3, 7), (3, 11), ("x86_64", "aarch64", "armv7l")),
    "onnxruntime": ((3, 6), (3, 99), ("x86_64", "aarch64")),
    "openvino": ((3, 6), (3, 99), ("x86_64", "aarch64")),
    "rknn-toolkit-lite2": ((3, 7), (3, 12), ("aarch64",)),
}
_NUMPY = {"tflite-runtime": "'numpy<2'"}  # what it was built against
_32_BITS = {"aarch64": "armv7l", "armv8l": "armv7l", "x86_64": "i686"}


def package_finding(known: BoardFacts, names: Sequence[str]) -> Finding:
    """Whether one of these distributions is there; the error says how to install one that has a wheel.

    Args:
        known: of the board.
        names: distributions, the best first.
    """
    for name in names:
        if version := (known.packages or {}).get(name):
            return Finding("ok", name, version)
    python = known.python_executable or "python3"
    message = f"{' or '.join(names)} is not found by {python}: nothing can be measured"
    return Finding("error", names[0], message, _fix(known, names))


def _fix(known: BoardFacts, names: Sequence[str]) -> str:
    listed = [name for name in names if name in _WHEELS]
    processor, version = _processor(known), _version(known)
    if not listed or not processor or version is None:
        return _install(known, (listed or names)[0])
    spans = []
    for name in listed:
        first, last, processors = _WHEELS[name]
        if processor in processors and first <= version <= last:
            return _install(known, name)
        until = "or newer" if last == (3, 99) else f"to {last[0]}.{last[1]}"
        spans.append(f"{name} (Python {first[0]}.{first[1]} {until} on {', '.join(processors)})")
    return (
        f"the package index has no wheel for {processor} and Python {version[0]}.{version[1]}: use a Python "
        f"and a system that it has one for, with --python: {', '.join(spans)}"
    )


def _install(known: BoardFacts, name: str) -> str:
    """The command, or the two that make a virtual environment where the system's Python takes no packages."""
    python = known.python_executable or "python3"
    wanted = name if name == "numpy" else f"{_NUMPY.get(name, 'numpy')} {name}"
    if known.python_externally_managed is False:
        return f"on the board: {python} -m pip install {wanted}"
    return (
        f"on the board: `{python} -m venv {VENV}` (Debian: sudo apt install python3-venv), then "
        f"`{VENV}/bin/pip install {wanted}`; here add --python '{VENV}/bin/python'"
    )


def _processor(known: BoardFacts) -> str:
    """The processor that the board's Python was built for, as wheels call it."""
    machine = known.machine or ""
    return _32_BITS.get(machine, machine) if known.python_bits == 32 else machine


def _version(known: BoardFacts) -> Version | None:
    numbers = [int(part) for part in (known.python or "").split(".")[:2] if part.isdecimal()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


# The power mode that a target is to be measured in, against the one that its board is in.
#
# EdgeBench sets it only where the target says so: nvpmodel needs root, and some modes need a reboot.


UNASKED = "EdgeBench sets it only with --set-power-mode: that needs root, and for some modes a reboot"
SUDOERS = (
    "sudo visudo -f /etc/sudoers.d/edgebench, with the line "
    "`USER ALL=(root) NOPASSWD: /usr/sbin/nvpmodel, /usr/bin/jetson_clocks`"
)
"""The fix where sudo asks for a password."""

_ASKED_OF_SUDO = "sudo: "


def require_power_mode(facts: Mapping[str, Json], target: Target, obstacle: str = UNASKED) -> str:
    """The board's mode in words, when it is the one that the target asks for by number or name.

    Args:
        facts: the board's, with `power_mode` {id, name} and `power_modes` {id: name} where it has them.
        target: with a power mode.
        obstacle: why it is not set.

    Raises:
        UsageError: the board has no power modes, or not that one.
        UnavailableError: it is in another mode, or does not say in which; the fix is the command to set it.
    """
    wanted = wanted_mode(facts, target)
    known = BoardFacts.of(facts).power_mode
    if known is not None and str(known.id) == wanted:
        return mode_in_force(facts)
    is_in = "does not say its power mode" if known is None else f"is in power mode {mode_in_force(facts)}"
    raise UnavailableError(
        f"{target.name} {is_in}, and {target.power_mode!r} is asked for",
        why=obstacle,
        fix=f"on the board: sudo nvpmodel -m {wanted}"
        + (f"; or let EdgeBench do it: {SUDOERS}" if obstacle.startswith(_ASKED_OF_SUDO) else ""),
    )


def mode_in_force(facts: Mapping[str, Json]) -> str:
    """The board's mode in words: `1 (5W)`."""
    known = BoardFacts.of(facts)
    if known.power_mode is None:
        return "unknown"
    return mode_text(facts, str(known.power_mode.id), known.power_mode.name)


def mode_text(facts: Mapping[str, Json], number: str, name: str | None = None) -> str:
    """A mode in words: `1 (5W)`."""
    name = name or (BoardFacts.of(facts).power_modes or {}).get(number)
    return f"{number} ({name or 'name unknown'})"


def modes_text(facts: Mapping[str, Json]) -> str:
    """All modes of the board in words; empty where it does not list them."""
    modes = BoardFacts.of(facts).power_modes or {}
    return ", ".join(mode_text(facts, number, name) for number, name in modes.items())


def wanted_mode(facts: Mapping[str, Json], target: Target) -> str:
    """The number of the mode that the target asks for, as nvpmodel takes it; UsageError for none."""
    asked = target.power_mode or ""
    known = BoardFacts.of(facts)
    modes = known.power_modes or {}
    if not modes and known.power_mode is None:
        raise UsageError(
            f"{target.name} has no power modes, and {asked!r} is asked for",
            why="neither /etc/nvpmodel.conf nor /var/lib/nvpmodel/status is there, as they are on a Jetson",
            fix="leave --power-mode (or power_mode in the targets file) out",
        )
    wanted = _number_of(asked, modes)
    if wanted is None:
        listed = modes_text(facts) or "unknown"
        raise UsageError(f"{target.name} has no power mode {asked!r}", fix=f"its modes: {listed}")
    return wanted


def _number_of(asked: str, modes: Mapping[str, str]) -> str | None:
    """The mode's number as nvpmodel takes it; without a list of modes a number is taken as it is."""
    if asked.isascii() and asked.isdigit():
        number = str(int(asked))
        return number if number in modes or not modes else None
    return next((key for key, mode in modes.items() if mode.lower() == asked.lower()), None)


MOST_LOAD_A_CORE = 0.25
LEAST_MEMORY_BYTES = 1 << 30
COARSEST_CLOCK_NS = 1000.0
HOT_C = 80.0
LEAST_DISK_BYTES = 256 << 20
SCENE_BYTES = 4512 * 4512 * 3  # of the shipped scene, with which a run without --scene begins
USB3_MBPS = 5000.0
OLDEST_PYTHON = (3, 6)

POWER_MODE = "power mode"
OF_THE_MACHINE = frozenset({"governor", "load", "memory", "clock", "temperature", "CPU quota"})
"""Subjects of `board_findings`, which are the same for all targets on a machine."""


def board_findings(facts: Mapping[str, Json]) -> list[Finding]:
    """What the board's facts (edgebench.agent.facts) mean for a measurement."""
    known = BoardFacts.of(facts)
    governor, load, cores = known.governor, known.load_average, known.cores
    available, resolution_ns = known.memory_available_bytes, known.timer_resolution_ns
    load_text, load_a_core = "", 0.0
    if load and cores:
        load_text = f"{load[0]:.2f} over the last minute on {cores} {'core' if cores == 1 else 'cores'}"
        load_a_core = load[0] / cores
    sensor, hottest = max((known.temperatures_c or {"": 0.0}).items(), key=lambda item: item[1])
    rows: tuple[tuple[str, str, bool, tuple[str, str], tuple[str, str]], ...] = (
        (
            "governor",
            governor or "",
            governor == "performance",
            (
                "cannot be read, as in most virtual machines: clocks may change unseen",
                "measure on the machine itself where that matters",
            ),
            (": clocks change with the load", "sudo cpupower frequency-set -g performance"),
        ),
        (
            "load",
            load_text,
            load_a_core <= MOST_LOAD_A_CORE,
            ("cannot be read", "see that nothing else runs"),
            ("", "end other programs, or wait a minute"),
        ),
        (
            "memory",
            "" if available is None else f"{available / (1 << 20):.0f} MiB available",
            (available or 0) >= LEAST_MEMORY_BYTES,
            ("cannot be read", "see that at least 1 GiB is free"),
            ("", "end other programs: the scene and the runtime take 0.3 GiB"),
        ),
        (
            "clock",
            "" if resolution_ns is None else f"resolution {resolution_ns:g} ns",
            (resolution_ns or 0.0) <= COARSEST_CLOCK_NS,
            ("resolution unknown", "use Linux with high-resolution timers"),
            ("", "boot a kernel with high-resolution timers"),
        ),
        (
            "temperature",
            f"{hottest:.0f} °C at {sensor}" if known.temperatures_c else "",
            hottest <= HOT_C,
            ("no sensor can be read", "watch for a drift of the passes instead: the report shows it"),
            ("", "let it cool down, or improve the cooling"),
        ),
    )
    findings = []
    for subject, text, is_fine, (unknown, without), (trouble, fix) in rows:
        if text and is_fine:
            findings.append(Finding("ok", subject, text))
        elif text:
            findings.append(Finding("warning", subject, text + trouble, fix))
        else:
            findings.append(Finding("warning", subject, unknown, without))
    if known.cpu_quota_cores is not None:
        text = f"as much time as {known.cpu_quota_cores} of {cores or 'unknown'} cores have"
        if cores is not None and known.cpu_quota_cores >= cores:
            findings.append(Finding("ok", "CPU quota", text))
        else:
            text += ": a pass that uses it up pauses, and no runtime takes more threads by default"
            fix = "start the container without a quota; limit its cores instead, as by Docker's --cpuset-cpus"
            findings.append(Finding("warning", "CPU quota", text, fix))
    return findings


def missing_findings(
    facts: Mapping[str, Json], runtimes: Sequence[str], target: Target, power_mode_obstacle: str = ""
) -> list[Finding]:
    """Whether the board has what a measurement needs.

    Args:
        facts: of edgebench.agent.facts, as they came from the board.
        runtimes: distributions, one must be there; empty where the runner brings its own.
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
