"""The value of a metric as text, in the form that its catalogue entry names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from edgebench.fit.metric import Form
from edgebench.report import words
from edgebench.report.figure_text import FigureText

if TYPE_CHECKING:  # listings print without the summaries, and what these import
    from edgebench.fit.trial_summary import Accuracy, AccuracyDrop, Agreement, FailedSessions, RequestLatency


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
