"""The `edgebench` commands that README, pages and examples show, as a shell would split them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from website.sources import PAGES, ROOT

_STARTS = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*edgebench ")


def pages() -> list[Path]:
    """README, docs/ and each file that becomes a page; not the changelog, which tells of earlier versions."""
    named = [ROOT / source for source in PAGES if source != "CHANGELOG.md"]
    return sorted({ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *named})


def commands(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and arguments of each command in a page's code, without `edgebench` itself."""
    fenced, carried, began = False, "", 0
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip().startswith("```"):
            fenced = not fenced
            continue
        if not (fenced or line.startswith("    ") or carried):
            continue
        text = carried + line.strip()
        began = began if carried else number
        carried = ""
        if text.endswith("\\"):
            carried = text[:-1] + " "
            continue
        for part in re.split(r"&&|\|\||[;|](?= )", text):
            if _STARTS.match(part.strip()):
                words = shlex.split(part.strip(), comments=True)
                yield began, words[words.index("edgebench") + 1 :]
