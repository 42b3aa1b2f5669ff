"""Summaries of trials as a frame: the columns of the CSV, always of the same types (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from edgebench.fit.metrics import METRICS
from edgebench.fit.trial_metrics import missing_reasons
from edgebench.fit.trial_summary import TrialSummary
from edgebench.plan.sweeps import whole_settings_text
from edgebench.report.spreadsheet import trial_rows

_CATEGORIES = ("target", "variant", "precision", "status", "mark")
_TEXTS = (
    "key", "settings", "timed", "untimed_stages", "assumed", "reason", "warnings", "power_meter",
    "power_channel", "power_scope", "boot_kind", "boot_source", "temperature_source",
)  # fmt: skip
_COUNTS = ("batch", "concurrency")
_FLAGS = ("extrapolated", "emulated")


def summary_frame(summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """One row a trial, in the order given, by its key: the index, which is called `trial`.

    Figures are float64, NaN where missing; names are categories, reasons and sources texts.
    """
    rows = trial_rows(summaries)
    frame = pd.DataFrame({name: _column(name, [row[name] for row in rows]) for name in (rows or [{}])[0]})
    frame.index = pd.Index([summary.key for summary in summaries], dtype="str", name="trial")
    return frame


def _column(name: str, values: Sequence[Any]) -> pd.Series:
    if name in _CATEGORIES:
        return pd.Series(pd.Categorical(values, categories=list(dict.fromkeys(values))))
    if name in _TEXTS:
        return pd.Series([_text(value) for value in values], dtype="str")
    if name in _COUNTS:
        return pd.Series(values, dtype="int64")
    if name in _FLAGS:
        return pd.Series(values, dtype="bool")
    if name == "power_total":
        return pd.Series(values, dtype="boolean")
    return pd.Series(values, dtype="float64")


def _text(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return whole_settings_text(value)
    return "; ".join(map(str, value)) if isinstance(value, tuple) else value


def reason_frame(summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """Why figures are missing: one row a trial and column of `summary_frame`; trial, column, reason."""
    rows = trial_rows(summaries)
    missing = [
        (summary.key, column, reason)
        for summary, row in zip(summaries, rows, strict=True)
        for column, reason in _reasons(summary).items()
        if column in row and row[column] is None and reason
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
