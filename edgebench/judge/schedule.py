"""When images come: so many in a cycle that repeats, evenly, in a burst at its start, or at stated times."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from edgebench.errors import UsageError
from edgebench.files import not_utf8, read_regular, reason
from edgebench.judge.units import seconds
from edgebench.refusals import problem
from edgebench.suggest import choose, short

MIN_CYCLE_S = 1e-6
"""Below it the cycles of a mission are beyond counting."""

MAX_TIME_S = 1e12

MAX_TIMES = 20_000
"""Stated times of a cycle, which every result keeps: one in four seconds for a day."""

_TIMES_AS_TEXT = ("cycle", "burst", "deadline")


class Strict(BaseModel):
    """Outside data: no unknown keys, no conversions, no NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Budget(Strict):
    """How a limit on time comes about: so many images within so long a cycle."""

    cycle_s: float = Field(ge=MIN_CYCLE_S, le=MAX_TIME_S)
    images: int = Field(gt=0, le=10**12)

    @property
    def limit_s(self) -> float:
        """Seconds that an image may take."""
        return self.cycle_s / self.images


class Schedule(Budget):
    """When the images of a cycle come, over and over; a document gives each time as text, or in s (`_s`).

    Attributes:
        cycle_s: after which it begins again.
        images: of a cycle; as many as `times_s` where these are stated.
        burst_s: the images come evenly over so long from the cycle's start, all at once where it is 0; over
            all of the cycle where it is None.
        times_s: when each image comes, from the cycle's start, in order and within the cycle; None where
            they come evenly.
        deadline_s: after which an image that came is worth nothing; None where it may wait.
    """

    burst_s: float | None = Field(default=None, ge=0, le=MAX_TIME_S)
    times_s: tuple[float, ...] | None = Field(default=None, min_length=1, max_length=MAX_TIMES)
    deadline_s: float | None = Field(default=None, gt=0, le=MAX_TIME_S)

    @property
    def allowed_s(self) -> float:
        """Seconds that an image may take: what it may to keep up, or its deadline where that is shorter."""
        return self.limit_s if self.deadline_s is None else min(self.limit_s, self.deadline_s)

    def arrivals_s(self) -> Iterator[float]:
        """When the images of one cycle come, from its start, in order; each before the cycle's end."""
        if self.times_s is not None:
            yield from self.times_s
            return
        over_s = self.cycle_s if self.burst_s is None else self.burst_s
        for number in range(self.images):
            yield over_s * number / self.images

    @field_validator("times_s", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        """Times as text in seconds, and the number of stated times."""
        if not isinstance(data, Mapping):
            raise problem("the schedule is not a table", "write it under [schedule]")
        if unknown := [key for key in data if key not in KEYS]:
            raise problem(f"unknown key {short(unknown[0])}", choose(unknown[0], KEYS))
        filled = dict(data)
        for name in _TIMES_AS_TEXT:
            if name in filled:
                _in_seconds(filled, name)
        if "cycle_s" not in filled:
            raise problem("the schedule gives no time", 'add cycle = "95.65 min"')
        times = filled.get("times_s")
        if isinstance(times, list | tuple):
            if not times:
                raise problem("times_s is empty: the schedule gives no time", "add the times, or images =")
            stated = filled.setdefault("images", len(times))
            if stated != len(times):
                raise problem(f"images = {short(stated)} beside {len(times)} times", "leave images out")
            if filled.get("burst_s") is not None:
                raise problem("a burst beside times that are stated", "keep one of the two")
        elif "images" not in filled:
            raise problem("the schedule has no images", 'add images = 80, or times = "FILE.csv"')
        return filled

    @model_validator(mode="after")
    def _within_the_cycle(self) -> Self:
        if self.burst_s is not None and self.burst_s > self.cycle_s:
            raise problem(
                f"a burst of {self.burst_s:g} s is longer than the cycle of {self.cycle_s:g} s",
                "write a shorter burst, or leave it out where images come evenly",
            )
        before = 0.0
        for number, time_s in enumerate(self.times_s or (), 1):
            if time_s < 0:
                raise problem(
                    f"time {number} is {time_s:g} s, before the cycle's start", "count from that start"
                )
            if time_s < before:
                raise problem(f"time {number}, {time_s:g} s, comes after {before:g} s", "sort the times")
            if time_s >= self.cycle_s:
                raise problem(
                    f"time {number}, {time_s:g} s, is not within the cycle of {self.cycle_s:g} s",
                    "give the times of one cycle, or a longer one",
                )
            before = time_s
        return self


KEYS = (*_TIMES_AS_TEXT, "times", *Schedule.model_fields)
"""What a document may say of a schedule; `times` names a file, which the document's reader has read."""


def _in_seconds(table: dict[str, Any], name: str) -> None:
    """Replace a time with its unit by one in seconds."""
    value = table.pop(name)
    if f"{name}_s" in table:
        raise problem(f"{name} and {name}_s say the same twice", "keep one of the two")
    if not isinstance(value, str):
        raise problem(f"{name} {short(value)} has no unit", f'write {name} = "95.65 min", or {name}_s =')
    time_s = seconds(value, name)
    if time_s < 0 or (time_s == 0 and name != "burst"):
        least = "0 s or more" if name == "burst" else "above 0"
        raise problem(f"{name} {short(value)} is not {least}", f'write one such as {name} = "95.65 min"')
    if time_s > MAX_TIME_S:
        raise problem(f"{name} {short(value)} is longer than {MAX_TIME_S:g} s", "write a shorter time")
    if name == "cycle" and time_s < MIN_CYCLE_S:
        raise problem(f"cycle {short(value)} is shorter than {MIN_CYCLE_S:g} s", "write a longer cycle")
    table[f"{name}_s"] = time_s


# The times at which images come, in s, from a CSV file: one column, or that which is headed `time_s`.


HEADING = "time_s"
MAX_BYTES = 1024 * 1024


def read_times(path: Path) -> list[float]:
    """The times of a file in its order; UsageError, with the line, for what is none.

    The first line may be a heading, which begins with a letter. Lines without anything are passed over.
    """
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8-sig")
        rows = [
            (at, row)
            for at, row in enumerate(csv.reader(text.splitlines(keepends=True), strict=True), 1)
            if any(row)
        ]
    except OSError as error:
        raise UsageError(
            f"times {path} cannot be read",
            why=reason(error),
            fix="name a file beside the profile",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"times {path} is not text", why=not_utf8(error), fix="save it as UTF-8") from error
    except csv.Error as error:
        raise UsageError(f"times {path} is not CSV", why=str(error), fix=_FORM) from error
    names = [cell.strip() for cell in rows[0][1]] if rows else []
    column = names.index(HEADING) if HEADING in names else 0
    if names and _is_heading(names[column]):
        rows = rows[1:]
    if not rows or len(rows) > MAX_TIMES:
        why = f"it has {len(rows):,} times; 1 to {MAX_TIMES:,} are taken"
        raise UsageError(f"times {path} gives no schedule", why=why, fix="give the times of one cycle")
    times = []
    for at, row in rows:
        value = _number(row[column]) if len(row) > column and (len(row) == 1 or HEADING in names) else None
        if value is None:
            why = f"line {at}: {short(','.join(row))} is not a time in s"
            raise UsageError(f"times {path} is no list of times", why=why, fix=_FORM)
        times.append(value)
    return times


_FORM = f"write a number of seconds a line, or head the column {HEADING}"


def _is_heading(text: str) -> bool:
    """Whether it is a word, and no time that is miswritten: that would be one image less without a word."""
    return text[:1].isalpha() and text.lower() not in ("nan", "inf", "infinity")


def _number(text: str) -> float | None:
    if "_" in text:  # which Python takes between digits
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
