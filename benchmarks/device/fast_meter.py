"""A stand-in for a meter of 100 kHz: its readings are numbered, so that none can be missing unseen.

It runs in the sampler's process as any probe does. What it cannot give away within a second is lost, as in a
device's own buffer.
"""

import time
from array import array
from typing import Any, Dict, Iterator, Tuple

PLACE = "host"
RATE_HZ = 100000.0
STEP_NS = 10000
CHUNK_S = 0.5
BUFFER = 100000


class FastMeter:
    """Gives what would have been sampled since it began, twice a second."""

    def __init__(self, address: str) -> None:
        self.info: Dict[str, Any] = {
            "kind": "fast",
            "address": address,
            "rate_hz": RATE_HZ,
            "resolution": "made up",
            "scope": "board",
            "channels": [{"name": "in", "quantity": "power", "unit": "W", "total": True}],
        }
        self._running = True
        self._began_ns = 0

    def start(self) -> None:
        """Its first sample is now."""
        self._began_ns = _now_ns()

    def stop(self) -> None:
        """End soon."""
        self._running = False

    def __iter__(self) -> "Iterator[Tuple[array[int], Dict[str, array[float]]]]":
        first = 0
        while self._running:
            time.sleep(CHUNK_S)
            end = (_now_ns() - self._began_ns) // STEP_NS
            first = max(first, end - BUFFER)
            from_ns = self._began_ns + first * STEP_NS
            stamps = array("q", range(from_ns, from_ns + (end - first) * STEP_NS, STEP_NS))
            yield stamps, {"in": array("d", range(first, end))}
            first = end


def _now_ns() -> int:
    return int(time.monotonic() * 1e9)


def open_probe(address: str) -> FastMeter:
    """It is always there."""
    return FastMeter(address)
