"""What a plan will cost: sessions and seconds a trial, and whether they resolve what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edgebench.cache.objects import Cache
from edgebench.plan.amounts import share_text
from edgebench.plan.estimate import Cost, Shape, Span, longest, session_s, stages_s
from edgebench.plan.known_costs import KnownCosts, noted_costs
from edgebench.plan.meters_and_monitors import builds_on_board, device_stages, has_meter, has_own_clock
from edgebench.plan.spread import ASSUMED, Spread, known_spread
from edgebench.plan.trials import Plan, PlannedTrial
from edgebench.stats.forecast import Resolves
from edgebench.stats.intervals import CONFIDENCE
from edgebench.stats.spending import STOPPING_CONFIDENCE
from edgebench.vocabulary.session import MeasurePlan

USUAL_TARGET = 0.01
"""The half-width that is spoken of where none was asked for: a usual wish, as a share of image_s."""


@dataclass(frozen=True)
class TrialCost:
    """One trial's part.

    Attributes:
        cost: of a session; None where nothing was measured on the trial's target.
        shape: of a session with accuracy, which is taken once.
        spread: between its sessions, measured or assumed.
        needed: sessions for the target's half-width; None above 10,000.
        resolves: whether the sessions that the plan allows will reach it.
        expected: sessions that will be measured.
        most: sessions that may be measured.
    """

    trial: PlannedTrial
    cost: Cost | None
    shape: Shape
    spread: Spread
    needed: int | None
    resolves: Resolves
    expected: int
    most: int

    @property
    def basis(self) -> Literal["measured", "scaled", "unknown"]:
        """Where the cost is from: sessions of this trial, of another one of its target, or nowhere."""
        if self.cost is None:
            return "unknown"
        return "measured" if self.cost.measured else "scaled"

    def span(self, sessions: int) -> Span:
        """What so many of its sessions take, accuracy and a build on the board once among them."""
        return sessions_span(self.cost, self.shape, sessions, accuracy=sessions > 0, build=sessions > 0)


def target_of(plan: Plan) -> float:
    """The half-width that the forecast is about."""
    return USUAL_TARGET if plan.target_ci is None else plan.target_ci


def costs_of(plan: Plan, cache: Cache, idle_s: float) -> list[TrialCost]:
    """The trials' costs in the plan's order; `idle_s` is the idle window beside a session with a meter."""
    known = KnownCosts({trial.key: trial for trial in plan.trials}, noted_costs(cache, plan.trials))
    return [_cost(plan, trial, known.of(trial.key), cache, idle_s) for trial in plan.trials]


def shape_of(plan: Plan, trial: PlannedTrial, idle_s: float) -> Shape:
    """A session of the trial with accuracy; `idle_s` is the idle window beside one with a meter."""
    images = plan.images_of(trial)
    return Shape(
        patches=plan.scene_of(trial).patches,
        passes=plan.passes,
        batch=trial.batch,
        images=images.n if images else 0,
        idle_s=idle_s if has_meter(trial.target) else 0.0,
        period_s=plan.period_s,
        sustained_s=plan.sustained_s,
        own_clock=has_own_clock(trial.target),
        device_stages=device_stages(
            trial.target,
            MeasurePlan(
                plan.scene_of(trial),
                plan.passes,
                period_s=plan.period_s,
                sustained_s=plan.sustained_s,
                images=images,
            ),
        ),
        builds=builds_on_board(trial.target),
    )


def sessions_span(
    cost: Cost | None, shape: Shape, sessions: int, *, accuracy: bool, build: bool = False
) -> Span:
    """What so many sessions take.

    With `accuracy` one of them takes it on the shape's images; with `build` the device may build first.
    """
    once = stages_s(cost, shape)
    whole = session_s(cost, replace(shape, images=0, builds=False)).times(sessions)
    whole += once["images"] if accuracy else Span()
    return whole + once["build"] if build else whole


def whole_span(plan: Plan, costs: Sequence[TrialCost], *, most: bool = False) -> Span:
    """The whole run: hosts are measured side by side, so the slowest of them; at most its time."""
    by_host: dict[str | None, Span] = {}
    for trial_cost in costs:
        host = trial_cost.trial.target.host
        sessions = trial_cost.most if most else trial_cost.expected
        by_host[host] = by_host.get(host, Span()) + trial_cost.span(sessions)
    whole = longest(list(by_host.values()))
    return whole if plan.max_time_s is None else whole.at_most(plan.max_time_s)


def resolution_notes(plan: Plan, costs: Sequence[TrialCost]) -> list[str]:
    """Which trials the planned sessions will not, or may not, bring to the target; nothing for the others."""
    target = share_text(target_of(plan))
    most = "at most " if plan.adaptive else ""
    notes = []
    for word, verb in (("no", "will not"), ("unclear", "may not")):
        unresolved = [trial_cost for trial_cost in costs if trial_cost.resolves == word]
        if unresolved:
            which = "" if len(unresolved) == len(costs) else f" for {len(unresolved)} of {len(costs)} trials"
            sessions = f"{most}{plan.sessions} {'session' if plan.sessions == 1 else 'sessions'}"
            notes.append(f"{sessions} {verb} resolve {target} of image_s{which}: {_enough(unresolved)}")
    return notes


def spread_note(costs: Sequence[TrialCost]) -> str:
    """Where the forecast's spread comes from."""
    measured = [trial_cost.spread.share for trial_cost in costs if trial_cost.spread.measured]
    assumed = f"{share_text(ASSUMED)} between sessions is assumed"
    if not measured:
        return f"{assumed}: none was measured here yet"
    low, high = share_text(min(measured)), share_text(max(measured))
    spread_words = (
        f"between sessions lay {low if low == high else f'{low} to {high}'} when last measured here"
    )
    return spread_words if len(measured) == len(costs) else f"{spread_words}; for the other trials {assumed}"


def _cost(plan: Plan, trial: PlannedTrial, cost: Cost | None, cache: Cache, idle_s: float) -> TrialCost:
    spread = known_spread(cache, trial.inputs)
    target = target_of(plan)
    confidence = CONFIDENCE if plan.target_ci is None else STOPPING_CONFIDENCE
    forecast = spread.forecast(plan.sessions, target, confidence)
    needed = forecast.sessions_needed
    expected = plan.sessions
    if plan.target_ci is not None and needed is not None:
        expected = min(plan.sessions, max(needed, plan.min_sessions))
    shape = shape_of(plan, trial, idle_s)
    return TrialCost(trial, cost, shape, spread, needed, forecast.resolves, expected, plan.sessions)


def _enough(costs: Sequence[TrialCost]) -> str:
    needed = [trial_cost.needed for trial_cost in costs if trial_cost.needed is not None]
    if not needed:
        return "no number up to 10,000 will"
    low, high = min(needed), max(needed)
    return f"about {low} will" if low == high else f"about {low} to {high} will"
