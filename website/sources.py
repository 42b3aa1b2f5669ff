"""Which files of the repository are pages, and how links between them become links between pages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]

PAGES: Mapping[str, str] = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "extending.md",
    "SECURITY.md": "security.md",
    "backends/coral/README.md": "devices/coral.md",
    "backends/coral/micro/README.md": "devices/coralmicro-firmware.md",
    "backends/coralmicro/README.md": "devices/coralmicro.md",
    "backends/cortexm/README.md": "devices/cortexm.md",
    "backends/cortexm/firmware/README.md": "devices/cortexm-firmware.md",
    "backends/cpu/README.md": "devices/cpu.md",
    "backends/jetson/README.md": "devices/jetson.md",
    "backends/onnxruntime/README.md": "devices/onnxruntime.md",
    "backends/openvino/README.md": "devices/openvino.md",
    "backends/replay/README.md": "devices/replay.md",
    "backends/rknn/README.md": "devices/rknn.md",
    "backends/toy/README.md": "devices/toy.md",
    "edgebench/fleet/README.md": "fleet.md",
    "edgebench/probes/host/README.md": "meters/host.md",
    "edgebench/probes/jetson/README.md": "meters/jetson.md",
    "examples/README.md": "examples.md",
    "examples/backend-template/README.md": "template.md",
    "notebooks/README.md": "notebooks.md",
    "results/reference/README.md": "reference.md",
}
"""Files outside docs/ -> the page that each becomes; what lies in docs/ is a page of its own name."""

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_CODE = re.compile(r"`[^`]+`")
_FENCE = re.compile(r"^(```|~~~)")


class BrokenLink(ValueError):
    """A link to a file that is not there."""


def with_page_links(text: str, source: str, exists: Callable[[str], bool] | None = None) -> str:
    """A page's Markdown with links to files of the repository made links to pages.

    What has no page is named by its path. Links within code are left alone.

    Args:
        text: the Markdown.
        source: the file that it comes from, relative to the root of the repository.
        exists: whether a path, relative to the root, is there.

    Raises BrokenLink for a link to a file that is not there.
    """
    is_there = exists or (lambda path: (ROOT / path).exists())
    at = page_of(source) or source
    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= bool(_FENCE.match(line.strip()))
        is_code = fenced or line.startswith("    ")
        lines.append(line if is_code else _LINK.sub(lambda link: _link(link, source, at, is_there), line))
    return "\n".join(lines)


def with_plain_bars(text: str) -> str:
    r"""A page's Markdown with `\|` within the code of its tables made `|`.

    GitHub wants the bar of a cell's code escaped; the site's Markdown takes it as it is and would show the
    backslash.
    """
    return "\n".join(
        _CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line
        for line in text.split("\n")
    )


def page_of(source: str) -> str | None:
    """The page that a file of the repository is; None for one that is no page."""
    if source in PAGES:
        return PAGES[source]
    return source.removeprefix("docs/") if source.startswith("docs/") else None


def _link(link: re.Match[str], source: str, at: str, exists: Callable[[str], bool]) -> str:
    picture, text, address = link.groups()
    if re.match(r"[a-z]+:|#", address):
        return link[0]
    path, _, anchor = address.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    page = page_of(target)
    if not exists(target) and not (page and page in GENERATED):
        raise BrokenLink(f"{source}: {address} leads nowhere")
    if page is None and exists(posixpath.join(target, "README.md")):
        page = page_of(posixpath.join(target, "README.md"))
    if page is None:
        return text if text.strip("`") == target else f"{text} (`{target}`)"
    relative = posixpath.relpath(page, posixpath.dirname(at) or ".")
    return f"{picture}[{text}]({relative}{'#' + anchor if anchor else ''})"


GENERATED = frozenset({"commands.md", "formats.md"})
"""Pages that are made of the code."""
