"""Panels of a plot, the room around them, the marks in them, and the plot as a page shows it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure, FigureBase
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import Estimate, Trial
from edgebench.report import words
from edgebench.report.plots import drawing

T = TypeVar("T")
Place = Axes | Sequence[Axes] | FigureBase | None
"""None: a new figure of pyplot, which a notebook shows once and `plt.show()` opens. Figure: it is filled, and
sized unless it is a part of another. Axes: one for each panel."""

_PANEL_TITLE = 24  # characters of a target's name in a line above its panel
_NAME = 24  # characters of a name next to a row
_TICKS = 70  # characters of all names below a panel; more are turned
_SIZE = 9.5  # points, of all text that takes room
_LINE = 0.165  # inches that a line of text takes
_TICK = 0.1  # inches of a tick with its space


def draw_panels(
    ax: Place,
    panels: Sequence[tuple[str, T]],
    draw: Callable[[Axes, T], None],
    empty: str,
    legend: str = "",
    *,
    handles: Sequence[Artist] = (),
    width: float | None = None,
    height: float | Sequence[float] = 3.6,
    columns: int | None = None,
    above: float = 0.0,
    right: float = 0.15,
) -> list[Axes]:
    """Draw panels with a common legend; their titles are shown where there are several.

    Args:
        ax: place of the plot.
        panels: title (outside text; empty where `draw` sets one) and content of each panel.
        draw: draws the content of a panel into its axes.
        empty: text in the axes where there is no panel.
        legend: title of the legend; without it and `handles` there is no legend.
        handles: entries of the legend. Default: the labels in the panels, each name once.
        width: width of a whole figure, in inches. Default: 7.6, or 9.6 with three columns.
        height: height of each row, in inches, or one for every row.
        columns: panels side by side. Default: 1, 2, or 3 for more than four panels.
        above: inches that a panel needs above it.
        right: inches that a panel needs to its right.

    Raises:
        ValueError: `ax` holds fewer axes than there are panels.
    """
    columns = columns or (1 if len(panels) < 2 else 2 if len(panels) < 5 else 3)
    with drawing.style():
        all_axes, fig = _open(ax, max(1, len(panels)), columns)
        if not panels:
            all_axes[0].set_axis_off()
            all_axes[0].annotate(
                empty, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", color=drawing.QUIET
            )
            return all_axes
        for axes, (title, shown) in zip(all_axes, panels, strict=True):
            draw(axes, shown)
            if title and len(panels) > 1:
                set_title(axes, drawing.label(title))
        if legend and not handles:
            labelled = (zip(*axes.get_legend_handles_labels(), strict=True) for axes in all_axes)
            handles = list({name: handle for pairs in labelled for handle, name in pairs}.values())
        if fig is None:
            if handles:
                all_axes[-1].legend(handles=handles, title=legend, fontsize=8.5)
            return all_axes
        heights = np.resize(height, math.ceil(len(panels) / columns)).tolist()
        legend_width = 0.0
        if handles:
            fig.legend(handles=handles, title=legend, loc="upper right", alignment="left")
            entries = (str(handle.get_label()) for handle in handles)
            legend_width = 0.65 + _width("\n".join([legend, *entries]))
        if isinstance(fig, Figure):
            fig.set_size_inches(width or (7.6 if columns < 3 else 9.6), sum(heights))
        _lay_out(fig, all_axes, columns, heights, above, right, legend_width)
    return all_axes


def _open(ax: Place, count: int, columns: int) -> tuple[list[Axes], FigureBase | None]:
    """Axes in the look of the reports, and the figure to lay out; None for axes of the caller."""
    if ax is None:
        from matplotlib import pyplot  # reports hand their figures in and start without it

        ax = pyplot.figure()
    if isinstance(ax, FigureBase):
        all_axes = [ax.add_subplot(math.ceil(count / columns), columns, n + 1) for n in range(count)]
    else:
        all_axes = list(np.ravel(np.asarray(ax, dtype=object)))[:count]
        if len(all_axes) < count:
            raise ValueError(
                f"the figure has {count} panels and ax holds {len(all_axes)} axes: "
                f"hand in {count} of them, a figure, or trials of fewer targets"
            )
    for axes in all_axes:
        drawing.dress(axes)
    return all_axes, ax if isinstance(ax, FigureBase) else None


def _lay_out(
    fig: FigureBase,
    all_axes: Sequence[Axes],
    columns: int,
    heights: Sequence[float],
    above: float,
    right: float,
    legend_width: float,
) -> None:
    """Place axes and their names by the lengths of texts; matplotlib would draw everything to measure it."""
    for right_axes, left_axes in list(zip(all_axes[1:], all_axes, strict=False))[::-1]:
        is_new_row = all_axes.index(right_axes) % columns == 0
        if not is_new_row and right_axes.get_ylabel() == left_axes.get_ylabel():
            right_axes.set_ylabel("")
    for upper, lower in zip(all_axes, all_axes[columns:], strict=False):
        if upper.get_xlabel() == lower.get_xlabel():
            upper.set_xlabel("")
    fig_width, fig_height = fig.bbox.size / fig.get_figure(root=True).dpi  # type: ignore[attr-defined]
    # A browser draws texts a little wider than they are computed.
    tick_widths = [1.05 * _width(_tick_texts(axes.yaxis)) + _TICK for axes in all_axes]
    tick_heights = [_tick_height(axes.xaxis) + _TICK for axes in all_axes]
    lefts = [
        0.14 + ticks + _lines(axes.get_ylabel()) for ticks, axes in zip(tick_widths, all_axes, strict=True)
    ]
    belows = [
        0.1 + ticks + _lines(axes.get_xlabel()) for ticks, axes in zip(tick_heights, all_axes, strict=True)
    ]
    tops = [0.12 + above + _lines(axes.get_title(loc="left")) for axes in all_axes]
    column_lefts = [max(lefts[column::columns], default=0.0) for column in range(columns)]
    panel_width = max(0.8, (fig_width - legend_width - sum(column_lefts)) / columns - right)
    scale = fig_height / sum(heights)
    for place, axes in enumerate(all_axes):
        row, column = divmod(place, columns)
        in_row = slice(row * columns, (row + 1) * columns)
        top, below = max(tops[in_row]), max(belows[in_row])
        panel_height = max(0.5, heights[row] * scale - top - below)
        x = sum(column_lefts[: column + 1]) + column * (panel_width + right)
        y = fig_height - scale * sum(heights[:row]) - top - panel_height
        axes.set_position((x / fig_width, y / fig_height, panel_width / fig_width, panel_height / fig_height))
        axes.yaxis.set_label_coords(-(tick_widths[place] + 0.04) / panel_width, 0.5)
        axes.xaxis.set_label_coords(0.5, -tick_heights[place] / panel_height)


def _tick_texts(axis: Axis) -> str:
    if not axis.get_visible() or not axis.axes.axison:
        return ""
    low, high = sorted(axis.get_view_interval())
    places = [place for place in axis.get_majorticklocs().tolist() if low <= place <= high]
    return "\n".join(axis.get_major_formatter().format_ticks(places))


def _tick_height(axis: Axis) -> float:
    texts = _tick_texts(axis)
    if not texts:
        return 0.0
    turned = math.radians(axis.get_major_ticks()[0].label1.get_rotation())
    return _LINE * math.cos(turned) + math.sin(turned) * _width(texts)


def _width(text: str) -> float:
    """Width of the longest line, in inches."""
    return max(drawing.text_width(line, _SIZE) for line in text.split("\n")) / 72


def _lines(text: str) -> float:
    """Height of the lines of a text, in inches."""
    return _LINE * (text.count("\n") + 1) if text else 0.0


def by_target(trials: Sequence[Trial]) -> list[tuple[str, list[Trial]]]:
    """Trials of each target, for as many targets as one figure draws."""
    groups = words.grouped((trial.target, trial) for trial in trials)
    return list(groups.items())[: drawing.MAX_PANELS]


def name_rows(axes: Axes, names: Sequence[str], limit: int = _NAME) -> None:
    """Names next to the rows of a panel, the first on top; a name may have several lines."""
    texts = ["\n".join(drawing.label(line, limit) for line in name.split("\n")) for name in names]
    axes.yaxis.set_ticks(range(len(names)), texts, parse_math=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


def name_places(axes: Axes, names: Sequence[str], limit: int = 32) -> None:
    """Names below the places of a panel from left to right."""
    axes.xaxis.set_ticks(range(len(names)), [drawing.label(name, limit) for name in names], parse_math=False)
    if sum(map(len, names)) > _TICKS:
        axes.tick_params(axis="x", labelrotation=30)
        for tick in axes.get_xticklabels():
            tick.set_horizontalalignment("right")
    axes.grid(visible=False, axis="x")


def set_title(axes: Axes, title: str, width: int = _PANEL_TITLE) -> None:
    """Draw lines of `width` characters above a panel, whose text has gone through `drawing.label`."""
    # With a given place matplotlib does not search for one, which takes long.
    axes.set_title("\n".join(textwrap.wrap(title, width)), loc="left", y=1.0, parse_math=False)


_LINES = ("-", "--", "-.", ":")


def draw_line(axes: Axes, xy: tuple[Any, Any], number: int, name: str, text: str, **look: Any) -> None:
    """Draw a trial's line in the style of its number, with its name in the legend and a tooltip."""
    turn, place = divmod(number, len(drawing.PALETTE))
    [line] = axes.plot(
        *xy,
        color=drawing.PALETTE[place],
        marker=drawing.MARKERS[place],
        markersize=4,
        linewidth=1.3,
        linestyle=_LINES[turn % len(_LINES)],
        label=drawing.label(name, 60),
        **look,
    )
    drawing.mark(line, "trial", text)


