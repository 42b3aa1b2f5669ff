"""A session of windows on a device without an agent: golden patches, windows, images, one resident patch."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.files import quantised
from edgebench.agent.frames import ProtocolError
from edgebench.agent.pixels import preprocessing, resizing
from edgebench.agent.pixels import windows as cut_patches
from edgebench.link.clock_match import BETWEEN_TRIPS, ROUND_TRIPS, BoardFault, ClockTrips, as_session_error
from edgebench.link.session_loop import Schedule, SessionLoop, Timed, Timeouts
from edgebench.records.model import Artifact, InputSpec, TensorInput
from edgebench.records.session import (
    BurstTimes,
    ColdFigures,
    LoadBursts,
    MeasurePlan,
    Phase,
    ProbeChunk,
    ProbeInfo,
    SessionFacts,
    SessionSettings,
    WarmUp,
    Window,
)
from edgebench.records.values import ImageSet, Scores
from edgebench.session_stages import SessionStage
from edgebench.stats.clock import RoundTrip

# Sessions on a board without an agent: its clock, and what the session loop asks of it.

REPORT_S = 1.0
"""How often an idle window is reported."""

NO_PROBE = "the device has no meter or monitor: --meter names one that is plugged into this machine"

Answer = TypeVar("Answer")


class BoardSession(Generic[Timed]):
    """A session of windows, or of passes, whose subclass says how the board is timed.

    It is its own `Client` of the session loop. Every question to the board goes through `ask`. It raises
    BoardFault as the board has it, and ImpossibleTimes where its clock cannot be right.

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
        self._index = 0  # of what was timed last
        self._loop = SessionLoop(self, settings, time.monotonic if has_real_time else lambda: 0.0)

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
        """What the request returns; after one that fails, the board counts as still answering."""
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
        with as_session_error("measure"):
            try:
                yield from self._loop.measure(plan)
            finally:
                # A board that is amid an answer, or gone, is not waited for: the clock has no last edge then.
                if not self._is_amid_answer:
                    with suppress(BoardFault, ProtocolError):
                        self._edge("end")
            self._clock.require_agreement()

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """Nothing samples on the board."""
        return iter(())

    def facts(self) -> SessionFacts:
        """Clock, windows, bursts, why nothing samples on the board, and warnings about the clock, by now."""
        probes = (*self._settings.meters, *self._settings.preferred_meters)
        return SessionFacts(
            clock=self._clock.facts() if self._has_real_time else {},
            tick_ns=self._clock.tick_ns,
            windows_ns=self._loop.windows_ns,
            load_bursts=self._loop.load_bursts,
            probe_reasons=dict.fromkeys(probes or ("",), NO_PROBE),
            monitor_reasons=dict.fromkeys(self._settings.monitors, NO_PROBE),
            emulated=not self._has_real_time,
            warnings=tuple(self._clock.warnings()) if self._has_real_time else (),
        )

    # --- what the session loop asks for ---

    @property
    def metering(self) -> bool:
        """Whether a meter on the host samples the board."""
        return self._settings.host_metering and self._has_real_time

    @property
    def own_time(self) -> bool:
        """Whether the board's clock does not run with time."""
        return not self._has_real_time

    def probes(self) -> Sequence[ProbeInfo]:
        """None are on the board."""
        return ()

    def idle(self, idle_s: float, pause_s: float, report: Callable[[float], None]) -> tuple[int, int] | None:
        """The board waits for a command that does not come; start and end of it on its clock."""
        self.trips(BETWEEN_TRIPS)
        time.sleep(pause_s)
        start_ns = self.trips(BETWEEN_TRIPS)
        began_s = time.monotonic()
        while (left_s := began_s + idle_s - time.monotonic()) > 0:
            report(idle_s - left_s)
            time.sleep(min(left_s, REPORT_S))
        return start_ns, self.trips(BETWEEN_TRIPS)

    def burst(self, bursts: LoadBursts, report: Callable[[int, int], None]) -> BurstTimes:
        """Work for as long as each burst, after its pause."""
        from_ns = self.trips(BETWEEN_TRIPS)
        times: list[tuple[int, int]] = []
        for pause_s in bursts.pauses_s:
            time.sleep(pause_s)
            times.append(self._work(bursts.burst_s))
            report(len(times), len(bursts.pauses_s))
        return BurstTimes(from_ns, tuple(times))

    def first(self, plan: MeasurePlan) -> Iterator[Timed]:
        """The first pass or window."""
        yield self._take(0, "first")

    def warm_up(self, plan: MeasurePlan) -> Iterator[Timed]:
        """What the subclass times to warm the board up."""
        for timed in self._warm_up():
            self._index = timed.index
            yield timed

    def steady(self, plan: MeasurePlan, schedules: Sequence[Schedule]) -> Generator[Timed, None, None]:
        """One after the other, until the schedule is over."""
        [schedule] = schedules
        while not schedule.over:
            self._index += 1
            timed = self._take(self._index, "steady")
            schedule.take_in(timed.start_ns, timed.end_ns, None)
            yield timed


