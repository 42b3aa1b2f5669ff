from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from edgebench.errors import StoredResultError
from edgebench.judge.answers import answers
from edgebench.judge.judged import Judged
from edgebench.judge.trial_summary import Ended, Verdict
from edgebench.report.answer import paragraphs
from edgebench.report.forms import export_csv
from edgebench.report.html import render, write_report
from edgebench.report.markdown import escape, export_markdown
from edgebench.report.page import environment, report
from edgebench.results.load import StoredResults, load
from tests import synthetic_results
from tests.report import samples

ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "nav", "section",
    "h1", "h2", "h3", "p", "a", "h4", "ul", "li", "span", "br", "wbr",
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


def rendered(judged: Judged) -> str:
    return render(judged.results, judged.summaries, judged.verdicts)


@pytest.fixture(scope="module")
def whole_text(whole: Judged) -> str:
    return rendered(whole)


@pytest.fixture(scope="module")
def hostile_text(hostile: Judged) -> str:
    return rendered(hostile)


@pytest.mark.parametrize("name", ["whole", "hostile", "bare", "nothing"])
def test_it_needs_nothing_from_outside(name: str, request: pytest.FixtureRequest) -> None:
    text = rendered(request.getfixturevalue(name))
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
    text = rendered(request.getfixturevalue(name))
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
    assert "<b>" not in hostile_text
    assert "\u202e" not in hostile_text.replace("\\u202e", "")
    text = Page(hostile_text).text
    for place in ("greenland", "A processor", "governor", "6.1.0", "ai-edge-litert", "keras float32"):
        assert f"{place}<script>alert(1)</script>" in text, place


def test_a_summarys_and_a_verdicts_texts_are_escaped_too(whole: Judged) -> None:
    bad = synthetic_results.HOSTILE
    summaries = [
        replace(
            samples.summary(),
            key=whole.summaries[0].key,
            target=bad,
            variant=f"{bad}-0.25-int8",
            precision=bad,
            reason=bad,
            status="partial",
            cautions=(samples.said(bad),),
            failures=(bad,),
            power_reason=bad,
            stages_ms={bad: 1.0},
            accuracy=replace(samples.accuracy(952), class_names=(bad,) * 5),
        )
    ]
    verdicts = [
        replace(verdict, profile=bad, requirement=bad, quantity=bad, statistic=bad, unit=bad, reason=bad)
        for verdict in samples.verdicts(summaries, ("disco-realtime",))
    ]
    text = render(whole.results, summaries, verdicts)
    assert text.count("<script") == 1
    assert {tag for tag, _ in Page(text).elements} <= ALLOWED


def test_why_no_more_was_measured_and_what_few_sessions_cannot_show(whole: Judged) -> None:
    ended = Ended("time", 3, 0.02, ("<b>: it",), "time of 30 min over, not settled: <b>: it")
    first, *others = whole.summaries
    changed = Judged(whole.results, whole.profiles, [replace(first, ended=ended), *others], whole.verdicts)
    page = rendered(changed)
    assert "Why no more was measured" in page
    assert "time of 30 min over, not settled: &lt;b&gt;: it" in page
    assert page.count("sessions cannot show") == 1
    planned = replace(first, ended=Ended("sessions", 3, 0.02, (), "3 sessions, as planned"))
    changed = Judged(whole.results, whole.profiles, [planned], whole.verdicts)
    assert "Why no more was measured" not in rendered(changed)


def test_pictures_have_words_beside_them(whole_text: str) -> None:
    page = Page(whole_text)
    alternatives = [image["alt"] or "" for image in page.all("img")]
    drawn = page.all("svg")
    assert all(figure["role"] == "img" for figure in drawn)
    alternatives += [figure["aria-label"] or "" for figure in drawn]
    assert len(alternatives) == len(page.all("figcaption")) == 10
    assert all(len(words) > 40 for words in alternatives)
    assert any("from 0." in words for words in alternatives)


