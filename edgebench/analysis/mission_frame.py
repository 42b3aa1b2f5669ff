"""Missions as a frame: one row a trial and profile, each figure with the ends of its interval (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from edgebench.fit.figure import Figure
from edgebench.fit.mission import Mission
from edgebench.fit.trial_summary import TrialSummary

FIGURES = {
    "duty_cycle": "duty_cycle",
    "backlog": "backlog",
    "storage_bytes": "storage_bytes",
    "age_s": "age_s",
    "oldest_s": "oldest_s",
    "missed": "missed",
    "energy_active_j": "energy_j.active",
    "energy_idle_j": "energy_j.idle",
    "energy_off_j": "energy_j.off",
    "break_even_s": "break_even_s",
}
"""Column -> which figure of a mission it is."""


def mission_frame(missions: Sequence[Mission], summaries: Sequence[TrialSummary]) -> pd.DataFrame:
    """By trial, then profile. Figures are float64, NaN where missing; `reasons` says why, by column."""
    trials = {summary.key: summary for summary in summaries}
    rows = [_row(mission, trials[mission.trial]) for mission in missions]
    kinds = {"trial": "str", "profile": "str", "target": "str", "variant": "str", "mark": "str"}
    columns: dict[str, Any] = {
        name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in kinds.items()
    }
    columns["load"] = pd.Series([row["load"] for row in rows], dtype="float64")
    columns["overloaded"] = pd.Series([row["overloaded"] for row in rows], dtype="boolean")
    columns["cycles"] = pd.Series([row["cycles"] for row in rows], dtype="int64")
    for name in FIGURES:
        for column in (name, f"{name}_low", f"{name}_high"):
            columns[column] = pd.Series([row[column] for row in rows], dtype="float64")
    columns["reasons"] = pd.Series([row["reasons"] for row in rows], dtype="object")
    return pd.DataFrame(columns)


def _row(mission: Mission, trial: TrialSummary) -> dict[str, Any]:
    figures = dict(_figures(mission))
    return {
        "trial": mission.trial,
        "profile": mission.profile,
        "target": trial.target,
        "variant": trial.variant,
        "mark": trial.mark,
        "load": mission.load,
        "overloaded": mission.overloaded,
        "cycles": mission.cycles,
        **{name: figure.value for name, figure in figures.items()},
        **{f"{name}_low": figure.low for name, figure in figures.items()},
        **{f"{name}_high": figure.high for name, figure in figures.items()},
        "reasons": {name: figure.reason for name, figure in figures.items() if figure.value is None},
    }


def _figures(mission: Mission) -> Iterator[tuple[str, Figure]]:
    for column, place in FIGURES.items():
        holder, _, part = place.rpartition(".")
        yield column, getattr(getattr(mission, holder) if holder else mission, part)
