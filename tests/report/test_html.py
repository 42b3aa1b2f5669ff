from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from edgebench.judge.judged import Judged
from edgebench.judge.trial import Ended, Estimate, SceneOfTrial
from edgebench.report.environment import environment
from edgebench.report.renderers.html import render
from edgebench.report.renderers.markdown import export_markdown
from edgebench.results.load import StoredResults, load
from tests import synthetic_results
from tests.report import samples

ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "nav", "section",
    "h1", "h2", "h3", "p", "ul", "li", "span", "small", "b", "bdi", "wbr", "code",
    "table", "thead", "tbody", "tr", "th", "td",
    "div", "figure", "figcaption", "img", "details", "summary", "pre", "dl", "dt", "dd", "script",
    "svg", "g", "path", "use", "text", "tspan", "defs", "clippath", "rect", "pattern", "image",
}  # fmt: skip
VOID = {"meta", "img", "br", "wbr"}


class Page(HTMLParser):
    """The elements of a page, its text, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def whole_text(whole: Judged) -> str:
    return render(whole)


@pytest.fixture(scope="module")
def hostile_text(hostile: Judged) -> str:
    return render(hostile)


@pytest.mark.parametrize("name", ["whole", "hostile", "bare", "nothing"])
def test_it_needs_nothing_from_outside(name: str, request: pytest.FixtureRequest) -> None:
    text = render(request.getfixturevalue(name))
    page = Page(text)
    assert {tag for tag, _ in page.elements} <= ALLOWED
    for tag, attributes in page.elements:
        assert not any(attribute.startswith("on") for attribute in attributes), tag
        for attribute in ("src", "href", "srcset", "action", "data", "poster", "background"):
            value = attributes.get(attribute) or ""
            assert value == "" or value.startswith(("#", "data:image/")), (tag, attribute)
        assert "style" not in attributes
        for text_of_it in attributes.values():
            assert not re.search(r"url\s*\((?!#figure-)", text_of_it or ""), tag
    style = text[text.index("<style>") : text.index("</style>")]
    assert not re.search(r"url\s*\(|@import|expression|://", style)


@pytest.mark.parametrize("name", ["whole", "hostile"])
def test_its_policy_lets_its_own_style_and_script_run_and_nothing_else(
    name: str, request: pytest.FixtureRequest
) -> None:
    text = render(request.getfixturevalue(name))
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    [policy] = [
        meta["content"] or ""
        for meta in Page(text).all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert dict(directive.split(" ", 1) for directive in policy.split("; ")) == {
        "default-src": "'none'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "style-src": hash_source(style),
        "script-src": hash_source(script),
    }


def hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_no_id_is_there_twice(whole_text: str, hostile_text: str) -> None:
    for text in (whole_text, hostile_text):
        page = Page(text)
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids)) > 20
        pointed_at = re.findall(r'(?:href="#|url\(#)([^")]*)', text)
        assert set(pointed_at) <= set(ids)


def test_text_from_outside_stays_text(hostile_text: str) -> None:
    assert hostile_text.count("<script") == 1
    assert "<b>&amp;" not in hostile_text
    assert "\u202e" not in hostile_text.replace("\\u202e", "")
    text = Page(hostile_text).text
    for place in ("greenland", "A processor", "governor", "6.1.0", "ai-edge-litert", "keras float32"):
        assert f"{place}<script>alert(1)</script>" in text, place


def test_a_summarys_and_a_verdicts_texts_are_escaped_too(whole: Judged) -> None:
    bad = synthetic_results.HOSTILE
    trials = [
        samples.summary(
            key=whole.trials[0].key,
            target=bad,
            variant=f"{bad}-0.25-int8",
            precision=bad,
            reason=bad,
            status="partial",
            cautions=(samples.said(bad),),
            failures=(bad,),
            power_peak_w=Estimate(reason=bad),
            stages_ms={bad: 1.0},
            confusions=(replace(samples.confusion(952), classes=(bad,) * 5),),
        )
    ]
    verdicts = [
        replace(
            verdict, profile=bad, requirement=verdict.requirement.model_copy(update={"name": bad}), reason=bad
        )
        for verdict in samples.verdicts(trials, ("disco-realtime",))
    ]
    text = render(samples.judged(trials, verdicts, whole.results))
    assert text.count("<script") == 1
    assert {tag for tag, _ in Page(text).elements} <= ALLOWED


def test_why_no_more_was_measured_and_what_few_sessions_cannot_show(whole: Judged) -> None:
    ended = Ended("time", 3, 0.02, ("<b>: it",), "time of 30 min over, not settled: <b>: it")
    first, *others = whole.trials
    page = render(replace(whole, trials=[replace(first, ended=ended), *others]))
    assert "time of 30 min over, not settled: &lt;b&gt;: it" in page
    assert "3 sessions can miss slow starts" in page
    planned = replace(first, ended=Ended("sessions", 3, 0.02, (), "3 sessions, as planned"))
    assert "as planned" not in render(replace(whole, trials=[planned, *others]))


def test_pictures_have_words_beside_them(whole_text: str) -> None:
    page = Page(whole_text)
    alternatives = [image["alt"] or "" for image in page.all("img")]
    drawn = page.all("svg")
    assert all(figure["role"] == "img" for figure in drawn)
    alternatives += [figure["aria-label"] or "" for figure in drawn]
    assert len(alternatives) == len(page.all("figcaption")) > 3
    assert all(len(words) > 40 for words in alternatives)


def test_the_share_of_the_scene_stands_beside_the_figure(whole: Judged) -> None:
    parts = [
        replace(trial, scene=SceneOfTrial("64 patches, 82.4 % of it", covered=0.824))
        for trial in whole.trials
    ]
    cut = replace(whole, trials=parts)
    for text in (render(cut), export_markdown(cut).replace("\\", "")):
        assert "all 9 trials: timed with 64 patches, 82.4 % of it" in text
    assert "timed with" not in render(whole)


def test_little_or_nothing_measured_is_still_a_page(bare: Judged, nothing: Judged) -> None:
    text = Page(render(bare)).text
    assert "no images were given" in text
    assert "undecided" in text
    text = Page(render(nothing)).text
    assert "No variant was measured for DISCO, Arctic region, Greenland and real time" in text
    assert "Incomplete not run: no session has run." in text


def test_without_a_profile_the_command_that_judges_is_said(whole: Judged) -> None:
    text = Page(render(samples.judged(whole.trials, [], whole.results))).text
    assert "Not judged No profile was given. edgebench fit made --profile disco-realtime" in text


def test_a_verdict_of_unknown_requirements_alone_names_them_and_their_reasons_come_once(
    whole: Judged,
) -> None:
    unknown = [verdict for verdict in whole.verdicts if verdict.word == "unknown"]
    judged = samples.judged(whole.trials, unknown, whole.results)
    page = render(judged)
    assert re.search(r"<ul>\s*</ul>", page) is None
    text = Page(page).text
    named = "peak power over 1 s ≤ 5 W, mass ≤ 150 g, size ≤ 10 x 70 x 80 mm: unknown for every trial"
    assert text.count(named) == 3 * len(whole.trials)
    [mass] = {verdict.reason for verdict in unknown if verdict.requirement.quantity == "mass_g"}
    assert text.count(mass) == 1
    assert not re.search(r"^#+ .*\n+#", export_markdown(judged).split("Margins and reasons")[1], re.M)


def test_a_decision_names_what_was_not_measured_and_the_command_that_adds_it(whole: Judged) -> None:
    text = Page(render(whole)).text
    assert "All 9 variants satisfy DISCO, Arctic region, Greenland and real time , in everything" in text
    run = "edgebench run --device cpu --quick --meter KIND"
    assert f"Not measured peak power over 1 s (edgebench meters list). {run} " in text
    # What is declared takes no new measurement.
    declare = "edgebench fit made --board NAME"
    assert f"Not declared mass and size (edgebench boards list). {declare}" in text


def test_the_same_result_gives_the_same_bytes(whole: Judged, whole_text: str) -> None:
    assert render(replace(whole, results=load(whole.results.path))) == whole_text


def test_every_cell_names_its_column_for_narrow_screens(whole_text: str) -> None:
    [table] = re.findall(r'<table class="rows trials[ a-z]*">.*?</table>', whole_text, re.DOTALL)[:1]
    headings = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', table)
    first = table[table.index("<tbody>") : table.index("</tr>", table.index("<tbody>"))]
    assert re.findall(r'data-label="([^"]*)"', first) == headings[1:]


def test_settings_that_nobody_gave_are_one_row(whole: Judged) -> None:
    settings = {
        "depth": {"value": None, "origin": "default"},
        "seed": {"value": 1, "origin": "flag"},
        "meter": {"value": [], "origin": "default"},
    }
    record = whole.results.experiment.model_copy(update={"config": settings})
    rows = {row[0]: row[1] for row in environment(StoredResults(whole.results.path, record))[0].rows}
    assert rows["not given"] == "depth, meter"
    assert rows["seed"] == "1 (flag)" and "depth" not in rows
