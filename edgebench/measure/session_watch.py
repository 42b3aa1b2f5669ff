"""One session as it goes on: its stage, what is left of it, and what it shows of its trial's cost."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from edgebench.plan.estimate import Cost, Shape, Span, cost_of_session, left_s, session_s, steady_passes
from edgebench.session_stages import BUILD, IDLE, SENDING, STAGES, SessionStage
from edgebench.vocabulary.passes import Pass, Window

SLACK_S = 0.1
"""How long before the next paced pass there is still time to say that one has ended."""


def unwatched(*, begins: bool) -> None:
    """Nobody looks."""


class SessionWatch:
    """Follows a session by the stages that it reports and the passes that arrive.

    Args:
        shape: what the session consists of.
        known: what such a session costs, as far as that is known.
        moved: called whenever there is something new, with whether a stage begins; never from a timed region.
        clock: seconds on a clock that never steps.
        target: the name of what is measured.
    """

    def __init__(
        self,
        shape: Shape,
        known: Cost | None = None,
        moved: Callable[..., None] = unwatched,
        clock: Callable[[], float] = time.perf_counter,
        target: str = "the board",
    ) -> None:
        self.shape = shape
        self.cost = known
        self.text = ""
        self.once_s = 0.0
        self._known = known
        self._moved = moved
        self._clock = clock
        self._began_s = self._stage_began_s = clock()
        self._target = target
        self._stage: SessionStage = "load"
        self._reported = ""
        self._done = 0.0
        self._loaded_s: float | None = None
        self._warmup_batches: int | None = None
        self._steady_s: list[float] = []
        self._steady_began_ns: int | None = None

    # --- what is heard ---

    def report(self, stage: str, done: int, steps: int) -> None:
        """A stage begins or goes on: one of STAGES, or one in which files are sent.

        BUILD may be followed by what is being built.
        """
        name, _, detail = stage.partition(": ") if stage.startswith(BUILD) else (stage, "", "")
        begins = name != self._reported
        if begins:
            self._change_to(name)
        if name in STAGES:
            self._done = done / steps if steps else 0.0
        if name == "passes":
            self._end_warmup()
        if name == BUILD:
            name = f"building on {self._target}: {detail or 'starting'}"
        unit = "window" if self.shape.windows else "pass"
        self.text = _words(name.replace("first pass", f"first {unit}"), done, steps, unit)
        self._moved(begins=begins)

    def patch_took(self, patch_s: float) -> None:
        """Take in what a golden patch took: an estimate, where nothing else is known of such a session."""
        if self._known is None and not self.shape.own_clock:
            self.cost = Cost(patch_s, self._clock() - self._began_s - self.once_s, measured=False)
            self._done = 1.0  # of the load: nothing of it comes after the golden patches
            self._moved(begins=False)

    def arrived(self, measurement: Pass | Window) -> None:
        """Take in a pass, the warm-up's batches, or a window."""
        if measurement.phase == "warmup":
            self._warmup_batches = (self._warmup_batches or 0) + _batches(measurement)
            return
        scene_s = _scene_s(measurement, self.shape.patches)
        if measurement.phase == "first":
            self._end_first(scene_s, (measurement.end_ns - measurement.start_ns) / 1e9)
            return
        self._steady_s.append(scene_s)
        if self._steady_began_ns is None:
            self._steady_began_ns = measurement.start_ns
        self._end_warmup()
        self._learn(statistics.fmean(self._steady_s))
        self._stage = "passes"
        done = len(self._steady_s)
        unit = "window" if isinstance(measurement, Window) else "pass"
        if self.shape.sustained_s is None:
            passes = self.shape.passes
            if isinstance(measurement, Pass):
                passes = steady_passes(statistics.fmean(self._steady_s), self.shape)
            self._done = done / passes
            self.text = _words("passes", done, passes, unit, "about " * (passes > self.shape.passes))
        else:
            lasting_s = max(self.shape.sustained_s, self.shape.least_s or 0.0)
            self._done = (measurement.end_ns - self._steady_began_ns) / 1e9 / lasting_s
            self.text = f"{unit} {done + 1}"
        lateness_ns = None if isinstance(measurement, Window) else measurement.lateness_ns
        # Nothing may delay a paced pass that is due already.
        if lateness_ns is None or lateness_ns < -SLACK_S * 1e9:
            self._moved(begins=False)

    # --- what is known by now ---

    @property
    def left(self) -> Span:
        """What is left of the session."""
        if self.shape.own_clock:  # its stages say nothing of real time
            whole = session_s(self.cost, self.shape)
            gone_s = self._clock() - self._began_s
            return Span(max(0.0, whole.least_s - gone_s), max(0.0, whole.most_s - gone_s))
        return left_s(self.cost, self.shape, self._stage, self._done)

    @property
    def share(self) -> float:
        """How much of the session is done, from 0 to 1; 0 while nobody knows what all of it takes."""
        whole = session_s(self.cost, self.shape)
        if not whole.known or whole.most_s <= 0:
            return 0.0
        return min(max(1.0 - self.left.most_s / whole.most_s, 0.0), 1.0)

    def cost_of(self, scene_s: float | None, took_s: float) -> Cost:
        """What the session cost, now that it has ended: by its median for the scene and all of its time.

        Without a median, because its stamps are no device's time, none of it depends on patches.
        """
        if scene_s is None:
            return Cost(0.0, max(0.0, took_s - self.once_s), self._warmup_batches or 0)
        return cost_of_session(
            self.shape,
            scene_s=scene_s,
            warmup_batches=self._warmup_batches or 0,
            took_s=max(0.0, took_s - self.once_s),
        )

    def _change_to(self, stage: str) -> None:
        now_s = self._clock()
        if self._reported.startswith(SENDING) or self._reported == BUILD:
            self.once_s += now_s - self._stage_began_s
        self._stage_began_s = now_s
        self._reported = stage
        if stage in STAGES:
            self._stage = STAGES[STAGES.index(stage)]
            if stage not in (BUILD, "load") and self._loaded_s is None:
                self._loaded_s = now_s - self._began_s - self.once_s

    def _end_first(self, scene_s: float, took_s: float) -> None:
        # A session may report no stages at all: then its passes alone say how far it is.
        self._stage, self._done = "first pass", 1.0
        if self._loaded_s is None:
            self._loaded_s = max(0.0, self._clock() - self._began_s - self.once_s - took_s)
        self._learn(scene_s)

    def _end_warmup(self) -> None:
        self._warmup_batches = self._warmup_batches or 0
        if self.cost is not None:
            self.cost = replace(self.cost, warmup_batches=self._warmup_batches)

    def _learn(self, scene_s: float) -> None:
        if self.shape.own_clock:
            return
        overhead_s = self._loaded_s or 0.0 if self._known is None else self._known.overhead_s
        batches = self._warmup_batches
        if batches is None and self._known is not None:
            batches = self._known.warmup_batches
        self.cost = Cost(scene_s / self.shape.patches, overhead_s, batches)


def _batches(measurement: Pass | Window) -> int:
    """The batches of a warm-up; of a window, its inferences."""
    return measurement.inferences if isinstance(measurement, Window) else len(measurement.stamps_ns)


def _scene_s(measurement: Pass | Window, patches: int) -> float:
    """Seconds for a scene of so many patches, by a pass over all or some of them, or by a window."""
    if isinstance(measurement, Window):
        return measurement.scene_ns(patches) / 1e9
    covered = patches if measurement.scores is None else max(1, len(measurement.scores))
    return measurement.image_ns / 1e9 * patches / covered


def _words(stage: str, done: int, steps: int, unit: str = "pass", about: str = "") -> str:
    """A stage as a user reads it; of passes, windows and images, the one in hand."""
    if stage == "passes":
        return f"{unit} {min(done + 1, steps)} of {about}{steps}" if steps else f"{unit} {done + 1}"
    suffix = " MB" if stage.startswith(SENDING) else " s" if stage.startswith(IDLE) else ""
    return f"{stage} {done} of {steps}{suffix}" if steps else stage
