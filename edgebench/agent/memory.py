"""The resident memory of this process, now and at its peak, in bytes."""

import re
import sys
from typing import Optional


def _status_bytes(name: str) -> Optional[int]:
    try:
        with open("/proc/self/status") as file:
            match = re.search(r"^{}:\s+(\d+) kB$".format(name), file.read(), re.MULTILINE)
    except OSError:
        return None
    return int(match.group(1)) * 1024 if match else None


def current_bytes() -> Optional[int]:
    """Resident memory now; None where the system does not tell."""
    return _status_bytes("VmRSS")


def peak_bytes() -> Optional[int]:
    """The most that was resident since the process began; None where the system does not tell."""
    peak = _status_bytes("VmHWM")
    if peak is not None:
        return peak
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