@dataclass(frozen=True)
class Point:
    """A marker with bars for its intervals.

    Attributes:
        x, y: place, with the interval along that axis if there is one.
        series: series with its style, named in the legend.
        text: tooltip.
        name: text next to it.
    """

    x: Estimate
    y: Estimate
    series: str
    text: str
    name: str = ""

    @property
    def place(self) -> tuple[float, float]:
        """Place of the marker."""
        return value_of(self.x), value_of(self.y)


# Offsets of names in points, in turn, so that neighbours' names do not overlap.
_NAME_OFFSETS = ((5, 5), (5, -12), (5, 15), (5, -22))
_SAME_PLACE = 0.03  # of the panel
_FILLED: dict[str, Any] = {"markersize": 5}
_OPEN: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none", "markeredgewidth": 1.6}
# A point on another point, such as fp16 on fp32, is seen within it.


def draw_points(axes: Axes, points: Sequence[Point], styles: Mapping[str, tuple[str, str]]) -> None:
    """Draw markers with their bars and names, in colour and marker by series; axes keep their limits."""
    bars, colours = [], []
    for point in points:
        x, y = point.place
        for ends in ([(end, y) for end in ends_of(point.x)], [(x, end) for end in ends_of(point.y)]):
            if ends:
                bars.append(ends)
                colours.append(styles[point.series][0])
    axes.add_collection(LineCollection(bars, colors=colours, linewidths=1.2), autolim=False)
    for point in points:
        colour, marker = styles[point.series]
        look = {"marker": marker, **(_OPEN if marker == drawing.MARKERS[0] else _FILLED)}
        x, y = point.place
        drawn = Line2D([x], [y], color=colour, linestyle="", label=drawing.label(point.series), **look)
        axes.add_artist(drawn)
        drawing.mark(drawn, "trial", point.text)
    named: list[tuple[str, float, float]] = []
    root = axes.get_figure(root=True)
    assert root is not None
    width = 72 * axes.get_position().width * root.get_figwidth()  # points
    for point in sorted((point for point in points if point.name), key=lambda point: point.place[0]):
        across, up = (axes.transScale + axes.transLimits).transform(point.place)
        if any(name == point.name and math.hypot(across - x, up - y) < _SAME_PLACE for name, x, y in named):
            continue  # one name for points on each other, such as fp32 and fp16 of a depth
        right, above = _NAME_OFFSETS[len(named) % len(_NAME_OFFSETS)]
        is_left = across > 0.5 and across + drawing.text_width(point.name, _LABEL) / width > 1.0
        axes.annotate(
            point.name, point.place, xytext=(-right if is_left else right, above),
            ha="right" if is_left else "left", textcoords="offset points", fontsize=_LABEL,
        )  # fmt: skip
        named.append((point.name, across, up))


