"""Every form of three results is what its golden page holds; `RENEW=1 pytest FILE` writes them again."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.judge.verdicts.front import fronts
from edgebench.report import words
from edgebench.report.missions import brief_missions
from edgebench.report.page import first_screen
from edgebench.report.renderers.html import render
from edgebench.report.renderers.markdown import export_markdown
from edgebench.report.renderers.terminal import make_console, print_first_screen, print_sections
from edgebench.report.sections import details
from tests import synthetic_results
from tests.golden_text import assert_golden

FOLDER = Path(__file__).parent / "golden"

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
    missions = brief_missions(judged)
    file, screen = io.StringIO(), first_screen(judged)
    print_first_screen(make_console(file), screen, details=True)
    every = details(judged, fronts(judged.trials, judged.profiles), missions, screen.matrix)
    print_sections(make_console(file), every)
    yield "txt", "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
    yield "md", export_markdown(judged)
    page = re.sub(r"<(style|script)>.*?</\1>", "", render(judged), flags=re.DOTALL)
    page = re.sub(r"(<svg [^>]*>).*?</svg>", r"\1</svg>", page, flags=re.DOTALL)
    page = re.sub(r"data:image/jpeg;base64,[^\"]*|sha256-[A-Za-z0-9+/=]*", "...", page)
    yield "html", re.sub(r' (viewBox|width|height|stroke-linejoin)="[^"]*"', "", page)


@pytest.fixture(scope="module", params=RESULTS)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Judged, dict[str, str]]:
    """A result by its name, and its forms by their endings."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FORCE_COLOR", "TERM", "TTY_COMPATIBLE", "COLORTERM"):
            patch.delenv(name, raising=False)
        patch.setenv("COLUMNS", "100")
        patch.setenv("NO_COLOR", "1")
        judged = judged_result(tmp_path_factory.mktemp(request.param), request.param)
        return request.param, judged, dict(texts(judged))


def test_every_form_is_as_it_was(made: tuple[str, Judged, dict[str, str]]) -> None:
    name, _, forms = made
    for ending, text in forms.items():
        assert_golden(FOLDER / f"{name}.{ending}", text)


def test_an_interval_reads_the_same_in_every_form(made: tuple[str, Judged, dict[str, str]]) -> None:
    _, judged, forms = made
    for trial in judged.trials:
        latencies = (trial.estimate(name) for name in ("image_s", "infer_s"))
        for estimate in (estimate for estimate in latencies if estimate.value is not None):
            plain = words.interval(estimate)
            small = "{} <small>{}</small>".format(*plain.split(" ", 1)) if " " in plain else plain
            assert plain.split()[0] in forms["txt"] and plain in forms["md"]
            assert plain in forms["html"] or small in forms["html"]
