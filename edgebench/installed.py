"""Which packages are installed here, in which version, and where EdgeBench's own files lie; imports none."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import (
    EntryPoint,
    PackageNotFoundError,
    distributions,
    entry_points,
    requires,
    version,
)
from pathlib import Path
from typing import Any

_UNNAMED = "an unnamed package"
_log = logging.getLogger(__name__)

GROUPS = ("edgebench.backends", "edgebench.probes", "edgebench.commands")
"""The entry points by which other packages extend EdgeBench."""

_TOOLS = frozenset({"dev", "docs", "testing", "notebook"})
"""Extras that no measurement needs."""


def version_of(package: str) -> str | None:
    """The version of an installed distribution; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def versions_of(packages: Sequence[str]) -> dict[str, str | None]:
    """The same of several, by name."""
    return {package: version_of(package) for package in packages}


def shipped_folder(inside: str, *, checkout: str) -> Path | None:
    """A folder of data that a checkout has elsewhere than the installed package; None where it is missing.

    Args:
        inside: its name in the package.
        checkout: its path below the root of a clone, from which an editable installation reads it.
    """
    package = Path(__file__).parent
    candidates = (package / inside, package.parent / checkout)
    return next((folder for folder in candidates if folder.is_dir()), None)


def requirements() -> tuple[list[str], list[str]]:
    """The distributions that EdgeBench needs, and those that its extras bring for devices and meters.

    They are read of the installed package's own metadata; both are empty where that is missing.
    """
    try:
        lines = requires("edgebench") or []
    except PackageNotFoundError:
        return [], []
    core, extras = dict[str, None](), dict[str, None]()
    for line in lines:
        requirement, _, marker = line.partition(";")
        name = re.split(r"[\s\[(<>=!~]", requirement.strip(), maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)
        if extra is None:
            core[name] = None
        elif extra[1] not in _TOOLS and name != "edgebench":
            extras[name] = None
    return list(core), list(extras)


def extra_with(package: str) -> str:
    """The first extra of EdgeBench that brings a distribution; empty without one."""
    pattern = rf"{re.escape(package)}(?![\w-]).*extra\s*==\s*['\"]([^'\"]+)"
    try:
        found = (re.match(pattern, line) for line in requires("edgebench") or [])
        return next((match[1] for match in found if match), "")
    except PackageNotFoundError:
        return ""


def plug_ins() -> dict[str, str]:
    """Version by name of each other distribution that brings devices, meters or commands, sorted."""
    versions = {
        point.dist.name: point.dist.version
        for group in GROUPS
        for point in points_of(group)
        if point.dist is not None and name_of(point.dist) not in ("edgebench", _UNNAMED)
    }
    return dict(sorted(versions.items()))


def points_of(group: str) -> list[EntryPoint]:
    """The entry points of a group; of a distribution that cannot be read a warning."""
    try:
        return list(entry_points(group=group))
    except Exception:  # one such distribution hides the entry points of all
        points: list[EntryPoint] = []
    for distribution in distributions():
        try:
            points += distribution.entry_points.select(group=group)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            warn_once(f"the entry points of {name_of(distribution)} cannot be read: {text}; it is left out")
    return points


def name_of(distribution: Any) -> str:
    """The name in a distribution's metadata, or that nothing tells it."""
    try:
        return str(distribution.name or _UNNAMED)
    except Exception:  # whatever a broken file raises
        return _UNNAMED


@cache
def warn_once(text: str) -> None:
    """Say it on standard error, once a process."""
    _log.warning("%s", text)


# Python files with those that they take in by relative imports: what has to travel together.


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
