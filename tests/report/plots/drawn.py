"""What a figure shows, read back from its artists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from edgebench.report.plots import drawing

HOSTILE = "$\\frac{1}$ <b>&_x 漢字"


def figure_of(all_axes: Sequence[Axes]) -> Figure:
    """The figure that a plot made."""
    figure = all_axes[0].get_figure(root=True)
    assert figure is not None
    return figure


def svg_of(all_axes: Sequence[Axes]) -> bytes:
    """A plot as SVG."""
    return drawing.as_bytes(figure_of(all_axes), "svg", outlined=False)


def is_a(artist: Artist, kind: str) -> bool:
    """Whether `drawing.mark` has called it so."""
    return str(artist.get_gid()).rpartition("-")[0] == kind


def lines_of(axes: Axes, kind: str) -> list[Line2D]:
    """The lines of one kind."""
    return [line for line in axes.lines if is_a(line, kind)]


def points(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    """What is drawn, by the legend's names: (x, y) of every marker."""
    points_by_name: dict[str, list[tuple[float, float]]] = {}
    for line in lines_of(axes, "trial"):
        places = np.column_stack(line.get_data()).tolist()
        points_by_name.setdefault(str(line.get_label()), []).extend((x, y) for x, y in places)
    return points_by_name


def bars(axes: Axes) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Every bar of an interval, by x and y of its ends."""
    segments = [
        np.asarray(segment).tolist()
        for drawn in axes.collections
        if isinstance(drawn, LineCollection)
        for segment in drawn.get_segments()
    ]
    return [((x0, x1), (y0, y1)) for (x0, y0), (x1, y1) in segments]


def heights(axes: Axes) -> list[tuple[float, float]]:
    """Both ends of every upright bar of an interval."""
    return [ends for (left, right), ends in bars(axes) if left == right]


def texts(figure: Figure) -> set[str]:
    """All that stands in the axes and legends."""
    return {text.get_text() for axes in figure.axes for text in axes.texts} | {
        text.get_text() for legend in figure.legends for text in legend.get_texts()
    }
