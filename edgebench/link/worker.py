"""Requests to one worker of a session, and its replies."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from edgebench.agent.frames import Frame, Message, ProtocolError
from edgebench.link.clock_match import SessionClock
from edgebench.link.connection import Connection
from edgebench.link.failures import Explain, SessionFaults, WorkerEnded, explained, from_reply, unexplained
from edgebench.link.placing import Loadable, Placer
from edgebench.link.replies import (
    Bursts,
    ClockReading,
    ClockSteps,
    Ended,
    Idle,
    ImpossibleTimes,
    LeftRunning,
    Loaded,
    Passed,
    Progressed,
    Scored,
    Span,
    Started,
    Warmed,
    batch_ns,
    checked,
    failure_in,
    require_bursts,
    require_fits,
    require_idle,
    require_warm_up,
    require_within,
    scores_in,
    stamps_in,
)
from edgebench.link.session_loop import Timeouts
from edgebench.records.model import Artifact
from edgebench.records.session import (
    BurstTimes,
    ColdFigures,
    LoadBursts,
    MeasurePlan,
    MemoryFigures,
    Pass,
    SessionSettings,
    WarmUp,
)
from edgebench.records.values import Json, Report, Scores
from edgebench.session_stages import BUILD
from edgebench.suggest import printable

AGENT_GRACE_S = 15.0
"""Seconds that the host waits beyond the agent's own limit, before the agent counts as lost."""

SESSION_NUMBER = "EDGEBENCH_SESSION_NUMBER"
"""The environment variable that tells a worker which session of its trial it is."""

HEAR_S = 1.0
"""Seconds between two readings of the probes while a device has no other request."""


MOST_STEPS = 8
"""Most time for all of a build, in limits of one step, whatever progress it reports."""


class WorkProgress:
    """Progress of a request, by the notes that its worker sends.

    Args:
        report: called with each note that is further than the one before.
        count: of all that is to be done; 0 where the notes say it, as those of a build do.
        longest: how many times the limit of one note all of it may take.
    """

    def __init__(
        self, report: Callable[[Progressed], None], count: int = 0, longest: int = MOST_STEPS
    ) -> None:
        self._report = report
        self._count = count
        self.longest = longest
        self.done = 0

    def reach(self, note: Progressed) -> bool:
        """Take in a note; whether it is further than before. More than there are is no progress."""
        total = self._count or note.total
        if note.progress <= self.done or (total and note.progress > total):
            return False
        self.done = note.progress
        self._report(note)
        return True


def counted(report: Callable[[int, int], None], count: int, step: int = 1) -> WorkProgress:
    """Progress of `count` images or bursts, with a note for each `step` of them."""
    return WorkProgress(lambda note: report(note.progress, count), count, math.ceil(count / step))


def build_progress(report: Report) -> WorkProgress:
    """Progress of a build on the board, reported as `build: TEXT`."""

    def further(note: Progressed) -> None:
        text = printable(note.text)
        report(f"{BUILD}: {text}" if text else BUILD, note.progress, note.total)

    return WorkProgress(further)


def runner_options(artifact: Artifact, settings: SessionSettings) -> dict[str, Json]:
    """A runner's options: the session's, the precision, shapes that the file leaves open, and the state."""
    shapes = artifact.input_shapes
    open_shapes = {"input_shapes": [list(shape) for shape in shapes]} if shapes else {}
    state = {} if artifact.state == "none" else {"state": artifact.state}
    return {**settings.options, "precision": artifact.as_variant.precision, **open_shapes, **state}


@dataclass(frozen=True)
class Board:
    """A device with an agent, as its sessions and builds use it.

    Attributes:
        connection, placer: of the device.
        runner_files: the runner's file, and those that it imports.
        timeouts: for each stage.
        explain: what the backend knows of a failure.
        own_clock: whether the backend's runner may bring a time of its own.
    """

    connection: Connection
    placer: Placer
    runner_files: tuple[Path, ...]
    timeouts: Timeouts
    explain: Explain = unexplained
    own_clock: bool = False


