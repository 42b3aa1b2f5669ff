"""What `doctor` says of a processor: runtime, governor, load, memory, clock and temperature."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from edgebench.contract import Finding, Json, Target

MOST_LOAD_A_CORE = 0.25
LEAST_MEMORY_BYTES = 1 << 30
COARSEST_CLOCK_NS = 1000.0
HOT_C = 80.0
ASK_S = 60.0
ASK_RUNTIME = "import ai_edge_litert.interpreter"


def runtime_findings(target: Target) -> list[Finding]:
    """Whether LiteRT is installed where the worker runs, and TensorFlow, which prepares, here."""
    findings = [_litert(target.launch.python)]
    if found := _version("tensorflow"):
        findings.append(Finding("ok", "tensorflow", f"{found} (prepares artifacts)"))
    else:
        fix = "pip install 'edgebench[prepare]'"
        message = "is not installed: artifacts that are not cached cannot be prepared"
        findings.append(Finding("warning", "tensorflow", message, fix))
    return findings


def _litert(python: str | None) -> Finding:
    fix = "pip install 'edgebench[cpu]'"
    if python in (None, sys.executable):
        if found := _version("ai-edge-litert"):
            return Finding("ok", "ai-edge-litert", found)
        return Finding("error", "ai-edge-litert", "is not installed: nothing can be measured", fix)
    assert python is not None
    try:
        command = [python, "-c", ASK_RUNTIME]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("error", "ai-edge-litert", f"{python} cannot be run: {error}", "name another Python")
    if asked.returncode == 0:
        return Finding("ok", "ai-edge-litert", f"found by {python}")
    last = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
    return Finding("error", "ai-edge-litert", f"not found by {python}: {last}", f"{python} -m {fix}")


def board_findings(facts: Mapping[str, Json]) -> list[Finding]:
    """What the board's facts (edgebench.agent.facts) mean for a measurement."""
    return [
        _governor(facts.get("governor")),
        _load(facts.get("load_average"), facts.get("cores")),
        _memory(facts.get("memory_available_bytes")),
        _clock(facts.get("timer_resolution_ns")),
        _temperature(facts.get("temperatures_c")),
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
    text = f"{load[0]:.2f} over the last minute on {cores} cores"
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


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
