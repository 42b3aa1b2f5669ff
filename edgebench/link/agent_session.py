"""A session on a device with an agent: one fresh worker, from load to stop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from edgebench.agent.frames import Frame, ProtocolError
from edgebench.errors import SessionError
from edgebench.link.clockmatch import SessionClock
from edgebench.link.connection import Connection, LinkLost, ignore
from edgebench.link.failures import from_reply
from edgebench.link.pass_requests import PassRequests
from edgebench.link.placing import Placer
from edgebench.link.replies import Ended, Loaded, checked, failure_in
from edgebench.link.schedule import Schedule
from edgebench.link.session_probes import SessionProbes
from edgebench.link.session_replies import SessionReplies
from edgebench.link.timeouts import Timeouts
from edgebench.link.worker_calls import (
    AGENT_GRACE_S,
    Explain,
    ImageProgress,
    WorkerCalls,
    WorkerEnded,
    unexplained,
)
from edgebench.session_stages import SENDING, SessionStage
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.passes import Pass
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.probe import ProbeChunk
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import SessionFacts, SessionWindows
from edgebench.vocabulary.values import Json, Scores

SESSION_NUMBER = "EDGEBENCH_SESSION_NUMBER"
"""The environment variable that tells a worker which session of its trial it is."""

MAX_WARNINGS = 20
MAX_WARNING = 300


class AgentSession:
    """Implements `Session`; entered, it has started a worker and loaded the artifact.

    Args:
        connection, placer: of the device.
        artifact, settings: what is measured, and how.
        runner_files: the runner's file, and those that it takes in.
        timeouts: for each stage.
        explain: what the backend knows of a failure.
        own_clock: whether the backend's runner brings a time of its own.
    """

    def __init__(
        self,
        connection: Connection,
        placer: Placer,
        artifact: Artifact,
        settings: SessionSettings,
        runner_files: tuple[Path, ...],
        timeouts: Timeouts,
        explain: Explain = unexplained,
        own_clock: bool = False,
    ) -> None:
        self._may_bring_time = own_clock
        self._connection = connection
        self._placer = placer
        self._artifact = artifact
        self._settings = settings
        self._runner_files = runner_files
        self._timeouts = timeouts
        self._probes = SessionProbes(settings.meters, settings.monitors)
        self._runtime: dict[str, Json] = {}
        self._clock = SessionClock(connection)
        self._windows_ns = SessionWindows()
        self._calls = WorkerCalls(connection, self._clock, explain, timeouts.stop)
        self._replies = SessionReplies(artifact, self._calls, self._clock)
        self._running = False

    # --- entering and leaving ---

    def __enter__(self) -> AgentSession:
        try:
            with self._calls.as_session_error("start"):
                self._clock.edge("start", self._timeouts.connect)
            self._start_worker()
            self._load()
            with self._calls.as_session_error("start"):
                self._probes.start(self._connection, self._placer, self._timeouts.probe)
        except BaseException as error:
            self._stop(gently=False)
            if isinstance(error, SessionError):  # there is no session whose facts could have it
                error.stderr_tail += "".join(
                    f"\nedgebench: {left.words()}" for left in self._calls.left_running
                )
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop(gently=error is None)

    def _start_worker(self) -> None:
        launch = self._settings.launch
        message = {
            "op": "start",
            "worker": 0,
            "python": launch.python,
            "env": {**launch.env, SESSION_NUMBER: str(self._settings.number)},
            "prefix": list(launch.prefix),
            "affinity": list(launch.affinity),
        }
        self._running = True
        with self._calls.as_session_error("start"):
            frame = self._connection.request(message, self._timeouts.start)
            if failure := failure_in(frame):
                raise from_reply(*failure, "start", "")
        # Before this the agent has ended what an earlier session left: what comes unasked is this one's.
        self._connection.listen(self._hear)

    def _load(self) -> None:
        with self._calls.as_session_error("start"):
            code = self._placer.place_code(self._runner_files)
            artifact = self._placer.place(self._artifact.path, self._artifact.sha256)
        frame = self._call_with(
            self._artifact.sha256,
            "load",
            "load",
            self._timeouts.load,
            code=code,
            artifact=artifact,
            options={**self._settings.options, **_told_shapes(self._artifact)},
            input=self._artifact.input.model_dump(),
            batch=self._artifact.batch,
            classes=self._artifact.scores,
            tensors=[one.model_dump() for one in self._artifact.tensors],
        )
        with self._calls.as_session_error("load"):
            loaded = checked(Loaded, frame.message)
            if loaded.own_time and not self._may_bring_time:
                raise ProtocolError("stamps of a time of its own, and its backend has none (own_clock)")
            self._replies.take_in_load(loaded)
        self._clock.injected = loaded.test_clock
        self._runtime = {"numpy": loaded.numpy, **loaded.runtime}

    def _stop(self, gently: bool) -> None:
        """End the worker and the probes, whatever state they are in; nothing here replaces an error."""
        if not self._running:
            return
        self._running = False
        grace = self._timeouts.stop
        try:
            self._probes.stop(self._connection, grace)
            if gently:
                self._connection.request(
                    {"to": "worker", "worker": 0, "op": "end", "limit_s": grace}, grace + AGENT_GRACE_S
                )
            stop = {"op": "stop", "worker": 0, "grace_s": grace if gently else 0.0}
            frame = self._connection.request(stop, (grace if gently else 0.0) + AGENT_GRACE_S)
            self._calls.note_stopped(checked(Ended, frame.message))
        except WorkerEnded as ended:
            self._calls.note_stopped(ended.end)
        except (LinkLost, ProtocolError):
            self._connection.close()
        finally:
            self._connection.listen(ignore)

    # --- the contract ---

    def golden(self) -> Scores:
        """Scores float32 [golden, classes] of the artifact's golden patches, by the real loop."""
        golden = self._artifact.golden
        with self._calls.as_session_error("golden"):
            path = self._placer.place(golden.patches, golden.patches_sha256)
        limit_s = self._timeouts.golden
        frame = self._call_with(golden.patches_sha256, "golden", "golden", limit_s, path=path)
        if batch_ns := self._replies.golden_batch_ns(frame):
            self._settings.patch_took(batch_ns / 1e9 / self._artifact.batch)
        return self._replies.scores(frame, "golden", len(golden.scores))

    def measure(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        """The first pass, the warm-up's batches as one Pass, then the steady passes.

        A first KeyboardInterrupt lets the pass in hand come to its end, gives it, and is then raised; a
        second one ends at once.
        """
        with self._calls.as_session_error("scene"):
            # Known before the first pass: a disk that is too small for the images costs no measuring.
            images = [(plan.images.path, plan.images.sha256)] if plan.images else []
            self._placer.require_room([(plan.scene.path, plan.scene.sha256), *images])
            path = self._placer.place(plan.scene.path, plan.scene.sha256, self._sending("scene"))
        limit_s = self._timeouts.scene
        self._call_with(plan.scene.sha256, "scene", "scene", limit_s, None, path=path, **plan.scene.grid)
        try:
            metering = self._probes.metering or self._settings.host_metering
            if metering and self._settings.idle_s > 0:
                self._report("idle window")
                self._idle()
            self._report("first pass")
            yield from self._passes(plan)
        finally:
            with self._calls.at_the_end():
                self._probes.stop(self._connection, self._timeouts.probe)
                self._clock.edge("end", self._timeouts.stop)
        with self._calls.as_session_error("measure"):
            self._calls.require_no_fault()  # these may have been heard at the end alone
            self._clock.require_agreement()
            self._probes.require_all()

    def predict(self, images: ImageSet) -> Scores:
        """Scores float32 [n, classes] of every image, on the runtime that was timed."""
        with self._calls.as_session_error("predict"):
            path = self._placer.place(images.path, images.sha256, self._sending("images"))
        self._report("images", 0, images.n)
        progress = ImageProgress(images.n, lambda done, all_images: self._report("images", done, all_images))
        limit_s = self._timeouts.predict
        frame = self._call_with(images.sha256, "predict", "predict", limit_s, progress, path=path)
        return self._replies.scores(frame, "predict", images.n)

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """What the probes have sampled so far and not yet given; never blocks."""
        if self._running:
            self._calls.poll()
        yield from self._probes.drain()

    def facts(self) -> SessionFacts:
        """What is known by now; works at any time, also after the end."""
        if self._running:
            with self._calls.at_the_end():
                self._calls.ask_tail()
        replies = self._replies
        probes, probe_reasons, monitor_reasons = self._probes.facts()
        return SessionFacts(
            cold=replies.cold,
            warmup=replies.warmup,
            memory=replies.memory,
            runtime=dict(self._runtime),
            clock={} if replies.own_time else self._clock.facts(),
            own_time=replies.own_time,
            windows_ns=self._windows_ns,
            probes=probes,
            probe_reasons=probe_reasons,
            monitor_reasons=monitor_reasons,
            stderr_tail=self._calls.stderr_tail,
            warnings=(
                *_warnings_in(self._runtime),
                *self._clock.warnings(timed=not replies.own_time, step_ns=replies.clock_steps.coarse_ns),
                *replies.clock_steps.warnings(),
                *(process.words() for process in self._calls.left_running[:MAX_WARNINGS]),
            ),
        )

    # --- measuring ---

    def _idle(self) -> None:
        idle_s = self._settings.idle_s
        frame = self._calls.call("idle", "measure", self._timeouts.measure + idle_s, idle_s=idle_s)
        self._windows_ns = replace(self._windows_ns, idle=self._replies.idle_window(frame, idle_s))

    def _passes(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        requests = PassRequests(self._calls, None if self._replies.own_time else self._clock, self._timeouts)
        frame, interrupt = requests.request_pass()
        first = self._replies.as_pass(frame, 0, "first", plan)
        yield first
        if interrupt:
            raise interrupt
        index = 1
        self._report("warm-up")
        frame, interrupt = requests.warm_up(plan.warmup_floor, plan.warmup_cap)
        warm = self._replies.as_warm_up(frame, plan)
        if warm is not None:
            index = 2
            yield warm
        if interrupt:
            raise interrupt
        begin: int | None = None
        self._report("passes", 0, plan.passes if plan.sustained_s is None else 0)
        schedule = Schedule(plan)
        with contextlib.closing(requests.steady(schedule)) as steady:
            for frame, interrupt in steady:
                one = self._replies.as_pass(frame, index, "steady", plan, schedule)
                index += 1
                begin = one.start_ns if begin is None else begin
                self._windows_ns = replace(self._windows_ns, steady=(begin, one.end_ns))
                yield one
                if interrupt:
                    raise interrupt

    def _call_with(
        self,
        sha256: str,
        operation: str,
        stage: str,
        timeout_s: float,
        progress: ImageProgress | None = None,
        **fields: Json,
    ) -> Frame:
        """A call whose file of data the worker verifies, unless it has been over this connection."""
        unverified = self._placer.unverified(sha256)
        frame = self._calls.call(operation, stage, timeout_s, progress, sha256=unverified, **fields)
        self._placer.note_verified(sha256)
        return frame

    # --- what is said of it on the way, never from a timed region ---

    def _report(self, stage: SessionStage, done: int = 0, steps: int = 0) -> None:
        self._settings.report(stage, done, steps)

    def _sending(self, what: str) -> Callable[[int, int], None]:
        return lambda sent, size: self._settings.report(
            f"{SENDING} {what}", sent // 1_000_000, size // 1_000_000
        )

    def _hear(self, frame: Frame) -> None:
        event = frame.message.get("event")
        if event == "ended":
            raise WorkerEnded(checked(Ended, frame.message))
        if event == "probe":
            self._probes.hear(frame)


def _warnings_in(runtime: dict[str, Json]) -> list[str]:
    """What the runner has to say to whoever reads the figures: `warnings` of its describe()."""
    said = runtime.get("warnings")
    if not isinstance(said, list):
        return []
    return [one[:MAX_WARNING] for one in said[:MAX_WARNINGS] if isinstance(one, str)]


def _told_shapes(artifact: Artifact) -> dict[str, Json]:
    """What a runner's options say of shapes: only where the file leaves them open."""
    shapes = artifact.input_shapes
    return {"input_shapes": [list(shape) for shape in shapes]} if shapes else {}
