"""Where a figure is drawn: in a figure of its own, in one that is handed in, or in axes of the caller's."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase

from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import drawing
from edgebench.stats.interval import Interval

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
        handles: dict[str, Artist] = {}
        for axes in self.axes:
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)
        self.legend_of(list(handles.values()), title)

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
    figure = _pyplot_figure() if ax is None else ax
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


def _pyplot_figure() -> Figure:
    from matplotlib import pyplot  # here, so that a report, which hands its figures in, starts without it

    return pyplot.figure()


def say_empty(axes: Axes, reason: str) -> None:
    """Axes without anything to draw say why."""
    axes.set_axis_off()
    axes.annotate(reason, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", color=drawing.QUIET)


def by_target(summaries: Sequence[TrialSummary]) -> dict[str, list[TrialSummary]]:
    """The trials of each target, for as many targets as one figure draws."""
    panels: dict[str, list[TrialSummary]] = {}
    for summary in summaries:
        panels.setdefault(summary.target, []).append(summary)
    return dict(list(panels.items())[: drawing.MAX_PANELS])


def title_panel(axes: Axes, title: str, panels: int) -> None:
    """What a panel shows, above it, where there is more than one."""
    if panels > 1:
        set_title(axes, "\n".join(textwrap.wrap(drawing.label(title), _PANEL_TITLE)))


def set_title(axes: Axes, title: str) -> None:
    """A line above a panel, whose text has gone through `drawing.label`."""
    axes.set_title(title, loc="left", parse_math=False)


def ends_of(figure: Interval | None) -> list[float]:
    """A figure and the ends of its interval, as far as it has any."""
    if figure is None:
        return []
    return [end for end in (figure.low, figure.median, figure.high) if end is not None]


def error_bars(figure: Interval) -> list[list[float]] | None:
    """Distances below and above the median, [2][1], as errorbar takes them; None without an interval."""
    if figure.low is None or figure.high is None:
        return None
    return [[max(0.0, figure.median - figure.low)], [max(0.0, figure.high - figure.median)]]


def bars_note(figures: Sequence[Interval | None], text: str) -> str:
    """What the bars are, as a second line of an axis's name; empty where no figure has an interval."""
    has_any = any(figure is not None and figure.low is not None for figure in figures)
    return f"\n{text}" if has_any else ""
