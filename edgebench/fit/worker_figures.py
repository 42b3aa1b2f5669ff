"""Figures of several workers that shared a device: of each its own, because together they mean nothing.

What one of them took depends on what the others did meanwhile; the median over all of their passes would be
the latency of none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from edgebench.fit.cautions import cautions
from edgebench.fit.latency import SteadyPasses
from edgebench.fit.request_latency import SteadyRequests
from edgebench.fit.trial_summary import Accuracy
from edgebench.stats.intervals import session_interval, trial_median
from edgebench.store.records import SessionRecord


def worker_numbers(records: Sequence[SessionRecord], *tables: pd.DataFrame) -> tuple[int, ...]:
    """Which workers a trial's finished sessions had; (0,) where nothing names another.

    Args:
        records: the trial's finished sessions.
        tables: the trial's rows of what its sessions timed, each with its `session` and `worker`.
    """
    sessions = [record.n for record in records]
    recorded = {_number(worker) for record in records for worker in record.workers}
    timed = {
        int(number)
        for table in tables
        for number in table["worker"][table["session"].isin(sessions)].unique()
    }
    return tuple(sorted(recorded | timed | {0}))


def worker_figures(
    worker: int,
    records: Sequence[SessionRecord],
    steady: SteadyPasses,
    requests: SteadyRequests,
    confidence: float,
    accuracy: Accuracy | None,
) -> dict[str, Any]:
    """One worker's figures as plain data: latency, requests, stages, cold, memory, accuracy, cautions.

    Args:
        worker: its number.
        records: the trial's finished sessions.
        steady: its steady passes or windows.
        requests: those of its steady passes, where the device has several in flight.
        confidence: of the intervals.
        accuracy: of its own predictions.
    """
    intervals = {
        name: asdict(session_interval(values, confidence)) if values else None
        for name, values in (("image_s", steady.image_s), ("infer_s", steady.infer_s))
    }
    is_emulated = any(each.emulated for each in records)
    entries = [entry for each in records for entry in each.workers if _number(entry) == worker]
    return {
        "worker": worker,
        **intervals,
        "request_ms": None if requests.latency is None else asdict(requests.latency),
        "in_flight": requests.mean_in_flight,
        "stages_ms": steady.stages_ms,
        "load_s": None if is_emulated else _mean(_figures(entries, "cold", "load_s")),
        "memory_bytes": _mean(_figures(entries, "memory", "peak_bytes")),
        "accuracy": None if accuracy is None else asdict(accuracy),
        "warnings": [caution.sentence() for caution in cautions((), steady)],
    }


def _number(worker: Mapping[str, Any]) -> int:
    number = worker.get("worker")
    return number if isinstance(number, int) else 0


def _figures(workers: Sequence[Mapping[str, Any]], group: str, name: str) -> list[float]:
    """A figure of one worker, by session; those that were not recorded are left out."""
    held = [worker.get(group) for worker in workers]
    values = [figures.get(name) for figures in held if isinstance(figures, Mapping)]
    return [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]


def _mean(values: Sequence[float]) -> float | None:
    return trial_median([[value] for value in values]) if values else None
