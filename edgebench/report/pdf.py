"""The report as PDF: pages of A4 with bookmarks and numbers; tables break over pages, figures are vectors."""

from __future__ import annotations

import base64
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    Image,
    KeepTogether,
    PageTemplate,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus import Paragraph as Text

from edgebench.report import drawing
from edgebench.report.pdf_figures import FigureFlowable
from edgebench.report.pdf_fonts import BOLD, FIXED, REGULAR, in_font, register
from edgebench.report.picture import Picture
from edgebench.report.printed import (
    VERDICT_COLOURS,
    Block,
    Bullets,
    Cell,
    Command,
    Heading,
    Paragraph,
    Printed,
    PrintedFigure,
    PrintedTable,
    Terms,
)
from edgebench.report.text_widths import Columns, column_blocks

_MARGIN = 18 * mm
_WIDTH = A4[0] - 2 * _MARGIN
_HEIGHT = A4[1] - 2 * _MARGIN
_HIGHEST_FIGURE = _HEIGHT - 30 * mm  # so that its caption stands on the same page
_CELL_SIZE, _PADDING = 7.2, 3.0  # points
_TINTS = {"pass": "#e3f3ee", "fail": "#fbe6dd", "inconclusive": "#fbf0d9", "unknown": "#f0f0f0"}

_BODY = ParagraphStyle("body", fontName=REGULAR, fontSize=9, leading=12.5, spaceAfter=4, splitLongWords=1)
_STYLES = {
    "title": ParagraphStyle("title", _BODY, fontName=BOLD, fontSize=17, leading=22, spaceAfter=3),
    "1": ParagraphStyle("1", _BODY, fontName=BOLD, fontSize=13, leading=17, spaceBefore=12, spaceAfter=5),
    "2": ParagraphStyle("2", _BODY, fontName=BOLD, fontSize=10, leading=13, spaceBefore=7, spaceAfter=3),
    "answer": ParagraphStyle("answer", _BODY, fontName=BOLD, fontSize=10.5, leading=14),
    "quiet": ParagraphStyle("quiet", _BODY, fontSize=8, leading=11, textColor=drawing.QUIET),
    "caption": ParagraphStyle("caption", _BODY, fontSize=8, leading=11, spaceAfter=8, textColor="#444444"),
    "item": ParagraphStyle("item", _BODY, leftIndent=10, bulletIndent=1, spaceAfter=2),
    "command": ParagraphStyle("command", _BODY, fontName=FIXED, fontSize=8, leading=11, backColor="#f4f4f4"),
    "cell": ParagraphStyle("cell", _BODY, fontSize=_CELL_SIZE, leading=9.2, spaceAfter=0),
    "figure": ParagraphStyle("figure", _BODY, fontSize=_CELL_SIZE, leading=9.2, spaceAfter=0, alignment=2),
}


def render(report: Printed) -> bytes:
    """The whole report; the same bytes for the same report."""
    register()
    buffer = io.BytesIO()
    document = _Document(buffer, report)
    flowables: list[Flowable] = [Text(_markup(report.title), _STYLES["title"])]
    flowables.append(Text(_markup(report.subtitle), _STYLES["quiet"]))
    for at, block in enumerate(report.blocks):
        if isinstance(block, Heading):
            flowables.append(CondPageBreak(_room(report.blocks[at:])))
        flowables += _flowables(block)
    document.build(flowables, canvasmaker=_NumberedCanvas)
    return buffer.getvalue()


class _Document(BaseDocTemplate):  # type: ignore[misc]
    """The pages, with a bookmark for each heading."""

    def __init__(self, buffer: io.BytesIO, report: Printed) -> None:
        super().__init__(
            buffer,
            pagesize=A4,
            title=report.title,
            author="EdgeBench",
            subject=report.subtitle,
            creator="EdgeBench",
            producer="EdgeBench",
            lang="en",
            invariant=1,
            displayDocTitle=1,
            leftMargin=_MARGIN,
            rightMargin=_MARGIN,
        )
        self._footer = in_font(report.footer)
        self._bookmarks = 0
        frame = Frame(_MARGIN, _MARGIN, _WIDTH, _HEIGHT, 0, 0, 0, 0)
        self.addPageTemplates(PageTemplate("page", [frame], onPage=self._foot))

    def _foot(self, canvas: Canvas, _document: Any) -> None:
        canvas.setFont(REGULAR, 7)
        canvas.setFillColor(drawing.QUIET)
        shown = self._footer
        while stringWidth(shown, REGULAR, 7) > _WIDTH - 60:
            shown = shown[:-2].rstrip("…") + "…"
        canvas.drawString(_MARGIN, 10 * mm, shown)

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802
        """Put a heading into the outline, under the section that it stands in."""
        heading = getattr(flowable, "heading", None)
        if heading is not None:
            self._bookmarks += 1
            key = f"heading-{self._bookmarks}"
            self.canv.bookmarkPage(key)
            self.canv.addOutlineEntry(in_font(heading.text), key, heading.level - 1, closed=True)


