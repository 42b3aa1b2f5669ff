"""What a file for the boards imports, read from its text: it is never imported here."""

from __future__ import annotations

import ast
import sys
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
    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []

    def visit_If(self, node: ast.If) -> None:
        test = node.test
        name = test.id if isinstance(test, ast.Name) else getattr(test, "attr", "")
        # What only a type checker sees is not imported on the board.
        for inner in node.orelse if name == "TYPE_CHECKING" else [*node.body, *node.orelse]:
            self.visit(inner)

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [(node.lineno, alias.name.partition(".")[0]) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = str(node.module or "").partition(".")[0]
        self.found.append((node.lineno, "." * node.level + module))


def imports_of(file: Path) -> list[tuple[int, str]]:
    """Line and top-level module of every import, a relative one with its dots.

    SyntaxError when it is no Python.
    """
    visitor = _Imports()
    visitor.visit(ast.parse(file.read_text(encoding="utf-8"), file.name))
    return visitor.found


def foreign_imports(file: Path, allowed: set[str], beside: frozenset[str] = frozenset()) -> list[str]:
    """The imports that a board cannot serve, in words.

    Args:
        file: what travels to the board.
        allowed: modules beside the standard library.
        beside: the files that travel with the runner, as it takes them in: `.name` or `..name`.
    """
    said = []
    for line, module in imports_of(file):
        if module.startswith("."):
            if module not in beside:
                said.append(
                    f"{file.name} line {line}: a relative import: the file lies alone on the board, "
                    "but for what runner_files() names behind the runner"
                )
        elif module in NEWER_THAN_OLDEST:
            said.append(f"{file.name} line {line}: {module} is not in Python 3.6")
        elif module not in allowed and module not in sys.stdlib_module_names:
            said.append(f"{file.name} line {line}: {module}")
    return said


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
