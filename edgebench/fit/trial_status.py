"""How far a trial came, and what ended those of its sessions that did not end well."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.fit.trial_summary import FailedSessions, TrialStatus
from edgebench.stats.proportion import wilson
from edgebench.store.records import SessionRecord, TrialRecord


def status_of(trial: TrialRecord, records: Sequence[SessionRecord], planned: int) -> tuple[TrialStatus, str]:
    """How far a trial came, and in words what is missing."""
    if trial.status == "unsupported":
        return "unsupported", trial.reason or "the target does not take this variant"
    if trial.status == "failed":
        return "failed", f"it could not be prepared: {trial.reason or 'no reason was kept'}"
    ok = sum(record.status == "ok" for record in records)
    failed = [record for record in records if record.status not in ("ok", "interrupted")]
    if ok >= planned:
        return "done", ""
    if ok:
        also = f", {len(failed)} failed" if failed else ""
        return "partial", f"{ok} of {planned} planned sessions are there{also}"
    if failed:
        what = _cause(failed[-1])
        return "failed", f"no session ended well, {len(failed)} failed; the last: {what}"
    return (
        "not_run",
        "it was interrupted in its first session, which is kept and gives no figure"
        if records
        else "no session has run",
    )


def failed_sessions(records: Sequence[SessionRecord]) -> FailedSessions | None:
    """How many sessions failed of those that came to an end by themselves; None where none did."""
    n = sum(record.status != "interrupted" for record in records)
    k = n - sum(record.status == "ok" for record in records)
    return FailedSessions(k, n, *wilson(k, n)) if n else None


def failure_sentence(record: SessionRecord) -> str:
    """Which session ended early, how, and what ended it."""
    failure = record.failure
    if failure is None:
        return f"session {record.n:03}: {record.status}"
    return f"session {record.n:03}: {record.status} in {failure.stage}: {_cause(record)}"


def _cause(record: SessionRecord) -> str:
    """What ended a session, with the signal, the reason and the remedy where they are known."""
    failure = record.failure
    if failure is None:
        return record.status
    sentence = f"{failure.what}: {failure.why}" if failure.why else failure.what
    if failure.signal and failure.signal not in sentence:
        sentence = f"{sentence} ({failure.signal})"
    return f"{sentence}; {failure.fix}" if failure.fix else sentence
