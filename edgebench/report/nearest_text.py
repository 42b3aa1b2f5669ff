"""The nearest yes in sentences, for the terminal and for pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgebench.fit.metrics import METRICS
from edgebench.fit.nearest import Nearest
from edgebench.fit.relaxed_limit import Limit, RelaxedLimit, ToMeasure
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.report.notes import Trials

_DIGITS = 3


def nearest_sentences(entries: Sequence[Nearest], summaries: Sequence[TrialSummary]) -> list[str]:
    """One sentence a target; profiles for which it says the same share it.

    `nano, disco-realtime: 0.5 int8 would pass with image_s median ≤ 5.13 s in place of 4.42 s (16 % more)`.
    """
    names = words.labels(summaries)
    profiles: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        group = [summary for summary in summaries if summary.swept_target == entry.target]
        about = (words.plain(entry.target, 60), _what_passes(entry, Trials.of(group, _swept(group, names))))
        profiles.setdefault(about, []).append(words.plain(entry.profile, 80))
    return [f"{target}, {words.listed(named)}: {text}" for (target, text), named in profiles.items()]


def _swept(group: Sequence[TrialSummary], names: dict[str, str]) -> dict[str, str]:
    """The trials' names, with the settings of their sweep where they have any."""
    return {
        summary.key: " ".join([names[summary.key], *_settings(summary)])
        if summary.settings
        else names[summary.key]
        for summary in group
    }


def _settings(summary: TrialSummary) -> list[str]:
    return [words.plain(f"{name}={value}", 40) for name, value in summary.settings.items()]


def _what_passes(entry: Nearest, trials: Trials) -> str:
    if entry.passing:
        return f"passes with {trials.several(entry.passing)}"
    if entry.trial is None:
        return "nothing passes"
    name, lacks = trials.names[entry.trial], _to_measure(entry.measure)
    unmissed = [undecided.trial for undecided in entry.undecided]
    if entry.relax:
        text = f"{name} would pass with {words.listed([_relaxed(limit) for limit in entry.relax])}"
        text += f", and with what it lacks: {lacks}" if lacks else ""
        return f"{text}; {_misses_none(unmissed, trials)}" if unmissed else text
    if entry.trial not in unmissed:
        return f"no limit lets {name}, the nearest, pass: {lacks}"
    who = "it" if len(unmissed) == 1 else f"{name}, the nearest,"
    return f"{_misses_none(unmissed, trials)}: {who} lacks {lacks}"


def _misses_none(keys: Sequence[str], trials: Trials) -> str:
    misses, is_not = ("misses", "is not") if len(keys) == 1 else ("miss", "are not")
    return f"{trials.several(keys)} {misses} no limit and {is_not} shown to pass"


def _relaxed(limit: RelaxedLimit) -> str:
    """`image_s median ≤ 5.13 s in place of 4.42 s (16 % more)`."""
    at_least = METRICS[limit.quantity].at_least(limit.statistic)
    unit = "" if limit.unit in ("", "1") else f" {words.plain(limit.unit, 16)}"
    quantity = words.judged_quantity(limit.quantity, limit.statistic, limit.averaging_s)
    way = "less" if at_least else "more"
    if METRICS[limit.quantity].above:
        difference = f"{words.number(limit.by)}{unit} {way}"
    else:
        difference = f"{words.percent(limit.share, 0 if limit.share >= 0.1 else 2)} {way}"
    return (
        f"{quantity} {'≥' if at_least else '≤'} {_outward(limit.to, at_least)}{unit} in place of "
        f"{words.quantity(limit.limit)}{unit} ({difference})"
    )


def _outward(limit: Limit, at_least: bool) -> str:
    """A limit in a few digits, never rounded to where the trial would not pass it."""
    if isinstance(limit, tuple):
        return " x ".join(_outward(side, at_least) for side in limit)
    places = _DIGITS - 1 - (math.floor(math.log10(abs(limit))) if limit else 0)
    step = 10.0**-places
    steps = limit / step
    whole = math.floor(steps + 1e-9) if at_least else math.ceil(steps - 1e-9)
    return f"{whole * step:.{max(0, places)}f}"


def _to_measure(lacks: Sequence[ToMeasure]) -> str:
    """`energy_j median and power_peak_w max (no meter was asked for)`; "" for nothing."""
    by_reason: dict[str, list[str]] = {}
    for lack in lacks:
        quantity = words.judged_quantity(lack.quantity, lack.statistic, None)
        by_reason.setdefault(words.plain(lack.reason), []).append(quantity)
    return words.listed([f"{words.listed(names)} ({reason})" for reason, names in by_reason.items()])
