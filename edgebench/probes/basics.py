"""What probes share: why one cannot be opened, the form of its samples, and the clock of their stamps."""

import time
from typing import Dict, List, Tuple

Chunk = Tuple[List[int], Dict[str, List[float]]]
"""Stamps in ns on the monotonic clock, and by channel a value for each of them."""


class ProbeMissing(Exception):
    """There is no such probe here; `reason` and `fix` reach the record."""

    denied = False

    def __init__(self, reason: str, fix: str) -> None:
        super(ProbeMissing, self).__init__(reason)
        self.reason = reason
        self.fix = fix


class ProbeDenied(ProbeMissing):
    """It is there and may not be read."""

    denied = True


def now_ns() -> int:
    """The stamp of this moment, on the monotonic clock."""
    exact = getattr(time, "monotonic_ns", None)  # Python 3.7 has it
    return int(exact() if exact else time.monotonic() * 1e9)
