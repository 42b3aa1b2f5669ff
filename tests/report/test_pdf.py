"""The report as PDF, read back by another library."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pypdfium2
import pytest

from edgebench.errors import UnavailableError
from edgebench.fit.judged_experiment import Judged
from edgebench.report.figure_files import figures_of
from edgebench.report.forms import FORMS
from edgebench.report.notes import Note
from edgebench.report.pdf import render
from edgebench.report.pdf_fonts import in_font
from edgebench.report.printed import Bullets, Heading, Printed, PrintedFigure, notes_blocks, printed

MARGIN = 50  # points, a little less than the page's


@pytest.fixture(scope="module")
def report(hostile: Judged) -> Printed:
    return printed(hostile)


@pytest.fixture(scope="module")
def pages(report: Printed) -> Iterator[pypdfium2.PdfDocument]:
    with pypdfium2.PdfDocument(render(report)) as document:
        yield document


def text_of(document: pypdfium2.PdfDocument) -> str:
    return "\n".join(page.get_textpage().get_text_range() for page in document)


def test_it_says_what_the_page_says_and_markup_from_outside_is_text(
    pages: pypdfium2.PdfDocument, hostile: Judged
) -> None:
    text = " ".join(text_of(pages).split())
    assert "<script>alert(1)</script> <b>&amp; [red]x[/red]" in text
    assert "✓" in text and "inconclusive" in text and "--meter KIND" in text
    for summary in hostile.summaries:
        if summary.image_s is not None:
            assert f"{summary.image_s.median:#.3g}" in text
    assert f"1 of {len(pages)}" in text and f"{len(pages)} of {len(pages)}" in text


def test_no_figure_of_the_page_is_forgotten(report: Printed, hostile: Judged) -> None:
    shown = {block.name for block in report.blocks if isinstance(block, PrintedFigure)}
    assert set(figures_of(hostile)) <= shown


def test_nothing_runs_off_a_page_and_headings_of_tables_are_repeated(pages: pypdfium2.PdfDocument) -> None:
    for page in pages:
        width, height = page.get_size()
        textpage = page.get_textpage()
        assert textpage.count_rects() > 1
        for at in range(textpage.count_rects()):
            left, bottom, right, top = textpage.get_rect(at)
            assert left > MARGIN - 2 and right < width - MARGIN + 2, textpage.get_text_bounded(
                left, bottom, right, top
            )
            assert bottom > 20 and top < height - 20
    texts = [page.get_textpage().get_text_range() for page in pages]
    at = next(number for number, text in enumerate(texts) if "Verdicts by disco-arctic" in text)
    assert "all together" in " ".join(texts[at + 1].split())


def test_headings_are_bookmarks_under_their_sections(pages: pypdfium2.PdfDocument, report: Printed) -> None:
    headings = [block for block in report.blocks if isinstance(block, Heading)]
    bookmarks = list(pages.get_toc())
    assert [bookmark.get_title() for bookmark in bookmarks] == [in_font(heading.text) for heading in headings]
    assert [bookmark.level for bookmark in bookmarks] == [heading.level - 1 for heading in headings]


def test_its_properties_are_those_of_the_report(pages: pypdfium2.PdfDocument, report: Printed) -> None:
    properties = pages.get_metadata_dict()
    assert properties["Title"] == report.title
    assert properties["Author"] == properties["Creator"] == "EdgeBench"


def test_figures_are_vectors_whose_text_is_text(pages: pypdfium2.PdfDocument) -> None:
    assert "multiple of the limit" in text_of(pages)
    images = [item for page in pages for item in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE])]
    assert len(images) <= 1  # the scene's photograph


def test_equal_results_give_equal_bytes(nothing: Judged, bare: Judged) -> None:
    for judged in (nothing, bare):
        assert FORMS["pdf"].write(judged) == FORMS["pdf"].write(judged)


def test_characters_that_the_fonts_lack_are_question_marks() -> None:
    assert in_font("Ωμέγα Ж ✓ ≤ 中 \N{ROCKET}") == "Ωμέγα Ж ✓ ≤ ? ?"


def test_without_its_library_it_says_how_to_get_it(bare: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("reportlab", "edgebench.report.pdf"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "reportlab", None)
    with pytest.raises(UnavailableError) as caught:
        FORMS["pdf"].write(bare)
    assert caught.value.fix == "pip install 'edgebench[pdf]'"


def test_a_note_says_words_that_trials_share_once() -> None:
    each = (("0.25 fp32", "in 3 of 3"), ("0.25 fp16", "in 3 of 3"), ("0.5 int8", "in 4 of 4"))
    (bullets,) = notes_blocks([Note("replayed", "all 3 trials", each)])
    assert isinstance(bullets, Bullets)
    assert bullets.items == (
        "all 3 trials: replayed (0.25 fp32 and 0.25 fp16: in 3 of 3; 0.5 int8: in 4 of 4)",
    )
