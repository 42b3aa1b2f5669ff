"""docs/python.md: its blocks run, one after the other, and it names all that there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import matplotlib
import pytest

import edgebench
from edgebench.judge.requirements.profile import shipped_profiles
from tests import synthetic_results

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
BLOCKS = re.findall(
    r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module", params=[synthetic_results.made_experiment, synthetic_results.not_easy])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    for name in ("before", "after"):
        more: dict[str, Any] = {"profiles": [profile.as_record() for profile in shipped_profiles()]}
        if request.param is synthetic_results.made_experiment:
            more |= {"power": True, "image_paths": [f"{index}.png" for index in range(40)]}
        request.param(folder / "results", name=name, **more)
    (folder / "mine.toml").write_text(
        'name = "mine"\n[[requirements]]\nname = "t"\nquantity = "image_s"\nlimit = "1 s"\n'
    )
    (folder / "my-board.toml").write_text(
        '[boards.my-board]\ntitle = "My Board"\nmass_g = { value = 61.5, source = "kitchen scale" }\n'
    )
    return folder


def test_every_line_runs_and_gives_something(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    values = []
    for block in BLOCKS:
        for statement in ast.parse(block).body:
            if isinstance(statement, ast.Expr):
                code = compile(ast.Expression(statement.value), str(PAGE), "eval")
                values.append((ast.unparse(statement), eval(code, names)))
            else:
                exec(compile(ast.Module([statement], []), str(PAGE), "exec"), names)
    pyplot.close("all")
    assert len(values) > 20
    assert [text for text, value in values if value is None or not len_of(value)] == []
    assert "disco-realtime" in capsys.readouterr().out  # what was meant by a name with a slip


def len_of(value: object) -> int:
    return len(value) if hasattr(value, "__len__") else 1


def test_the_page_names_all_that_there_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in dir(edgebench):
        assert name == "__version__" or f"edgebench.{name}" in text or name == "Comparison", name
    inner = "path experiment run warnings table session_rows session_records rows rows_of_trials image_paths"
    for name in dir(edgebench.Results):
        is_inner = name.startswith("_") or name in (*inner.split(), "scene_jpeg", "trial_list")
        assert is_inner or name in text, name
