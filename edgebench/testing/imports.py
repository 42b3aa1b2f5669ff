"""What a file for the boards imports, read from its text: it is never imported here."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection
from importlib.metadata import packages_distributions
from pathlib import Path

NEWER_THAN_OLDEST = {"contextvars", "dataclasses", "graphlib", "tomllib", "zoneinfo"}
"""Modules of the standard library that Python 3.6 does not have."""

RUNTIMES = {
    "ai_edge_litert",
    "hailo_platform",
    "jax",
    "keras",
    "mxnet",
    "ncnn",
    "onnxruntime",
    "openvino",
    "pycoral",
    "pycuda",
    "rknnlite",
    "tensorflow",
    "tensorrt",
    "tflite_micro",
    "tflite_runtime",
    "torch",
    "tvm",
}
"""Runtimes that never live in the harness's process."""


class _Imports(ast.NodeVisitor):
    def __init__(self, within_functions: bool) -> None:
        self._within_functions = within_functions
        self.absolute: list[tuple[int, str]] = []
        self.relative: list[tuple[int, int, tuple[str, ...]]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if self._within_functions:
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        test = node.test
        name = test.id if isinstance(test, ast.Name) else getattr(test, "attr", "")
        # What only a type checker sees is not imported on the board.
        for inner in node.orelse if name == "TYPE_CHECKING" else [*node.body, *node.orelse]:
            self.visit(inner)

    def visit_Import(self, node: ast.Import) -> None:
        self.absolute += [(node.lineno, alias.name.partition(".")[0]) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        parts = tuple(node.module.split(".")) if node.module else ()
        if not node.level:
            self.absolute.append((node.lineno, parts[0]))
        elif parts:
            self.relative.append((node.lineno, node.level, parts))
        else:
            self.relative += [(node.lineno, node.level, (alias.name,)) for alias in node.names]


def foreign_imports(
    file: Path, allowed: set[str], travelling: Collection[Path] = (), *, within_functions: bool = True
) -> list[str]:
    """The imports that a board cannot serve, in words.

    Args:
        file: what travels to the board.
        allowed: modules beside the standard library.
        travelling: the files that travel with it.
        within_functions: whether imports inside of functions are looked at as well.

    Raises:
        SyntaxError: it is no Python.
    """
    visitor = _Imports(within_functions)
    visitor.visit(ast.parse(file.read_text(encoding="utf-8"), file.name))
    complaints = [
        f"{file.name} line {line}: a relative import of a file that does not travel to the board with it"
        for line, level, parts in visitor.relative
        if not _travels(file.parents[level - 1].joinpath(*parts), travelling)
    ]
    for line, module in visitor.absolute:
        if module in NEWER_THAN_OLDEST:
            complaints.append(f"{file.name} line {line}: {module} is not in Python 3.6")
        elif module not in allowed and module not in sys.stdlib_module_names:
            complaints.append(f"{file.name} line {line}: {module}")
    return complaints


def _travels(module: Path, travelling: Collection[Path]) -> bool:
    return module.with_suffix(".py") in travelling or module / "__init__.py" in travelling


def modules_of(distributions: tuple[str, ...]) -> set[str]:
    """What distributions such as `ai-edge-litert` are imported as: as installed, and as usually spelt."""
    wanted = {_spelling(name) for name in distributions}
    installed = {
        module
        for module, owners in packages_distributions().items()
        if any(_spelling(owner) in wanted for owner in owners)
    }
    return installed | {name.replace("-", "_") for name in wanted}


def _spelling(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
