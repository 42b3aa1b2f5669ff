"""A report as Chromium shows it: nothing out of sight, sorted and filtered, for everybody, and safe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.report.renderers.html import render
from tests import synthetic_results
from tests.report import samples
from tests.report.chromium import browser, opened

WIDTHS = (390, 768, 1280, 1920)
# What lies outside the screen, among what is seen; and how much was looked at.
LATENCY = "Latency per image, s"
OUTSIDE = """
() => {
  const width = document.documentElement.clientWidth;
  const seen = [...document.querySelectorAll(
    "table.rows tbody tr > *, table.rows thead th, .decisions *, table.facts td, p, h1, h2, h3, li, " +
    "figcaption, svg.drawn text, img"
  )].filter((element) => element.checkVisibility({contentVisibilityAuto: true}));
  const outside = seen.filter((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const boxes = [...range.getClientRects()];
    if (element.closest("svg, img")) boxes.push(element.getBoundingClientRect());
    return boxes.some((box) => box.width > 1 && (box.left < -1 || box.right > width + 1));
  });
  return {
    page: document.documentElement.scrollWidth,
    seen: seen.length,
    outside: outside.map((element) => `${element.tagName}: ${element.textContent.slice(0, 60)}`),
  };
}
"""


OPEN_ALL = "document.querySelectorAll('details').forEach((each) => (each.open = true))"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as chromium:
        yield chromium


def _written(judged: Judged, folder: Path) -> Path:
    path = folder / "report.html"
    path.write_text(render(judged), "utf-8")
    return path


@pytest.fixture(scope="module")
def report(whole: Judged, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(whole, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def hostile_report(hostile: Judged, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two targets, with a meter, and names that are markup."""
    return _written(hostile, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def long_report(whole: Judged, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(with_long_names(whole), tmp_path_factory.mktemp("long"))


def with_long_names(judged: Judged) -> Judged:
    """Two targets and models with names as long as they get, and many profiles."""
    trials = []
    for number, trial in enumerate(judged.trials):
        target = ("a-board-with-a-name-of-forty-characters_", "Grönland漢字" * 6)[number % 2]
        model = f"a_model_of_ones_own_{'x' * 30}-1a2b3c4d"
        variant = f"{model}-{trial.precision}"
        trials.append(replace(trial, target=target, variant=variant, depth_multiplier=None))
    profiles = (*samples.LIMITS, "a-profile-with-a-name-that-goes-on-for-a-while", "p" * 60)
    # Those of the long names are no profiles.
    return Judged(judged.results, (), trials, samples.verdicts(trials, profiles))


@pytest.mark.parametrize("name", ["report", "long_report", "hostile_report"])
def test_what_a_reader_needs_is_on_the_screen(
    chromium: Any, name: str, request: pytest.FixtureRequest
) -> None:
    with opened(chromium, request.getfixturevalue(name)) as page:
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(OPEN_ALL)
            layout = page.evaluate(OUTSIDE)
            assert layout["seen"] > 200
            assert layout["outside"] == [], width
            assert layout["page"] <= width


BROKEN = """
() => [...document.querySelectorAll("table.trials thead th")].flatMap((heading) => {
  const text = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (text.nextNode())
    for (const word of text.currentNode.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(text.currentNode, word.index);
      range.setEnd(text.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) broken.push(word[0]);
    }
  return broken;
})
"""


@pytest.mark.parametrize("limit", [3.37, 9.0])  # undecided, and nothing that is decided
@pytest.mark.parametrize("kind", ["Mission number {0}", "{0} a mission " * 20, "{0}" + "Mission" * 40])
def test_twelve_profiles_have_room_and_no_heading_breaks_inside_a_word(
    chromium: Any, tmp_path: Path, kind: str, limit: float
) -> None:
    power = {"name": f"power {'W' * 58}", "quantity": "power_peak_w", "statistic": "max", "limit": limit,
             "unit": "W", "comparison": "at most", "wanted": False}  # fmt: skip
    disco = next(profile.as_record() for profile in shipped_profiles() if profile.name == "disco-arctic")
    records = [
        {**disco, "name": f"mission-{n}", "title": kind.format(n)[:200].strip(), "requirements": [power]}
        for n in range(1, 13)
    ]
    results = synthetic_results.made_experiment(
        tmp_path, profiles=records, power=True, targets=("עברית", "cpu")
    )
    with opened(chromium, _written(judge_folder(results), tmp_path)) as page:
        assert page.locator(".decisions section").count() == 1
        name = page.locator("main > .table tbody th bdi").first
        assert name.inner_text() == "עברית"
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(OPEN_ALL)
            layout = page.evaluate(OUTSIDE)
            assert (layout["outside"], page.evaluate(BROKEN)) == ([], []), width
            assert layout["page"] <= width


@pytest.mark.parametrize(("width", "height", "most"), [(1280, 800, 2000), (390, 844, 5000)])
def test_nine_trials_and_three_profiles_are_a_short_page(
    chromium: Any, report: Path, whole: Judged, width: int, height: int, most: int
) -> None:
    assert (len(whole.trials), len(whole.profiles)) == (9, 3)
    with opened(chromium, report, width=width) as page:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollHeight") <= most
        if width > 1000:  # decisions, figure and matrix are on the first screen
            box = page.locator("main > .table tbody tr").last.bounding_box()
            assert box["y"] + box["height"] <= height
            assert page.locator(".top svg.drawn").bounding_box()["y"] < height / 2


def test_a_wide_screen_is_used(chromium: Any, report: Path) -> None:
    with opened(chromium, report, width=1920) as page:
        assert page.locator("main > .table table").bounding_box()["width"] > 1700
        assert page.locator(".decisions").bounding_box()["width"] < 1300
        page.evaluate("document.querySelector('.top figure').remove()")
        assert page.locator(".decisions").bounding_box()["width"] > 1700


def test_every_section_prints_in_full(chromium: Any, report: Path) -> None:
    def pages() -> int:
        return len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(prefer_css_page_size=True)))

    with opened(chromium, report) as page:
        closed = pages()
        assert closed <= 12
        page.emulate_media(media="print")
        assert page.locator("td.standing details > :not(summary)").first.is_visible()
        assert page.get_by_text("What would change the verdicts").last.is_visible()
        page.emulate_media(media="null")
        page.evaluate(OPEN_ALL)
        assert pages() == closed
        page.emulate_media(media="print", color_scheme="dark")
        assert page.locator("details > :not(summary)").first.is_visible()
        assert page.locator(".tools, .enlarge").filter(visible=True).count() == 0
        page.set_viewport_size({"width": 794, "height": 1000})
        assert page.evaluate(OUTSIDE)["outside"] == []
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


