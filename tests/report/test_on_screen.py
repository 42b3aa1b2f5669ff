"""A report as Chromium lays it out at a desktop's and a phone's width: nothing needed is off the screen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from edgebench.fit.judged_experiment import Judged
from edgebench.report.html import render
from tests.report import samples

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files",
    "--disable-dev-shm-usage", "--window-size=1300,900", "--virtual-time-budget=2000", "--dump-dom",
)  # fmt: skip
MEASURE = """
<script>
function outside(width) {
  const view = document.getElementById("at" + width).contentDocument;
  const found = {page: view.documentElement.scrollWidth, outside: [], cells: 0};
  for (const cell of view.querySelectorAll("table.rows tbody tr > *, .card li, table.facts td, p, h3")) {
    if (!cell.checkVisibility({contentVisibilityAuto: true})) continue;
    found.cells += 1;
    const range = view.createRange();
    range.selectNodeContents(cell);
    const boxes = [...range.getClientRects()];
    if (boxes.some(box => box.left < -1 || box.right > width + 1))
      found.outside.push(cell.textContent.slice(0, 60));
  }
  const images = [...view.querySelectorAll("figure img")].filter(one => one.src.includes("svg"));
  found.images = images.map(one => one.getBoundingClientRect().width);
  return found;
}
addEventListener("load", () => {
  const found = Object.fromEntries([1280, 390].map(width => [width, outside(width)]));
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script><pre id="found"></pre>
<iframe id="at1280" src="report.html" style="width:1280px;height:900px;border:0"></iframe>
<iframe id="at390" src="report.html" style="width:390px;height:900px;border:0"></iframe>
"""


def with_long_names(judged: Judged) -> Judged:
    """Two targets and models with names as long as they get, and many profiles."""
    summaries = []
    for number, summary in enumerate(judged.summaries):
        target = ("a-board-with-a-name-of-forty-characters_", "Grönland漢字" * 6)[number % 2]
        model = f"a_model_of_ones_own_{'x' * 30}-1a2b3c4d"
        summaries.append(
            replace(summary, target=target, variant=f"{model}-{summary.precision}", depth_multiplier=None)
        )
    profiles = (*samples.LIMITS, "a-profile-with-a-name-that-goes-on-for-a-while", "p" * 60)
    return Judged(judged.results, judged.profiles, summaries, samples.verdicts(summaries, profiles))


@pytest.mark.parametrize("names", ["usual", "long"])
def test_what_a_reader_needs_is_on_the_screen(whole: Judged, tmp_path: Path, names: str) -> None:
    judged = whole if names == "usual" else with_long_names(whole)
    profiles = judged.profiles if names == "usual" else ()  # those of the long names are no profiles
    page = render(judged.results, judged.summaries, judged.verdicts, profiles)
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    (tmp_path / "frames.html").write_text(MEASURE, encoding="utf-8")
    done = subprocess.run(
        [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path}/frames.html"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=True,
    )
    measured = re.search(r'<pre id="found">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
    assert measured and measured[1], "the script did not run"
    for width, layout in json.loads(measured[1]).items():
        assert layout["cells"] > 100
        assert layout["outside"] == [], width
        assert layout["page"] <= int(width)
        assert min(layout["images"]) >= 600, "type in a figure is too small to read"
