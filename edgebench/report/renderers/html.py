"""The report as one HTML file that needs no network and no other file.

Its policy lets one style and one script run, those of the templates, by their hashes: whatever text came in
from outside cannot style or run anything. Without the script the page is whole; with it tables are sorted
and filtered.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Mapping
from xml.etree import ElementTree

import jinja2
from markupsafe import Markup, escape

from edgebench.judge.judged import Judged
from edgebench.judge.verdicts.front import fronts
from edgebench.report import words
from edgebench.report.missions import brief_missions
from edgebench.report.page import first_screen
from edgebench.report.plots import drawing
from edgebench.report.plots.panels import Picture
from edgebench.report.plots.pictures import pictures
from edgebench.report.sections import sections

# A drawn figure as SVG within a page: text that stays text, colours of the page, no id twice, tooltips.


_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_DROPPED = {f"{_SVG}metadata", f"{_SVG}style"}
# What an element of a figure may have; of anything else a page has no use.
_ATTRIBUTES = {
    "clip-path", "d", "fill", "fill-opacity", "fill-rule", "font-size", "font-style", "font-weight", "height",
    "href", "id", "lengthAdjust", "opacity", "patternUnits", "preserveAspectRatio", "r", "cx", "cy", "stroke",
    "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit",
    "stroke-opacity", "stroke-width", "text-anchor", "textLength", "transform", "viewBox", "width", "x", "y",
}  # fmt: skip
# The drawn greys, by lightness up to: what the page calls such a colour.
_GREYS = ((0.25, "ink"), (0.6, "quiet"), (0.82, "faint"), (0.97, "line"), (1.0, "page"))
_TINT = 0.7  # of the least channel: from here on a colour is a film of a stronger one over white
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_RTL = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]+"
_RIGHT_TO_LEFT = re.compile(rf"{_RTL}(?:[ ._-]+{_RTL})*")
_LONG_WORD = re.compile(r"\S{14}(?=\S)")  # of a heading: shorter words are never broken
_REFERENCED = re.compile(r"""(?:href="|url\()#([^")]+)""")  # ids that something in a figure points to


def inline_svg(drawn: bytes, prefix: str, alt: str, tooltips: Mapping[str, str] | None = None) -> str:
    """The element to put into a page.

    Args:
        drawn: a figure by matplotlib, saved with `svg.fonttype` none.
        prefix: in front of every id: letters, digits and hyphens, another for every figure of a page.
        alt: the words for those who cannot see it; any text.
        tooltips: by the id of an element, the text that is shown when it is pointed at; any text.
    """
    root = ElementTree.fromstring(drawn)
    tooltips = tooltips or {}
    _cleaned(root, {*_REFERENCED.findall(drawn.decode()), *tooltips}, prefix)
    for element in list(root.iter()):
        text = tooltips.get((element.get("id") or "").removeprefix(f"{prefix}-"))
        if text:
            title = ElementTree.Element("title")
            title.text = text
            element.insert(0, title)
            element.set("class", "mark")
            del element.attrib["id"]
    width, height = root.attrib["viewBox"].split()[2:]
    root.attrib = {
        "class": "drawn",
        "role": "img",
        "aria-label": alt,
        "viewBox": root.attrib["viewBox"],
        "width": width,
        "height": height,
        "stroke-linejoin": "round",  # what matplotlib states in a style of the figure
    }
    return ElementTree.tostring(root, encoding="unicode")


def _cleaned(element: ElementTree.Element, kept_ids: set[str], prefix: str) -> None:
    """Bring an element and all below it into the page's form, in place."""
    element.tag = str(element.tag).removeprefix(_SVG)
    element.tail = None
    element.attrib = _page_attributes(element, kept_ids, prefix)
    if element.tag == "text":
        _fit_text(element)
    else:
        element.text = None
    children = []
    for child in list(element):
        if child.tag in _DROPPED:
            continue
        _cleaned(child, kept_ids, prefix)
        if child.tag == "defs" and not len(child):
            continue
        # A group that says nothing is left out, and what it holds stays.
        children += list(child) if child.tag == "g" and not child.attrib else [child]
    element[:] = children