WIDTHS_OF_COLUMNS = "[...document.querySelectorAll('.trials thead th')].map((each) => each.offsetWidth)"


def test_a_verdict_opens_to_its_margins(chromium: Any, report: Path) -> None:
    with opened(chromium, report) as page:
        cell = page.locator("td.standing").first
        widths = page.evaluate(WIDTHS_OF_COLUMNS)
        assert "so far" in cell.inner_text() and "margin" not in cell.inner_text()
        cell.locator("summary").click()
        assert "latency per image ≤" in cell.inner_text() and " to spare" in cell.inner_text()
        assert page.evaluate(WIDTHS_OF_COLUMNS) == widths  # the columns stay where they are
        assert "to settle: --board NAME" not in page.locator("main").inner_text()
        page.get_by_text("Unknown for every trial: 3 of the requirements").click()
        assert page.locator("main").inner_text().count("to settle: --board NAME") == 2  # mass and size


def test_so_far_has_a_symbol_and_a_colour_of_its_own(chromium: Any, report: Path) -> None:
    with opened(chromium, report) as page:
        legend = page.locator(".legend")
        colours = {
            word: legend.locator(f".v.{word}").evaluate("each => getComputedStyle(each).color")
            for word in ("pass", "so-far", "inconclusive")
        }
        signs = {
            word: legend.locator(f".v.{word}").evaluate("each => getComputedStyle(each, '::before').content")
            for word in colours
        }
        assert len(set(colours.values())) == len(set(signs.values())) == 3


def _column(page: Any, table: Any, heading: str) -> list[str]:
    place = table.locator("thead th").all_inner_texts().index(heading)
    return [row.locator("> *").nth(place).inner_text() for row in table.locator("tbody tr").all()]


def _median(text: str) -> float:
    """The figure of a cell, before its interval."""
    return float(text.split()[0])


def _latency_table(page: Any) -> Any:
    return page.get_by_role("region", name="Trials", exact=True).locator("table")


def test_a_press_on_a_heading_sorts_whole_rows_by_number(chromium: Any, report: Path, whole: Judged) -> None:
    with opened(chromium, report) as page:
        table = _latency_table(page)
        original = table.locator("tbody tr").all_inner_texts()
        heading = table.locator("thead th").filter(has_text=LATENCY)
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == "ascending"
        values = [_median(text) for text in _column(page, table, LATENCY)]
        assert values == sorted(values) and values[0] < values[-1]
        quickest = min(whole.trials, key=lambda trial: trial.estimate("image_s").value or 1e9)
        assert quickest.precision in table.locator("tbody th").first.inner_text()
        heading.get_by_role("button").focus()
        page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") == "descending"
        values = [_median(text) for text in _column(page, table, LATENCY)]
        assert values == sorted(values, reverse=True)
        assert sorted(table.locator("tbody tr").all_inner_texts()) == sorted(original)
        page.keyboard.press("Enter")
        assert heading.get_attribute("aria-sort") is None
        assert table.locator("tbody tr").all_inner_texts() == original


def test_what_is_missing_is_sorted_last_either_way(chromium: Any, hostile_report: Path) -> None:
    with opened(chromium, hostile_report) as page:
        table = _latency_table(page)
        button = table.locator("thead th").filter(has_text=LATENCY).get_by_role("button")
        for _ in range(2):
            button.click()
            values = _column(page, table, LATENCY)
            assert "-" in values
            assert "-" not in values[: -values.count("-")]


