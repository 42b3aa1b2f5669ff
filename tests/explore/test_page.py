"""The page of a lab in Chromium: what it selects, draws, says and gives, for everybody, and safely."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from edgebench.stats.compare import ratios
from tests.explore.made_sites import Made, called
from tests.report.chromium import browser, opened

pytestmark = pytest.mark.slow

WIDTHS = (390, 768, 1280, 1920)
FIRST = "0000000000000001/co0.25fp32"
VIEWS = (
    "",
    "#view=compare&baseline=" + FIRST,
    "#view=history",
    "#view=trial&trial=" + FIRST,
    "#xlimit=1&profile=disco-realtime",
)
LOADED = "data && !document.querySelector('#view-title').textContent.startsWith('Loading')"
"""True after the data are loaded, and in a view of sessions the sessions."""
HOSTILE = "<img src=x onerror=alert(1)>\"'`${alert(1)}</script><script>alert(1)</script>&amp; =1+1 \u202egnp"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 results of 9 trials and two published figures."""
    made = (
        Made()
        .lab(24)
        .published("https://example.org/paper", image_s=(0.05, None, None), accuracy=(0.9, None, None))
    )
    made.published("a table", image_s=(0.5, None, None))
    return made.written(tmp_path_factory.mktemp("lab") / "site")


@contextmanager
def shown(chromium: Any, index: Path, address: str = "", width: int = 1280, **context: Any) -> Iterator[Any]:
    """The page with what is chosen; no error, refused file or request to elsewhere may come up meanwhile."""
    faults: list[str] = []
    with opened(chromium, index.parent / "LICENSES.txt", width, **context) as page:
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on(
            "request",
            lambda request: (
                faults.append(request.url)
                if not request.url.startswith(("file:", "data:", "blob:"))
                else None
            ),
        )
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.goto(index.as_uri() + address)
        until(page, LOADED)
        yield page
    assert faults == []


def until(page: Any, expression: str) -> None:
    """Waits for what becomes true; Playwright's own waiting compiles, which the page's policy refuses."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"not within ten seconds: {expression}")


def count(page: Any) -> str:
    return str(page.locator("#count").inner_text())


def column(page: Any, heading: str) -> list[str]:
    """The texts of a column of the table."""
    heads = [re.sub(" [▲▼]", "", text) for text in page.locator("#table thead th").all_inner_texts()]
    return list(page.locator(f"#table tbody tr > :nth-child({heads.index(heading) + 1})").all_inner_texts())


def chosen_rows(page: Any, button: str) -> Any:
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    return Path(download.value.path()).read_bytes()


def test_the_first_view_draws_every_trial_that_has_both_figures(chromium, lab):
    with shown(chromium, lab) as page:
        assert count(page) == "218 of 218 trials selected."
        assert page.locator("#chart-title").inner_text() == "Accuracy against latency per image"
        marks = page.locator("#scatter path.mark").evaluate_all(
            "all => all.map((path) => path.getAttribute('d'))"
        )
        assert sum(path.count("z") for path in marks) == 217
        assert "1 with no accuracy: not measured" in page.locator("#undrawn").inner_text()
        assert page.locator("#scatter path.front").get_attribute("d").startswith("M")
        assert "published figure" in page.locator("#legend").inner_text()


SMALL, LARGE = "640 x 480 pixels, 6 patches of 224 x 224", "4512 x 4512 pixels, 400 patches of 224 x 224"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measured trials of two scenes, and faster ones that were not measured."""
    made = Made()
    for k, (kind, scene, image_s) in enumerate(
        (
            *(("measured", SMALL, 0.01 * (1 + k)) for k in range(2)),
            *(("measured", LARGE, 1.0 + k) for k in range(3)),
            *(("published", LARGE, 0.2 + k / 10) for k in range(4)),
            ("replay", LARGE, 0.1),
            ("emulated", LARGE, 0.1),
        )
    ):
        labels = {
            "kind": kind,
            "scene": scene,
            "device": "cpu",
            "model": "m",
            "trial": f"t{k}",
            "result": "r",
        }
        labels |= {"id": "" if kind == "published" else f"{k:016x}", "key": str(k), "source": str(k)}
        accuracy = (0.5 + image_s / 10, None, None)
        sessions = {} if kind == "published" else {"image_s": [image_s, image_s * 1.1, image_s * 1.2]}
        made.trial(labels, {"image_s": (image_s, None, None), "accuracy": accuracy}, sessions)
    return made.written(tmp_path_factory.mktemp("kinds") / "site")


