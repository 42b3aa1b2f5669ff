"""Which trials a period is too short for, by what a scene is known to take there."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.plan.cost import TrialCost
from edgebench.plan.trials import Plan


def pass_s(cost: TrialCost) -> float | None:
    """Seconds of one pass, measured or scaled; None where nobody knows, or time is not real."""
    if cost.cost is None or cost.shape.own_clock:
        return None
    return cost.cost.patch_s * cost.shape.pass_patches


def deadline_notes(plan: Plan, costs: Sequence[TrialCost]) -> list[str]:
    """One line where passes take longer than the plan's period, so that they miss their deadlines."""
    period_s = plan.period_s
    if period_s is None:
        return []
    slow = [
        (trial_cost, taken)
        for trial_cost in costs
        if (taken := pass_s(trial_cost)) is not None and taken > period_s
    ]
    if not slow:
        return []
    low, high = (f"{edge(taken for _, taken in slow):.3g}" for edge in (min, max))
    which = "" if len(slow) == len(costs) else f" for {len(slow)} of {len(costs)} trials"
    about = "" if all(trial_cost.basis == "measured" for trial_cost, _ in slow) else "about "
    span = low if low == high else f"{low} to {high}"
    return [
        f"a period of {period_s:g} s is too short{which}: a pass takes {about}{span} s, "
        "so that it misses its deadline"
    ]
