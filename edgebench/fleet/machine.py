"""A machine of a fleet: the Dask actor that opens its devices and measures sessions for one run."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from edgebench import interruption, registry
from edgebench.errors import EdgeBenchError, StoredResultError, UnavailableError
from edgebench.link.host_probes import HostProbes
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact
from edgebench.records.session import MeasurePlan, Pass, Window
from edgebench.records.stored import SessionRecord
from edgebench.records.target import Target
from edgebench.results import layout
from edgebench.results.writing import write_table
from edgebench.run.measuring.progress import Observer, warnings_noted
from edgebench.run.measuring.session import LocalDevice, SessionWatch
from edgebench.run.measuring.session_record import Job, Measured, unwritable_session

SILENCE_S = 30.0
"""A run that is not heard for so long is taken for gone: its session ends, its device is closed."""

END_S = 60.0
"""How long a session that was interrupted may take to end, its device to close."""

HEAR_S = 0.5
"""How long the run's question for news waits for the end of what is in hand."""

PART_BYTES = 8 << 20
"""Of a file, in one message."""

EventName = Literal["report", "arrived", "note"]
Event = tuple[EventName, tuple[Any, ...]]
"""What the run's process is told while a session goes on: calls of its `SessionWatch`, and notes."""

MACHINES: dict[str, Machine] = {}
"""The runs that this process measures for, or that wait for it, by their ids."""


@dataclass(frozen=True)
class SessionRequest:
    """A run's request for a session, which the answer repeats: no other session is taken for it.

    Attributes:
        nonce: of this request alone.
        trial: the trial's key.
        n: number of the session within its trial.
    """

    nonce: str
    trial: str
    n: int


@dataclass(frozen=True)
class SentSession:
    """A complete session: its request, its record as JSON, and the Parquet file of each of its tables.

    A file is given by its table's name, its size in bytes, and its SHA-256 in hex.
    """

    request: SessionRequest
    record: str
    interrupted: bool
    files: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True)
class Heard:
    """News since the last question.

    Attributes:
        ended: whether what was begun has ended, with a value, an error, or neither where it was interrupted.
        events: in order.
        wanted: whether another run waits for the machine.
    """

    ended: bool
    value: Any = None
    error: EdgeBenchError | None = None
    interrupted: bool = False
    events: tuple[Event, ...] = ()
    wanted: bool = False


