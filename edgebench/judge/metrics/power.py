"""Power and energy, as the meter and rail see them that a board is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.metric import DECLARED, ENERGY_UNITS, POWER_UNITS, Asked, ByRail, Metric, Shown
from edgebench.judge.metrics.schedule import Simulated
from edgebench.stats.interval import Interval

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import PowerFigure, TrialSummary


def _declared(trial: TrialSummary) -> dict[str, float | str]:
    """Each figure and its source, under names that begin with its kind."""
    figures = [(f"{power.kind}_w", power.watts) for power in trial.declared_power]
    return dict([*figures, *((f"{power.kind}_source", power.source) for power in trial.declared_power)])


def of_rail(
    name: str, sentence: str, field: str, units: Mapping[str, float] = ENERGY_UNITS, **fields: Any
) -> Metric:
    """A field of the meter and rail that a board's power is judged by; columns have it and its interval."""
    fields.setdefault("csv", {name: "", **{bound: bound for bound in fields.get("rail_bounds", ())}})
    return Metric(
        name,
        sentence,
        units,
        read=lambda trial: None if trial.primary_rail is None else getattr(trial.primary_rail, field),
        source="probes.parquet",
        json_field="power",
        rail=field,
        **fields,
    )


def rail_value(rail: PowerFigure, metric: Metric) -> Interval | None:
    """A metric of power as one meter and rail sees it, whose ends may be None; None where it is missing."""
    value = getattr(rail, metric.rail)
    low, high = (getattr(rail, bound) for bound in metric.rail_bounds) if metric.rail_bounds else (None, None)
    sessions, n = len(rail.mean_w_sessions), rail.samples
    return None if value is None else Interval(value, low, high, sessions=sessions, n=n)


def rail_interval(rail: PowerFigure, name: str) -> Interval | None:
    """The same of the metric of that name."""
    return rail_value(rail, next(metric for metric in METRICS if metric.name == name))


def metered(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    """What meters say of the requirement's power or energy, or what was declared."""
    from edgebench.judge.power_limits import power_figure

    return power_figure(trial, asked, certainty)


_SAMPLING = (
    "total", "effective_hz", "longest_gap_s", "averaging_ms", "rejected", "rate_hz", "samples", "window_s",
    "uncovered", "unknown_lag_s", "pauses",
)  # fmt: skip
"""What of a meter and rail the rows of trials say besides its figures."""

METRICS = (
    of_rail(
        "power_mean_w",
        "Mean power within the steady passes, or of whole cycles, as the primary meter and rail see it.",
        "mean_w",
        POWER_UNITS,
        label="Mean power",
        statistics=("median",),
        brought_by="--meter KIND, or --declared-power POWER",
        judged=metered,
        conditions=("averaging_s",),
        missing=attrgetter("power_reason"),
        csv={
            **{f"power_{field}": field for field in ("meter", "channel", "scope")},
            "mean_w": "",
            **{bound: bound for bound in ("mean_low_w", "mean_high_w")},
            **{f"power_{field}": field for field in _SAMPLING},
            "power_note": "reason",
        },
        shown=(Shown("power", "Mean, W", "interval"),),
        compared=ByRail("mean_w_sessions"),
        rail_bounds=("mean_low_w", "mean_high_w"),
    ),
    of_rail(
        "power_peak_w",
        "Highest power over the steady windows, as the primary meter and rail see it.",
        "peak_w",
        POWER_UNITS,
        label="Peak power",
        statistics=("max",),
        brought_by="--meter KIND, or --declared-power POWER",
        judged=metered,
        conditions=("averaging_s",),
        csv={"peak_w": "", "p99_w": "p99_w", "peak_high_w": "peak_high_w"},
        shown=(Shown("matrix", where_present=True), Shown("power", "Peak, W")),
    ),
    of_rail(
        "power_idle_w",
        "Mean power of the idle device, before and after the passes, as the primary meter and rail see it.",
        "idle_w",
        POWER_UNITS,
        label="Idle power",
        csv={"idle_w": "", "idle_drift_w": "idle_drift_w"},
        shown=(Shown("power", "Idle, W"),),
    ),
    of_rail(
        "energy_j",
        "Energy of an image, idle power included: of each session its mean power times the mean time of an "
        "image over the same passes, or whole cycles at a period; the mean over the sessions. image_s is a "
        "median, so that energy_j / image_s is not exactly power_mean_w.",
        "energy_j",
        label="Energy per image",
        statistics=("median",),
        brought_by="--meter KIND",
        judged=metered,
        shown=(Shown("matrix", form="interval", where_present=True), Shown("power", "Energy, J", "interval")),
        compared=ByRail("energy_j_sessions"),
        usual="also",
        of_a_pass=True,
        rail_bounds=("energy_low_j", "energy_high_j"),
    ),
    of_rail(
        "energy_cycle_j",
        "Energy of a cycle of the profile's schedule, of a device that stays on between its images.",
        "energy_j",
        label="Energy per cycle",
        statistics=("simulated",),
        brought_by="--meter KIND",
        judged=Simulated("energy_j.idle", "the energy of a cycle"),
        conditions=("schedule",),
        csv={},
    ),
    of_rail(
        "net_energy_j",
        "Energy of an image above that of the idle device.",
        "net_energy_j",
        label="Net energy per image",
        shown=(Shown("power", "Net of idle, J", "interval"),),
        rail_bounds=("net_low_j", "net_high_j"),
    ),
    Metric(
        "declared_power",
        "What the target draws as a whole by a data sheet or label, in W, and not by a meter: its maximum, "
        "which it never exceeds, or what its maker calls typical. It is judged where no meter decides: a "
        "maximum can pass a limit, a typical power can fail one.",
        POWER_UNITS,
        read=_declared,
        label="Declared power",
        source=DECLARED,
        csv={"declared_{key}": ""},
        keyed=True,
    ),
)
