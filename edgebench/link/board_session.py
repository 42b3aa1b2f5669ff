"""The frame of sessions on a board without an agent: idle windows, load bursts, clock, order of measuring."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Generic, TypeVar

from edgebench.agent.frames import ProtocolError
from edgebench.link.board_calls import BoardCalls
from edgebench.link.board_fault import BoardFault, as_session_error
from edgebench.link.clock_trips import BETWEEN_TRIPS
from edgebench.link.schedule import Schedule
from edgebench.session_stages import SessionStage
from edgebench.vocabulary.load_bursts import BurstTimes
from edgebench.vocabulary.passes import Pass, Phase, Window
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import SessionFacts, SessionWindows

REPORT_S = 1.0
"""How often an idle window is reported."""

NO_PROBE = "the device has no meter or monitor: --meter names one that is plugged into this machine"

Timed = TypeVar("Timed", bound=Pass | Window)


class BoardSession(Generic[Timed]):
    """The frame of a session of windows, or of passes; whoever holds it says what is timed.

    Args:
        calls: to the board; without real time there are no idle windows and bursts.
        settings: of the session.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        calls: BoardCalls,
        settings: SessionSettings,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._calls = calls
        self._settings = settings
        self._sleep = sleep
        self._windows_ns = SessionWindows()
        self._load_bursts: BurstTimes | None = None

    def facts(self) -> SessionFacts:
        """Clock, windows, bursts, why nothing samples on the board, and what the clock warns of, by now."""
        probes = (*self._settings.meters, *self._settings.preferred_meters)
        has_real_time = self._calls.has_real_time
        return SessionFacts(
            clock=self._calls.clock.facts() if has_real_time else {},
            windows_ns=self._windows_ns,
            load_bursts=self._load_bursts,
            probe_reasons=dict.fromkeys(probes or ("",), NO_PROBE),
            monitor_reasons=dict.fromkeys(self._settings.monitors, NO_PROBE),
            emulated=not has_real_time,
            warnings=tuple(self._calls.clock.warnings()) if has_real_time else (),
        )

    def start(self) -> None:
        """The clock's first edge; SessionError where the board does not answer."""
        with as_session_error("start"):
            self._calls.edge("start")

    def measure(
        self,
        plan: MeasurePlan,
        take: Callable[[int, Phase], Timed],
        work: Callable[[float], tuple[int, int]],
        warm_up: Callable[[], Iterable[Timed]] = tuple,
    ) -> Generator[Timed, None, None]:
        """The first one, cold; those of the warm-up; then steady ones, as the plan has them.

        SessionError where the board or its clock fails.

        Args:
            plan: of the session; unpaced.
            take: the pass or window with this index, in this phase (`first`, then `steady`).
            work: keeps the board busy for about so many seconds; start and end on its clock, ns.
            warm_up: what is timed between the first and the steady ones; their indices are not used again.
        """
        try:
            with as_session_error("measure"):
                yield from self._measured(plan, take, work, warm_up)
        finally:
            # A board that is amid an answer, or gone, is not waited for: the clock has no last edge then.
            if not self._calls.is_amid_answer:
                with suppress(BoardFault, ProtocolError):
                    self._calls.edge("end")
        with as_session_error("measure"):
            self._calls.clock.require_agreement()

    def report(self, stage: SessionStage, done: int = 0, steps: int = 0) -> None:
        """Where the session is."""
        self._settings.report(stage, done, steps)

    # --- the order of measuring ---

    def _measured(
        self,
        plan: MeasurePlan,
        take: Callable[[int, Phase], Timed],
        work: Callable[[float], tuple[int, int]],
        warm_up: Callable[[], Iterable[Timed]],
    ) -> Generator[Timed, None, None]:
        is_metered = self._settings.host_metering and self._calls.has_real_time
        if is_metered and self._settings.idle_s > 0:
            self._windows_ns = replace(self._windows_ns, idle=self._idle("idle window"))
        self.report("first pass")
        yield take(0, "first")
        self.report("warm-up")
        index = 0
        for timed in warm_up():
            index = timed.index
            yield timed
        if is_metered:
            self._burst(work)
        schedule = Schedule(
            plan if is_metered else replace(plan, least_s=None),
            time.monotonic if self._calls.has_real_time else lambda: 0.0,
        )
        counted = plan.sustained_s is None and (plan.least_s is None or not is_metered)
        self.report("passes", 0, plan.passes if counted else 0)
        while not schedule.over:
            index += 1
            timed = take(index, "steady")
            schedule.take_in(timed.start_ns, timed.end_ns, None)
            start_ns, _ = self._windows_ns.steady or (timed.start_ns, timed.end_ns)
            self._windows_ns = replace(self._windows_ns, steady=(start_ns, timed.end_ns))
            yield timed
        if is_metered and self._settings.idle_s > 0:
            self._windows_ns = replace(self._windows_ns, idle_after=self._idle("idle window after"))

    def _idle(self, stage: SessionStage) -> tuple[int, int]:
        """The board waits for a command that does not come; start and end on its clock."""
        idle_s = self._settings.idle_s
        start_ns = self._calls.trips(BETWEEN_TRIPS)
        began_s = time.monotonic()
        while (left_s := began_s + idle_s - time.monotonic()) > 0:
            self.report(stage, round(idle_s - left_s), round(idle_s))
            self._sleep(min(left_s, REPORT_S))
        return start_ns, self._calls.trips(BETWEEN_TRIPS)

    def _burst(self, work: Callable[[float], tuple[int, int]]) -> None:
        """Bursts of load by which the lag of a meter on the host is known."""
        plan = self._settings.bursts
        if plan is None:
            return
        self.report("load bursts", 0, len(plan.pauses_s))
        from_ns = self._calls.trips(BETWEEN_TRIPS)
        bursts = []
        for pause_s in plan.pauses_s:
            self._sleep(pause_s)
            bursts.append(work(plan.burst_s))
            self.report("load bursts", len(bursts), len(plan.pauses_s))
        self._load_bursts = BurstTimes(from_ns, tuple(bursts))
