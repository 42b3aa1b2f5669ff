"""A requirement: one limit on one quantity, complete and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from edgebench.judge.metric import OF_MISSIONS, Metric
from edgebench.judge.metrics import METRICS, required_metrics
from edgebench.judge.schedule import Budget, Schedule, Strict
from edgebench.judge.units import measured
from edgebench.refusals import form, problem, refusal
from edgebench.suggest import choose, short

Comparison = Literal["at most", "at least"]
Uplink = Annotated[
    float,
    Field(gt=0, le=1e15, json_schema_extra=form("write bits a second above 0, such as uplink_bps = 9600.0")),
]

MIN_LIMIT, MAX_LIMIT = 1e-18, 1e18
"""In any unit; far beyond what is measured, and a margin as a share of it can still be printed."""


class Requirement(Strict):
    """One limit on one quantity.

    Attributes:
        limit: in `unit`; three numbers for `size_mm`, one for everything else; more than 0. A document may
            say it as text with a unit of its own, which is converted where the quantity does not list it.
        budget: where the limit was computed from; it is then limit's source.
        uplink_bps: for update_s: bits a second that reach the device; the profile's, unless it has its own.
        schedule: for what a mission comes to: when images come; the profile's, unless it has its own.
        averaging_s: for power: the time over which the limit means its average.
        wanted: whether it is a wish: missed or unknown, it is shown and spoils nothing.
        weight: accepted and ignored; trials were once ranked by it.
    """

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,63}$",
        json_schema_extra=form("up to 64 letters, digits, '.', '_', '-' and blanks, a letter or digit first"),
    )
    quantity: str = "image_s"
    statistic: str
    limit: float | tuple[float, float, float]
    unit: str
    comparison: Comparison
    budget: Budget | None = None
    averaging_s: float | None = Field(default=None, gt=0, le=1e9)
    uplink_bps: Uplink | None = None
    schedule: Schedule | None = None
    wanted: bool = False
    weight: float = Field(default=1.0, gt=0, le=1e6)

    @property
    def metric(self) -> Metric:
        """The quantity's entry in the catalogue."""
        return METRICS[self.quantity]

    @property
    def at_least(self) -> bool:
        """Whether the figure has to reach the limit rather than stay under it."""
        return self.comparison == "at least"

    @property
    def scale(self) -> float:
        """How many of the figures' unit one `unit` is."""
        return self.metric.units[self.unit]

    def asks_more_than(self, other: Requirement) -> bool:
        """Whether something that meets the other, on the same statistic of the same quantity, may miss it."""
        if self.averaging_s != other.averaging_s:
            return True
        mine, others = (sorted(_sides(each)) for each in (self, other))
        pairs = list(zip(mine, others, strict=True))
        if self.at_least:
            return any(limit > required for limit, required in pairs)
        return any(limit < required for limit, required in pairs)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        """Fill in what the quantity decides, and refuse what does not belong to it."""
        if not isinstance(data, Mapping):
            raise problem("a requirement is not a table", "write each one under [[requirements]]")
        # Before what is missing: a key that is misspelt is both.
        if unknown := [key for key in data if key not in cls.model_fields]:
            raise problem(f"unknown key {short(unknown[0])}", choose(unknown[0], cls.model_fields))
        filled = dict(data)
        quantity = filled.setdefault("quantity", "image_s")
        known_metrics = required_metrics()
        metric = known_metrics.get(quantity) if isinstance(quantity, str) else None
        if metric is None:
            raise problem(f"unknown quantity {short(quantity)}", choose(quantity, known_metrics))
        if isinstance(filled.get("limit"), str):
            filled |= _as_numbers(filled["limit"], filled.get("unit"), metric)
        for name, known in (("statistic", metric.statistics), ("unit", tuple(metric.units))):
            value = filled.setdefault(name, known[0])
            if value not in known:
                raise problem(f"unknown {name} {short(value)} of {quantity}", choose(value, known))
        comparison = "at least" if metric.at_least else "at most"
        wanted = filled.setdefault("comparison", comparison)
        if wanted != comparison:
            raise problem(
                f"unknown comparison {short(wanted)} of {quantity}", f"{quantity} is judged {comparison!r}"
            )
        if filled.get("averaging_s") is not None and not metric.is_power:
            raise problem(f"averaging_s does not belong to {quantity}", "leave it out")
        if filled.get("uplink_bps") is not None and metric.judged != "update":
            raise problem(f"uplink_bps does not belong to {quantity}", "leave it out")
        if filled.get("schedule") is not None and metric.judged not in OF_MISSIONS:
            raise problem(f"a schedule does not belong to {quantity}", "write it as the profile's [schedule]")
        filled["limit"] = _limit(filled, metric)
        return filled

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        noun = self.metric.share_of
        if noun and isinstance(self.limit, float) and self.limit * self.scale > self.metric.units["1"]:
            fix = 'write a share, such as 0.9, or a percentage with unit = "%"'
            if self.metric.unit != "1":
                fix = f"write {self.metric.unit}, such as 2.0"
            raise problem(f"limit {self.limit:g} is more than every {noun}", fix)
        return self


