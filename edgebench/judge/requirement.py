"""A requirement: one limit on one quantity, complete and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from pydantic_core import PydanticCustomError

from edgebench.errors import UsageError
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS, required_metrics
from edgebench.judge.schedule import Budget, Faults, Schedule, Strict
from edgebench.judge.units import measured
from edgebench.refusals import form, problem
from edgebench.suggest import choose, short

Comparison = Literal["at most", "at least"]
Uplink = Annotated[
    float,
    Field(gt=0, le=1e15, json_schema_extra=form("write bits a second above 0, such as uplink_bps = 9600.0")),
]

MIN_LIMIT, MAX_LIMIT = 1e-18, 1e18
"""In any unit; far beyond what is measured, and a margin as a share of it can still be printed."""


@dataclass(frozen=True)
class Defaults:
    """What the requirements of a profile take from it, unless they have their own.

    Attributes:
        schedule: when images come; None where it does not say so.
        limits: whether the schedule limits a latency that has no limit.
        uplink_bps: bits a second that reach the device; None where it does not say so.
        written: whether a user wrote it, whose slips are refused; a stored profile is judged as it was.
    """

    schedule: Schedule | None = None
    limits: bool = False
    uplink_bps: float | None = None
    written: bool = False


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

    @property
    def base_limit(self) -> float:
        """The limit in the figures' unit; infinite for a body, which has three."""
        return math.inf if isinstance(self.limit, tuple) else self.limit * self.scale

    @property
    def sides(self) -> list[float]:
        """The limit's numbers in the figures' unit, sorted: one, or three of a body."""
        limit = self.limit if isinstance(self.limit, tuple) else (self.limit,)
        return sorted(side * self.scale for side in limit)

    def asks_more_than(self, other: Requirement) -> bool:
        """Whether something that meets the other, on the same statistic of the same quantity, may miss it."""
        if self.averaging_s != other.averaging_s:
            return True
        pairs = zip(self.sides, other.sides, strict=True)
        return any(limit > required if self.at_least else limit < required for limit, required in pairs)

    @classmethod
    def complete(cls, table: dict[str, Any], context: Any) -> Faults:
        """Fill in what the quantity decides, and refuse what does not belong to it."""
        defaults = context if isinstance(context, Defaults) else Defaults()
        quantity, known_metrics = table.setdefault("quantity", "image_s"), required_metrics()
        metric = known_metrics.get(quantity) if isinstance(quantity, str) else None
        if metric is None:
            yield (
                ("quantity",),
                problem(f"unknown quantity {short(quantity)}", choose(quantity, known_metrics)),
            )
            valid = {"quantity": "mass_g", "statistic": "declared", "comparison": "at most", "unit": "g"}
            table |= valid | dict.fromkeys(("averaging_s", "uplink_bps", "schedule", "budget"))
            table["limit"] = 1.0
            return
        try:
            if isinstance(text := table.get("limit"), str):
                values, unit = measured(text, metric.units, metric.name, "limit")
                if (stated := table.get("unit")) not in (None, unit):
                    what = f"limit {short(text)} has its unit, and unit = {short(stated)}"
                    raise problem(what, "leave unit out")
                table |= {"limit": values if len(values) > 1 else values[0], "unit": unit}
        except PydanticCustomError as error:
            yield ("limit",), error
            table["limit"] = metric.valid_limit
        comparison = "at least" if metric.at_least else "at most"
        for name, known in (
            ("statistic", metric.statistics),
            ("unit", tuple(metric.units)),
            ("comparison", (comparison,)),
        ):
            value = table.setdefault(name, known[0])
            if value not in known:
                yield (name,), problem(f"unknown {name} {short(value)} of {quantity}", choose(value, known))
                table[name] = known[0]
        belonging = (*metric.conditions, "budget" if "s" in metric.units else "")
        for name in ("averaging_s", "uplink_bps", "schedule", "budget"):
            if table.get(name) is not None and name not in belonging:
                yield (name,), problem(f"{name} does not belong to {quantity}", "leave it out")
                table |= {name: None, "limit": table.get("limit", metric.valid_limit)}
        if "uplink_bps" in metric.conditions:
            table.setdefault("uplink_bps", defaults.uplink_bps)
        schedule = defaults.schedule
        if schedule is not None and metric.of_schedule:
            table.setdefault("schedule", schedule)
        bare = table.get("limit") is None and table.get("budget") is None
        if schedule is not None and defaults.limits and bare and metric.is_latency:
            if schedule.allowed_s == schedule.limit_s:
                table["budget"] = Budget(cycle_s=schedule.cycle_s, images=schedule.images)
            else:
                table["limit"] = schedule.allowed_s * metric.units["s"] / metric.units[table["unit"]]
        try:
            table["limit"] = _limit(table, metric, written=defaults.written)
        except PydanticCustomError as error:
            yield ("limit",), error
            table |= {"limit": metric.valid_limit, "budget": None}


