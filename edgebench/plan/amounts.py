"""Shares and durations as people write and read them: `1%`, `0.01`, `30m`, `1h30m`, `12:05`."""

from __future__ import annotations

import math
import re

from edgebench.suggest import short

_SHARE = re.compile(r"(?P<number>[0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*(?P<percent>%?)", re.IGNORECASE)
_PART = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>d|h|min|m|s)", re.IGNORECASE)
_SECONDS = {"d": 86_400.0, "h": 3600.0, "min": 60.0, "m": 60.0, "s": 1.0}


def share(value: object) -> object:
    """`1%` and `0.01` as 0.01; anything that is no text is returned as it is.

    Raises ValueError for a text that is neither.
    """
    if not isinstance(value, str):
        return value
    match = _SHARE.fullmatch(value.strip())
    if match is None:
        raise ValueError(f"{short(value)} is no share: write it such as 1% or 0.01")
    number = float(match["number"])
    return number / 100 if match["percent"] else number


def duration_s(value: object) -> object:
    """`30m`, `90s`, `2h`, `1h30m`, `30d` as seconds; a plain number is seconds, as anything that is no text.

    Raises ValueError for a text that is no duration.
    """
    if not isinstance(value, str):
        return value
    text = "".join(value.split())
    try:
        return float(text)
    except ValueError:
        pass
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        raise ValueError(
            f"{short(value)} is no duration: write it such as 30m, 90s or 1h30m; a plain number is seconds"
        )
    return sum(float(part["number"]) * _SECONDS[part["unit"].lower()] for part in parts)


def share_text(number: float) -> str:
    """A share of one as percent, with as many digits as it needs: `1 %`, `0.25 %`."""
    return f"{100 * number:.3g} %"


def duration_text(seconds: float) -> str:
    """Seconds in words: `30 min`, `90 s`, `1 h 30 min`."""
    whole = round(seconds)
    if seconds < 60 or seconds != whole or whole % 60:
        return f"{seconds:g} s"
    hours, minutes = divmod(whole // 60, 60)
    parts = [f"{hours} h"] if hours else []
    if minutes:
        parts.append(f"{minutes} min")
    return " ".join(parts)


def clock_text(seconds: float) -> str:
    """Seconds as 0:42, 12:05 or 1:02:03."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def span_text(least_s: float, most_s: float) -> str:
    """From the least to the most: 0:42, `0:40 to 2:10`, `at least 1:30:00`, or unknown.

    What is known to take a few seconds at least, and no more than that is known of it, is unknown.
    """
    if not math.isfinite(most_s):
        return f"at least {clock_text(least_s)}" if least_s >= 60 else "unknown"
    least, most = clock_text(least_s), clock_text(most_s)
    return least if least == most else f"{least} to {most}"
