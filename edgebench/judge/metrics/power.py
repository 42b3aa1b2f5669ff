"""Power and energy of every rail, and declared power; the first rail represents the board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import DECLARED_SOURCE, ENERGY_UNITS, POWER_UNITS, Metric, Option, Reading
from edgebench.judge.metrics.board import declared_estimate
from edgebench.judge.trial import Conditions, Estimate, Trial

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded


def metered(recorded: Recorded, metric: str) -> Iterable[Reading]:
    """Estimates of power or energy by rail, each with the objection to its meter."""
    from edgebench.judge.power.limits import objection_to
    from edgebench.judge.power.rails import power_of, power_reason

    return [
        Reading(
            replace(power.estimates[metric], objection=objection_to(power.rail, metric)), rail=power.rail.name
        )
        for power in power_of(recorded)
    ] or [Reading(Estimate(reason=power_reason(recorded)))]


def power_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    """Estimates of rails and declared power that may decide a limit on power or energy."""
    from edgebench.judge.power.limits import power_candidates

    return power_candidates(trial, metric, conditions)


def _declared(recorded: Recorded, worker: int | None) -> Iterable[Reading]:
    target = recorded.shown_target
    doubt = recorded.board_doubts.get("declared_power", "")
    typical = "says nothing of this load's peak and mean"
    return [
        Reading(declared_estimate(power, power.watts, typical, doubt), stage=power.kind)
        for power in (target.declared_power if target else ())
    ] or [Reading(Estimate(reason="the target's description gives no power"))]


def _metric(
    name: str,
    sentence: str,
    statistic: str,
    label: str,
    heading: str,
    units: Mapping[str, float],
    **fields: Any,
) -> Metric:
    """Metric of the rails; without options it is shown and neither required nor compared."""
    return Metric(
        name,
        sentence,
        units,
        "probes.parquet",
        (statistic,),
        lambda recorded, worker: metered(recorded, name),
        power_estimates,
        label=label,
        heading=heading,
        **{"tables": ("power",), "compared": ""} | fields,
    )


_METER = Option(("--meter", "KIND"))
_DECLARED = Option(("--declared-power", "POWER"))

METRICS = (
    _metric(
        "power_mean_w",
        "Mean power within the steady passes, or of whole cycles at a period.",
        "median",
        "Mean power",
        "Mean, W",
        POWER_UNITS,
        options=(_METER, _DECLARED),
        conditions=("averaging_s",),
        compared="rails",
    ),
    _metric(
        "power_peak_w",
        "Highest sample from the first steady pass to the last. Where the lag of the meter is not known its "
        "upper end is the highest sample of so long a time around them.",
        "max",
        "Peak power",
        "Peak, W",
        POWER_UNITS,
        options=(_METER, _DECLARED),
        conditions=("averaging_s",),
        tables=("matrix", "power"),
    ),
    _metric(
        "power_p99_w",
        "99th percentile of all samples from the first steady pass to the last, from 299 of them on.",
        "p99",
        "99th percentile of power",
        "p99, W",
        POWER_UNITS,
    ),
    _metric(
        "power_idle_w",
        "Mean power of the idle device, before the first pass and after the last; where one of the two was "
        "not sampled, of the other.",
        "median",
        "Idle power",
        "Idle, W",
        POWER_UNITS,
    ),
    _metric(
        "energy_j",
        "Energy of an image, idle power included: of each session its mean power times the mean time of an "
        "image over the same passes, or whole cycles at a period; the mean over the sessions. image_s is a "
        "median, so that energy_j / image_s is not exactly power_mean_w.",
        "median",
        "Energy per image",
        "Energy, J",
        ENERGY_UNITS,
        options=(_METER,),
        tables=("matrix", "power"),
        compared="rails",
        belongs_to="pass",
        usual="also",
    ),
    _metric(
        "net_energy_j",
        "Energy of an image above that of the idle device.",
        "median",
        "Net energy per image",
        "Net of idle, J",
        ENERGY_UNITS,
    ),
    Metric(
        "declared_power",
        "Power that the target draws as a whole by a data sheet or label, and not by a meter: its maximum, "
        "which it never exceeds, or what its maker calls typical. It is judged where no meter decides: a "
        "maximum can pass a limit, a typical power can fail one.",
        POWER_UNITS,
        source=DECLARED_SOURCE,
        statistics=("declared",),
        read=_declared,
        compared="",
        belongs_to="board",
    ),
)
