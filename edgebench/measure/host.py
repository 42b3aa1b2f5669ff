"""What is known of the machine that the harness runs on; each fact is absent when it cannot be had."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import psutil

from edgebench.installed import versions_of

_PACKAGES = ("ai-edge-litert", "onnxruntime", "tensorflow", "openvino", "numpy", "scipy", "pyarrow", "pandas")


def host_facts() -> dict[str, Any]:
    """Operating system, processor, memory, load and versions; no host or user name."""
    packages = {name: found for name, found in versions_of(_PACKAGES).items() if found is not None}
    frequency = psutil.cpu_freq()
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "os": _os_name(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpus": os.cpu_count(),
        "cpus_available": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "cpu_mhz": round(frequency.current, 1) if frequency else None,
        "memory_bytes": psutil.virtual_memory().total,
        "memory_free_bytes": psutil.virtual_memory().available,
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "python_implementation": sys.implementation.name,
        "packages": packages,
    }


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _cpu_model() -> str | None:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or None