# A picture as the bytes of a model's input, for a device that takes it as its memory has it.


def input_bytes(spec: InputSpec, patch: NDArray[np.uint8]) -> bytes:
    """The input as the board's memory has it, little-endian: of the shipped int8 models pixel - 128.

    Args:
        spec: of the artifact's input.
        patch: uint8 [height, width, channels]; of another size it is resized by the nearest pixel, as
            workers do.
    """
    picture = fitted(spec, patch)[None]
    shape = picture.shape if spec.layout == "NHWC" else (1, spec.channels, spec.height, spec.width)
    tensor = np.empty(shape, spec.dtype)
    preprocessing(spec.model_dump(), picture, tensor)()
    return tensor.astype(tensor.dtype.newbyteorder("<"), copy=False).tobytes()


def fitted(spec: InputSpec, patch: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A patch uint8 [height, width, channels] of the input's size, in C order; resized from any other."""
    if patch.shape[:2] == (spec.height, spec.width):
        return np.ascontiguousarray(patch)
    picture = np.empty((spec.height, spec.width, spec.channels), np.uint8)
    resizing(patch.shape, picture.shape[:2])(picture, patch)
    return picture


def size_bytes(artifact: Artifact) -> int:
    """How large one inference's input is: a picture, or all inputs of a sample."""
    if artifact.tensors:
        return sum(math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize for tensor in artifact.tensors)
    spec = artifact.input
    return spec.height * spec.width * spec.channels * np.dtype(spec.dtype).itemsize


def stored_inputs(path: Path, tensors: Sequence[TensorInput]) -> NDArray[Any]:
    """Pictures uint8 [n, height, width, 3] of a `.npy`, or samples [n, ...] of a `.npz` with one input.

    Samples of real numbers are quantised as the input of the artifact is.
    """
    stored = np.load(path, mmap_mode="r")
    if isinstance(stored, np.ndarray):
        return stored
    with stored:
        return quantised(np.asarray(stored["0"]), tensors[0].model_dump())


# A device that infers one resident patch again and again: what a session of windows asks of it.


@dataclass(frozen=True)
class TimedInferences:
    """Inferences on the resident patch between two stamps of the device's monotonic clock.

    Attributes:
        start_ns, end_ns: before the first, after the last; no warm-up in between.
        scores: of the last one, float32 [classes].
        instructions: that all of them executed, where an emulator counts them.
    """

    start_ns: int
    end_ns: int
    scores: Scores
    instructions: int | None = None


class WindowBoard(Protocol):
    """BoardFault, from each of its methods, where the board does something else."""

    def resynchronise(self) -> None:
        """Before each phase: whatever was under way is over, and the next answer is the next command's."""

    def load(self, patch: NDArray[Any]) -> None:
        """Make a patch uint8 [height, width, 3], or a sample of the model's input, the resident one."""

    def infer(self, inferences: int, warm_ups: int, expected_s: float) -> TimedInferences:
        """Infer the resident patch; `expected_s` is how long all of it should take on the host's clock."""

    def round_trip(self) -> RoundTrip:
        """The host's clock around a reading of the device's."""


# How many inferences a window holds, by what one of them takes (pure).


@dataclass(frozen=True)
class WindowLengths:
    """Bounds of a window, as MLPerf Tiny's runner keeps them: at least 10 s and 10 inferences, at most 25 s.

    Attributes:
        least_s, most_s: of a window, in seconds of the device's clock.
        aim_s: what the number of inferences is computed for: a tenth more than the least.
        least_inferences: of a window, unless they took longer than `most_s`.
        most_inferences: of a window, whatever a clock says that stands still.
        warm_up_s: how long the warm-up before a window takes at most.
    """

    least_s: float = 10.0
    aim_s: float = 11.0
    most_s: float = 25.0
    least_inferences: int = 10
    most_inferences: int = 1_000_000
    warm_up_s: float = 2.5

    def inferences(self, inference_s: float) -> int:
        """How many a window has; where one takes more than `most_s`, a single one."""
        wanted = max(self.least_inferences, math.ceil(self.aim_s / inference_s))
        return max(1, min(wanted, math.floor(self.most_s / inference_s), self.most_inferences))

    def warm_ups(self, inference_s: float, floor: int) -> int:
        """Inferences before a window: as many as are asked for, as far as there is time."""
        return min(floor, math.floor(self.warm_up_s / inference_s))

    def window_s(self, inference_s: float) -> float:
        """How long a window is then."""
        return self.inferences(inference_s) * inference_s


USUAL = WindowLengths()
"""What every session has; tests have shorter ones."""


STEADY_SHARE = 0.05
"""By how much the first steady window may differ from the median of all where the warm-up was long enough."""

FIRST_INFERENCE_S = 20.0
"""What the first inference of a board of silicon is expected to take at most; the largest model takes 2 s."""


class WindowSession(BoardSession[Window]):
    """Measures windows; a device's own session derives from it, and adds what it knows of the device.

    Args:
        board: that infers.
        artifact, settings: what is measured, and how.
        lengths: of windows.
        has_real_time: as in BoardSession.
        keeps_input: whether the scores after several inferences of one load are right: engines may overwrite
            their input. Else each patch's scores are those of a single inference.
    """

    def __init__(
        self,
        board: WindowBoard,
        artifact: Artifact,
        settings: SessionSettings,
        lengths: WindowLengths = USUAL,
        *,
        has_real_time: bool = True,
        keeps_input: bool = True,
    ) -> None:
        super().__init__(board.round_trip, settings, has_real_time)
        self._board = board
        self._artifact = artifact
        self._lengths = lengths
        self._keeps_input = keeps_input
        self._resident: NDArray[Any] | None = None
        self._first_inference_s: float | None = None
        self._inference_s: float | None = None  # the latest estimate, on the board's clock
        self._host_inference_s: float | None = None  # the same on the host's
        self._plan: MeasurePlan | None = None
        self._scene_patches: list[tuple[int, NDArray[Any]]] = []
        self._windows: list[Window] = []
        self._warm_ups = 0

    # --- what is known of it ---

    def facts(self) -> SessionFacts:
        """What is known by now; the device adds its runtime and its own warnings."""
        facts = super().facts()
        steady = [window for window in self._windows if window.phase == "steady"]
        warmup = None
        if steady:  # inferences before each steady window, and whether the first of these was like the others
            inference_s = [window.duration_ns / window.inferences / 1e9 for window in steady]
            usual_s = statistics.median(inference_s)
            warmup = WarmUp(self._warm_ups, abs(inference_s[0] - usual_s) <= STEADY_SHARE * usual_s)
        return replace(
            facts,
            cold=ColdFigures(first_inference_s=self._first_inference_s),
            warmup=warmup,
            measured_patches=len({window.patch for window in self._windows}) or None,
            warnings=(*facts.warnings, *(self._warnings(steady) if self._has_real_time else ())),
        )

    def _warnings(self, steady: list[Window]) -> Iterator[str]:
        """That windows do not have the usual length."""
        inference_s, lengths = self._inference_s, self._lengths
        count = lengths.inferences(inference_s) if inference_s else lengths.least_inferences
        if count < lengths.least_inferences:
            yield (
                f"an inference takes {inference_s:.3g} s: its windows hold {count}, because "
                f"{lengths.least_inferences} take more than {lengths.most_s:g} s"
            )
        if short := sum(window.duration_ns < lengths.least_s * 1e9 for window in steady):
            yield (
                f"{short} of {len(steady)} steady windows lasted less than {lengths.least_s:g} s: an "
                "inference took less than in the window before"
            )

    # --- the contract ---

    def golden(self) -> Scores:
        """Scores float32 [golden, classes], each patch loaded and inferred once."""
        patches = stored_inputs(self._artifact.golden.patches, self._artifact.tensors)
        return self._scores_of(patches, "golden", "load")

    def predict(self, images: ImageSet) -> Scores:
        """Scores float32 [n, classes] of the images, each loaded and inferred once."""
        return self._scores_of(stored_inputs(images.path, self._artifact.tensors), "predict", "images")

    def measure(self, plan: MeasurePlan) -> Generator[Window, None, None]:
        """The first window, cold; then steady ones, each after its warm-up, patch after patch."""
        with as_session_error("measure"):
            self.ask(self._board.resynchronise)
        self._plan = plan
        self._scene_patches = _patches_of(plan, self._artifact.tensors)
        yield from super().measure(plan)

    # --- windows ---

    def _take(self, index: int, phase: Phase) -> Window:
        assert self._plan is not None
        number, patch = self._scene_patches[max(index - 1, 0) % len(self._scene_patches)]
        self.trips(BETWEEN_TRIPS)
        self._load(patch)
        scores = self._infer_once() if self._inference_s is None or not self._keeps_input else None
        assert self._inference_s is not None
        inferences = self._lengths.inferences(self._inference_s)
        floor = 0 if phase == "first" else self._plan.warmup_floor
        self._warm_ups = self._lengths.warm_ups(self._inference_s, floor)
        timed, _ = self._infer(inferences, self._warm_ups)
        self.trips(1)
        # Warm-ups are left out as if all had taken as long.
        waited_ns = round((self._host_inference_s or 0.0) * inferences * 1e9)
        window = Window(
            index=index,
            phase=phase,
            patch=number,
            inferences=inferences,
            start_ns=timed.start_ns,
            end_ns=timed.end_ns,
            scores=timed.scores if scores is None else scores,
            instructions=timed.instructions,
            waited_ns=waited_ns if self._has_real_time else None,
        )
        self._windows.append(window)
        return window

    def _work(self, busy_s: float) -> tuple[int, int]:
        assert self._inference_s is not None  # known from the first window
        timed, _ = self._infer(max(1, round(busy_s / self._inference_s)), 0)
        return timed.start_ns, timed.end_ns

    # --- single patches ---

    def _scores_of(self, patches: NDArray[Any], stage: str, reported: SessionStage) -> Scores:
        """Scores of each patch, after one inference."""
        with as_session_error(stage):
            self.ask(self._board.resynchronise)
            scores = []
            for index, patch in enumerate(patches):
                self._settings.report(reported, index, len(patches))
                self._load(patch)
                scores.append(self._infer_once())
        self._settings.report(reported, len(patches), len(patches))
        return np.stack(scores)

    def _load(self, patch: NDArray[Any]) -> None:
        """Make a patch or a sample resident, unless it is."""
        if self._resident is not None and np.array_equal(self._resident, patch):
            return
        self._resident = None
        sent = np.ascontiguousarray(patch)
        self.ask(lambda: self._board.load(sent))
        self._resident = sent

    def _infer_once(self) -> Scores:
        """Scores float32 [classes] of the resident patch."""
        timed, inference_s = self._infer(1, 0)
        # The least of single inferences: the first of a session finds its caches empty.
        self._inference_s = min(self._inference_s or inference_s, inference_s)
        return timed.scores

    def _infer(self, inferences: int, warm_ups: int) -> tuple[TimedInferences, float]:
        """What the board gives, and the seconds of one inference on its clock.

        The latest window says how many inferences the next one has.
        """
        expected_s = self._expected_s(inferences + warm_ups)
        began_s = time.monotonic()
        timed = self.ask(lambda: self._board.infer(inferences, warm_ups, expected_s))
        self._host_inference_s = (time.monotonic() - began_s) / (inferences + warm_ups)
        inference_s = max(timed.end_ns - timed.start_ns, 1) / inferences / 1e9
        if self._first_inference_s is None:
            self._first_inference_s = inference_s
        if inferences > 1:
            self._inference_s = inference_s
        return timed, inference_s

    def _expected_s(self, inferences: int) -> float:
        """On this machine's clock, bounded: a board whose laps are too short is asked for far too many."""
        timeouts = Timeouts.from_environment()
        known_s = self._host_inference_s
        if known_s is None:  # emulators may take minutes
            return min(timeouts.golden / 3, FIRST_INFERENCE_S if self._has_real_time else math.inf)
        expected_s = min(known_s * inferences, timeouts.measure / 3)
        if self._has_real_time and self._inference_s is not None:
            # A single answer's time has all that an answer takes beside its inferences.
            expected_s = min(expected_s, known_s + self._inference_s * inferences)
        return expected_s


def _patches_of(plan: MeasurePlan, tensors: Sequence[TensorInput]) -> list[tuple[int, NDArray[Any]]]:
    """The patches that windows infer in turn, spread evenly over the scene, each with its place in it.

    Samples are taken again from the first one, where a pass has more of them than there are.
    """
    scene, stored = plan.scene, stored_inputs(plan.scene.path, tensors)
    patches: Sequence[NDArray[Any]] = (
        list(stored)
        if scene.kind == "samples"
        else cut_patches(stored, scene.patch, scene.patch_width, scene.stride)
    )
    count = min(plan.patches or scene.patches, scene.patches)
    numbers = [index * scene.patches // count for index in range(count)]
    return [(number, patches[number % len(patches)]) for number in numbers]


# How long the stages of a session of windows take, from the least to the most (pure).


GOLDEN_PATCHES = 5
"""How many the shipped artifacts have; a user's own may have others."""

Seconds = tuple[float, float]
"""The least and the most."""


def window_stages_s(
    plan: MeasurePlan,
    lengths: WindowLengths,
    load_s: Seconds,
    inference_s: Seconds | None = None,
) -> Mapping[SessionStage, Seconds]:
    """The seconds of each stage, as `Backend.stage_seconds` has them.

    Args:
        plan: of one session.
        lengths: of its windows.
        load_s: to make a patch the resident one.
        inference_s: what one inference takes, roughly; None: as long as a window allows.
    """
    if inference_s is None:
        inference_s = (0.0, lengths.most_s / lengths.least_inferences)
        window_s = (lengths.least_s, lengths.most_s + lengths.warm_up_s)
    else:
        least_s, most_s = inference_s
        window_s = (lengths.window_s(least_s), lengths.window_s(most_s) + lengths.warm_up_s)
    stages: dict[SessionStage, Seconds] = {
        "load": _times(GOLDEN_PATCHES, load_s, inference_s),
        "first pass": _times(1, load_s, window_s),
        "warm-up": (0.0, 0.0),
        "passes": (_steady_s(plan, window_s[0], load_s[0]), _steady_s(plan, window_s[1], load_s[1])),
    }
    if plan.images is not None:
        stages["images"] = _times(plan.images.n, load_s, inference_s)
    return stages


def _steady_s(plan: MeasurePlan, window_s: float, load_s: float) -> float:
    """All steady windows, with a load before each where patches take turns."""
    counted_s = 0.0 if plan.sustained_s else plan.passes * window_s
    steady_s = max(counted_s, plan.sustained_s or 0.0, plan.least_s or 0.0)
    takes_turns = (plan.patches or plan.scene.patches) > 1
    if not takes_turns or not 0 < window_s < math.inf:
        return steady_s
    return steady_s + math.ceil(steady_s / window_s) * load_s


def _times(count: int, *seconds: Seconds) -> Seconds:
    return count * sum(least_s for least_s, _ in seconds), count * sum(most_s for _, most_s in seconds)
