"""Accuracy against energy an image: a panel for what the meters see."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from edgebench.fit.power_metrics import rail_interval
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, words
from edgebench.report.plots.against_accuracy import Point, draw_against_accuracy, point_label
from edgebench.report.plots.panels import Place
from edgebench.report.plots.series import series_of

_LEAST_NET = 0.1
"""Of the gross energy: less is next to nothing, and would squeeze the figure on a logarithmic axis."""


def energy(summaries: Sequence[TrialSummary], *, ax: Place = None) -> list[Axes]:
    """Top-1 on the images against energy an image; hollow: above that of the idle device.

    Colours are precisions where all trials are of one target, else targets.

    Args:
        summaries: trials; those without accuracy or energy of their primary rail are left out.
        ax: where to draw, a panel a scope: meters of different scopes do not compare.
    """
    panels = dict(list(energy_panels(summaries).items())[: drawing.MAX_PANELS])
    return draw_against_accuracy(
        panels, "energy an image", "J", "over sessions and samples", series_of(summaries)[0], ax
    )


def energy_panels(summaries: Sequence[TrialSummary]) -> dict[str, list[Point]]:
    """The points of each scope, by what its meters see."""
    kind, series = series_of(summaries)
    names = words.labels(summaries)
    panels: dict[str, list[Point]] = {}
    for summary in summaries:
        rail = summary.primary_rail
        energy_j = None if rail is None else rail_interval(rail, "energy_j")
        if rail is None or energy_j is None or summary.accuracy is None:
            continue
        label = point_label(summary) if kind == "precision" else names[summary.key]
        net = rail.net_energy_j
        if net is not None and net < _LEAST_NET * energy_j.median:
            net = None
        point = Point(summary, energy_j, series[summary.key], label, net)
        panels.setdefault(words.power_of(rail.scope), []).append(point)
    return panels
