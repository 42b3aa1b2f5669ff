"""What is sampled beside a session: meters, which decide a trial's key, and monitors, which only watch."""

from __future__ import annotations

from edgebench import registry
from edgebench.contract import Target

TELEMETRY = "telemetry:1"
"""Beside every session unless it is turned off: its process takes less than 0.5 % of a core."""


def meters_of(target: Target) -> tuple[str, ...]:
    """The probes of a target that can say something about power."""
    return tuple(name for name in target.meters if not registry.is_monitor(name))


def monitors_of(target: Target, *, telemetry: bool) -> tuple[str, ...]:
    """The other probes of a target; with `telemetry`, the default one where it names none itself."""
    asked = tuple(name for name in target.meters if registry.is_monitor(name))
    own = TELEMETRY.partition(":")[0]
    if not telemetry or any(name.partition(":")[0] == own for name in asked):
        return asked
    return (*asked, TELEMETRY)
