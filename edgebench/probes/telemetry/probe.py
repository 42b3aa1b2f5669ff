"""The probe: all sources that the board has, sampled together at a low rate."""

import os
import select
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ..basics import Chunk, ProbeMissing, now_ns
from .sources import (
    Absent,
    Find,
    Source,
    find_clocks,
    find_cooling,
    find_cores,
    find_counters,
    find_firmware,
    find_load,
    find_memory,
    find_switches,
    find_temperatures,
    find_waiting,
)

CHUNK_S = 5.0
FINDERS: List[Tuple[str, Find]] = [
    ("clocks", find_clocks),
    ("temperatures", find_temperatures),
    ("throttle flags", find_firmware),
    ("throttle counters", find_counters),
    ("cooling devices", find_cooling),
    ("load", find_load),
    ("memory", find_memory),
    ("context switches", find_switches),
    ("waiting for a core", find_waiting),
    ("other work on its cores", find_cores),
]


class TelemetryProbe:
    """Whatever the board tells, at `rate_hz`; a value that cannot be read any more is not a number."""

    def __init__(self, address: str, rate_hz: float, root: str, worker: Optional[int]) -> None:
        self._period_s = 1 / rate_hz
        self._in_chunk = max(1, int(CHUNK_S * rate_hz))
        self._running = True
        # A sleep that a stop cuts short: nobody waits a second for the end of a session.
        self._wake, self._waker = os.pipe()
        self._sources: List[Source] = []
        absent: Dict[str, str] = {}
        for name, find in FINDERS:
            try:
                self._sources.append(find(root, worker))
                if self._sources[-1].left_out:
                    absent["other " + name] = self._sources[-1].left_out
            except (OSError, ValueError, Absent) as error:
                absent[name] = str(error)
        channels = [channel for source in self._sources for channel in source.channels]
        if not channels:
            raise ProbeMissing(
                "the board tells nothing: {}".format("; ".join(absent.values())), "mount /proc and /sys"
            )
        self._names = [channel.name for channel in channels]
        self.info: Dict[str, Any] = {
            "kind": "telemetry",
            "address": address,
            "rate_hz": rate_hz,
            "resolution": "what the kernel gives",
            "scope": "",
            "channels": [dict(channel._asdict()) for channel in channels],
            "absent": absent,
        }

    def start(self) -> None:
        """Nothing to do: the first sample is taken as soon as somebody asks for one."""

    def stop(self) -> None:
        """End the iteration after one more sample."""
        self._running = False
        os.write(self._waker, b"x")

    def __iter__(self) -> Iterator[Chunk]:
        due = time.monotonic()
        last = False
        while not last:
            stamps: List[int] = []
            values: Dict[str, List[float]] = {name: [] for name in self._names}
            while not last and len(stamps) < self._in_chunk:
                patience = due - time.monotonic()
                if self._running and patience > 0:
                    select.select([self._wake], [], [], patience)
                due = max(due, time.monotonic() - self._period_s) + self._period_s
                last = not self._running
                self._sample(stamps, values)
            yield stamps, values

    def _sample(self, stamps: List[int], values: Dict[str, List[float]]) -> None:
        stamps.append(now_ns())
        at = 0
        for source in self._sources:
            for value in source.read():
                values[self._names[at]].append(value)
                at += 1