class _NumberedCanvas(Canvas):  # type: ignore[misc]
    """Pages that say of how many they are one, which is known at the end."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pages: list[dict[str, Any]] = []

    def showPage(self) -> None:  # noqa: N802
        """Keep the page for its number."""
        self._pages.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        """Write the pages with their numbers."""
        for number, page in enumerate(self._pages, start=1):
            self.__dict__.update(page)
            self.setFont(REGULAR, 7)
            self.setFillColor(drawing.QUIET)
            self.drawRightString(A4[0] - _MARGIN, 10 * mm, f"{number} of {len(self._pages)}")
            super().showPage()
        super().save()


def _flowables(block: Block) -> Iterator[Flowable]:
    match block:
        case Heading():
            heading = Text(_markup(block.text), _STYLES[str(block.level)])
            heading.heading = block
            yield heading
        case Paragraph():
            yield Text(_markup(block.text), _STYLES.get(block.kind, _BODY))
        case Bullets():
            yield from (Text(_markup(item), _STYLES["item"], bulletText="•") for item in block.items)
            yield Spacer(1, 4)
        case Terms():
            yield from (
                Text(f"<b>{_markup(term)}</b>: {_markup(text)}", _STYLES["item"]) for term, text in block.rows
            )
        case Command():
            yield Text(_markup(block.text), _STYLES["command"])
        case PrintedTable():
            yield from _tables(block)
        case PrintedFigure():
            yield KeepTogether(_shown(block.picture))


def _room(blocks: Sequence[Block]) -> float:
    """What a heading and the beginning of what it heads take, so that they stand on one page."""
    headings = list(itertools.takewhile(lambda block: isinstance(block, Heading), blocks))
    room: float = len(headings) * 11 * mm
    headed = blocks[len(headings)] if len(headings) < len(blocks) else None
    if isinstance(headed, PrintedFigure):
        shown = sum(flowable.wrap(_WIDTH, _HEIGHT)[1] for flowable in _shown(headed.picture))
        room += float(shown) - 13 * mm
    return min(room + float(18 * mm), float(_HEIGHT))


def _markup(text: str) -> str:
    """Plain text as reportlab's paragraphs read it: no markup, and line breaks kept."""
    return escape(in_font(text)).replace("\n", "<br/>")


def _shown(picture: Picture) -> list[Flowable]:
    """What is drawn, if anything is, and its caption."""
    caption = Text(_markup(picture.caption), _STYLES["caption" if picture.src or picture.figure else "quiet"])
    if picture.figure is not None:
        return [FigureFlowable(picture.figure, _HIGHEST_FIGURE), caption]
    if picture.src:
        photograph = Image(io.BytesIO(base64.b64decode(picture.src.partition(",")[2])))
        scale = min(_WIDTH / photograph.imageWidth, _HIGHEST_FIGURE / photograph.imageHeight)
        photograph.drawWidth, photograph.drawHeight = (
            side * scale for side in (photograph.imageWidth, photograph.imageHeight)
        )
        return [photograph, caption]
    return [caption]


def _tables(table: PrintedTable) -> Iterator[Flowable]:
    """The table, in blocks of columns where its words would not stand in one."""
    if table.caption:
        yield Text(_markup(table.caption), _STYLES["quiet"])
    rows = [table.headings, *(tuple(cell.text for cell in row) for row in table.rows)]
    blocks = column_blocks([tuple(map(in_font, row)) for row in rows], _WIDTH, _width, 2 * _PADDING)
    for columns in blocks:
        yield _of_columns(table, columns)
        yield Spacer(1, 8)


def _width(text: str) -> float:
    # Headings are bold, which is wider.
    return float(stringWidth(text, BOLD, _CELL_SIZE)) + 0.1


def _of_columns(table: PrintedTable, columns: Columns) -> Flowable:
    styles = [_STYLES["figure" if table.figures[place] else "cell"] for place in columns.places]
    head = [
        Text(f"<b>{_markup(table.headings[place])}</b>", style)
        for place, style in zip(columns.places, styles, strict=True)
    ]
    body = [
        [_cell(row[place], style) for place, style in zip(columns.places, styles, strict=True)]
        for row in table.rows
    ]
    drawn = Table([head, *body], columns.widths, repeatRows=1, splitInRow=1, hAlign="LEFT")
    drawn.setStyle(TableStyle([*_RULES, *_tints(table, columns)]))
    return drawn


_RULES: Sequence[tuple[Any, ...]] = (
    ("VALIGN", (0, 0), (-1, -1), "TOP"),
    ("LINEBELOW", (0, 0), (-1, 0), 0.8, colors.HexColor(drawing.INK)),
    ("LINEBELOW", (0, 1), (-1, -1), 0.25, colors.HexColor("#d4d4d4")),
    ("LEFTPADDING", (0, 0), (-1, -1), _PADDING),
    ("RIGHTPADDING", (0, 0), (-1, -1), _PADDING),
    ("TOPPADDING", (0, 0), (-1, -1), 1.6),
    ("BOTTOMPADDING", (0, 0), (-1, -1), 2.4),
)


def _cell(cell: Cell, style: ParagraphStyle) -> Flowable:
    text = _markup(cell.text)
    if cell.word:
        text = f'<font color="#{VERDICT_COLOURS[cell.word]}">{text}</font>'
    return Text(text, style)


def _tints(table: PrintedTable, columns: Columns) -> Iterator[tuple[Any, ...]]:
    for row, cells in enumerate(table.rows, start=1):
        for at, place in enumerate(columns.places):
            if word := cells[place].word:
                yield ("BACKGROUND", (at, row), (at, row), colors.HexColor(_TINTS[word]))
