"""Accuracy against latency: what a quicker model costs in right answers."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.report.plots.against_accuracy import Point, draw_against_accuracy, point_label
from edgebench.report.plots.panels import Place, by_target


def accuracy(summaries: Sequence[TrialSummary], *, ax: Place = None) -> list[Axes]:
    """Top-1 on the images against image_s, or against infer_s where no trial has that.

    Args:
        summaries: trials; those without that latency or accuracy are left out.
        ax: where to draw, a panel a target.
    """
    shown = words.alike_timed([summary for summary in summaries if summary.accuracy is not None])
    panels = {
        target: [
            Point(summary, summary.latency, summary.precision, point_label(summary))
            for summary in group
            if summary.latency is not None
        ]
        for target, group in by_target(shown).items()
    }
    return draw_against_accuracy(
        panels, words.latency_names(shown), "seconds a scene", "over sessions", "precision", ax
    )
