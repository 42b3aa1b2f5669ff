"""The catalogue's power and energy, as the meter and rail see them that a board is judged by."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING

from edgebench.fit.metric import ENERGY_UNITS, POWER_UNITS, Metric, Shown

if TYPE_CHECKING:
    from edgebench.fit.trial_summary import PowerFigure, TrialSummary


def _primary(name: str) -> Callable[[TrialSummary], float | None]:
    """A field of the meter and rail that a board's power is judged by."""

    def value(trial: TrialSummary) -> float | None:
        rail: PowerFigure | None = next((rail for rail in trial.power or () if rail.primary), None)
        return None if rail is None else getattr(rail, name)

    return value


POWER_METRICS = (
    Metric(
        "power_mean_w",
        "Mean power over the steady windows, as the primary meter and rail see it.",
        _primary("mean_w"),
        POWER_UNITS,
        source="probes.parquet",
        statistics=("median",),
        judged="mean power",
        missing=attrgetter("power_reason"),
        json_field="power",
        csv={"mean_w": ""},
        is_power=True,
        shown=(Shown("power", "mean [W]", "number"),),
        rail="mean_w",
    ),
    Metric(
        "power_peak_w",
        "Highest power over the steady windows, as the primary meter and rail see it.",
        _primary("peak_w"),
        POWER_UNITS,
        source="probes.parquet",
        statistics=("max",),
        judged="peak power",
        json_field="power",
        csv={"peak_w": ""},
        is_power=True,
        shown=(Shown("power", "peak [W]", "number"),),
        rail="peak_w",
    ),
    Metric(
        "power_idle_w",
        "Mean power of the idle window, as the primary meter and rail see it.",
        _primary("idle_w"),
        POWER_UNITS,
        source="probes.parquet",
        json_field="power",
        csv={},
        is_power=True,
        shown=(Shown("power", "idle [W]", "number"),),
        rail="idle_w",
    ),
    Metric(
        "energy_j",
        "Energy of an image, idle power included.",
        _primary("energy_j"),
        ENERGY_UNITS,
        source="probes.parquet",
        statistics=("median",),
        judged="energy",
        json_field="power",
        shown=(Shown("power", "energy [J]", "number"),),
        rail="energy_j",
    ),
    Metric(
        "net_energy_j",
        "Energy of an image above that of the idle device.",
        _primary("net_energy_j"),
        ENERGY_UNITS,
        source="probes.parquet",
        json_field="power",
        shown=(Shown("power", "net of idle [J]", "number"),),
        rail="net_energy_j",
    ),
)
"""In the order of the CSV's columns."""