def test_it_says_what_a_reader_needs(whole: Judged, whole_text: str) -> None:
    text = Page(whole_text).text
    assert "9 trials of mobilenet_v1 on cpu" in text
    for name in ("disco-realtime", "disco-arctic", "disco-greenland"):
        assert name in text
    assert "≤ 71.7375 s" in text
    first = whole.summaries[0]
    assert first.image_s and first.accuracy
    assert f"{first.accuracy.k}/{first.accuracy.n}" in text
    assert f"{first.image_s.low:.3f}"[:5] in text
    assert "crops that share pixels" in text
    assert "no meter was asked for" in text
    assert "governor: unknown" in text
    assert "edgebench run --device cpu --quick" in text
    assert "Student's t over the medians of the sessions" in text
    assert "40 images" in text
    assert "131 MB" in text
    assert text.count("label \\ predicted") == 9


def test_the_share_of_the_scene_stands_beside_the_figure(whole: Judged) -> None:
    parts = [
        replace(summary, timed="64 patches, 82.4 % of it", scene_covered=0.824) for summary in whole.summaries
    ]
    for text in (
        render(whole.results, parts, []),
        export_markdown(whole.results, parts, []).replace("\\", ""),
    ):
        assert "image_s: the patches of the scene, 82.4 % of it" in text
        assert "64 patches, 82.4 % of it" in text
        assert "the whole scene" not in text
    assert "image_s: the whole scene" in render(whole.results, whole.summaries, [])
    [line] = [line for line in export_csv(parts[:1], []).splitlines() if line.startswith(parts[0].key)]
    assert ",0.824," in line


def test_image_s_and_infer_s_never_share_a_table(whole_text: str) -> None:
    for table in re.findall(r"<table>.*?</table>", whole_text, re.DOTALL):
        assert not ("image_s" in table and "infer_s" in table)


def test_verdicts_that_trials_share_share_a_row(whole_text: str) -> None:
    assert Page(whole_text).text.count("all 9 trials power_peak_w max") == 3


def test_trials_of_every_kind_have_their_reason(hostile_text: str) -> None:
    text = Page(hostile_text).text
    for expected in (
        "unsupported: it needs 12 MB and the device has 8 MB",
        "SIGSEGV",
        "not run",
        "rapl:package",
        "covers the chip only",
    ):
        assert expected in text, expected


def test_little_or_nothing_measured_is_still_a_page(bare: Judged, nothing: Judged) -> None:
    text = Page(rendered(bare)).text
    assert "no images were given" in text
    assert "There is no figure of accuracy against latency" in text
    assert "inconclusive" in text
    text = Page(rendered(nothing)).text
    assert "There is no figure of image_s: no trial has a time." in text
    assert "There is no picture of the scene: no trial predicted all of its patches." in text
    assert "No trial was measured: 3 trials without a session." in text


def test_what_would_have_to_change_stands_on_the_page_and_in_markdown(whole: Judged) -> None:
    said = paragraphs(answers(whole.summaries, whole.profiles, whole.verdicts), whole.summaries)
    assert said
    page = " ".join(Page(render(whole.results, whole.summaries, whole.verdicts, whole.profiles)).text.split())
    markdown = export_markdown(whole.results, whole.summaries, whole.verdicts, whole.profiles)
    for heading, sentences in said:
        assert heading in page
        assert all(sentence in page for sentence in sentences)
        assert f"### {heading}" in markdown
        assert all(f"- {escape(sentence)}" in markdown for sentence in sentences)


def test_no_profile_no_verdict(whole: Judged) -> None:
    text = Page(render(whole.results, whole.summaries, [])).text
    assert "No profile was asked for, so nothing was judged." in text


