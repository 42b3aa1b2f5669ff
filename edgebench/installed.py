"""Which packages are installed here, in which version, and where EdgeBench's own files lie; imports none."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


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
