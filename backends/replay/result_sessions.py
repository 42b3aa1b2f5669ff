"""A stored trial's sessions as the script that the runner plays: stamps, scores, samples, failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.errors import StoredResultError
from edgebench.store.records import SessionRecord

from .host_sessions import STAGES, host_session

GOLDEN_PATCHES = 4
DEADLY = frozenset(
    {"SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGKILL", "SIGTERM", "SIGTRAP", "SIGSYS"}
)
"""Signals that end a process for sure; another one is played as an exit."""

MAX_WORDS = 500

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class TrialRows:
    """All that is stored of a trial; a table is None where no session has it."""

    records: tuple[SessionRecord, ...]
    passes: pd.DataFrame | None
    batches: pd.DataFrame | None
    probes: pd.DataFrame | None
    predictions: pd.DataFrame | None
    windows: pd.DataFrame | None = None


def golden_reference(classes: int) -> NDArray[np.float64]:
    """Scores [GOLDEN_PATCHES, classes]: one class each, as clear as can be."""
    return np.eye(classes)[np.arange(GOLDEN_PATCHES) % classes]


def script_of(rows: TrialRows, classes: int) -> tuple[dict[str, Any], Arrays, float]:
    """The script, its arrays and the tolerance of the golden check.

    StoredResultError where the tables contradict one another.
    """
    stages = stages_of(rows.batches)
    tolerance = _tolerance(rows.records)
    arrays: Arrays = {}
    images = _scores(rows.predictions, "images")
    if images is not None:
        arrays["images"] = images
    try:
        sessions = [
            _session(at, record, rows, stages, golden_reference(classes), tolerance, arrays)
            for at, record in enumerate(rows.records)
        ]
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise StoredResultError(
            "the source's tables contradict one another",
            why=(str(error) or type(error).__name__).splitlines()[0][:300],
            fix="take it from a backup, or replay another result",
        ) from error
    return {"sessions": sessions, "extra_stage": stages[3] if len(stages) == 4 else None}, arrays, tolerance


def host_script_of(rows: TrialRows, classes: int) -> tuple[dict[str, Any], Arrays, float]:
    """The same of a trial that is played on the host (`host_sessions.is_played_on_the_host`)."""
    tolerance = _tolerance(rows.records)
    arrays: Arrays = {}
    if (images := _scores(rows.predictions, "images")) is not None:
        arrays["images"] = images
    sessions = []
    for at, record in enumerate(rows.records):
        scene = _of(rows.predictions, record.n)
        scene = None if scene is None else scene[scene["set"] == "scene"]
        session = host_session(
            at,
            record,
            _of(rows.passes, record.n),
            _of(rows.batches, record.n),
            _of(rows.windows, record.n),
            None if scene is None or scene.empty else scene,
            arrays,
        )
        golden = _golden(record, golden_reference(classes), tolerance).tolist()
        sessions.append({**session, "golden": golden, "fault": _fault(record, session["passes"])})
    return {"sessions": sessions}, arrays, tolerance


def _tolerance(records: Sequence[SessionRecord]) -> float:
    """Of the golden check: the source's widest, as far as one class still stands out."""
    widest = max((record.golden.tolerance for record in records if record.golden is not None), default=1e-6)
    return min(max(widest, 0.0), 0.4)


def stages_of(batches: pd.DataFrame | None) -> tuple[str, ...]:
    """The stages' names, in order; the worker's where no session came so far."""
    if batches is None:
        return STAGES
    mine = batches.dropna(axis="columns", how="all")
    return tuple(name.removesuffix("_start_ns") for name in mine.columns if name.endswith("_start_ns"))


def _session(
    at: int,
    record: SessionRecord,
    rows: TrialRows,
    stages: Sequence[str],
    reference: NDArray[np.float64],
    tolerance: float,
    arrays: Arrays,
) -> dict[str, Any]:
    passes, stamps = _passes(_of(rows.passes, record.n), _of(rows.batches, record.n), stages)
    arrays[f"{at}.stamps"] = stamps
    if (scene := _scores(_of(rows.predictions, record.n), "scene")) is not None:
        arrays[f"{at}.scene"] = scene
    infos, samples = _samples(at, record, _of(rows.probes, record.n), arrays)
    idle, idle_after = record.windows_ns.get("idle"), record.windows_ns.get("idle_after")
    return {
        "passes": passes,
        "slots": _most_at_once(passes, stamps),
        "idle_ns": list(idle) if idle else None,
        "idle_after_ns": list(idle_after) if idle_after else None,
        "load_ns": _ns(record.cold.get("load_s")),
        "first_inference_ns": _ns(record.cold.get("first_inference_s")),
        "memory": {name: _bytes(record.memory.get(name)) for name in ("after_load_bytes", "peak_bytes")},
        "golden": _golden(record, reference, tolerance).tolist(),
        "fault": _fault(record, passes),
        "infos": infos,
        "samples": samples,
    }


def _of(frame: pd.DataFrame | None, session: int) -> pd.DataFrame | None:
    if frame is None:
        return None
    mine = frame[frame["session"] == session]
    return None if mine.empty else mine


