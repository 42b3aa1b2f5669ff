"""Which packages are installed here, in which version, and where EdgeBench's own files lie; imports none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, entry_points, requires, version
from pathlib import Path

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


def plug_ins() -> dict[str, str]:
    """Version by name of each other distribution that brings devices, meters or commands, sorted."""
    versions = {
        point.dist.name: point.dist.version
        for group in GROUPS
        for point in entry_points(group=group)
        if point.dist is not None and point.dist.name != "edgebench"
    }
    return dict(sorted(versions.items()))
