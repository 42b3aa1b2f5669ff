"""When a worker's process was started: its agent tells it, on the clock that both read."""

import os
from typing import Optional

from .clock import Clock

SPAWNED_NS = "EDGEBENCH_SPAWNED_NS"
"""The environment variable with the clock's reading just before the process was started."""


def ns_since_spawn(clock: Clock) -> Optional[int]:
    """What has passed since then; None where nobody told, or on a clock that says otherwise."""
    text = os.environ.get(SPAWNED_NS, "")
    taken_ns = clock() - int(text) if text.isdigit() else 0
    return taken_ns if taken_ns > 0 else None
