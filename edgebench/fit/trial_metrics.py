"""What a trial comes to, metric by metric: the fields of its document, and why some of them are missing."""

from __future__ import annotations

from typing import Any

from edgebench.fit.metrics import METRICS
from edgebench.fit.trial_summary import RequestLatency, TrialSummary
from edgebench.stats.interval import Interval


def document_names() -> list[str]:
    """The fields of a trial's document that hold metrics, each once."""
    return list(dict.fromkeys(metric.json_place for metric in METRICS.values()))


def document_fields(trial: TrialSummary) -> dict[str, Any]:
    """What a trial's document holds of the metrics, by field: the summary's own, else the metric's value."""
    return {
        metric.json_place: getattr(trial, metric.json_place)
        if hasattr(trial, metric.json_place)
        else metric.value(trial)
        for metric in METRICS.values()
    }


def missing_reasons(trial: TrialSummary) -> dict[str, str]:
    """Why each field of a trial's document, and each interval, is missing, by the field's name."""
    unmeasured = (
        trial.unpooled
        or trial.reason
        or {
            "unsupported": "the target does not take this variant",
            "not_run": "no session of this trial has run yet",
            "failed": "every session of this trial failed",
        }.get(trial.status, "no finished session holds it")
    )
    reasons: dict[str, str] = {}
    held = document_fields(trial)
    for metric in METRICS.values():
        name = metric.json_place
        value = held[name]
        if value is None:
            reasons.setdefault(name, trial.unpublished(metric.name) or metric.missing(trial) or unmeasured)
        elif isinstance(value, Interval) and (value.low is None or value.high is None):
            few = f"too few sessions for an interval: {value.sessions}"
            reasons[f"{name}.interval"] = "none was published" if trial.published else few
        elif isinstance(value, RequestLatency) and value.p99 is None:
            reasons[f"{name}.p99"] = value.reason
    return reasons
