"""The conversation with one worker of a session: from its start to its end, request by request."""

from __future__ import annotations

from collections.abc import Callable

from edgebench.agent.frames import Frame, ProtocolError
from edgebench.link.clockmatch import SessionClock
from edgebench.link.connection import Connection
from edgebench.link.placing import Loadable, Placer
from edgebench.link.replies import Ended, Loaded, checked
from edgebench.link.session_faults import SessionFaults, WorkerEnded
from edgebench.link.timeouts import Timeouts
from edgebench.link.worker_calls import CountedProgress, WorkerCalls, runner_options, start_fields
from edgebench.link.worker_replies import WorkerReplies
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.load_bursts import BurstTimes, LoadBursts
from edgebench.vocabulary.session import SessionSettings
from edgebench.vocabulary.values import Json, Scores

SESSION_NUMBER = "EDGEBENCH_SESSION_NUMBER"
"""The environment variable that tells a worker which session of its trial it is."""


class WorkerConversation:
    """One worker: what it is asked, and what it has answered.

    Args:
        number: of its slot; the workers of a session are counted from 0.
        connection, placer: of the device.
        clock, faults: of the session.
        artifact, settings: what is measured, and how.
        timeouts: for each stage.
        may_bring_time: whether the runner may have a time of its own.

    Attributes:
        calls, replies: to the worker, and from it.
        runtime: what the runner says of its runtime, once loaded.
    """

    def __init__(
        self,
        number: int,
        connection: Connection,
        placer: Placer,
        clock: SessionClock,
        faults: SessionFaults,
        artifact: Artifact,
        settings: SessionSettings,
        timeouts: Timeouts,
        may_bring_time: bool,
    ) -> None:
        self.number = number
        self._placer = placer
        self._clock = clock
        self._artifact = artifact
        self._settings = settings
        self._timeouts = timeouts
        self._may_bring_time = may_bring_time
        self._name = "the worker" if settings.workers == 1 else f"worker {number}"
        self.calls = WorkerCalls(connection, clock, faults, timeouts.stop, number, self._name)
        self.replies = WorkerReplies(artifact, self.calls)
        self.runtime: dict[str, Json] = {}
        self._started = False

    def start(self) -> None:
        """Start its process."""
        self._started = True
        message = start_fields(self._settings.launch)
        message["env"][SESSION_NUMBER] = str(self._settings.number)
        self.calls.start(message, self._timeouts.start)

    def load(self, code: Json, loadable: Loadable) -> None:
        """Have it import the runner and load what it is to load; SessionError where it cannot.

        Args:
            code: the runner's files as they lie on the device.
            loadable: likewise the artifact, or what was built of it.
        """
        companions = {
            name: {"path": file.path, "sha256": self._placer.unverified(file.sha256)}
            for name, file in loadable.companions.items()
        }
        frame = self.call_with(
            loadable.file.sha256,
            "load",
            "load",
            self._timeouts.load,
            code=code,
            artifact=loadable.file.path,
            companions=companions,
            options=runner_options(self._artifact, self._settings),
            input=self._artifact.input.model_dump(),
            batch=self._artifact.batch,
            classes=self._artifact.scores,
            tensors=[tensor.model_dump() for tensor in self._artifact.tensors],
        )
        for file in loadable.companions.values():
            self._placer.note_verified(file.sha256)
        with self.calls.as_session_error("load"):
            loaded = checked(Loaded, frame.message)
            if loaded.own_time and not self._may_bring_time:
                raise ProtocolError("stamps of a time of its own, and its backend has none (own_clock)")
            self.replies.take_in_load(loaded)
        self._clock.injected = loaded.test_clock
        self.runtime = {"numpy": loaded.numpy, **loaded.runtime}

    def golden(self, path: str) -> tuple[Scores, float | None]:
        """Scores float32 [golden, classes] of the golden patches at a path, and the seconds a patch took."""
        golden = self._artifact.golden
        limit_s = self._timeouts.golden
        frame = self.call_with(golden.patches_sha256, "golden", "golden", limit_s, path=path)
        batch_ns = self.replies.golden_batch_ns(frame)
        patch_s = batch_ns / 1e9 / self._artifact.batch if batch_ns else None
        return self.replies.scores(frame, "golden", len(golden.scores)), patch_s

    def idle(
        self, idle_s: float, report: Callable[[float], None], pause_s: float = 0.0
    ) -> tuple[int, int] | None:
        """Have the device do nothing for so long, after a pause that is none of it.

        Probes are heard meanwhile, and `report` is told how many seconds are gone. An interrupt ends it at
        once.

        Returns:
            Start and end of it in ns; None where a runner's own time does not know them.
        """
        limit_s = self._timeouts.measure + pause_s + idle_s
        request = self.calls.send("idle", "measure", limit_s, {"idle_s": idle_s, "pause_s": pause_s})
        if not self.replies.own_time:  # nobody waits for that
            self.calls.hear_for(pause_s + idle_s, "measure", report)
        return self.replies.idle_window(self.calls.wait(request, "measure", limit_s), idle_s)

    def burst(self, plan: LoadBursts, report: Callable[[int, int], None]) -> BurstTimes:
        """Have the device infer the golden patches in bursts; an interrupt ends it at once.

        Each burst has as long as a pass: one of a slow board is a single batch. `report` is told how many of
        how many are over.
        """
        golden = self._artifact.golden
        with self.calls.as_session_error("measure"):
            path = self._placer.place(golden.patches, golden.patches_sha256)
        frame = self.call_with(
            golden.patches_sha256,
            "burst",
            "measure",
            self._timeouts.measure + plan.burst_s + max(plan.pauses_s),
            CountedProgress(len(plan.pauses_s), report),
            path=path,
            burst_ns=round(plan.burst_s * 1e9),
            pauses_s=list(plan.pauses_s),
        )
        return self.replies.burst_times(frame, plan)

    def predict(self, sha256: str, path: str, images: int, progress: CountedProgress) -> Scores:
        """Scores float32 [images, classes] of the images at a path, whose content has that hash."""
        limit_s = self._timeouts.predict
        frame = self.call_with(sha256, "predict", "predict", limit_s, progress, path=path)
        return self.replies.scores(frame, "predict", images)

    def call_with(
        self,
        sha256: str,
        operation: str,
        stage: str,
        timeout_s: float,
        progress: CountedProgress | None = None,
        **fields: Json,
    ) -> Frame:
        """A call whose file of data the worker verifies, unless it has been over this connection."""
        unverified = self._placer.unverified(sha256)
        frame = self.calls.call(operation, stage, timeout_s, progress, sha256=unverified, **fields)
        self._placer.note_verified(sha256)
        return frame

    def note_end(self, end: Ended) -> WorkerEnded:
        """Keep how its process has ended, unasked; gives what is to be raised."""
        self.calls.note_end(end)
        return WorkerEnded(end, self._name)

    def stop(self, gently: bool) -> None:
        """End its process; LinkLost or ProtocolError where the agent does not say that it has."""
        if not self._started:
            return
        # Before its answer comes that another worker has ended: the rest of what is told then is asked anew.
        for attempt in range(self._settings.workers + 1):
            try:
                self.calls.stop(self._timeouts.stop, gently and attempt == 0)
                break
            except WorkerEnded as ended:
                if ended.end.worker == self.number:
                    self.calls.note_stopped(ended.end)
                    break
        self._started = False
