"""A figure of the values of sessions, with the bounds within which it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgebench.judge.figure import Certainty, Figure
from edgebench.stats.intervals import (
    CONFIDENCE,
    interval_reason,
    mean_interval,
    mean_over_sessions,
    resemblance,
    session_medians,
)
from edgebench.stats.percentiles import least_n, percentile_over_sessions, unseen_stall

PERCENTILES: Mapping[str, float] = {"p90": 0.9, "p99": 0.99}

NEARLY_ALL = 0.99
"""A maximum speaks for this share of all values: no finite number of them speaks for the rest."""

SPEAKS_FOR_ALL = least_n(NEARLY_ALL)
"""With fewer values not even the highest of independent ones bounds that share, at 95 % confidence."""


STATED = Certainty(CONFIDENCE, CONFIDENCE)
"""The 95 % of whatever is reported."""


def over_values(
    values_by_session: Sequence[Sequence[float]], of: str, statistic: str, certainty: Certainty = STATED
) -> Figure:
    """A statistic of values with its bounds over sessions: median, max or one of PERCENTILES.

    Args:
        values_by_session: at least one value.
        of: what the values are, in the plural.
        statistic: which one.
        certainty: how sure the bounds have to be.
    """
    if statistic == "median":
        return over_medians(session_medians(values_by_session), certainty)
    if statistic == "max":
        return largest(values_by_session, of, certainty)
    return over_percentile(values_by_session, statistic, certainty)


def over_medians(medians: Sequence[float], certainty: Certainty = STATED) -> Figure:
    """The mean of one number a session with its interval; at least one is there."""
    if few := interval_reason(len(medians)):
        return Figure(float(mean_over_sessions(np.array(medians))), reason=few)
    value, low, high = map(float, mean_interval(np.array(medians), certainty.interval))
    return Figure(value, low, high, note=resemblance(medians))


def quantity_of(worker: Mapping[str, Any]) -> str:
    """The time that a worker's medians are of: `image_s`, or `infer_s` where it times nothing else."""
    return "image_s" if worker["image_s"] else "infer_s"


def naming_slowest(workers: Sequence[Mapping[str, Any]], number: int, variant: str) -> str:
    """The note of a figure of the slowest of these workers: which one it is."""
    return f"the slowest of {len(workers)} workers is worker {number}, {variant}"


def over_workers(workers: Sequence[Mapping[str, Any]], quantity: str, certainty: Certainty) -> Figure | None:
    """The median of the slowest of several workers, named; bounds that hold for all of them at once.

    None where one of them has no such times.

    Args:
        workers: each a WorkerSummary as plain data, at least one.
        quantity: `image_s`, or `infer_s` of workers that time nothing else.
        certainty: how sure the bounds have to be.
    """
    if any(not worker["medians_s"] or quantity_of(worker) != quantity for worker in workers):
        return None
    sure = Certainty(1 - (1 - certainty.interval) / len(workers), certainty.bound)
    figures = [over_medians(worker["medians_s"], sure) for worker in workers]
    at = max(range(len(figures)), key=lambda place: figures[place].value or 0.0)
    note = naming_slowest(workers, workers[at]["worker"], workers[at]["variant"])
    if reason := next((figure.reason for figure in figures if figure.reason), ""):
        return Figure(figures[at].value, reason=reason, note=note)
    low, high = (max(getattr(figure, end) for figure in figures) for end in ("low", "high"))
    return Figure(figures[at].value, low, high, note=note)


def over_percentile(
    values_by_session: Sequence[Sequence[float]], statistic: str, certainty: Certainty = STATED
) -> Figure:
    """One of PERCENTILES with its bounds over sessions; p99 without an upper one where a stall may be unseen.

    A stall of 30 % of sessions reaches p90 over all sessions only where a third of their passes stall.
    """
    percentile = percentile_over_sessions(values_by_session, PERCENTILES[statistic], certainty.bound)
    if percentile.value is None:
        return Figure(undecided=True, reason=percentile.reason)
    # Passes of one session share its luck: bounds from too few sessions would be too narrow.
    if few := interval_reason(len(values_by_session)):
        return Figure(percentile.value, reason=few)
    if statistic == "p99" and (stall := unseen_stall(len(values_by_session))):
        return Figure(percentile.value, percentile.low, reason=stall)
    return Figure(percentile.value, percentile.low, percentile.high)


def largest(values_by_session: Sequence[Sequence[float]], of: str, certainty: Certainty = STATED) -> Figure:
    """The maximum with what speaks for all: at most 1 % of all values are above the upper bound.

    The maximum itself is the lower bound, since a single value above a limit breaks it. The upper one is that
    of the 99th percentile where sessions differ (`percentile_over_sessions`), and never below the maximum:
    where sessions differ, the highest value speaks for those that were measured, and for no other. There is
    none below the sessions that show a stall of some sessions (`unseen_stall`).

    Args:
        values_by_session: at least one value; sessions without any do not count.
        of: what they are, in the plural.
        certainty: how surely the upper bound has to hold.
    """
    sessions = [values for values in values_by_session if values]
    count = sum(len(values) for values in sessions)
    top = max(max(values) for values in sessions)
    what = f"the highest of {count} {of}"
    bound = percentile_over_sessions(sessions, NEARLY_ALL, certainty.bound).high
    few = interval_reason(len(sessions)) or ("" if bound is not None else too_few(count, of))
    reason = few or unseen_stall(len(sessions))
    if reason or bound is None:
        return Figure(top, low=top, reason=reason, what=what)
    note = f"at most 1 % of all {of} lie above the upper bound, with 95 % confidence"
    return Figure(top, low=top, high=max(top, bound), what=what, note=note)


def too_few(n: int, of: str) -> str:
    """Why a maximum of n values passes no limit."""
    return f"none exceeds the limit, but {n} {of} cannot speak for all: a maximum takes {SPEAKS_FOR_ALL}"
