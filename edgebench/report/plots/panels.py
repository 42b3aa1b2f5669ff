"""Where a plot is drawn: in a figure of its own, in one that is handed in, or in axes of the caller's.

And what a page shows of it: the drawing, its caption, and the words for those who cannot see it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.lines import Line2D

from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import drawing, notes, words
from edgebench.stats.interval import Interval

T = TypeVar("T")
Place = Axes | Sequence[Axes] | FigureBase | None
"""None: a new figure of pyplot's, which a notebook shows once and `plt.show()` opens. A figure (or a part of
one): it is filled, and sized where it is a whole one; nothing but the caller holds it. Axes: they are drawn
into, one for each panel."""

_PANEL_TITLE = 24  # characters of a target's name in a line above its panel
LONGEST_NAME = 24  # characters of a name beside a row of one of two panels


@dataclass(frozen=True)
class Panels:
    """The axes of one figure.

    Attributes:
        axes: one a panel, and at least one.
        figure: what holds them and nothing else; None where the axes are the caller's.
    """

    axes: list[Axes]
    figure: FigureBase | None

    def legend(self, title: str) -> None:
        """One legend for all panels, each name once."""
        handles = words.grouped(
            (name, handle)
            for axes in self.axes
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
        )
        self.legend_of([first for first, *_ in handles.values()], title)

    def legend_of(self, handles: Sequence[Artist], title: str) -> None:
        """A legend of these artists by their labels: beside the panels, or within the caller's last axes."""
        if not handles:
            return
        names = [str(handle.get_label()) for handle in handles]
        if self.figure is None:
            self.axes[-1].legend(handles, names, title=title, fontsize=8.5)
        else:
            self.figure.legend(handles, names, title=title, loc="outside right upper", alignment="left")


