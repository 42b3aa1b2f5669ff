"""How long a meter has to watch an idle device and its work: by the rate that its module states.

What is planned is known before any meter is opened. A meter whose address decides its rate (`csv:`,
`recording:`) has the shortest idle windows, and no steady part is lengthened for it, unless that address
states `rate_hz`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgebench import registry
from edgebench.plan.meters_and_monitors import has_meter, has_own_clock, meters_of, on_host
from edgebench.probes.host.addresses import stated_rate_hz
from edgebench.stats.power import MIN_PERIODS
from edgebench.vocabulary.load_bursts import load_bursts
from edgebench.vocabulary.target import Target

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
    """Of all meters that a session of the target may have; None where none of them states its rate."""
    return _slowest((*meters_of(target), *target.preferred_meters))


def idle_window_s(target: Target) -> float:
    """How long each of the two idle windows of a target's sessions is; 0 without a meter."""
    if not has_meter(target):
        return 0.0
    slowest = slowest_meter(target)
    return LEAST_IDLE_S if slowest is None else slowest.idle_s


def least_steady_s(target: Target) -> float | None:
    """`MeasurePlan.least_s` of the target's sessions; None where nothing has to last.

    A device with a clock of its own plays what it has: more of it would be no more measured.
    """
    slowest = slowest_meter(target)
    return None if slowest is None or has_own_clock(target) else slowest.least_s


def bursts_s(target: Target) -> float:
    """How long the load bursts of a target's sessions take; 0 without a meter on this machine."""
    meters = on_host(meters_of(target))
    slowest = _slowest(meters)
    return load_bursts(None if slowest is None else slowest.rate_hz).total_s if meters else 0.0


def _slowest(meters: Sequence[str]) -> SlowestMeter | None:
    known = set(registry.names("edgebench.probes"))
    addresses = [(kind, address) for kind, _, address in (name.partition(":") for name in meters)]
    rates = [
        (rate_hz, kind)
        for kind, address in addresses
        if kind in known and (rate_hz := registry.rate_hz(kind) or stated_rate_hz(address) or 0.0) > 0
    ]
    if not rates:
        return None
    rate_hz, kind = min(rates)
    return SlowestMeter(kind, rate_hz)
