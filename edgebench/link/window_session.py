"""A session of windows on a device without an agent: golden patches, windows, images, one resident patch."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import windows as cut_patches
from edgebench.link.board_session import BoardCalls, BoardSession
from edgebench.link.clock_match import BETWEEN_TRIPS, as_session_error
from edgebench.link.schedule import Timeouts
from edgebench.records.model import Artifact
from edgebench.records.session import (
    ColdFigures,
    MeasurePlan,
    Phase,
    SessionFacts,
    SessionSettings,
    WarmUp,
    Window,
)
from edgebench.records.values import ImageSet, Scores
from edgebench.session_stages import SessionStage
from edgebench.stats.clock import RoundTrip

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

    def load(self, patch: NDArray[np.uint8]) -> None:
        """Make a patch uint8 [height, width, 3] the resident one."""

    def infer(self, inferences: int, warm_ups: int, expected_s: float) -> TimedInferences:
        """Infer the resident patch; `expected_s` is how long all of it should take on the host's clock."""

    def round_trip(self) -> RoundTrip:
        """The host's clock around a reading of the device's."""


# Requests to a board of windows: which patch it holds, and how long an inference takes.


FIRST_INFERENCE_S = 20.0
"""What the first inference of a board of silicon is expected to take at most; the largest model takes 2 s."""


class WindowRequests:
    """BoardFault, from each of its methods, as the board has it.

    Args:
        board: that infers.
        calls: to it.

    Attributes:
        first_inference_s: what the first inference took; None before it.
        inference_s: what one takes on the board's clock; None before the first.
        host_inference_s: the same on the host's clock.
    """

    def __init__(self, board: WindowBoard, calls: BoardCalls) -> None:
        self.first_inference_s: float | None = None
        self.inference_s: float | None = None
        self.host_inference_s: float | None = None
        self._board = board
        self._calls = calls
        self._resident: NDArray[np.uint8] | None = None

    def resynchronise(self) -> None:
        """Before each phase."""
        self._calls.ask(self._board.resynchronise)

    def load(self, patch: NDArray[np.uint8]) -> None:
        """Make a patch uint8 [height, width, 3] resident that is not."""
        if self._resident is not None and np.array_equal(self._resident, patch):
            return
        self._resident = None
        sent = np.ascontiguousarray(patch)
        self._calls.ask(lambda: self._board.load(sent))
        self._resident = sent

    def infer_once(self) -> Scores:
        """Scores float32 [classes] of the resident patch."""
        timed, inference_s = self.infer(1, 0)
        # The least of single inferences: the first of a session finds its caches empty.
        self.inference_s = min(self.inference_s or inference_s, inference_s)
        return timed.scores

    def infer(self, inferences: int, warm_ups: int) -> tuple[TimedInferences, float]:
        """What the board gives, and the seconds of one inference on its clock.

        The latest window says how many inferences the next one has.
        """
        expected_s = self._expected_s(inferences + warm_ups)
        began_s = time.monotonic()
        timed = self._calls.ask(lambda: self._board.infer(inferences, warm_ups, expected_s))
        self.host_inference_s = (time.monotonic() - began_s) / (inferences + warm_ups)
        inference_s = max(timed.end_ns - timed.start_ns, 1) / inferences / 1e9
        if self.first_inference_s is None:
            self.first_inference_s = inference_s
        if inferences > 1:
            self.inference_s = inference_s
        return timed, inference_s

    def waited_ns(self, inferences: int) -> int:
        """So many of the latest inferences on the host's clock, warm-ups left out as if all took as long."""
        return round((self.host_inference_s or 0.0) * inferences * 1e9)

    def _expected_s(self, inferences: int) -> float:
        """On this machine's clock, bounded: a board whose laps are too short is asked for far too many."""
        known_s = self.host_inference_s
        if known_s is None:
            return self._first_expected_s()
        expected_s = min(known_s * inferences, Timeouts.from_environment().measure / 3)
        if self._calls.has_real_time and self.inference_s is not None:
            # A single answer's time has all that an answer takes beside its inferences.
            expected_s = min(expected_s, known_s + self.inference_s * inferences)
        return expected_s

    def _first_expected_s(self) -> float:
        """Of an inference of which nothing is known: emulators may take minutes."""
        limit_s = Timeouts.from_environment().golden / 3
        return min(limit_s, FIRST_INFERENCE_S) if self._calls.has_real_time else limit_s


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
        """Of a window; where one takes more than `most_s`, a single one."""
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