def test_each_kind_has_its_mark_and_fronts_hold_measured_trials_of_one_scene(chromium, kinds):
    with shown(chromium, kinds) as page:
        legend = page.locator("#legend").inner_text()
        for text in ("published figure", "replay, not measured", "emulated, not measured"):
            assert text in legend
        around = page.locator("#scatter path.kind").get_attribute("d")
        assert (
            around.count("z") == 6 and len({path[path.index("m") :] for path in around.split("M")[1:]}) == 3
        )
        front = page.locator("#scatter path.front")
        assert (
            front.get_attribute("d").count("L") == 4
        )  # steps of the three measured trials of the large scene
        assert "Pareto front of measured trials" in legend and "each" not in legend
        page.evaluate(f"go({{ scene: [{SMALL!r}, {LARGE!r}] }})")
        assert front.get_attribute("d").count("M") == 2  # one each
        assert "for each model family and scene" in page.locator("#legend").inner_text()
        page.evaluate("go({ kind: ['published', 'replay', 'emulated'], scene: null })")
        assert page.locator("#scatter path.front").get_attribute("d") == ""


def test_scenes_are_together_on_an_axis_only_where_they_are_chosen(chromium, kinds):
    with shown(chromium, kinds) as page:
        assert count(page) == "11 of 11 trials selected."
        drawn = "scatter.points.map(({ i }) => label(data, 'scene', i))"
        assert page.evaluate(drawn) == [LARGE] * 9  # the one of the most measured trials
        assert f"2 of other scenes than {LARGE}" in page.locator("#undrawn").inner_text()
        page.locator(f"input[name=scene][value='{SMALL}']").check()
        assert page.evaluate(drawn) == [SMALL] * 2 and count(page).startswith("2 of 11")
        page.locator(f"input[name=scene][value='{LARGE}']").check()
        assert sorted(set(page.evaluate(drawn))) == [LARGE, SMALL]
        assert page.locator("#undrawn").inner_text() == ""
        page.evaluate("go({ scene: null, view: 'compare', baseline: '0000000000000002/2' })")
        until(page, LOADED)
        texts = column(page, "Ratio of latency per image")
        assert texts[:2] == ["missing"] * 2 and "missing" not in texts[2:5]
        reason = page.locator("#table td small").first.get_attribute("title")
        assert reason == "another scene than the baseline's"


def test_runs_without_a_session_are_one_line(chromium, tmp_path):
    made = Made().lab(1)
    index = made.written(tmp_path / "site")
    (index.parent / "data.js").write_text(called("edgebenchData", made.data() | {"without_sessions": 3}))
    with shown(chromium, index) as page:
        assert count(page) == "9 of 9 trials selected. Runs without any session: 3."


INKED = """() => {
  const {width, height} = scatter.canvas;
  if (!width) return {};
  const pixels = scatter.canvas.getContext("2d").getImageData(0, 0, width, height).data;
  const counts = {};
  for (let at = 3; at < pixels.length; at += 4) {
    const [red, , , opacity] = pixels.slice(at - 3, at + 1);
    const ink = `${red > 40 ? "bright" : "dark"} ${opacity}`;
    counts[ink] = (counts[ink] ?? 0) + 1;
  }
  return counts;
}"""
"""How many pixels of the scatter plot are of each opacity, in the dark or the light scheme's colour."""


