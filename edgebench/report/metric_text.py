"""The value of a metric as text, in the form that its catalogue entry names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from edgebench.judge.metric import Form, Metric
from edgebench.judge.metrics.power import rail_value
from edgebench.judge.power import scope_rank
from edgebench.judge.trial_summary import UNKNOWN_SCOPE, PowerFigure, TrialSummary
from edgebench.report import words
from edgebench.report.words import FigureText
from edgebench.stats.interval import Interval

FORMS: Mapping[Form, tuple[str, Callable[[Any], str]]] = {
    "interval": ("", words.interval),
    "percent": (
        "",
        lambda figure: (
            words.number(100 * figure)
            if isinstance(figure, int | float)
            else words.estimate(100 * figure.k / figure.n, 100 * figure.low, 100 * figure.high)
            if figure.n
            else words.MISSING
        ),
    ),
    "right of n": ("", words.right_of),
    "points": (
        "",
        lambda drop: (  # below fp32; the sign for fp32 itself
            words.estimate(drop.points, drop.low, drop.high) if drop.low or drop.high else words.MISSING
        ),
    ),
    "k of n": ("", lambda figure: f"{figure.k} of {figure.n}"),
    "p": ("mcnemar_p", lambda p: words.number(p, 2)),
    "bytes": ("", words.size),
    "number": ("", lambda figure: (words.interval if isinstance(figure, Interval) else words.number)(figure)),
    "milliseconds": ("", lambda seconds: words.number(seconds * 1e3)),
    "median": ("median", words.number),
    "p99": ("p99", words.number),
    "count": ("", words.count),
}
"""Which field of the value is printed, the value itself where that is empty, and how."""


def value_of(metric: Metric, trial: TrialSummary) -> Any:
    """The value of a metric; of power and energy what the primary meter and rail saw, with its interval."""
    if not metric.rail:
        return metric.value(trial)
    return None if trial.primary_rail is None else rail_value(trial.primary_rail, metric)


def metric_text(value: Any, form: Form) -> str:
    """The value of a metric as its entry says, which knows the value; the sign for a missing one."""
    part, text_of = FORMS[form]
    figure = getattr(value, part) if part and value is not None else value
    if figure is None:
        return words.MISSING
    number = figure if isinstance(figure, int | float) else getattr(figure, "median", None)
    return text_of(figure) if number is None else FigureText(text_of(figure), number)


# Which figures of power and energy may be compared: those of meters that cover the same.


def scope_text(rail: PowerFigure) -> str:
    """What its meter covers: `board`, `scope unknown`."""
    return words.plain(rail.scope, 20) or UNKNOWN_SCOPE


def meter_text(rail: PowerFigure) -> str:
    """Meter and rail: `rapl package-0`."""
    return words.plain(f"{rail.meter.removesuffix(':')} {rail.channel}", 60)


def rail_text(rail: PowerFigure) -> str:
    """Meter, rail and what they cover: `rapl package-0, chip`."""
    return f"{meter_text(rail)}, {scope_text(rail)}"


def declared_texts(summary: TrialSummary) -> list[str]:
    """What was declared of a trial's target, marked as such: power and boot time."""
    texts = []
    figures = [
        f"{power.kind} {power.watts:g} W ({words.plain(power.source)})" for power in summary.declared_power
    ]
    if figures:
        texts.append(f"declared power, not measured: {', '.join(figures)}")
    if boot := summary.boot_s:
        source = words.plain(boot.source)
        texts.append(f"declared boot time, not measured: {boot.kind} {boot.seconds:g} s ({source})")
    return texts


def scopes_note(rails: Iterable[PowerFigure]) -> str:
    """Why figures of these rails cannot all be compared; "" where one scope holds them all."""
    ranks = {scope_text(rail): scope_rank(rail.scope) for rail in rails}
    if len(ranks) < 2:
        return ""
    scopes = sorted(ranks, key=lambda text: (ranks[text], text))
    return (
        f"Power and energy are of meters that cover different things ({', '.join(scopes)}): "
        "they are comparable within a scope, not across scopes."
    )
