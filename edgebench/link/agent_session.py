"""A session on a device with an agent: fresh workers, from load to stop."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from types import TracebackType

import numpy as np

from edgebench.agent.frames import Frame, ProtocolError
from edgebench.agent.worker import PREDICT_STEP
from edgebench.errors import SessionError
from edgebench.link.connection import LinkLost, ignore
from edgebench.link.failures import WorkerEnded
from edgebench.link.placing import Loadable, PlacedFile, place_artifact
from edgebench.link.replies import BuildReply, Ended, Memory, checked, failure_in, require_fits
from edgebench.link.rounds import WorkerRounds
from edgebench.link.session_loop import SessionLoop
from edgebench.link.session_probes import SessionProbes
from edgebench.link.worker import Board, SessionContext, Worker, build_progress, counted, runner_options
from edgebench.records.model import Artifact, BuiltArtifact
from edgebench.records.session import (
    ColdFigures,
    MeasurePlan,
    MemoryFigures,
    Pass,
    ProbeChunk,
    SessionFacts,
    SessionSettings,
    WorkerFacts,
)
from edgebench.records.values import ImageSet, Json, Scores
from edgebench.session_stages import BUILD, SENDING, SessionStage

# Building on the board: what a device makes of an artifact, in a worker of its own, before it is loaded.


@dataclass(frozen=True)
class Built:
    """What the device has made of an artifact, for its runner and for the record."""

    loadable: Loadable
    artifact: BuiltArtifact


class BoardBuilds:
    """Has each artifact built once a connection; what is there from before is used.

    Args:
        board: that builds.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
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
        board = self._board
        session = SessionContext(board, artifact, replace(settings, others=(), share=None))
        worker = Worker(session)
        try:
            with session.faults.at(BUILD):
                session.clock.edge("start", board.timeouts.connect)
                code = board.placer.place_code(board.runner_files)
                placed = place_artifact(board.placer, artifact)
            with session.faults.at("start"):
                worker.start(build=True)
            board.connection.listen(partial(_raise_end, worker))
            with session.faults.at(BUILD):
                frame = worker.call(
                    "build",
                    board.timeouts.build,
                    build_progress(settings.report),
                    code=code,
                    source=asdict(placed.file),
                    companions={name: asdict(file) for name, file in placed.companions.items()},
                    options=runner_options(artifact, settings),
                )
                reply = checked(BuildReply, frame.message)
                if not reply.cached:
                    require_fits("a build", reply.seconds * 1e9, worker.span)
        except BaseException as error:
            _stop([worker], session)
            _tell_left_running([worker], error)
            raise
        _stop([worker], session)
        for file in (placed.file, *placed.companions.values()):
            board.placer.note_verified(file.sha256)
        board.placer.note_verified(reply.sha256)
        built_artifact = BuiltArtifact(reply.seconds, reply.sha256, reply.size, reply.cached)
        return Built(replace(placed, file=PlacedFile(reply.path, reply.sha256)), built_artifact)


def _stop(workers: Sequence[Worker], session: SessionContext, gently: bool = False) -> None:
    """End workers, whatever state they are in; nothing here replaces an error."""
    try:
        for worker in workers:
            worker.stop(gently)
    except (LinkLost, ProtocolError):
        session.faults.close()
    finally:
        session.board.connection.listen(ignore)


def _left_running(workers: Sequence[Worker]) -> list[str]:
    left = [process for worker in workers for process in worker.left_running]
    return [process.words() for process in left]


def _tell_left_running(workers: Sequence[Worker], error: BaseException) -> None:
    """There is no session whose facts could have it."""
    if isinstance(error, SessionError):
        error.stderr_tail += "".join(f"\nedgebench: {text}" for text in _left_running(workers))


def _raise_end(worker: Worker, frame: Frame) -> None:
    if frame.message.get("event") == "ended":
        raise worker.note_end(checked(Ended, frame.message))


