"""Rails of meters as a frame: one row a trial and rail, where a summary has the primary one alone (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from edgebench.fit.trial_summary import PowerFigure, TrialSummary

_TEXTS = ("trial", "target", "variant", "mark", "meter", "channel", "scope", "reason", "uncovered")
_FLAGS = ("primary", "total")
_COUNTS = ("samples", "rejected", "sessions")
COLUMNS = (
    "trial", "target", "variant", "mark", "meter", "channel", "scope", "primary", "total", "rate_hz",
    "effective_hz", "averaging_ms", "longest_gap_s", "window_s", "samples", "rejected", "sessions",
    "mean_w", "mean_low_w", "mean_high_w", "peak_w", "p99_w", "idle_w", "idle_drift_w",
    "energy_j", "energy_low_j", "energy_high_j", "net_energy_j", "net_low_j", "net_high_j",
    "reason", "uncovered",
)  # fmt: skip


def rail_frame(summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """By trial, then meter and rail, in the order of the record. Figures are float64, NaN where missing."""
    rows = [_row(summary, rail) for summary in summaries for rail in summary.power or ()]
    return pd.DataFrame({name: _column(name, [row[name] for row in rows]) for name in COLUMNS})


def _row(summary: TrialSummary, rail: PowerFigure) -> dict[str, Any]:
    return {
        **vars(rail),
        "trial": summary.key,
        "target": summary.target,
        "variant": summary.variant,
        "mark": summary.mark,
        "sessions": len(rail.mean_w_sessions),
    }


def _column(name: str, values: list[Any]) -> pd.Series:
    if name in _TEXTS:
        return pd.Series(values, dtype="str")
    if name in _FLAGS:
        return pd.Series(values, dtype="bool")
    return pd.Series(values, dtype="int64" if name in _COUNTS else "float64")
