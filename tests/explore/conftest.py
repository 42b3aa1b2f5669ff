"""A lab of two results, and what a site's scripts hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import synthetic_results


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Two results of three trials, the second with a meter."""
    synthetic_results.made_experiment(tmp_path / "lab", name="a")
    synthetic_results.made_experiment(tmp_path / "lab", name="b", power=True, seed=8)
    return tmp_path / "lab"


def document(path: Path) -> Any:
    """The document in a script of a site, as a browser has it once it has read all figures."""
    text = path.read_text(encoding="ascii")
    begins, ends = text.index("JSON.parse('") + len("JSON.parse('"), text.rindex("'));")
    literal = text[begins:ends]
    assert not set("<>\n") & set(literal)
    # The escapes of a text in JavaScript that a script writes: \\ \' \u003c.
    told = json.loads(json.loads('"' + literal.replace('"', '\\"').replace("\\'", "'") + '"'))
    figures = told.get("figures", {})
    return told | ({"figures": {name: json.loads(text) for name, text in figures.items()}} if figures else {})


def column(data: Any, name: str) -> list[str]:
    """A column of labels, an entry a trial."""
    return [decoded(data["labels"][name], place) for place in range(data["n"])]


def decoded(coded: Any, place: int) -> str:
    """The text of one trial."""
    text: str = coded["values"][coded["codes"][place] if coded["codes"] else 0]
    return text
