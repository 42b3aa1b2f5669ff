"""Listings of devices, boards, targets, models and profiles: tables, or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from edgebench.report import words
from edgebench.report.renderers.blocks import Block
from edgebench.report.renderers.terminal import print_blocks
from edgebench.report.words import SCHEMA_VERSION


@dataclass(frozen=True)
class CommandOutput:
    """Output of a command that lists: a document for programs, blocks for people."""

    document: Mapping[str, Any]
    blocks: Sequence[Block]

    def show(self, console: Console, *, as_json: bool = False) -> None:
        """Print the blocks, or the document as JSON."""
        if as_json:
            write_json(console, self.document)
        else:
            print_blocks(console, self.blocks)


def write_json(console: Console, value: Mapping[str, Any]) -> None:
    """Write a document of this schema; not through the console, which would wrap long strings."""
    from edgebench.judge.document import plain  # loads pydantic, which no table needs

    document: dict[str, Any] = plain({"schema_version": SCHEMA_VERSION, **value})
    console.file.write(words.as_json(document))
