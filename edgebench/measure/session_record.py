"""The record of a session: of one that was measured, and of one that was not or that no file can hold."""

from __future__ import annotations

import traceback
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from edgebench.errors import DiskFullError, EdgeBenchError, NoPermissionError, SessionError, UnavailableError
from edgebench.link.session_faults import Explain, explained, unexplained
from edgebench.measure.session_gathering import Gathered, memory_warnings, prediction_counts, worker_records
from edgebench.measure.session_job import Job, Measured
from edgebench.store.records import Failure, SessionRecord, SessionStatus, SessionTables
from edgebench.store.redaction import PrivateNames, written
from edgebench.vocabulary.session_facts import SessionFacts

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
        # Where power is metered, the pause after the last paced pass goes by as well.
        last_ns = gathered.passes[-1].lateness_ns if gathered.passes else None
        device_s += max(0, -(last_ns or 0)) / 1e9
    device_s += facts.load_bursts.total_s if facts.load_bursts else 0.0
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
        warnings=(*facts.warnings, *memory_warnings(describe, gathered.samples.lowest_memory_bytes)),
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
        "load_bursts": facts.load_bursts,
        "measured_patches": facts.measured_patches,
        "untimed_stages": facts.untimed_stages,
        "emulated": facts.emulated,
        "instructions_reason": facts.instructions_reason,
    }


def bare_record(
    job: Job,
    failure: Failure,
    started: datetime,
    duration_s: float = 0.0,
    status: SessionStatus = "error",
) -> SessionRecord:
    """The record of a session of which nothing is known but why it failed."""
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
        status, failure = session_failure(error, explain)
    elif isinstance(error, EdgeBenchError):
        why = "; ".join(part for part in (error.why, error.fix) if part)
        failure = Failure(what=error.what, why=why, stage="start")
    else:
        failure = unknown_fault(error, "start")
    record = bare_record(job, failure, datetime.now(UTC), status=status)
    return Measured(record, SessionTables(), interrupted=False)


def unwritable_session(measured: Measured, error: Exception) -> Measured:
    """The same session where no file can hold it: why, and nothing of what the device said."""
    record = SessionRecord.model_validate(
        measured.record.model_dump(include={"trial", "n", "round", "started_utc", "duration_s"})
        | {"status": "error", "failure": unknown_fault(error, "stop")}
    )
    return Measured(record, SessionTables(), measured.interrupted)


def unknown_fault(error: Exception, stage: str) -> Failure:
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


def session_failure(error: SessionError, explain: Explain) -> tuple[SessionStatus, Failure]:
    """Status and failure of a session that ended in such an error, in the backend's words if it has any."""
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
