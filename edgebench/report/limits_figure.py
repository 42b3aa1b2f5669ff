"""The figure of a profile: each verdict's figure with its interval, as a multiple of its limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report import drawing, tables, verdict_groups, words
from edgebench.report.figures import shared_legend
from edgebench.report.picture import Picture, embedded_picture

MOST_ROWS = 120
"""That one figure draws, over all requirements."""

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


def limits_picture(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], profile: str
) -> Picture | None:
    """The figure of one profile, by a panel a requirement; None where none of its figures is known."""
    names = tables.trial_names(summaries)
    ours = [verdict for verdict in verdicts if verdict.profile == profile and verdict.trial in names]
    asked = verdict_groups.requirements(ours)
    panels = {name: [each for each in ours if each.requirement == name and _known(each)] for name in asked}
    drawn = {name: of_panel for name, of_panel in panels.items() if of_panel}
    if not drawn:
        return None
    most = max(1, MOST_ROWS // len(drawn))
    hidden = max(max(0, len(of_panel) - most) for of_panel in drawn.values())
    drawn = {name: of_panel[:most] for name, of_panel in drawn.items()}
    caption = (
        "Each figure that was judged, with its interval, as a multiple of its limit, which is the line at 1; "
        "the tinted side meets it. An arrow: nothing bounds the figure on that side."
    )
    if absent := [words.limit(asked[name]) for name in asked if name not in drawn]:
        caption += f" Not known of any trial: {'; '.join(absent)}."
    if any(summary.published for summary in summaries):
        caption += " The figures were published; none was measured here."
    if hidden:
        caption += f" The first {most} trials of a requirement are drawn; the tables hold all."
    return embedded_picture(limits_figure(drawn, names), _alternative(drawn, names), caption, 1)


def _known(verdict: Verdict) -> bool:
    return verdict.verdict in _MARKERS and bool(multiple_of(verdict).ends)


def _alternative(panels: Mapping[str, Sequence[Verdict]], names: Mapping[str, str]) -> str:
    parts = []
    for of_panel in panels.values():
        ends = [(end, verdict) for verdict in of_panel for end in multiple_of(verdict).ends]
        least, most = min(ends, key=lambda end: end[0]), max(ends, key=lambda end: end[0])
        parts.append(
            f"{words.limit(of_panel[0])}, {words.counted(len(of_panel), 'trial')}: from "
            f"{words.number(least[0])} ({names[least[1].trial]}) to {words.number(most[0])} times the limit "
            f"({names[most[1].trial]})"
        )
    return "Figures over their limits: " + "; ".join(parts)


def limits_figure(panels: Mapping[str, Sequence[Verdict]], names: Mapping[str, str]) -> Figure:
    """A panel a requirement, a row a trial, on one axis; logarithmic where figures are far apart.

    Args:
        panels: the verdicts of each requirement by its name; each has a figure or a bound.
        names: the trials' by key.
    """
    ends = [end for of_panel in panels.values() for each in of_panel for end in multiple_of(each).ends]
    above_zero = [end for end in [*ends, 1.0] if end > 0]
    log = drawing.wants_log(above_zero)
    low = min(above_zero) / 1.6 if log else min(0.0, *ends) * 1.1
    high = max(above_zero) * 1.6 if log else max(above_zero) * 1.15
    heights = [_ROW * len(of_panel) + _PANEL for of_panel in panels.values()]
    with drawing.style():
        figure = Figure(figsize=(7.6, sum(heights) + 0.4), layout="constrained")
        all_axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
        for axes, of_panel in zip(all_axes, panels.values(), strict=True):
            drawing.scale_axis(axes, "x", above_zero, log)
            axes.set_xlim(low, high)
            tinted = (1.0, high) if words.wants_more(of_panel[0]) else (low, 1.0)
            axes.axvspan(*tinted, color=drawing.GREEN, alpha=0.08, linewidth=0)
            axes.axvline(1.0, color=drawing.INK, linewidth=1.2, gid="limit")
            for row, verdict in enumerate(of_panel):
                _draw(axes, row, verdict, low if log else -math.inf)
            labels = [drawing.label(names[verdict.trial], _LONGEST_NAME) for verdict in of_panel]
            axes.set_yticks(range(len(of_panel)), labels, fontsize=8.5)
            axes.set_ylim(len(of_panel) - 0.4, -0.6)
            axes.grid(visible=False, axis="y")
            axes.set_title(drawing.label(words.limit(of_panel[0]), 80), loc="left")
        all_axes[-1].set_xlabel("multiple of the limit" + (" (log)" if log else ""))
        shared_legend(figure, list(all_axes), "verdict")
    return figure


def _draw(axes: Axes, row: int, verdict: Verdict, least: float) -> None:
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
    axes.plot(
        [at], [row], marker=marker, color=filled, markeredgecolor=colour, markersize=6, linestyle="none",
        label=verdict.verdict, zorder=3,
    )  # fmt: skip