@pytest.mark.parametrize("ratio", [1, 2])
def test_thousands_of_points_are_painted_and_saved_as_paths(chromium, tmp_path, ratio):
    made = Made()
    for k in range(2_400):
        low = -1.0 if k == 7 else 0.9  # an end that a logarithm does not have
        figures = {"image_s": (1 + k / 100, low + k / 100, 1.2 + k / 100), "accuracy": (0.5, 0.4, 0.6)}
        made.trial({"device": "coral", "kind": "measured", "id": "", "key": str(k)}, figures, {})
    with shown(chromium, made.written(tmp_path / "site"), device_scale_factor=ratio) as page:
        inked, path = page.evaluate(INKED), page.locator("#scatter path.mark")
        marks, lines = inked["dark 204"], inked["dark 115"]
        assert marks > 2_000 * ratio and lines > 10_000 * ratio and path.get_attribute("d") == ""
        saved = chosen_rows(page, "Save the plot as SVG").decode()
        assert saved.count("l23,23") == 2_400 and "NaN" not in saved
        assert page.evaluate(INKED) == inked and path.get_attribute("d") == ""
        page.emulate_media(color_scheme="dark")
        until(page, f"({INKED})()['bright 204'] === {marks}")
        page.locator("#xlimit").fill("3")
        page.locator("#xlimit").press("Tab")
        until(page, f"({INKED})()['bright 77'] > 1000")  # those that fail
        limited = page.evaluate(INKED)
        assert limited["bright 204"] < marks
        assert any(int(ink.split()[1]) > 240 for ink in limited)  # rims of the undecided
        page.set_viewport_size({"width": 300, "height": 800})
        until(page, "scatter.canvas.offsetWidth < 280")  # less than the least that is drawn
        boxes = [page.locator(name).bounding_box() for name in ("#chart canvas", "#scatter")]
        assert [box["width"] for box in boxes] == [boxes[1]["width"]] * 2
        page.evaluate("go({ device: ['abacus'] })")
        assert page.evaluate(INKED) == {}


PLACES = """() => [scatter.canvas, scatter.svg].map((drawing) => {
  const { left, top, width } = drawing.getBoundingClientRect();
  return [left, top, width];
})"""


@pytest.mark.parametrize("width", [280, 320, 1280])
def test_painted_points_are_where_their_axes_are_and_printed_as_paths(chromium, tmp_path, width):
    made = Made()
    for k in range(2_001):
        made.published("a table", image_s=(0.2 + k / 1e3, None, None), accuracy=(0.5 + k / 1e4, None, None))
    with shown(chromium, made.written(tmp_path / "site"), width=width, color_scheme="dark") as page:
        painted, drawn = page.evaluate(PLACES)
        assert painted == pytest.approx(drawn, abs=0.6)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(INKED) == {} and page.locator("#scatter path.mark").get_attribute("d")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(INKED)["bright 204"] > 2_000
        page.emulate_media(media="print", color_scheme="dark")
        until(page, "getComputedStyle(document.body).color === 'rgb(28, 33, 38)'")


@pytest.mark.parametrize(("better_x", "better_y"), [("lower", "higher"), ("higher", "lower")])
def test_a_front_has_every_point_that_no_other_beats(chromium, lab, better_x, better_y):
    draw = np.random.default_rng(5)
    clouds = [draw.integers(0, 9, (size, 2)).tolist() for size in (1, 2, 9, 40, 200)]
    call = """([clouds, x, y]) => clouds.map((cloud) => cloud.map(([x, y]) => ({ x, y })))
      .map((cloud) => paretoFront(cloud, { better: x }, { better: y }).map(({ x, y }) => [x, y]))"""
    with shown(chromium, lab) as page:
        fronts = page.evaluate(call, [clouds, better_x, better_y])
    signs = [-1 if better == "higher" else 1 for better in (better_x, better_y)]
    for cloud, front in zip(clouds, fronts, strict=True):
        points = np.unique(np.array(cloud) * signs, axis=0)
        best = [point for point in points if not ((points <= point).all(1) & (points < point).any(1)).any()]
        assert front == [(point * signs).tolist() for point in best]


