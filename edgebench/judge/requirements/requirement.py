"""A requirement: one limit on one quantity, complete and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from edgebench.errors import UsageError
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS, choose_metric, required_metrics
from edgebench.judge.requirements.schedule import Budget, Schedule, Strict
from edgebench.judge.units import TEXT_PATTERN, measured
from edgebench.refusals import attempt, form, problem, refuse, require_value
from edgebench.suggest import choose, short

WRITTEN = "written by a user"
"""The context of a validation that refuses slips; a stored requirement is judged as it was."""

_TEXT = {"type": "string", "pattern": TEXT_PATTERN}
_ABOVE_0 = {"type": "number", "exclusiveMinimum": 0}
_SIZE = {"type": "array", "items": _ABOVE_0, "minItems": 3, "maxItems": 3}

Uplink = Annotated[
    float,
    Field(gt=0, le=1e15, json_schema_extra=form("write bits a second above 0, such as uplink_bps = 9600.0")),
]
RATE = {"anyOf": [_ABOVE_0, _TEXT]}
"""A profile's uplink, as JSON Schema."""

MOST = 1e18
Number = Annotated[float, Field(ge=1 / MOST, le=MOST, json_schema_extra=form("write a positive number"))]
"""A limit's, far beyond what is measured; a margin as a share of it can still be printed."""


class Requirement(Strict):
    """One limit on one quantity, complete."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,63}$",
        json_schema_extra=form("up to 64 letters, digits, '.', '_', '-' and blanks, a letter or digit first"),
    )
    """Name in verdicts. Default: the quantity's label, with a statistic that is not the quantity's first, and
    `wanted` for a wish."""

    quantity: str = "image_s"
    """What is limited. Default: image_s."""

    statistic: str
    """Which statistic of it. Default: the quantity's first."""

    limit: Annotated[
        Number | tuple[Number, Number, Number],
        WithJsonSchema({"anyOf": [{"type": "number"}, _TEXT, _SIZE]}),
    ]
    """A number in unit, or text with a unit of its own, such as "500 mW" or "65 x 30 x 8 mm"; three numbers
    for a size. Default, for image_s and infer_s: what the schedule allows, which is the cycle divided by its
    images, or the deadline where that is shorter."""

    unit: str
    """Unit of limit. Default: the quantity's first."""

    comparison: Literal["at most", "at least"]
    """Given by the quantity; may be left out."""

    budget: Budget | None = None
    """The limit of a time as a number of images in a cycle, for this requirement alone; a [schedule] says
    it for all."""

    averaging_s: float | None = Field(default=None, gt=0, le=1e9)
    """For power: the time in s over which the limit means its average."""

    uplink_bps: Uplink | None = None
    """For update_s: bits a second that reach the device, for this requirement alone."""

    schedule: Schedule | None = None
    """For a mission's figures: when images come, for this requirement alone; [schedule] says it for all."""

    wanted: bool = False
    """Whether it is a wish: missed or unknown, it is shown and spoils nothing. It may limit the same
    statistic as a requirement, if it asks for more."""

    @property
    def metric(self) -> Metric:
        """The quantity's entry in the catalogue."""
        return METRICS[self.quantity]

    @property
    def question(self) -> tuple[Any, ...]:
        """Parts that decide a verdict besides the limit and the trial."""
        return self.quantity, self.statistic, self.unit, self.averaging_s, self.uplink_bps, self.schedule

    @property
    def at_least(self) -> bool:
        """True if the value has to reach the limit rather than stay under it."""
        return self.comparison == "at least"

    @property
    def scale(self) -> float:
        """Size of one `unit` in base units."""
        return self.metric.units[self.unit]

    @property
    def base_limit(self) -> float:
        """Limit in base units; infinite for a size, which has three."""
        return math.inf if isinstance(self.limit, tuple) else self.limit * self.scale

    @property
    def sides(self) -> list[float]:
        """The limit's numbers in the figures' unit, sorted: one, or three of a body."""
        limit = self.limit if isinstance(self.limit, tuple) else (self.limit,)
        return sorted(side * self.scale for side in limit)

    def asks_more_than(self, other: Requirement) -> bool:
        """True if a trial that meets the other, on the same statistic, may miss this one."""
        if self.averaging_s != other.averaging_s:
            return True
        pairs = zip(self.sides, other.sides, strict=True)
        return any(limit > required if self.at_least else limit < required for limit, required in pairs)

    @classmethod
    def complete(cls, table: dict[str, Any], context: Any) -> dict[str, Any]:
        """Fields that the metric decides, and problems with fields that do not belong to it."""
        table.setdefault("name", default_name(table) or "requirement")
        quantity, known_metrics = table.setdefault("quantity", "image_s"), required_metrics()
        metric = known_metrics.get(quantity) if isinstance(quantity, str) else None
        if metric is None:  # nothing is said of what depends on the quantity
            valid = {"statistic": "", "limit": 1.0, "unit": "", "comparison": "at most"}
            valid |= dict.fromkeys(("averaging_s", "uplink_bps", "schedule", "budget"))
            unknown = problem(f"unknown quantity {short(quantity)}", choose_metric(quantity, known_metrics))
            return table | valid | {"quantity": unknown}
        if isinstance(text := table.get("limit"), str):
            try:
                table["limit"], table["unit"] = _from_text(text, table.get("unit"), metric)
            except PydanticCustomError as error:
                table["limit"] = error
        for name, choices in (
            ("statistic", metric.statistics),
            ("unit", tuple(metric.units)),
            ("comparison", ("at least" if metric.at_least else "at most",)),
        ):
            value = table.setdefault(name, choices[0])
            if value not in choices:
                table[name] = problem(f"unknown {name} {short(value)} of {quantity}", choose(value, choices))
        belonging = (*metric.conditions, "budget" if "s" in metric.units else "")
        for name in ("averaging_s", "uplink_bps", "schedule", "budget"):
            if table.get(name) is not None and name not in belonging:
                table[name] = problem(f"{name} does not belong to {quantity}", "leave it out")
        return table | {"limit": attempt(_limit, table, metric, context == WRITTEN)}


