"""A profile's requirements: each verdict's figure with its interval, as a multiple of its limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Transform

from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import drawing, notes, tables, words
from edgebench.report.plots.panels import Picture, Place, draw_panels, name_rows, picture, set_title

_COLOURS = {"pass": drawing.GREEN, "fail": drawing.VERMILION, "inconclusive": "#8a6100"}
_MARKERS = {"pass": "o", "fail": "X", "inconclusive": "D"}
_ARROW = 20  # points
_ROW = 0.21  # inches
_PANEL = 0.62  # inches of a panel beside its rows
_LONGEST_NAME = 44  # so that `published` at a name's end is seen


@dataclass(frozen=True)
class Multiple:
    """A figure as a multiple of its limit; None for what is missing.

    Of a body it is the side that comes nearest to what is allowed of it, or exceeds it most.
    """

    value: float | None
    low: float | None
    high: float | None

    @property
    def ends(self) -> list[float]:
        """All of them that are there."""
        return [end for end in (self.low, self.value, self.high) if end is not None]


def multiple_of(verdict: Verdict) -> Multiple:
    """The figure that was judged, over its limit."""
    value, limit = verdict.value, verdict.limit
    if isinstance(limit, Sequence):
        if not isinstance(value, Sequence):
            return Multiple(None, None, None)
        shares = [side / most for side, most in zip(sorted(value), sorted(limit), strict=True)]
        return Multiple(max(shares), None, None)
    ends = (value if isinstance(value, float | int) else None, verdict.low, verdict.high)
    return Multiple(*(None if end is None or not math.isfinite(end) else end / limit for end in ends))


def is_known(verdict: Verdict) -> bool:
    """Whether there is anything of it to draw."""
    return verdict.verdict in _MARKERS and bool(multiple_of(verdict).ends)


def limits(
    panels: Mapping[str, Sequence[Verdict]], names: Mapping[str, str], *, ax: Place = None
) -> list[Axes]:
    """A panel a requirement, a row a trial, on one axis; logarithmic where figures are far apart.

    Args:
        panels: the verdicts of each requirement by its name; each has a figure or a bound (`is_known`).
        names: the trials' by key.
        ax: where to draw, a panel a requirement.
    """
    ends = [end for of_panel in panels.values() for each in of_panel for end in multiple_of(each).ends]
    above_zero = [end for end in [*ends, 1.0] if end > 0]
    log = drawing.wants_log(above_zero)
    low = min(above_zero) / 1.6 if log else min(0.0, *ends) * 1.1
    high = max(above_zero) * 1.6 if log else max(above_zero) * 1.15
    room = 0.6 / max(1, len(panels))  # for what stands below the last panel
    heights = [_ROW * len(of_panel) + _PANEL + room for of_panel in panels.values()]

    def draw(axes: Axes, of_panel: Sequence[Verdict]) -> None:
        drawing.scale_axis(axes, "x", above_zero, log)
        axes.set_xlim(low, high)
        tinted = (1.0, high) if words.wants_more(of_panel[0]) else (low, 1.0)
        axes.axvspan(*tinted, color=drawing.GREEN, alpha=0.08, linewidth=0)
        drawing.mark(axes.axvline(1.0, color=drawing.INK, linewidth=1.2), "limit", words.limit(of_panel[0]))
        for row, verdict in enumerate(of_panel):
            point = _draw(axes, row, verdict, low if log else -math.inf)
            judged = f"{words.value(verdict)} {words.span(verdict)}".strip()
            drawing.mark(point, "trial", f"{names[verdict.trial]}: {verdict.verdict}, {judged}")
        name_rows(axes, [names[verdict.trial] for verdict in of_panel], _LONGEST_NAME, fontsize=8.5)
        set_title(axes, drawing.label(words.limit(of_panel[0]), 80))
        if of_panel is shown[-1][1]:
            scale = " (log)" if log else ""
            axes.set_xlabel(f"multiple of the limit{scale}\nbars: the intervals that were judged")

    shown = [("", of_panel) for of_panel in panels.values()]
    layout = {"height": heights or 2.0, "columns": 1, "share_x": True}
    return draw_panels(ax, shown, draw, "no figure of a requirement is known", "verdict", **layout)


MOST_ROWS = 120
"""That one figure draws, over all requirements."""


def limits_picture(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], profile: str
) -> Picture | None:
    """The figure of one profile, by a panel a requirement; None where none of its figures is known."""
    names = tables.trial_names(summaries)
    ours = [verdict for verdict in verdicts if verdict.profile == profile and verdict.trial in names]
    asked = notes.requirements(ours)
    known = {name: [each for each in ours if each.requirement == name and is_known(each)] for name in asked}
    drawn = {name: of_panel for name, of_panel in known.items() if of_panel}
    if not drawn:
        return None
    most = max(1, MOST_ROWS // len(drawn))
    is_cut = any(len(of_panel) > most for of_panel in drawn.values())
    drawn = {name: of_panel[:most] for name, of_panel in drawn.items()}
    absent = "; ".join(words.limit(verdict) for name, verdict in asked.items() if name not in drawn)
    return picture(
        partial(limits, drawn, names),
        "Figures over their limits",
        [_in_words(of_panel, names) for of_panel in drawn.values()],
        "Each figure that was judged, with its interval, as a multiple of its limit, which is the line at 1; "
        "the tinted side meets it. An arrow: nothing bounds the figure on that side.",
        f"Not known of any trial: {absent}." if absent else "",
        "The figures were published; none was measured here."
        if any(summary.published for summary in summaries)
        else "",
        f"The first {most} trials of a requirement are drawn; the tables hold all." if is_cut else "",
    )


def _in_words(of_panel: Sequence[Verdict], names: Mapping[str, str]) -> str:
    ends = sorted((end, names[verdict.trial]) for verdict in of_panel for end in multiple_of(verdict).ends)
    (least, first), (most, last) = ends[0], ends[-1]
    return (
        f"{words.limit(of_panel[0])}, {words.counted(len(of_panel), 'trial')}: from "
        f"{words.number(least)} ({first}) to {words.number(most)} times the limit ({last})"
    )


def _draw(axes: Axes, row: int, verdict: Verdict, least: float) -> Line2D:
    """One row; what lies below the axis begins at its edge."""
    colour, marker = _COLOURS[verdict.verdict], _MARKERS[verdict.verdict]
    multiple = multiple_of(verdict)
    value, low, high = (
        None if end is None else max(end, least) for end in (multiple.value, multiple.low, multiple.high)
    )
    if low is not None and high is not None:
        axes.plot([low, high], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt")
    elif (end := high if low is None else low) is not None:
        if value is not None:
            axes.plot([end, value], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt")
        axes.annotate(
            "",
            xy=(end if value is None else value, row),
            xytext=(_ARROW if high is None else -_ARROW, 0),
            textcoords="offset points",
            arrowprops={"arrowstyle": "<-", "color": colour, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0},
        )
    at = next(end for end in (value, low, high) if end is not None)
    filled = colour if not verdict.bound else "white"
    [point] = axes.plot(
        [at], [row], marker=marker, color=filled, markeredgecolor=colour, markersize=6, linestyle="none",
        label=verdict.verdict, zorder=3,
    )  # fmt: skip
    return point


# The lines of limits: where they are, or at the edge of the axis with an arrow and their value.


NEAR = 3.0
"""A limit that is further than this factor from every figure would flatten them: it stands at the edge."""

_NAME = 26  # characters of a profile's name
_LABEL = 8.5  # points
_EDGE = 0.075  # of an axis: the room that a line at its edge takes


@dataclass(frozen=True)
class LimitLine:
    """One value that some profiles allow.

    Attributes:
        value: in the axis's unit.
        names: of those that allow it.
        side: where it stands: at its place, or beyond the low or the high end of the axis.
    """

    value: float
    names: tuple[str, ...]
    side: Literal["inside", "below", "above"]


def limit_lines(limits: Mapping[str, float], figures: Sequence[float]) -> list[LimitLine]:
    """The lines of these limits, from the lowest to the highest, given what else the axis holds.

    Args:
        limits: profile -> its limit, in the figures' unit; one not above zero or not finite has no line.
        figures: all that is drawn, above zero.
    """
    by_value = words.grouped(
        (value, name) for name, value in limits.items() if value > 0 and math.isfinite(value)
    )
    if not figures:
        return []
    low, high = min(figures) / NEAR, max(figures) * NEAR
    return [
        LimitLine(value, tuple(names), "below" if value < low else "above" if value > high else "inside")
        for value, names in sorted(by_value.items())
    ]


def inside(lines: Sequence[LimitLine]) -> list[float]:
    """The values that the axis has to hold."""
    return [line.value for line in lines if line.side == "inside"]


def draw_limits(
    axes: Axes,
    which: Literal["x", "y"],
    lines: Sequence[LimitLine],
    unit: str,
    *,
    named: bool = True,
    colour: str = drawing.INK,
) -> None:
    """Dashed lines of limits on an axis whose ends are set; those beyond an end share a dotted one there.

    The axis is lengthened by the room that the dotted lines take, so that they cover no figure.

    Args:
        axes: with its scale and ends.
        which: the axis of the figures.
        lines: what `limit_lines` gave.
        unit: of the figures.
        named: whether the profiles stand at the lines; otherwise those at an edge have their values alone.
        colour: of the lines.
    """
    if (axes.get_xscale() if which == "x" else axes.get_yscale()) == "linear":
        # It begins at zero, and holds what is near that.
        lines = [replace(line, side="inside") if line.side == "below" else line for line in lines]
    below = [line for line in lines if line.side == "below"]
    above = [line for line in lines if line.side == "above"]
    _lengthen(axes, which, bool(below), bool(above))
    drawn = [_Drawn((line,), line.value, False, _text([line], unit) if named else "") for line in lines]
    drawn = [each for each in drawn if each.lines[0].side == "inside"]
    for beyond, place, arrow in ((below[::-1], _EDGE / 2, "↓←"), (above, 1 - _EDGE / 2, "↑→")):
        if beyond:
            values = ", ".join(f"{line.value:.4g}" for line in beyond)
            text = _text(beyond, unit) if named else f"{values} {unit}"
            drawn.append(_Drawn(tuple(beyond), place, True, f"{arrow[which == 'x']} {text}"))
    for number, each in enumerate(drawn):
        level = which == "y"
        beside = axes.get_yaxis_transform() if level else axes.get_xaxis_transform()
        transform = axes.transAxes if each.at_edge else beside
        ends = ([0, 1], [each.place] * 2) if level else ([each.place] * 2, [0, 1])
        style: dict[str, Any] = {"linestyle": (0, (1, 2) if each.at_edge else (5, 3)), "linewidth": 1.1}
        [line] = axes.plot(*ends, transform=transform, scalex=False, scaley=False, color=colour, **style)
        if each.text and level:
            _write_upon(axes, each, transform)
        elif each.text:
            _write_above(axes, each, transform, colour, number)
        names = (f"{', '.join(limit.names)}: {limit.value:g} {unit}" for limit in each.lines)
        drawing.mark(line, "limit", "; ".join(names))


@dataclass(frozen=True)
class _Drawn:
    """One line on the axes: at a value, or at a share of the axis's length where it stands at the edge."""

    lines: tuple[LimitLine, ...]
    place: float
    at_edge: bool
    text: str


