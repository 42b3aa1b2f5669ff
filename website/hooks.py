"""Hooks of mkdocs: adds the pages that are made of code and READMEs, and makes links lead to pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parents[1]))

from website import commands, examples, formats
from website.sources import PAGES, ROOT, BrokenLink, with_page_links, with_plain_bars

_SOURCES = {page: source for source, page in PAGES.items()}
_SOURCES |= {"formats.md": "docs/formats.md", "commands.md": "docs/commands.md"}

_TABLES = """/* A name in a table is not broken amid a word; on a narrow screen only a long one is. */
.md-typeset td:first-child { min-width: 7rem; }
@media (min-width: 60em) { .md-typeset td code { word-break: normal; } }
"""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that do not lie in docs/."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=examples.page() if page == "examples.md" else text))
    files.append(File.generated(config, "formats.md", content=formats.page()))
    files.append(File.generated(config, "tables.css", content=_TABLES))
    files.append(File.generated(config, "commands.md", content=commands.page()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to files of the repository into links to pages; one that leads nowhere ends the build."""
    try:
        linked = with_page_links(markdown, _SOURCES.get(page.file.src_uri, f"docs/{page.file.src_uri}"))
    except BrokenLink as error:
        raise PluginError(str(error)) from error
    return with_plain_bars(linked)
