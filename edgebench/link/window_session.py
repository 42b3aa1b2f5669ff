"""A session of windows on a device without an agent: golden patches, windows, images, one resident patch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.frames import ProtocolError
from edgebench.agent.pixels import windows as cut_patches
from edgebench.link.clock_trips import BETWEEN_TRIPS
from edgebench.link.schedule import Schedule
from edgebench.link.window_board import BoardFault, WindowBoard
from edgebench.link.window_lengths import USUAL, WindowLengths
from edgebench.link.window_requests import WindowRequests, as_session_error
from edgebench.session_stages import SessionStage
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.load_bursts import BurstTimes
from edgebench.vocabulary.passes import Phase, Window
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import ColdFigures, SessionFacts, SessionWindows, WarmUp
from edgebench.vocabulary.values import Scores

STEADY_SHARE = 0.05
"""By how much the first steady window may differ from the median of all where the warm-up was long enough."""

REPORT_S = 1.0
"""How often an idle window is reported."""

NO_PROBE = "the device has no meter or monitor: --meter names one that is plugged into this machine"


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
        self._sleep = sleep
        self._requests = WindowRequests(board, has_real_time)
        self._windows_ns = SessionWindows()
        self._load_bursts: BurstTimes | None = None
        self._patches: set[int] = set()  # of the scene, in windows
        self._steady_inference_s: list[float] = []
        self._short_windows = 0
        self._warm_ups = 0

    # --- what is known of it ---

    def facts(self) -> SessionFacts:
        """What is known by now; the device adds its runtime, and what it warns of."""
        probes = (*self._settings.meters, *self._settings.preferred_meters)
        return SessionFacts(
            cold=ColdFigures(first_inference_s=self._requests.first_inference_s),
            warmup=self._warm_up(),
            clock=self._requests.clock.facts() if self._has_real_time else {},
            windows_ns=self._windows_ns,
            load_bursts=self._load_bursts,
            probe_reasons=dict.fromkeys(probes or ("",), NO_PROBE),
            monitor_reasons=dict.fromkeys(self._settings.monitors, NO_PROBE),
            measured_patches=len(self._patches) or None,
            emulated=not self._has_real_time,
            warnings=self._warnings(),
        )

    def _warm_up(self) -> WarmUp | None:
        """Inferences before each steady window, and whether the first of these was like the others."""
        if not self._steady_inference_s:
            return None
        usual_s = statistics.median(self._steady_inference_s)
        is_steady = abs(self._steady_inference_s[0] - usual_s) <= STEADY_SHARE * usual_s
        return WarmUp(self._warm_ups, is_steady)

    def _warnings(self) -> tuple[str, ...]:
        """Of its clock, and of windows that are none of the usual length; none where it is no time."""
        if not self._has_real_time:
            return ()
        inference_s, lengths = self._requests.inference_s, self._lengths
        count = lengths.inferences(inference_s) if inference_s else lengths.least_inferences
        warnings = self._requests.clock.warnings()
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
        with as_session_error("start"):
            self._requests.edge("start")

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
        try:
            with as_session_error("measure"):
                yield from self._windows(plan)
        finally:
            # A board that is amid an answer, or gone, is not waited for: the clock has no last edge then.
            if not self._requests.is_amid_answer:
                with suppress(BoardFault, ProtocolError):
                    self._requests.edge("end")
        with as_session_error("measure"):
            self._requests.clock.require_agreement()

    # --- windows ---

    def _windows(self, plan: MeasurePlan) -> Generator[Window, None, None]:
        self._requests.resynchronise()
        is_metered = self._settings.host_metering and self._has_real_time
        patches = _patches_of(plan)
        if is_metered and self._settings.idle_s > 0:
            self._windows_ns = replace(self._windows_ns, idle=self._idle("idle window"))
        self._report("first pass")
        yield self._window(0, "first", *patches[0], warm_up_floor=0)
        self._report("warm-up")
        if is_metered:
            self._burst()
        schedule = Schedule(
            plan if is_metered else replace(plan, least_s=None),
            time.monotonic if self._has_real_time else lambda: 0.0,
        )
        counted = plan.sustained_s is None and (plan.least_s is None or not is_metered)
        self._report("passes", 0, plan.passes if counted else 0)
        index = 0
        while not schedule.over:
            index += 1
            patch = patches[(index - 1) % len(patches)]
            window = self._window(index, "steady", *patch, warm_up_floor=plan.warmup_floor)
            schedule.take_in(window.start_ns, window.end_ns, None)
            self._note_steady(window)
            yield window
        if is_metered and self._settings.idle_s > 0:
            self._windows_ns = replace(self._windows_ns, idle_after=self._idle("idle window after"))

    def _window(
        self, index: int, phase: Phase, number: int, patch: NDArray[np.uint8], *, warm_up_floor: int
    ) -> Window:
        self._requests.trips(BETWEEN_TRIPS)
        self._requests.load(patch)
        is_first = self._requests.inference_s is None
        scores = self._requests.infer_once() if is_first or not self._keeps_input else None
        assert self._requests.inference_s is not None
        inferences = self._lengths.inferences(self._requests.inference_s)
        warm_ups = self._lengths.warm_ups(self._requests.inference_s, warm_up_floor)
        timed, _ = self._requests.infer(inferences, warm_ups)
        self._requests.trips(1)
        self._patches.add(number)
        if phase == "steady":
            self._warm_ups = warm_ups
        return Window(
            index=index,
            phase=phase,
            patch=number,
            inferences=inferences,
            start_ns=timed.start_ns,
            end_ns=timed.end_ns,
            scores=timed.scores if scores is None else scores,
            instructions=timed.instructions,
        )

    def _note_steady(self, window: Window) -> None:
        self._steady_inference_s.append(window.duration_ns / window.inferences / 1e9)
        self._short_windows += window.duration_ns < self._lengths.least_s * 1e9
        start_ns, _ = self._windows_ns.steady or (window.start_ns, window.end_ns)
        self._windows_ns = replace(self._windows_ns, steady=(start_ns, window.end_ns))

    def _idle(self, stage: SessionStage) -> tuple[int, int]:
        """The board waits for a command that does not come; start and end on its clock."""
        idle_s = self._settings.idle_s
        start_ns = self._requests.trips(BETWEEN_TRIPS)
        began_s = time.monotonic()
        while (left_s := began_s + idle_s - time.monotonic()) > 0:
            self._report(stage, round(idle_s - left_s), round(idle_s))
            self._sleep(min(left_s, REPORT_S))
        return start_ns, self._requests.trips(BETWEEN_TRIPS)

    def _burst(self) -> None:
        """Bursts of load by which the lag of a meter on the host is known."""
        plan, inference_s = self._settings.bursts, self._requests.inference_s
        if plan is None or inference_s is None:
            return
        self._report("load bursts", 0, len(plan.pauses_s))
        from_ns = self._requests.trips(BETWEEN_TRIPS)
        bursts = []
        for pause_s in plan.pauses_s:
            self._sleep(pause_s)
            timed, _ = self._requests.infer(max(1, round(plan.burst_s / inference_s)), 0)
            bursts.append((timed.start_ns, timed.end_ns))
            self._report("load bursts", len(bursts), len(plan.pauses_s))
        self._load_bursts = BurstTimes(from_ns, tuple(bursts))

    # --- single patches ---

    def _scores_of(self, patches: NDArray[np.uint8], stage: SessionStage) -> Scores:
        """Of each patch, after one inference."""
        self._requests.resynchronise()
        scores = []
        for index, patch in enumerate(patches):
            self._report(stage, index, len(patches))
            self._requests.load(patch)
            scores.append(self._requests.infer_once())
        self._report(stage, len(patches), len(patches))
        return np.stack(scores)

    def _report(self, stage: SessionStage, done: int = 0, steps: int = 0) -> None:
        self._settings.report(stage, done, steps)


def _patches_of(plan: MeasurePlan) -> list[tuple[int, NDArray[np.uint8]]]:
    """The patches that windows infer in turn, spread evenly over the scene, each with its place in it."""
    scene = plan.scene
    pixels = np.load(scene.path, mmap_mode="r")
    patches = cut_patches(pixels, scene.patch, scene.patch_width, scene.stride)
    count = min(plan.patches or len(patches), len(patches))
    numbers = [index * len(patches) // count for index in range(count)]
    return [(number, patches[number]) for number in numbers]
