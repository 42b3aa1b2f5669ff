"""What probes share: why one cannot be opened, the form of its samples, and the clock of their stamps."""

import time
from typing import Callable, Dict, List, Tuple

Chunk = Tuple[List[int], Dict[str, List[float]]]
"""Stamps in ns on the monotonic clock, and by channel a value for each of them."""


# How far a probe came that cannot be opened.
ADDRESS, PACKAGE, DEVICE, PERMISSION, IN_USE, ANSWER = (
    "address",
    "package",
    "device",
    "permission",
    "in use",
    "answer",
)


class ProbeMissing(Exception):
    """There is no such probe here; `reason` and `fix` reach the record.

    Attributes:
        step: how far it came.
        port: what it would be read from; empty where that is not known.
    """

    denied = False
    step = DEVICE
    port = ""

    def __init__(self, reason: str, fix: str, step: str = "", port: str = "") -> None:
        super(ProbeMissing, self).__init__(reason)
        self.reason = reason
        self.fix = fix
        self.step = step or self.step
        self.port = port


class ProbeDenied(ProbeMissing):
    """It is there and may not be read."""

    denied = True
    step = PERMISSION


def _from_seconds() -> int:
    return int(time.monotonic() * 1e9)


# Python 3.7 has the exact one.
now_ns: Callable[[], int] = getattr(time, "monotonic_ns", _from_seconds)
"""The stamp of this moment, on the monotonic clock."""
