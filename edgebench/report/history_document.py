"""The document of `edgebench history --json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from edgebench.fit.history import HistoryPoint, LevelChange, TrialSeries
from edgebench.report.json_values import SCHEMA_VERSION, clean
from edgebench.stats.compare import ALPHA, Comparison
from edgebench.store.result_listing import UnreadableResult


def history_document(
    series: Sequence[TrialSeries], left_out: Sequence[UnreadableResult], minimum_effect: float
) -> dict[str, Any]:
    """Plain data: a series a trial, its results oldest first, in the metric's base unit."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "alpha": ALPHA,
        "minimum_effect": minimum_effect,
        "series": [_series(each) for each in series],
        "left_out": [{"result": each.path.name, "reason": each.reason} for each in left_out],
    }
    cleaned: dict[str, Any] = clean(document)
    return cleaned


def _series(series: TrialSeries) -> dict[str, Any]:
    return {
        "metric": series.metric.name,
        "unit": series.metric.unit,
        "better": series.metric.better,
        "target": series.target,
        "variant": series.variant,
        "batch": series.batch,
        "concurrency": series.concurrency,
        "settings": dict(series.settings),
        "scope": series.scope,
        "scene": series.scene,
        "results": [_point(point) for point in series.points],
        "changes": [_change(change) for change in series.changes],
        "change_reason": series.change_reason,
    }


def _point(point: HistoryPoint) -> dict[str, Any]:
    return {
        "result": point.result,
        "begun_utc": point.begun_utc or None,
        "trial": point.key,
        "value": point.figure.value,
        "low": point.figure.low,
        "high": point.figure.high,
        "session_values": point.figure.session_values,
        "to_previous": _comparison(point.to_previous),
        "to_baseline": _comparison(point.to_baseline),
        "facts": dict(point.facts),
    }


def _comparison(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    names = ("word", "ratio", "low", "high", "p", "reason")
    return {name: getattr(comparison, name) for name in names}


def _change(change: LevelChange) -> dict[str, Any]:
    figures = asdict(change.point)
    del figures["at"]
    return {
        "result": change.first_after,
        "after_result": change.last_before,
        "word": change.word,
        **figures,
        "differences": change.differences,
    }
