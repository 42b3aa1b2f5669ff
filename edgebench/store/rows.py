"""Trials and sessions as frames: one row each, the records' figures as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import pandas as pd

from edgebench.store.completion import is_done
from edgebench.store.records import ExperimentRecord, RunRecord, SessionRecord, SessionStatus, TrialRecord
from edgebench.store.redaction import exported_settings

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
    devices = {target.name: target.device for target in experiment.targets}
    settings = {target.name: exported_settings(target) for target in experiment.targets}
    trials = experiment.trials
    statuses = {trial.key: [session.status for session in records.get(trial.key, ())] for trial in trials}
    ok = [statuses[trial.key].count("ok") for trial in trials]
    interrupted = [statuses[trial.key].count("interrupted") for trial in trials]
    failed = [
        len(statuses[trial.key]) - good - stopped
        for trial, good, stopped in zip(trials, ok, interrupted, strict=True)
    ]
    columns: dict[str, Any] = {
        "key": _texts([trial.key for trial in trials]),
        "target": _texts([trial.target for trial in trials]),
        "device": _texts([devices.get(trial.target) for trial in trials]),
        "variant": _texts([trial.variant for trial in trials]),
        "depth_multiplier": _floats([trial.depth_multiplier for trial in trials]),
        "precision": _texts([trial.precision for trial in trials]),
        "batch": _ints([trial.batch for trial in trials]),
        "concurrency": _ints([trial.concurrency for trial in trials]),
        "settings": pd.Series([settings.get(trial.target, {}) for trial in trials], dtype="object"),
        "status": _texts([_progress(experiment, trial, statuses[trial.key], run) for trial in trials]),
        "reason": _texts([trial.reason for trial in trials]),
        "artifact_bytes": _ints([trial.artifact_bytes for trial in trials]),
        "artifact_sha256": _texts([trial.artifact_sha256 for trial in trials]),
        "sessions_ok": pd.Series(ok, dtype="int64"),
        "sessions_failed": pd.Series(failed, dtype="int64"),
        "sessions_interrupted": pd.Series(interrupted, dtype="int64"),
    }
    return pd.DataFrame(columns)


def _progress(
    experiment: ExperimentRecord, trial: TrialRecord, statuses: Sequence[SessionStatus], run: RunRecord | None
) -> str:
    """How far a trial came: done, partial, failed, unsupported or not_run."""
    if trial.status != "planned":
        return trial.status
    ok = statuses.count("ok")
    if is_done(trial.key, statuses, run, least=experiment.least_sessions, most=experiment.sessions):
        return "done"
    if ok:
        return "partial"
    return "failed" if any(status != "interrupted" for status in statuses) else "not_run"


def session_frame(keys: list[str], records: Mapping[str, Sequence[SessionRecord]]) -> pd.DataFrame:
    """One row a session, by trial and then by number."""
    sessions = [session for key in keys for session in records.get(key, ())]
    code_by_key = {key: number for number, key in enumerate(keys)}
    columns: dict[str, Any] = {
        "trial": pd.Categorical.from_codes(
            [code_by_key[session.trial] for session in sessions], categories=pd.Index(keys, dtype="str")
        ),
        "session": pd.Series([session.n for session in sessions], dtype="int32"),
        "round": _ints([session.round for session in sessions]),
        "status": pd.Categorical([session.status for session in sessions], categories=_STATUSES),
        "started_utc": _times([session.started_utc for session in sessions]),
        "duration_s": _floats([session.duration_s for session in sessions]),
        "harness_s": _floats([session.harness_s for session in sessions]),
    }
    for name in ("import_s", "load_s", "first_inference_s", "first_pass_s", "start_s"):
        columns[f"cold_{name}"] = _floats([session.cold.get(name) for session in sessions])
    columns["warmup_batches"] = _ints([session.warmup.get("batches") for session in sessions])
    columns["warmup_steady"] = _flags([session.warmup.get("steady") for session in sessions])
    for name in ("after_load_bytes", "peak_bytes"):
        columns[f"memory_{name}"] = _ints([session.memory.get(name) for session in sessions])
    for part, fields in _NESTED.items():
        for name, to_column in fields.items():
            columns[f"{part}_{name}"] = to_column(
                [getattr(getattr(session, part), name, None) for session in sessions]
            )
    return pd.DataFrame(columns)


def _ints(values: Sequence[Any]) -> pd.Series:
    """Whole numbers, missing where there is none or none that fits in 64 bits."""
    sound = [
        value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _INT64_MAX else None
        for value in values
    ]
    return pd.Series(sound, dtype="Int64")


def _floats(values: Sequence[Any]) -> pd.Series:
    return pd.Series(values, dtype="float64")


def _flags(values: Sequence[Any]) -> pd.Series:
    return pd.Series([value if isinstance(value, bool) else None for value in values], dtype="boolean")


def _texts(values: Sequence[str | None]) -> pd.Series:
    return pd.Series(values, dtype="str")


def _times(values: Sequence[str]) -> pd.Series:
    stamps = pd.to_datetime(pd.Series(values, dtype="str"), utc=True, errors="coerce", format="ISO8601")
    return stamps.astype("datetime64[ms, UTC]")


_NESTED: dict[str, dict[str, Callable[[Sequence[Any]], pd.Series]]] = {
    "golden": {
        "max_abs_diff": _floats,
        "tolerance": _floats,
        "top1_equal": _ints,
        "n": _ints,
        "reference": _texts,
    },
    "failure": {"what": _texts, "why": _texts, "fix": _texts, "stage": _texts, "signal": _texts},
}
"""The parts of a session's record that may be absent, and their fields as columns."""
