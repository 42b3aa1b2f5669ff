"""Old Pythons on this machine, and whether a file for the boards would run on one."""

from __future__ import annotations

import ast
import functools
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
