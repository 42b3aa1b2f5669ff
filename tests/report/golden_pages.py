"""The golden pages: each form of three results as text; `python -m tests.report.golden_pages` renews them."""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from edgebench.judge.answers import answers
from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.profile import shipped_profiles
from edgebench.report.console import make_console
from edgebench.report.html import render
from edgebench.report.markdown import export_markdown
from edgebench.report.page import brief, changes
from edgebench.report.terminal import print_blocks
from tests import synthetic_results

FOLDER = Path(__file__).parent / "golden"

COMMAND = "python -m tests.report.golden_pages"

NINE = synthetic_results.NINE
RESULTS: dict[str, dict[str, object]] = {
    "whole": {"variants": NINE},
    "mixed": {
        "variants": NINE[:6],
        "targets": ("cpu", "coral"),
        "power": True,
        "failed": [NINE[0]],
        "crashed_once": [NINE[1]],
        "not_run": [NINE[2]],
        "unsupported": [NINE[3]],
    },
    "bare": {"sessions": 1, "images": 0, "not_run": [synthetic_results.QUARTER[2]]},
}
"""What `synthetic_results.made_experiment` makes: all measured; one trial of every kind; one session."""


def judged_result(folder: Path, name: str) -> Judged:
    """One of RESULTS, made in a folder and judged against the shipped profiles."""
    profiles = [profile.as_record() for profile in shipped_profiles()]
    return judge_folder(
        synthetic_results.made_experiment(folder, profiles=profiles, **RESULTS[name])  # type: ignore[arg-type]
    )


def texts(judged: Judged) -> Iterator[tuple[str, str]]:
    """Each form by its ending: the terminal at 100 columns, Markdown, and the page without its drawings."""
    parts = (judged.results, judged.summaries, judged.verdicts, judged.profiles)
    beyond = answers(judged.summaries, judged.profiles, judged.verdicts)
    file = io.StringIO()
    blocks = brief(judged.summaries, judged.verdicts, beyond.decisions)
    print_blocks(make_console(file), [*blocks, *changes(judged.summaries, beyond)])
    yield "txt", "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
    yield "md", export_markdown(*parts)
    page = re.sub(r"<(style|script)>.*?</\1>", "", render(*parts), flags=re.DOTALL)
    page = re.sub(r"(<svg [^>]*>).*?</svg>", r"\1</svg>", page, flags=re.DOTALL)
    page = re.sub(r"data:image/jpeg;base64,[^\"]*|sha256-[A-Za-z0-9+/=]*", "...", page)
    yield "html", re.sub(r' (viewBox|width|height|stroke-linejoin)="[^"]*"', "", page)


def main() -> None:
    """Write every golden page anew."""
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1"}
    for name in RESULTS:
        with tempfile.TemporaryDirectory() as folder:
            for ending, text in texts(judged_result(Path(folder), name)):
                (FOLDER / f"{name}.{ending}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
