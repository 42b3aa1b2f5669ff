"""The order of measuring: idle window, first pass, warm-up, load bursts, steady passes, idle window after."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

from edgebench.agent.frames import Frame, ProtocolError
from edgebench.errors import SessionError
from edgebench.link.connection import LinkLost
from edgebench.link.host_lag import averaging_s, bursts_for, settle_s
from edgebench.link.schedule import Schedule
from edgebench.link.session_probes import SessionProbes
from edgebench.link.worker import AGENT_GRACE_S, SessionContext, Worker
from edgebench.records.session import BurstTimes, MeasurePlan, Pass, SessionWindows
from edgebench.records.values import Json
from edgebench.session_stages import SessionStage
from edgebench.stats.power import MIN_PERIODS

_log = logging.getLogger(__name__)

STAGE = "measure"

MATCHING_S = 0.05
"""The pause before a paced pass in which there is time for a few round trips."""


@dataclass
class Round:
    """What the workers gave, each at most one reply, and what ends the session after it.

    Attributes:
        replies: in the order in which they came, each with the place of its worker.
        end: an interrupt, or a failure of one of the workers; None where the session goes on.
    """

    replies: list[tuple[int, Frame]] = field(default_factory=list)
    end: BaseException | None = None


class MeasuringOrder:
    """What the workers of a session are asked for, once they have the scene.

    Args:
        session: whose clock is matched while the device does nothing else.
        workers: which run their passes at the same time, round by round.
        probes: of the session; idle windows are for its meters, or those of the host.

    Attributes:
        windows_ns: the idle and steady windows so far, on the device's clock.
        load_bursts: when the device ran them; None where it ran none.
    """

    def __init__(self, session: SessionContext, workers: Sequence[Worker], probes: SessionProbes) -> None:
        self._session = session
        self._workers = workers
        self._probes = probes
        self.windows_ns = SessionWindows()
        self.load_bursts: BurstTimes | None = None

    def passes(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        """Of each worker the first pass, the warm-up's batches as one Pass, then the steady passes."""
        if self._metering and self._session.settings.idle_s > 0:
            settle_s = self._settle_s
            idle = self._idle("idle window", settle_s)
            settling = (idle[0] - round(settle_s * 1e9), idle[0]) if idle and settle_s else None
            self.windows_ns = replace(self.windows_ns, idle=idle, settling=settling)
        self._report("first pass")
        least_s = plan.least_s
        if least_s is not None:
            # A reading that is averaged for longer than a sample's period says no more than one sample.
            least_s = max(least_s, MIN_PERIODS * averaging_s(self._probes.facts()[0]))
        yield from self._rounds(replace(plan, least_s=least_s if self._metering else None))

    def _idle(self, stage: SessionStage, pause_s: float = 0.0) -> tuple[int, int] | None:
        """An idle window, after a pause; the device idles where no worker of it is asked for anything."""
        idle_s = self._session.settings.idle_s

        def report(gone_s: float) -> None:
            self._report(stage, int(gone_s), round(idle_s))

        window = self._workers[0].idle(idle_s, report, pause_s)
        return window if idle_s > 0 else None

    def _burst(self) -> None:
        """Bursts of load by which lag and response of meters are told, of the first worker alone.

        They come when the warm-up is over: neither the first pass nor the warm-up runs on a device that they
        have warmed. Steady passes follow the last one, without a pause in which it would cool down.
        """
        plans = (self._session.settings.bursts, bursts_for(self._probes.facts()[0]))
        plan = max(filter(None, plans), key=lambda bursts: bursts.burst_s, default=None)
        first = self._workers[0]
        if plan is not None and not self._own_time:
            self._report("load bursts", 0, len(plan.pauses_s))
            self.load_bursts = first.burst(plan, lambda done, of: self._report("load bursts", done, of))

    @property
    def _own_time(self) -> bool:
        """Whether the stamps are of a time that the runner brings."""
        return self._workers[0].own_time

    @property
    def _settle_s(self) -> float:
        """How long the device idles before an idle window."""
        return max(self._session.settings.settle_s, settle_s(self._probes.facts()[0]))

    @property
    def _metering(self) -> bool:
        return bool(self._probes.metering or self._session.settings.host_metering)

    def _rounds(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        workers = self._workers
        yield from _passes_of_round(
            self._passes_at_once(), lambda at, frame: workers[at].as_pass(frame, 0, "first", plan)
        )
        self._report("warm-up")
        counts = [1] * len(workers)  # passes of each worker

        def warm_up(at: int, frame: Frame) -> Pass | None:
            warm = workers[at].as_warm_up(frame, plan)
            counts[at] += warm is not None
            return warm

        warming = self._round("warmup", floor=plan.warmup_floor, cap=plan.warmup_cap)
        yield from _passes_of_round(warming, warm_up)
        self._burst()
        counted = plan.sustained_s is None and plan.least_s is None
        self._report("passes", 0, plan.passes if counted else 0)
        schedules = [Schedule(plan) for _ in workers]

        def steady_pass(at: int, frame: Frame) -> Pass:
            taken = workers[at].as_pass(frame, counts[at], "steady", plan, schedules[at])
            counts[at] += 1
            begin, end = self.windows_ns.steady or (taken.start_ns, taken.end_ns)
            steady_ns = min(begin, taken.start_ns), max(end, taken.end_ns)
            self.windows_ns = replace(self.windows_ns, steady=steady_ns)
            return taken

        with contextlib.closing(self._steady(schedules)) as rounds:
            for steady in rounds:
                yield from _passes_of_round(steady, steady_pass)
        if self._metering and self.windows_ns.steady is not None:
            # The pause after the last paced pass belongs to its cycle, and to no idle window.
            pause_s = max(schedule.wait_s(self.windows_ns.steady[1]) for schedule in schedules)
            if pause_s > 0 or self._session.settings.idle_s > 0:
                if self._session.settings.idle_s > 0:
                    pause_s += self._settle_s
                idle_after = self._idle("idle window after", pause_s)
                self.windows_ns = replace(self.windows_ns, idle_after=idle_after)

    def _report(self, stage: SessionStage, done: int = 0, steps: int = 0) -> None:
        self._session.settings.report(stage, done, steps)

    # --- requests to all workers at once; a Ctrl-C lets those in hand finish ---
    #
    # One round follows the other when the last worker has answered: between them the device does nothing
    # else, and the clocks can be matched.

    def _passes_at_once(self) -> Round:
        """One pass of each worker."""
        self._match_clocks()
        return self._round("pass")

    def _steady(self, schedules: Sequence[Schedule]) -> Generator[Round, None, None]:
        """The steady passes, as the workers' schedules have them; whoever takes them tells them of each."""
        period_ns = schedules[0].period_ns
        if period_ns is None:
            while not all(schedule.over for schedule in schedules):
                yield self._passes_at_once()
        else:
            yield from self._paced(schedules, period_ns / 1e9)

    def _paced(self, schedules: Sequence[Schedule], period_s: float) -> Generator[Round, None, None]:
        """All passes by one request a worker: the device keeps the period, nothing here makes a pass late.

        In the pause before the next passes there is none in hand that an interrupt would have to wait for.
        """
        limit_s = self._session.timeouts.measure + period_s
        self._match_clocks()
        # Every worker's pass is due when it is asked: one is as good as another's schedule to ask with.
        requests = self._send("paced", limit_s, schedules[0].request)
        try:
            while requests:
                try:
                    request, frame = self._follow(requests, limit_s + AGENT_GRACE_S)
                except KeyboardInterrupt as interrupt:
                    working = {
                        number: worker
                        for number, worker in requests.items()
                        if not schedules[worker].over and self._pause_s(schedules[worker]) == 0
                    }
                    if not working:
                        raise
                    yield self._finish_after(interrupt, working, Round())
                    return
                place = requests[request]
                if "progress" not in frame.message:
                    del requests[request]
                    if not schedules[place].over:
                        with self._session.faults.as_session_error(STAGE):
                            raise ProtocolError("fewer passes than were due")
                    continue
                if schedules[place].over:
                    with self._session.faults.as_session_error(STAGE):
                        raise ProtocolError("more passes than were due")
                yield Round([(place, frame)])
                pauses_s = [self._pause_s(schedule) for schedule in schedules if not schedule.over]
                if pauses_s and min(pauses_s) > MATCHING_S:
                    self._match_clocks()
        finally:
            self._session.connection.leave()

    def _round(self, operation: str, **fields: Json) -> Round:
        requests = self._send(operation, self._session.timeouts.measure, fields)
        replies = Round()
        try:
            while requests:
                self._take(requests, self._session.timeouts.measure + AGENT_GRACE_S, replies)
        except KeyboardInterrupt as interrupt:
            return self._finish_after(interrupt, requests, replies)
        except SessionError as error:
            replies.end = error  # what the others gave before is kept
        finally:
            self._session.connection.leave()
        return replies

    def _finish_after(self, interrupt: KeyboardInterrupt, requests: dict[int, int], replies: Round) -> Round:
        """What is in hand when an interrupt comes; the interrupt at once where it does not end in time.

        An agent that answers nothing at all has nothing in hand that would be worth waiting for: it is asked,
        amid the last passes of a session whose figures do not count.
        """
        replies.end = interrupt
        self._session.faults.stopping = True
        text = "interrupted: the pass in hand is waited for, %.0f s at most; a second time ends that too"
        _log.warning(text, self._session.timeouts.interrupt)
        try:
            self._session.faults.require_answer()
            while requests:
                self._take(requests, self._session.timeouts.interrupt, replies)
        except (SessionError, LinkLost, ProtocolError):
            pass
        return replies

    def _take(self, requests: dict[int, int], limit_s: float, replies: Round) -> None:
        request, frame = self._follow(requests, limit_s)
        replies.replies.append((requests.pop(request), frame))

    def _follow(self, requests: dict[int, int], limit_s: float) -> tuple[int, Frame]:
        """The next frame that answers any of these requests, and which of them, as it arrives."""
        with self._session.faults.as_session_error(STAGE):
            self._session.faults.raise_deferred()
            frame = self._session.connection.follow(requests, limit_s)
            request = int(frame.message["re"])
        worker = self._workers[requests[request]]
        with worker.as_session_error(STAGE):
            return request, worker.admit(frame, STAGE)

    def _send(self, operation: str, limit_s: float, fields: dict[str, Json]) -> dict[int, int]:
        """Ask every worker; the place of each by the id of its request."""
        return {
            worker.send(operation, STAGE, limit_s, fields): place
            for place, worker in enumerate(self._workers)
        }

    def _match_clocks(self) -> None:
        if not self._own_time:
            with self._session.faults.as_session_error(STAGE):
                self._session.clock.between(self._session.timeouts.measure)

    def _pause_s(self, schedule: Schedule) -> float:
        """For how long a worker waits before its next pass is due; nobody waits for a runner's own time."""
        return 0.0 if self._own_time else schedule.wait_s(self._session.clock.device_ns())


def _passes_of_round(
    replies: Round, taken: Callable[[int, Frame], Pass | None]
) -> Generator[Pass, None, None]:
    """The passes of one round, each as it is taken in; then what ends the session with it is raised."""
    for at, frame in replies.replies:
        if (measured := taken(at, frame)) is not None:
            yield measured
    if replies.end is not None:
        raise replies.end
