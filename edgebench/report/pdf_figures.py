"""Matplotlib's figures drawn into a page of reportlab's as vectors, their text as text.

Coordinates are points from the lower left corner; the figure is drawn at 72 dots an inch, so that its pixels
are points.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.platypus import Flowable

from edgebench.report import drawing
from edgebench.report.pdf_fonts import BOLD, REGULAR

_DPI = 72
_CAPS = {"butt": 0, "round": 1, "projecting": 2}
_JOINS = {"miter": 0, "round": 1, "bevel": 2}


class FigureFlowable(Flowable):  # type: ignore[misc]
    """A figure in its own size, or smaller where the column is narrower or the page lower."""

    def __init__(self, figure: Figure, highest: float) -> None:
        super().__init__()
        self._figure = figure
        self._highest = highest
        self._scale = 1.0

    def wrap(self, available_width: float, _available_height: float) -> tuple[float, float]:
        """Its width and height there, in points."""
        width, height = (float(inches) * _DPI for inches in self._figure.get_size_inches())
        self._scale = min(1.0, available_width / width, self._highest / height)
        self.width, self.height = width * self._scale, height * self._scale
        return self.width, self.height

    def draw(self) -> None:
        """Draw it at the canvas's origin."""
        self.canv.scale(self._scale, self._scale)
        dpi = self._figure.dpi
        with drawing.style(), drawing.silent_layout():
            self._figure.set_dpi(_DPI)
            width, height = (float(inches) * _DPI for inches in self._figure.get_size_inches())
            self._figure.draw(_Renderer(self.canv, width, height))
            self._figure.set_dpi(dpi)


class _Renderer(RendererBase):
    """What matplotlib draws with."""

    def __init__(self, canvas: Any, width: float, height: float) -> None:
        super().__init__()
        self._canvas = canvas
        self._size = width, height

    def get_canvas_width_height(self) -> tuple[float, float]:
        """In points."""
        return self._size

    def flipy(self) -> bool:
        """Whether y grows downwards: it does not."""
        return False

    def points_to_pixels(self, points: Any) -> Any:
        """The same, at this resolution."""
        return points

    def draw_path(self, gc: Any, path: Path, transform: Any, rgbFace: Any = None) -> None:  # noqa: N803
        """Fill and stroke a path."""
        stroked = gc.get_linewidth() > 0
        with self._state(gc):
            if rgbFace is not None:
                alpha = gc.get_alpha() if gc.get_forced_alpha() or len(rgbFace) < 4 else rgbFace[3]
                self._canvas.setFillColorRGB(*map(float, rgbFace[:3]), alpha=float(alpha))
            clip = (0.0, 0.0, *self._size) if rgbFace is None and not gc.get_hatch() else None
            outline = self._outline(path, transform, clip)
            self._canvas.drawPath(outline, stroke=int(stroked), fill=int(rgbFace is not None))
        if gc.get_hatch():
            self._hatched(gc, path, transform)

    def draw_image(self, gc: Any, x: float, y: float, im: Any, transform: Any = None) -> None:
        """Put pixels, RGBA of shape (height, width, 4), into the page."""
        picture = Image.fromarray(im[::-1])
        height, width = im.shape[:2]
        with self._state(gc):
            if transform is not None:
                self._canvas.transform(*transform.frozen().to_values())
                width, height = 1, 1
            self._canvas.drawImage(ImageReader(picture), x, y, width, height, mask="auto")

    def draw_text(
        self,
        gc: Any,
        x: float,
        y: float,
        s: str,
        prop: Any,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        """Write text in the font that matplotlib measured it with."""
        if ismath:
            super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        bold = prop.get_weight() in ("bold", "semibold", "heavy") or prop.get_weight() == 700
        with self._state(gc):
            self._canvas.translate(float(x), float(y))
            self._canvas.rotate(float(angle))
            self._canvas.setFillColorRGB(*map(float, gc.get_rgb()[:3]), alpha=float(gc.get_alpha()))
            self._canvas.setFont(BOLD if bold else REGULAR, prop.get_size_in_points())
            self._canvas.drawString(0, 0, s)

    @contextmanager
    def _state(self, gc: Any) -> Iterator[None]:
        """The canvas with a context's clip, line and colour, as it was before afterwards."""
        self._canvas.saveState()
        try:
            if (bounds := gc.get_clip_rectangle()) is not None:
                box = self._canvas.beginPath()
                box.rect(*map(float, bounds.bounds))
                self._canvas.clipPath(box, stroke=0, fill=0)
            clip, placed = gc.get_clip_path()
            if clip is not None:
                self._canvas.clipPath(self._outline(clip, placed), stroke=0, fill=0)
            self._canvas.setLineWidth(float(gc.get_linewidth()))
            self._canvas.setLineCap(_CAPS[gc.get_capstyle()])
            self._canvas.setLineJoin(_JOINS[gc.get_joinstyle()])
            offset, dashes = gc.get_dashes()
            self._canvas.setDash(
                [float(dash) for dash in dashes] if dashes is not None else [], float(offset or 0)
            )
            self._canvas.setStrokeColorRGB(*map(float, gc.get_rgb()[:3]), alpha=float(gc.get_alpha()))
            yield
        finally:
            self._canvas.restoreState()

    def _outline(self, path: Path, transform: Any, clip: Any = None) -> Any:
        """A path as reportlab has it."""
        outline = self._canvas.beginPath()
        last = (0.0, 0.0)
        for values, code in path.iter_segments(transform, clip=clip, simplify=path.should_simplify):
            points = [float(value) for value in values]
            if code == Path.MOVETO:
                outline.moveTo(*points)
            elif code == Path.LINETO:
                outline.lineTo(*points)
            elif code == Path.CURVE3:
                cx, cy, x, y = points
                outline.curveTo(
                    last[0] + 2 / 3 * (cx - last[0]), last[1] + 2 / 3 * (cy - last[1]),
                    x + 2 / 3 * (cx - x), y + 2 / 3 * (cy - y), x, y,
                )  # fmt: skip
            elif code == Path.CURVE4:
                outline.curveTo(*points)
            elif code == Path.CLOSEPOLY:
                outline.close()
            if code != Path.CLOSEPOLY:
                last = (points[-2], points[-1])
        return outline

    def _hatched(self, gc: Any, path: Path, transform: Any) -> None:
        """The tiles of a hatch, an inch wide each, over what a path encloses."""
        bounds = path.get_extents(transform)
        tile = gc.get_hatch_path(density=6.0)
        with self._state(gc):
            self._canvas.clipPath(self._outline(path, transform), stroke=0, fill=0)
            red, green, blue, *_ = gc.get_hatch_color()
            self._canvas.setStrokeColorRGB(float(red), float(green), float(blue))
            self._canvas.setLineWidth(float(gc.get_hatch_linewidth()))
            self._canvas.setDash([])
            for column in range(int(bounds.x0 // _DPI), int(bounds.x1 // _DPI) + 1):
                for row in range(int(bounds.y0 // _DPI), int(bounds.y1 // _DPI) + 1):
                    placed = Affine2D().scale(_DPI).translate(column * _DPI, row * _DPI)
                    self._canvas.drawPath(self._outline(tile, placed), stroke=1, fill=0)
