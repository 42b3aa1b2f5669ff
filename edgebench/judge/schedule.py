"""When images come: so many in a cycle that repeats, evenly, in a burst at its start, or at stated times."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from edgebench.errors import UsageError
from edgebench.files import not_utf8, read_regular, reason
from edgebench.judge.units import one_measured
from edgebench.refusals import Place, placed, problem
from edgebench.suggest import choose, short

MIN_CYCLE_S = 1e-6
"""Below it the cycles of a mission are beyond counting."""

MAX_TIME_S = 1e12

MAX_TIMES = 20_000
"""Stated times of a cycle, which every result keeps: one in four seconds for a day."""

Faults = Iterator[tuple[Place, PydanticCustomError | ValidationError]]
"""What is wrong with a table, each with its place in it."""


class Strict(BaseModel):
    """Outside data: no unknown keys, no conversions, no NaN; all that is wrong is reported at once."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    document_keys: ClassVar[tuple[str, ...]] = ()
    """What a document may say beside the fields."""

    @field_validator("*", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @classmethod
    def complete(cls, table: dict[str, Any], context: Any) -> Faults:
        """Fill in what follows from other keys; yield what is wrong with keys that depend on each other.

        What is yielded has something valid in its place afterwards, so that nothing is reported twice.
        """
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if not isinstance(data, Mapping):
            return handler(data)
        known = (*cls.document_keys, *cls.model_fields)
        table = {key: value for key, value in data.items() if key in known}
        errors = []
        for key in [key for key in data if key not in known]:
            errors += placed((key,), problem(f"unknown key {short(key)}", choose(key, known)))
        for place, fault in cls.complete(table, info.context):
            errors += placed(place, fault)
        try:
            model = handler(table)
        except ValidationError as error:
            errors += placed((), error)
        if errors:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return model


_TIMES_AS_TEXT = ("cycle", "burst", "deadline")


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

    document_keys = (*_TIMES_AS_TEXT, "times")

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

    @classmethod
    def complete(cls, table: dict[str, Any], context: Any) -> Faults:
        """Times as text in seconds, and the number of stated times."""
        for name in [name for name in _TIMES_AS_TEXT if name in table]:
            value = table.pop(name)
            try:
                if f"{name}_s" in table:
                    raise problem(f"{name} and {name}_s say the same twice", "keep one of the two")
                table[f"{name}_s"] = one_measured(value, "s", name, "95.65 min")
            except PydanticCustomError as error:
                yield (name,), error
                table[f"{name}_s"] = MAX_TIME_S if name == "cycle" else None
        if "cycle_s" not in table:
            yield ("cycle",), problem("the schedule gives no time", 'add cycle = "95.65 min"')
            table["cycle_s"] = MAX_TIME_S
        times = table.get("times_s")
        if isinstance(times, list | tuple) and times:
            stated = table.setdefault("images", len(times))
            if stated != len(times):
                yield (
                    ("images",),
                    problem(f"images = {short(stated)} beside {len(times)} times", "leave images out"),
                )
                table["images"] = len(times)
            if table.get("burst_s") is not None:
                yield ("burst_s",), problem("a burst beside times that are stated", "keep one of the two")
                table["burst_s"] = None
        elif "images" not in table:
            yield ("images",), problem("the schedule has no images", 'add images = 80, or times = "FILE.csv"')
            table["images"] = 1

    @model_validator(mode="after")
    def _within_the_cycle(self) -> Self:
        if self.burst_s is not None and self.burst_s > self.cycle_s:
            raise problem(
                f"a burst of {self.burst_s:g} s is longer than the cycle of {self.cycle_s:g} s",
                "write a shorter burst, or leave it out where images come evenly",
            )
        before = 0.0
        for number, time_s in enumerate(self.times_s or (), 1):
            what = f"time {number}, {time_s:g} s,"
            if time_s < 0:
                raise problem(f"{what} is before the cycle's start", "count from that start")
            if time_s < before:
                raise problem(f"{what} comes after {before:g} s", "sort the times")
            if time_s >= self.cycle_s:
                raise problem(
                    f"{what} is not within the cycle of {self.cycle_s:g} s",
                    "give the times of one cycle, or a longer one",
                )
            before = time_s
        return self


KEYS = (*Schedule.document_keys, *Schedule.model_fields)
"""What a document may say of a schedule; `times` names a file, which the document's reader has read."""


# The times at which images come, in s, from a CSV file: one column, or that which is headed `time_s`.


HEADING = "time_s"
MAX_BYTES = 1024 * 1024
_FORM = f"write a number of seconds a line, or head the column {HEADING}"


def read_times(path: Path) -> list[float]:
    """The times of a file in its order; UsageError, with the line, for what is none.

    The first line may be a heading, which begins with a letter. Lines without anything are passed over.
    """
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8-sig")
        lines = enumerate(csv.reader(text.splitlines(keepends=True), strict=True), 1)
        rows = [(at, row) for at, row in lines if any(row)]
    except OSError as error:
        raise UsageError(
            f"times {path} cannot be read", why=reason(error), fix="name a file beside the profile"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"times {path} is not text", why=not_utf8(error), fix="save it as UTF-8") from error
    except csv.Error as error:
        raise UsageError(f"times {path} is not CSV", why=str(error), fix=_FORM) from error
    names = [cell.strip() for cell in rows[0][1]] if rows else []
    column = names.index(HEADING) if HEADING in names else 0
    # A time that is miswritten is no heading: that would be one image less without a word.
    if names and names[column][:1].isalpha() and names[column].lower() not in ("nan", "inf", "infinity"):
        rows = rows[1:]
    if not rows or len(rows) > MAX_TIMES:
        why = f"it has {len(rows):,} times; 1 to {MAX_TIMES:,} are taken"
        raise UsageError(f"times {path} gives no schedule", why=why, fix="give the times of one cycle")
    times = []
    for at, row in rows:
        try:
            times.append(float(row[column].replace("_", "no number")))  # Python takes it between digits
        except (ValueError, IndexError):
            times.append(math.nan)
        if not math.isfinite(times[-1]) or (len(row) > 1 and HEADING not in names):
            why = f"line {at}: {short(','.join(row))} is not a time in s"
            raise UsageError(f"times {path} is no list of times", why=why, fix=_FORM)
    return times
