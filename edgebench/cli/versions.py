"""What `edgebench --version` prints: the versions that somebody who looks into a bug asks for first."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Mapping

from edgebench.installed import plug_ins, requirements, versions_of
from edgebench.suggest import printable
from edgebench.version import __version__

_WIDTH = 80


def version_lines() -> list[str]:
    """EdgeBench's version alone on the first line, then Python's, the system's and those of packages.

    Distributions are asked for their metadata; none is imported.
    """
    core, extras = (versions_of(names) for names in requirements())
    return [
        f"edgebench {__version__}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"{platform.system()} {platform.release()}, {platform.machine()}",
        *_listed("packages", {name: version or "missing" for name, version in core.items()}),
        *_listed("runtimes and meters", {name: version for name, version in extras.items() if version}),
        *_listed("not installed", {name: "" for name, version in extras.items() if not version}),
        *_listed("plug-ins", plug_ins()),
    ]


def _listed(title: str, versions: Mapping[str, str]) -> list[str]:
    """The packages in as many lines as they take; `none` without any."""
    text = ", ".join(printable(f"{name} {version}".strip()) for name, version in versions.items())
    return textwrap.wrap(f"{title}: {text or 'none'}", _WIDTH, subsequent_indent="  ")