class AgentSession:
    """Implements `Session`; entered, it has started its workers and loaded the artifact in each.

    Several workers (`SessionSettings.others`) share the device: they load, infer the golden patches and
    predict one after the other, and run their passes at the same time.

    Args:
        board: that measures.
        artifact, settings: what is measured, and how; the artifact is the first worker's.
        builds: where the device makes what it loads of the artifact.
    """

    def __init__(
        self, board: Board, artifact: Artifact, settings: SessionSettings, builds: BoardBuilds | None = None
    ) -> None:
        self._board = board
        self._builds = builds
        self._built: BuiltArtifact | None = None
        self._settings = settings
        self._probes = SessionProbes(
            settings.meters,
            settings.monitors,
            range(settings.workers),
            preferred=settings.preferred_meters,
            take=settings.take_samples,
        )
        self._session = SessionContext(board, artifact, settings)
        self._clock, self._faults = self._session.clock, self._session.faults
        self._faults.others = self._others
        self._workers = [
            Worker(self._session, number, own) for number, own in enumerate((artifact, *settings.others))
        ]
        self._loop = SessionLoop(WorkerRounds(self._session, self._workers, self._probes), settings)
        self._running = False

    # --- entering and leaving ---

    def __enter__(self) -> AgentSession:
        loadables = [self._loadable(worker) for worker in self._workers]
        board = self._board
        try:
            with self._faults.at("start"):
                self._clock.edge("start", board.timeouts.connect)
            for worker, loadable in zip(self._workers, loadables, strict=True):
                with self._faults.at("start"):
                    self._start(worker)
                    code = board.placer.place_code(board.runner_files)
                with self._faults.at("load"):
                    worker.load(code, loadable)
            with self._faults.at("start"):
                self._probes.start(board.connection, board.placer, board.timeouts.probe)
        except BaseException as error:
            self._stop(gently=False)
            if self._builds is not None:  # what lies there may not be what was built
                for worker in self._workers:
                    self._builds.forget(worker.artifact)
            _tell_left_running(self._workers, error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._faults.stopping = self._faults.stopping or isinstance(error, KeyboardInterrupt)
        self._stop(gently=error is None)

    def _loadable(self, worker: Worker) -> Loadable:
        """What a worker is to load: its artifact, or what the device has made of it."""
        if self._builds is not None:
            built = self._builds.of(worker.artifact, self._settings)
            self._built = self._built or built.artifact
            self._report("load")
            return built.loadable
        with self._faults.at("start"):
            return place_artifact(self._board.placer, worker.artifact)

    def _start(self, worker: Worker) -> None:
        self._running = True
        if worker.number:
            self._require_memory(worker)
        worker.start()
        # Before this the agent has ended what an earlier session left: what comes unasked is this one's.
        self._board.connection.listen(self._hear)

    def _require_memory(self, worker: Worker) -> None:
        """SessionError where less memory is available than the first worker took; unknown is no obstacle."""
        frame = self._board.connection.request({"op": "memory"}, self._board.timeouts.start)
        taken = self._workers[0].memory.after_load_bytes
        if failure_in(frame) or taken is None:
            return
        available = checked(Memory, frame.message).available_bytes
        if available < taken:
            raise SessionError(
                f"{worker.name} does not fit in the device's memory",
                status="out_of_memory",
                stage="start",
                why=f"{available >> 20} MiB are available, and worker 0 took {taken >> 20} MiB to load",
                fix="measure fewer workers or a smaller variant, or close other programs",
            )

    def _others(self, failed: int | None) -> str:
        """How far the workers but the failed one were, in words; "" in a session of one worker."""
        if len(self._workers) == 1:
            return ""
        words = [
            f"{worker.name}: {worker.stage}, {worker.passes} passes"
            for worker in self._workers
            if worker.number != failed
        ]
        return f" (meanwhile {'; '.join(words)})"

    def _stop(self, gently: bool) -> None:
        """End the workers and the probes, whatever state they are in; nothing here replaces an error."""
        if not self._running:
            return
        self._running = False
        try:
            self._probes.stop(self._board.connection, self._faults.patience_s(self._board.timeouts.stop))
        except WorkerEnded:
            gently = False  # its end is noted
        except (LinkLost, ProtocolError):
            self._faults.close()
        _stop(self._workers, self._session, gently)

    # --- the contract ---

    def golden(self) -> Scores:
        """Scores float32 [workers x golden, classes] of the golden patches, worker by worker."""
        place = self._board.placer.place
        with self._faults.at("golden"):
            golden = [worker.artifact.golden for worker in self._workers]
            paths = [place(each.patches, each.patches_sha256) for each in golden]
            answers = [worker.golden(path) for worker, path in zip(self._workers, paths, strict=True)]
        return np.concatenate(answers)

    def measure(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        """For each worker the first pass, the warm-up's batches as one Pass, then the steady passes.

        A runtime that emulates its device runs one steady pass alone.

        A first KeyboardInterrupt lets the passes in progress finish, yields them, and is then raised; a
        second one ends at once.
        """
        with self._faults.at("scene"):
            # Known before the first pass: a disk that is too small for the images costs no measuring.
            images = [(plan.images.path, plan.images.sha256)] if plan.images else []
            self._board.placer.require_room([(plan.scene.path, plan.scene.sha256), *images])
            path = self._board.placer.place(plan.scene.path, plan.scene.sha256, self._sending("scene"))
            for worker in self._workers:
                limit_s, digest = self._board.timeouts.scene, plan.scene.sha256
                worker.call("scene", limit_s, None, digest, path=path, **plan.scene.grid)
        with self._faults.at("measure"):
            try:
                emulated = self._workers[0].emulated
                yield from self._loop.measure_emulated(plan) if emulated else self._loop.measure(plan)
            except (GeneratorExit, KeyboardInterrupt):
                self._faults.stopping = True
                raise
            finally:
                with self._faults.at_the_end():
                    self._probes.stop(
                        self._board.connection, self._faults.patience_s(self._board.timeouts.probe)
                    )
                    self._clock.edge("end", self._faults.patience_s(self._board.timeouts.stop))
            self._faults.require_no_fault()  # these may have been heard at the end alone
            self._clock.require_agreement()

    def predict(self, images: ImageSet) -> Scores:
        """Scores float32 [workers x n, classes] of every image, worker by worker, on what was timed."""
        with self._faults.at("predict"):
            path = self._board.placer.place(images.path, images.sha256, self._sending("images"))
            scores = []
            for worker in self._workers:
                self._report("images", 0, images.n)
                progress = counted(partial(self._report, "images"), images.n, PREDICT_STEP)
                scores.append(worker.predict(images.sha256, path, images.n, progress))
        return np.concatenate(scores)

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """What the probes have sampled without `SessionSettings.take_samples`; never blocks."""
        if self._running:
            self._faults.poll()
        yield from self._probes.drain()

    def facts(self) -> SessionFacts:
        """What is known by now; works at any time, also after the end."""
        if self._running:
            with self._faults.at_the_end():
                for worker in self._workers:
                    worker.ask_tail()
        first = self._workers[0]
        probes, probe_reasons, monitor_reasons = self._probes.facts()
        probe_reasons = {**self._probes.outages, **probe_reasons}
        facts = SessionFacts(
            cold=ColdFigures() if first.emulated else first.cold,
            warmup=first.warmup,
            memory=first.memory,
            runtime=dict(first.runtime),
            clock={} if first.own_time else self._clock.facts(),
            own_time=first.own_time,
            emulated=first.emulated,
            tick_ns=max((worker.tick_ns or 0 for worker in self._workers), default=0) or None,
            windows_ns=self._loop.windows_ns,
            load_bursts=self._loop.load_bursts,
            probes=probes,
            probe_reasons=probe_reasons,
            monitor_reasons=monitor_reasons,
            stderr_tail="\n".join(worker.stderr_tail for worker in self._workers),
            warnings=self._warnings(),
            built=self._built,
        )
        if len(self._workers) == 1:
            return facts
        # Each has figures of its own, and none stands for all.
        several = tuple(
            WorkerFacts(
                worker.number,
                worker.artifact.variant,
                worker.artifact.sha256,
                worker.cores,
                worker.cold,
                worker.warmup,
                worker.memory,
            )
            for worker in self._workers
        )
        return replace(facts, cold=ColdFigures(), warmup=None, memory=MemoryFigures(), workers=several)

    # --- what is reported of it on the way, never from a timed region ---

    def _report(self, stage: SessionStage, done: int = 0, steps: int = 0) -> None:
        self._settings.report(stage, done, steps)

    def _sending(self, what: str) -> Callable[[int, int], None]:
        return lambda sent, size: self._settings.report(
            f"{SENDING} {what}", sent // 1_000_000, size // 1_000_000
        )

    def _hear(self, frame: Frame) -> None:
        event = frame.message.get("event")
        if event == "ended":
            end = checked(Ended, frame.message)
            if end.worker >= len(self._workers):
                raise ProtocolError(f"the end of a worker {end.worker} that was never started")
            raise self._workers[end.worker].note_end(end)
        if event == "probe":
            self._probes.hear(frame)

    # --- what is known of it ---

    def _warnings(self) -> tuple[str, ...]:
        workers = self._workers
        step_ns = max(worker.clock_steps.coarse_ns for worker in workers)
        warnings = [
            *(text for worker in workers for text in _warnings_in(worker.runtime)),
            *self._clock.warnings(timed=not workers[0].own_time, step_ns=step_ns),
            *(text for worker in workers for text in worker.clock_steps.warnings()),
            *_left_running(workers),
        ]
        return tuple(dict.fromkeys(warnings))


def _warnings_in(runtime: dict[str, Json]) -> list[str]:
    """What the runner has to say to whoever reads the figures: `warnings` of its describe()."""
    warnings = runtime.get("warnings")
    if not isinstance(warnings, list):
        return []
    return [text for text in warnings if isinstance(text, str)]
