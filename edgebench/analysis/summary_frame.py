"""Summaries of trials as a frame: the columns of the CSV, always of the same types (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from edgebench.fit.metrics import METRICS
from edgebench.fit.trial_columns import Column, trial_columns
from edgebench.fit.trial_metrics import missing_reasons
from edgebench.fit.trial_summary import TrialSummary

_CATEGORIES = ("target", "variant", "precision", "status", "mark")
_COUNTS = ("batch", "concurrency")
_FLAGS = ("extrapolated", "emulated", "requested")


def summary_frame(summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """One row a trial, in the order given, by its key: the index, which is called `trial`.

    Figures are float64, NaN where missing; names are categories, reasons and sources texts.
    """
    columns = {
        column.heading: _series(column, [column.value(summary) for summary in summaries])
        for column in trial_columns(summaries)
    }
    frame = pd.DataFrame(columns)
    frame.index = pd.Index([summary.key for summary in summaries], dtype="str", name="trial")
    return frame


def _series(column: Column, values: Sequence[Any]) -> pd.Series:
    if column.heading in _CATEGORIES:
        return pd.Series(pd.Categorical(values, categories=list(dict.fromkeys(values))))
    if column.heading in _COUNTS:
        return pd.Series(values, dtype="int64")
    if column.kind == "flag":
        return pd.Series(values, dtype="bool" if column.heading in _FLAGS else "boolean")
    if column.kind == "text" or (column.kind == "any" and all(isinstance(v, str | None) for v in values)):
        return pd.Series(values, dtype="str")
    if column.kind == "any" and any(isinstance(value, str | bool) for value in values):
        return pd.Series(values, dtype="object")
    return pd.Series(values, dtype="float64")


def reason_frame(summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """Why figures are missing: one row a trial and column of `summary_frame`; trial, column, reason."""
    columns = {column.heading: column for column in trial_columns(summaries)}
    missing = [
        (summary.key, heading, reason)
        for summary in summaries
        for heading, reason in _reasons(summary).items()
        if heading in columns and columns[heading].value(summary) is None and reason
    ]
    return pd.DataFrame(missing, columns=["trial", "column", "reason"], dtype="str")


def _reasons(summary: TrialSummary) -> dict[str, str]:
    """By column, of all columns of a figure that is missing or has no interval."""
    stated = missing_reasons(summary)
    rail = summary.primary_rail
    reasons = {}
    for metric in METRICS.values():
        place = metric.json_place
        for column, part in metric.csv_fields.items():
            ends = stated.get(f"{place}.{'p99' if part == 'p99' else 'interval'}", "")
            of_rail = rail.reason if rail is not None and metric.rail else ""
            reasons[column] = stated.get(place) or ends or of_rail or metric.missing(summary)
    return reasons
