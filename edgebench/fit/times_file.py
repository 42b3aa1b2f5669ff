"""The times at which images come, in s, from a CSV file: one column, or that which is headed `time_s`."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from edgebench.errors import UsageError
from edgebench.fit.schedule import MAX_TIMES
from edgebench.regular_files import not_utf8, read_regular, reason
from edgebench.suggest import short

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
