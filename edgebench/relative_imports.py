"""Python files with those that they take in by relative imports: what has to travel together."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path


def with_relative_imports(files: Iterable[Path]) -> tuple[Path, ...]:
    """The files, and behind them all that they take in by relative imports, directly or by way of others.

    Raises:
        SyntaxError: one is no Python.
    """
    travelling = list(files)
    for file in travelling:  # it grows meanwhile
        travelling += [path for path in dict.fromkeys(_imported(file)) if path not in travelling]
    return tuple(travelling)


def _imported(file: Path) -> Iterator[Path]:
    """The files of this one's relative imports, as far as they are there."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        module = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
        # `from .name import what`: name is a file, or a folder in which what is one.
        for path in (module, *(module / alias.name for alias in node.names)):
            yield from (there for there in (path.with_suffix(".py"), path / "__init__.py") if there.is_file())