def _from_text(text: str, stated: Any, metric: Metric) -> tuple[float | tuple[float, ...], str]:
    """The limit in a text, and its unit, which may be stated once more."""
    values, unit = measured(text, metric.units, metric.name, "limit")
    twice = f"limit {short(text)} has its unit, and unit = {short(stated)}"
    refuse((stated not in (None, unit), twice, "leave unit out"))
    return (values if len(values) > 1 else values[0]), unit


def _limit(table: Mapping[str, Any], metric: Metric, written: bool) -> Any:
    """The limit in the requirement's unit, from `limit` or from `budget`; a problem with it is raised."""
    limit, budget = require_value(table.get("limit")), table.get("budget")
    unit = table["unit"] if isinstance(table["unit"], str) else metric.unit  # a wrong one has a problem
    scale = metric.units[unit]
    if budget is not None:
        try:
            computed = Budget.model_validate(budget).limit_s * metric.units["s"] / scale
        except ValidationError:  # which the budget's own field says
            return 1.0
        # A record keeps both; only a limit that says something else is a contradiction.
        twice = f"limit {short(limit)} and a budget of {computed:g}"
        refuse((limit not in (None, computed), twice, "keep one of the two"))
        return computed
    is_list, share, is_share = isinstance(limit, list | tuple), metric.share_of, metric.unit == "1"
    values = [each for each in (limit if is_list else [limit]) if isinstance(each, int | float)]
    number = min((each for each in values if abs(each) <= MOST), default=1.0)
    highest = metric.units["1"] if share else metric.most if metric.better == "higher" else math.inf
    write = "write three numbers, such as [10, 70, 80]" if metric.is_size else "write a positive number"
    of_share = 'write a share, such as 0.9, or a percentage with unit = "%"'
    in_unit = of_share if is_share else f"write {metric.unit}, such as 2.0"
    misshaped = not is_list or len(limit) != 3 if metric.is_size else is_list
    is_none = share and number == 0 and is_share
    no_share = f"no number of {share.split(' ')[-1]}s shows a share of none"
    no_share = f'{no_share}: limit = 1 with unit = "%" takes some 380'
    refuse(
        (limit is None, "the limit is missing", f"add limit =: {write.removeprefix('write ')} in {unit}"),
        (misshaped, f"limit {short(limit)} does not fit {metric.name}", write),
        (is_none and metric.better == "lower", "limit 0 is not above 0", no_share),
        (number <= 0, f"limit {number} is not above 0", write),
        (number * scale > highest, f"limit {number:g} is more than every {share or metric.name}", in_unit),
        (
            written and metric.name == "accuracy" and unit == "%" and number <= 1,
            f"an accuracy of at least {number:g} %: at most one image in a hundred would have to be right",
            f'write limit = {100 * number:g} with unit = "%", or limit = {number:g} without a unit',
        ),
    )
    return limit


def default_name(table: Mapping[str, Any]) -> str:
    """Name of a requirement that states none: the metric's label, with a statistic that is not the first.

    Empty for an unknown quantity.
    """
    metric = required_metrics().get(str(table.get("quantity", "image_s")))
    if metric is None:
        return ""
    statistic = str(table.get("statistic"))
    later = statistic if statistic in metric.statistics[1:] else ""
    wish = "wanted" if table.get("wanted") is True else ""
    return " ".join(filter(None, (metric.words, later, wish)))


def metric_asked(text: str, option: str) -> tuple[Metric, str]:
    """The metric and statistic in `QUANTITY[:STATISTIC]`; UsageError, naming the option, if unknown."""
    quantity, _, statistic = text.strip().partition(":")
    metric = required_metrics().get(quantity)
    if metric is None:
        unknown = f"unknown quantity {short(quantity)}"
        raise UsageError(f"{option}: {unknown}", fix=choose_metric(quantity, required_metrics()))
    statistic = statistic or metric.statistics[0]
    if statistic not in metric.statistics:
        unknown = f"unknown statistic {short(statistic)} of {quantity}"
        raise UsageError(f"{option}: {unknown}", fix=choose(statistic, metric.statistics))
    return metric, statistic
