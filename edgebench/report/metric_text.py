"""The value of a metric as text, in the form that its catalogue entry names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import Form
from edgebench.judge.metrics import shown_in
from edgebench.judge.power import scope_rank
from edgebench.judge.power_metrics import rail_value
from edgebench.judge.trial_summary import UNKNOWN_SCOPE, PowerFigure, TrialSummary
from edgebench.report import words
from edgebench.report.words import FigureText

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import (
        Accuracy,
        AccuracyDrop,
        Agreement,
        FailedSessions,
        RequestLatency,
    )


def share(figure: Accuracy | Agreement) -> str:
    """`99.6 %`: k of n."""
    return words.percent(figure.k / figure.n) if figure.n else words.MISSING


def wilson(figure: Accuracy) -> str:
    """The ends of its interval: `94.0 to 96.6 %`."""
    return f"{100 * figure.low:.1f} to {100 * figure.high:.1f} %"


def points(figure: AccuracyDrop) -> str:
    """`1.20 (0.10 to 2.40)`: points below fp32; the sign for fp32 itself."""
    if figure.low == figure.high == 0:
        return words.MISSING
    return f"{figure.points:.2f} ({figure.low:.2f} to {figure.high:.2f})"


def k_of_n(figure: FailedSessions) -> str:
    """`1 of 6`."""
    return f"{figure.k} of {figure.n}"


def p_value(figure: Agreement) -> str:
    """McNemar's p, where there were labels."""
    return words.MISSING if figure.mcnemar_p is None else words.number(figure.mcnemar_p, 2)


def request_median(figure: RequestLatency) -> str:
    """`12.3`, in milliseconds."""
    return words.number(figure.median)


def request_p99(figure: RequestLatency) -> str:
    """`15.2`, or the sign where the requests are too few."""
    return words.MISSING if figure.p99 is None else words.number(figure.p99)


def request(figure: RequestLatency) -> str:
    """`12.3 (p99 15.2)`."""
    p99 = "" if figure.p99 is None else f" (p99 {request_p99(figure)})"
    return f"{request_median(figure)}{p99}"


FORMS: Mapping[Form, Callable[[Any], str]] = {
    "interval": words.interval,
    "share": share,
    "right of n": words.right_of,
    "Wilson interval": wilson,
    "points": points,
    "k of n": k_of_n,
    "p": p_value,
    "bytes": words.size,
    "number": words.number,
    "milliseconds": words.milliseconds,
    "median and p99": request,
    "median": request_median,
    "p99": request_p99,
    "count": words.count,
}


def metric_text(value: Any, form: Form) -> str:
    """The value of a metric as its entry says, which knows the value; the sign for a missing one."""
    if value is None:
        return words.MISSING
    text = FORMS[form](value)
    if form in ("p", "p99"):
        figure = value.mcnemar_p if form == "p" else value.p99
    elif isinstance(value, int | float):
        figure = value
    else:
        figure = getattr(value, "median", None)
    return text if figure is None else FigureText(text, figure)


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


def power_cells(rail: PowerFigure) -> list[str]:
    """Its figures in the columns of the tables of power."""
    return [metric_text(rail_value(rail, metric), shown.form) for metric, shown in shown_in("power")]


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


def scopes_of(rails: Iterable[PowerFigure]) -> tuple[str, ...]:
    """Each scope of these rails once, in the order of SCOPES."""
    texts = {scope_text(rail): scope_rank(rail.scope) for rail in rails}
    return tuple(sorted(texts, key=lambda text: (texts[text], text)))


def scopes_note(rails: Iterable[PowerFigure]) -> str:
    """Why figures of these rails cannot all be compared; "" where one scope holds them all."""
    scopes = scopes_of(rails)
    if len(scopes) < 2:
        return ""
    return (
        f"Power and energy are of meters that cover different things ({', '.join(scopes)}): "
        "they are comparable within a scope, not across scopes."
    )
