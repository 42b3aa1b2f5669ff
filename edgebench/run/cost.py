"""What a plan will cost: sessions and seconds a trial, and whether they resolve what is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Literal

import numpy as np

from edgebench.prepare import families as catalogue
from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.records.session import MeasurePlan
from edgebench.records.values import ImageSet
from edgebench.run.estimate import Cost, Shape, Span, longest, session_s, stages_s
from edgebench.run.meters import (
    LEAST_IDLE_S,
    SlowestMeter,
    builds_on_board,
    bursts_s,
    device_stages,
    gives_windows,
    has_own_clock,
    idle_window_s,
    least_steady_s,
    settle_s,
    slowest_meter,
)
from edgebench.run.setting import clock_text, share_text
from edgebench.run.settings import SESSIONS_LIMIT
from edgebench.run.trials import Plan, PlannedTrial
from edgebench.stats.forecast import Forecast, Resolves, forecast_anew, sessions_for
from edgebench.stats.intervals import (
    CONFIDENCE,
    MIN_SESSIONS,
    SHAPE_SESSIONS,
    STOPPING_CONFIDENCE,
    session_medians,
)

# What is known of the sessions of a plan's trials: measured before or now, or scaled from others alike.


_KIND = "session-cost"
# Only how devices' times for models relate to one another, never a time: LiteRT on one thread of an x86-64
# server processor does about so many multiply-accumulates a second, and needs so long for a patch's pixels.
_GIGA_MACS_PER_S = {"fp32": 90.0, "fp16": 90.0, "int8": 200.0}
_PIXELS_S = 1e-4
_SAME_PATCH = frozenset({"period_s", "sustained_s", "patches"})


def note_cost(cache: Cache, inputs: Mapping[str, object], cost: Cost) -> None:
    """Remember what a trial's session took, under what decides that: its board and host too."""
    value = {"patch_s": cost.patch_s, "overhead_s": cost.overhead_s, "warmup_batches": cost.warmup_batches}
    if cost.build_s is not None:
        value["build_s"] = cost.build_s
    cache.remember(_KIND, _key(inputs), value)


def noted_cost(cache: Cache, inputs: Mapping[str, object]) -> Cost | None:
    """What a session of this trial took when it was last measured from here; None where it never was.

    An emulated board's patch takes no time: what answered at its port may be a real one next.
    """
    noted = cache.recipe(_KIND, _key(inputs)) or {}
    patch_s, overhead_s = _seconds(noted.get("patch_s")), _seconds(noted.get("overhead_s"))
    batches = noted.get("warmup_batches")
    if not patch_s or overhead_s is None:
        return None
    known = isinstance(batches, int) and 0 <= batches < 1e6
    build_s = _seconds(noted.get("build_s"))
    return Cost(patch_s, overhead_s, batches if known else None, build_s=build_s)


def _key(inputs: Mapping[str, object]) -> str:
    """Of all that decides a trial's result, less what a patch takes no longer or shorter for."""
    settings = inputs.get("settings")
    if isinstance(settings, Mapping):
        settings = {name: value for name, value in settings.items() if name not in _SAME_PATCH}
    decides = {name: value for name, value in inputs.items() if name != "images"}
    return canonical_hash({**decides, "settings": settings})


def noted_costs(cache: Cache, trials: Iterable[PlannedTrial]) -> dict[str, Cost]:
    """The same of several trials, by key; those that were never measured are not in it."""
    noted = {trial.key: noted_cost(cache, trial.inputs) for trial in trials}
    return {key: cost for key, cost in noted.items() if cost is not None}


@dataclass
class KnownCosts:
    """The costs of a plan's trials, each with what others of its target say about it.

    Args:
        trials: by key.
        before: by key, what was noted in earlier runs.
    """

    trials: Mapping[str, PlannedTrial]
    before: Mapping[str, Cost]
    _now: dict[str, Cost] = field(default_factory=dict, init=False)

    def learn(self, key: str, cost: Cost) -> None:
        """Take in what a session of this run shows."""
        self._now[key] = cost

    def of(self, key: str) -> Cost | None:
        """What a session of the trial costs: as in this run; else as noted, or scaled from a trial alike.

        None where nothing was measured on its target. A target that is slower now than when it was noted, or
        faster, is taken to be so for all of its trials.
        """
        if key in self._now:
            return self._now[key]
        if key in self.before:
            return self._corrected(key)
        likely = [
            (_likeness(self.trials[key], self.trials[other]), other) for other in self._on_the_target_of(key)
        ]
        alike = sorted((likeness, other) for likeness, other in likely if likeness is not None)
        if not alike:
            return None
        nearest = alike[0][1]
        cost = self._now[nearest] if nearest in self._now else self._corrected(nearest)
        known, wanted = self.trials[nearest], self.trials[key]
        patch_s = cost.patch_s * _relative_s(wanted) / _relative_s(known)
        batches = cost.warmup_batches if known.batch == wanted.batch else None
        return Cost(patch_s, cost.overhead_s, batches, measured=False)

    def _on_the_target_of(self, key: str) -> list[str]:
        """The target's trials of which something was measured."""
        name = self.trials[key].target.name
        known = {**self.before, **self._now}
        return [other for other in known if other in self.trials and self.trials[other].target.name == name]

    def _corrected(self, key: str) -> Cost:
        cost = self.before[key]
        both = [other for other in self._on_the_target_of(key) if other in self._now and other in self.before]
        pairs = [(self._now[other].patch_s, self.before[other].patch_s) for other in both]
        ratios = [now_s / before_s for now_s, before_s in pairs if now_s > 0 and before_s > 0]
        return replace(cost, patch_s=cost.patch_s * median(ratios)) if ratios else cost


