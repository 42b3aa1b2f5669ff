"""A figure as a page shows it, with its caption and the words for those who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from edgebench.report import drawing, words
from edgebench.report.plots.limit_lines import LimitLine


@dataclass(frozen=True)
class Picture:
    """A figure as a page shows it: drawn, or a photograph; where it is neither, the caption says why.

    Attributes:
        src: a photograph as a `data:` address; empty where there is none.
        alt: the words for those who cannot see it.
        caption: what stands below it.
        figure: what is drawn; None of a photograph, and where nothing is.
        photograph: the figure that holds a photograph.
    """

    src: str
    alt: str
    caption: str
    figure: Figure | None = None
    photograph: Figure | None = None


def embedded_picture(figure: Figure, alt: str, caption: str, panels: int, noun: str = "target") -> Picture:
    """The figure with its words; where it has more panels than are drawn, the caption says so."""
    if panels > drawing.MAX_PANELS:
        caption += f" The first {drawing.MAX_PANELS} of {panels} {noun}s are drawn; the tables hold all."
    return Picture("", alt, caption, figure)


def limits_note(lines: Sequence[LimitLine], unit: str) -> str:
    """What the lines of a figure's limits are; those beyond its axis by name and value."""
    note = " Dashed: the profiles' limits." if any(line.side == "inside" for line in lines) else ""
    far = [
        f"{words.plain(', '.join(line.names), 120)} ({line.value:g} {unit})"
        for line in lines
        if line.side != "inside"
    ]
    return note + (f" Dotted, at the edge: limits beyond the axis, of {words.listed(far)}." if far else "")
