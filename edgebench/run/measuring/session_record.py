"""The record of a session: of one that was measured, and of one that was not or that no file can hold."""

from __future__ import annotations

import math
import shutil
import statistics
import tempfile
import traceback
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from edgebench.errors import DiskFullError, EdgeBenchError, NoPermissionError, SessionError, UnavailableError
from edgebench.link.failures import Explain, explained, unexplained
from edgebench.link.host_probes import SampleSpool
from edgebench.records.model import Artifact
from edgebench.records.session import (
    MeasurePlan,
    Pass,
    ProbeChunk,
    ProbeInfo,
    SessionFacts,
    SessionSettings,
    Window,
    probe_name,
)
from edgebench.records.stored import (
    Failure,
    GoldenCheck,
    SessionRecord,
    SessionStatus,
    SessionTables,
    TableFile,
)
from edgebench.records.values import Scores
from edgebench.results import tables
from edgebench.results.redaction import PrivateNames, written
from edgebench.results.tables import (
    ProbeTableWriter,
    require_valid_chunk,
    require_valid_pass,
    require_valid_window,
)
from edgebench.results.writing import as_stored_result_error

# Samples of a session's probes: on disk as they come, and one table at the session's end.


MEMORY_CHANNEL = "memory_available"


class SessionSamples:
    """Samples of one session, in a folder that is the session's until the store has taken the table.

    Args:
        folder: on the disk of the results; without one a temporary one, which lasts as long as this.

    Attributes:
        folder: of its files.
        of_host: takes what the probes on this machine sample, on its clock.
        lowest_memory_bytes: the least memory that was available at any sample; known with the table.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="edgebench-"))
        if folder is None:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._of_device = SampleSpool(self.folder / "device")
        self._invalid: SessionError | None = None  # the first chunk of the device's that cannot be
        self.of_host = SampleSpool(self.folder / "host")
        self._host_chunks: Mapping[str, Iterable[ProbeChunk]] = {}
        self.lowest_memory_bytes = math.inf

    def take(self, chunk: ProbeChunk) -> None:
        """Check and keep a chunk of one of the device's probes; `require_kept` raises if that failed."""
        try:
            require_valid_chunk(chunk)
            self._of_device.add(chunk)
        except SessionError as error:
            self._invalid = self._invalid or error

    def take_all(self, chunks: Iterable[ProbeChunk]) -> None:
        """Keep the chunks that a session gives between two passes, with the errors of `require_kept`."""
        for chunk in chunks:
            self.take(chunk)
        self.require_kept()

    def require_kept(self) -> None:
        """Raise SessionError for a chunk that cannot be, StoredResultError for one that was not written."""
        if self._invalid is not None:
            raise self._invalid
        with as_stored_result_error(self.folder):
            self._of_device.require_written()
            self.of_host.require_written()

    def add_host_samples(self, chunks: Mapping[str, Iterable[ProbeChunk]]) -> None:
        """Have the table hold what this machine's probes sampled, by probe and on the device's clock."""
        self._host_chunks = chunks

    def table(self, infos: Sequence[ProbeInfo]) -> TableFile | None:
        """Write all samples as one Parquet file, probe by probe; None without any.

        Raises SessionError if a chunk cannot be or a probe of the `infos` has not announced its channel,
        StoredResultError if the disk refuses.
        """
        try:
            self.require_kept()
            if not self._of_device.probes and not self._host_chunks:
                return None
            path = self.folder / "probes.parquet"
            with as_stored_result_error(self.folder), ProbeTableWriter(path) as table:
                for chunk in self.chunks():
                    table.write(chunk, infos)
                    memory = chunk.values.get(MEMORY_CHANNEL)
                    if memory is not None and not np.isnan(memory).all():
                        self.lowest_memory_bytes = min(self.lowest_memory_bytes, float(np.nanmin(memory)))
                return table.close() if table.rows else None
        finally:
            self._of_device.close()
            self.of_host.close()

    def chunks(self, name: str | None = None) -> Iterator[ProbeChunk]:
        """Read the samples of all probes, or of one `kind:address`, on the device's clock. Raises OSError."""
        for probe in sorted({*self._of_device.probes, *self._host_chunks}):
            if name is None or probe_name(probe) == name:
                yield from self._of_device.chunks(probe)
                yield from self._host_chunks.get(probe, ())


# What one session has given so far, and the tables and figures of its record that follow from it.


SCARCE_MEMORY_BYTES = 64 << 20
"""Available memory below which a session's figures come with a warning."""

LEAST_SUSTAINED = 0.5
"""The share of the time asked for that steady passes go on at least; the last may end a while before it."""


