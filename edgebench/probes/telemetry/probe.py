"""The probe: all sources that the board has, sampled together at a low rate."""

import time
from typing import Dict, List, Sequence, Tuple

from ..basics import EvenProbe, ProbeMissing, now_ns
from .sources import (
    Find,
    Source,
    SourceAbsent,
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


class TelemetryProbe(EvenProbe):
    """Whatever the board tells, at `rate_hz`; a value that cannot be read any more is not a number."""

    def __init__(self, address: str, rate_hz: float, root: str, workers: Sequence[int]) -> None:
        self._sources: List[Source] = []
        absent: Dict[str, str] = {}
        for name, find in FINDERS:
            try:
                self._sources.append(find(root, workers))
            except (OSError, ValueError, SourceAbsent) as error:
                absent[name] = str(error)
        channels = [channel for source in self._sources for channel in source.channels]
        if not channels:
            raise ProbeMissing(
                "the board tells nothing: {}".format("; ".join(absent.values())), "mount /proc and /sys"
            )
        info = {
            "kind": "telemetry",
            "address": address,
            "rate_hz": rate_hz,
            "resolution": "what the kernel gives",
            "scope": "",
            "channels": [dict(channel._asdict()) for channel in channels],
            "absent": absent,
        }
        super(TelemetryProbe, self).__init__(info, chunk_s=CHUNK_S)
        self._due_s = time.monotonic()  # the first sample is taken at once

    def _sample(self) -> Tuple[int, Dict[str, float]]:
        stamp_ns = now_ns()
        values = [value for source in self._sources for value in source.read()]
        return stamp_ns, dict(zip(self._names, values))
