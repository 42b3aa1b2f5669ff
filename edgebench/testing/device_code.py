"""Checks of a board's file: its syntax and its imports, read from its text without importing it."""

from __future__ import annotations

import ast
import functools
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

OLDEST = (3, 6)
ASK_S = 60.0
PYENV = Path("~/.pyenv/versions")
_COMPILE = "import sys; name = sys.argv[1]; compile(open(name, encoding='utf-8').read(), name, 'exec')"
_VERMIN = "import sys; sys.argv[0] = 'vermin'; from vermin import main; main()"
_VERMIN_FLAGS = ("-q", "-t=3.6-", "--violations", "--no-tips", "--eval-annotations")

NEWER_THAN_OLDEST = {"contextvars", "dataclasses", "graphlib", "tomllib", "zoneinfo"}
"""Modules of the standard library that Python 3.6 does not have."""

RUNTIMES = {
    *(
        "ai_edge_litert",
        "hailo_platform",
        "jax",
        "keras",
        "mxnet",
        "ncnn",
        "onnxruntime",
        "openvino",
        "pycoral",
    ),
    *("pycuda", "rknn", "rknnlite", "tensorflow", "tensorrt", "tflite_micro", "tflite_runtime"),
    *("torch", "tvm"),
}
"""Runtimes that never live in the harness's process."""


def candidates(version: str) -> list[str]:
    """Paths where a Python such as "3.6" may be: on the PATH, then pyenv's."""
    on_path = shutil.which(f"python{version}")
    paths = [on_path] if on_path else []
    return paths + sorted(str(path) for path in PYENV.expanduser().glob(f"{version}.*/bin/python"))


@functools.cache
def find_python(version: str) -> str | None:
    """A Python of that version that runs, else None; a shim that only prints advice does not count."""
    ask = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    return next((path for path in candidates(version) if works([path, "-c", ask])), None)


def works(command: Sequence[str], timeout: float = ASK_S) -> bool:
    """Return True if a command ends well."""
    return not _complaints(command, timeout)


def _complaints(command: Sequence[str], timeout: float = ASK_S) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"{command[0]}: {error}"]
    if done.returncode == 0:
        return []
    return [(done.stderr.strip() or done.stdout.strip() or "no reason was given")[-2000:]]


def python_3_6_problems(files: Iterable[Path], note: Callable[[str], object], fix: str) -> list[str]:
    """Problems of each file with Python 3.6, as boards have it; a note names the judges."""
    problems = []
    for file in files:
        verdicts = judge_syntax(file)
        note(f"{file.name} was checked for Python 3.6 by {', '.join(verdicts)}")
        texts = [text for complaints in verdicts.values() for text in complaints]
        problems += [f"{file.name} is not valid Python 3.6: {text}; fix: {fix}" for text in texts]
    return problems


def judge_syntax(file: Path) -> dict[str, list[str]]:
    """Findings of each judge against Python 3.6: the syntax tree, such a Python and vermin where they are."""
    verdicts = {"its syntax tree": _tree_problems(file)}
    if python := find_python("3.6"):
        verdicts["Python 3.6"] = _complaints([python, "-c", _COMPILE, str(file)])
    if importlib.util.find_spec("vermin") is not None:
        verdicts["vermin"] = _complaints([sys.executable, "-c", _VERMIN, *_VERMIN_FLAGS, str(file)])
    return verdicts


def _tree_problems(file: Path) -> list[str]:
    try:
        nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8"), feature_version=OLDEST))
    except (SyntaxError, ValueError) as error:
        return [str(error)]
    return [
        f"line {node.lineno}: `from __future__ import annotations` is Python 3.7"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
    ]


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
    complaints = []
    for node in _imports(ast.parse(file.read_text(encoding="utf-8"), file.name), within_functions):
        where, names = f"{file.name} line {node.lineno}", [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        if isinstance(node, ast.ImportFrom) and node.level:
            modules = [file.parents[node.level - 1].joinpath(*name.split(".")) for name in names]
            complaints += [
                f"{where}: a relative import of a file that does not travel to the board with it"
                for module in modules
                if module.with_suffix(".py") not in travelling and module / "__init__.py" not in travelling
            ]
            continue
        for module in (name.partition(".")[0] for name in names):
            if module in NEWER_THAN_OLDEST:
                complaints.append(f"{where}: {module} is not in Python 3.6")
            elif module not in allowed and module not in sys.stdlib_module_names:
                complaints.append(f"{where}: {module}")
    return complaints


def _imports(node: ast.AST, within_functions: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that are executed on the board: not those that only a type checker reads."""
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    elif isinstance(node, ast.If) and ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING":
        children = iter(node.orelse)
    elif isinstance(node, ast.FunctionDef) and not within_functions:
        return
    for child in children:
        yield from _imports(child, within_functions)


def modules_of(distributions: Sequence[str]) -> set[str]:
    """Import names of distributions such as `ai-edge-litert`: as installed, and as usually spelt."""
    wanted = {_spelling(name) for name in distributions}
    installed = {
        module
        for module, owners in packages_distributions().items()
        if any(_spelling(owner) in wanted for owner in owners)
    }
    return installed | {name.replace("-", "_") for name in wanted}


def _spelling(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def argument_counts(file: Path) -> dict[str, int]:
    """Number of arguments of each function at the top level of a Python file."""
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body
    except SyntaxError:
        return {}
    return {node.name: len(node.args.args) for node in body if isinstance(node, ast.FunctionDef)}