class Machine:
    """What one run has of this machine.

    Args:
        run: the run's id; another actor of the same run ends what this one still does.
        who: whose run it is, for whoever waits.
    """

    def __init__(self, run: str, who: str) -> None:
        self.who = who
        self.waits = False
        self.target: Target | None = None
        self._run = run
        self._interrupts = interruption.Interrupts()
        self.device: LocalDevice | None = None
        self._host_probes = HostProbes()
        self._cache = Cache()
        self._folder: Path | None = None  # of the session that the run has not taken yet
        self._events: list[Event] = []
        self._outcome = Heard(ended=False)
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._ended.set()
        if (before := MACHINES.get(run)) is not None:
            # It may take a while to end: what is begun here waits for it, and this actor answers meanwhile.
            self._thread = threading.Thread(target=before.close, daemon=True)
            self._thread.start()
        self._wake()

    # --- what the run asks: each answer is quick ---

    def lacks(self, files: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those files, each by SHA-256 and suffix, that are not here yet."""
        self._heard_s = time.monotonic()
        return [file for file in files if not self._cache.has_sound(self._cache.object_path(*file), file[0])]

    def take(self, sha256: str, suffix: str, offset: int, part: bytes, *, last: bool) -> None:
        """Take in a part of a file; after the last one it is in the cache. OSError, ValueError."""
        self._heard_s = time.monotonic()
        if self._folder is None:
            self._folder = self._cache.scratch()
        path = self._folder / self._cache.object_path(sha256).name
        with path.open("r+b" if offset else "wb") as file:
            file.seek(offset)
            file.write(part)
        if last and self._cache.add_file(path, suffix)[1] != sha256:
            raise ValueError("a file arrived with another SHA-256")

    def part(self, name: str, offset: int) -> bytes:
        """Bytes of a table of the last session."""
        self._heard_s = time.monotonic()
        assert self._folder is not None
        with (self._folder / f"{name}.sent").open("rb") as file:
            file.seek(offset)
            return file.read(PART_BYTES)

    def wait(self, *, waits: bool) -> None:
        """Say whether the run waits for its turn."""
        self._wake()
        self.waits = waits

    async def begin(self, what: Literal["open", "measure", "close_device"], *arguments: Any) -> None:
        """Start one of these in a thread; `hear` has its news and its end."""
        self._wake()
        self._events, self._outcome = [], Heard(ended=False)
        loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        done, before = self._done, self._thread

        def work() -> None:
            if before is not None:
                before.join()
            self._outcome = self._carry_out(getattr(self, f"_{what}"), arguments)
            loop.call_soon_threadsafe(done.set)

        self._thread = threading.Thread(target=work, name=f"{what} for {self._run}", daemon=True)
        self._thread.start()

    async def hear(self, seen: int) -> Heard:
        """The events after the first `seen` ones, and the outcome; waits for it `HEAR_S` at most."""
        self._heard_s = time.monotonic()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._done.wait(), HEAR_S)
        outcome = self._outcome
        wanted = any(other.waits for other in list(MACHINES.values()) if other is not self)
        return replace(outcome, events=tuple(self._events[seen:]), wanted=wanted)

    def interrupt(self) -> None:
        """End what is in hand as Ctrl-C does."""
        self._heard_s = time.monotonic()
        self._interrupts.pass_on()

    def close(self) -> None:
        """End what is in hand, close the device; a later request wakes it again."""
        self._ended.set()
        if self._thread is not None and self._thread.is_alive():
            self._interrupts.pass_on()
            self._thread.join(END_S)
        if self._thread is None or not self._thread.is_alive():
            self._close_device()
        if MACHINES.get(self._run) is self:
            del MACHINES[self._run]

    # --- what it does, in a thread of its own ---

    def _wake(self) -> None:
        self._heard_s = time.monotonic()
        if self._ended.is_set():
            self._ended.clear()
            MACHINES[self._run] = self
            threading.Thread(target=self._close_when_silent, daemon=True).start()

    def _close_when_silent(self) -> None:
        while not self._ended.wait(SILENCE_S / 10):
            if time.monotonic() - self._heard_s > SILENCE_S:
                self.close()

    def _carry_out(self, task: Callable[..., Any], arguments: tuple[Any, ...]) -> Heard:
        own, thread = Observer(), threading.current_thread()
        # Another run's warnings are another thread's.
        own.note = lambda text: (  # type: ignore[method-assign]
            self._tell("note", text) if threading.current_thread() is thread else None
        )
        try:
            with interruption.heard_here(self._interrupts), warnings_noted(own):
                return Heard(True, task(*arguments))
        except KeyboardInterrupt:
            return Heard(True, interrupted=True)
        except StoredResultError as error:  # of this machine's disk, and not that of the results
            return Heard(True, error=UnavailableError(error.what, why=error.why, fix=error.fix))
        except EdgeBenchError as error:
            return Heard(True, error=error)
        except Exception as error:
            return Heard(True, error=EdgeBenchError(f"{type(error).__name__}: {error}"))

    def _tell(self, name: Any, *arguments: Any) -> None:
        self._events.append((name, arguments))

    def _open(self, target: Target) -> tuple[dict[str, Any], str]:
        """Open the target's device; its facts, and what placing an artifact costs there."""
        self._close_device()
        # The machine's lock lets one process in, and not one run.
        limit_s = time.monotonic() + Timeouts.from_environment().lock
        while any(other.device for other in list(MACHINES.values()) if other is not self):
            if time.monotonic() > limit_s:
                raise UnavailableError(f"{target.name} is in use", why="another run measures on its machine")
            interruption.pause(0.1)
        try:
            backend = registry.backend(target.device)
            self.device = LocalDevice(backend.open(target), backend.explain, self._host_probes)
            self.target = target
            return self.device.describe(), self.device.placement_cost
        except BaseException:
            self._close_device()
            raise

    def _close_device(self) -> None:
        device, self.device = self.device, None
        try:
            if device is not None:
                device.close()
        finally:
            self._host_probes.close()
            self._drop_session()

    def _drop_session(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _measure(self, request: SessionRequest, target: Target, job: Job, builds: bool) -> SentSession:
        """Measure one session; the cache of this machine has its files, under their hashes."""
        if self.device is None or self.target != target:
            self._open(target)
        assert self.device is not None
        self._drop_session()
        self._folder = self._cache.scratch()
        here = with_files(job, lambda path, sha256: self._cache.object_path(sha256, path.suffix))
        measured = self.device.measure(here, _ToldWatch(self._tell, job.plan, builds), self._folder)
        try:
            SessionRecord.model_validate_json(measured.record.model_dump_json())
            return self._sent(request, measured)
        except (ValueError, TypeError) as error:
            return self._sent(request, unwritable_session(measured, error))

    def _sent(self, request: SessionRequest, measured: Measured) -> SentSession:
        assert self._folder is not None
        files = []
        for name in layout.TABLES:
            if (table := getattr(measured.tables, name)) is not None:
                path = self._folder / f"{name}.sent"
                path.unlink(missing_ok=True)
                sha256 = write_table(path, table, name)
                files.append((name, path.stat().st_size, sha256))
        return SentSession(request, measured.record.model_dump_json(), measured.interrupted, tuple(files))


class _ToldWatch(SessionWatch):
    """Passes on what a session says of itself; scores stay here, but for how many there were."""

    def __init__(self, tell: Callable[..., None], plan: MeasurePlan, builds: bool) -> None:
        super().__init__(plan, builds=builds)
        self._tell = tell

    def report(self, stage: str, done: int, steps: int) -> None:
        """A stage begins or goes on."""
        self._tell("report", stage, done, steps)

    def arrived(self, measurement: Pass | Window) -> None:
        """A pass or a window."""
        if isinstance(measurement, Pass) and measurement.scores is not None:
            measurement = replace(measurement, scores=measurement.scores[:, :0])
        self._tell("arrived", measurement)


def with_files(job: Job, place: Callable[[Path, str], Path]) -> Job:
    """The job with other paths of its files: `place` gives each by its path and SHA-256."""

    def placed(artifact: Artifact) -> Artifact:
        golden = artifact.golden
        return artifact.model_copy(
            update={
                "path": place(artifact.path, artifact.sha256),
                "golden": golden.model_copy(update={"patches": place(golden.patches, golden.patches_sha256)}),
                "companions": {
                    name: companion.model_copy(update={"path": place(companion.path, companion.sha256)})
                    for name, companion in artifact.companions.items()
                },
            }
        )

    plan = job.plan
    images = plan.images and replace(plan.images, path=place(plan.images.path, plan.images.sha256), paths=())
    scene = replace(plan.scene, path=place(plan.scene.path, plan.scene.sha256))
    return replace(
        job,
        artifact=placed(job.artifact),
        settings=replace(job.settings, others=tuple(map(placed, job.settings.others))),
        plan=replace(plan, scene=scene, images=images),
    )