def _passes(
    passes: pd.DataFrame | None, batches: pd.DataFrame | None, stages: Sequence[str]
) -> tuple[list[dict[str, Any]], NDArray[np.int64]]:
    """The passes in order, and the stamps of all their batches, int64 [batches, stages, 2]."""
    if passes is None or batches is None:
        return [], np.empty((0, len(stages), 2), np.int64)
    batches = batches.sort_values(["pass", "batch"], kind="stable")
    columns = [f"{stage}_{edge}_ns" for stage in stages for edge in ("start", "end")]
    stamps = batches[columns].to_numpy(np.int64).reshape(-1, len(stages), 2)
    if (stamps < 0).any() or (np.diff(stamps.reshape(len(stamps), -1)[:, :6], axis=1) < 0).any():
        raise ValueError("a batch has stamps that go back in time")
    numbers = batches["pass"].to_numpy(np.int64)
    paced = "due_ns" in passes.columns
    recorded_passes = []
    for row in passes.sort_values("pass").to_dict("records"):
        mine = np.flatnonzero(numbers == row["pass"])
        due = row["due_ns"] if paced else None
        recorded_passes.append(
            {
                "phase": str(row["phase"]),
                "start_ns": int(row["start_ns"]),
                "end_ns": int(row["end_ns"]),
                "due_ns": None if due is None or pd.isna(due) else int(due),
                "first": int(mine[0]) if len(mine) else 0,
                "batches": len(mine),
            }
        )
    return recorded_passes, stamps


def _most_at_once(passes: Sequence[Mapping[str, Any]], stamps: NDArray[np.int64]) -> int:
    """How many batches were begun and not done at most: so many slots the worker had."""
    most = 1
    for recorded_pass in passes:
        mine = stamps[recorded_pass["first"] : recorded_pass["first"] + recorded_pass["batches"]]
        done = np.sort(mine[:, 2, 1])
        before = np.searchsorted(done, mine[:, 0, 0], side="right")
        if len(mine):
            most = max(most, int((np.arange(len(mine)) - before).max()) + 1)
    return most


def _scores(rows: pd.DataFrame | None, set_name: str) -> NDArray[np.float32] | None:
    """Scores float32 [n, classes] of the last session that has some, by index."""
    if rows is None:
        return None
    mine = rows[rows["set"] == set_name]
    if mine.empty:
        return None
    last = mine[mine["session"] == mine["session"].max()].sort_values("index")
    return np.stack([np.asarray(patch_scores, np.float32) for patch_scores in last["scores"]])


def _samples(
    at: int, record: SessionRecord, rows: pd.DataFrame | None, arrays: Arrays
) -> tuple[dict[str, Any], list[list[str]]]:
    """What each probe says of itself, by the address that it is replayed under, and its channels."""
    infos: dict[str, Any] = {}
    samples: list[list[str]] = []
    for info in record.probes:
        own = f"{info['kind']}:{info['address']}"
        names = ("rate_hz", "averaging_ms", "resolution", "scope", "channels", "absent")
        played = {name: info.get(name) for name in names}
        played["absent"] = played["absent"] or {}
        played["of"] = own
        meter = any(channel["quantity"] in ("power", "energy") for channel in info["channels"])
        # The plain names are those of the only meter, or the first, and of the only monitor.
        addresses = [own] + [plain for plain in ["" if meter else "telemetry"] if plain not in infos]
        for address in addresses:
            infos[address] = played
        if rows is None:
            continue
        for channel, values in rows[rows["probe"] == own].groupby("channel", observed=True, sort=False):
            place = len(samples)
            arrays[f"{at}.stamps{place}"] = values["t_ns"].to_numpy(np.int64)
            arrays[f"{at}.samples{place}"] = values["value"].to_numpy(np.float64)
            samples.append([own, str(channel)])
    return infos, samples


def _golden(record: SessionRecord, reference: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """Scores that are as far from the reference as the source's were, and of the same mind about it."""
    check = record.golden
    far = check.max_abs_diff if check is not None and math.isfinite(check.max_abs_diff) else 0.0
    mismatch = record.status == "golden_mismatch"
    scores = reference.copy()
    scores[0, -1] += max(far, 1.0) if mismatch else min(max(far, 0.0), tolerance)
    return scores


def _fault(record: SessionRecord, passes: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How the session ended, where it did not end well."""
    if record.status == "ok":
        return None
    failure = record.failure
    stage = failure.stage if failure else "load"
    words = f"{failure.what}: {failure.why}" if failure and failure.why else failure.what if failure else ""
    fault = {
        "stage": "load" if stage == "start" else stage,
        "pass": _next_pass(record, passes),
        "words": words[:MAX_WORDS],
        "status": record.status,
    }
    if record.status == "golden_mismatch":
        return {**fault, "stage": "golden", "kind": "golden_mismatch"}
    if record.status == "out_of_memory":
        return {**fault, "kind": "out_of_memory"}
    if record.status == "crash":
        name = failure.signal if failure else None
        return {**fault, "kind": "signal", "signal": name} if name in DEADLY else {**fault, "kind": "exit"}
    return {**fault, "kind": "raise"}


def _next_pass(record: SessionRecord, passes: Sequence[Mapping[str, Any]]) -> int:
    """The number of the pass in which it ended: 0 the first, 1 the warm-up, then the steady ones."""
    if not passes:
        return 0
    steady = len([recorded_pass for recorded_pass in passes if recorded_pass["phase"] == "steady"])
    if not steady and not record.warmup:
        return 1
    return 2 + steady


def _ns(seconds: float | None) -> int:
    return round(seconds * 1e9) if seconds is not None and 0 < seconds < 1e9 else 0


def _bytes(value: int | None) -> int | None:
    return value if value is not None and 0 <= value < 1 << 60 else None
