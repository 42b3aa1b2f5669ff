"""How a session asks for its passes, one by one or all at once; the one in hand outlives an interrupt."""

from __future__ import annotations

from collections.abc import Callable, Generator

from edgebench.agent.frames import Frame, ProtocolError
from edgebench.errors import SessionError
from edgebench.link.clockmatch import SessionClock
from edgebench.link.schedule import Schedule
from edgebench.link.timeouts import Timeouts
from edgebench.link.worker_calls import WorkerCalls
from edgebench.vocabulary.values import Json

STAGE = "measure"

MATCHING_S = 0.05
"""The pause before a paced pass in which there is time for a few round trips."""

PassReply = tuple[Frame, KeyboardInterrupt | None]
"""A pass, and the interrupt that came while it was in hand."""

PassReplies = Generator[PassReply, None, None]


class PassRequests:
    """Asks the worker for passes; a Ctrl-C lets the pass in hand finish.

    Args:
        calls: to the worker.
        clock: matched between the passes, while the device does nothing else; None for a runner's own time.
        timeouts: for a pass, and for the one in hand after an interrupt.
    """

    def __init__(self, calls: WorkerCalls, clock: SessionClock | None, timeouts: Timeouts) -> None:
        self._calls = calls
        self._clock = clock
        self._timeouts = timeouts

    def request_pass(self) -> PassReply:
        """One pass, at once."""
        self._match_clocks()
        return self._request("pass")

    def warm_up(self, floor: int, cap: int) -> PassReply:
        """The warm-up's batches."""
        return self._request("warmup", floor=floor, cap=cap)

    def steady(self, schedule: Schedule) -> PassReplies:
        """The steady passes, as the schedule has them; whoever takes them tells it of each."""
        if schedule.period_ns is None:
            while not schedule.over:
                yield self.request_pass()
        else:
            yield from self._paced(schedule, schedule.period_ns / 1e9)

    def _paced(self, schedule: Schedule, period_s: float) -> PassReplies:
        """All passes by one request: the device keeps the period, and nothing here can make a pass late.

        In the pause before a pass there is none in hand that an interrupt would have to wait for.
        """
        limit_s = self._timeouts.measure + period_s
        self._match_clocks()
        request = self._calls.send("paced", STAGE, limit_s, schedule.request)
        try:
            while not schedule.over:
                try:
                    yield self._calls.follow(request, STAGE, limit_s), None
                except KeyboardInterrupt as interrupt:
                    if self._pause_s(schedule) > 0:
                        raise
                    yield self._finish_after(
                        interrupt, lambda limit_s: self._calls.follow(request, STAGE, limit_s, grace_s=0.0)
                    )
                    return
                if self._pause_s(schedule) > MATCHING_S and not schedule.over:
                    self._match_clocks()
            with self._calls.as_session_error(STAGE):
                if "progress" in self._calls.follow(request, STAGE, limit_s).message:
                    raise ProtocolError("more passes than were due")
        finally:
            self._calls.leave()

    def _request(self, operation: str, **fields: Json) -> PassReply:
        request = self._calls.send(operation, STAGE, self._timeouts.measure, fields)
        try:
            return self._calls.wait(request, STAGE, self._timeouts.measure), None
        except KeyboardInterrupt as interrupt:
            return self._finish_after(
                interrupt, lambda limit_s: self._calls.wait(request, STAGE, limit_s, grace_s=0.0)
            )

    def _finish_after(self, interrupt: KeyboardInterrupt, answer: Callable[[float], Frame]) -> PassReply:
        """What is in hand when an interrupt comes; the interrupt at once where it does not end in time."""
        try:
            return answer(self._timeouts.interrupt), interrupt
        except SessionError:
            raise interrupt from None

    def _match_clocks(self) -> None:
        if self._clock is not None:
            with self._calls.as_session_error(STAGE):
                self._clock.between(self._timeouts.measure)

    def _pause_s(self, schedule: Schedule) -> float:
        """For how long the device waits before the next pass is due; nobody waits for a runner's own time."""
        return 0.0 if self._clock is None else schedule.wait_s(self._clock.device_ns())
