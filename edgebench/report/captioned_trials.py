"""The figures that hold trials against each other, and each against itself over time, with their captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.picture import Picture, embedded_picture, limits_note
from edgebench.report.plots.limit_lines import limit_lines
from edgebench.report.plots.memory import memory, with_memory
from edgebench.report.plots.sessions import (
    LEAST_FOR_P90,
    drawn_trials,
    is_hot,
    is_thinned,
    sessions,
)
from edgebench.report.plots.targets import MAX_ROWS, quickest_first, ratios_to_quickest, targets
from edgebench.stats.intervals import session_medians


def targets_picture(summaries: Sequence[TrialSummary], limits: Mapping[str, float]) -> Picture:
    """All targets on one axis, with the ratio to the quickest.

    `limits` are of the time that is drawn, in seconds, by profile.
    """
    rows = quickest_first(summaries)
    if not rows:
        return Picture("", "", "There is no figure of all targets on one axis: no trial has a time.")
    names, ratio_of = tables.trial_names(rows), ratios_to_quickest(rows)
    timed = words.alike_timed(summaries)
    caption = f"Median {words.latency_names(rows)} of each trial, the quickest on top, and its ratio to that"
    if any(ratio.low is not None for ratio in ratio_of.values()):
        caption += " with its 95 % interval over both trials' session medians (Welch, on the logarithm)"
    caption += "."
    if any(ratio.low is None for ratio in ratio_of.values()):
        caption += " A ratio without an interval: published, or too few sessions."
    figures = [summary.latency.median for summary in rows if summary.latency is not None]
    caption += limits_note(limit_lines(limits, figures), "s")
    if len(rows) < len(timed):
        kept = "the quickest of each target" + (f", the first {MAX_ROWS}" if len(rows) == MAX_ROWS else "")
        caption += f" Drawn of {words.counted(len(timed), 'trial')}: {kept}."
    alt = f"{words.latency_names(rows)} from the quickest to the slowest: " + "; ".join(
        f"{names[summary.key]} {words.interval(summary.latency)} s"
        + (f", {ratio_of[summary.key].text} times the quickest" if summary.key in ratio_of else "")
        for summary in rows
    )
    figure = drawing.blank()
    targets(summaries, limits, ax=figure)
    return embedded_picture(figure, alt, caption, 1)


def sessions_picture(summaries: Sequence[TrialSummary]) -> Picture:
    """Sessions and passes in time order."""
    shown = drawn_trials(summaries)
    if not shown:
        return Picture("", "", "There is no figure of sessions and passes: no trial has passes.")
    names = tables.trial_names(shown)
    quantity = words.latency_names(shown)
    caption = (
        f"Every session's steady passes in time order, {quantity} as a share of the trial's median, "
        f"with each session's minimum and median, and its p90 from {LEAST_FOR_P90} passes. A strip that "
        "rises became slower while it ran; triangles at the upper edge stand for passes above the axis."
    )
    hot = [names[summary.key] for summary in shown if is_hot(summary)]
    if hot:
        caption += f" Throttling is suspected of {words.listed(hot)}."
    if is_thinned(shown):
        caption += " Of long sessions the lowest and the highest pass of each part are drawn."
    able = len([summary for summary in words.alike_timed(summaries) if any(map(len, summary.latency_values))])
    if able > len(shown):
        caption += f" {len(shown)} of {words.counted(able, 'trial')} are drawn, some of every target."
    alt = f"{quantity} of the sessions, lowest and highest median: " + "; ".join(
        f"{names[summary.key]} {_medians(summary)}" for summary in shown[:30]
    )
    figure = drawing.blank()
    sessions(summaries, ax=figure)
    return embedded_picture(figure, alt, caption, 1)


def _medians(summary: TrialSummary) -> str:
    medians_s = session_medians(summary.latency_values)
    if len(medians_s) == 1:
        return f"{words.number(medians_s[0])} s in one session"
    return (
        f"{words.number(min(medians_s))} to {words.number(max(medians_s))} s "
        f"in {words.counted(len(medians_s), 'session')}"
    )


def memory_picture(summaries: Sequence[TrialSummary]) -> Picture | None:
    """Memory by variant; None where no trial has a peak."""
    shown = with_memory(summaries)
    if not any(summary.memory_bytes for summary in shown):
        return None
    names = tables.trial_names(shown)
    caption = (
        "Peak memory while each trial ran, mean over the sessions, and the size of what its runtime loads"
    )
    if any(len(summary.memory_bytes_values) > 1 for summary in shown):
        caption += "; thin bars reach from the lowest to the highest session"
    without = sum(summary.memory_bytes is None for summary in shown)
    caption += "." + (f" Without a peak: {words.counted(without, 'trial')}." if without else "")
    alt = "Memory: " + "; ".join(
        f"{names[summary.key]} peak {words.size(summary.memory_bytes)}, "
        f"file {words.size(summary.artifact_bytes)}"
        for summary in shown[:30]
    )
    figure = drawing.blank()
    memory(summaries, ax=figure)
    return embedded_picture(figure, alt, caption, len({summary.target for summary in shown}))