def test_the_headline_says_who_passes(whole: Judged) -> None:
    def headline(verdicts: list[Verdict]) -> str:
        return report(whole.results, whole.summaries, verdicts).cards[0].answer.headline

    only_latency = [verdict for verdict in whole.verdicts if verdict.quantity == "image_s"]
    satisfied = headline(only_latency)
    assert satisfied.startswith("All 9 trials satisfy it. The quickest is 0.25 int8 (image_s ")
    failing = [replace(verdict, verdict="fail", margin=-1.0) for verdict in only_latency]
    assert headline(failing) == "No trial satisfies it: all 9 miss a requirement."  # by no known profile
    first = whole.summaries[0].key
    mixed = [old if old.trial == first else new for old, new in zip(only_latency, failing, strict=True)]
    assert headline(mixed).startswith("0.25 fp32 alone satisfies it (image_s ")
    answer = report(whole.results, whole.summaries, whole.verdicts).cards[0].answer
    assert answer.headline == (
        "No trial is shown to satisfy it: 9 of 9 trials cannot be decided. The nearest of these is 0.25 int8 "
        "(image_s 0.201 ±0.003 s), open in power_peak_w (unknown), mass_g (unknown) and size_mm (unknown)."
    )
    assert answer.settling == (
        "power_peak_w by --meter KIND, or --declared-power POWER",
        "mass_g and size_mm by --board NAME",
    )


def test_a_repeated_session_leaves_nothing_unmeasured(whole: Judged, hostile_text: str) -> None:
    summaries = [
        replace(whole.summaries[0], failures=("session 001: crash in measure",)),
        *whole.summaries[1:],
    ]
    repeated = render(whole.results, summaries, whole.verdicts)
    assert "Measured in full, after sessions that failed were repeated:" in repeated
    assert "Not everything was measured" not in repeated
    assert "Not everything was measured:" in hostile_text


def test_the_same_result_gives_the_same_bytes(whole: Judged, whole_text: str) -> None:
    again = load(whole.results.path)
    assert render(again, whole.summaries, whole.verdicts) == whole_text


def test_it_appears_whole_or_not_at_all(whole: Judged, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write_report(whole.results, whole.summaries, whole.verdicts, path) == path
    assert path.read_text().endswith("</html>\n")
    assert list(tmp_path.iterdir()) == [path]
    blocked = tmp_path / "a file"
    blocked.write_text("")
    with pytest.raises(StoredResultError):
        write_report(whole.results, whole.summaries, whole.verdicts, blocked / "report.html")


def test_below_a_matrix_stands_the_word_of_each_verdict(whole_text: str) -> None:
    verdicts = whole_text[whole_text.index('<h2 id="verdicts">') : whole_text.index("<h3>Every verdict")]
    assert re.search(r"<li>image_s median ≤ [^<]*: pass for all 9 trials, margin", verdicts)


def test_every_cell_names_its_column_for_narrow_screens(whole_text: str) -> None:
    [table] = re.findall(r'<table class="rows wide">.*?</table>', whole_text, re.DOTALL)[:1]
    headings = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', table)
    first = table[table.index("<tbody>") : table.index("</tr>", table.index("<tbody>"))]
    assert re.findall(r'data-label="([^"]*)"', first) == headings[1:]


def test_a_long_figure_breaks_and_leaves_its_row_to_the_reason(whole: Judged) -> None:
    first, *others = (verdict for verdict in whole.verdicts if verdict.value is not None)
    declared = replace(first, value=4.5, quantity="power_peak_w", unit="W", limit=5.0, declared="maximum")
    text = render(whole.results, whole.summaries, [declared, *others])
    assert re.findall(r'<td class="([^"]*)"[^>]*>4.50 W \(declared maximum\)</td>', text) == ["n broken"]
    assert '<td class="n" ' in text


def test_trials_that_a_row_counts_can_be_looked_up(whole: Judged) -> None:
    some = [summary.key for summary in whole.summaries[:5]]
    verdicts = [
        verdict for verdict in samples.verdicts(whole.summaries, ("p",)) if verdict.quantity == "mass_g"
    ]
    mixed = [replace(verdict, reason="another") if verdict.trial in some else verdict for verdict in verdicts]
    page = render(whole.results, whole.summaries, mixed)
    counted = "5 of 9 trials (0.25 fp32, 0.25 fp16, 0.25 int8 and 2 more)"
    assert (
        f"<summary>{counted}</summary>0.25 fp32, 0.25 fp16, 0.25 int8, 0.5 fp32, 0.5 fp16</details>" in page
    )


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


def test_what_is_folded_is_printed(whole_text: str) -> None:
    style = whole_text[: whole_text.index("</style>")]
    assert (
        "details::details-content { display: block; content-visibility: visible"
        in style.split("@media print")[1]
    )
