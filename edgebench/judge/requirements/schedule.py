"""Schedules of images in a cycle that repeats: evenly, in a burst at its start, or at stated times."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationInfo, field_validator, model_validator

from edgebench.errors import UsageError
from edgebench.files import read_regular, reason
from edgebench.judge.units import TEXT_PATTERN, one_measured
from edgebench.refusals import attempt, problem, require_value
from edgebench.suggest import short

MIN_CYCLE_S = 1e-6
"""Below it the cycles of a mission are beyond counting."""

MAX_TIME_S = 1e12

MAX_TIMES = 20_000
"""Stated times of a cycle, which every result keeps: one in four seconds for a day."""

TIME: dict[str, JsonValue] = {"type": "string", "pattern": TEXT_PATTERN}
"""A time with its unit, as JSON Schema."""


class Strict(BaseModel):
    """Outside data: no unknown keys, no conversions, no NaN; all that is wrong is reported at once.

    `complete` puts a `problem` in the place of a value that is wrong, and the value's field raises it.
    Fields typed None exist in files only; they are resolved before validation.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, data: Any, info: ValidationInfo) -> Any:
        require_value(data)
        return cls.complete(dict(data), info.context) if isinstance(data, Mapping) else data

    @field_validator("*", mode="before")
    @classmethod
    def _value(cls, value: Any) -> Any:
        require_value(value)
        return tuple(value) if isinstance(value, list) else value

    @classmethod
    def complete(cls, table: dict[str, Any], context: Any) -> dict[str, Any]:
        """The table with what follows from other keys, and what is wrong with keys that depend on others."""
        return table


class Budget(Strict):
    """Limit on time from a number of images within a cycle."""

    cycle_s: float = Field(ge=MIN_CYCLE_S, le=MAX_TIME_S)
    """Length of the cycle in s."""

    images: int = Field(gt=0, le=10**12)
    """Images in a cycle. Default: the number of times."""

    @property
    def limit_s(self) -> float:
        """Seconds that an image may take."""
        return self.cycle_s / self.images


class Schedule(Budget):
    """Times at which the images of a cycle come, over and over."""

    burst_s: float | None = Field(default=None, ge=0, le=MAX_TIME_S)
    """Time in s from the cycle's start within which its images come, evenly, or all at once where it is 0.
    Default: the whole cycle."""

    times_s: tuple[float, ...] | None = Field(default=None, min_length=1, max_length=MAX_TIMES)
    """When each image comes, in s from the cycle's start, in order and within the cycle. Default: evenly."""

    deadline_s: float | None = Field(default=None, gt=0, le=MAX_TIME_S)
    """Time in s after which the result of an image is worth nothing. Default: unlimited."""

    cycle: None = Field(default=None, exclude=True, json_schema_extra=TIME)
    """cycle_s as text with its unit, such as "95.65 min"."""

    burst: None = Field(default=None, exclude=True, json_schema_extra=TIME)
    """burst_s as text with its unit, such as "6 min"."""

    deadline: None = Field(default=None, exclude=True, json_schema_extra=TIME)
    """deadline_s as text with its unit, such as "1 h"."""

    times: None = Field(default=None, exclude=True, json_schema_extra={"type": "string", "minLength": 1})
    """A CSV file, sought in the folder of this one, with times_s: one column, or that headed time_s."""

    @property
    def allowed_s(self) -> float:
        """Seconds that an image may take: what it may to keep up, or its deadline where that is shorter."""
        return self.limit_s if self.deadline_s is None else min(self.limit_s, self.deadline_s)

    def arrivals_s(self) -> Iterator[float]:
        """Times of the images of one cycle in s from its start, in order, before the cycle's end."""
        over_s = self.cycle_s if self.burst_s is None else self.burst_s
        yield from self.times_s or (over_s * number / self.images for number in range(self.images))

    @classmethod
    def complete(cls, table: dict[str, Any], context: Any) -> dict[str, Any]:
        """Times as text in seconds, and the number of stated times."""
        for name in ("cycle", "burst", "deadline"):
            if (text := table.pop(name, None)) is not None:
                twice = problem(f"{name} and {name}_s say the same twice", "keep one of the two")
                time_s = attempt(one_measured, text, "s", name, "95.65 min")
                table[f"{name}_s"] = twice if f"{name}_s" in table else time_s
        if table.get("times") is not None:  # which its reader has not read
            fix = 'write times = "FILE.csv", or times_s = [0.0, 4.42], in s'
            table = {"images": 1} | table | {"times": problem("times is not one file", fix)}
        no_cycle = problem("the schedule gives no time", 'add cycle = "95.65 min"')
        no_images = problem("the schedule has no images", 'add images = 80, or times = "FILE.csv"')
        table.setdefault("cycle_s", no_cycle)
        times = table.get("times_s")
        if not isinstance(times, list | tuple) or not times:
            table.setdefault("images", no_images)
            return table
        if (images := table.setdefault("images", len(times))) != len(times):
            table["images"] = problem(f"images = {short(images)} and {len(times)} times", "leave images out")
        if table.get("burst_s") is not None:
            table["burst_s"] = problem("a burst and stated times", "keep one of the two")
        return table

    @model_validator(mode="after")
    def _within_the_cycle(self) -> Self:
        cycle = f"the cycle of {self.cycle_s:g} s"
        if self.burst_s is not None and self.burst_s > self.cycle_s:
            raise problem(
                f"a burst of {self.burst_s:g} s is longer than {cycle}",
                "write a shorter burst, or leave it out where images come evenly",
            )
        for number, (before_s, time_s) in enumerate(pairwise((0.0, *(self.times_s or ()))), 1):
            if not before_s <= time_s < self.cycle_s:
                raise problem(
                    f"time {number}, {time_s:g} s, is before {before_s:g} s or not within {cycle}",
                    "give the times of one cycle, sorted, in s from its start",
                )
        return self


# The times at which images come, in s, from a CSV file: one column, or that which is headed `time_s`.


HEADING = "time_s"
MAX_BYTES = 1024 * 1024
_TIME = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FORM = f"write a number of seconds a line, or head the column {HEADING}"


def read_times(path: Path) -> list[float]:
    """The times of a file in its order; UsageError, with the line, where one is not a time.

    The first line may be a heading, which begins with a letter. Lines without anything are passed over.
    """
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8-sig")
        lines = enumerate(csv.reader(text.splitlines(keepends=True), strict=True), 1)
        rows = [(index, row) for index, row in lines if any(row)]
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"times {path} cannot be read", why=reason(error), fix=_FORM) from error
    names = [cell.strip() for cell in rows[0][1]] if rows else []
    column = names.index(HEADING) if HEADING in names else 0
    # A time that is miswritten is no heading: that would be one image less without a word.
    if names and names[column][:1].isalpha() and names[column].lower() not in ("nan", "inf", "infinity"):
        rows = rows[1:]
    if not 0 < len(rows) <= MAX_TIMES:
        why = f"it has {len(rows):,} times; 1 to {MAX_TIMES:,} are taken"
        raise UsageError(f"times {path} gives no schedule", why=why, fix="give the times of one cycle")
    for index, row in rows:
        cell = row[column].strip() if column < len(row) and (len(row) == 1 or HEADING in names) else ""
        if not _TIME.fullmatch(cell) or not math.isfinite(float(cell)):
            why = f"line {index}: {short(','.join(row))} is not a time in s"
            raise UsageError(f"times {path} is no list of times", why=why, fix=_FORM)
    return [float(row[column]) for _, row in rows]
