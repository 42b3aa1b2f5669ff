"""Promises of a contract, and how a test fails that finds some broken: with each one's words and its fix."""

from __future__ import annotations

import ast
import functools
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, NoReturn

import pytest

from edgebench.errors import SessionError
from edgebench.testing.plugin import NOTE

Promise = tuple[bool, str, str]
"""Whether it is kept, what is wrong where it is not, and the fix for the author of the plug-in."""

_FIXES = {
    "error": "correct in the runner what the worker complains about",
    "golden_mismatch": "compute the artifact's scores of its golden patches: look at the input's layout, "
    "scale and zero point, and at the order of rows and classes",
}
"""By a session's status: the fix for the author of a backend, which is not that for its user."""


def promises(*needs: str) -> Callable[[Callable[[Any, Any], Iterable[Promise]]], Callable[..., None]]:
    """Make a test of a contract out of a method that takes the kit and gives promises.

    The test fails with all that are not kept. It skips where the class or the command line leaves it out.

    Args:
        needs: what the kit has to have, by its methods `require_...`, which skip: an agent, golden scores.
    """

    def test_of(check: Callable[[Any, Any], Iterable[Promise]]) -> Callable[..., None]:
        def test(self: Any, edgebench_kit: Any, record_property: Callable[[str, object], None]) -> None:
            edgebench_kit.note = functools.partial(record_property, NOTE)
            edgebench_kit.skip_where_asked(check.__name__)
            for need in needs:
                getattr(edgebench_kit, f"require_{need}")()
            broken = [fault_text(fault, fix) for kept, fault, fix in check(self, edgebench_kit) if not kept]
            if broken:
                pytest.fail("\n".join(broken), pytrace=False)

        # No functools.wraps: pytest would look for the fixtures of what is wrapped.
        test.__name__, test.__qualname__, test.__doc__ = check.__name__, check.__qualname__, check.__doc__
        test.__module__, test.needs = check.__module__, needs  # type: ignore[attr-defined]
        return test

    return test_of


def fail(fault: str, fix: str) -> NoReturn:
    """Fail the test with what is wrong and the fix; no traceback, the fault is not in the test."""
    pytest.fail(fault_text(fault, fix), pytrace=False)


def fault_text(fault: str, fix: str) -> str:
    """What is wrong, and the fix."""
    return f"{fault}\n  fix: {fix}"


def ended(subject: str, error: SessionError) -> Promise:
    """A session that ended early: what is wrong, with the end of its stderr, and the fix."""
    words = "; ".join(part for part in (error.what, error.why) if part)
    tail = "".join(f"\n    {line}" for line in error.stderr_tail.strip().splitlines()[-6:])
    fix = _FIXES.get(error.status) or error.fix or "see what it says there"
    return False, f"{subject}: {error.status} at {error.stage}: {words}{tail}", fix


def is_json(value: object, subject: str) -> Promise:
    """JSON carries the value and gives the same back."""
    try:
        back = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        return (
            False,
            f"{subject} is not JSON: {error}",
            "give str, int, float, bool, None, list and dict alone",
        )
    words = "JSON turns its keys or tuples into something else"
    return back == _plain(value), f"{subject}: {words}", "use text as keys, and no sets"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    return [_plain(held) for held in value] if isinstance(value, list | tuple) else value


def runs_on_python_3_6(files: Iterable[Path], kit: Any, fix: str) -> list[Promise]:
    """Each file is Python 3.6, as boards have it; the summary names the judges."""
    found = []
    for file in files:
        verdicts = judge_syntax(file)
        kit.note(f"{kit.name}: {file.name} was held to Python 3.6 by {', '.join(verdicts)}")
        texts = [text for complaints in verdicts.values() for text in complaints]
        found += [(False, f"{file.name} is not valid Python 3.6: {text}", fix) for text in texts]
    return found


# Old Pythons on this machine, and whether a file for the boards would run on one.


OLDEST = (3, 6)
ASK_S = 60.0
PYENV = Path("~/.pyenv/versions")
_COMPILE = "import sys; name = sys.argv[1]; compile(open(name, encoding='utf-8').read(), name, 'exec')"

_VERMIN = "import sys; sys.argv[0] = 'vermin'; from vermin import main; main()"


def candidates(version: str) -> list[str]:
    """Where a Python such as "3.6" may be: on the PATH, then pyenv's."""
    on_path = shutil.which(f"python{version}")
    paths = [on_path] if on_path else []
    return paths + sorted(str(path) for path in PYENV.expanduser().glob(f"{version}.*/bin/python"))


def works(command: Sequence[str], timeout: float = ASK_S) -> bool:
    """Whether a command ends well."""
    return not _complaints(command, timeout)


@functools.cache
def find_python(version: str) -> str | None:
    """A Python of that version that runs, else None; a shim that only prints advice does not count."""
    ask = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    return next((path for path in candidates(version) if works([path, "-c", ask])), None)


def judge_syntax(file: Path) -> dict[str, list[str]]:
    """What each judge finds against Python 3.6: the syntax tree, such a Python and vermin where they are."""
    verdicts = {"its syntax tree": _tree_problems(file)}
    if python := find_python("3.6"):
        verdicts["Python 3.6"] = _complaints([python, "-c", _COMPILE, str(file)])
    if importlib.util.find_spec("vermin") is not None:
        looks = ("-q", "-t=3.6-", "--violations", "--no-tips", "--eval-annotations")
        verdicts["vermin"] = _complaints([sys.executable, "-c", _VERMIN, *looks, str(file)])
    return verdicts


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


def _complaints(command: Sequence[str], timeout: float = ASK_S) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
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
        allowed: modules in addition to the standard library.
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