def ends_of(estimate: Estimate) -> tuple[float, ...]:
    """Ends of an estimate's interval; empty without one."""
    return () if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)


def value_of(estimate: Estimate | None) -> float:
    """Value of an estimate that has one."""
    assert estimate is not None and estimate.value is not None
    return estimate.value


def bars_note(estimates: Iterable[Estimate], note: str = "bars: 95 % intervals") -> str:
    """Explanation of the bars; empty where no estimate has an interval."""
    return note if any(map(ends_of, estimates)) else ""


# Axes of estimates, and the lines of profiles' limits on them.


NEAR = 3.0
"""Factor from every value beyond which a limit is left out, since it would flatten the values."""

_LABEL = 8.5  # points
_LIMIT: dict[str, Any] = {"color": drawing.INK, "linestyle": (0, (5, 3)), "linewidth": 1.1}


@dataclass(frozen=True)
class Scale:
    """Axis of estimates, one scale for all panels, with the limits of profiles.

    Attributes:
        title: label of the axis, with the unit.
        unit: unit of all numbers. An axis in % need not begin at zero.
        estimates: estimates that are drawn; each has a value.
        limits: limit by profile. One that is not above zero or not finite has no line.
    """

    title: str
    unit: str
    estimates: Sequence[Estimate]
    limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def values(self) -> list[float]:
        """Values of the estimates and the ends of their intervals."""
        return [end for estimate in self.estimates for end in (value_of(estimate), *ends_of(estimate))]

    @property
    def lines(self) -> dict[float, list[str]]:
        """Limits that the axis holds, from the lowest, each with the profiles that set it."""
        ordered = sorted(self.limits.items(), key=lambda item: item[1])
        return words.grouped((limit, name) for name, limit in ordered if limit > 0 and self.is_near(limit))

    def is_near(self, limit: float) -> bool:
        """Return True if the axis holds a limit."""
        values = self.values
        return bool(values) and min(values) / NEAR <= limit <= max(values) * NEAR

    @property
    def names_height(self) -> float:
        """Inches above a panel that the names of upright lines take."""
        return _LINE * len(self.lines)

    def draw(self, axes: Axes, which: Literal["x", "y"], *, named: bool = True) -> None:
        """Scale and name an axis, and draw the limits on it, `named` with the profiles' names."""
        values = [*self.values, *self.lines]
        if self.unit == "%":
            low, high = min(values), max(values)
            room = 0.08 * max(1.0, high - low)
            ends = max(0.0, low - room), min(100.5, high + room)
            axes.set(**{f"{which}lim": ends, f"{which}label": self.title})
        else:
            drawing.scale_axis(axes, which, values, self.title, bars_note(self.estimates))
        self.draw_limits(axes, which, named=named)

    def draw_limits(self, axes: Axes, which: Literal["x", "y"], *, named: bool = True) -> None:
        """Draw dashed lines of the limits on an axis that has its scale and ends."""
        for number, (limit, names) in enumerate(self.lines.items()):
            line = axes.axhline(limit, **_LIMIT) if which == "y" else axes.axvline(limit, **_LIMIT)
            drawing.mark(line, "limit", f"{', '.join(names)}: {limit:g} {self.unit}")
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            text = f"{drawing.label(names[0], 26)}: {limit:.4g} {self.unit}{more}"
            if named and which == "y":
                axes.annotate(
                    text,
                    (0.01, limit),
                    xycoords=axes.get_yaxis_transform(),
                    xytext=(0, 2),
                    textcoords="offset points",
                    fontsize=_LABEL,
                    path_effects=[withStroke(linewidth=2.5, foreground="white")],
                )
            elif named:
                place = axes.get_xaxis_transform()
                is_left = float((place - axes.transAxes).transform((limit, 1.0))[0]) < 0.5
                axes.annotate(
                    text,
                    (limit, 1.0),
                    xycoords=place,
                    xytext=(0, 4 + 72 * _LINE * number),
                    textcoords="offset points",
                    fontsize=_LABEL,
                    ha="left" if is_left else "right",
                    annotation_clip=False,
                )