def test_filters_narrow_table_and_plot_and_the_back_button_undoes_them(chromium, lab):
    with shown(chromium, lab) as page:
        page.get_by_label("coral", exact=False).first.check()
        page.locator("input[name=precision][value=int8]").check()
        assert count(page) == "14 of 218 trials selected."
        assert set(column(page, "Device")) == {"coral"}
        page.go_back()
        until(page, "document.querySelector('#count').textContent.startsWith('38 of')")
        assert not page.locator("input[name=precision][value=int8]").is_checked()
        page.reload()
        until(page, "document.querySelector('#count').textContent.startsWith('38 of')")
        page.get_by_text("Clear filters").click()
        until(page, "document.querySelector('#count').textContent === '218 of 218 trials selected.'")
        page.locator("#from").fill("2026-01-20")
        page.locator("#from").blur()
        assert count(page) == "45 of 218 trials selected."


def test_an_empty_selection_says_so(chromium, lab):
    with shown(chromium, lab, "#device=abacus") as page:
        assert count(page) == "0 of 218 trials selected: clear a filter to see some."
        assert page.locator("#table tbody").inner_text() == "No trial is selected."


def test_a_limit_is_typed_dragged_and_moved_by_keys(chromium, lab):
    with shown(chromium, lab) as page:
        page.locator("#xlimit").fill("0.1")
        page.locator("#xlimit").press("Tab")
        limited = count(page)
        assert re.fullmatch(
            r"218 of 218 trials selected: \d+ pass, [1-9]\d* undecided, [1-9]\d* fail\.", limited
        )
        assert page.locator("#scatter g.fail, #scatter g.undecided").count() > 2
        handle = page.get_by_role("slider", name="Most latency per image, s")
        assert handle.get_attribute("aria-valuetext") == "0.1"
        handle.focus()
        page.keyboard.press("ArrowRight")
        until(page, "Number(document.querySelector('#handle-x').getAttribute('aria-valuenow')) > 0.1")
        page.keyboard.press("Home")
        until(page, "document.querySelector('#handle-x').getAttribute('aria-valuetext') === 'no limit'")
        page.locator("input[name=device][value=coral]").check()
        box = page.locator("#handle-y .arrow").bounding_box()
        page.mouse.move(box["x"] + 5, box["y"] + 7)
        page.mouse.down()
        for step in range(50, 250, 50):
            page.mouse.move(box["x"], box["y"] - step)
            until(page, "location.hash.includes('ylimit=0.')")
        page.mouse.up()
        until(page, "!changing")
        assert 0.8 < float(page.locator("#ylimit").input_value()) < 1
        page.go_back()
        until(page, "location.hash === '#device=coral'")  # all of the drag at once, and no more


def test_a_limit_is_dragged_by_touch(chromium, lab):
    with shown(chromium, lab, width=390, has_touch=True) as page:
        box = page.locator("#handle-x .arrow").bounding_box()
        touch = page.context.new_cdp_session(page)
        at = {"x": box["x"] + 5, "y": box["y"] + 5}
        for kind, step in (("touchStart", 0), *(("touchMove", 30 * k) for k in range(1, 6)), ("touchEnd", 0)):
            points = [] if kind == "touchEnd" else [{"x": at["x"] - step, "y": at["y"]}]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        until(page, "location.hash.includes('xlimit=')")
        page.locator("#handle-x").dispatch_event("pointercancel")
        moved = page.locator("#handle-x .arrow").bounding_box()["x"]
        assert moved == pytest.approx(box["x"] - 150, abs=12)


def test_a_limit_of_memory_is_typed_in_the_unit_of_its_label(chromium, lab):
    with shown(chromium, lab, "#x=memory_bytes&xlimit=30") as page:
        assert page.locator("#xlimit-name").inner_text() == "Most peak memory, MB"
        assert page.locator("#handle-x").get_attribute("aria-valuetext") == "30 MB"
        assert set(column(page, "Limits")) == {"pass", "fail"}
        assert all(
            text.endswith(" MB") for text in page.locator(".axis").first.locator("text").all_text_contents()
        )


