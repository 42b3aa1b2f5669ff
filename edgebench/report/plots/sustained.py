"""Sustained sessions: a median a minute, a line a trial."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.plots.panels import Place, by_target, open_panels, say_empty, title_panel

_LINES = ("-", "--", "-.", ":")


def sustained(summaries: Sequence[TrialSummary], *, ax: Place = None) -> list[Axes]:
    """The median latency of each minute, a line a trial; means over the sessions of each session's median.

    Args:
        summaries: trials; those that were not sustained are left out.
        ax: where to draw, a panel a target.
    """
    shown = [summary for summary in summaries if summary.sustained is not None and summary.sustained.minutes]
    panels = by_target(shown)
    labels, names = words.labels(shown), tables.trial_names(shown)
    timed = words.latency_names(shown)
    medians = [
        minute.median_s for summary in shown if summary.sustained for minute in summary.sustained.minutes
    ]
    log = drawing.wants_log(medians)
    order = list(dict.fromkeys(labels[summary.key] for summary in shown))
    with drawing.style():
        opened = open_panels(ax, len(panels))
        if not panels:
            say_empty(opened.axes[0], "no trial ran for minutes (--sustained)")
        for axes, (target, group) in zip(opened.axes, panels.items(), strict=False):
            for summary in group:
                assert summary.sustained is not None
                number = order.index(labels[summary.key])
                # A dot stands in the middle of its minute.
                [line] = axes.plot(
                    [minute.minute + 0.5 for minute in summary.sustained.minutes],
                    [minute.median_s for minute in summary.sustained.minutes],
                    color=drawing.PALETTE[number % len(drawing.PALETTE)],
                    linestyle=_LINES[number // len(drawing.PALETTE) % len(_LINES)],
                    marker=drawing.MARKERS[number % len(drawing.MARKERS)],
                    markersize=3.5,
                    linewidth=1.2,
                    label=drawing.label(labels[summary.key]),
                )
                first, last = summary.sustained.minutes[0], summary.sustained.minutes[-1]
                drawing.mark(
                    line,
                    "trial",
                    f"{names[summary.key]}: {timed} {words.number(first.median_s)} s in the first minute, "
                    f"{words.number(last.median_s)} s in the last",
                )
            drawing.scale_axis(axes, "y", medians, log)
            axes.set_xlabel("time in the session, minutes")
            axes.set_ylabel(f"{timed}, median of the minute, s" + (" (log)" if log else ""))
            title_panel(axes, target, len(panels))
        opened.legend("trial")
    return opened.axes