class WindowSession:
    """What is measured of one session; the device's Session holds it, and adds what it knows of the device.

    Args:
        board: that infers.
        artifact, settings: what is measured, and how.
        lengths: of windows.
        has_real_time: whether the board's clock runs with time; no idle windows and bursts where it does not.
        keeps_input: whether the scores after several inferences of one load are right: engines may overwrite
            their input. Else each patch's scores are those of a single inference.
        sleep: waits so many seconds.
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
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._artifact = artifact
        self._settings = settings
        self._lengths = lengths
        self._has_real_time = has_real_time
        self._keeps_input = keeps_input
        self._calls = BoardCalls(board.round_trip, has_real_time)
        self._session = BoardSession[Window](self._calls, settings, sleep)
        self._requests = WindowRequests(board, self._calls)
        self._patches: set[int] = set()  # of the scene, in windows
        self._steady_inference_s: list[float] = []
        self._short_windows = 0
        self._warm_ups = 0

    # --- what is known of it ---

    def facts(self) -> SessionFacts:
        """What is known by now; the device adds its runtime, and what it warns of."""
        facts = self._session.facts()
        return replace(
            facts,
            cold=ColdFigures(first_inference_s=self._requests.first_inference_s),
            warmup=self._warm_up(),
            measured_patches=len(self._patches) or None,
            warnings=(*facts.warnings, *self._warnings()),
        )

    def _warm_up(self) -> WarmUp | None:
        """Inferences before each steady window, and whether the first of these was like the others."""
        if not self._steady_inference_s:
            return None
        usual_s = statistics.median(self._steady_inference_s)
        is_steady = abs(self._steady_inference_s[0] - usual_s) <= STEADY_SHARE * usual_s
        return WarmUp(self._warm_ups, is_steady)

    def _warnings(self) -> tuple[str, ...]:
        """Of windows that are none of the usual length; none where its clock is no time."""
        if not self._has_real_time:
            return ()
        inference_s, lengths = self._requests.inference_s, self._lengths
        count = lengths.inferences(inference_s) if inference_s else lengths.least_inferences
        warnings = []
        if count < lengths.least_inferences:
            warnings.append(
                f"an inference takes {inference_s:.3g} s: its windows hold {count}, because "
                f"{lengths.least_inferences} take more than {lengths.most_s:g} s"
            )
        if self._short_windows:
            warnings.append(
                f"{self._short_windows} of {len(self._steady_inference_s)} steady windows lasted less than "
                f"{lengths.least_s:g} s: an inference took less than in the window before"
            )
        return tuple(warnings)

    # --- the contract ---

    def start(self) -> None:
        """The clock's first edge; SessionError where the board does not answer."""
        self._session.start()

    def golden(self) -> Scores:
        """Scores float32 [golden, classes], each patch loaded and inferred once."""
        patches = np.load(self._artifact.golden.patches)
        with as_session_error("golden"):
            scores = self._scores_of(patches, "load")
        if self._requests.host_inference_s is not None:
            self._settings.patch_took(self._requests.host_inference_s)
        return scores

    def predict(self, images: ImageSet) -> Scores:
        """Scores float32 [n, classes] of the images, each loaded and inferred once."""
        with as_session_error("predict"):
            return self._scores_of(np.load(images.path, mmap_mode="r"), "images")

    def measure(self, plan: MeasurePlan) -> Generator[Window, None, None]:
        """The first window, cold; then steady ones, each after its warm-up, patch after patch."""
        with as_session_error("measure"):
            self._requests.resynchronise()
        patches = _patches_of(plan)

        def window(index: int, phase: Phase) -> Window:
            number, patch = patches[max(index - 1, 0) % len(patches)]
            floor = 0 if phase == "first" else plan.warmup_floor
            return self._window(index, phase, number, patch, warm_up_floor=floor)

        yield from self._session.measure(plan, window, self._work)

    # --- windows ---

    def _window(
        self, index: int, phase: Phase, number: int, patch: NDArray[np.uint8], *, warm_up_floor: int
    ) -> Window:
        self._calls.trips(BETWEEN_TRIPS)
        self._requests.load(patch)
        is_first = self._requests.inference_s is None
        scores = self._requests.infer_once() if is_first or not self._keeps_input else None
        assert self._requests.inference_s is not None
        inferences = self._lengths.inferences(self._requests.inference_s)
        warm_ups = self._lengths.warm_ups(self._requests.inference_s, warm_up_floor)
        timed, _ = self._requests.infer(inferences, warm_ups)
        self._calls.trips(1)
        self._patches.add(number)
        window = Window(
            index=index,
            phase=phase,
            patch=number,
            inferences=inferences,
            start_ns=timed.start_ns,
            end_ns=timed.end_ns,
            scores=timed.scores if scores is None else scores,
            instructions=timed.instructions,
            waited_ns=self._requests.waited_ns(inferences) if self._has_real_time else None,
        )
        if phase == "steady":
            self._warm_ups = warm_ups
            self._note_steady(window)
        return window

    def _note_steady(self, window: Window) -> None:
        self._steady_inference_s.append(window.duration_ns / window.inferences / 1e9)
        self._short_windows += window.duration_ns < self._lengths.least_s * 1e9

    def _work(self, busy_s: float) -> tuple[int, int]:
        assert self._requests.inference_s is not None  # the first window has told
        timed, _ = self._requests.infer(max(1, round(busy_s / self._requests.inference_s)), 0)
        return timed.start_ns, timed.end_ns

    # --- single patches ---

    def _scores_of(self, patches: NDArray[np.uint8], stage: SessionStage) -> Scores:
        """Of each patch, after one inference."""
        self._requests.resynchronise()
        scores = []
        for index, patch in enumerate(patches):
            self._session.report(stage, index, len(patches))
            self._requests.load(patch)
            scores.append(self._requests.infer_once())
        self._session.report(stage, len(patches), len(patches))
        return np.stack(scores)


