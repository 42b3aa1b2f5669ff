"""What the pace of a plan's meters adds to its time, in words: longer steady parts, long idle windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgebench.plan.amounts import clock_text
from edgebench.plan.cost import TrialCost
from edgebench.plan.estimate import stages_s
from edgebench.plan.meter_windows import LEAST_IDLE_S, SlowestMeter, slowest_meter


def meter_notes(costs: Sequence[TrialCost]) -> list[str]:
    """A line a meter that steady parts are lengthened for, and one where its idle windows are long."""
    by_meter: dict[SlowestMeter, list[TrialCost]] = {}
    for cost in costs:
        if (meter := slowest_meter(cost.trial.target)) is not None and not cost.shape.own_clock:
            by_meter.setdefault(meter, []).append(cost)
    return [*_steady_notes(by_meter, len(costs)), *_idle_notes(by_meter)]


def _steady_notes(by_meter: Mapping[SlowestMeter, Sequence[TrialCost]], trials: int) -> list[str]:
    notes = []
    for meter, costs in by_meter.items():
        longer = [(cost, longer_s) for cost in costs if (longer_s := _longer_s(cost)) > 0]
        if not longer:
            continue
        which = "" if len(longer) == trials else f" of {len(longer)} of {trials} trials"
        about = "about" if all(cost.cost is not None for cost, _ in longer) else "at most"
        total_s = sum(cost.expected * longer_s for cost, longer_s in longer)
        notes.append(
            f"the steady part of each session{which} is lengthened to {meter.least_s:.3g} s "
            f"for {_meter_text(meter, costs)}: {about} {clock_text(total_s)} more in all"
        )
    return notes


def _idle_notes(by_meter: Mapping[SlowestMeter, Sequence[TrialCost]]) -> list[str]:
    return [
        f"each session idles for {meter.idle_s:.3g} s before its passes and again after them "
        f"for {_meter_text(meter, costs)}: "
        f"{clock_text(sum(2 * meter.idle_s * cost.expected for cost in costs))} in all"
        for meter, costs in by_meter.items()
        if meter.idle_s > LEAST_IDLE_S
    ]


def _longer_s(cost: TrialCost) -> float:
    """By how much a session's steady part is lengthened; at most, where nobody knows what a pass takes."""
    asked = stages_s(cost.cost, replace(cost.shape, least_s=None))["passes"]
    planned = stages_s(cost.cost, cost.shape)["passes"]
    return planned.most_s - asked.most_s if asked.known else planned.least_s - asked.least_s


def _meter_text(meter: SlowestMeter, costs: Sequence[TrialCost]) -> str:
    """The meter and its rate; one that is only preferred may not be there."""
    asked = any(name.partition(":")[0] == meter.kind for cost in costs for name in cost.trial.target.meters)
    text = f"{meter.kind} at {meter.rate_hz:g} Hz"
    return text if asked else f"{text}, where it can be read"
