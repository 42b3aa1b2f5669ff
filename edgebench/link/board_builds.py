"""Building on the board: what a device makes of an artifact, in a worker of its own, before it is loaded."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from edgebench.agent.frames import Frame
from edgebench.errors import SessionError
from edgebench.link.clockmatch import SessionClock
from edgebench.link.connection import Connection, LinkLost, ProtocolError, ignore
from edgebench.link.placing import Loadable, PlacedFile, Placer, place_artifact
from edgebench.link.replies import BuildReply, Ended, Progressed, checked
from edgebench.link.session_faults import Explain, SessionFaults, WorkerEnded
from edgebench.link.stamp_checks import require_fits
from edgebench.link.timeouts import Timeouts
from edgebench.link.worker_calls import WorkerCalls, runner_options, start_fields
from edgebench.printable import printable
from edgebench.session_stages import BUILD
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.built_artifact import BuiltArtifact
from edgebench.vocabulary.session import SessionSettings
from edgebench.vocabulary.values import Report

MOST_STEPS = 8
"""How many times the limit of one step all of a build may take, however far it says that it is."""


@dataclass(frozen=True)
class Built:
    """What the device has made of an artifact, for its runner and for the record."""

    loadable: Loadable
    artifact: BuiltArtifact


class BuildProgress:
    """How far a build is.

    Args:
        report: of the session that waits for it.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._done = 0

    def reach(self, note: Progressed) -> bool:
        """Take in a note; whether it is further than before."""
        if note.progress <= self._done or (note.total and note.progress > note.total):
            return False
        self._done = note.progress
        text = printable(note.text)
        self._report(f"{BUILD}: {text}" if text else BUILD, note.progress, note.total)
        return True

    def longest_s(self, limit_s: float) -> float:
        """For all of a build, where a step of it may take `limit_s`."""
        return limit_s * MOST_STEPS


class BoardBuilds:
    """Has each artifact built once a connection; what lies on the board from before is taken as it is.

    Args:
        connection, placer: of the device.
        runner_files: the runner's file, and those that it takes in.
        timeouts: for each stage.
        explain: what the backend knows of a failure.
    """

    def __init__(
        self,
        connection: Connection,
        placer: Placer,
        runner_files: tuple[Path, ...],
        timeouts: Timeouts,
        explain: Explain,
    ) -> None:
        self._connection = connection
        self._placer = placer
        self._runner_files = runner_files
        self._timeouts = timeouts
        self._explain = explain
        self._built: dict[str, Built] = {}

    def of(self, artifact: Artifact, settings: SessionSettings) -> Built:
        """What the device loads in the artifact's place, for a session with such settings.

        SessionError for whatever ends the build; nothing of it stays on the board then.
        """
        options = runner_options(artifact, settings)
        companions = {name: companion.sha256 for name, companion in artifact.companions.items()}
        decides = [artifact.sha256, companions, options, asdict(settings.launch)]
        key = json.dumps(decides, sort_keys=True)
        if key in self._built:
            return self._built[key]
        settings.report(BUILD, 0, 0)
        built = self._build(artifact, settings)
        # It lies there for every further session.
        self._built[key] = replace(built, artifact=replace(built.artifact, cached=True))
        return built

    def forget(self, artifact: Artifact) -> None:
        """What was built of it could not be loaded: the board is asked again."""
        self._built = {key: built for key, built in self._built.items() if artifact.sha256 not in key}

    def _build(self, artifact: Artifact, settings: SessionSettings) -> Built:
        connection, timeouts = self._connection, self._timeouts
        clock = SessionClock(connection)
        faults = SessionFaults(connection, self._explain)
        calls = WorkerCalls(connection, clock, faults, timeouts.stop)
        started = False
        try:
            with calls.as_session_error(BUILD):
                clock.edge("start", timeouts.connect)
                code = self._placer.place_code(self._runner_files)
                placed = place_artifact(self._placer, artifact)
            started = True
            calls.start({**start_fields(settings.launch), "build": True}, timeouts.start)
            connection.listen(partial(_raise_end, calls))
            frame = calls.call(
                "build",
                BUILD,
                timeouts.build,
                BuildProgress(settings.report),
                code=code,
                source=asdict(placed.file),
                companions={name: asdict(file) for name, file in placed.companions.items()},
                options=runner_options(artifact, settings),
            )
            with calls.as_session_error(BUILD):
                reply = checked(BuildReply, frame.message)
                if not reply.cached:
                    require_fits("a build", reply.seconds * 1e9, calls.span)
        except BaseException as error:
            if started:
                self._stop(calls, faults)
            if isinstance(error, SessionError):
                error.stderr_tail += calls.left_running_text()
            raise
        self._stop(calls, faults)
        for file in (placed.file, *placed.companions.values()):
            self._placer.note_verified(file.sha256)
        self._placer.note_verified(reply.sha256)
        built_artifact = BuiltArtifact(reply.seconds, reply.sha256, reply.size, reply.cached)
        return Built(replace(placed, file=PlacedFile(reply.path, reply.sha256)), built_artifact)

    def _stop(self, calls: WorkerCalls, faults: SessionFaults) -> None:
        """End the worker, whatever state it is in; nothing here replaces an error."""
        try:
            calls.stop(0.0, gently=False)
        except WorkerEnded as ended:
            calls.note_stopped(ended.end)
        except (LinkLost, ProtocolError):
            faults.close()
        finally:
            self._connection.listen(ignore)


def _raise_end(calls: WorkerCalls, frame: Frame) -> None:
    if frame.message.get("event") == "ended":
        end = checked(Ended, frame.message)
        calls.note_end(end)
        raise WorkerEnded(end)
