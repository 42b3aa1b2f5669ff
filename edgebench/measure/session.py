"""One session of one trial, from a fresh process to the record that the store keeps."""

from __future__ import annotations

import time
import traceback
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from edgebench.contract import Device, Session
from edgebench.errors import (
    DiskFullError,
    EdgeBenchError,
    NoPermissionError,
    SessionError,
    UnavailableError,
)
from edgebench.link.host_probes import HostProbes
from edgebench.link.session_faults import Explain, explained, unexplained
from edgebench.measure import golden
from edgebench.measure.session_gathering import (
    Gathered,
    memory_warnings,
    prediction_counts,
    require_as_planned,
    session_tables_of,
    take_in,
    timed_on_device,
    worker_records,
)
from edgebench.measure.session_watch import SessionWatch
from edgebench.plan.estimate import Shape
from edgebench.session_stages import BUILD
from edgebench.stats.clock import ClockFit
from edgebench.store.records import Failure, SessionRecord, SessionStatus, SessionTables
from edgebench.store.redaction import PrivateNames, written
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.passes import Pass, Window
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import SessionFacts
from edgebench.vocabulary.values import Scores

NO_METER = ""
"""Among the reasons of meters: why there is none at all."""
SPARE_MEASUREMENTS = 100
"""Passes or windows beside the steady ones and the warm-up's that are still taken for a device's own way."""

MOST_REASON, MOST_TRACEBACK = 2000, 16_000
"""Characters that are kept of an error that has no words of its own."""


@dataclass(frozen=True)
class Job:
    """What one session is asked to do."""

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


def measure_session(
    device: Device,
    job: Job,
    describe: dict[str, Any],
    watch: SessionWatch | None = None,
    explain: Explain = unexplained,
    host_probes: HostProbes | None = None,
) -> Measured:
    """Run one session; a failure or Ctrl-C becomes the record's status, with all that was measured.

    A failure is told as `explain`, the backend's, tells it.
    """
    watch = watch or SessionWatch(Shape(job.plan.scene.patches, job.plan.passes))
    host_probes = host_probes or HostProbes()
    metering = host_probes.begin_session((*job.host_meters, *job.host_monitors))

    def report(stage: str, done: int, steps: int) -> None:
        watch.report(stage, done, steps)
        host_probes.poll()  # a build takes hours, and a probe's agent that nobody hears ends

    settings = replace(job.settings, report=report, patch_took=watch.patch_took, host_metering=metering)
    started = datetime.now(UTC)
    clock_s = time.perf_counter()
    gathered = Gathered()
    measured_tables = SessionTables()
    status: SessionStatus = "ok"
    failure: Failure | None = None
    session: Session | None = None
    try:
        try:
            watch.report(BUILD if watch.shape.builds else "load", 0, 0)
            with device.session(job.artifact, settings) as session:
                try:
                    _drive(session, job, gathered, watch, host_probes)
                finally:
                    gathered.facts = session.facts()
                    gathered.chunks += session.probe_chunks()
        finally:
            if session is not None:
                # Which of its processes outlive it is known when it has ended.
                ended = session.facts()
                gathered.facts = replace(gathered.facts or ended, warnings=ended.warnings)
            try:
                if session is not None:
                    _add_host_samples(gathered, job, host_probes)
            finally:
                # Also for a session that ended early, or is interrupted while it waits for the host's probes;
                # it may itself find that the device sent nonsense.
                measured_tables = session_tables_of(gathered, job.plan)
    except SessionError as error:
        status, failure = _failure(error, explain)
    except KeyboardInterrupt:
        status = "interrupted"
        failure = Failure(what="interrupted by the user", stage=gathered.stage)
    except EdgeBenchError:
        raise
    except Exception as error:
        status, failure = "error", _fault(error, gathered.stage)
    duration_s = time.perf_counter() - clock_s
    try:
        record = _record(job, gathered, describe, status, failure, started, duration_s)
    except Exception as error:
        # What was measured is sound; what the device, or its backend, says of it is no record.
        record = _bare_record(job, _fault(error, "stop"), started, duration_s)
    return Measured(record, measured_tables, interrupted=status == "interrupted")


