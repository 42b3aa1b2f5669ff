"""Statistics over sessions, with the interval within which they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgebench.judge.trial import STATED, Certainty, Estimate
from edgebench.stats.intervals import (
    interval_reason,
    mean_interval,
    mean_over_sessions,
    resemblance,
    session_medians,
)
from edgebench.stats.percentiles import least_n, percentile_over_sessions, unseen_stall

PERCENTILES: Mapping[str, float] = {"p90": 0.9, "p99": 0.99}

NEARLY_ALL = 0.99
"""Share of all values for which a maximum speaks: no finite number of them speaks for the rest."""

SPEAKS_FOR_ALL = least_n(NEARLY_ALL)
"""Values below which not even the highest of independent ones bounds that share, at 95 % confidence."""

Sessions = Sequence[Sequence[float]]


def over_values(values: Sessions, noun: str, statistic: str, certainty: Certainty = STATED) -> Estimate:
    """Estimate of a statistic of values by session: median, max or one of PERCENTILES.

    Args:
        values: one sequence per session, at least one value.
        noun: the values, in the plural.
        statistic: statistic to estimate.
        certainty: confidence of the ends.
    """
    if statistic == "max":
        return _largest(values, noun, certainty)
    if statistic in PERCENTILES:
        return _percentile(values, statistic, certainty)
    return over_medians(session_medians(values), certainty, n=sum(map(len, values)))


def over_medians(medians: Sequence[float], certainty: Certainty = STATED, **fields: Any) -> Estimate:
    """Mean of one number per session with its interval over sessions; at least one number is there."""
    fields = {"sessions": tuple(medians), "n": len(medians), **fields}
    if few := interval_reason(len(medians)):
        return Estimate(float(mean_over_sessions(np.array(medians))), reason=few, **fields)
    value, low, high = map(float, mean_interval(np.array(medians), certainty.interval))
    return Estimate(value, low, high, **fields).with_notes(resemblance(medians))


def _percentile(values: Sessions, statistic: str, certainty: Certainty) -> Estimate:
    """One of PERCENTILES; p99 without an upper end where a stall of some sessions may be unseen.

    A stall of 30 % of sessions reaches p90 over all sessions only where a third of their passes stall.
    """
    percentile = percentile_over_sessions(values, PERCENTILES[statistic], certainty.bound)
    value, n = percentile.value, sum(map(len, values))
    if value is None:
        return Estimate(n=n, reason=percentile.reason)
    # Passes of one session share its luck: bounds from too few sessions would be too narrow.
    if few := interval_reason(len(values)):
        return Estimate(value, n=n, reason=few)
    if statistic == "p99" and (stall := unseen_stall(len(values))):
        return Estimate(value, percentile.low, n=n, reason=stall)
    return Estimate(value, percentile.low, percentile.high, n=n)


def _largest(values: Sessions, noun: str, certainty: Certainty) -> Estimate:
    """Maximum with an upper end that at most 1 % of all values exceed.

    The maximum itself is the lower end, since a single value above a limit breaks it. The upper end is that
    of the 99th percentile where sessions differ (`percentile_over_sessions`), and never below the maximum.
    It is missing below the sessions that show a stall of some sessions (`unseen_stall`).
    """
    sessions = [session for session in values if len(session)]
    n, top = sum(map(len, sessions)), float(max(map(max, sessions)))
    bound = percentile_over_sessions(sessions, NEARLY_ALL, certainty.bound).high
    few = interval_reason(len(sessions)) or ("" if bound is not None else too_few(n, noun))
    highest = f"the highest of {n} {noun}"
    if reason := few or unseen_stall(len(sessions)):
        return Estimate(top, top, n=n, reason=reason).with_notes(highest)
    share = f"at most 1 % of all {noun} lie above the upper bound, with 95 % confidence"
    return Estimate(top, top, max(top, bound or top), n=n).with_notes(highest, share)


def too_few(n: int, noun: str) -> str:
    """Reason why a maximum of n values passes no limit."""
    return f"none exceeds the limit, but {n} {noun} cannot speak for all: a maximum takes {SPEAKS_FOR_ALL}"