def _sides(requirement: Requirement) -> list[float]:
    """Its limit's numbers in the quantity's base unit."""
    limit = requirement.limit
    return [side * requirement.scale for side in (limit if isinstance(limit, tuple) else (limit,))]


def _as_numbers(text: str, stated: Any, metric: Metric) -> dict[str, Any]:
    """The limit and the unit that a text such as "500 mW" says."""
    values, unit = measured(text, metric.units, metric.name, "limit")
    if stated not in (None, unit):
        raise problem(f"limit {short(text)} has its unit, and unit = {short(stated)}", "leave unit out")
    return {"limit": list(values) if len(values) > 1 else values[0], "unit": unit}


def _limit(table: Mapping[str, Any], metric: Metric) -> Any:
    """The limit in the requirement's unit, from `limit` or from `budget`."""
    limit, budget = table.get("limit"), table.get("budget")
    if budget is not None:
        return _budgeted(budget, limit, table["unit"], metric)
    if limit is None:
        example = "[10, 70, 80]" if metric.is_size else "a positive number"
        raise problem("the limit is missing", f"add limit = {example}, in {table['unit']}")
    values = limit if isinstance(limit, list | tuple) else [limit]
    if metric.is_size != isinstance(limit, list | tuple) or (metric.is_size and len(values) != 3):
        wanted = "three numbers, such as [10, 70, 80]" if metric.is_size else "one number"
        raise problem(f"limit {short(limit)} does not fit {table['quantity']}", f"write {wanted}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise problem(f"limit {short(value)} is not a number", "write a number without quotes")
        # Written so that nan fails it as well.
        if not 0 < value < math.inf:
            fix = "write a positive number"
            if metric.share_of and metric.unit == "1" and metric.better == "lower":
                fix += f"; no number of {metric.share_of.split()[-1]}s shows a share of none: limit = 1 with "
                fix += 'unit = "%" takes some 380'
            raise problem(f"limit {value} is not above 0 and finite", fix)
        if value and not MIN_LIMIT <= abs(value) <= MAX_LIMIT:
            raise problem(
                f"limit {value} is not between {MIN_LIMIT:g} and {MAX_LIMIT:g}",
                "write a limit that can be measured",
            )
    return tuple(float(value) for value in values) if metric.is_size else float(limit)


def _budgeted(budget: Any, limit: Any, unit: str, metric: Metric) -> float:
    if metric.units.get("s") is None:
        raise problem("a budget does not belong to it", "a budget gives time; write limit = instead")
    try:
        computed = Budget.model_validate(budget).limit_s * metric.units["s"] / metric.units[unit]
    except ValidationError as error:
        refused = refusal(error, budget, Budget)
        raise problem(
            replace(refused, place=("budget", *refused.place)).sentence(),
            "write budget = {cycle_s = 5739.0, images = 80}",
        ) from error
    # A record keeps both; only a limit that says something else is a contradiction.
    if limit is not None and limit != computed:
        raise problem(f"limit {short(limit)} and a budget of {computed:g}", "keep one of the two")
    return computed
