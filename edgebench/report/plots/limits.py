"""A profile's requirements: each verdict's figure with its interval, as a multiple of its limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from edgebench.fit.trial_summary import Verdict
from edgebench.report import drawing, words
from edgebench.report.plots.panels import Place, open_panels, say_empty, set_title

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
    with drawing.style():
        opened = open_panels(ax, len(panels), height=heights or 2.0, columns=1, share_x=True)
        if not panels:
            say_empty(opened.axes[0], "no figure of a requirement is known")
            return opened.axes
        for axes, of_panel in zip(opened.axes, panels.values(), strict=True):
            drawing.scale_axis(axes, "x", above_zero, log)
            axes.set_xlim(low, high)
            tinted = (1.0, high) if words.wants_more(of_panel[0]) else (low, 1.0)
            axes.axvspan(*tinted, color=drawing.GREEN, alpha=0.08, linewidth=0)
            drawing.mark(
                axes.axvline(1.0, color=drawing.INK, linewidth=1.2), "limit", words.limit(of_panel[0])
            )
            for row, verdict in enumerate(of_panel):
                point = _draw(axes, row, verdict, low if log else -math.inf)
                judged = f"{words.value(verdict)} {words.span(verdict)}".strip()
                drawing.mark(point, "trial", f"{names[verdict.trial]}: {verdict.verdict}, {judged}")
            labels = [names[verdict.trial] for verdict in of_panel]
            drawing.name_ticks(axes.yaxis, range(len(of_panel)), labels, _LONGEST_NAME, fontsize=8.5)
            axes.set_ylim(len(of_panel) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            set_title(axes, drawing.label(words.limit(of_panel[0]), 80))
        scale = " (log)" if log else ""
        opened.axes[-1].set_xlabel(f"multiple of the limit{scale}\nbars: the intervals that were judged")
        opened.legend("verdict")
    return opened.axes


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
