"""Default number of threads of a runtime (device side, Python 3.6 syntax)."""

import os
from typing import Any, Dict

# More threads than this bring MobileNet nothing, and take the steadiness of the figures.
MOST_THREADS = 4


def threads_of(options: Dict[str, Any]) -> int:
    """The option `threads`; for 0 one per core that the process may use, and at most four."""
    return int(options["threads"]) or min(MOST_THREADS, allowed_cores())


def allowed_cores() -> int:
    """Number of cores that the process may use, by its affinity and its container's CPU quota."""
    cores = len(os.sched_getaffinity(0))
    return min(cores, int(os.environ.get("EDGEBENCH_CPU_QUOTA", cores)))