def _page_attributes(element: ElementTree.Element, kept_ids: set[str], prefix: str) -> dict[str, str]:
    style = (declaration.partition(":") for declaration in element.attrib.get("style", "").split(";"))
    declared = {name.strip(): value.strip() for name, _, value in style}
    page = {}
    for name, value in (element.attrib | declared).items():
        name = "href" if name == _HREF else name
        if name not in _ATTRIBUTES or (name == "id" and value not in kept_ids):
            continue
        if name == "id":
            value = f"{prefix}-{value}"
        elif name == "href" and value.startswith("#"):
            value = f"#{prefix}-{value[1:]}"
        elif name in ("d", "x", "y", "transform", "width", "height"):
            value = _NUMBER.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), value)
            value = " ".join(value.split())
        page[name] = value.replace("url(#", f"url(#{prefix}-")
    for name in ("fill", "stroke"):
        if page.get(name, "").startswith("#"):
            page |= _page_colour(name, page[name], float(page.get(f"{name}-opacity", 1)))
    if re.fullmatch(r"rotate\(-?0( [\d. -]*)?\)", page.get("transform", "")):
        del page["transform"]
    return page


def _page_colour(name: str, colour: str, opacity: float) -> dict[str, str]:
    """The attributes for a drawn colour: greys are the page's own, light tints a film over the page."""
    red, green, blue = (int(colour[offset : offset + 2], 16) for offset in (1, 3, 5))
    least = min(red, green, blue) / 255
    if max(red, green, blue) - min(red, green, blue) <= 8:
        return {name: f"var(--{next(word for upper, word in _GREYS if least <= upper)})"}
    if least < _TINT:
        return {name: colour}
    share = 1 - least
    strong = "".join(f"{round((value - 255 * least) / share):02x}" for value in (red, green, blue))
    return {name: f"#{strong}", f"{name}-opacity": f"{share * opacity:.3g}"}


def _fit_text(element: ElementTree.Element) -> None:
    """Give a text the width it was drawn with, so that another font leaves the figure's layout as it is."""
    text = element.text or ""
    if len(text) < 2 or "font-size" not in element.attrib:
        return
    size = float(element.attrib["font-size"].removesuffix("px"))
    width = drawing.text_width(text, size, element.get("font-weight", "normal"))
    element.set("textLength", f"{width:.1f}")
    element.set("lengthAdjust", "spacingAndGlyphs")


def render(judged: Judged) -> str:
    """The whole page; the same text for the same result."""
    templates = _templates()
    style, script = (_shipped(name) for name in ("style.css.j2", "report.js"))
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash_source(style)}; script-src {_hash_source(script)}"
    )
    trials, profiles = judged.trials, judged.profiles
    missions = brief_missions(judged)
    template = templates.get_template("report.html.j2")
    with drawing.uncollected():
        drawn = pictures(judged, missions)
        plots = {
            place: _shown(picture, f"figure-{number}")
            for number, (place, picture) in enumerate(drawn.items(), 1)
        }
        document = template.render(
            page=first_screen(judged),
            sections=sections(judged, fronts(trials, profiles), missions),
            figures=plots,
            policy=policy,
            style=style,
            script=script,
            version=words.plain(judged.results.experiment.edgebench_version, 40),
        )
    return document if document.endswith("\n") else document + "\n"


def _shown(picture: Picture, prefix: str) -> dict[str, str]:
    """Words of a picture, and an SVG element or a photograph's address; neither where nothing is drawn."""
    shown = {"alt": picture.alt, "caption": picture.caption, "src": "", "svg": ""}
    if picture.figure is not None and picture.is_photograph:
        shown["src"] = drawing.jpeg_uri(picture.figure)
    elif picture.figure is not None:
        # Its text is text, in the font that the reader's machine has.
        svg = drawing.as_bytes(picture.figure, "svg", outlined=False)
        shown["svg"] = Markup(inline_svg(svg, prefix, picture.alt, drawing.tooltips(picture.figure)))
    return shown


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("edgebench.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.globals["screen_word"] = words.screen_word
    environment.filters["isolated"] = _isolated
    environment.filters["breakable"] = _breakable
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment


def _isolated(text: str) -> Markup:
    """Text in which right-to-left words leave the order of what is around them as it is."""
    return Markup(_RIGHT_TO_LEFT.sub(lambda run: f"<bdi>{run[0]}</bdi>", escape(text)))


def _breakable(heading: str) -> Markup:
    """A heading in which only words that are longer than most may be broken."""
    return Markup("<wbr>").join(map(_isolated, _LONG_WORD.sub("\\g<0>\0", heading).split("\0")))


def _shipped(name: str) -> Markup:
    """The style or the script of the templates, which nothing from outside is put into."""
    return Markup(_templates().get_template(name).render())


def _hash_source(text: str) -> str:
    """Source in a policy for an element of exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