def _likeness(trial: PlannedTrial, other: PlannedTrial) -> tuple[bool, bool, float] | None:
    """How near another trial is: the same precision before the same batch before a similar size."""
    macs, others = _macs(trial), _macs(other)
    if macs is None or others is None:
        return None
    return (
        trial.variant.precision != other.variant.precision,
        trial.batch != other.batch,
        abs(math.log(macs / others)),
    )


def _relative_s(trial: PlannedTrial) -> float:
    speed = _GIGA_MACS_PER_S.get(trial.variant.precision, 90.0) * 1e9
    return (_macs(trial) or 0) / speed + _PIXELS_S


def _macs(trial: PlannedTrial) -> int | None:
    """Multiply-accumulates of one inference; None where nobody knows them."""
    variant = trial.variant
    return trial.macs or catalogue.macs_of(variant.family, variant.depth_multiplier) or None


def _seconds(value: Any) -> float | None:
    """A time from a note, if it can be one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        return None
    return float(value)


# How far the sessions of a trial lie apart: as last measured here, else an assumption that says so.


ASSUMED = 0.02
"""Standard deviation between sessions, as a share of image_s, where none was measured: 1 to 2 % on a quiet
machine, 5 % and more on a shared one."""

_SPREAD_NOTE = "session-spread"


@dataclass(frozen=True)
class Spread:
    """Standard deviation between sessions, as a share of the value, and how many showed it; 0: assumed."""

    share: float = ASSUMED
    sessions: int = 0

    @property
    def measured(self) -> bool:
        """Whether sessions on this machine showed it."""
        return self.sessions > 0

    def forecast(self, sessions: int, target: float, confidence: float) -> Forecast:
        """Whether so many sessions bring the interval to plus or minus `target`, and how many would.

        An assumed spread is taken as it is.
        """
        if self.measured and sessions >= MIN_SESSIONS:
            return forecast_anew(self.share, self.sessions, sessions, target, confidence)
        needed = sessions_for(self.share, target, confidence)
        enough = needed is not None and needed <= sessions
        return Forecast("yes" if enough else "no", needed, None)


def spread_of(values_by_session: Sequence[Sequence[float]]) -> Spread | None:
    """What a trial's sessions show; None of fewer than MIN_SESSIONS."""
    medians = np.asarray(session_medians(values_by_session), dtype=np.float64)
    if medians.size < MIN_SESSIONS or medians.mean() <= 0:
        return None
    return Spread(float(medians.std(ddof=1) / medians.mean()), int(medians.size))


def note_spread(cache: Cache, inputs: Mapping[str, object], spread: Spread) -> None:
    """Remember what was measured for the next forecast."""
    cache.remember(_SPREAD_NOTE, canonical_hash(inputs), {"share": spread.share, "sessions": spread.sessions})


def known_spread(cache: Cache, inputs: Mapping[str, object]) -> Spread:
    """What the sessions of this trial showed when it was last measured here, else the assumption."""
    noted = cache.recipe(_SPREAD_NOTE, canonical_hash(inputs)) or {}
    share, sessions = noted.get("share"), noted.get("sessions")
    if not isinstance(share, int | float) or not 0 <= share < 100:
        return Spread()
    if not isinstance(sessions, int) or not MIN_SESSIONS <= sessions <= 100_000:
        return Spread()
    return Spread(float(share), sessions)


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
        **plan.pace_fields(),
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
        idle_s=idle_window_s(trial.target) + settle_s(trial.target),
        **plan.pace_fields(),
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
                f"{sessions} {verb} narrow the interval of {latency_name(plan)} to ±{target}{which}: "
                f"{_enough(unresolved)}"
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
        f"sessions differed by {low if low == high else f'{low} to {high}'} when last measured here"
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
        expected = min(plan.sessions, max(needed, plan.min_sessions, SHAPE_SESSIONS))
    shape = shape_of(plan, trial)
    return TrialCost(trial, cost, shape, spread, needed, forecast.resolves, expected, plan.sessions)


def _enough(costs: Sequence[TrialCost]) -> str:
    """How many sessions would, of those that a run takes."""
    needed = [each.needed or math.inf for each in costs]
    low, high, beyond = min(needed), max(needed), sum(each > SESSIONS_LIMIT for each in needed)
    none = f"no number up to {SESSIONS_LIMIT:,}"
    if low > SESSIONS_LIMIT:
        return f"{none} will"
    if low == high:
        return f"about {low} will"
    rest = f"{none} for {beyond} of them" if beyond else f"{high} for all of them"
    return f"about {low} will for the steadiest, {rest}"


# Which trials a period is too short for, by what a scene is known to take there.


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


# What the pace of a plan's meters adds to its time, in words: longer steady parts, long idle windows.


def meter_notes(costs: Sequence[TrialCost]) -> list[str]:
    """A line a meter that steady parts are lengthened for, and one where its idle windows are long."""
    by_meter: dict[SlowestMeter, list[TrialCost]] = {}
    for cost in costs:
        if (meter := slowest_meter(cost.trial.target)) is not None and not cost.shape.own_clock:
            by_meter.setdefault(meter, []).append(cost)
    idle_notes = [
        f"each session idles for {meter.idle_s:.3g} s before its passes and again after them "
        f"for {_meter_text(meter, sharing)}: "
        f"{clock_text(sum(2 * meter.idle_s * cost.expected for cost in sharing))} in all"
        for meter, sharing in by_meter.items()
        if meter.idle_s > LEAST_IDLE_S
    ]
    return [*_steady_notes(by_meter, len(costs)), *idle_notes]


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
