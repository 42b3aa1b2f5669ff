"""A site of 1,000 results with 9 trials each: what a browser loads first, how soon it shows it.

A page is open when it is painted: two frames after its scripts have run. Its time is that against an empty
page with the same library, opened side by side. A change counts from the call that a control makes to the
second frame after it. Chromium rests before each opening, as it is still closing the last page.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pairs import abba
from benchmarks.row import Row, ratio_row
from edgebench.explore.site import DATA, SESSIONS, Site, documents
from edgebench.explore.trials import ShownResult, TrialRow, read_result, script
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.prepare.cache import Cache
from tests.report.chromium import EXECUTABLE
from tests.synthetic_results import LEVELS_S, NINE, made_experiment

RESULTS, READ, REST_MS = 1_000, 10, 500
FIRST_MB_BAR, OPEN_BAR, CHANGE_BAR_MS = 10.0, 3.0, 200.0
CHANGES: dict[str, dict[str, Any]] = {
    "a filter": {"precision": ["int8", "fp32"]},
    "no filter": {"precision": None},
    "another horizontal axis": {"x": "memory_bytes"},
    "another vertical axis": {"y": "start_s"},
    "the first axes": {"x": None, "y": None},
    "a limit": {"xlimit": 0.5},
}
PAINTED = (
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
)
CHANGED = (
    f"async (changes) => {{ const begun = performance.now(); go(changes); return await {PAINTED} - begun; }}"
)


def rows(cache: Cache, pairs: int) -> list[Row]:
    """The size of the files of the first view; times of opening and changing it where there is Chromium."""
    with tempfile.TemporaryDirectory() as scratch:
        site = make_site(Path(scratch))
        loaded = [path for path in site.iterdir() if path.suffix in (".html", ".js", ".css")]
        size_mb = sum(path.stat().st_size for path in loaded if path.name != SESSIONS) / 1e6
        return [
            Row("files of the first view of 9,000 trials", size_mb, "MB", FIRST_MB_BAR),
            *_in_chromium(site, pairs),
        ]


def _in_chromium(site: Path, pairs: int) -> list[Row]:
    if EXECUTABLE is None:
        print("explore: not opened, Chromium is not installed", file=sys.stderr)
        return []
    from playwright.sync_api import sync_playwright

    empty = site / "empty.html"
    head = (site / "index.html").read_text().partition('<script src="figures.js"')[0]
    empty.write_text(f"{head}</head><body><p>Empty</p></body></html>")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox"])
        opened = abba(
            lambda: _opened_ms(browser, site / "index.html"), lambda: _opened_ms(browser, empty), pairs
        )
        changes_ms = _changes_ms(browser, site / "index.html", pairs)
        browser.close()
    return [
        ratio_row("time of opening 9,000 trials in Chromium against an empty page", opened, OPEN_BAR),
        Row(
            "redrawing 9,000 trials after a change: the slowest of six changes",
            max(changes_ms.values()),
            "ms",
            CHANGE_BAR_MS,
            None,
            changes_ms,
        ),
    ]


def _opened_ms(browser: Any, path: Path) -> float:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.wait_for_timeout(REST_MS)
    page.goto(path.as_uri())
    opened_ms: float = page.evaluate(f"() => {PAINTED}")
    drawn = "scatter.canvas.toDataURL().length > 20_000 && document.querySelector('#table tbody th') !== null"
    assert path.name == "empty.html" or page.evaluate(drawn), "the page's script has not run"
    page.close()
    return opened_ms


def _changes_ms(browser: Any, path: Path, rounds: int) -> dict[str, float]:
    """The median time of each change of a page that is left open."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    page.evaluate(f"() => {PAINTED}")
    taken: dict[str, list[float]] = {name: [] for name in CHANGES}
    for _ in range(rounds):
        for name, changes in CHANGES.items():
            taken[name].append(page.evaluate(CHANGED, changes))
        page.evaluate("history.replaceState(null, '', '#')")
    page.close()
    return {name: statistics.median(times) for name, times in taken.items()}


def make_site(folder: Path, results: int = RESULTS) -> Path:
    """`folder/site`: ten results as they are read, and further ones whose figures differ by some per cent."""
    lab, site = folder / "lab", folder / "site"
    for seed in range(READ):
        levels = {variant: level_s * (1 + seed / 5) for variant, level_s in LEVELS_S.items()}
        made_experiment(
            lab, name=f"lab{seed}", variants=NINE, passes=5, seed=seed, power=seed % 2 == 0, image_s=levels
        )
    Site(site, [lab]).update()
    read = [
        read_result(path, "2025-03-01T12:00:00Z", shipped_profiles(), target_names=False)[0]
        for path in sorted(lab.iterdir())
    ]
    rng = np.random.default_rng(1)
    begun = datetime(2025, 1, 1, tzinfo=UTC)
    shown = [
        _varied(read[number % READ], f"r{number:04}", begun + timedelta(hours=8 * number), rng)
        for number in range(results)
    ]
    data, sessions = documents(shown, (), shipped_profiles())
    (site / SESSIONS).write_text(script("edgebenchSessions", sessions))
    (site / DATA).write_text(script("edgebenchData", data))
    return site


def _varied(result: ShownResult, name: str, begun: datetime, rng: np.random.Generator) -> ShownResult:
    def varied(row: TrialRow) -> TrialRow:
        factors = rng.normal(1, 0.05, len(row.estimates)).tolist()
        estimates = {
            metric: estimate.in_unit(1 / factor)
            for (metric, estimate), factor in zip(row.estimates.items(), factors, strict=True)
        }
        return replace(row, estimates=estimates, labels={**row.labels, "date": begun.strftime("%Y-%m-%d")})

    rows = tuple(map(varied, result.rows))
    return replace(result, name=name, begun_utc=begun.strftime("%Y-%m-%dT%H:%M:%SZ"), rows=rows)