@dataclass
class Gathered:
    """Measurements and facts so far; they are kept whatever ends the session."""

    timed: list[Pass] | list[Window] = field(default_factory=list)
    samples: SessionSamples = field(default_factory=SessionSamples)
    facts: SessionFacts | None = None
    checks: list[GoldenCheck] = field(default_factory=list)  # one a worker
    image_scores: list[Scores] = field(default_factory=list)  # likewise
    stage: str = "start"  # which the session has reached, in the words of SessionError
    device_s: float = 0.0  # time that belongs to the device and not to the harness
    steady_s: float = 0.0  # within the steady passes or windows of all workers

    @property
    def passes(self) -> list[Pass]:
        """Empty for a session of windows."""
        return [timed for timed in self.timed if isinstance(timed, Pass)]

    @property
    def windows(self) -> list[Window]:
        """Empty for a session of passes."""
        return [timed for timed in self.timed if isinstance(timed, Window)]

    @property
    def steady(self) -> list[Pass | Window]:
        """The steady passes or windows."""
        return [timed for timed in self.timed if timed.phase == "steady"]


def protocol_error(what: str, why: str = "", fix: str = "", stage: str = "measure") -> SessionError:
    """Return the error that ends a session whose passes or windows cannot all be right."""
    return SessionError(what, status="protocol_error", stage=stage, why=why, fix=fix)


def take_in(measurement: Pass | Window, gathered: Gathered, scene_patches: int, workers: int) -> None:
    """Check and keep a pass or a window of any device.

    Raises SessionError for an impossible one, and for passes and windows in one session. All that came before
    it is kept.
    """
    timed: list[Any] = gathered.timed  # all of one kind
    if timed and type(timed[0]) is not type(measurement):
        raise protocol_error("the device gave both passes and windows", "a session is timed by one of them")
    if isinstance(measurement, Window):
        require_valid_window(measurement, scene_patches, timed[-1] if timed else None)
    else:
        require_valid_pass(measurement, (timed or [measurement])[0].stages, workers)
        if measurement.scores is not None and len(measurement.scores) > scene_patches:
            raise protocol_error(
                f"pass {measurement.index} from the device is invalid",
                f"scores of {len(measurement.scores)} patches of a scene of {scene_patches}",
            )
        if measurement.due_ns is not None and timed:
            # The pause before a paced pass is the schedule's, not the harness's.
            gathered.device_s += max(0, measurement.due_ns - timed[-1].end_ns) / 1e9
    timed.append(measurement)
    duration_s = (measurement.end_ns - measurement.start_ns) / 1e9
    gathered.device_s += duration_s
    gathered.steady_s += duration_s if measurement.phase == "steady" else 0.0


def require_as_planned(gathered: Gathered, plan: MeasurePlan) -> None:
    """SessionError where there is no steady pass or window, or not of the planned pace or length.

    Figures that are recorded as paced or sustained and are not would be taken for what they are not.
    """
    steady = gathered.steady
    if not steady:
        raise protocol_error("the device gave no steady pass")
    if plan.period_s is not None and any(getattr(timed, "due_ns", None) is None for timed in steady):
        raise protocol_error(
            f"the device did not pace what it measured by {plan.period_s:g} s",
            "its steady passes have no due times",
            "leave --period out; its backend can refuse it beforehand (check_plan)",
        )
    steady_s = (max(timed.end_ns for timed in steady) - min(timed.start_ns for timed in steady)) / 1e9
    lasted_s = steady_s + (plan.period_s or 0.0)  # the last pass's period belongs to it
    if plan.sustained_s is not None and lasted_s < LEAST_SUSTAINED * plan.sustained_s:
        raise protocol_error(
            f"the device measured for {steady_s:.3g} s, and {plan.sustained_s:g} s were asked for",
            "its session took no notice of how long steady passes go on",
            "leave --sustained out; its backend can refuse it beforehand (check_plan)",
        )


def _scene_scores(gathered: Gathered) -> list[tuple[int, Sequence[int], Scores]]:
    """Workers, n patches of the scene, and the scores float32 [n, classes] that the worker gave them.

    Of each worker its last pass's: every pass classifies the same scene; of windows, each patch's last.
    """
    last = {
        scene_pass.worker: scene_pass.scores
        for scene_pass in gathered.passes
        if scene_pass.scores is not None and scene_pass.phase != tables.OUTSIDE
    }
    if last:
        return [(worker, range(len(scores)), scores) for worker, scores in sorted(last.items())]
    by_patch = {window.patch: window.scores for window in gathered.windows if window.scores is not None}
    if not by_patch:
        return []
    patches = sorted(by_patch)
    return [(0, patches, np.stack([by_patch[patch] for patch in patches]))]


