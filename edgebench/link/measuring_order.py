"""The order of measuring: idle window, first pass, warm-up, load bursts, steady passes, idle window after."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from edgebench.agent.frames import Frame
from edgebench.link.clockmatch import SessionClock
from edgebench.link.connection import Connection
from edgebench.link.pass_requests import PassRequests, Round
from edgebench.link.schedule import Schedule
from edgebench.link.session_faults import SessionFaults
from edgebench.link.session_probes import SessionProbes
from edgebench.link.timeouts import Timeouts
from edgebench.link.worker_conversation import WorkerConversation
from edgebench.session_stages import SessionStage
from edgebench.vocabulary.load_bursts import BurstTimes
from edgebench.vocabulary.passes import Pass
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import SessionWindows


class MeasuringOrder:
    """What the workers of a session are asked for, once they have the scene.

    Args:
        connection: of the device.
        workers: which run their passes at the same time, round by round.
        probes: of the session; idle windows are for its meters, or those of the host.
        clock, faults: of the session.
        settings: how it measures.
        timeouts: for each stage.

    Attributes:
        windows_ns: the idle and steady windows so far, on the device's clock.
        load_bursts: when the device ran them; None where it ran none.
    """

    def __init__(
        self,
        connection: Connection,
        workers: Sequence[WorkerConversation],
        probes: SessionProbes,
        clock: SessionClock,
        faults: SessionFaults,
        settings: SessionSettings,
        timeouts: Timeouts,
    ) -> None:
        self._connection = connection
        self._workers = workers
        self._probes = probes
        self._clock = clock
        self._faults = faults
        self._settings = settings
        self._timeouts = timeouts
        self.windows_ns = SessionWindows()
        self.load_bursts: BurstTimes | None = None

    def passes(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        """Of each worker the first pass, the warm-up's batches as one Pass, then the steady passes."""
        if self._metering and self._settings.idle_s > 0:
            self.windows_ns = replace(self.windows_ns, idle=self._idle("idle window"))
        self._report("first pass")
        yield from self._rounds(plan if self._metering else replace(plan, least_s=None))

    def _idle(self, stage: SessionStage, pause_s: float = 0.0) -> tuple[int, int] | None:
        """An idle window, after a pause; the device idles where no worker of it is asked for anything."""
        idle_s = self._settings.idle_s

        def report(gone_s: float) -> None:
            if gone_s >= pause_s:
                self._report(stage, int(gone_s - pause_s), round(idle_s))

        window = self._workers[0].idle(idle_s, report, pause_s)
        return window if idle_s > 0 else None

    def _burst(self) -> None:
        """Bursts of load by which the lag of a meter on the host is told, of the first worker alone.

        They come when the warm-up is over: neither the first pass nor the warm-up runs on a device that they
        have warmed. Steady passes follow the last one, without a pause in which it would cool down.
        """
        plan, first = self._settings.bursts, self._workers[0]
        if plan is not None and not first.replies.own_time:
            self._report("load bursts", 0, len(plan.pauses_s))
            self.load_bursts = first.burst(plan, lambda done, of: self._report("load bursts", done, of))

    @property
    def _metering(self) -> bool:
        return bool(self._probes.metering or self._settings.host_metering)

    def _rounds(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        clock = None if self._workers[0].replies.own_time else self._clock
        calls = [worker.calls for worker in self._workers]
        requests = PassRequests(self._connection, self._faults, calls, clock, self._timeouts)
        replies = [worker.replies for worker in self._workers]
        yield from _passes_of_round(
            requests.passes(), lambda at, frame: replies[at].as_pass(frame, 0, "first", plan)
        )
        self._report("warm-up")
        counts = [1] * len(replies)  # passes of each worker

        def warm_up(at: int, frame: Frame) -> Pass | None:
            warm = replies[at].as_warm_up(frame, plan)
            counts[at] += warm is not None
            return warm

        yield from _passes_of_round(requests.warm_up(plan.warmup_floor, plan.warmup_cap), warm_up)
        self._burst()
        counted = plan.sustained_s is None and plan.least_s is None
        self._report("passes", 0, plan.passes if counted else 0)
        schedules = [Schedule(plan) for _ in replies]

        def steady_pass(at: int, frame: Frame) -> Pass:
            taken = replies[at].as_pass(frame, counts[at], "steady", plan, schedules[at])
            counts[at] += 1
            begin, end = self.windows_ns.steady or (taken.start_ns, taken.end_ns)
            steady_ns = min(begin, taken.start_ns), max(end, taken.end_ns)
            self.windows_ns = replace(self.windows_ns, steady=steady_ns)
            return taken

        with contextlib.closing(requests.steady(schedules)) as rounds:
            for steady in rounds:
                yield from _passes_of_round(steady, steady_pass)
        if self._metering and self.windows_ns.steady is not None:
            # The pause after the last paced pass belongs to its cycle, and to no idle window.
            pause_s = max(schedule.wait_s(self.windows_ns.steady[1]) for schedule in schedules)
            if pause_s > 0 or self._settings.idle_s > 0:
                idle_after = self._idle("idle window after", pause_s)
                self.windows_ns = replace(self.windows_ns, idle_after=idle_after)

    def _report(self, stage: SessionStage, done: int = 0, steps: int = 0) -> None:
        self._settings.report(stage, done, steps)


def _passes_of_round(
    replies: Round, taken: Callable[[int, Frame], Pass | None]
) -> Generator[Pass, None, None]:
    """The passes of one round, each as it is taken in; then what ends the session with it is raised."""
    for at, frame in replies.replies:
        if (measured := taken(at, frame)) is not None:
            yield measured
    if replies.end is not None:
        raise replies.end
