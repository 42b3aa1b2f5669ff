"""Telemetry: clocks, temperatures, throttling, load, memory, and how often the worker was interrupted.

A monitor and no meter: it says nothing about power. It runs at a low rate in a process of its own, on files
that it opens once. `sources` has what it reads; each source is absent with its reason where a board has none.
"""

import os

from ..basics import ProbeMissing
from .probe import TelemetryProbe

PLACE = "board"
MONITOR = True
WORKER_PID = "EDGEBENCH_WORKER_PID"
DEFAULT_HZ = 1.0
HZ_RANGE = (0.05, 10.0)


def open_probe(address: str) -> TelemetryProbe:
    """The probe of `telemetry:` (once a second), `telemetry:HZ`, or `telemetry:HZ:/another/root`."""
    text, _, root = address.partition(":")
    try:
        rate_hz = float(text) if text else DEFAULT_HZ
    except ValueError:
        rate_hz = float("nan")
    if not HZ_RANGE[0] <= rate_hz <= HZ_RANGE[1]:
        raise ProbeMissing(
            "{!r} is no rate".format(text),
            "give a rate from {} to {} Hz, such as telemetry:1".format(*HZ_RANGE),
        )
    pids = os.environ.get(WORKER_PID, "").split(",")
    return TelemetryProbe(address, rate_hz, root or "/", [int(pid) for pid in pids if pid.isdigit()])
