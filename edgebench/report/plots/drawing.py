"""Style of every plot and its file: colours, type, axes with their unit, equal bytes for equal data."""

from __future__ import annotations

import base64
import functools
import gc
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from edgebench.report import words

# Okabe and Ito, Color Universal Design (2008): told apart with any colour vision.
BLUE, ORANGE, GREEN, PINK, SKY, VERMILION = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
PALETTE = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, "#F0E442", "#555555")
INK, QUIET = "#222222", "#767676"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_KNOWN = ("fp32", "fp16", "int8")
MAX_PANELS = 6  # targets drawn in one figure; a caption counts the others
_LOG_FROM = 8.0  # ratio of the greatest to the least value from which a linear axis hides the small ones

_MARKS = "edgebench_marks"  # attribute of a figure: ids of its artists with their tooltips

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so a figure looks the same everywhere
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "text.color": INK,
    "legend.frameon": False,
    "svg.hashsalt": "edgebench",
    "svg.fonttype": "path",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-9, 9),
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the look of the reports while a plot is drawn, whatever the user's matplotlib is set to."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        try:
            yield
        finally:
            is_interactive = matplotlib.is_interactive()
    # The first figure of a notebook switches it on: switched off again, no further one would be shown.
    matplotlib.interactive(is_interactive)


@contextmanager
def uncollected() -> Iterator[None]:
    """Suspend garbage collection while many plots are drawn.

    They are hundreds of thousands of objects that stay until the last is drawn. Looking through them for
    garbage takes a sixth of the time.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collecting:
            gc.enable()


def dress(axes: Axes) -> None:
    """Apply the look of the reports to axes of any figure; it stays when `style` has ended."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.grid(visible=True, color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(color=INK, labelcolor=INK, labelsize=_RC["font.size"])
    for text in (axes.xaxis.label, axes.yaxis.label):
        text.set_parse_math(False)
        text.set_color(INK)


def mark(artist: Artist, kind: str, tooltip: str = "") -> str:
    """Give an artist a unique id within its figure, `trial-3`, and a tooltip.

    In an SVG the id is that of the element that holds the artist.

    Args:
        artist: artist in a figure.
        kind: letters, such as `trial`, `limit`.
        tooltip: any text; it has to be escaped where it is shown.

    Raises:
        ValueError: the artist is in no figure.
    """
    fig = artist.get_figure(root=True)
    if fig is None:
        raise ValueError("the artist is in no figure")
    marks: dict[str, str] = vars(fig).setdefault(_MARKS, {})
    gid = f"{kind}-{len(marks) + 1}"
    marks[gid] = words.plain(tooltip, 400) if tooltip else ""
    artist.set_gid(gid)
    return gid


def tooltips(fig: Figure) -> Mapping[str, str]:
    """Tooltips of a figure's artists by id, as `mark` gave them; without empty ones."""
    return {gid: text for gid, text in vars(fig).get(_MARKS, {}).items() if text}


_UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def as_bytes(fig: Figure, form: str, outlined: bool = True) -> bytes:
    """Figure as svg, pdf or png without a date, so that equal data give equal bytes.

    Text in an SVG is drawn as outlines, equal on every machine, unless `outlined` is False.
    """
    buffer = io.BytesIO()
    text_form: dict[Any, Any] = {"svg.fonttype": "path" if outlined else "none"}
    with style(), matplotlib.rc_context(text_form):
        fig.savefig(buffer, format=form, metadata=_UNDATED[form], dpi=150)
    return buffer.getvalue()


def jpeg_uri(fig: Figure) -> str:
    """Figure with a photograph as the `data:` address of a JPEG, for a page that loads nothing."""
    buffer = io.BytesIO()
    with style():
        fig.savefig(buffer, format="jpeg", dpi=130, pil_kwargs={"quality": 85, "optimize": True})
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def label(text: object, limit: int = 48) -> str:
    """Outside text that can be drawn, with a question mark for each character that the font lacks."""
    drawn = "".join(char if ord(char) in _font_characters() else "?" for char in words.plain(text, limit))
    return f" {drawn}" if drawn.startswith("_") else drawn  # matplotlib leaves `_names` out of legends


@functools.cache
def _font_characters() -> frozenset[int]:
    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


@functools.lru_cache(4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width of one line of text, in the unit of the font size."""
    properties = FontProperties(family="DejaVu Sans", weight=int(weight) if weight.isdigit() else weight)
    properties.set_size(size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, properties, ismath=False)
    return float(width)


def styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each name, in the legend's order; fp32, fp16 and int8 always have their own."""
    present = dict.fromkeys(names)
    # Targets need no places kept for precisions.
    order = dict.fromkeys([*_KNOWN, *present] if set(_KNOWN) & set(present) else present)
    looks = zip(order, itertools.cycle(zip(PALETTE, MARKERS, strict=True)), strict=False)
    return {name: look for name, look in looks if name in present}


def wants_log(values: Sequence[float]) -> bool:
    """Return True if an axis over these values should be logarithmic."""
    return bool(values) and min(values) > 0 and max(values) / min(values) >= _LOG_FROM


def scale_axis(axes: Axes, which: str, values: Sequence[float], name: str, note: str = "") -> None:
    """Bound and name one axis (`x` or `y`): from zero, or logarithmic with plain numbers.

    Args:
        axes: axes to scale.
        which: `x` or `y`.
        values: numbers that the axis has to hold.
        name: its name with the unit.
        note: second line below the name.
    """
    log = wants_log(values)
    axis = axes.xaxis if which == "x" else axes.yaxis
    if log or axis.get_scale() != "linear":  # axes of the caller's may have held another plot
        axes.set(**{f"{which}scale": "log" if log else "linear"})
    ends = (0.0, max(values) * 1.12 if values and max(values) > 0 else 1.0)
    if log:
        ends = (min(values) / 1.35, max(values) * 1.35)
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if ends[1] / ends[0] < 300 else (1.0,)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    text = f"{name} (log)" if log else name
    axes.set(**{f"{which}lim": ends, f"{which}label": f"{text}\n{note}" if note else text})
