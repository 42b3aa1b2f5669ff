"""What the HTML report of a large result takes: to write it, and to open it in Chromium."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.row import Row
from edgebench.judge.judged import judge_folder
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.prepare.cache import Cache
from edgebench.report.renderers.forms import export
from tests import synthetic_results

TARGETS = tuple(f"board {number}" for number in range(10))
VARIANTS = (*synthetic_results.NINE, "mobilenet_v1-0.75-int8")
SESSIONS, PASSES = 5, 200
"""100 trials with 1,000 passes each, power and predictions beside them."""

WRITE_BAR_S, SIZE_BAR_MB, OPEN_BAR_S = 5.7, 5.0, 1.0
OPENINGS = 5


def rows(cache: Cache, pairs: int) -> list[Row]:
    """From the folder to the file, its size, and from opening it to its last task at the start."""
    with tempfile.TemporaryDirectory() as folder:
        result = synthetic_results.made_experiment(
            Path(folder),
            variants=VARIANTS,
            targets=TARGETS,
            sessions=SESSIONS,
            passes=PASSES,
            images=100,
            image_s={"mobilenet_v1-0.75-int8": 0.6},
            power=True,
            rate_hz=10.0,
            profiles=[profile.as_record() for profile in shipped_profiles()],
        )
        path = Path(folder) / "report.html"
        start_s = time.perf_counter()
        judged = judge_folder(result)
        read_s = time.perf_counter() - start_s
        export(judged, path)
        write_s = time.perf_counter() - start_s
        what = f"report.html of {len(judged.trials)} trials with {SESSIONS * PASSES:,} passes each"
        size_mb = path.stat().st_size / 1e6
        return [
            Row(what, write_s, "s", WRITE_BAR_S, None, {"read_and_judged_s": read_s}),
            Row(f"{what}: its size", size_mb, "MB", SIZE_BAR_MB),
            *_opening(path, what),
        ]


def _opening(path: Path, what: str) -> list[Row]:
    """From navigation to a painted page whose script has run; no row without Chromium."""
    executable = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if executable is None:
        print("report: not opened, Chromium is not installed", file=sys.stderr)
        return []
    from playwright.sync_api import sync_playwright

    opened_s = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for _ in range(OPENINGS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(path.as_uri())
            # Two frames after loading: what the script changed is laid out and painted by then.
            opened_ms = page.evaluate(
                "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame("
                "() => done(performance.now()))))"
            )
            assert page.locator("thead button").count() > 0, "the page's script has not run"
            opened_s.append(opened_ms / 1000)
            page.close()
        browser.close()
    details = {"openings_s": opened_s}
    return [Row(f"{what}: opened in Chromium", statistics.median(opened_s), "s", OPEN_BAR_S, None, details)]
