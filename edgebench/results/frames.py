"""Trials, sessions and tables of a result as pandas frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

import pandas as pd

from edgebench.records.described import texts_of
from edgebench.records.session import ColdFigures, MemoryFigures, WarmUp
from edgebench.records.stored import (
    ExperimentRecord,
    Failure,
    GoldenCheck,
    RunRecord,
    SessionRecord,
    SessionStatus,
)
from edgebench.records.target import settings_text
from edgebench.results.listing import is_done, status_of
from edgebench.results.redaction import exported_target
from edgebench.results.rows import AnyColumn, Rows, Whole, Words

# A frame from rows, each column of one type.


def frame_of(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> pd.DataFrame:
    """The columns of `kinds`, in their order, from rows that have all of them.

    Args:
        rows: by column; what else they have is left out.
        kinds: the dtype of each column; `category` for the values in the order in which they come.
    """
    return pd.DataFrame({name: series([row[name] for row in rows], kind) for name, kind in kinds.items()})


def series(values: Sequence[Any], kind: str) -> pd.Series:
    """Values of one type; categories in the order in which they come."""
    if kind == "category":
        return pd.Series(pd.Categorical(values, categories=list(dict.fromkeys(values))))
    if kind == "Int64":  # records may hold more than 64 bits
        values = [None if value is None or abs(value) > _INT64_MAX else value for value in values]
    return pd.Series(values, dtype=kind)


# Trials and sessions as frames: one row each, the records' figures as columns.


_INT64_MAX = 2**63 - 1
_STATUSES = pd.Index(get_args(SessionStatus), dtype="str")


def trial_frame(
    experiment: ExperimentRecord,
    records: Mapping[str, Sequence[SessionRecord]],
    run: RunRecord | None = None,
) -> pd.DataFrame:
    """One row a planned trial: how far it came, and how many of its sessions ended how.

    `run` is how the last run of the experiment ended: it says whether a rule has ended the trials.
    """
    of_target = {
        target.name: {"device": target.device, "settings": settings_text(exported_target(target).settings)}
        for target in experiment.targets
    }
    rows = []
    for trial in experiment.trials:
        sessions = records.get(trial.key, ())
        statuses = [session.status for session in sessions]
        ok, interrupted = statuses.count("ok"), statuses.count("interrupted")
        status, reason = status_of(trial, sessions, experiment.sessions)
        least, most = experiment.least_sessions, experiment.sessions
        if status == "partial" and is_done(trial.key, statuses, run, least=least, most=most):
            status, reason = "done", ""
        rows.append(
            {name: getattr(trial, name, None) for name in _TRIAL_KINDS}
            | of_target.get(trial.target, {"settings": ""})
            | {
                "status": status,
                "reason": reason,
                "emulated": any(session.emulated for session in sessions),
                "sessions_ok": ok,
                "sessions_failed": len(statuses) - ok - interrupted,
                "sessions_interrupted": interrupted,
            }
        )
    return frame_of(rows, _TRIAL_KINDS)


_TRIAL_KINDS = {
    **dict.fromkeys(("key", "target", "device", "variant"), "str"),
    **{"depth_multiplier": "float64", "precision": "str"},
    **{"batch": "Int64", "concurrency": "Int64", "settings": "str", "status": "str", "reason": "str"},
    **{"emulated": "bool", "artifact_bytes": "Int64", "artifact_sha256": "str"},
    **dict.fromkeys(("sessions_ok", "sessions_failed", "sessions_interrupted"), "int64"),
}


def session_frame(keys: list[str], records: Mapping[str, Sequence[SessionRecord]]) -> pd.DataFrame:
    """One row a session, by trial and then by number."""
    sessions = [session for key in keys for session in records.get(key, ())]
    kinds = {
        "round": "Int64",
        "status": "str",
        "started_utc": "str",
        "duration_s": "float64",
        "harness_s": "float64",
    }
    parts = part_kinds()
    rows = [
        {name: getattr(session, name) for name in kinds}
        | {"session": session.n}
        | {column: _part(session, column, kind) for column, kind in parts.items()}
        for session in sessions
    ]
    frame = frame_of(rows, {"session": "int32", **kinds, **parts})
    frame["status"] = pd.Categorical(frame["status"], categories=_STATUSES)
    started = pd.to_datetime(frame["started_utc"], utc=True, errors="coerce", format="ISO8601")
    frame["started_utc"] = started.astype("datetime64[ms, UTC]")
    trials = pd.Categorical([session.trial for session in sessions], categories=pd.Index(keys, dtype="str"))
    frame.insert(0, "trial", pd.Series(trials))
    return frame


PARTS: Mapping[str, type] = {
    "cold": ColdFigures,
    "warmup": WarmUp,
    "memory": MemoryFigures,
    "golden": GoldenCheck,
    "failure": Failure,
}
"""The parts of a session's record whose fields are columns, `cold_load_s` and the like."""

_NO_COLUMN = "failure_stderr_tail"
_KIND_OF_TYPE = {bool: "boolean", int: "Int64", float: "float64", str: "str"}


@cache
def part_kinds() -> Mapping[str, str]:
    """The columns of PARTS with their types."""
    kinds = {}
    for part, of_type in PARTS.items():
        hints = get_type_hints(of_type)
        for name in texts_of(of_type):
            [kind] = {hint for hint in get_args(hints[name]) or [hints[name]] if hint is not NoneType}
            kinds[f"{part}_{name}"] = _KIND_OF_TYPE[kind]
    return {column: kind for column, kind in kinds.items() if column != _NO_COLUMN}


def _part(session: SessionRecord, column: str, kind: str) -> Any:
    """The figure of a column in one of PARTS; None without one, or none of the column's type."""
    part, _, name = column.partition("_")
    figures = getattr(session, part)
    value = figures.get(name) if isinstance(figures, Mapping) else getattr(figures, name, None)
    if isinstance(value, bool) != (kind == "boolean"):
        return None
    return None if kind == "Int64" and not isinstance(value, int) else value


# A table's rows as a frame, which shares their memory.


def table_frame(rows: Rows) -> pd.DataFrame:
    """Missing whole numbers make a column Int64; texts are a category."""
    return pd.DataFrame({name: _pandas_column(column) for name, column in rows.items()}, copy=False)


def _pandas_column(column: AnyColumn) -> Any:
    if isinstance(column, Words):
        return pd.Categorical.from_codes(column.codes, categories=pd.Index(column.words, dtype="str"))
    return pd.arrays.IntegerArray(column.values, ~column.present) if isinstance(column, Whole) else column
