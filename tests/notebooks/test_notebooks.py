"""What holds of every notebook as it is kept."""

from __future__ import annotations

import ast
import re

import nbformat
import pytest

import edgebench
from tests.notebooks.execution import NOTEBOOKS, read, trees

NAMES = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))
LIBRARIES = {"edgebench", "matplotlib", "numpy", "pandas"}
STANDARD = {"os", "pathlib", "shlex", "subprocess", "sysconfig", "tempfile", "textwrap"}


def test_they_are_numbered_and_the_readme_has_each() -> None:
    assert [name[:2] for name in NAMES] == [f"{number:02d}" for number in range(1, len(NAMES) + 1)]
    assert set(re.findall(r"\]\((\d\d-[\w-]+\.ipynb)\)", (NOTEBOOKS / "README.md").read_text())) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_kept_without_outputs(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}


@pytest.mark.parametrize("name", NAMES)
def test_it_says_how_to_make_a_result_without_a_board(name: str) -> None:
    first = read(name).cells[0]
    assert first.cell_type == "markdown" and first.source.startswith("# ")
    assert "edgebench run --device replay" in first.source or "temporary folder" in first.source


@pytest.mark.parametrize("name", NAMES)
def test_it_uses_public_names_alone(name: str) -> None:
    for tree in trees(read(name)):
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    assert alias.name.partition(".")[0] in LIBRARIES | STANDARD
                    assert alias.name == "edgebench" or not alias.name.startswith("edgebench")
            elif isinstance(node, ast.ImportFrom):
                assert node.module in STANDARD
            elif isinstance(node, ast.Attribute):
                assert not node.attr.startswith("_"), ast.unparse(node)
                if isinstance(node.value, ast.Name) and node.value.id == "edgebench":
                    assert node.attr in edgebench.__all__
