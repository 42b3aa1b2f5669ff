"""What few sessions cannot show, whatever their figures look like."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report.words import percent
from edgebench.stats.intervals import MIN_SESSIONS
from edgebench.stats.shape import unseen_mode_share

SELDOM = 0.05
"""What stays unseen in less of all results than an interval misses is not worth a sentence."""


def unseen_modes(summaries: Sequence[TrialSummary]) -> str:
    """One sentence on the fewest sessions of a result; empty where many were measured, or no interval is."""
    counts = [summary.latency.sessions for summary in summaries if summary.latency is not None]
    fewest = min((count for count in counts if count >= MIN_SESSIONS), default=0)
    if not fewest or unseen_mode_share(fewest) < SELDOM:
        return ""
    return (
        f"What {fewest} sessions cannot show: were 3 of 10 starts slower, all {fewest} would be alike in "
        f"{percent(unseen_mode_share(fewest), 0)} of such results."
    )
