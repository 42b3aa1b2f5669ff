"""Sessions on a board without an agent: clock, idle windows, load bursts, order of measuring, inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
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
    ProbeChunk,
    SessionFacts,
    SessionSettings,
    SessionWindows,
    Window,
)
from edgebench.session_stages import SessionStage
from edgebench.stats.clock import RoundTrip

REPORT_S = 1.0
"""How often an idle window is reported."""

NO_PROBE = "the device has no meter or monitor: --meter names one that is plugged into this machine"

Timed = TypeVar("Timed", bound=Pass | Window)
Answer = TypeVar("Answer")


class BoardSession(Generic[Timed]):
    """A session of windows, or of passes, whose subclass says how the board is timed.

    Every question to the board goes through `ask`. It raises BoardFault as the board has it, and
    ImpossibleTimes where its clock cannot be right.

    Args:
        round_trip: the host's clock around a reading of the board's.
        settings: of the session.
        has_real_time: whether the board's clock runs with time; otherwise it is not compared with the host's,
            and there are no idle windows and bursts.
    """

    def __init__(
        self, round_trip: Callable[[], RoundTrip], settings: SessionSettings, has_real_time: bool = True
    ) -> None:
        self._round_trip = round_trip
        self._settings = settings
        self._has_real_time = has_real_time
        self._clock = ClockTrips()
        self._is_amid_answer = False
        self._windows_ns = SessionWindows()
        self._load_bursts: BurstTimes | None = None

    # --- what the subclass does ---

    def _take(self, index: int, phase: Phase) -> Timed:
        """The pass or window with this index, in this phase (`first`, then `steady`)."""
        raise NotImplementedError

    def _work(self, busy_s: float) -> tuple[int, int]:
        """Keep the board busy for about this many seconds; start and end on its clock, ns."""
        raise NotImplementedError

    def _warm_up(self) -> Iterable[Timed]:
        """What is timed between the first and the steady ones; their indices are not used again."""
        return ()

    # --- questions to the board ---

    def ask(self, request: Callable[[], Answer]) -> Answer:
        """What the request returns; after one that fails, the board counts as amid its answer."""
        self._is_amid_answer = True
        answer = request()
        self._is_amid_answer = False
        return answer

    def trips(self, count: int) -> int:
        """Round trips while the board does nothing else; the latest reading of its clock, in ns."""
        device_ns = 0
        for _ in range(count):
            trip = self.ask(self._round_trip)
            device_ns = trip.device_ns
            if self._has_real_time:
                self._clock.add(trip)
        return device_ns

    def _edge(self, name: str) -> None:
        self.trips(ROUND_TRIPS)
        if self._has_real_time:
            self._clock.note_edge(name, self._clock.trips[-ROUND_TRIPS:])

    # --- the contract ---

    def start(self) -> None:
        """The clock's first edge; SessionError where the board does not answer."""
        with as_session_error("start"):
            self._edge("start")

    def measure(self, plan: MeasurePlan) -> Generator[Timed, None, None]:
        """The first one, cold; those of the warm-up; then steady ones, as the plan has them, unpaced.

        SessionError where the board or its clock fails.
        """
        try:
            with as_session_error("measure"):
                yield from self._measured(plan)
        finally:
            # A board that is amid an answer, or gone, is not waited for: the clock has no last edge then.
            if not self._is_amid_answer:
                with suppress(BoardFault, ProtocolError):
                    self._edge("end")
        with as_session_error("measure"):
            self._clock.require_agreement()

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """Nothing samples on the board."""
        return iter(())

    def facts(self) -> SessionFacts:
        """Clock, windows, bursts, why nothing samples on the board, and warnings about the clock, by now."""
        probes = (*self._settings.meters, *self._settings.preferred_meters)
        return SessionFacts(
            clock=self._clock.facts() if self._has_real_time else {},
            windows_ns=self._windows_ns,
            load_bursts=self._load_bursts,
            probe_reasons=dict.fromkeys(probes or ("",), NO_PROBE),
            monitor_reasons=dict.fromkeys(self._settings.monitors, NO_PROBE),
            emulated=not self._has_real_time,
            warnings=tuple(self._clock.warnings()) if self._has_real_time else (),
        )

    # --- the order of measuring ---

    def _measured(self, plan: MeasurePlan) -> Generator[Timed, None, None]:
        report = self._settings.report
        is_metered = self._settings.host_metering and self._has_real_time
        if is_metered and self._settings.idle_s > 0:
            settling, idle = self._idle("idle window")
            self._windows_ns = replace(self._windows_ns, idle=idle, settling=settling)
        report("first pass", 0, 0)
        yield self._take(0, "first")
        report("warm-up", 0, 0)
        index = 0
        for timed in self._warm_up():
            index = timed.index
            yield timed
        if is_metered:
            self._burst()
        schedule = Schedule(
            plan if is_metered else replace(plan, least_s=None),
            time.monotonic if self._has_real_time else lambda: 0.0,
        )
        counted = plan.sustained_s is None and (plan.least_s is None or not is_metered)
        report("passes", 0, plan.passes if counted else 0)
        while not schedule.over:
            index += 1
            timed = self._take(index, "steady")
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
        from_ns = self.trips(BETWEEN_TRIPS)
        time.sleep(self._settings.settle_s)
        start_ns = self.trips(BETWEEN_TRIPS)
        began_s = time.monotonic()
        while (left_s := began_s + idle_s - time.monotonic()) > 0:
            self._settings.report(stage, round(idle_s - left_s), round(idle_s))
            time.sleep(min(left_s, REPORT_S))
        return (from_ns, start_ns), (start_ns, self.trips(BETWEEN_TRIPS))

    def _burst(self) -> None:
        """Bursts of load, from which the lag of a meter on the host is computed."""
        plan = self._settings.bursts
        if plan is None:
            return
        self._settings.report("load bursts", 0, len(plan.pauses_s))
        from_ns = self.trips(BETWEEN_TRIPS)
        bursts = []
        for pause_s in plan.pauses_s:
            time.sleep(pause_s)
            bursts.append(self._work(plan.burst_s))
            self._settings.report("load bursts", len(bursts), len(plan.pauses_s))
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
