"""What is known of the machine that the harness runs on; each fact is absent when it cannot be had."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from edgebench.installed import versions_of
from edgebench.regular_files import reason
from edgebench.this_machine import UNAVAILABLE_ERRORS

_PACKAGES = ("ai-edge-litert", "onnxruntime", "tensorflow", "openvino", "numpy", "scipy", "pyarrow", "pandas")


def host_facts() -> dict[str, Any]:
    """Operating system, processor, memory, load and versions; no host or user name.

    A fact that cannot be had is None, and `absent` (left out where all can) says why by its name.
    """
    facts: dict[str, Any] = {}
    absent: dict[str, str] = {}
    for name, find in _FINDERS.items():
        try:
            facts[name] = find()
        except (*UNAVAILABLE_ERRORS, AttributeError, NotImplementedError) as error:
            facts[name] = None
            absent[name] = _why(error)
    return facts | ({"absent": absent} if absent else {})


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {reason(error)}"
    return reason(error)


def _os_name() -> str | None:
    return platform.freedesktop_os_release().get("PRETTY_NAME")


def _cpu_model() -> str | None:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        if platform.processor():
            return platform.processor()
        raise
    return platform.processor() or None


def _cpu_mhz() -> float | None:
    frequency = psutil.cpu_freq()
    return round(frequency.current, 1) if frequency else None


def _cpus_available() -> int | None:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def _load_average() -> list[float] | None:
    return list(os.getloadavg()) if hasattr(os, "getloadavg") else None


def _packages() -> dict[str, str]:
    return {name: version for name, version in versions_of(_PACKAGES).items() if version is not None}


_FINDERS: Mapping[str, Callable[[], Any]] = {
    "system": platform.system,
    "kernel": platform.release,
    "os": _os_name,
    "machine": platform.machine,
    "cpu_model": _cpu_model,
    "cpus": os.cpu_count,
    "cpus_available": _cpus_available,
    "cpu_mhz": _cpu_mhz,
    "memory_bytes": lambda: psutil.virtual_memory().total,
    "memory_free_bytes": lambda: psutil.virtual_memory().available,
    "load_average": _load_average,
    "python": platform.python_version,
    "python_implementation": lambda: sys.implementation.name,
    "packages": _packages,
}
