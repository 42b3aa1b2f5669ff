"""The fonts of a PDF: DejaVu, which comes with matplotlib and draws most alphabets."""

from __future__ import annotations

import functools
from pathlib import Path

from matplotlib import get_data_path
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont

from edgebench.report import drawing

REGULAR, BOLD, FIXED = "DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"


@functools.cache
def register() -> None:
    """Make the fonts known to reportlab; bold text of a paragraph is of the family's own."""
    folder = Path(get_data_path()) / "fonts" / "ttf"
    for name in (REGULAR, BOLD, FIXED):
        pdfmetrics.registerFont(TTFont(name, str(folder / f"{name}.ttf")))
    pdfmetrics.registerFontFamily(REGULAR, normal=REGULAR, bold=BOLD, italic=REGULAR, boldItalic=BOLD)


def in_font(text: str) -> str:
    """Text that the fonts can show: a question mark for each character that they lack."""
    return "".join(char if char in "\n " or drawing.has_character(char) else "?" for char in text)
