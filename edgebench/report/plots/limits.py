"""A profile's requirements: each verdict's figure with its interval, as a multiple of its limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

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
            judged = f"{names[verdict.trial]}: {verdict.verdict}, {words.value(verdict)}"
            drawing.mark(point, "trial", judged)
        name_rows(axes, [names[verdict.trial] for verdict in of_panel], _LONGEST_NAME, fontsize=8.5)
        set_title(axes, drawing.label(words.limit(of_panel[0]), 80))
        if of_panel is shown[-1][1]:
            scale = " (log)" if log else ""
            axes.set_xlabel(f"multiple of the limit{scale}\nbars: the intervals that were judged")

    shown = [("", of_panel) for of_panel in panels.values()]
    layout = {"height": heights or 2.0, "columns": 1, "share_x": True}
    return draw_panels(ax, shown, draw, "no figure of a requirement is known", "verdict", **layout)


MOST_ROWS = 60
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
        "Each figure that was judged, with its interval, as a multiple of its limit, which is the line at 1; "
        "the tinted side meets it. An arrow: nothing bounds the figure on that side.",
        f"Not known of any trial: {absent}." if absent else "",
        "The figures were published; none was measured here."
        if any(summary.published for summary in summaries)
        else "",
        f"The first {most} trials of a requirement are drawn; the tables hold all." if is_cut else "",
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


# The lines of limits, where the axis holds them.


NEAR = 3.0
"""A limit that is further than this factor from every figure would flatten them: the axis leaves it out."""

_NAME = 26  # characters of a profile's name
_LABEL = 8.5  # points


@dataclass(frozen=True)
class LimitLine:
    """One value that some profiles allow.

    Attributes:
        value: in the axis's unit.
        names: of those that allow it.
        side: whether the axis holds it, or it lies beyond the low or the high end.
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
    """Dashed lines of the limits that the axis holds.

    Args:
        axes: with its scale and ends.
        which: the axis of the figures.
        lines: what `limit_lines` gave.
        unit: of the figures.
        named: whether the profiles stand at the lines.
        colour: of the lines.
    """
    low, high = axes.get_ylim() if which == "y" else axes.get_xlim()
    for number, limit in enumerate(line for line in lines if low <= line.value <= high):
        more = f" and {len(limit.names) - 1} more" if len(limit.names) > 1 else ""
        text = f"{drawing.label(limit.names[0], _NAME)}: {limit.value:.4g} {unit}{more}" if named else ""
        style: dict[str, Any] = {"color": colour, "linestyle": (0, (5, 3)), "linewidth": 1.1}
        if which == "y":
            line = axes.axhline(limit.value, **style)
            shown = axes.annotate(
                text, (0.01, limit.value), xycoords=axes.get_yaxis_transform(), xytext=(0, 2),
                textcoords="offset points", fontsize=_LABEL,
                path_effects=[withStroke(linewidth=2.5, foreground="white")],
            )  # fmt: skip
            shown.set_in_layout(False)  # a long name takes no room from the panel
        else:
            line = axes.axvline(limit.value, **style)
            place = axes.get_xaxis_transform()
            is_left = float((place - axes.transAxes).transform((limit.value, 1.0))[0]) < 0.5
            axes.annotate(
                text, (limit.value, 1.0), xycoords=place, xytext=(0, 4 + 1.3 * _LABEL * number),
                textcoords="offset points", fontsize=_LABEL, ha="left" if is_left else "right",
                annotation_clip=False,
            )  # fmt: skip
        drawing.mark(line, "limit", f"{', '.join(limit.names)}: {limit.value:g} {unit}")


def limits_note(lines: Sequence[LimitLine]) -> str:
    """What the lines of a figure's limits are; those beyond its axis by name and value."""
    far = [
        f"{words.plain(', '.join(line.names), 120)} ({line.value:g} s)"
        for line in lines
        if line.side != "inside"
    ]
    beyond = f"Far from every figure: the limits of {words.listed(far)}." if far else ""
    return " ".join(filter(None, ["Dashed: the profiles' limits." if inside(lines) else "", beyond]))