def clock_wait(gathered: Gathered) -> dict[str, dict[str, int]]:
    """Under `wait`, the medians over the steady passes or windows: what they took, and were waited for."""
    known = [(timed.end_ns - timed.start_ns, timed.waited_ns) for timed in gathered.steady if timed.waited_ns]
    if not known:
        return {}
    stamped_ns, waited_ns = (int(statistics.median(values)) for values in zip(*known, strict=True))
    return {"wait": {"stamped_ns": stamped_ns, "waited_ns": waited_ns}}


def worker_records(gathered: Gathered) -> tuple[dict[str, Any], ...]:
    """Return the record's workers; each of several has its own facts."""
    facts = gathered.facts.workers if gathered.facts else ()
    if not facts:
        return ({"worker": 0},)
    checks = dict(enumerate(gathered.checks))
    return tuple(
        {**asdict(worker), "golden": check.model_dump() if (check := checks.get(worker.worker)) else None}
        for worker in facts
    )


def session_tables_of(gathered: Gathered, plan: MeasurePlan) -> SessionTables:
    """Make the tables of a session. Raises SessionError for samples that cannot be."""
    session_tables = SessionTables()
    if passes := gathered.passes:
        session_tables.passes, session_tables.batches = tables.pass_rows(passes)
    if windows := gathered.windows:
        session_tables.windows = tables.window_rows(windows)
    session_tables.probes = gathered.samples.table(gathered.facts.probes if gathered.facts else ())
    labels = plan.scene.labels
    predictions = [
        tables.prediction_rows("scene", scores, labels, worker, patches=patches)
        for worker, patches, scores in _scene_scores(gathered)
    ]
    if plan.images is not None:
        for worker, scores in enumerate(gathered.image_scores):
            rows = tables.prediction_rows("images", scores, plan.images.labels, worker)
            if plan.images.task != "classes":  # one score alone is no class
                rows["predicted"] = np.int16(-1)
            predictions.append(rows)
    if predictions:
        session_tables.predictions = tables.concat(predictions)
    return session_tables


def memory_warnings(describe: Mapping[str, Any], lowest_sampled_bytes: float) -> list[str]:
    """Warn if the device had little memory left, before the session or at any sample of it."""
    before = describe.get("memory_available_bytes")
    lowest = min(lowest_sampled_bytes, float(before) if isinstance(before, int) else math.inf)
    if lowest >= SCARCE_MEMORY_BYTES:
        return []
    return [
        f"less than {SCARCE_MEMORY_BYTES >> 20} MiB of the device's memory were available: it may have "
        "swapped, or read the model and the runtime from its disk again"
    ]


# What one session is asked to do, and what comes of it.


@dataclass(frozen=True)
class Job:
    """Request for one session."""

    key: str
    n: int
    round: int
    artifact: Artifact
    settings: SessionSettings
    plan: MeasurePlan
    host_meters: tuple[str, ...] = ()  # probes that sample on this machine, each `kind:address`
    host_monitors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """A session's record and tables, and whether the user asked to stop."""

    record: SessionRecord
    tables: SessionTables
    interrupted: bool
    samples: SessionSamples | None = None  # whose folder holds the table of the samples


MOST_REASON, MOST_TRACEBACK = 2000, 16_000
"""Characters that are kept of an error that has no words of its own."""


def session_record(
    job: Job,
    gathered: Gathered,
    describe: dict[str, Any],
    status: SessionStatus,
    failure: Failure | None,
    started: datetime,
    duration_s: float,
) -> SessionRecord:
    """The record of a session that began, with all that it has gathered.

    Args:
        job: what it was asked to do.
        gathered: by now.
        describe: the device's facts; its `private` names are taken out of the record.
        status: how it ended.
        failure: why it did; None where it ended well.
        started: when it began.
        duration_s: of the whole session.
    """
    facts = gathered.facts or SessionFacts()
    device_s = gathered.device_s + (facts.cold.import_s or 0.0) + (facts.cold.load_s or 0.0)
    device_s += facts.built.seconds if facts.built and not facts.built.cached else 0.0
    idle_windows = [window for window in (facts.windows_ns.idle, facts.windows_ns.idle_after) if window]
    if idle_windows:
        device_s += len(idle_windows) * job.settings.idle_s
        begin_ns, end_ns = facts.windows_ns.settling or (0, 0)
        device_s += len(idle_windows) * (end_ns - begin_ns) / 1e9
        # Where power is metered, the pause after the last paced pass goes by as well.
        last_ns = getattr(gathered.timed[-1], "lateness_ns", None) if gathered.timed else None
        device_s += max(0, -(last_ns or 0)) / 1e9
    device_s += facts.load_bursts.total_s if facts.load_bursts else 0.0
    predictions = {
        "scene": [scores for _, _, scores in _scene_scores(gathered)],
        "images": gathered.image_scores,
    }
    # What several workers do at the same time is no sum of theirs.
    timed_alone = status == "ok" and not (facts.own_time or facts.emulated) and not facts.workers
    record = bare_record(
        job,
        failure,
        started,
        duration_s,
        status,
        harness_s=duration_s - device_s if timed_alone else None,
        # Of several workers the one that is farthest off; each is among the workers.
        golden=max(gathered.checks, key=lambda check: check.max_abs_diff, default=None),
        device={name: fact for name, fact in describe.items() if name != "private"},
        predicted={name: sum(map(len, parts)) for name, parts in predictions.items() if parts},
        **{
            **_own_facts(gathered),
            "clock": {**facts.clock, **clock_wait(gathered)},
            "workers": worker_records(gathered),
            "warnings": (
                *facts.warnings,
                *memory_warnings(describe, gathered.samples.lowest_memory_bytes),
            ),
        },
    )
    # Private names come with the description, and serve to take them out of the record.
    return written(record, PrivateNames.of(private=describe.get("private")))


