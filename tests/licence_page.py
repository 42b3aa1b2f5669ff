"""docs/licences.md, written anew from the metadata of the pinned packages: `python -m tests.licence_page`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# What these packages' metadata does not say, with where it was read.
READ_ELSEWHERE = {
    "namex": ("Apache-2.0", "its file LICENSE"),
    "axe-playwright-python": ("MIT, with axe-core under MPL-2.0", "its files LICENSE and axe.min.js"),
    "tflite-micro": ("Apache-2.0", "the heads of its files"),
    "emx-onnx-cgen": ("Apache-2.0", "its file LICENSE"),
}
# Not installed by `dev`: a vendor's runtime that no package index of this kind brings, or a meter's library.
NOT_PINNED = {
    "tensorrt": "NVIDIA's own licence (proprietary); a Jetson has it with JetPack",
    "joulescope": "Apache-2.0, as its package says",
}
_SPDX = {
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "BSD License": "BSD",
    "3-Clause BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}

_SHIPPED = (
    (
        "`edgebench/prepare/assets`: scene and images, rendered from satellite imagery",
        "NASA Earth Observatory, Blue Marble; water mask and clouds by way of the package three-globe",
        "imagery of NASA is not under copyright; three-globe is MIT, and its notice is in "
        "[SOURCE.md](../edgebench/prepare/assets/SOURCE.md)",
    ),
    (
        "`edgebench/prepare`: weights and .tflite files",
        "trained for EdgeBench on those images, from random weights",
        "Apache-2.0",
    ),
    (
        "`edgebench/explore/page/d3.min.js`: d3 7.9.2 as published (npm package d3, dist/d3.min.js)",
        "Mike Bostock and others; SHA-256 and all notices are in "
        "[LICENSES.txt](../edgebench/explore/page/LICENSES.txt)",
        "ISC, with parts under BSD-3-Clause, MIT, Apache-2.0 and the Unlicense",
    ),
    (
        "`results/reference`: figures that others published",
        "their authors, each named with its source",
        "figures alone, with their sources",
    ),
)
HEAD = """# Licences of others

EdgeBench is under the Apache License 2.0 ([LICENSE](../LICENSE)). This page is made of the metadata of the
packages that constraints.txt pins (`python -m tests.licence_page`), and a test holds it to them.

## What is shipped

| what | whose | licence |
| --- | --- | --- |
{shipped}

No other source, library or font of others is in the package. Firmware is built against TensorFlow Lite for
Microcontrollers, coralmicro and vendors' kits that its user has, under their own licences.

## What an installation brings

An extra is listed with what it adds to the packages above it; licences as the packages name them.
"""


def pinned() -> dict[str, str]:
    """Version by normalised name, of constraints.txt."""
    lines = (line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    return {normal(name): version for name, version in lines}


def normal(name: str) -> str:
    """A distribution's name as it is compared (the packaging specification on name normalisation)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(lines: list[str], extra: str = "") -> Iterator[str]:
    """The normalised names of what these requirements bring on this machine, each once."""
    waiting = [(Requirement(line), extra) for line in lines]
    taken: set[tuple[str, str]] = set()
    while waiting:
        requirement, of_extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": of_extra}):
            continue
        name = normal(requirement.name)
        for further in ("", *requirement.extras):
            if (name, further) in taken:
                continue
            taken.add((name, further))
            if not further:
                yield name
            if name == "edgebench":
                own = PROJECT["optional-dependencies"].get(further, [])
                waiting += [(Requirement(line), "") for line in own]
                continue
            try:
                waiting += [(Requirement(line), further) for line in requires(name) or ()]
            except PackageNotFoundError:
                continue


def licence(name: str) -> str:
    """What the package says of its licence, in SPDX's words where known; KeyError where nothing is."""
    about = metadata(name)
    if "License-Expression" in about:
        return about["License-Expression"]
    classified = [
        line.rpartition("::")[2].strip() for line in about.get_all("Classifier", ()) if "License ::" in line
    ]
    if classified:
        return " / ".join(_SPDX.get(text, text) for text in classified)
    stated = _stated(about)
    if stated:
        return _SPDX.get(stated, stated)
    text, source = READ_ELSEWHERE[name]
    return f"{text} ({source})"


def _stated(about: PackageMetadata) -> str:
    text = about["License"].strip() if "License" in about else ""
    return text if text and len(text) < 40 and text != "UNKNOWN" else ""


def page() -> str:
    """The whole page."""
    shipped = "\n".join(f"| {' | '.join(row)} |" for row in _SHIPPED)
    parts = [HEAD.format(shipped=shipped)]
    above: set[str] = set()
    extras = PROJECT["optional-dependencies"]
    for title, lines in [
        ("`edgebench`", PROJECT["dependencies"]),
        *((f"`edgebench[{name}]`", extras[name]) for name in extras),
    ]:
        names = sorted(set(closure(lines)) - above - {"edgebench"})
        above |= set(names)
        if names:
            parts.append(
                f"\n### {title}\n\n| package | version | licence |\n| --- | --- | --- |\n"
                + "\n".join(map(_row, names))
                + "\n"
            )
    return "".join(parts)


def _row(name: str) -> str:
    if name in NOT_PINNED:
        return f"| {name} | not pinned | {NOT_PINNED[name]} |"
    return f"| {name} | {pinned().get(name, 'not pinned')} | {licence(name)} |"


if __name__ == "__main__":
    PAGE.write_text(page())
