"""The order of measuring, the same for every device.

Idle window, first pass, warm-up, load bursts, steady passes or windows, idle window after. How a kind of
device is asked for each of them is its client's: workers of an agent (rounds.py), or a board without one
(window_session.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from edgebench.link.host_lag import averaging_s, bursts_for, settle_s
from edgebench.link.schedule import Schedule
from edgebench.records.session import (
    BurstTimes,
    LoadBursts,
    MeasurePlan,
    Pass,
    ProbeInfo,
    SessionSettings,
    SessionWindows,
    Window,
)
from edgebench.session_stages import SessionStage
from edgebench.stats.power import MIN_PERIODS

Timed = TypeVar("Timed", bound=Pass | Window)
Measurement = TypeVar("Measurement", bound=Pass | Window, covariant=True)
Span = tuple[int, int]
"""Start and end, in ns of the device's clock."""


class Client(Protocol[Measurement]):
    """What the loop asks of a kind of device; each step ends before the next one is asked for."""

    @property
    def metering(self) -> bool:
        """Whether a meter samples the device: it needs idle windows."""

    @property
    def own_time(self) -> bool:
        """Whether the stamps are of a time that is not real: there are no load bursts then."""

    def probes(self) -> Sequence[ProbeInfo]:
        """The probes on the device that are open."""

    def idle(self, idle_s: float, pause_s: float, report: Callable[[float], None]) -> Span | None:
        """Have the device idle after a pause; None where its time does not tell when.

        `report` receives the seconds of the window that are over.
        """

    def first(self, plan: MeasurePlan) -> Iterable[Measurement]:
        """The first pass or window, cold; of several workers one each."""

    def warm_up(self, plan: MeasurePlan) -> Iterable[Measurement]:
        """What is timed until the device is warm."""

    def burst(self, bursts: LoadBursts, report: Callable[[int, int], None]) -> BurstTimes:
        """Run bursts of load; `report` receives how many of how many are over."""

    def steady(self, plan: MeasurePlan, schedules: Sequence[Schedule]) -> Generator[Measurement, None, None]:
        """Steady passes or windows until each worker's schedule is over; its schedule takes each in."""


class SessionLoop(Generic[Timed]):
    """Measures one session.

    Args:
        client: the device.
        settings: of the session.
        host_s: the host's clock for schedules. Default: the monotonic clock.

    Attributes:
        windows_ns: the idle and steady windows so far, on the device's clock.
        load_bursts: when the device ran them; None where it ran none.
    """

    def __init__(
        self, client: Client[Timed], settings: SessionSettings, host_s: Callable[[], float] | None = None
    ) -> None:
        self._client = client
        self._settings = settings
        self._host_s = host_s
        self.windows_ns = SessionWindows()
        self.load_bursts: BurstTimes | None = None

    def measure(self, plan: MeasurePlan) -> Generator[Timed, None, None]:
        """The first pass, those of the warm-up, then the steady ones; or windows alike."""
        client, settings = self._client, self._settings
        if client.metering and settings.idle_s > 0:
            idle = self._idle("idle window", self._settle_s)
            settling = (idle[0] - round(self._settle_s * 1e9), idle[0]) if idle and self._settle_s else None
            self.windows_ns = replace(self.windows_ns, idle=idle, settling=settling)
        settings.report("first pass", 0, 0)
        yield from client.first(plan)
        settings.report("warm-up", 0, 0)
        yield from client.warm_up(plan)
        self._burst()
        plan = replace(plan, least_s=self._least_s(plan))
        counted = plan.sustained_s is None and plan.least_s is None
        settings.report("passes", 0, plan.passes if counted else 0)
        schedules = [
            Schedule(plan, self._host_s) if self._host_s else Schedule(plan) for _ in range(settings.workers)
        ]
        with contextlib.closing(client.steady(plan, schedules)) as steady:
            for timed in steady:
                if timed.phase != "steady":
                    yield timed
                    continue
                begin, end = self.windows_ns.steady or (timed.start_ns, timed.end_ns)
                steady_ns = min(begin, timed.start_ns), max(end, timed.end_ns)
                self.windows_ns = replace(self.windows_ns, steady=steady_ns)
                yield timed
        if client.metering and self.windows_ns.steady is not None:
            # The pause after the last paced pass belongs to its cycle, and to no idle window.
            pause_s = max(schedule.wait_s(self.windows_ns.steady[1]) for schedule in schedules)
            if settings.idle_s > 0:
                idle = self._idle("idle window after", pause_s + self._settle_s)
                self.windows_ns = replace(self.windows_ns, idle_after=idle)
            elif pause_s > 0:
                self._idle("idle window after", pause_s)

    def _least_s(self, plan: MeasurePlan) -> float | None:
        """How long the steady part lasts at least, for the meters."""
        if plan.least_s is None or not self._client.metering:
            return None
        # A reading that is averaged for longer than a sample's period says no more than one sample.
        return max(plan.least_s, MIN_PERIODS * averaging_s(self._client.probes()))

    @property
    def _settle_s(self) -> float:
        """How long the device idles before an idle window."""
        return max(self._settings.settle_s, settle_s(self._client.probes()))

    def _idle(self, stage: SessionStage, pause_s: float) -> Span | None:
        idle_s = self._settings.idle_s

        def report(gone_s: float) -> None:
            self._settings.report(stage, int(gone_s), round(idle_s))

        return self._client.idle(idle_s, pause_s, report)

    def _burst(self) -> None:
        """Bursts of load, from which lag and response of meters are computed.

        They follow the warm-up, so that neither the first pass nor the warm-up runs on a device that they
        have warmed. Steady passes follow the last one, without a pause in which it would cool down.
        """
        plans = (self._settings.bursts, bursts_for(self._client.probes()))
        plan = max(filter(None, plans), key=lambda bursts: bursts.burst_s, default=None)
        if plan is not None and not self._client.own_time:

            def report(done: int, of: int) -> None:
                self._settings.report("load bursts", done, of)

            report(0, len(plan.pauses_s))
            self.load_bursts = self._client.burst(plan, report)
