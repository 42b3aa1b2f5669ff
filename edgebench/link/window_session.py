"""A session of windows on a device without an agent: golden patches, windows, images, one resident patch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import windows as cut_patches
from edgebench.link.board_calls import BoardCalls
from edgebench.link.board_fault import as_session_error
from edgebench.link.board_session import BoardSession
from edgebench.link.clock_trips import BETWEEN_TRIPS
from edgebench.link.window_board import WindowBoard
from edgebench.link.window_lengths import USUAL, WindowLengths
from edgebench.link.window_requests import WindowRequests
from edgebench.session_stages import SessionStage
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.passes import Phase, Window
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import ColdFigures, SessionFacts, WarmUp
from edgebench.vocabulary.values import Scores

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
