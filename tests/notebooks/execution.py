"""Notebooks executed as a reader executes them, and what they then show."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
MOST_TEXT = 20_000
"""Characters of one output: what a reader still takes in, and a commit by mistake still carries."""
MOST_PICTURE = 200_000
"""Characters of a picture as base64."""
EXECUTE_S = 240
_VALUES = "@values@"


def read(name: str) -> Any:
    """A notebook by its file's name."""
    return nbformat.read(NOTEBOOKS / name, as_version=4)


def execute(
    name: str, result: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, values: Sequence[str] = ()
) -> tuple[Any, dict[str, Any]]:
    """The executed notebook, and what some expressions come to at its end, as JSON carries it.

    Args:
        name: its file's name.
        result: the result that it looks at.
        folder: where it is executed.
        monkeypatch: of the environment.
        values: expressions of its variables; frames and series become lists of records.
    """
    monkeypatch.setenv("EDGEBENCH_RESULTS", os.path.relpath(result, folder))
    # Nothing of the user's: the kernel is then the interpreter that runs the tests.
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    for kind in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{kind}_DIR", str(folder / "jupyter" / kind.lower()))
    notebook = read(name)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import sys; sys.executable"))
    expressions = ", ".join(f"{value!r}: _plain({value})" for value in values)
    notebook.cells.append(
        nbformat.v4.new_code_cell(
            "import json\n\n"
            "def _plain(value):\n"
            "    if hasattr(value, 'to_json'):\n"
            "        return json.loads(value.reset_index().to_json(orient='records', double_precision=15))\n"
            "    return value\n\n"
            f"print({_VALUES!r} + json.dumps({{{expressions}}}))"
        )
    )
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=EXECUTE_S,
        resources={"metadata": {"path": str(folder)}},
    )
    executed = client.execute()
    assert repr(sys.executable) in shown(executed)
    last = executed.cells.pop()
    del executed.cells[0]
    return executed, json.loads(last.outputs[0]["text"].partition(_VALUES)[2])


def outputs(notebook: Any) -> Iterator[Any]:
    """Every output of every cell."""
    for cell in notebook.cells:
        yield from cell.get("outputs", ())


def shown(notebook: Any) -> str:
    """All text that it shows, tables as HTML as well."""
    texts = []
    for output in outputs(notebook):
        data = output.get("data", {})
        texts += [output.get("text", ""), data.get("text/plain", ""), data.get("text/html", "")]
    return "\n".join(text for text in texts if text)


def pictures(notebook: Any) -> int:
    """How many figures it shows."""
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


def require_tidy(notebook: Any, folders: Sequence[Path]) -> None:
    """Outputs are small, nothing is complained of, and no path of this machine is shown."""
    for output in outputs(notebook):
        assert output["output_type"] in ("stream", "display_data", "execute_result")
        assert output.get("name") != "stderr", output["text"]
        data = output.get("data", {})
        text = output.get("text", "") + data.get("text/plain", "") + data.get("text/html", "")
        assert len(text) <= MOST_TEXT, text[:500]
        assert len(data.get("image/png", "")) <= MOST_PICTURE
    text = shown(notebook)
    for path in (*map(str, folders), str(Path.home()), sys.prefix, str(NOTEBOOKS.parent)):
        assert path not in text, text[max(0, text.index(path) - 200) :][:400]


def trees(notebook: Any) -> Iterator[ast.Module]:
    """The syntax tree of each code cell."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield ast.parse(cell.source)
