"""How a session asks its workers for passes, side by side; those in hand outlive an interrupt."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from edgebench.agent.frames import Frame, ProtocolError
from edgebench.errors import SessionError
from edgebench.link.clockmatch import SessionClock
from edgebench.link.connection import Connection, LinkLost
from edgebench.link.schedule import Schedule
from edgebench.link.session_faults import SessionFaults
from edgebench.link.timeouts import Timeouts
from edgebench.link.worker_calls import AGENT_GRACE_S, WorkerCalls, follow
from edgebench.vocabulary.values import Json

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


Rounds = Generator[Round, None, None]


class PassRequests:
    """Asks all workers of a session for passes at the same time; a Ctrl-C lets those in hand finish.

    One round follows the other when the last worker has answered: between them the device does nothing else,
    and the clocks can be matched.

    Args:
        connection, faults: of the session.
        workers: calls to each.
        clock: matched while the device does nothing else; None for a runner's own time.
        timeouts: for a pass, and for those in hand after an interrupt.
    """

    def __init__(
        self,
        connection: Connection,
        faults: SessionFaults,
        workers: Sequence[WorkerCalls],
        clock: SessionClock | None,
        timeouts: Timeouts,
    ) -> None:
        self._connection = connection
        self._faults = faults
        self._workers = workers
        self._clock = clock
        self._timeouts = timeouts

    def passes(self) -> Round:
        """One pass of each worker, at once."""
        self._match_clocks()
        return self._round("pass")

    def warm_up(self, floor: int, cap: int) -> Round:
        """The warm-up's batches of each worker."""
        return self._round("warmup", floor=floor, cap=cap)

    def steady(self, schedules: Sequence[Schedule]) -> Rounds:
        """The steady passes, as the workers' schedules have them; whoever takes them tells them of each."""
        period_ns = schedules[0].period_ns
        if period_ns is None:
            while not all(schedule.over for schedule in schedules):
                yield self.passes()
        else:
            yield from self._paced(schedules, period_ns / 1e9)

    def _paced(self, schedules: Sequence[Schedule], period_s: float) -> Rounds:
        """All passes by one request a worker: the device keeps the period, nothing here makes a pass late.

        In the pause before the next passes there is none in hand that an interrupt would have to wait for.
        """
        limit_s = self._timeouts.measure + period_s
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
                        with self._faults.as_session_error(STAGE):
                            raise ProtocolError("fewer passes than were due")
                    continue
                if schedules[place].over:
                    with self._faults.as_session_error(STAGE):
                        raise ProtocolError("more passes than were due")
                yield Round([(place, frame)])
                pauses_s = [self._pause_s(schedule) for schedule in schedules if not schedule.over]
                if pauses_s and min(pauses_s) > MATCHING_S:
                    self._match_clocks()
        finally:
            self._connection.leave()

    def _round(self, operation: str, **fields: Json) -> Round:
        requests = self._send(operation, self._timeouts.measure, fields)
        replies = Round()
        try:
            while requests:
                self._take(requests, self._timeouts.measure + AGENT_GRACE_S, replies)
        except KeyboardInterrupt as interrupt:
            return self._finish_after(interrupt, requests, replies)
        except SessionError as error:
            replies.end = error  # what the others gave before is kept
        finally:
            self._connection.leave()
        return replies

    def _finish_after(self, interrupt: KeyboardInterrupt, requests: dict[int, int], replies: Round) -> Round:
        """What is in hand when an interrupt comes; the interrupt at once where it does not end in time.

        An agent that answers nothing at all has nothing in hand that would be worth waiting for: it is asked,
        amid the last passes of a session whose figures do not count.
        """
        replies.end = interrupt
        self._faults.stopping = True
        text = "interrupted: the pass in hand is waited for, %.0f s at most; a second time ends that too"
        _log.warning(text, self._timeouts.interrupt)
        try:
            self._faults.require_answer()
            while requests:
                self._take(requests, self._timeouts.interrupt, replies)
        except (SessionError, LinkLost, ProtocolError):
            pass
        return replies

    def _take(self, requests: dict[int, int], limit_s: float, replies: Round) -> None:
        request, frame = self._follow(requests, limit_s)
        replies.replies.append((requests.pop(request), frame))

    def _follow(self, requests: dict[int, int], limit_s: float) -> tuple[int, Frame]:
        workers = {request: self._workers[place] for request, place in requests.items()}
        return follow(self._connection, self._faults, workers, STAGE, limit_s)

    def _send(self, operation: str, limit_s: float, fields: dict[str, Json]) -> dict[int, int]:
        """Ask every worker; the place of each by the id of its request."""
        return {
            worker.send(operation, STAGE, limit_s, fields): place
            for place, worker in enumerate(self._workers)
        }

    def _match_clocks(self) -> None:
        if self._clock is not None:
            with self._faults.as_session_error(STAGE):
                self._clock.between(self._timeouts.measure)

    def _pause_s(self, schedule: Schedule) -> float:
        """For how long a worker waits before its next pass is due; nobody waits for a runner's own time."""
        return 0.0 if self._clock is None else schedule.wait_s(self._clock.device_ns())
