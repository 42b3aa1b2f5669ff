"""A new package for a device or a meter, made of the template with the names replaced.

The template is `examples/backend-template` in a checkout, and a folder of an installed package.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Literal

from edgebench import registry
from edgebench.errors import NoPermissionError, UsageError
from edgebench.installed import shipped_folder

Kind = Literal["backend", "meter"]

FILES = (
    "README.md",
    "pyproject.toml",
    "src/edgebench_example_board/__init__.py",
    "src/edgebench_example_board/backend.py",
    "src/edgebench_example_board/device/__init__.py",
    "src/edgebench_example_board/device/meter.py",
    "src/edgebench_example_board/device/runner.py",
    "tests/test_example_board_backend.py",
    "tests/test_example_board_meter.py",
)
OF_A_BACKEND = re.compile(r"(backend|runner)\.py$")
NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
MOST_LETTERS = 40
GROUPS: dict[Kind, str] = {"backend": "edgebench.backends", "meter": "edgebench.probes"}
WHAT: dict[Kind, str] = {"backend": "device", "meter": "meter"}

# Marked in the template: what a meter alone does not have.
_BLOCK = re.compile(r"^<!-- backend -->\n(?P<held>.*?)^<!-- end -->\n", re.MULTILINE | re.DOTALL)
_ENTRY_POINT = re.compile(r'^\[project\.entry-points\."edgebench\.backends"\]\n[^\n]+\n\n', re.MULTILINE)


def template_folder() -> Path:
    """The template's folder; UsageError when this installation has none."""
    folder = shipped_folder("template", checkout="examples/backend-template")
    if folder is not None:
        return folder
    raise UsageError(
        "this installation has no template", fix="install edgebench again, from a wheel or a clone"
    )


def make_package(kind: Kind, name: str, parent: Path) -> Path:
    """Write the folder `parent/edgebench-NAME` and return it.

    Args:
        kind: a backend (with a meter) or a meter alone.
        name: what `--device` or `--meter` will take: lower case, words joined by - or _.
        parent: made where it is not there.

    Raises:
        UsageError: the name does not do or is taken, or the folder is there already.
        NoPermissionError: the folder cannot be written.
    """
    _check_name(kind, name)
    words = _words(kind, name)
    folder = parent / f"edgebench-{_hyphens(name)}"
    if folder.exists() or folder.is_symlink():
        raise UsageError(
            f"{folder} is there already", why="nothing is overwritten", fix="take another name or --output"
        )
    source = template_folder()
    try:
        parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: written beside it, then renamed.
        with tempfile.TemporaryDirectory(prefix=".edgebench-new-", dir=parent) as scratch:
            package = Path(scratch) / folder.name
            for path in FILES:
                if kind == "backend" or not OF_A_BACKEND.search(path):
                    target = package / _replaced(path, words)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    text = (source / path).read_text(encoding="utf-8")
                    target.write_text(_replaced(_of_kind(kind, text), words), encoding="utf-8")
            package.rename(folder)
    except OSError as error:
        raise NoPermissionError(
            f"{folder} cannot be written", why=error.strerror or str(error), fix="name another --output"
        ) from error
    return folder


def _check_name(kind: Kind, name: str) -> None:
    if not NAME.fullmatch(name) or len(name) > MOST_LETTERS:
        raise UsageError(
            f"{name!r} is no name for a {WHAT[kind]}",
            why=f"it takes at most {MOST_LETTERS} lower-case letters and digits, words joined by - or _",
            fix="write it like my-board",
        )
    if name.startswith(("edgebench-", "edgebench_")) or name == "edgebench":
        raise UsageError(
            f"{name!r} would become edgebench-{_hyphens(name)}", fix="leave edgebench out of the name"
        )
    if name in registry.names(GROUPS[kind]):
        raise UsageError(
            f"there is a {WHAT[kind]} {name!r} already", fix="take another name (`edgebench devices`)"
        )


def _words(kind: Kind, name: str) -> dict[str, str]:
    """The replacements, the longest first."""
    camel = "".join(word.capitalize() for word in re.split("[-_]", name))
    words = {"example-board": name, "example_board": name.replace("-", "_"), "ExampleBoard": camel}
    words["edgebench-example-board"] = f"edgebench-{_hyphens(name)}"
    if kind == "meter":
        alone = {"example-board-meter": name, "example_board_meter": name.replace("-", "_")}
        words.update(alone, ExampleBoardMeter=camel)
    return dict(sorted(words.items(), key=lambda item: -len(item[0])))


def _hyphens(name: str) -> str:
    return name.replace("_", "-")


def _replaced(text: str, words: dict[str, str]) -> str:
    return re.sub("|".join(map(re.escape, words)), lambda match: words[match[0]], text)


def _of_kind(kind: Kind, text: str) -> str:
    text = _BLOCK.sub((lambda match: match["held"]) if kind == "backend" else "", text)
    return text if kind == "backend" else _ENTRY_POINT.sub("", text)