def test_a_narrow_plot_of_close_values_has_two_ticks_and_more(chromium, tmp_path):
    made = Made()
    for k in range(4):
        made.published("a table", image_s=(0.2 + k / 30, None, None), accuracy=(0.9 + k / 100, None, None))
    with shown(chromium, made.written(tmp_path / "site"), width=390) as page:
        texts = page.locator("#scatter .axis").first.locator("text").all_text_contents()
        assert sum(text != "" for text in texts) >= 2
        page.select_option("#profile", "disco-realtime")  # its limit is 4.42 s, far from all of them
        assert page.locator("#scatter path.rule").count() == 1


def test_a_narrow_plot_has_round_ticks_that_do_not_touch(chromium, tmp_path):
    made = Made()
    for k in range(4):
        made.published("a table", image_s=(0.2 + 2 * k, None, None), accuracy=(0.9 + k / 100, None, None))
    with shown(chromium, made.written(tmp_path / "site"), width=390) as page:
        texts = page.locator("#scatter .axis").first.locator("text").all_text_contents()
        assert [text for text in texts if text] == ["0.2", "0.5", "1", "2", "5"]


def test_focus_goes_to_a_trial_and_back_and_the_title_says_what_is_shown(chromium, lab):
    with shown(chromium, lab) as page:
        assert page.title() == "Accuracy against latency per image - EdgeBench results"
        page.locator("#plane").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.get_by_text("Repeat it").wait_for()
        assert page.evaluate("document.activeElement.id") == "trial-title"
        assert page.title() == page.locator("#trial h2").inner_text() + " - EdgeBench results"
        page.go_back()
        until(page, "document.activeElement.id === 'plane'")
    with shown(chromium, lab, "#view=compare") as page:
        page.locator("#use-3").press("Enter")
        until(page, "params.has('baseline')")
        assert page.evaluate("document.activeElement.id") == "use-3"


def test_trials_that_all_failed_say_so(chromium, tmp_path):
    made = Made().lab(1, 3)
    for row in made.rows:
        row["labels"]["status"] = "failed"
        row["figures"]["image_s"] = "no session went well"
    with shown(chromium, made.written(tmp_path / "site")) as page:
        assert column(page, "Status") == ["failed"] * 3
        assert "none of the results has a latency" in count(page)
        assert page.locator("input[name=status]").count() == 1


def test_an_emulated_session_has_no_times(chromium, tmp_path):
    index = Made().lab(1, 1).written(tmp_path / "site")
    file = index.parent / "results" / f"{0:016x}.js"
    text = file.read_text().replace('"status": "ok"', '"status": "ok", "emulated": true')
    file.write_text(text.replace('["load", 0.4]', '["load", null]'))
    with shown(chromium, index, "#view=trial&trial=0000000000000000/cp0.25fp32") as page:
        page.get_by_text("Repeat it").wait_for()
        assert "Session 5: ok, emulated: no times of a device" in page.locator("#trial").inner_text()
        assert page.locator("#trial path.mark").count() == 0
        assert page.get_by_role("row", name="load -").count() == 1


@pytest.mark.parametrize("file", ["data.js", "charts.js", "d3.min.js", "a part of data.js"])
def test_a_site_without_a_file_says_what_to_do(chromium, tmp_path, file):
    index = Made().lab(1, 1).written(tmp_path / "site")
    if file.startswith("a part"):  # as of another version
        data = index.parent / "data.js"
        data.write_text(data.read_text().replace('"usual"', '"unusual"'))
    else:
        (index.parent / file).unlink()
    with opened(chromium, index) as page:
        assert "Run `edgebench explore` again" in page.get_by_role("alert").inner_text()


