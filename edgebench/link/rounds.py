"""The workers of a session on a device with an agent, asked at the same time.

One round follows another when the last worker has answered: between them the device does nothing else, and
the clocks can be matched. A Ctrl-C lets the passes in progress finish. Several workers start their steady
passes by themselves, from one moment on: those are told from their stamps during which all of them ran.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

from edgebench.agent.frames import Frame, ProtocolError
from edgebench.errors import SessionError
from edgebench.link.connection import LinkLost
from edgebench.link.failures import WorkerEnded
from edgebench.link.session_loop import Schedule
from edgebench.link.session_probes import SessionProbes
from edgebench.link.worker import AGENT_GRACE_S, SessionContext, Worker
from edgebench.records.session import BurstTimes, LoadBursts, MeasurePlan, Pass, ProbeInfo
from edgebench.records.values import Json

_log = logging.getLogger(__name__)

MATCHING_S = 0.05
"""The pause before a paced pass in which there is time for a few round trips."""

START_S = 0.1
"""How long after their requests several workers start at least: by then each has its own, and waits."""

FAILURES = (SessionError, WorkerEnded, LinkLost, ProtocolError)
"""What a request to a worker may end in."""


@dataclass
class Round:
    """What the workers gave, each at most one reply, and what ends the session after it.

    Attributes:
        replies: in the order in which they came, each with the place of its worker.
        end: an interrupt, or a failure of one of the workers; None where the session goes on.
    """

    replies: list[tuple[int, Frame]] = field(default_factory=list)
    end: BaseException | None = None


class Overlap:
    """Tells the passes during which all workers of a session ran.

    They run from the latest of their first starts to the earliest of their last ends. Paced ones are due at
    the same times: a worker's time goes on from when its first is due until its last has its whole period.
    A pass is held back until each worker has one that ended as late.

    Args:
        workers: how many there are.
        period_ns: of paced passes; None back to back.
    """

    def __init__(self, workers: int, period_ns: int | None = None) -> None:
        self._workers = workers
        self._period_ns = period_ns
        self._first_ns: dict[int, int] = {}  # by worker: when its first pass started
        self._reached_ns: dict[int, int] = {}  # likewise: when its latest ended
        self._held: list[Pass] = []

    def take(self, measured: Pass) -> list[Pass]:
        """One more pass; gives those of which it is known by now, `steady` or `outside`."""
        begin_ns, end_ns = measured.start_ns, measured.end_ns
        if self._period_ns is not None and measured.due_ns is not None:
            begin_ns, end_ns = measured.due_ns, max(end_ns, measured.due_ns + self._period_ns)
        self._first_ns.setdefault(measured.worker, begin_ns)
        self._reached_ns[measured.worker] = end_ns
        self._held.append(measured)
        if len(self._first_ns) < self._workers:
            return []
        begin_ns, end_ns = max(self._first_ns.values()), min(self._reached_ns.values())
        held, self._held = self._held, []
        known = []
        for each in held:
            if each.start_ns < begin_ns:
                known.append(_outside(each))
            else:
                (known if each.end_ns <= end_ns else self._held).append(each)
        return known

    def rest(self) -> list[Pass]:
        """Those that are still held back, when no further pass comes."""
        held, self._held = self._held, []
        return [_outside(each) for each in held]


def _outside(measured: Pass) -> Pass:
    return replace(measured, phase="outside", due_ns=None)


class WorkerRounds:
    """Implements `Client` of the session loop.

    Args:
        session: whose clock is matched while the device does nothing else.
        workers: which run their passes at the same time.
        probes: of the session.
    """

    def __init__(self, session: SessionContext, workers: Sequence[Worker], probes: SessionProbes) -> None:
        self._session = session
        self._connection = session.board.connection
        self._measure_s = session.board.timeouts.measure
        self._workers = workers
        self._probes = probes
        self._counts = [1] * len(workers)  # passes of each worker

    # --- what the loop asks for ---

    @property
    def metering(self) -> bool:
        """Whether a probe of the device or of the host measures power."""
        return self._probes.metering or self._session.settings.host_metering

    @property
    def own_time(self) -> bool:
        """Whether the stamps are of a time that the runner brings."""
        return self._workers[0].own_time

    def probes(self) -> Sequence[ProbeInfo]:
        """Those that the agent runs."""
        return self._probes.facts()[0]

    def idle(self, idle_s: float, pause_s: float, report: Callable[[float], None]) -> tuple[int, int] | None:
        """The device idles where no worker of it is asked for anything."""
        window = self._workers[0].idle(idle_s, report, pause_s)
        return window if idle_s > 0 else None

    def burst(self, bursts: LoadBursts, report: Callable[[int, int], None]) -> BurstTimes:
        """Only the first worker runs them."""
        return self._workers[0].burst(bursts, report)

    def first(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        """The first pass of each worker."""
        yield from _passes_of_round(
            self._passes_at_once(), lambda at, frame: self._workers[at].as_pass(frame, 0, "first", plan)
        )

    def warm_up(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        """Each worker's batches as one pass, where it ran any."""

        def warm_up(at: int, frame: Frame) -> Pass | None:
            warm = self._workers[at].as_warm_up(frame, plan)
            self._counts[at] += warm is not None
            return warm

        warming = self._round("warmup", floor=plan.warmup_floor, cap=plan.warmup_cap)
        yield from _passes_of_round(warming, warm_up)

    def steady(self, plan: MeasurePlan, schedules: Sequence[Schedule]) -> Generator[Pass, None, None]:
        """Each worker's passes, as its schedule has them; of several workers those outside as well."""

        def steady_pass(at: int, frame: Frame) -> Pass:
            taken = self._workers[at].as_pass(frame, self._counts[at], "steady", plan)
            self._counts[at] += 1
            return taken

        if plan.period_s is not None or len(self._workers) > 1:
            yield from self._started_by_workers(plan, schedules, steady_pass)
            return
        [schedule] = schedules
        while not schedule.over:
            for taken in _passes_of_round(self._passes_at_once(), steady_pass):
                yield _scheduled(taken, schedule)

    # --- requests to all workers at once ---

    def _passes_at_once(self) -> Round:
        """One pass of each worker."""
        self._match_clocks()
        return self._round("pass")

    def _started_by_workers(
        self, plan: MeasurePlan, schedules: Sequence[Schedule], taken: Callable[[int, Frame], Pass]
    ) -> Generator[Pass, None, None]:
        """All passes by one request a worker: the device starts them, nothing here makes a pass late.

        Several workers start at one moment of the device's clock, and go on until the last one has its
        passes. In the pause before the next passes no pass is in progress that an interrupt would have to
        wait for.
        """
        limit_s = self._measure_s + (plan.period_s or 0.0)
        several = len(self._workers) > 1
        overlap = Overlap(len(self._workers), schedules[0].period_ns)
        self._match_clocks()
        fields: dict[str, Json] = dict(schedules[0].request)
        if several:
            start_s = max(START_S, 2.0 * self._session.clock.latest_trip_s)
            start_ns = self._session.clock.device_ns() + round(start_s * 1e9)
            fields = {"period_ns": fields["period_ns"] or 0, "start_ns": start_ns}
            limit_s += start_s
        requests = self._send("passes", limit_s, fields)
        ending = False

        def known(place: int, frame: Frame) -> Generator[Pass, None, None]:
            for each in overlap.take(taken(place, frame)):
                yield (
                    _scheduled(each, schedules[each.worker], asked=False) if each.phase == "steady" else each
                )

        try:
            while requests:
                request, frame = self._follow(requests, limit_s + AGENT_GRACE_S)
                place = requests[request]
                is_last = "progress" not in frame.message
                if is_last != schedules[place].over and (is_last or not several):
                    raise ProtocolError(f"{'fewer' if is_last else 'more'} passes than requested")
                if is_last:
                    del requests[request]
                    continue
                yield from known(place, frame)
                if several and not ending and all(schedule.over for schedule in schedules):
                    ending = True
                    requests |= {worker.end_passes(limit_s): at for at, worker in enumerate(self._workers)}
                pauses_s = [self._pause_s(schedule) for schedule in schedules if not schedule.over]
                if pauses_s and min(pauses_s) > MATCHING_S:
                    self._match_clocks()
            yield from overlap.rest()
        except KeyboardInterrupt as interrupt:
            in_hand = {
                number: at
                for number, at in requests.items()
                if not schedules[at].over and self._pause_s(schedules[at]) == 0
            }
            last = self._finish_after(interrupt, in_hand, Round()) if in_hand else Round()
            for at, frame in last.replies:
                yield from known(at, frame)
            yield from overlap.rest()
            raise
        except FAILURES:
            yield from overlap.rest()
            raise
        finally:
            self._connection.leave()

    def _round(self, operation: str, **fields: Json) -> Round:
        requests = self._send(operation, self._measure_s, fields)
        replies = Round()
        try:
            while requests:
                self._take(requests, self._measure_s + AGENT_GRACE_S, replies)
        except KeyboardInterrupt as interrupt:
            return self._finish_after(interrupt, requests, replies)
        except FAILURES as error:
            replies.end = error  # what the others gave before is kept
        finally:
            self._connection.leave()
        return replies

    def _finish_after(self, interrupt: KeyboardInterrupt, requests: dict[int, int], replies: Round) -> Round:
        """What is in progress when an interrupt comes; the interrupt at once where it does not end in time.

        An agent that answers nothing at all has no pass in progress that is worth waiting for: it is asked
        first.
        """
        replies.end = interrupt
        self._session.faults.stopping = True
        interrupt_s = self._session.board.timeouts.interrupt
        text = "interrupted: the pass in hand is waited for, %.0f s at most; a second time ends that too"
        _log.warning(text, interrupt_s)
        try:
            self._session.faults.require_answer()
            while requests:
                self._take(requests, interrupt_s, replies)
        except FAILURES:
            pass
        return replies

    def _take(self, requests: dict[int, int], limit_s: float, replies: Round) -> None:
        request, frame = self._follow(requests, limit_s)
        replies.replies.append((requests.pop(request), frame))

    def _follow(self, requests: dict[int, int], limit_s: float) -> tuple[int, Frame]:
        """The next frame that answers any of these requests, and which of them, as it arrives."""
        self._session.faults.raise_deferred()
        frame = self._connection.follow(requests, limit_s)
        request = int(frame.message["re"])
        return request, self._workers[requests[request]].admit(frame)

    def _send(self, operation: str, limit_s: float, fields: dict[str, Json]) -> dict[int, int]:
        """Ask every worker; the place of each by the id of its request."""
        return {worker.send(operation, limit_s, fields): place for place, worker in enumerate(self._workers)}

    def _match_clocks(self) -> None:
        if not self.own_time:
            self._session.clock.between(self._measure_s)

    def _pause_s(self, schedule: Schedule) -> float:
        """How long a worker waits before its next pass is due; 0 for a runner's own time."""
        return 0.0 if self.own_time else schedule.wait_s(self._session.clock.device_ns())


def _scheduled(measured: Pass, schedule: Schedule, *, asked: bool = True) -> Pass:
    """A pass with its due time and deadline, once its schedule has taken it in."""
    times = schedule.take_in(measured.start_ns, measured.end_ns, measured.due_ns, asked=asked)
    return replace(measured, due_ns=times[0], deadline_ns=times[1])


def _passes_of_round(
    replies: Round, taken: Callable[[int, Frame], Pass | None]
) -> Generator[Pass, None, None]:
    """The passes of one round, each as it is taken in; then what ends the session with it is raised."""
    for at, frame in replies.replies:
        if (measured := taken(at, frame)) is not None:
            yield measured
    if replies.end is not None:
        raise replies.end
