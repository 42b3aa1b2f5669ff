"""The catalogue's power and energy, as the meter and rail see them that a board is judged by."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING

from edgebench.fit.metric import ENERGY_UNITS, POWER_UNITS, Metric, Shown

if TYPE_CHECKING:
    from edgebench.fit.trial_summary import TrialSummary


def _primary(name: str) -> Callable[[TrialSummary], float | None]:
    """A field of the meter and rail that a board's power is judged by."""

    def value(trial: TrialSummary) -> float | None:
        return None if trial.primary_rail is None else getattr(trial.primary_rail, name)

    return value


POWER_METRICS = (
    Metric(
        "power_mean_w",
        "Mean power within the steady passes, or of whole cycles, as the primary meter and rail see it.",
        _primary("mean_w"),
        POWER_UNITS,
        source="probes.parquet",
        statistics=("median",),
        judged="mean power",
        missing=attrgetter("power_reason"),
        json_field="power",
        csv={
            "mean_w": "",
            "mean_low_w": "mean_low_w",
            "mean_high_w": "mean_high_w",
            "power_total": "total",
            "power_effective_hz": "effective_hz",
            "power_longest_gap_s": "longest_gap_s",
            "power_averaging_ms": "averaging_ms",
            "power_rejected": "rejected",
        },
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
        csv={"peak_w": "", "p99_w": "p99_w"},
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
        csv={"energy_j": "", "energy_low_j": "energy_low_j", "energy_high_j": "energy_high_j"},
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
        csv={"net_energy_j": "", "net_low_j": "net_low_j", "net_high_j": "net_high_j"},
        shown=(Shown("power", "net of idle [J]", "number"),),
        rail="net_energy_j",
    ),
)
"""In the order of the CSV's columns."""
