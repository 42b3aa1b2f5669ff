"""The lines of profiles' limits in a plot, where its axis holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from edgebench.report import drawing, words

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
