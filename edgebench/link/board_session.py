"""The frame of sessions on a board without an agent: idle windows, load bursts, clock, order of measuring."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.frames import ProtocolError
from edgebench.agent.pixels import preprocessing, resizing
from edgebench.link.clock_match import BETWEEN_TRIPS, ROUND_TRIPS, BoardFault, ClockTrips, as_session_error
from edgebench.link.schedule import Schedule
from edgebench.records.model import InputSpec
from edgebench.records.session import (
    BurstTimes,
    MeasurePlan,
    Pass,
    Phase,
    SessionFacts,
    SessionSettings,
    SessionWindows,
    Window,
)
from edgebench.session_stages import SessionStage
from edgebench.stats.clock import RoundTrip

# Questions to a board without an agent: whether it is amid an answer, and how its clock stands.


Answer = TypeVar("Answer")


class BoardCalls:
    """BoardFault as the board has it, from each method; ImpossibleTimes where its clock is none.

    Args:
        round_trip: the host's clock around a reading of the board's.
        has_real_time: whether the board's clock runs with time, and is held against the host's.

    Attributes:
        clock: the round trips so far.
        has_real_time: as given.
        is_amid_answer: whether an answer was begun and not ended, so that nobody may ask for more.
    """

    def __init__(self, round_trip: Callable[[], RoundTrip], has_real_time: bool = True) -> None:
        self.clock = ClockTrips()
        self.has_real_time = has_real_time
        self.is_amid_answer = False
        self._round_trip = round_trip

    def ask(self, request: Callable[[], Answer]) -> Answer:
        """What the request gives; one that fails leaves the board amid its answer."""
        self.is_amid_answer = True
        answer = request()
        self.is_amid_answer = False
        return answer

    def trips(self, count: int) -> int:
        """Round trips while the board does nothing else; what its clock said last, in ns."""
        device_ns = 0
        for _ in range(count):
            trip = self.ask(self._round_trip)
            device_ns = trip.device_ns
            if self.has_real_time:
                self.clock.add(trip)
        return device_ns

    def edge(self, name: str) -> None:
        """How the clocks stand at the `start` or `end` of the session."""
        self.trips(ROUND_TRIPS)
        if self.has_real_time:
            self.clock.note_edge(name, self.clock.trips[-ROUND_TRIPS:])


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
            settling, idle = self._idle("idle window")
            self._windows_ns = replace(self._windows_ns, idle=idle, settling=settling)
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
            self._windows_ns = replace(self._windows_ns, idle_after=self._idle("idle window after")[1])

    def _idle(self, stage: SessionStage) -> tuple[tuple[int, int], tuple[int, int]]:
        """The board waits for a command that does not come, first until meters have settled.

        Start and end of both on its clock.
        """
        idle_s = self._settings.idle_s
        from_ns = self._calls.trips(BETWEEN_TRIPS)
        self._sleep(self._settings.settle_s)
        start_ns = self._calls.trips(BETWEEN_TRIPS)
        began_s = time.monotonic()
        while (left_s := began_s + idle_s - time.monotonic()) > 0:
            self.report(stage, round(idle_s - left_s), round(idle_s))
            self._sleep(min(left_s, REPORT_S))
        return (from_ns, start_ns), (start_ns, self._calls.trips(BETWEEN_TRIPS))

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


# A picture as the bytes of a model's input, for a device that takes it as its memory has it.


def input_bytes(spec: InputSpec, patch: NDArray[np.uint8]) -> bytes:
    """The input as it lies in the board's memory, little-endian: of the shipped int8 models pixel - 128.

    Args:
        spec: of the artifact's input.
        patch: uint8 [height, width, 3]; of another size it is resized by the nearest pixel, as workers do.
    """
    picture = fitted(spec, patch)[None]
    shape = picture.shape if spec.layout == "NHWC" else (1, 3, spec.height, spec.width)
    tensor = np.empty(shape, spec.dtype)
    preprocessing(spec.model_dump(), picture, tensor)()
    return tensor.astype(tensor.dtype.newbyteorder("<"), copy=False).tobytes()


def fitted(spec: InputSpec, patch: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A patch uint8 [height, width, 3] of the input's size, in C order: resized where it is of another."""
    if patch.shape[:2] == (spec.height, spec.width):
        return np.ascontiguousarray(patch)
    picture = np.empty((spec.height, spec.width, 3), np.uint8)
    resizing(patch.shape[:2], picture.shape[:2])(picture, patch)
    return picture


def size_bytes(spec: InputSpec) -> int:
    """Of one input."""
    return spec.height * spec.width * 3 * np.dtype(spec.dtype).itemsize
