"""The order of measuring, the same for every device.

Idle window, first pass, warm-up, load bursts, steady passes or windows, idle window after. How a kind of
device is asked for each of them is its client's: workers of an agent (rounds.py), or a board without one
(window_session.py). Paced passes are the device's own to start (agent/worker.py): the host only checks that
it kept the schedule.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from edgebench.agent.frames import ProtocolError
from edgebench.link.host_lag import averaging_s, bursts_for, settle_s
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
from edgebench.session_stages import TIMEOUT, SessionStage, seconds_from
from edgebench.stats.power import MIN_PERIODS, PASS_READINGS

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
        schedules = yield from self._steady(replace(plan, least_s=self._least_s(plan)))
        if client.metering and self.windows_ns.steady is not None:
            # The pause after the last paced pass belongs to its cycle, and to no idle window.
            pause_s = max(schedule.wait_s(self.windows_ns.steady[1]) for schedule in schedules)
            if settings.idle_s > 0:
                idle = self._idle("idle window after", pause_s + self._settle_s)
                self.windows_ns = replace(self.windows_ns, idle_after=idle)
            elif pause_s > 0:
                self._idle("idle window after", pause_s)

    def measure_emulated(self, plan: MeasurePlan) -> Generator[Timed, None, None]:
        """One steady pass of each worker and nothing else: times and power of an emulator say nothing."""
        yield from self._steady(MeasurePlan(plan.scene, passes=1))

    def _steady(self, plan: MeasurePlan) -> Generator[Timed, None, list[Schedule]]:
        """The steady passes or windows; returns the schedules of the workers."""
        workers = self._settings.workers
        counted = plan.sustained_s is None and plan.least_s is None
        self._settings.report("passes", 0, plan.passes if counted else 0)
        schedules = [Schedule(plan, self._host_s) if self._host_s else Schedule(plan) for _ in range(workers)]
        with contextlib.closing(self._client.steady(plan, schedules)) as steady:
            for timed in steady:
                if timed.phase == "steady":
                    begin, end = self.windows_ns.steady or (timed.start_ns, timed.end_ns)
                    steady_ns = min(begin, timed.start_ns), max(end, timed.end_ns)
                    self.windows_ns = replace(self.windows_ns, steady=steady_ns)
                yield timed
        return schedules

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


# When the next pass is due, when the last is done, and how long each step may take.


SHORT_SHARE = PASS_READINGS / MIN_PERIODS
"""A pass that takes less of what all have to last is too short for the meter that they have to last for.

It does not tell such passes from what is between them, which is then part of their energy, and of this time
(edgebench.stats.power.passes_power).
"""

SLACK_S = 60.0
"""How far the host's clock may be ahead of what the device says has passed, before that is not believed."""


