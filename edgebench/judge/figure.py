"""A figure of a trial with what it is at least and at most, and how sure that has to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from edgebench.records.values import PowerKind
from edgebench.stats.interval import tick_bounds

Bound = Literal["above", "at least", "below", "at most"]
"""Where a figure is relative to the one number that is known of it; `above` and `below` exclude it."""


class Certainty(NamedTuple):
    """How sure a bound has to be.

    Attributes:
        interval: the two-sided confidence of an interval over sessions.
        bound: the confidence of a bound that holds by itself, such as a percentile's.
    """

    interval: float
    bound: float

    @classmethod
    def of_look(cls, confidence: float) -> Certainty:
        """At a look whose two-sided intervals have that confidence: each side errs in half of the rest."""
        return cls(confidence, (1 + confidence) / 2)

    def at_least(self, interval: float) -> Certainty:
        """The same, with intervals of at least that confidence."""
        return self if interval <= self.interval else Certainty(interval, self.bound)


@dataclass(frozen=True)
class Figure:
    """A figure in its base unit (s, W, J, bytes, g, mm or a fraction).

    Attributes:
        value: None where it is missing.
        low, high: what it is at least and at most; None where nothing bounds it on that side.
        exact: it is a number that was declared or recorded and has no interval.
        undecided: there is something, but too little to give a value.
        reason: why the value or a bound is missing.
        what: what meets or misses a limit, in words.
        note: what else a reader should know of a decided verdict.
        lasting: further sessions of the same kind leave the bounds as they are.
        ceiling: the upper bound that is missing for a reason that no further session removes.
        scope: of power and energy, what the meter covers that gave it; empty for all else.
        declared: which kind of declared figure it is, of power or boot time; empty for a measured one,
            and for all else.
        bound: of a figure without a known value, on which side of its one end: above or at least `low`,
            below or at most `high`; empty where the value is known, or nothing is.
    """

    value: float | tuple[float, ...] | None = None
    low: float | None = None
    high: float | None = None
    exact: bool = False
    undecided: bool = False
    reason: str = ""
    what: str = "the whole 95 % interval"
    note: str = ""
    lasting: bool = False
    ceiling: float | None = None
    scope: str = ""
    declared: PowerKind | Literal[""] = ""
    bound: Bound | Literal[""] = ""

    def no_narrower(self, tick: float) -> Figure:
        """The same with each bound at least one tick of the clock away from the value."""
        if not tick or not isinstance(self.value, float):
            return self
        low, high = tick_bounds(self.value, self.low, self.high, tick)
        return replace(self, low=low, high=high)

    def in_unit(self, scale: float) -> Figure:
        """The same in a unit that is `scale` of the base unit."""
        if scale == 1:
            return self
        numbers: dict[str, Any] = {
            name: tuple(side / scale for side in number) if isinstance(number, tuple) else number / scale
            for name in ("value", "low", "high", "ceiling")
            if (number := getattr(self, name)) is not None
        }
        return replace(self, **numbers)