class SessionContext:
    """State that the parts of one session on a device with an agent share.

    Args:
        board: that measures.
        artifact, settings: what is measured, and how.

    Attributes:
        clock, faults: of the session.
    """

    def __init__(self, board: Board, artifact: Artifact, settings: SessionSettings) -> None:
        self.board = board
        self.artifact = artifact
        self.settings = settings
        self.clock = SessionClock(board.connection)
        self.faults = SessionFaults(board.connection, board.explain)


class Worker:
    """One worker of a session: what it is asked, and what it has answered, checked against the request.

    Its methods raise what ends the session (see `SessionFaults.at`).

    Args:
        session: whose clock takes in requests and replies.
        number: of its slot in the agent; the workers of a session are counted from 0.
        artifact: that it loads. Default: the session's.

    Attributes:
        stage: of the session when the worker was asked last.
        passes: that it has completed since the warm-up.
        cores: that it was pinned to; empty where it was not.
        stderr_tail: the end of what the worker wrote there, as far as it is known by now.
        left_running: what it had started and did not end.
        runtime: what the runner says of its runtime, once loaded.
        stages: of a batch, by name.
        own_time: whether the stamps are of a time that the runner brings.
        tick_ns: the smallest step of their clock; None where it is not known.
        clock_steps: of the clock of the stamps.
        cold, memory, warmup: what the replies so far say (see SessionFacts).
    """

    def __init__(self, session: SessionContext, number: int = 0, artifact: Artifact | None = None) -> None:
        self._session = session
        self.artifact = artifact or session.artifact
        self.stage = "start"
        self.passes = 0
        self.cores: tuple[int, ...] = ()
        self._timeouts = session.board.timeouts
        self._connection = session.board.connection
        self._placer = session.board.placer
        self.number = number
        self.name = "the worker" if session.settings.workers == 1 else f"worker {number}"
        self.stderr_tail = ""
        self.left_running: tuple[LeftRunning, ...] = ()
        self.runtime: dict[str, Json] = {}
        self.stages: tuple[str, ...] = ()
        self.own_time = False
        self.tick_ns: int | None = None
        self.clock_steps = ClockSteps()
        self.cold = ColdFigures()
        self.memory = MemoryFigures()
        self.warmup: WarmUp | None = None
        self._started = False
        self._before_start_ns = 0  # of the device's clock
        self._ready_s: float | None = None  # from its start until it could infer
        self._reached_ns = 0  # of the stamps so far
        self._batch_ns: list[int] = []  # of the first pass

    # --- requests ---

    @property
    def emulated(self) -> bool:
        """Return True if the runner states that no device carries the model out."""
        return self.runtime.get("emulated") is True

    @property
    def span(self) -> Span:
        """Time in which the worker can have done what it answered last, on the device's clock."""
        return self._session.clock.span_of(self.number)

    def start(self, **fields: Json) -> None:
        """Start the worker's process as it is launched; with `build` it may build and does nothing else."""
        settings = self._session.settings
        launch = settings.launch
        self._started = True
        self._before_start_ns = self._session.clock.latest_ns
        message: Message = {
            "op": "start",
            "worker": self.number,
            "python": launch.python,
            "env": {**launch.env, SESSION_NUMBER: str(settings.number)},
            "prefix": list(launch.prefix),
            "affinity": list(launch.affinity),
            **({"share": [self.number, settings.workers]} if settings.share == "cores" else {}),
            **fields,
        }
        frame = self._connection.request(message, self._timeouts.start)
        if failure := failure_in(frame):
            raise from_reply(*failure, "start", "", self.name)
        self.cores = checked(Started, frame.message).cores

    def call(
        self,
        operation: str,
        timeout_s: float,
        progress: WorkProgress | None = None,
        data: str | None = None,
        **fields: Json,
    ) -> Frame:
        """Ask for something and wait for the reply.

        `data` is the SHA-256 of the file that is worked on: the worker verifies it, once a connection.
        """
        if data is not None:
            fields["sha256"] = self._placer.unverified(data)
        frame = self.wait(self.send(operation, timeout_s, fields), timeout_s, progress=progress)
        if data is not None:
            self._placer.note_verified(data)
        return frame

    def send(self, operation: str, timeout_s: float, fields: Message) -> int:
        """Ask for something; the id of the request. The agent ends a worker that has not answered in time."""
        self._session.faults.raise_deferred()
        self.stage = self._session.faults.stage
        self._session.clock.asked(self.number)
        request = {"to": "worker", "worker": self.number, "op": operation, "limit_s": timeout_s}
        return self._connection.send({**request, **fields})

    def end_passes(self, limit_s: float) -> int:
        """Have passes that it starts by itself end; the one in hand still answers their own request."""
        ending = {"op": "idle", "idle_s": 0.0, "limit_s": limit_s}
        return self._connection.send({"to": "worker", "worker": self.number, **ending})

    def wait(
        self,
        request: int,
        timeout_s: float,
        grace_s: float = AGENT_GRACE_S,
        progress: WorkProgress | None = None,
    ) -> Frame:
        """The reply to a request, where it is no failure."""
        limit_s = timeout_s + grace_s
        self._session.faults.raise_deferred()
        if progress is None:
            return self.admit(self._connection.wait(request, limit_s))

        def further(frame: Frame) -> bool:
            note = checked(Progressed, frame.message)
            self._session.clock.note_reply(note.now_ns, self.number)
            return progress.reach(note)

        return self.admit(self._connection.wait(request, limit_s, further, limit_s * progress.longest))

    def hear_for(self, seconds: float, heard: Callable[[float], None]) -> None:
        """Take in what the probes send for so long; `heard` receives every HEAR_S how many are gone."""
        began_s = time.monotonic()
        while (gone_s := time.monotonic() - began_s) < seconds:
            heard(gone_s)
            self._connection.listen_until(lambda: False, min(HEAR_S, seconds - gone_s))
            self._session.faults.raise_deferred()

    def admit(self, frame: Frame) -> Frame:
        """Take in a reply, and when it came; SessionError where it says that the request failed."""
        if failure := failure_in(frame):
            faults = self._session.faults
            reply = from_reply(*failure, faults.stage, self.ask_tail(), self.name)
            error = explained(reply, faults.explain)
            error.why += faults.others(self.number)
            raise error
        self._session.clock.note_reply(checked(ClockReading, frame.message).now_ns, self.number)
        return frame

    def ask_tail(self) -> str:
        """Ask for the end of the worker's stderr."""
        tail = {"op": "tail", "worker": self.number}
        frame = self._connection.request(tail, self._session.faults.patience_s(self._timeouts.stop))
        self.stderr_tail = str(frame.message.get("stderr_tail", ""))
        self._session.faults.stderr_tail = self.stderr_tail
        return self.stderr_tail

    def stop(self, gently: bool) -> None:
        """End its process: one that may close its runner first has the time of a stop for it.

        LinkLost or ProtocolError where the agent does not say that it has ended.
        """
        if not self._started:
            return
        self._started = False
        limit_s = self._timeouts.stop if gently else 0.0
        # The end of another worker may come before its own answer: then it is asked again.
        for _ in range(self._session.settings.workers + 1):
            try:
                if limit_s:
                    end = {"to": "worker", "worker": self.number, "op": "end", "limit_s": limit_s}
                    self._connection.request(end, limit_s + AGENT_GRACE_S)
                stop = {"op": "stop", "worker": self.number, "grace_s": limit_s}
                patience_s = self._session.faults.patience_s(limit_s + AGENT_GRACE_S)
                end_of_it = checked(Ended, self._connection.request(stop, patience_s).message)
            except WorkerEnded as ended:
                limit_s, end_of_it = 0.0, ended.end
                if end_of_it.worker != self.number:
                    continue
            self.note_end(end_of_it)
            if end_of_it.signal not in (None, "SIGKILL"):
                text = f"{self.name} ended by {end_of_it.signal} after the request to stop"
                self.stderr_tail += f"\nedgebench: {text}\n"
            return

    def note_end(self, end: Ended) -> WorkerEnded:
        """Keep what is known of a worker that has ended; returns what is to be raised."""
        self.stderr_tail = self._session.faults.stderr_tail = end.stderr_tail
        self.left_running = end.left_running
        return WorkerEnded(end, self.name)

    # --- what it is asked for ---

    def load(self, code: Json, loadable: Loadable) -> None:
        """Have it import the runner and load what it is to load.

        Args:
            code: the runner's files on the device.
            loadable: likewise the artifact, or what was built of it.
        """
        artifact = self.artifact
        companions = {
            name: {"path": file.path, "sha256": self._placer.unverified(file.sha256)}
            for name, file in loadable.companions.items()
        }
        frame = self.call(
            "load",
            self._timeouts.load,
            data=loadable.file.sha256,
            code=code,
            artifact=loadable.file.path,
            companions=companions,
            options=runner_options(artifact, self._session.settings),
            input=artifact.input.model_dump(),
            batch=artifact.batch,
            classes=artifact.scores,
            tensors=[tensor.model_dump() for tensor in artifact.tensors],
        )
        for file in loadable.companions.values():
            self._placer.note_verified(file.sha256)
        loaded = checked(Loaded, frame.message)
        if loaded.own_time and not self._session.board.own_clock:
            raise ProtocolError("stamps of a time of its own, and its backend has none (own_clock)")
        self.own_time, self.tick_ns = loaded.own_time, loaded.tick_ns
        cold_s = (loaded.import_s or 0.0) + (loaded.load_s or 0.0)
        require_fits("an import and a load", cold_s * 1e9, self._answer_span())
        self._ready_s = None if loaded.own_time else loaded.ready_s
        since_start = self.span._replace(from_ns=self._before_start_ns)
        require_fits("a start and a load", (self._ready_s or 0.0) * 1e9, since_start)
        if self._ready_s is not None and self._ready_s < cold_s:
            raise ImpossibleTimes(
                f"ready {self._ready_s:.6g} s after its start, and its load took {cold_s:.6g} s"
            )
        self.stages = loaded.stages
        self.cold = replace(self.cold, import_s=loaded.import_s, load_s=loaded.load_s)
        self.memory = replace(self.memory, after_load_bytes=loaded.after_load_bytes)
        self._session.clock.injected = loaded.test_clock
        self.runtime = {"numpy": loaded.numpy, **loaded.runtime}

    def golden(self, path: str) -> Scores:
        """Scores float32 [golden, classes] of the golden patches at a path."""
        golden = self.artifact.golden
        frame = self.call("golden", self._timeouts.golden, data=golden.patches_sha256, path=path)
        return self.scores(frame, len(golden.scores))

    def idle(
        self, idle_s: float, report: Callable[[float], None], pause_s: float = 0.0
    ) -> tuple[int, int] | None:
        """Have the device do nothing for so long, after a pause before it.

        Probes are heard meanwhile, and `report` receives the seconds of the window that are over. A Ctrl-C
        ends it at once.

        Returns:
            Start and end of it in ns; None where a runner's own time does not know them.
        """
        limit_s = self._timeouts.measure + pause_s + idle_s
        request = self.send("idle", limit_s, {"idle_s": idle_s, "pause_s": pause_s})
        if not self.own_time:  # which passes at once
            self.hear_for(pause_s, lambda gone_s: None)
            self.hear_for(idle_s, report)
        window = checked(Idle, self.wait(request, limit_s).message)
        if self.own_time and window.end_ns == window.start_ns:
            return None  # a duration of 0 is one that is not known
        due_s = 0.0 if self.own_time else idle_s
        require_idle(window.start_ns, window.end_ns, due_s, self._answer_span())
        self._reached_ns = window.end_ns
        return window.start_ns, window.end_ns

    def burst(self, plan: LoadBursts, report: Callable[[int, int], None]) -> BurstTimes:
        """Have the device infer the golden patches in bursts; an interrupt ends it at once.

        Each burst has as long as a pass: one of a slow board is a single batch. `report` receives how many of
        how many are over.
        """
        golden = self.artifact.golden
        frame = self.call(
            "burst",
            self._timeouts.measure + plan.burst_s + max(plan.pauses_s),
            counted(report, len(plan.pauses_s)),
            golden.patches_sha256,
            path=self._placer.place(golden.patches, golden.patches_sha256),
            burst_ns=round(plan.burst_s * 1e9),
            pauses_s=list(plan.pauses_s),
        )
        reply = checked(Bursts, frame.message)
        times = BurstTimes(reply.start_ns, reply.bursts)
        require_bursts(times, plan, self._answer_span())
        self._reached_ns = times.bursts_ns[-1][1]
        return times

    def predict(self, sha256: str, path: str, images: int, progress: WorkProgress) -> Scores:
        """Scores float32 [images, classes] of the images at a path, whose content has that hash."""
        frame = self.call("predict", self._timeouts.predict, progress, sha256, path=path)
        return self.scores(frame, images)

    # --- what it answers ---

    def as_pass(
        self,
        frame: Frame,
        index: int,
        phase: Literal["first", "steady"],
        plan: MeasurePlan,
    ) -> Pass:
        """A pass, with the due time of one that the worker started by itself."""
        reply = checked(Passed, frame.message)
        waited_ns = None
        batch = self.artifact.batch
        batches = -(-plan.scene.patches // batch)
        stamps = stamps_in(frame.payload[: reply.stamps_bytes], len(self.stages), batches)
        require_within("a pass", reply.start_ns, reply.end_ns, self._answer_span())
        self.clock_steps.take_in(stamps)
        rest = frame.payload[reply.stamps_bytes :]
        scores = scores_in(rest, reply, plan.scene.patches, self.artifact.scores)
        self._note_first_inference(reply)
        if reply.asked_ns is not None and not self.own_time:
            # One that starts its passes by itself waits until each is due; a later request ends them.
            from_ns = max(self._reached_ns, reply.asked_ns if reply.due_ns is None else reply.due_ns)
            waited_ns = max(0, self.span.to_ns - from_ns)
        self._reached_ns = reply.end_ns
        self.memory = replace(self.memory, peak_bytes=reply.peak_bytes)
        stamped = (reply.start_ns, reply.end_ns, self.stages, stamps, scores, batch)
        taken = Pass(index, phase, *stamped, reply.due_ns, None, self.number, waited_ns)
        self.passes += phase == "steady"
        if phase == "first":
            self._batch_ns = batch_ns(stamps)
            self.cold = replace(self.cold, first_pass_s=taken.image_ns / 1e9)
        return taken

    def as_warm_up(self, frame: Frame, plan: MeasurePlan) -> Pass | None:
        """The warm-up's batches as a pass; None where it ran none."""
        reply = checked(Warmed, frame.message)
        stamps = stamps_in(frame.payload, len(self.stages))
        taken_ns = self._batch_ns + batch_ns(stamps)
        if len(stamps):
            require_within("a warm-up", reply.start_ns, reply.end_ns, self._answer_span())
            self.clock_steps.take_in(stamps)
        require_warm_up(reply.batches, reply.steady, taken_ns, plan.warmup_floor, plan.warmup_cap)
        self._reached_ns = max(self._reached_ns, reply.end_ns)
        self.warmup = WarmUp(reply.batches, reply.steady)
        if not len(stamps):
            return None
        stamped = (reply.start_ns, reply.end_ns, self.stages, stamps, None, self.artifact.batch)
        return Pass(1, "warmup", *stamped, worker=self.number)

    def scores(self, frame: Frame, patches: int) -> Scores:
        """Scores float32 [patches, classes]."""
        reply = checked(Scored, frame.message)
        scores = scores_in(frame.payload, reply, patches, self.artifact.scores)
        self._note_first_inference(reply)
        return scores

    def _note_first_inference(self, reply: Scored) -> None:
        if reply.first_inference_ns is None or self.cold.first_inference_s is not None:
            return
        require_fits("a first inference", reply.first_inference_ns, self._answer_span())
        self.cold = replace(self.cold, first_inference_s=reply.first_inference_ns / 1e9)
        if self._ready_s is None or reply.first_result_ns is None:
            return
        require_fits("a first result", reply.first_result_ns, self._answer_span())
        if reply.first_result_ns < reply.first_inference_ns:
            raise ImpossibleTimes("a first inference that took longer than the batch that it was part of")
        self.cold = replace(self.cold, start_s=self._ready_s + reply.first_result_ns / 1e9)

    def _answer_span(self) -> Span:
        """Return the time in which the last request can have been done, on the clock of its stamps."""
        if self.own_time:
            return Span(self._reached_ns)
        asked = self.span
        return asked._replace(from_ns=max(asked.from_ns, self._reached_ns))
