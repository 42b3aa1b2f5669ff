"""The figure of sustained sessions: a median a minute, a line a trial."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, figures, tables, words

_LINES = ("-", "--", "-.", ":")


def minutes_figure(summaries: Sequence[TrialSummary]) -> Figure:
    """The median latency of each minute, a line a trial, a panel a target.

    Args:
        summaries: trials; those that were not sustained are left out.
    """
    shown = [summary for summary in summaries if summary.sustained is not None and summary.sustained.minutes]
    panels = figures.panels_of(shown)
    labels = words.labels(shown)
    medians = [
        minute.median_s for summary in shown if summary.sustained for minute in summary.sustained.minutes
    ]
    log = drawing.wants_log(medians)
    order = list(dict.fromkeys(labels[summary.key] for summary in shown))
    with drawing.style():
        figure, all_axes = drawing.grid(max(1, len(panels)))
        for axes, (target, group) in zip(all_axes, panels.items(), strict=False):
            for summary in group:
                assert summary.sustained is not None
                number = order.index(labels[summary.key])
                # A dot stands in the middle of its minute.
                axes.plot(
                    [minute.minute + 0.5 for minute in summary.sustained.minutes],
                    [minute.median_s for minute in summary.sustained.minutes],
                    color=drawing.PALETTE[number % len(drawing.PALETTE)],
                    linestyle=_LINES[number // len(drawing.PALETTE) % len(_LINES)],
                    marker=drawing.MARKERS[number % len(drawing.MARKERS)],
                    markersize=3.5,
                    linewidth=1.2,
                    label=drawing.label(labels[summary.key]),
                )
            drawing.scale_axis(axes, "y", medians, log)
            axes.set_xlabel("minute of the session")
            timed = words.latency_names(shown)
            axes.set_ylabel(f"{timed}, median of the minute, s" + (" (log)" if log else ""))
            figures.title_panel(axes, target, panels)
        figures.shared_legend(figure, all_axes, "trial")
    return figure


def minutes_words(summaries: Sequence[TrialSummary]) -> str:
    """The figure for those who cannot see it."""
    names = tables.trial_names(summaries)
    shown = [
        (names[summary.key], summary.sustained.minutes)
        for summary in summaries
        if summary.sustained is not None
    ]
    timed = words.latency_names([summary for summary in summaries if summary.sustained is not None])
    return f"Median {timed} of each minute: " + "; ".join(
        f"{name} {words.number(minutes[0].median_s)} s in the first, "
        f"{words.number(minutes[-1].median_s)} s in the last of {words.counted(len(minutes), 'minute')}"
        for name, minutes in shown[:30]
        if minutes
    )
