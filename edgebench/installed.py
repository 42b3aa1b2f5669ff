"""Which packages are installed here, and in which version; imports none of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version


def version_of(package: str) -> str | None:
    """The version of an installed distribution; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def versions_of(packages: Sequence[str]) -> dict[str, str | None]:
    """The same of several, by name."""
    return {package: version_of(package) for package in packages}