def test_a_watched_site_takes_new_data_in_and_keeps_what_is_being_typed(chromium, tmp_path):
    made = Made().lab(1, 2)
    index = made.written(tmp_path / "site", refresh_s=0.2)
    with shown(chromium, index) as page:
        page.locator("#ylimit").type("0.8")
        document = made.lab(2, 3).data() | {"refresh_s": 0.2, "build": "f" * 16}
        (index.parent / "data.js").write_text(called("edgebenchData", document))
        until(page, "document.querySelector('#count').textContent.startsWith('8 of 8')")
        assert page.locator("#ylimit").input_value() == "0.8"


def test_a_profile_judges_by_its_own_verdicts(chromium, lab):
    with shown(chromium, lab, "#profile=disco-realtime&sort=-verdict") as page:
        assert set(column(page, "Verdict: disco-realtime")) >= {"unknown", "so far"}
        assert page.locator("#scatter path.rule").count() == 1
        assert "fails" in page.locator("#legend").inner_text()
        assert "so far" in count(page) and page.locator("#scatter g.far").count()
        assert "passes so far" in page.locator("#legend").inner_text()


def test_the_table_is_sorted_by_a_press_and_paged(chromium, lab):
    with shown(chromium, lab) as page:
        heading = page.get_by_role("link", name="Latency per image, s")
        heading.press("Enter")
        until(page, "document.querySelector('th[aria-sort=ascending]')")
        values = [float(text.split(" ")[0]) for text in column(page, "Latency per image, s")]
        assert values == sorted(values)
        assert page.locator("th[aria-sort]").count() == 1
        assert page.evaluate("document.activeElement.id") == "sort-image_s"
        page.keyboard.press("Enter")
        until(page, "document.querySelector('th[aria-sort=descending]')")
        assert float(column(page, "Latency per image, s")[0].split(" ")[0]) > values[-1]
        page.get_by_role("link", name="Next").click()
        until(page, "document.querySelector('#pages').innerText.includes('26 to 50 of 218')")
        assert page.locator("#table tbody tr").count() == 25


def test_a_point_is_found_by_pointer_and_keys(chromium, lab):
    with shown(chromium, lab) as page:
        page.locator("#plane").focus()
        page.keyboard.press("ArrowRight")
        assert "Latency per image, s: 0.0" in page.locator("#point").inner_text()
        cursor = page.locator("#scatter .cursor").bounding_box()
        page.mouse.move(cursor["x"] + 8, cursor["y"] + 8)
        assert page.locator("#tip").is_visible()
        page.mouse.click(cursor["x"] + 8, cursor["y"] + 8)
        until(page, "location.hash.includes('view=trial')")


def test_a_trial_is_loaded_when_it_is_opened(chromium, lab):
    with shown(chromium, lab) as page:
        assert page.locator("script[src^='results/']").count() == 0
        page.locator("#table tbody a").first.click()
        page.get_by_text("Repeat it").wait_for()
        text = page.locator("#trial").inner_text()
        for part in (
            "Session 5: ok, 600 passes, 60 drawn",
            "passes are shaded",
            "throttled",
            "edgebench run --device cpu",
            "patchify",
        ):
            assert part in text
        assert page.locator("#trial svg path.band").last.get_attribute("d").count("Z") == 60
        page.get_by_text("Back to all trials").click()
        page.locator("#table").wait_for()


def test_a_trial_whose_file_is_gone_says_what_to_do(chromium, lab, tmp_path):
    index = Made().lab(1).written(tmp_path / "site")
    (index.parent / "results" / f"{0:016x}.js").unlink()
    with opened(chromium, index) as page:
        page.locator("#table tbody a").first.click()
        page.get_by_role("alert").wait_for()
        assert "Reload the page" in page.get_by_role("alert").inner_text()


