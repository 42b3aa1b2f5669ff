"""docs/report.png: `python -m tests.report.picture` makes the page of the demonstration and its picture."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.report.chromium import browser, opened

PICTURE = Path(__file__).parents[2] / "docs" / "report.png"
COMMAND = (
    "edgebench run --device replay --meter replay --quick --profile disco-realtime --profile disco-arctic "
    "--profile disco-greenland"
)


def make(picture: Path) -> None:
    """Run the command that stands next to the picture, and write the top of its report's page as a PNG."""
    with tempfile.TemporaryDirectory() as folder:
        program = "from edgebench.cli.main import main; main()"
        words = [*COMMAND.split()[1:], "--name", "demonstration"]
        done = subprocess.run([sys.executable, "-c", program, *words], cwd=folder, check=False, timeout=600)
        assert done.returncode in (0, 3, 4)
        report = Path(folder) / "results" / "demonstration" / "report.html"
        with browser() as chromium, opened(chromium, report) as page:
            page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": 1280, "height": 800})


if __name__ == "__main__":
    make(PICTURE)
