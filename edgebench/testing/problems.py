"""How a test of the contract fails: everything that is wrong at once, each with how to mend it."""

from __future__ import annotations

import ast
import functools
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, NoReturn

import pytest

from edgebench.errors import SessionError

_MENDS = {
    "error": "mend in the runner what the worker complains of",
    "golden_mismatch": "compute the artifact's scores of its golden patches: look at the input's layout, "
    "scale and zero point, and at the order of rows and classes",
}
"""By a session's status: how the author of a backend mends it, which is not how its user does."""


def fail(fault: str, mend: str) -> NoReturn:
    """Fail the test with what is wrong and how to mend it; no traceback, the fault is not in the test."""
    pytest.fail(_fault_text(fault, mend), pytrace=False)


def ended(subject: str, error: SessionError) -> tuple[str, str]:
    """A session that ended early: what is wrong, with the end of its stderr, and how to mend it."""
    words = "; ".join(part for part in (error.what, error.why) if part)
    tail = "".join(f"\n    {line}" for line in error.stderr_tail.strip().splitlines()[-6:])
    mend = _MENDS.get(error.status) or error.fix or "see what it says there"
    return f"{subject}: {error.status} at {error.stage}: {words}{tail}", mend


class Problems:
    """What a test has found so far."""

    def __init__(self) -> None:
        self._faults: list[str] = []

    def add(self, fault: str, mend: str) -> None:
        """Remember one problem and go on."""
        self._faults.append(_fault_text(fault, mend))

    def unless(self, fine: bool, fault: str, mend: str) -> bool:
        """Remember the problem unless all is fine; returns whether it is."""
        if not fine:
            self.add(fault, mend)
        return fine

    def unless_json(self, value: object, subject: str) -> bool:
        """Remember a problem unless JSON carries the value and gives the same back."""
        try:
            back = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            self.add(
                f"{subject} is not JSON: {error}", "give str, int, float, bool, None, list and dict alone"
            )
            return False
        changed = "JSON turns its keys or tuples into something else"
        return self.unless(back == _plain(value), f"{subject}: {changed}", "use text as keys, and no sets")

    def report(self) -> None:
        """Fail the test if anything was found."""
        if self._faults:
            pytest.fail("\n".join(self._faults), pytrace=False)


@contextmanager
def problems() -> Iterator[Problems]:
    """Collect what is wrong, and fail with all of it at the end."""
    collected = Problems()
    yield collected
    collected.report()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    return value


def _fault_text(fault: str, mend: str) -> str:
    return f"{fault}\n  mend: {mend}"


# Old Pythons on this machine, and whether a file for the boards would run on one.


OLDEST = (3, 6)
ASK_S = 60.0
PYENV = Path("~/.pyenv/versions")
_COMPILE = "import sys; name = sys.argv[1]; compile(open(name, encoding='utf-8').read(), name, 'exec')"

_VERMIN = "import sys; sys.argv[0] = 'vermin'; from vermin import main; main()"


@dataclass(frozen=True)
class Verdict:
    """What is wrong, one line each, and who looked."""

    problems: tuple[str, ...]
    judges: tuple[str, ...]


def candidates(version: str) -> list[str]:
    """Where a Python such as "3.6" may lie: on the PATH, then pyenv's."""
    on_path = shutil.which(f"python{version}")
    paths = [on_path] if on_path else []
    return paths + sorted(str(path) for path in PYENV.expanduser().glob(f"{version}.*/bin/python"))


def works(command: Sequence[str], timeout: float = ASK_S) -> bool:
    """Whether a command ends well."""
    try:
        return subprocess.run(command, capture_output=True, timeout=timeout, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@functools.cache
def find_python(version: str) -> str | None:
    """A Python of that version that runs, or None; a shim that only says how to get one does not count."""
    ask = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    return next((path for path in candidates(version) if works([path, "-c", ask])), None)


def judge_syntax(file: Path) -> Verdict:
    """Whether Python 3.6 takes a file: by its syntax tree, by such a Python and vermin where they are."""
    violations: list[str] = []
    judges: list[str] = ["its syntax tree"]
    violations += [f"{file.name}: {problem}" for problem in _tree_problems(file)]
    if python := find_python("3.6"):
        judges.append("Python 3.6")
        violations += _complaints([python, "-c", _COMPILE, str(file)])
    if importlib.util.find_spec("vermin") is not None:
        judges.append("vermin")
        looks = ("-q", "-t=3.6-", "--violations", "--no-tips", "--eval-annotations")
        violations += _complaints([sys.executable, "-c", _VERMIN, *looks, str(file)])
    return Verdict(tuple(violations), tuple(judges))


def _tree_problems(file: Path) -> list[str]:
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=OLDEST)
    except (SyntaxError, ValueError) as error:
        return [str(error)]
    return [
        f"line {node.lineno}: `from __future__ import annotations` is Python 3.7"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
    ]


def _complaints(command: Sequence[str]) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"{command[0]}: {error}"]
    if done.returncode == 0:
        return []
    return [(done.stderr.strip() or done.stdout.strip() or "no reason was given")[-2000:]]


# What a file for the boards imports, read from its text: it is never imported here.


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