def test_ratios_agree_with_the_statistics(chromium, lab):
    draw = np.random.default_rng(7)
    sizes = draw.integers(2, 40, (400, 2))
    spreads = draw.choice([0.0, 1e-6, 0.01, 0.3, 1.0], (400, 2))
    sides = [
        [
            list(map(float, draw.lognormal(draw.normal(0, 3), spread, size)))
            for size, spread in zip(*case, strict=True)
        ]
        for case in zip(sizes, spreads, strict=True)
    ]
    with shown(chromium, lab) as page:
        ours = page.evaluate("(sides) => sides.map(([a, b]) => ratioOf(a, b, 0.95))", sides)
    for (a, b), mine in zip(sides, ours, strict=True):
        theirs = ratios(np.array(a), np.array(b))
        assert mine["ratio"] == pytest.approx(float(theirs.ratio), rel=1e-9)
        if min(len(a), len(b)) < 3:
            assert mine["low"] is None and mine["high"] is None
        else:
            assert mine["low"] == pytest.approx(float(theirs.low), rel=1e-9)
            assert mine["high"] == pytest.approx(float(theirs.high), rel=1e-9)


def test_compare_shows_ratios_and_the_call_that_judges_them(chromium, lab):
    with shown(chromium, lab, "#view=compare") as page:
        page.get_by_label("Use 0.25 fp32, coral, coral-board, r1", exact=True).click()
        page.locator("input[name=depth_multiplier][value='0.25']").check()
        assert page.locator("#command").inner_text().startswith("edgebench compare r1 r0 ")
        texts = column(page, "Ratio of latency per image")
        assert re.fullmatch(r"[\d.]+ \[[\d.]+; [\d.]+\]", texts[0])
        assert not re.search("better|worse|regress", page.locator("main").inner_text())
        page.evaluate("go({ page: 3 })")
        last = page.locator("#view-chart").inner_html()
        page.evaluate("go({ page: 99.5 })")
        assert page.locator("#view-chart").inner_html() == last


def test_history_draws_a_series_with_its_change_points(chromium, lab):
    with shown(chromium, lab, "#view=history", 390) as page:
        assert "Change point before 2026-01-07, r6: 1.25 times" in page.locator("#changes").inner_text()
        assert page.locator("#view-chart path.rule").count() == 1
        text, line = (
            page.locator(f"#view-chart {part}").bounding_box() for part in ("text >> nth=-1", ".rule")
        )
        assert line["x"] < text["x"] < text["x"] + text["width"] < 390 - 24
        assert page.locator("#table tbody tr").count() == 4
        offered = page.locator("#metric option").all_inner_texts()
        assert offered == ["Latency per image, s", "Accuracy"]


def test_results_of_one_day_are_at_their_own_times(chromium, tmp_path):
    made = Made()
    for k in range(3):
        made.lab(1, 1)
        made.rows[k]["labels"]["result"] = made.rows[k]["labels"]["key"] = f"r{k}"
    with shown(chromium, made.written(tmp_path / "site"), "#view=history") as page:
        path = page.locator("#view-chart path.series").get_attribute("d")
        assert len({float(place.split(",")[0]) for place in re.split("[ML]", path) if place}) == 3


def test_the_selection_is_downloaded_as_csv_json_svg_and_png(chromium, lab):
    with shown(chromium, lab, "#device=coral&sort=image_s") as page:
        rows = list(csv.DictReader(io.StringIO(chosen_rows(page, "Save the table as CSV").decode())))
        assert len(rows) == 38 and float(rows[0]["Latency per image, s (low)"]) < float(
            rows[0]["Latency per image, s"]
        )
        document = json.loads(chosen_rows(page, "Save the table as JSON"))
        assert [row["Trial"] for row in document["rows"]] == [row["Trial"] for row in rows]
        svg = chosen_rows(page, "Save the plot as SVG").decode()
        assert svg.startswith("<svg") and "rgb(" in svg and "Latency per image, s" in svg
        assert chosen_rows(page, "Save the plot as PNG").startswith(b"\x89PNG")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", VIEWS, ids=["all", "compare", "history", "trial", "limits"])