def _record(
    job: Job,
    gathered: Gathered,
    describe: dict[str, Any],
    status: SessionStatus,
    failure: Failure | None,
    started: datetime,
    duration_s: float,
) -> SessionRecord:
    facts = gathered.facts or SessionFacts()
    device_s = gathered.device_s + (facts.cold.import_s or 0.0) + (facts.cold.load_s or 0.0)
    device_s += facts.built.seconds if facts.built and not facts.built.cached else 0.0
    if facts.windows_ns.idle:
        device_s += job.settings.idle_s
        # Where power is metered, the pause after the last paced pass goes by as well.
        last_ns = gathered.passes[-1].lateness_ns if gathered.passes else None
        device_s += max(0, -(last_ns or 0)) / 1e9
    # What several workers do at the same time is no sum of theirs.
    timed_alone = status == "ok" and not facts.other_time and not facts.workers
    record = SessionRecord(
        trial=job.key,
        n=job.n,
        round=job.round,
        status=status,
        started_utc=_utc(started),
        duration_s=duration_s,
        harness_s=duration_s - device_s if timed_alone else None,
        failure=failure,
        # Of several workers the one that is farthest off; each is among the workers.
        golden=max(gathered.checks, key=lambda check: check.max_abs_diff, default=None),
        workers=worker_records(gathered),
        device={name: fact for name, fact in describe.items() if name != "private"},
        predicted=prediction_counts(gathered),
        warnings=(*facts.warnings, *memory_warnings(describe, gathered.chunks)),
        **({} if gathered.facts is None else _recorded(gathered.facts)),
    )
    # Private names come with the description, and serve to take them out of the record.
    return written(record, PrivateNames.of(private=describe.get("private")))


def _recorded(facts: SessionFacts) -> dict[str, Any]:
    """The fields of a record that its session fills in itself."""
    return {
        "cold": asdict(facts.cold),
        "built": facts.built,
        "warmup": {} if facts.warmup is None else asdict(facts.warmup),
        "memory": asdict(facts.memory),
        "runtime": facts.runtime,
        "clock": facts.clock,
        "probes": tuple(asdict(info) for info in facts.probes),
        "probe_reasons": facts.probe_reasons,
        "monitor_reasons": facts.monitor_reasons,
        "windows_ns": asdict(facts.windows_ns),
        "measured_patches": facts.measured_patches,
        "emulated": facts.emulated,
    }


def _bare_record(
    job: Job,
    failure: Failure,
    started: datetime,
    duration_s: float = 0.0,
    status: SessionStatus = "error",
) -> SessionRecord:
    return SessionRecord(
        trial=job.key,
        n=job.n,
        round=job.round,
        status=status,
        started_utc=_utc(started),
        duration_s=duration_s,
        failure=failure,
    )