def _patches_of(plan: MeasurePlan) -> list[tuple[int, NDArray[np.uint8]]]:
    """The patches that windows infer in turn, spread evenly over the scene, each with its place in it."""
    scene = plan.scene
    pixels = np.load(scene.path, mmap_mode="r")
    patches = cut_patches(pixels, scene.patch, scene.patch_width, scene.stride)
    count = min(plan.patches or len(patches), len(patches))
    numbers = [index * len(patches) // count for index in range(count)]
    return [(number, patches[number]) for number in numbers]


# How long the stages of a session of windows take, from the least to the most (pure).


GOLDEN_PATCHES = 5
"""Of the shipped artifacts; a user's own may have others."""

Seconds = tuple[float, float]
"""The least and the most."""


def window_stages_s(
    plan: MeasurePlan,
    lengths: WindowLengths,
    load_s: Seconds,
    patch_s: float | None,
    unknown_s: Seconds | None = None,
) -> Mapping[SessionStage, Seconds]:
    """The seconds of each stage, as `Backend.stage_seconds` has them.

    Args:
        plan: of one session.
        lengths: of its windows.
        load_s: to make a patch the resident one.
        patch_s: what one inference takes; None where nothing was measured yet.
        unknown_s: what one takes then, roughly; None: as long as a window allows.
    """
    if patch_s is not None:
        inference_s: Seconds = (patch_s, patch_s)
        warm_up_s = lengths.warm_ups(patch_s, plan.warmup_floor) * patch_s
        window_s: Seconds = (lengths.window_s(patch_s), lengths.window_s(patch_s) + warm_up_s)
    elif unknown_s is not None:
        inference_s = unknown_s
        window_s = (lengths.window_s(unknown_s[0]), lengths.window_s(unknown_s[1]) + lengths.warm_up_s)
    else:
        inference_s = (0.0, lengths.most_s / lengths.least_inferences)
        window_s = (lengths.least_s, lengths.most_s + lengths.warm_up_s)
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
