"""The page of results that the command made: its lines of Python give its table."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgebench.explore.site import Site
from tests.report.chromium import browser, opened

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as chromium:
        yield chromium


@pytest.mark.parametrize(
    "address",
    [
        "#sort=-image_s&precision=fp32",
        "#sort=image_s&depth_multiplier=0.25&from=2000-01-01",
        "#only=pass",
        "#scope=chip&sort=-trial",
        "#sort=-result",
        "#precision=none-such",
        "#kind=published",
    ],
)
def test_its_lines_of_python_give_the_table(chromium: Any, lab: Path, tmp_path: Path, address: str) -> None:
    site = Site(tmp_path / "site", [lab])
    site.update()
    with opened(chromium, tmp_path / "site" / "index.html") as page:
        page.goto((tmp_path / "site" / "index.html").as_uri() + address)
        page.reload()
        page.get_by_role("button", name="Copy as Python").click()
        lines = page.locator("#given").input_value()
        rows = page.evaluate("listed.map((i) => ['result', 'key'].map((name) => label(data, name, i)))")
    out = tmp_path / "table.json"
    lines = lines.replace("edgebench.scan()", f"edgebench.scan({str(lab)!r})")
    lines += f"\ntable[['result', 'key']].to_json({str(out)!r}, orient='values')\n"
    subprocess.run([sys.executable, "-c", lines], check=True, stdout=subprocess.DEVNULL)
    assert json.loads(out.read_text()) == rows and bool(rows) == (not address.endswith(("such", "published")))