_AS_KEYS = {"cold", "warmup", "memory", "windows_ns"}
"""Facts whose fields are keys of the record."""


def _own_facts(gathered: Gathered) -> dict[str, Any]:
    """Return the session's facts, by the record's fields; empty if it gave none."""
    if gathered.facts is None:
        return {}
    facts = {name: fact for name, fact in vars(gathered.facts).items() if name in SessionRecord.model_fields}
    facts |= {name: asdict(facts[name]) if facts[name] else {} for name in _AS_KEYS}
    return {**facts, "probes": tuple(asdict(info) for info in gathered.facts.probes)}


def bare_record(
    job: Job,
    failure: Failure | None,
    started: datetime,
    duration_s: float = 0.0,
    status: SessionStatus = "error",
    **more: Any,
) -> SessionRecord:
    """The record of a session that is known only by why it failed; `more` is what else is known of one."""
    return SessionRecord(
        trial=job.key,
        n=job.n,
        round=job.round,
        status=status,
        started_utc=utc_text(started),
        duration_s=duration_s,
        failure=failure,
        **more,
    )


def utc_text(moment: datetime) -> str:
    """A moment as records have it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def unmeasured_session(job: Job, error: Exception, explain: Explain = unexplained) -> Measured:
    """A session that never began, because its device could not be reached or asked: its record says why."""
    status, failure = failure_of(error, "start", explain)
    record = bare_record(job, failure, datetime.now(UTC), status=status)
    return Measured(record, SessionTables(), interrupted=False)


def unwritable_session(measured: Measured, error: Exception) -> Measured:
    """The same session where no file can hold it: why, and nothing of what the device said."""
    status, failure = failure_of(error, "stop")
    record = SessionRecord.model_validate(
        measured.record.model_dump(include={"trial", "n", "round", "started_utc", "duration_s"})
        | {"status": status, "failure": failure}
    )
    return Measured(record, SessionTables(), measured.interrupted)


def traceback_text(error: BaseException) -> str:
    """The end of an error's traceback, as a record can hold it."""
    return _writable("".join(traceback.format_exception(error)))[-MOST_TRACEBACK:]


def _writable(text: str) -> str:
    """An error may quote what could not be written."""
    return text.encode("utf-8", "backslashreplace").decode()


def failure_of(
    error: BaseException, stage: str, explain: Explain = unexplained
) -> tuple[SessionStatus, Failure]:
    """Status and failure of a session that an error ended, in the backend's words if it has any.

    Args:
        error: of any kind.
        stage: of the session; a SessionError has its own.
        explain: the backend's words.
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", Failure(what="interrupted by the user", stage=stage)
    if isinstance(error, SessionError):
        try:
            error = explained(error, explain)
        except Exception as fault:
            # The failure itself is worth more than that a backend has no words for it.
            words = f"{type(fault).__name__}: {fault}"
            error.stderr_tail += f"\nedgebench: its backend could not explain it: {words}"
        failure = Failure(**{name: getattr(error, name) for name in Failure.model_fields})
        return error.status, failure  # type: ignore[return-value]  # validated by the record
    if isinstance(error, EdgeBenchError):
        why = "; ".join(part for part in (error.why, error.fix) if part)
        is_lost = isinstance(error, UnavailableError | NoPermissionError)
        status: SessionStatus = "lost_connection" if is_lost else "error"
        if isinstance(error, DiskFullError):
            status = "disk_full"
        return status, Failure(what=error.what, why=why, stage=stage)
    return "error", Failure(
        what="the session ended in an error that EdgeBench does not know",
        why=_writable(f"{type(error).__name__}: {error}")[:MOST_REASON],
        fix="its traceback is in session.json: report it to whoever maintains the device's backend",
        stage=stage,
        stderr_tail=traceback_text(error),
    )
