"""The headline statistic and its interval: Student's t over session medians.

Values within a session share its process, its placement and its heat, so they are not independent: a
bootstrap over all of them claims 95 % and covers far less. Sessions are the independent unit, hence one
number a session.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from edgebench.fit.types import Interval

CONFIDENCE = 0.95
MIN_SESSIONS = 3
"""Two sessions have one degree of freedom (t = 12.7): their interval says nothing, so none is given."""


def session_medians(values_by_session: Sequence[Sequence[float]]) -> list[float]:
    """The median of each session that has values, in order.

    Raises ValueError for a value that is not finite: a missing figure is left out, never a NaN.
    """
    medians: list[float] = []
    for values in values_by_session:
        array = np.asarray(values, dtype=np.float64)
        if not np.isfinite(array).all():
            raise ValueError("a session holds a value that is not finite")
        if array.size:
            medians.append(float(np.median(array)))
    return medians


def session_interval(values_by_session: Sequence[Sequence[float]]) -> Interval:
    """Mean of the session medians with Student's t interval, K - 1 degrees of freedom, 95 %.

    Args:
        values_by_session: one sequence a session, any unit; sessions without a value do not count.

    Returns:
        The interval in the values' unit; low and high are None below MIN_SESSIONS sessions
        (see `interval_reason`).

    Raises ValueError when no session has a value, or one is not finite.
    """
    medians = session_medians(values_by_session)
    if not medians:
        raise ValueError("no session has a value")
    sessions = len(medians)
    count = sum(len(values) for values in values_by_session)
    # Taken from the first, so that equal sessions give exactly their value and no width.
    centre = medians[0] + math.fsum(value - medians[0] for value in medians) / sessions
    if sessions < MIN_SESSIONS:
        return Interval(centre, None, None, sessions, count)
    deviation = math.sqrt(math.fsum((value - centre) ** 2 for value in medians) / (sessions - 1))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, sessions - 1)) * deviation / math.sqrt(sessions)
    return Interval(centre, centre - half, centre + half, sessions, count)


def interval_reason(sessions: int) -> str:
    """Why an interval over that many sessions has no bounds; empty when it has."""
    if sessions >= MIN_SESSIONS:
        return ""
    counted = "1 session is" if sessions == 1 else f"{sessions} sessions are"
    return f"{counted} too few for an interval, which takes at least {MIN_SESSIONS}"
