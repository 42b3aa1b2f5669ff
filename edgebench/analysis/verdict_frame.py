"""Verdicts as a frame: one row a trial and requirement (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from edgebench.fit.settling import settled_by
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import WORDS

_CATEGORIES = ("target", "variant", "profile", "requirement", "quantity", "statistic", "unit")
_NUMBERS = ("limit", "value", "low", "high", "margin", "averaging_s")


def verdict_frame(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """By trial, then profile, then requirement, in the order of the verdicts.

    Numbers are in `unit`. A body's limit and value are three sides each: `limit_sides` and `value_sides`
    hold them as tuples, and `limit` and `value` are NaN.
    """
    trials = {summary.key: summary for summary in summaries}
    rows = [_row(verdict, trials[verdict.trial]) for verdict in verdicts]
    return pd.DataFrame({name: _column(name, [row[name] for row in rows]) for name in COLUMNS})


def _row(verdict: Verdict, trial: TrialSummary) -> dict[str, Any]:
    return {
        **vars(verdict),
        "target": trial.target,
        "variant": trial.variant,
        "settled_by": settled_by(trial, verdict),
        "limit": _number(verdict.limit),
        "value": _number(verdict.value),
        "limit_sides": _sides(verdict.limit),
        "value_sides": _sides(verdict.value),
    }


COLUMNS = (
    "trial", "target", "variant", "profile", "requirement", "quantity", "statistic", "limit", "unit", "value",
    "low", "high", "margin", "verdict", "reason", "settled_by", "wanted", "declared", "bound", "scope",
    "averaging_s", "limit_sides", "value_sides",
)  # fmt: skip


def _number(value: float | tuple[float, ...] | None) -> float | None:
    return None if isinstance(value, tuple) else value


def _sides(value: float | tuple[float, ...] | None) -> tuple[float, ...] | None:
    return value if isinstance(value, tuple) else None


def _column(name: str, values: Sequence[Any]) -> pd.Series:
    if name == "verdict":
        return pd.Series(pd.Categorical(values, categories=WORDS))
    if name in _CATEGORIES:
        return pd.Series(pd.Categorical(values, categories=list(dict.fromkeys(values))))
    if name in _NUMBERS:
        return pd.Series(values, dtype="float64")
    if name == "wanted":
        return pd.Series(values, dtype="bool")
    return pd.Series(values, dtype="object" if name.endswith("_sides") else "str")
