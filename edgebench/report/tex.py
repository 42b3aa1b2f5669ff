"""The report as LaTeX: an article that compiles by itself, its tables in booktabs and over pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from edgebench.report.tex_escape import escape
from edgebench.report.text_widths import Columns, column_blocks

_LINE = 118.0  # characters of a table's size on a line of 17 cm
_PADDING = 2.0

_PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  % A character that the fonts lack is shown by its number.
  \newcommand{\character}[1]{\texttt{U+#1}}
\else
  \usepackage{fontspec}
  \newcommand{\character}[1]{\symbol{"#1}}
\fi
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage[margin=2cm]{geometry}
\usepackage{amssymb,array,booktabs,graphicx,longtable,textcomp,xcolor}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}\setlength{\parskip}{4pt}\setlength{\tabcolsep}{3pt}
\setlength{\LTpre}{4pt}\setlength{\LTpost}{8pt}
\raggedbottom\emergencystretch=3em
"""


def render(report: Printed, figures: str = "figures") -> str:
    """The whole article; the same text for the same report.

    Args:
        report: what it says.
        figures: the folder of `report --figures`, as LaTeX finds it; a figure whose file is missing there is
            left out.
    """
    colours = [
        rf"\definecolor{{{word}}}{{HTML}}{{{colour.upper()}}}" for word, colour in VERDICT_COLOURS.items()
    ]
    source = escape(report.footer).replace("%", "").replace("\n", " ")
    parts = [
        f"% {source}",
        "% Figures: edgebench report RESULTS -o THIS.tex --figures DIR; compile with pdflatex, twice.",
        _PREAMBLE + "\n".join(colours),
        rf"\newcommand{{\figures}}{{\detokenize{{{_folder(figures)}}}}}",
        rf"\title{{{escape(report.title)}}}",
        r"\author{EdgeBench}\date{}",
        r"\begin{document}",
        r"\maketitle",
        rf"{{\small {escape(report.subtitle)}\par}}",
        *(line for block in report.blocks for line in _lines(block)),
        rf"\bigskip{{\footnotesize {escape(report.footer)}\par}}",
        r"\end{document}",
    ]
    return "\n".join(parts) + "\n"


def _folder(figures: str) -> str:
    """A path without what would end the macro that holds it: braces, a comment's sign, a backslash."""
    return "".join(char for char in figures if char.isprintable() and char not in "{}%\\#")


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            command = "section" if block.level == 1 else "subsection"
            yield rf"\{command}*{{{escape(block.text)}}}"
            yield rf"\addcontentsline{{toc}}{{{command}}}{{{escape(block.text)}}}"
        case Paragraph():
            styles = {"answer": r"\textbf{%s}", "quiet": r"{\small %s}"}
            yield styles.get(block.kind, "%s") % escape(block.text) + r"\par"
        case Bullets():
            yield r"\begin{itemize}\setlength{\itemsep}{1pt}"
            yield from (rf"\item {{}}{escape(item)}" for item in block.items)
            yield r"\end{itemize}"
        case Terms():
            yield from (rf"\textbf{{{escape(term)}}}: {escape(text)}\par" for term, text in block.rows)
        case Command():
            yield rf"{{\small\ttfamily\raggedright {escape(block.text)}\par}}"
        case PrintedTable():
            yield from _tables(block)
        case PrintedFigure():
            yield from _figure(block)


def _figure(block: PrintedFigure) -> Iterator[str]:
    if block.picture.figure is None and not block.picture.src:
        yield rf"{{\small {escape(block.picture.caption)}\par}}"
        return
    path = rf"\figures/{block.name}.pdf"
    yield rf"\IfFileExists{{{path}}}{{\begin{{center}}"
    yield rf"\includegraphics[width=\linewidth,height=0.8\textheight,keepaspectratio]{{{path}}}\par"
    yield rf"\small {escape(block.picture.caption)}\end{{center}}}}{{}}"


def _tables(table: PrintedTable) -> Iterator[str]:
    if table.caption:
        yield rf"{{\small {escape(table.caption)}\par}}"
    rows = [table.headings, *(tuple(cell.text for cell in row) for row in table.rows)]
    for columns in column_blocks(rows, _LINE, lambda text: float(len(text)), _PADDING):
        yield from _of_columns(table, columns)


def _of_columns(table: PrintedTable, columns: Columns) -> Iterator[str]:
    # Widths are shares of what tabcolsep leaves of the line.
    between = f"{2 * len(columns.places)}\\tabcolsep"
    kinds = "".join(
        rf">{{{_side(table.figures[place])}\arraybackslash}}"
        rf"p{{{width / _LINE:.4f}\dimexpr\linewidth-{between}\relax}}"
        for place, width in zip(columns.places, columns.widths, strict=True)
    )
    yield rf"{{\scriptsize\begin{{longtable}}[l]{{{kinds}}}\toprule"
    head = [rf"\textbf{{{escape(table.headings[place])}}}" for place in columns.places]
    yield " & ".join(head) + r" \\\midrule\endhead\bottomrule\endfoot"
    for row in table.rows:
        yield _row([row[place] for place in columns.places])
    yield r"\end{longtable}}"


def _side(is_figure: bool) -> str:
    return r"\raggedleft" if is_figure else r"\raggedright"


def _row(cells: Sequence[Cell]) -> str:
    texts = [
        rf"\textcolor{{{cell.word}}}{{{escape(cell.text)}}}" if cell.word else f"{{}}{escape(cell.text)}"
        for cell in cells
    ]
    return " & ".join(texts) + r" \\"
