"""The summaries that a run left in trial.json, for what looks at many results: no table is read for them.

What only the tables have (the samples of meters, each request's latency) and the cautions are not in them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from edgebench.errors import StoredResultError
from edgebench.fit.trial_summary import TrialSummary
from edgebench.store.layout import TRIAL_FILE, trial_folder
from edgebench.store.record_reading import read_bounded
from edgebench.store.records import SCHEMA_VERSION, SessionRecord

_DERIVED = frozenset({"cautions", "request_ms_values", "power_curves", "figures_of_values"})


def stored_summary(folder: Path, key: str, sessions: Sequence[SessionRecord]) -> TrialSummary | None:
    """The summary of a trial as its run wrote it; None where there is none of these very sessions.

    That is so of a run that was killed, and where trial.json is damaged or of a newer version: the tables
    tell then (`edgebench.fit.summarise.summarise_one`).

    Args:
        folder: of the result.
        key: the trial's.
        sessions: those of the trial that are on disk, failed ones too.
    """
    try:
        data = read_bounded(trial_folder(folder, key) / TRIAL_FILE, folder)
        document: Any = None if data is None else from_json(data, allow_inf_nan=False)
    except (StoredResultError, ValueError):
        return None
    if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
        return None
    adapter, names = _reader()
    try:
        summary = adapter.validate_python({name: document[name] for name in names & document.keys()})
    except ValidationError:
        return None
    if summary.key != key or _counted(summary) != sum(session.status == "ok" for session in sessions):
        return None
    return summary


def _counted(summary: TrialSummary) -> int:
    """How many sessions that ended well it is of; earlier versions have no more than its latency's."""
    if summary.failed_sessions is not None:
        return summary.failed_sessions.n - summary.failed_sessions.k
    return 0 if summary.latency is None else summary.latency.sessions


@cache
def _reader() -> tuple[TypeAdapter[TrialSummary], frozenset[str]]:
    """What validates a summary, and the fields that trial.json keeps of it."""
    names = frozenset(field.name for field in dataclasses.fields(TrialSummary) if field.init)
    return TypeAdapter(TrialSummary), names - _DERIVED