def open_panels(
    ax: Place,
    count: int,
    *,
    width: float = 7.6,
    height: float | Sequence[float] = 3.6,
    columns: int | None = None,
    share_x: bool = False,
) -> Panels:
    """Axes for `count` panels in the look of the reports; one where there is nothing to draw.

    Args:
        ax: where to.
        count: panels.
        width: of a whole figure, in inches.
        height: of each row, in inches, or one for every row.
        columns: panels beside each other; two where there are several, unless said.
        share_x: whether all panels have one level axis.

    Raises ValueError where fewer axes are handed in than there are panels.
    """
    count = max(1, count)
    if isinstance(ax, Axes) or not isinstance(ax, FigureBase | None):
        own = [ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, dtype=object)))
        if len(own) < count:
            raise ValueError(
                f"the figure has {count} panels and ax holds {len(own)} axes: "
                f"hand in {count} of them, a figure, or trials of fewer targets"
            )
        for axes in own[:count]:
            drawing.dress(axes)
        return Panels(own[:count], None)
    columns = columns or (1 if count == 1 else 2)
    rows = math.ceil(count / columns)
    heights = [height] * rows if isinstance(height, float | int) else list(height)
    if ax is None:
        from matplotlib import pyplot  # here, so that a report, which hands its figures in, starts without it

        ax = pyplot.figure()
    figure = ax
    if isinstance(figure, Figure):
        figure.set_size_inches(width, sum(heights))
        figure.set_layout_engine("constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share_x, height_ratios=heights)
    flat: list[Axes] = [axes for row in grid for axes in row]
    for unused in flat[count:]:
        unused.remove()
    for axes in flat[:count]:
        drawing.dress(axes)
    return Panels(flat[:count], figure)


def draw_panels(
    ax: Place,
    panels: Sequence[tuple[str, T]],
    draw: Callable[[Axes, T], None],
    empty: str,
    legend: str | Callable[[Panels], object] = "",
    **layout: Any,
) -> list[Axes]:
    """A panel for each title and what stands under it, drawn by `draw`; titled where there are several.

    Args:
        ax: where to draw.
        panels: titles of outside text, empty where `draw` sets one.
        draw: draws one of them into its axes.
        empty: what the axes say where there is no panel.
        legend: the title of one legend for all panels, or what draws it; "" for no legend.
        layout: see `open_panels`.
    """
    with drawing.style():
        opened = open_panels(ax, len(panels), **layout)
        if not panels:
            axes = opened.axes[0]
            axes.set_axis_off()
            axes.annotate(
                empty, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", color=drawing.QUIET
            )
            return opened.axes
        for axes, (title, shown) in zip(opened.axes, panels, strict=False):
            draw(axes, shown)
            if title and len(panels) > 1:
                set_title(axes, "\n".join(textwrap.wrap(drawing.label(title), _PANEL_TITLE)))
        if callable(legend):
            legend(opened)
        elif legend:
            opened.legend(legend)
    return opened.axes


def by_target(summaries: Sequence[TrialSummary]) -> list[tuple[str, list[TrialSummary]]]:
    """The trials of each target, for as many targets as one figure draws."""
    return list(notes.by_target(summaries).items())[: drawing.MAX_PANELS]


def name_rows(axes: Axes, names: Sequence[str], limit: int = LONGEST_NAME, **text: Any) -> None:
    """Names beside the rows of a panel, the first on top; `text` are properties of matplotlib's Text."""
    drawing.name_ticks(axes.yaxis, range(len(names)), names, limit, **text)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def write_behind(axes: Axes, end: float, row: float, text: str) -> None:
    """A figure behind the end of its bar."""
    shown = axes.annotate(text, (end, row), xytext=(4, -3), textcoords="offset points", fontsize=8)
    shown.set_in_layout(False)  # the axis has room for it


def set_title(axes: Axes, title: str) -> None:
    """A line above a panel, whose text has gone through `drawing.label`."""
    ticks = axes.yaxis.get_major_formatter()
    ticks.set_locs(axes.yaxis.get_majorticklocs().tolist())
    # Only above an axis's offset, such as 1e6, has matplotlib to find the place of a title, which takes long.
    axes.set_title(title, loc="left", y=None if ticks.get_offset() else 1.0, parse_math=False)


def ends_of(figure: Interval | None) -> list[float]:
    """A figure and the ends of its interval, as far as it has any."""
    if figure is None:
        return []
    return [end for end in (figure.low, figure.median, figure.high) if end is not None]


def bar_ends(figure: Interval) -> list[tuple[float, float]]:
    """The ends of an interval, as one bar; none where there is no interval."""
    return [] if figure.low is None or figure.high is None else [(figure.low, figure.high)]


def draw_point(
    axes: Axes,
    at: tuple[float, float],
    *bars: tuple[Sequence[float], Sequence[float]],
    colour: str,
    marker: str,
    label: str = "",
) -> Line2D:
    """A marker with bars, each by its two ends; `errorbar` takes three times as long for one."""
    for x, y in bars:
        axes.add_line(Line2D(x, y, color=colour, linewidth=1.2))
    [point] = axes.plot([at[0]], [at[1]], marker=marker, color=colour, markersize=6, linestyle="")
    if label:
        point.set_label(drawing.label(label))
    return point


def bars_note(figures: Sequence[Interval | None], text: str) -> str:
    """What the bars are, as a second line of an axis's name; empty where no figure has an interval."""
    has_any = any(figure is not None and figure.low is not None for figure in figures)
    return f"\n{text}" if has_any else ""


@dataclass(frozen=True)
class Picture:
    """A plot as a page shows it; where nothing is drawn, the caption says why.

    Attributes:
        caption: what stands below it.
        alt: the words for those who cannot see it.
        figure: what is drawn; None where nothing is.
        is_photograph: whether the figure is shown as JPEG.
    """

    caption: str
    alt: str = ""
    figure: Figure | None = None
    is_photograph: bool = False


MOST_IN_WORDS = 30
"""Panels and marks of a plot that stand in the words for those who cannot see it."""


def picture(
    draw: Callable[..., object], what: str, *caption: str, panels: int = 1, noun: str = "target"
) -> Picture:
    """What `draw` draws on `ax`, with its words: those of the marks in it are for those who cannot see it.

    Args:
        draw: a plot that takes nothing but where to draw.
        what: is drawn.
        caption: sentences; empty ones are left out.
        panels: of the plot; where more than are drawn, the caption says so.
        noun: what a panel shows.
    """
    figure = drawing.blank()
    draw(ax=figure)
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if not axis.label.get_text():  # else it is placed behind the names of all ticks, each time anew
            axis.set_label_coords(0, 0)
    more = (
        f"The first {drawing.MAX_PANELS} of {panels} {noun}s are drawn; the tables hold all."
        if panels > drawing.MAX_PANELS
        else ""
    )
    titles = (axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes)
    marked = "; ".join([*filter(None, titles), *drawing.tooltips(figure).values()][:MOST_IN_WORDS])
    alt = f"{what}: {marked}" if marked else what
    return Picture(" ".join(filter(None, [*caption, more])), alt, figure)


def not_drawn(count: int, why: str) -> str:
    """` Not drawn: 3 trials without energy.`; empty where every trial is drawn."""
    return f"Not drawn: {words.counted(count, 'trial')}{why}." if count > 0 else ""