class Schedule:
    """Follows the steady passes by their stamps on the device's clock.

    Args:
        plan: a number of passes, or for how long; perhaps a period, or a time that they last at least.
        host_s: the host's monotonic clock, which only bounds a device whose clock stands still.
    """

    def __init__(self, plan: MeasurePlan, host_s: Callable[[], float] = time.monotonic) -> None:
        self.period_ns = None if plan.period_s is None else max(1, round(plan.period_s * 1e9))
        self.next_due_ns: int | None = None
        self._passes = plan.passes
        # In whole ns, as the device gets them: both sides end at the same pass.
        self._sustained_ns = None if plan.sustained_s is None else round(plan.sustained_s * 1e9)
        self._least_ns = round((plan.least_s or 0.0) * 1e9)
        self._host_s = host_s
        self._began_ns: int | None = None
        self._reached_ns = 0
        self._passes_ns = 0  # the time within passes
        self._heard_s = host_s()  # when the pass before was taken in
        self._gone_s = 0.0  # by then, on the host's clock
        self._seen = 0

    @property
    def request(self) -> dict[str, int | None]:
        """What the device has to know to keep the period by itself."""
        return {
            "period_ns": self.period_ns,
            "passes": self._passes,
            "sustained_ns": self._sustained_ns,
            "least_ns": self._least_ns,
        }

    @property
    def over(self) -> bool:
        """Whether there are passes enough, or they went on for long enough; at least one is measured."""
        if self._lasted_ns < self._least_ns:
            return False
        if self._sustained_ns is None:
            return self._seen >= self._passes
        return self._began_ns is not None and self._reached_ns - self._began_ns >= self._sustained_ns

    @property
    def _lasted_ns(self) -> int:
        """The time that a meter has for them: within the passes, or from the first to the last."""
        if self._began_ns is None:
            return 0
        short_ns = SHORT_SHARE * self._least_ns
        if self.period_ns is None and self._passes_ns >= self._seen * short_ns:
            return self._passes_ns
        return self._reached_ns - self._began_ns

    def take_in(
        self, start_ns: int, end_ns: int, due_ns: int | None, *, asked: bool = True
    ) -> tuple[int, int] | tuple[None, None]:
        """One more pass as the device stamped it; gives its due time and deadline where it is paced.

        `asked` is whether an unpaced one was asked for when the one before it had been taken in.

        ProtocolError for a pass that did not start at its due time, and for a clock that stands still.
        """
        self._seen += 1
        if self.period_ns is None:
            self._began_ns = start_ns if self._began_ns is None else self._began_ns
            self._require_moving_clock(start_ns)
            self._reached_ns = end_ns
            self._passes_ns += end_ns - start_ns
            heard_s = self._host_s()
            # One that the device started by itself may have waited on a link that stood still.
            self._gone_s += min(heard_s - self._heard_s, math.inf if asked else SLACK_S / 2)
            self._heard_s = heard_s
            return None, None
        if due_ns is None or due_ns > start_ns or due_ns != (self.next_due_ns or due_ns):
            raise ProtocolError(f"a paced pass due at {due_ns}, started at {start_ns}")
        deadline_ns = due_ns + self.period_ns
        self._began_ns = due_ns if self._began_ns is None else self._began_ns
        # The pause after a pass belongs to the time that a paced session goes on.
        self._reached_ns = max(end_ns, deadline_ns)
        # Each pass is a period on, so that a clock that stands still ends the schedule none the less.
        self.next_due_ns = deadline_ns
        return due_ns, deadline_ns

    def wait_s(self, now_ns: int) -> float:
        """For how long a device whose clock says `now_ns` waits for the next pass; 0 where it is due."""
        return 0.0 if self.next_due_ns is None else max(0, self.next_due_ns - now_ns) / 1e9

    def _require_moving_clock(self, start_ns: int) -> None:
        """Compare the start of a pass with when the one before it was there, on the host's clock."""
        if self._began_ns is None or self._seen == 1:
            return
        limit_s = max(self._sustained_ns or 0, self._least_ns) / 1e9
        said_s = (start_ns - self._began_ns) / 1e9
        if limit_s and self._gone_s > 1.1 * max(limit_s, said_s) + SLACK_S:
            raise ProtocolError(f"its clock says that {said_s:.1f} s have passed in {self._gone_s:.1f} s")


# How long each stage of a session may take before it counts as hung; generous, because boards are slow.


LOCK_ENVIRONMENT = "EDGEBENCH_LOCK_WAIT_S"
RECONNECT_ENVIRONMENT = "EDGEBENCH_RECONNECT_S"


@dataclass(frozen=True)
class Timeouts:
    """Seconds for one request of each stage: a pass, not a session; a few hundred predictions, not all.

    Progress renews the time of a request; all predictions have as much as each few hundred of them may take.
    """

    connect: float = 60.0  # for an answer of the agent, and without any headway in what is sent to it
    start: float = 60.0
    build: float = 3600.0  # on the board, for a step of it or, where it does not say how far it is, all of it
    load: float = 900.0
    golden: float = 600.0
    scene: float = 300.0
    measure: float = 1800.0
    predict: float = 1800.0
    stop: float = 10.0
    interrupt: float = 30.0  # for the pass in hand after Ctrl-C
    probe: float = 10.0
    power_mode: float = 180.0  # setting it, or putting it back: some programs of 20 s at most each
    lock: float = 60.0  # while another harness measures on the board
    reconnect: float = 180.0  # until a board that was lost is back, as after a reboot

    @classmethod
    def from_environment(cls) -> Timeouts:
        """The defaults, unless the environment says otherwise.

        `$EDGEBENCH_STAGE_TIMEOUT_S` is for each stage of a session, `$EDGEBENCH_LOCK_WAIT_S` for a board that
        another harness holds, `$EDGEBENCH_RECONNECT_S` for one that was lost.
        """
        limits: dict[str, float] = {}
        if limit := seconds_from(TIMEOUT):
            limits = dict.fromkeys(("build", "load", "golden", "scene", "measure", "predict"), limit)
        for name, variable in (("lock", LOCK_ENVIRONMENT), ("reconnect", RECONNECT_ENVIRONMENT)):
            if seconds := seconds_from(variable):
                limits[name] = seconds
        return cls(**limits)
