"""What one worker of a session answers: checked against what was asked, and against time."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from edgebench.agent.frames import Frame
from edgebench.link.replies import (
    Bursts,
    GoldenScored,
    Idle,
    Loaded,
    Passed,
    Scored,
    Warmed,
    checked,
    scores_in,
    stamps_in,
)
from edgebench.link.schedule import Schedule
from edgebench.link.stamp_checks import (
    ClockSteps,
    ImpossibleTimes,
    Span,
    batch_ns,
    require_batches,
    require_bursts,
    require_fits,
    require_idle,
    require_timed,
    require_warm_up,
)
from edgebench.link.worker_calls import WorkerCalls
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.load_bursts import BurstTimes, LoadBursts
from edgebench.vocabulary.passes import Pass
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.session_facts import ColdFigures, MemoryFigures, WarmUp
from edgebench.vocabulary.values import Scores


class WorkerReplies:
    """Takes in one reply after the other; SessionError for what cannot be so.

    Args:
        artifact: what the worker has loaded.
        calls: to that worker.

    Attributes:
        stages: of a batch, by name.
        own_time: whether the stamps are of a time that the runner brings.
        clock_steps: of the clock of the stamps.
        cold, memory, warmup: what the replies so far say (see SessionFacts).
    """

    def __init__(self, artifact: Artifact, calls: WorkerCalls) -> None:
        self._artifact = artifact
        self._calls = calls
        self.stages: tuple[str, ...] = ()
        self.own_time = False
        self.clock_steps = ClockSteps()
        self.cold = ColdFigures()
        self.memory = MemoryFigures()
        self.warmup: WarmUp | None = None
        self._ready_s: float | None = None  # from the worker's start until it could infer
        self._reached_ns = 0  # of the stamps so far
        self._batch_ns: list[int] = []  # of the first pass

    def take_in_load(self, loaded: Loaded) -> None:
        """What loading took; ImpossibleTimes where that does not fit into the time since it was asked for."""
        self.own_time = loaded.own_time
        cold_s = (loaded.import_s or 0.0) + (loaded.load_s or 0.0)
        require_fits("an import and a load", cold_s * 1e9, self._span())
        self._ready_s = None if loaded.own_time else loaded.ready_s
        require_fits("a start and a load", (self._ready_s or 0.0) * 1e9, self._calls.span_since_start)
        if self._ready_s is not None and self._ready_s < cold_s:
            raise ImpossibleTimes(
                f"ready {self._ready_s:.6g} s after its start, of which {cold_s:.6g} s of load"
            )
        self.stages = loaded.stages
        self.cold = replace(self.cold, import_s=loaded.import_s, load_s=loaded.load_s)
        self.memory = replace(self.memory, after_load_bytes=loaded.after_load_bytes)

    def golden_batch_ns(self, frame: Frame) -> int | None:
        """What a batch of golden patches took, where that is known."""
        with self._calls.as_session_error("golden"):
            taken_ns = checked(GoldenScored, frame.message).batch_ns
            require_fits("a golden batch", taken_ns or 0, self._span())
        return taken_ns

    def idle_window(self, frame: Frame, idle_s: float) -> tuple[int, int] | None:
        """Start and end of the idle window, ns; None where a runner's own time does not know them."""
        with self._calls.as_session_error("measure"):
            window = checked(Idle, frame.message)
            if self.own_time and window.end_ns == window.start_ns:
                return None  # a duration of 0 is one that is not known
            require_idle(window.start_ns, window.end_ns, 0.0 if self.own_time else idle_s, self._span())
        self._reached_ns = window.end_ns
        return window.start_ns, window.end_ns

    def burst_times(self, frame: Frame, plan: LoadBursts) -> BurstTimes:
        """When it ran the bursts that were asked for."""
        with self._calls.as_session_error("measure"):
            reply = checked(Bursts, frame.message)
            times = BurstTimes(reply.start_ns, reply.bursts)
            require_bursts(times, plan, self._span())
        self._reached_ns = times.bursts_ns[-1][1]
        return times

    def as_pass(
        self,
        frame: Frame,
        index: int,
        phase: Literal["first", "steady"],
        plan: MeasurePlan,
        schedule: Schedule | None = None,
    ) -> Pass:
        """A pass; a schedule is told of it, and tells when it was due."""
        due_ns = deadline_ns = None
        with self._calls.as_session_error("measure"):
            reply = checked(Passed, frame.message)
            if schedule is not None:
                due_ns, deadline_ns = schedule.take_in(reply.start_ns, reply.end_ns, reply.due_ns)
            batch = self._artifact.batch
            batches = -(-plan.scene.patches // batch)
            stamps = stamps_in(frame.payload[: reply.stamps_bytes], len(self.stages), batches)
            require_batches("a pass", reply.start_ns, reply.end_ns, stamps, self._span())
            require_timed("a pass", reply.start_ns, reply.end_ns, stamps)
            self.clock_steps.take_in(stamps)
            rest = frame.payload[reply.stamps_bytes :]
            scores = scores_in(rest, reply, plan.scene.patches, self._artifact.scores)
            self._note_first_inference(reply)
        self._reached_ns = reply.end_ns
        if phase == "first":
            self._batch_ns = batch_ns(stamps)
        self.memory = replace(self.memory, peak_bytes=reply.peak_bytes)
        stamped = (reply.start_ns, reply.end_ns, self.stages, stamps, scores, batch)
        number = self._calls.number
        taken = Pass(index, phase, *stamped, due_ns=due_ns, deadline_ns=deadline_ns, worker=number)
        if phase == "first":
            self.cold = replace(self.cold, first_pass_s=taken.image_ns / 1e9)
        return taken

    def as_warm_up(self, frame: Frame, plan: MeasurePlan) -> Pass | None:
        """The warm-up's batches as a pass; None where it ran none."""
        with self._calls.as_session_error("measure"):
            reply = checked(Warmed, frame.message)
            stamps = stamps_in(frame.payload, len(self.stages))
            taken_ns = self._batch_ns + batch_ns(stamps)
            if len(stamps):
                require_batches("a warm-up", reply.start_ns, reply.end_ns, stamps, self._span())
                self.clock_steps.take_in(stamps)
            require_warm_up(reply.batches, reply.steady, taken_ns, plan.warmup_floor, plan.warmup_cap)
        self._reached_ns = max(self._reached_ns, reply.end_ns)
        self.warmup = WarmUp(reply.batches, reply.steady)
        if not len(stamps):
            return None
        batch = self._artifact.batch
        number = self._calls.number
        return Pass(
            1, "warmup", reply.start_ns, reply.end_ns, self.stages, stamps, None, batch, worker=number
        )

    def scores(self, frame: Frame, stage: str, patches: int) -> Scores:
        """Scores float32 [patches, classes]."""
        with self._calls.as_session_error(stage):
            reply = checked(Scored, frame.message)
            scores = scores_in(frame.payload, reply, patches, self._artifact.scores)
            self._note_first_inference(reply)
        return scores

    def _note_first_inference(self, reply: Scored) -> None:
        if reply.first_inference_ns is None or self.cold.first_inference_s is not None:
            return
        require_fits("a first inference", reply.first_inference_ns, self._span())
        self.cold = replace(self.cold, first_inference_s=reply.first_inference_ns / 1e9)
        if self._ready_s is None or reply.first_result_ns is None:
            return
        require_fits("a first result", reply.first_result_ns, self._span())
        if reply.first_result_ns < reply.first_inference_ns:
            raise ImpossibleTimes("a first inference that took longer than the batch that it was part of")
        self.cold = replace(self.cold, start_s=self._ready_s + reply.first_result_ns / 1e9)

    def _span(self) -> Span:
        """When what has just been answered can have been done, on the clock of its stamps."""
        if self.own_time:
            return Span(self._reached_ns)
        asked = self._calls.span
        return asked._replace(from_ns=max(asked.from_ns, self._reached_ns))