def test_on_a_phone_a_table_is_sorted_by_a_choice(chromium: Any, report: Path) -> None:
    with opened(chromium, report, width=390, has_touch=True) as page:
        table = _latency_table(page)
        assert not table.locator("thead").is_visible()
        page.get_by_label("Sort Trials by", exact=True).select_option(label=f"{LATENCY}, falling")
        cells = table.locator(f"td[data-label='{LATENCY}']").all_inner_texts()
        values = [_median(text.split("\n")[-1]) for text in cells]
        assert values == sorted(values, reverse=True)


def test_the_filter_shows_the_trials_whose_names_have_every_word(chromium: Any, hostile_report: Path) -> None:
    with opened(chromium, hostile_report) as page:
        rows = _latency_table(page).locator("tbody tr")
        box = page.get_by_role("searchbox", name="Show trials")
        box.fill("CORAL fp16")
        shown = [row.inner_text() for row in rows.all() if row.is_visible()]
        assert len(shown) == 2 and all("coral" in text and "fp16" in text for text in shown)
        count = page.locator(".tools:has(+ [aria-label='Trials']) output")
        assert count.inner_text() == "2 of 12 rows" and count.get_attribute("aria-live") == "polite"
        box.fill("no such trial")
        assert rows.filter(visible=True).count() == 0
        box.fill("")
        assert rows.filter(visible=True).count() == 12
        assert count.inner_text() == ""


def test_a_heading_tells_what_it_means_to_mouse_and_keyboard(chromium: Any, report: Path) -> None:
    with opened(chromium, report) as page:
        button = page.locator("thead button[data-tip]").first
        button.focus()
        tip = page.get_by_role("tooltip")
        assert tip.is_visible() and len(tip.inner_text()) > 30
        assert button.get_attribute("aria-describedby") == "tip"
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        button.hover()
        assert tip.is_visible()


def test_without_the_script_the_page_is_whole(chromium: Any, report: Path) -> None:
    with opened(chromium, report, java_script_enabled=False) as page:
        table = _latency_table(page)
        assert table.locator("tbody tr:visible").count() == 9
        assert page.locator("input, select, button").count() == 0
        assert page.locator("thead th[title]").count() > 0
        page.locator("td.standing summary").first.click()
        assert page.locator("td.standing li").first.is_visible()
        assert page.locator("svg.drawn").first.is_visible()


def test_only_the_pages_own_script_runs(chromium: Any, hostile_report: Path, tmp_path: Path) -> None:
    with opened(chromium, hostile_report) as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        assert page.locator("script").count() == 1
        assert page.locator("thead button").count() > 10, "the page's own script runs"
        assert page.evaluate("window.alert.toString().includes('native')")
        # Markup that got in after all would be refused.
        injected = hostile_report.read_text("utf-8").replace(
            "<main", '<script>window.bad = 1</script><img src="x:" onerror="window.bad = 2"><main', 1
        )
        (tmp_path / "injected.html").write_text(injected, "utf-8")
        refused: list[str] = []
        page.on("console", lambda message: refused.append(message.text))
        page.goto((tmp_path / "injected.html").as_uri())
        assert page.evaluate("window.bad") is None
        assert len([text for text in refused if "Content Security Policy" in text]) >= 2
        assert page.locator("thead button").count() > 10
        assert dialogs == []


def test_the_policy_refuses_nothing_of_the_page_itself(chromium: Any, report: Path) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(report.as_uri())
        page.locator("thead button").first.hover()
        assert messages == []


@pytest.mark.parametrize(
    ("name", "width", "scheme"), [("report", 390, "dark"), ("hostile_report", 1280, "light")]
)
def test_an_accessibility_checker_finds_no_fault(
    chromium: Any, name: str, width: int, scheme: str, request: pytest.FixtureRequest
) -> None:
    _check_accessibility(chromium, request.getfixturevalue(name), width, scheme)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "light"), (768, "dark"), (1280, "dark"), (1920, "light")]
)
def test_it_finds_none_at_other_widths_and_colours(
    chromium: Any, hostile_report: Path, width: int, scheme: str
) -> None:
    _check_accessibility(chromium, hostile_report, width, scheme)


def _check_accessibility(chromium: Any, path: Path, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    # The checker's own script is no part of the page, whose policy would refuse it.
    with opened(chromium, path, width=width, color_scheme=scheme, bypass_csp=True) as page:
        page.evaluate(OPEN_ALL)
        faults = Axe().run(page).response["violations"]
        assert [
            f"{fault['impact']}: {fault['id']}: {fault['nodes'][0]['html'][:200]} "
            f"{fault['nodes'][0]['failureSummary']}"
            for fault in faults
        ] == []


def test_dark_figures_are_dark(chromium: Any, report: Path) -> None:
    with opened(chromium, report, color_scheme="dark") as page:
        ground = page.locator("svg.drawn > path").first
        assert ground.evaluate("path => getComputedStyle(path).fill") == "rgb(22, 25, 28)"
        ink = page.locator("svg.drawn text").first.evaluate("text => getComputedStyle(text).fill")
        assert re.fullmatch(r"rgb\((2\d\d, ){2}2\d\d\)", ink)
