"""Power and energy of every rail, and declared power; the first rail represents the board."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import DECLARED_SOURCE, ENERGY_UNITS, POWER_UNITS, Metric, Option, Reading
from edgebench.judge.trial import Conditions, Estimate, Trial

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded


def metered(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    """Estimates of a metric of power or energy by rail, in the order of the rails."""
    from edgebench.judge.power.limits import objection_to
    from edgebench.judge.power.rails import power_of, power_reason

    rails = power_of(recorded)
    for power in rails:
        estimate = replace(power.estimates[metric.name], objection=objection_to(power.rail, metric.name))
        yield Reading(metric.key(rail=power.rail.name), estimate)
    if not rails:
        yield metric.missing(power_reason(recorded))


def _power_limit(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    from edgebench.judge.power.limits import power_candidates

    return power_candidates(trial, metric, conditions)


def _declared(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    """Declared figures; a maximum may never be drawn and fails no limit, a typical power passes none."""
    target = recorded.shown_target
    for power in target.declared_power if target else ():
        is_maximum = power.kind == "maximum"
        estimate = Estimate(
            power.watts,
            low=None if is_maximum else power.watts,
            high=power.watts if is_maximum else None,
            basis="declared maximum" if is_maximum else "declared typical",
            reason=f"the {power} may never be drawn: it can pass this limit, never fail it"
            if is_maximum
            else f"the {power} says nothing of this load's peak and mean: "
            "it can fail this limit, never pass it",
            final=True,
        )
        notes = str(power), recorded.board_doubts.get(metric.name, "")
        yield Reading(metric.key(stage=power.kind), estimate.with_notes(*notes))
    if not target or not target.declared_power:
        yield metric.missing("the target's description gives no power")


def _metric(name: str, sentence: str, statistic: str, units: Any, **fields: Any) -> Metric:
    source, statistics = "probes.parquet", (statistic,)
    return Metric(name, sentence, units, source, statistics, metered, **fields)


METRICS = (
    _metric(
        "power_mean_w",
        "Mean power within the steady passes, or of whole cycles at a period.",
        "median",
        POWER_UNITS,
        estimates=_power_limit,
        label="Mean power",
        heading="Mean, W",
        options=(Option(("--meter", "KIND")), Option(("--declared-power", "POWER"))),
        conditions=("averaging_s",),
        tables=("power",),
        compared="rails",
    ),
    _metric(
        "power_peak_w",
        "Highest sample from the first steady pass to the last. Where the lag of the meter is not known its "
        "upper end is the highest sample of so long a time around them.",
        "max",
        POWER_UNITS,
        estimates=_power_limit,
        label="Peak power",
        heading="Peak, W",
        options=(Option(("--meter", "KIND")), Option(("--declared-power", "POWER"))),
        conditions=("averaging_s",),
        tables=("matrix", "power"),
        where_present=True,
        compared="",
    ),
    _metric(
        "power_p99_w",
        "99th percentile of all samples from the first steady pass to the last, from 299 of them on.",
        "p99",
        POWER_UNITS,
        label="99th percentile of power",
        heading="p99, W",
        required=False,
        tables=("power",),
        compared="",
    ),
    _metric(
        "power_idle_w",
        "Mean power of the idle device, before the first pass and after the last; where one of the two was "
        "not sampled, of the other.",
        "median",
        POWER_UNITS,
        label="Idle power",
        heading="Idle, W",
        required=False,
        tables=("power",),
        compared="",
    ),
    _metric(
        "energy_j",
        "Energy of an image, idle power included: of each session its mean power times the mean time of an "
        "image over the same passes, or whole cycles at a period; the mean over the sessions. image_s is a "
        "median, so that energy_j / image_s is not exactly power_mean_w.",
        "median",
        ENERGY_UNITS,
        estimates=_power_limit,
        label="Energy per image",
        heading="Energy, J",
        options=(Option(("--meter", "KIND")),),
        tables=("matrix", "power"),
        where_present=True,
        compared="rails",
        belongs_to="pass",
        usual="also",
    ),
    _metric(
        "net_energy_j",
        "Energy of an image above that of the idle device.",
        "median",
        ENERGY_UNITS,
        label="Net energy per image",
        heading="Net of idle, J",
        required=False,
        tables=("power",),
        compared="",
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
        label="Declared power",
        required=False,
        compared="",
        belongs_to="board",
    ),
)