def limits_note(*scales: Scale) -> str:
    """Explanation of the dashed lines, and the limits beyond the axes by name and value."""
    beyond = words.grouped(
        (f"{words.number(limit)} {scale.unit}", words.plain(name, 40))
        for scale in scales
        for name, limit in scale.limits.items()
        if scale.estimates and 0 < limit < math.inf and not scale.is_near(limit)
    )
    far = [f"{words.together(names)} ({limit})" for limit, names in beyond.items()]
    dashed = "Dashed: the profiles' limits." if any(scale.lines for scale in scales) else ""
    outside = f"Limits beyond the axis: {words.listed(far)}." if far else ""
    return " ".join(filter(None, [dashed, outside]))


def latency_scale(trials: Sequence[Trial], limits: Mapping[str, float] | None = None) -> Scale:
    """Axis of the latency of trials that are timed alike; limits are in seconds by profile."""
    title = METRICS[words.latency_names(trials)].titled
    return Scale(title, "s", [trial.latency for trial in trials if trial.latency], limits or {})


@dataclass(frozen=True)
class Picture:
    """A plot as a page shows it.

    Attributes:
        caption: text below it; the reason where nothing is drawn.
        alt: words for those who cannot see it.
        figure: drawing; None where nothing is drawn.
        is_photograph: whether the drawing is shown as JPEG.
    """

    caption: str
    alt: str = ""
    figure: Figure | None = None
    is_photograph: bool = False