def test_nothing_is_found_by_axe(chromium, lab, address, scheme):
    from axe_playwright_python.sync_playwright import Axe

    with shown(chromium, lab, address, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        page.wait_for_timeout(300)
        faults = Axe().run(page, options={"preload": False}).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"]) for fault in faults] == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("address", VIEWS, ids=["all", "compare", "history", "trial", "limits"])
def test_no_view_is_wider_than_its_window(chromium, lab, address, width):
    with shown(chromium, lab, address, width) as page:
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.attack(
    "names and reasons of results on a published page are markup and script: they are shown as text"
)
def test_hostile_names_are_text(chromium, tmp_path):
    made = Made().lab(7, 2)
    for row in made.rows:
        row["labels"].update(
            dict.fromkeys(("result", "device", "target", "variant", "trial", "power_mode"), HOSTILE)
        )
        row["figures"]["energy_j"] = HOSTILE
    index = made.written(tmp_path / "site", left_out=[{"result": HOSTILE, "why": HOSTILE}])
    file = index.parent / "results" / f"{0:016x}.js"
    file.write_text(file.read_text().replace("a processor", "\\x3cimg src=x onerror=alert(1)>"))
    for address in (
        "",
        "#view=compare&sort=%3Cimg",
        f"#view=history&device={quote(HOSTILE)}&x=__proto__",
        "#column=constructor&column=__proto__&only=constructor",
    ):
        with shown(chromium, index, address) as page:
            assert page.locator("main img, main script").count() == 0
            assert HOSTILE[:28] in page.locator("#overview").inner_text()
    with shown(chromium, index) as page:
        page.locator("#table tbody a").first.click()
        page.get_by_text("Repeat it").wait_for()
        assert page.locator("main img, main script").count() == 0


@pytest.mark.attack("a name in a published table begins as a formula: the CSV has an apostrophe before it")
def test_a_formula_is_text_in_the_csv(chromium, tmp_path):
    made = Made().lab(2, 1)
    made.rows[0]["labels"]["result"] = '=cmd|"/c calc"!A1'
    with shown(chromium, made.written(tmp_path / "site")) as page:
        [entry, _] = csv.DictReader(io.StringIO(chosen_rows(page, "Save the table as CSV").decode()))
        assert entry["Result"] == '\'=cmd|"/c calc"!A1'
        page.evaluate("go({device: ['abacus']})")
        empty = chosen_rows(page, "Save the table as CSV").decode()
        assert empty.startswith("Trial,") and "\n" not in empty


def test_results_without_accuracy_or_trials_or_sessions_are_shown(chromium, tmp_path):
    blind = Made().lab(2)
    for row in blind.rows:
        row["figures"]["accuracy"] = "no labelled images"
        del row["sessions"]["image_s"]
    with shown(chromium, blind.written(tmp_path / "blind")) as page:
        assert page.locator("#chart-title").inner_text() == "Energy per image against latency per image"
        page.locator("#y").select_option("accuracy")
        assert "18 with no accuracy: no trial has this figure" in page.locator("#undrawn").inner_text()
        page.get_by_role("link", name="Compare").click()
        until(page, "document.querySelector('#metric').value === 'energy_j'")
        assert page.locator("#view-title").inner_text() == "Ratio of energy per image to a baseline"
    with shown(chromium, Made().lab(1, 1).written(tmp_path / "one")) as page:
        assert count(page) == "1 of 1 trials selected."
        assert page.locator("#scatter path.mark").count() == 1
    paper = Made().published("a table", image_s=(0.5, None, None), accuracy=(None, None, 0.9))
    with shown(chromium, paper.written(tmp_path / "paper")) as page:
        assert column(page, "Accuracy") == ["below 0.9"]
        page.locator("#table tbody a").first.click()
        until(page, "document.querySelector('#trial').innerText.includes('below 0.9')")
    with shown(chromium, Made().written(tmp_path / "nothing")) as page:
        assert count(page) == "There is no trial in these results."
        assert page.get_by_text("Results that are left out: 1").is_visible()