def _lengthen(axes: Axes, which: str, below: bool, above: bool) -> None:
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    log = (axes.get_xscale() if which == "x" else axes.get_yscale()) == "log"
    start, end = (math.log(low), math.log(high)) if log else (low, high)
    room = (end - start) * _EDGE / (1 - _EDGE * (below + above))
    start, end = start - room * below, end + room * above
    ends = (math.exp(start), math.exp(end)) if log else (start, end)
    (axes.set_xlim if which == "x" else axes.set_ylim)(*ends)


def _write_upon(axes: Axes, drawn: _Drawn, transform: Transform) -> None:
    """The text of a line across the axes."""
    text = axes.annotate(
        drawn.text, (0.01, drawn.place), xycoords=transform, xytext=(0, 2), textcoords="offset points",
        fontsize=_LABEL, path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )  # fmt: skip
    text.set_in_layout(False)  # a long name takes no room from the panel


def _write_above(axes: Axes, drawn: _Drawn, transform: Transform, colour: str, number: int) -> None:
    """The text of an upright line, one line higher than the last one's."""
    where = float((transform - axes.transAxes).transform((drawn.place, 1.0))[0])
    height = 4 + 1.3 * _LABEL * number
    axes.annotate(
        drawn.text, (drawn.place, 1.0), xycoords=transform, xytext=(3 if where < 0.5 else -3, height),
        textcoords="offset points", fontsize=_LABEL, ha="left" if where < 0.5 else "right",
        annotation_clip=False,
    )  # fmt: skip
    axes.annotate(
        "", (drawn.place, 1.0), xycoords=transform, xytext=(0, height + _LABEL), annotation_clip=False,
        textcoords="offset points", arrowprops={"arrowstyle": "-", "linewidth": 0.6, "color": colour,
        "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip


def _text(lines: Sequence[LimitLine], unit: str) -> str:
    """What stands at a line, the nearest of several: `disco-realtime: 4.42 s and 2 more`."""
    names = [name for line in lines for name in line.names]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{drawing.label(names[0], _NAME)}: {lines[0].value:.4g} {unit}{more}"


def limits_note(lines: Sequence[LimitLine]) -> str:
    """What the lines of a figure's limits are; those beyond its axis by name and value."""
    far = [
        f"{words.plain(', '.join(line.names), 120)} ({line.value:g} s)"
        for line in lines
        if line.side != "inside"
    ]
    dotted = f"Dotted, at the edge: limits beyond the axis, of {words.listed(far)}." if far else ""
    return " ".join(filter(None, ["Dashed: the profiles' limits." if inside(lines) else "", dotted]))