MOST_IN_WORDS = 30
"""Most panels and marks of a plot in the words for those who cannot see it."""


def picture(
    draw: Callable[..., object], subject: str, *caption: str, panels: int = 1, noun: str = "target"
) -> Picture:
    """Draw a plot; the tooltips in it are the words for those who cannot see it.

    Args:
        draw: plot that takes `ax` alone.
        subject: subject of the plot.
        caption: sentences; empty ones are left out.
        panels: panels of the plot; the caption counts them where not all are drawn.
        noun: subject of a panel.
    """
    fig = Figure()
    draw(ax=fig)
    more = f"The first {drawing.MAX_PANELS} of {panels} {noun}s are drawn; the tables hold all."
    titles = (axes.get_title(loc="left").replace("\n", " ") for axes in fig.axes)
    marked = "; ".join([*filter(None, titles), *drawing.tooltips(fig).values()][:MOST_IN_WORDS])
    sentences = [*caption, more if panels > drawing.MAX_PANELS else ""]
    return Picture(" ".join(filter(None, sentences)), f"{subject}: {marked}" if marked else subject, fig)


def not_drawn(count: int, why: str) -> str:
    """Sentence on trials that are left out: `Not drawn: 3 trials without energy.`; empty without any."""
    return f"Not drawn: {words.counted(count, 'trial')}{why}." if count > 0 else ""