def _limit(table: Mapping[str, Any], metric: Metric, *, written: bool) -> Any:
    """The limit in the requirement's unit, from `limit` or from `budget`."""
    limit, budget, scale = table.get("limit"), table.get("budget"), metric.units[table["unit"]]
    if budget is not None:
        try:
            computed = Budget.model_validate(budget).limit_s * metric.units["s"] / scale
        except ValidationError:  # which the field's own validation says
            return metric.valid_limit
        # A record keeps both; only a limit that says something else is a contradiction.
        if limit is not None and limit != computed:
            raise problem(f"limit {short(limit)} and a budget of {computed:g}", "keep one of the two")
        return computed
    form_ = "three numbers, such as [10, 70, 80]" if metric.is_size else "a positive number"
    if limit is None:
        raise problem("the limit is missing", f"add limit =, {form_}, in {table['unit']}")
    values = limit if isinstance(limit, list | tuple) else [limit]
    if metric.is_size != isinstance(limit, list | tuple) or (metric.is_size and len(values) != 3):
        raise problem(f"limit {short(limit)} does not fit {table['quantity']}", f"write {form_}")
    share = metric.share_of
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise problem(f"limit {short(value)} is not a number", "write a number without quotes")
        # Written so that nan fails it as well.
        if not 0 < value < math.inf:
            fix = "write a positive number"
            if share and metric.unit == "1" and metric.better == "lower":
                fix += f"; no number of {share.split()[-1]}s shows a share of none: limit = 1 with "
                fix += 'unit = "%" takes some 380'
            raise problem(f"limit {value} is not above 0 and finite", fix)
        if not MIN_LIMIT <= value <= MAX_LIMIT:
            raise problem(
                f"limit {value} is not between {MIN_LIMIT:g} and {MAX_LIMIT:g}",
                "write a limit that can be measured",
            )
        if share and value * scale > metric.units["1"]:
            fix = 'write a share, such as 0.9, or a percentage with unit = "%"'
            fix = fix if metric.unit == "1" else f"write {metric.unit}, such as 2.0"
            raise problem(f"limit {value:g} is more than every {share}", fix)
        if written and metric.name == "accuracy" and table["unit"] == "%" and value <= 1:
            raise problem(
                f"an accuracy of at least {value:g} %: at most one image in a hundred would have to be right",
                f'write limit = {100 * value:g} with unit = "%", or limit = {value:g} without a unit',
            )
    return tuple(float(value) for value in values) if metric.is_size else float(limit)


def metric_asked(text: str, option: str) -> tuple[Metric, str]:
    """The metric and statistic in `QUANTITY[:STATISTIC]`; UsageError, naming the option, for what is none."""
    quantity, _, statistic = text.strip().partition(":")
    metric = required_metrics().get(quantity)
    if metric is None:
        raise UsageError(
            f"{option}: unknown quantity {short(quantity)}", fix=choose(quantity, required_metrics())
        )
    statistic = statistic or metric.statistics[0]
    if statistic not in metric.statistics:
        raise UsageError(
            f"{option}: unknown statistic {short(statistic)} of {quantity}",
            fix=choose(statistic, metric.statistics),
        )
    return metric, statistic