def _utc(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def unmeasured_session(job: Job, error: Exception, explain: Explain = unexplained) -> Measured:
    """A session that never began, because its device could not be reached or asked: its record says why."""
    status: SessionStatus = "error"
    if isinstance(error, UnavailableError | NoPermissionError):
        status = "disk_full" if isinstance(error, DiskFullError) else "lost_connection"
    if isinstance(error, SessionError):
        status, failure = _failure(error, explain)
    elif isinstance(error, EdgeBenchError):
        why = "; ".join(part for part in (error.why, error.fix) if part)
        failure = Failure(what=error.what, why=why, stage="start")
    else:
        failure = _fault(error, "start")
    record = _bare_record(job, failure, datetime.now(UTC), status=status)
    return Measured(record, SessionTables(), interrupted=False)


def unwritable_session(measured: Measured, error: Exception) -> Measured:
    """The same session where no file can hold it: why, and nothing of what the device said."""
    record = SessionRecord.model_validate(
        measured.record.model_dump(include={"trial", "n", "round", "started_utc", "duration_s"})
        | {"status": "error", "failure": _fault(error, "stop")}
    )
    return Measured(record, SessionTables(), measured.interrupted)


def _add_host_samples(gathered: Gathered, job: Job, host_probes: HostProbes) -> None:
    """Put what the host's probes sampled to what the session's own did."""
    asked = (*job.host_meters, *job.host_monitors)
    if not asked:
        return
    facts = gathered.facts or SessionFacts()
    fit = facts.clock.get("fit")
    samples = host_probes.end_session(None if fit is None else ClockFit(**fit))
    gathered.chunks += samples.chunks
    meters = {
        name: why for name, why in facts.probe_reasons.items() if name != NO_METER or not job.host_meters
    }
    monitors = dict(facts.monitor_reasons)
    for name, reason in samples.reasons.items():
        (monitors if name in job.host_monitors else meters)[name] = reason
    gathered.facts = replace(
        facts, probes=(*facts.probes, *samples.probes), probe_reasons=meters, monitor_reasons=monitors
    )


def _drive(
    session: Session, job: Job, gathered: Gathered, watch: SessionWatch, host_probes: HostProbes
) -> None:
    """Golden check, passes, accuracy: in this order, each kept as soon as it is there."""
    gathered.stage = "golden"
    scores = session.golden()
    for worker_scores in _by_worker(scores, job):
        gathered.checks.append(golden.compare(worker_scores, job.artifact.golden, job.settings.options))
    for check in gathered.checks:
        golden.require(check)
    gathered.stage = "measure"
    # Ctrl-C between two passes leaves the generator suspended: unless it is closed here, the facts are asked
    # for before the clock's last edge is taken and the probes have given their last samples.
    with closing(_closable(session.measure(job.plan))) as measurements:
        for count, measurement in enumerate(measurements, 1):
            _require_due(count, job)
            take_in(measurement, gathered, job.plan.scene.patches, job.settings.workers)
            gathered.chunks += session.probe_chunks()
            host_probes.poll()
            if isinstance(measurement, Window) or measurement.worker == 0:
                watch.arrived(measurement)  # the others are as far, give or take a pass
    require_as_planned(gathered, job.plan)
    if job.plan.images is not None:
        gathered.stage = "predict"
        with timed_on_device(gathered):
            gathered.image_scores = _by_worker(session.predict(job.plan.images), job)


def _require_due(count: int, job: Job) -> None:
    """SessionError for more passes or windows than any device gives that was asked for so many steady ones.

    A sustained session has no number of them.
    """
    plan = job.plan
    most = job.settings.workers * (plan.passes + plan.warmup_cap + SPARE_MEASUREMENTS)
    if plan.sustained_s is None and count > most:
        raise SessionError(
            "the device goes on measuring without end",
            status="protocol_error",
            stage="measure",
            why=f"it gave more than {most} passes or windows, and {plan.passes} steady ones were asked for",
        )


def _by_worker(scores: Scores, job: Job) -> list[Scores]:
    """Scores that the workers gave one after the other, as one array each; SessionError for a part of one."""
    workers = job.settings.workers
    if len(scores) % workers:
        raise SessionError(
            f"the device gave {len(scores)} rows of scores for {workers} workers",
            status="protocol_error",
            stage="predict",
        )
    return np.split(scores, workers)


def _closable(measurements: Iterator[Pass | Window]) -> Generator[Pass | Window, None, None]:
    """Closes what it takes from, where that can be closed: a session may give its passes by any iterator."""
    yield from measurements


def _fault(error: Exception, stage: str) -> Failure:
    """The failure of a session in an error that is none of EdgeBench's."""
    return Failure(
        what="the session ended in an error that EdgeBench does not know",
        why=_writable(f"{type(error).__name__}: {error}")[:MOST_REASON],
        fix="its traceback is in session.json: report it to whoever maintains the device's backend",
        stage=stage,
        stderr_tail=traceback_text(error),
    )


def traceback_text(error: Exception) -> str:
    """The end of an error's traceback, as a record can hold it."""
    return _writable("".join(traceback.format_exception(error)))[-MOST_TRACEBACK:]


def _writable(text: str) -> str:
    """An error may quote what could not be written."""
    return text.encode("utf-8", "backslashreplace").decode()


def _failure(error: SessionError, explain: Explain) -> tuple[SessionStatus, Failure]:
    try:
        error = explained(error, explain)
    except Exception as fault:
        # The failure itself is worth more than that a backend has no words for it.
        error.stderr_tail += f"\nedgebench: its backend could not explain it: {type(fault).__name__}: {fault}"
    failure = Failure(
        what=error.what,
        why=error.why,
        fix=error.fix,
        stage=error.stage,
        signal=error.signal,
        stderr_tail=error.stderr_tail,
    )
    return error.status, failure  # type: ignore[return-value]  # validated by the record
