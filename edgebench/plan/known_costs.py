"""What is known of the sessions of a plan's trials: measured before or now, or scaled from others alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.models.families import catalogue
from edgebench.plan.estimate import Cost
from edgebench.plan.trials import PlannedTrial

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
        return _scaled(cost, self.trials[nearest], self.trials[key])

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


def _scaled(cost: Cost, known: PlannedTrial, wanted: PlannedTrial) -> Cost:
    ratio = _relative_s(wanted) / _relative_s(known)
    batches = cost.warmup_batches if known.batch == wanted.batch else None
    return Cost(cost.patch_s * ratio, cost.overhead_s, batches, measured=False)


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
