"""Texts of numbers and lists: shares, durations, enumerations."""

from __future__ import annotations

from collections.abc import Sequence


def share_text(number: float) -> str:
    """A share of one as percent, with as many digits as it needs: `1 %`, `0.25 %`."""
    return f"{100 * number:.3g} %"


def joined(*texts: str) -> str:
    """Sentences in one text, apart by semicolons; empty ones are left out."""
    return "; ".join(filter(None, texts))


def listed(items: Sequence[str], conjunction: str = "and") -> str:
    """Items in a sentence: `a`, `a and b`, `a, b and c`."""
    return f" {conjunction} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


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
