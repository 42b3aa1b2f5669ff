"""Probes of a session: meters, which decide a trial's key, and monitors, which only watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import UsageError
from edgebench.probes.host.sampling import stated_rate_hz
from edgebench.records.session import UNKNOWN_REACH_S, MeasurePlan, load_bursts, probe_name
from edgebench.records.target import Target
from edgebench.session_stages import SessionStage
from edgebench.stats.power import MIN_PERIODS

TELEMETRY = "telemetry:1"
"""Part of every session unless it is turned off: its process takes less than 0.5 % of a core."""


def meters_of(target: Target) -> tuple[str, ...]:
    """The probes of a target that can say something about power."""
    return tuple(name for name in target.meters if not registry.is_monitor(name))


def has_meter(target: Target) -> bool:
    """Return True if a session of it may have a meter."""
    return bool(meters_of(target) or target.preferred_meters)


def with_meters(target: Target, backend: Backend, *, no_meter: bool) -> Target:
    """The target, with its backend's meters where it has none of its own; with `no_meter` without any."""
    if no_meter:
        return replace(target, meters=tuple(name for name in target.meters if registry.is_monitor(name)))
    return target if meters_of(target) else replace(target, preferred_meters=backend.meters)


def monitors_of(target: Target, *, telemetry: bool) -> tuple[str, ...]:
    """The other probes of a target; with `telemetry`, its backend's own where it names none of their kind."""
    asked = tuple(name for name in target.meters if registry.is_monitor(name))
    if not telemetry:
        return asked
    kinds = {name.partition(":")[0] for name in asked}
    return (
        *asked,
        *(name for name in (_backend(target) or Backend).monitors if name.partition(":")[0] not in kinds),
    )


def on_board(names: Sequence[str]) -> tuple[str, ...]:
    """Probes that a session runs on its device."""
    return tuple(name for name in names if not registry.samples_on_host(name))


def on_host(names: Sequence[str]) -> tuple[str, ...]:
    """Probes that sample on this machine, beside all sessions of a lane."""
    return tuple(name for name in names if registry.samples_on_host(name))


def require_meters_of_their_own(targets: Sequence[Target]) -> None:
    """UsageError where targets that are measured side by side name one meter on this machine.

    It is at one of them, and would be taken for what the other draws.
    """
    first: dict[str, Target] = {}
    for target in targets:
        for name in map(probe_name, on_host(meters_of(target))):
            other = first.setdefault(name, target)
            if other.host != target.host:
                raise UsageError(
                    f"the meter {name} is named for {other.declared_name} and for {target.declared_name}",
                    why="boards of different hosts are measured at the same time, and it is at one of them",
                    fix="name one of these boards a run, or give each the address of its own meter",
                )


def has_own_clock(target: Target) -> bool:
    """Return True if a target's time is not real time, as a replay's."""
    backend = _backend(target)
    return backend is not None and backend.own_clock


def gives_windows(target: Target) -> bool:
    """Return True if a target's sessions give windows of a patch each, and no passes over a scene."""
    backend = _backend(target)
    return backend is not None and backend.gives_windows


def stage_seconds(target: Target, plan: MeasurePlan) -> Mapping[SessionStage, tuple[float, float]]:
    """Durations of the stages of a target's session that its backend knows (`Backend.stage_seconds`)."""
    backend = _backend(target)
    return backend.stage_seconds(target, plan) if backend else {}


def builds_on_board(target: Target) -> bool:
    """Return True if a target's device makes, before a trial's first session, what it loads."""
    backend = _backend(target)
    return backend is not None and backend.builds(target.options)


def _backend(target: Target) -> Backend | None:
    """None where its package is not installed here."""
    installed = target.device in registry.names("edgebench.backends")
    return registry.backend(target.device) if installed else None


# How long a meter has to watch an idle device and its work: by the rate that its module states.
#
# What is planned is known before any meter is opened. A meter whose address decides its rate (`csv:`)
# has the shortest idle windows, and no steady part is lengthened for it, unless that address states
# `rate_hz`.


LEAST_IDLE_S, MOST_IDLE_S = 2.0, 60.0
"""An idle window is at least and at most so long."""

MARGIN = 1.1
"""How many times its 100 periods the steady part lasts: a meter comes a little slower than it says."""


@dataclass(frozen=True)
class SlowestMeter:
    """The meter of a target that takes the fewest samples a second, by its kind."""

    kind: str
    rate_hz: float

    @property
    def idle_s(self) -> float:
        """Each of its idle windows: 100 periods, within the bounds."""
        return min(max(LEAST_IDLE_S, MIN_PERIODS / self.rate_hz), MOST_IDLE_S)

    @property
    def least_s(self) -> float:
        """The time within steady passes that it takes for energy."""
        return MARGIN * MIN_PERIODS / self.rate_hz


def slowest_meter(target: Target) -> SlowestMeter | None:
    """Slowest meter that a session of the target may have; None where none of them states its rate."""
    known = set(registry.names("edgebench.probes"))
    meters = (name.partition(":") for name in (*meters_of(target), *target.preferred_meters))
    rates = [
        (rate_hz, kind)
        for kind, _, address in meters
        if kind in known and (rate_hz := registry.rate_hz(kind) or stated_rate_hz(address) or 0.0) > 0
    ]
    if not rates:
        return None
    rate_hz, kind = min(rates)
    return SlowestMeter(kind, rate_hz)


def idle_window_s(target: Target) -> float:
    """Duration of each of the two idle windows of a target's sessions; 0 without a meter."""
    if not has_meter(target):
        return 0.0
    slowest = slowest_meter(target)
    return LEAST_IDLE_S if slowest is None else slowest.idle_s


def settle_s(target: Target) -> float:
    """Time that a target's sessions idle before each idle window, as known before; 0 without a meter."""
    slowest = slowest_meter(target)
    return 0.0 if slowest is None else UNKNOWN_REACH_S + 1 / slowest.rate_hz


def least_steady_s(target: Target) -> float | None:
    """`MeasurePlan.least_s` of the target's sessions; None where nothing has to last.

    A device with a clock of its own plays what it has: more of it would be no more measured.
    """
    slowest = slowest_meter(target)
    return None if slowest is None or has_own_clock(target) else slowest.least_s


def bursts_s(target: Target) -> float:
    """Duration of the load bursts of a target's sessions; 0 without a meter."""
    slowest = slowest_meter(target)
    return load_bursts(None if slowest is None else slowest.rate_hz).total_s if has_meter(target) else 0.0
