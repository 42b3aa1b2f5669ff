"""Every form of three results is what its golden page holds."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from edgebench.judge.judged import Judged
from edgebench.report import words
from tests.report import golden_pages


@pytest.fixture(scope="module", params=golden_pages.RESULTS)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Judged, dict[str, str]]:
    """A result by its name, and its forms by their endings."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FORCE_COLOR", "TERM", "TTY_COMPATIBLE", "COLORTERM"):
            patch.delenv(name, raising=False)
        patch.setenv("COLUMNS", "100")
        patch.setenv("NO_COLOR", "1")
        judged = golden_pages.judged_result(tmp_path_factory.mktemp(request.param), request.param)
        return request.param, judged, dict(golden_pages.texts(judged))


def test_every_form_is_as_it_was(made: tuple[str, Judged, dict[str, str]]) -> None:
    name, _, forms = made
    for ending, text in forms.items():
        golden = Path(golden_pages.FOLDER / f"{name}.{ending}").read_text(encoding="utf-8")
        changed = [*difflib.unified_diff(golden.splitlines(), text.splitlines(), lineterm="", n=0)][:40]
        assert not changed, "\n".join([*changed, f"meant? {golden_pages.COMMAND} renews the pages"])


def test_an_interval_reads_the_same_in_every_form(made: tuple[str, Judged, dict[str, str]]) -> None:
    _, judged, forms = made
    for summary in judged.summaries:
        for figure in filter(None, (summary.image_s, summary.infer_s)):
            assert all(words.interval(figure) in text for text in forms.values())
    for ending, text in forms.items():
        latencies = {words.interval(each.latency) for each in judged.summaries if each.latency}
        shown = set(re.findall(r"image_s (\d[^ ]* ±[^ ]*) s", text.replace("\\", "")))
        assert shown <= latencies, ending
