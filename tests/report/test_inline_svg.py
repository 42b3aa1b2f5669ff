from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from edgebench.report.plots import drawing
from edgebench.report.renderers.html import inline_svg
from tests.synthetic_results import HOSTILE

NAME = "</title></svg><script>alert(1)</script>"


def drawn(colour: str = "#0072B2") -> tuple[bytes, dict[str, str]]:
    with drawing.style():
        figure = Figure(figsize=(4, 3), layout="constrained")
        axes = figure.subplots()
        drawing.dress(axes)
        [line] = axes.plot(
            [1, 2, 3], [1.123456789, 2, 3], marker="o", color=colour, label=drawing.label(NAME)
        )
        axes.axvspan(1, 2, color="#d3e5f1")
        axes.set_title(drawing.label(HOSTILE))
        axes.legend()
        drawing.mark(line, "trial", NAME)
    return drawing.as_bytes(figure, "svg", outlined=False), dict(drawing.tooltips(figure))


def element(prefix: str = "figure-1") -> ElementTree.Element:
    svg, tooltips = drawn()
    return ElementTree.fromstring(inline_svg(svg, prefix, f"alt {NAME}", tooltips))


def test_markup_in_names_is_text() -> None:
    root = element()
    assert {child.tag for child in root.iter()} <= {
        "svg",
        "g",
        "path",
        "use",
        "text",
        "defs",
        "clipPath",
        "rect",
        "title",
    }
    assert NAME in [text.text for text in root.iter("text")]
    assert root.get("aria-label") == f"alt {NAME}" and root.get("role") == "img"


def test_what_is_pointed_at_tells_its_values() -> None:
    [title] = element().iter("title")
    assert title.text == NAME
    [mark] = [child for child in element().iter() if child.get("class") == "mark"]
    assert mark.find("title") is not None and len(mark) > 1


def test_ids_are_a_figures_own_and_all_are_used() -> None:
    text = ElementTree.tostring(element("figure-7"), encoding="unicode")
    ids = set(re.findall(r' id="([^"]*)"', text))
    assert ids and all(name.startswith("figure-7-") for name in ids)
    assert ids == set(re.findall(r'(?:href="#|url\(#)([^")]*)', text))


def test_nothing_has_a_style_of_its_own_and_greys_are_the_pages() -> None:
    root = element()
    assert not any("style" in child.attrib for child in root.iter())
    colours = {child.get(name) for child in root.iter() for name in ("fill", "stroke")} - {None}
    assert {"var(--ink)", "var(--page)", "var(--line)", "#0072b2"} <= colours
    assert "#ffffff" not in colours and "#d3e5f1" not in colours
    [film] = [child for child in root.iter() if child.get("fill", "").startswith("#0068")]
    assert float(film.attrib["fill-opacity"]) == pytest.approx(0.173)


def test_text_keeps_the_width_that_it_was_drawn_with() -> None:
    [title] = [text for text in element().iter("text") if text.text == drawing.label(HOSTILE)]
    assert title.get("lengthAdjust") == "spacingAndGlyphs"
    # DejaVu Sans Bold at 10 px: about 7 px a character.
    assert 4 < float(title.attrib["textLength"]) / len(title.text or "") < 9


def test_the_same_figure_gives_the_same_text() -> None:
    svg, tooltips = drawn()
    assert inline_svg(svg, "a", "", tooltips) == inline_svg(*drawn()[:1], "a", "", tooltips)
