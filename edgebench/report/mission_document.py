"""The document of `edgebench mission --json`, and the missions in that of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgebench.fit.figure import Figure
from edgebench.fit.mission import Mission
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report.json_values import SCHEMA_VERSION

FIGURES = (
    "duty_cycle", "storage_bytes", "backlog", "age_s", "oldest_s", "missed", "break_even_s",
)  # fmt: skip


def mission_document(
    missions: Sequence[Mission], trials: Mapping[str, TrialSummary], days: float, seed: int
) -> dict[str, Any]:
    """Plain data: each figure {value, low, high}, or null with its reason under `reasons`.

    `trials` are the summaries by key.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "days": days,
        "seed": seed,
        "trials": [mission_entry(mission, trials[mission.trial]) for mission in missions],
    }


def mission_entry(mission: Mission, trial: TrialSummary) -> dict[str, Any]:
    """One trial under one profile's schedule, as plain data."""
    figures = {name: getattr(mission, name) for name in FIGURES}
    energies: dict[str, Figure] = vars(mission.energy_j)
    reasons = {name: figure.reason for name, figure in figures.items() if figure.value is None}
    reasons |= {
        f"energy_j.{name}": figure.reason for name, figure in energies.items() if figure.value is None
    }
    return {
        "trial": mission.trial,
        "target": trial.target,
        "variant": trial.variant,
        "mark": trial.mark,
        "profile": mission.profile,
        "load": mission.load,
        "overloaded": mission.overloaded,
        "cycles": mission.cycles,
        **{name: _bounds(figure) for name, figure in figures.items()},
        "energy_j": {name: _bounds(figure) for name, figure in energies.items()},
        "reasons": reasons,
    }


def _bounds(figure: Figure) -> dict[str, Any] | None:
    if figure.value is None:
        return None
    return {"value": figure.value, "low": figure.low, "high": figure.high}
