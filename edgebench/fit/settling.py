"""What would settle a verdict that is unknown or inconclusive: an option, or how many sessions or images.

What brings a figure that is missing its metric says (`Metric.brought_by`). Of a figure that is there it is
more of what its interval rests on, as many as the spread between the sessions so far foretells
(`edgebench.stats.forecast`), or a meter that can decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgebench.fit.figures import PERCENTILES
from edgebench.fit.metric import Metric, Sampled
from edgebench.fit.metrics import METRICS
from edgebench.fit.power_limits import rate_objection
from edgebench.fit.power_rails import WIDE_SCOPES
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.stats.forecast import MOST_SESSIONS, forecast
from edgebench.stats.intervals import MIN_SESSIONS, session_medians
from edgebench.stats.percentiles import least_n
from edgebench.stats.proportion import wilson

MOST_IMAGES = 100_000
"""Beyond which a limit on a share is as good as met by the figure itself: none are proposed."""

_NEARLY_ALL = 0.99  # what a maximum speaks for
_MEASURE = "a run of one's own (`edgebench run`)"


def settled_by(trial: TrialSummary, verdict: Verdict) -> str:
    """With what a verdict would be a pass or a fail; empty where it is one, or nothing is known to do it."""
    metric = METRICS.get(verdict.quantity)
    if verdict.verdict not in ("unknown", "inconclusive") or metric is None:
        return ""
    if trial.published:
        return _MEASURE
    if trial.emulated or trial.status == "unsupported":
        return ""
    if trial.status in ("not_run", "failed"):
        return "--resume"
    if verdict.verdict == "unknown":
        return metric.brought_by
    if metric.is_power or metric.rail:
        return _of_power(trial, verdict, metric)
    if metric.judged == "boot":
        return metric.brought_by
    if metric.judged in ("accuracy", "accuracy drop"):
        return _of_images(trial, verdict)
    if isinstance(metric.judged, Sampled):
        return _of_sessions(metric.judged.values(trial), verdict, metric)
    return _more_sessions(None, len(trial.latency_values)) if metric.judged in _COUNTED else ""


_COUNTED = ("failures", "deadlines", "storage")
"""Decided by the number of sessions, in a way that is not foretold."""


def _of_power(trial: TrialSummary, verdict: Verdict, metric: Metric) -> str:
    """A meter of all of the board, a faster one, or sessions."""
    rail = trial.primary_rail
    if verdict.declared or rail is None:
        return "--meter KIND"
    if rail.scope not in WIDE_SCOPES:
        return "--meter KIND that sees all of the board"
    is_peak = verdict.quantity == "power_peak_w"
    if rail.uncovered or (is_peak and rate_objection(rail, verdict.averaging_s)):
        return "--meter KIND that is faster and leaves no gap"
    if is_peak or not metric.rail_sessions:
        return _more_sessions(None, len(rail.mean_w_sessions))
    return _of_sessions([[value] for value in getattr(rail, metric.rail_sessions)], verdict, metric)


def _of_images(trial: TrialSummary, verdict: Verdict) -> str:
    """So many labelled images that Wilson's interval around the same share leaves the limit out."""
    more = "more images (--images DIR|CSV)"
    if verdict.quantity != "accuracy" or trial.accuracy is None or isinstance(verdict.limit, tuple):
        return more
    share = trial.accuracy.k / trial.accuracy.n
    limit = verdict.limit * METRICS[verdict.quantity].units[verdict.unit]
    n = trial.accuracy.n
    while n <= MOST_IMAGES:
        low, high = wilson(round(share * n), n)
        if not low < limit <= high:
            return f"some {_rounded_up(n)} images (--images DIR|CSV)"
        n = math.ceil(1.1 * n)
    return ""


def _rounded_up(n: int) -> int:
    """To two digits."""
    step = int(10 ** max(0, len(str(n)) - 2))
    return math.ceil(n / step) * step


def _of_sessions(values: Sequence[Sequence[float]], verdict: Verdict, metric: Metric) -> str:
    """So many sessions as the spread between those so far foretells."""
    sessions = [session for session in values if session]
    limit = verdict.limit
    if verdict.statistic != "median" or isinstance(limit, tuple):
        return _of_tail(sessions, verdict.statistic)
    limit *= metric.units[verdict.unit]
    medians = session_medians(sessions)
    if len(medians) < 2 or min(medians) <= 0 or limit <= 0:
        return _more_sessions(None, len(medians))
    needed = forecast(medians, max(MIN_SESSIONS, len(medians)), limit=limit).sessions_needed
    if needed is None:
        return f"more than {MOST_SESSIONS} sessions: the figure lies on the limit"
    return _more_sessions(max(needed, len(medians) + 1), len(medians))


def _of_tail(sessions: Sequence[Sequence[float]], statistic: str) -> str:
    """More values, where a percentile or a maximum takes more than there are; else more sessions."""
    least = least_n(PERCENTILES.get(statistic, _NEARLY_ALL))
    longest = max(map(len, sessions), default=0)
    if len(sessions) < MIN_SESSIONS or sum(map(len, sessions)) >= least or longest < 2:
        return _more_sessions(None, len(sessions))
    passes = math.ceil(least / len(sessions))
    return f"{passes} passes a session (--passes {passes})"


def _more_sessions(needed: int | None, so_far: int) -> str:
    """`some 12 sessions (--sessions 12)`; without a forecast the fewest that could do."""
    if needed is None:
        least = max(MIN_SESSIONS, so_far + 1)
        return f"more sessions (--sessions {least} or more)"
    return f"some {needed} sessions (--sessions {needed})"
