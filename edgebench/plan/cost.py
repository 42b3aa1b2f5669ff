"""What a plan will cost: sessions and seconds a trial, and whether they resolve what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edgebench.cache.objects import Cache
from edgebench.plan.amounts import share_text
from edgebench.plan.estimate import Cost, Shape, Span, longest, session_s, stages_s
from edgebench.plan.known_costs import KnownCosts, noted_costs
from edgebench.plan.meter_windows import bursts_s, idle_window_s, least_steady_s
from edgebench.plan.meters_and_monitors import builds_on_board, device_stages, gives_windows, has_own_clock
from edgebench.plan.spread import ASSUMED, Spread, known_spread
from edgebench.plan.trials import Plan, PlannedTrial
from edgebench.stats.forecast import Resolves
from edgebench.stats.intervals import CONFIDENCE
from edgebench.stats.spending import STOPPING_CONFIDENCE
from edgebench.vocabulary.pictures import ImageSet
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
    def basis(self) -> Literal["measured", "scaled", "backend", "unknown"]:
        """Whose word the cost is: of this trial's sessions, another's, the backend's, nobody's."""
        if self.cost is None:
            return "backend" if session_s(None, replace(self.shape, builds=False)).known else "unknown"
        return "measured" if self.cost.measured else "scaled"

    def span(self, sessions: int) -> Span:
        """What so many of its sessions take, accuracy and a build on the board once among them."""
        return sessions_span(self.cost, self.shape, sessions, accuracy=sessions > 0, build=sessions > 0)


def latency_name(plan: Plan) -> str:
    """The figure that the forecast is about: windows tell of the runtime alone."""
    windows = {gives_windows(trial.target) for trial in plan.trials}
    return "infer_s" if windows == {True} else "image_s"


def target_of(plan: Plan) -> float:
    """The half-width that the forecast is about."""
    return USUAL_TARGET if plan.target_ci is None else plan.target_ci


def costs_of(plan: Plan, cache: Cache) -> list[TrialCost]:
    """The trials' costs in the plan's order."""
    known = KnownCosts({trial.key: trial for trial in plan.trials}, noted_costs(cache, plan.trials))
    return [_cost(plan, trial, known.of(trial.key), cache) for trial in plan.trials]


def session_plan(plan: Plan, trial: PlannedTrial, images: ImageSet | None) -> MeasurePlan:
    """How a session of the trial measures, with accuracy on these images or without."""
    return MeasurePlan(
        scene=plan.scene_of(trial),
        passes=plan.passes_of(trial),
        period_s=plan.period_s,
        sustained_s=plan.sustained_s,
        least_s=least_steady_s(trial.target),
        images=images,
        patches=trial.patches,
    )


def steady_words(plan: Plan) -> str:
    """What a session's steady part has: `10 passes`, or `10 passes or 5 windows` where devices differ."""
    counts = {(plan.passes_of(trial), gives_windows(trial.target)): None for trial in plan.trials}
    texts = []
    for count, windows in counts or {(plan.passes, False): None}:
        unit, units = ("window", "windows") if windows else ("pass", "passes")
        texts.append(f"{count} {unit if count == 1 else units}")
    return " or ".join(texts)


def shape_of(plan: Plan, trial: PlannedTrial) -> Shape:
    """A session of the trial with accuracy."""
    images = plan.images_of(trial)
    one_session = session_plan(plan, trial, images)
    return Shape(
        patches=one_session.scene.patches,
        passes=one_session.passes,
        batch=trial.batch,
        images=images.n if images else 0,
        idle_s=idle_window_s(trial.target),
        period_s=plan.period_s,
        sustained_s=plan.sustained_s,
        least_s=one_session.least_s,
        own_clock=has_own_clock(trial.target),
        bursts_s=bursts_s(trial.target),
        device_stages=device_stages(trial.target, one_session),
        builds=builds_on_board(trial.target),
        windows=gives_windows(trial.target),
        some=None if gives_windows(trial.target) else trial.patches,
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
            notes.append(
                f"{sessions} {verb} resolve {target} of {latency_name(plan)}{which}: {_enough(unresolved)}"
            )
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


def _cost(plan: Plan, trial: PlannedTrial, cost: Cost | None, cache: Cache) -> TrialCost:
    spread = known_spread(cache, trial.inputs)
    target = target_of(plan)
    confidence = CONFIDENCE if plan.target_ci is None else STOPPING_CONFIDENCE
    forecast = spread.forecast(plan.sessions, target, confidence)
    needed = forecast.sessions_needed
    expected = plan.sessions
    if plan.target_ci is not None and needed is not None:
        expected = min(plan.sessions, max(needed, plan.min_sessions))
    shape = shape_of(plan, trial)
    return TrialCost(trial, cost, shape, spread, needed, forecast.resolves, expected, plan.sessions)


def _enough(costs: Sequence[TrialCost]) -> str:
    needed = [trial_cost.needed for trial_cost in costs if trial_cost.needed is not None]
    if not needed:
        return "no number up to 10,000 will"
    low, high = min(needed), max(needed)
    return f"about {low} will" if low == high else f"about {low} to {high} will"
