"""A figure as a page shows it: embedded, with its caption and the words for those who cannot see it."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from edgebench.report import drawing


@dataclass(frozen=True)
class Picture:
    """A figure as a page shows it; `src` is empty where there is none and the caption says why."""

    src: str
    alt: str
    caption: str


def embedded_picture(figure: Figure, alt: str, caption: str, panels: int, noun: str = "target") -> Picture:
    """The figure as SVG within the page; where it has more panels than are drawn, the caption says so."""
    if panels > drawing.MAX_PANELS:
        caption += f" The first {drawing.MAX_PANELS} of {panels} {noun}s are drawn; the tables hold all."
    return Picture(drawing.data_uri("image/svg+xml", drawing.as_svg(figure)), alt, caption)
