"""What the colours and markers of a figure's points stand for."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.fit.trial_summary import TrialSummary


def series_of(summaries: Sequence[TrialSummary]) -> tuple[str, dict[str, str]]:
    """What tells the points of a figure apart, and each trial's, by key: targets where there are several."""
    if len({summary.target for summary in summaries}) > 1:
        return "target", {summary.key: summary.target for summary in summaries}
    return "precision", {summary.key: summary.precision for summary in summaries}
