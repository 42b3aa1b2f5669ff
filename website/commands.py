"""The page of commands: what `--help` says of each, with every argument and option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main

_HEAD = """# Commands

What `--help` says of each. [Running a benchmark](running.md#settings-and-exit-codes) has the exit codes.
"""


def page() -> str:
    """The whole page."""
    from edgebench.cli.main import app

    root = typer.main.get_command(app)
    context: Any = root.make_context("edgebench", [], resilient_parsing=True)
    return "\n".join([_HEAD, *_sections(root, context, "edgebench")])


def _sections(command: Any, context: Any, name: str) -> Iterator[str]:
    yield _section(command, context, name)
    if hasattr(command, "list_commands"):
        for word in command.list_commands(context):
            inner = command.get_command(context, word)
            if inner is not None and not inner.hidden:
                # An installed package's group is imported when its context is made, which then holds it.
                inner_context = inner.make_context(word, [], parent=context, resilient_parsing=True)
                yield from _sections(inner_context.command, inner_context, f"{name} {word}")


def _section(command: Any, context: Any, name: str) -> str:
    usage = " ".join([name, *(re.sub(r"\s+", " ", piece) for piece in command.collect_usage_pieces(context))])
    rows = []
    for parameter in command.get_params(context):
        if getattr(parameter, "hidden", False) or "--help" in parameter.opts:
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            rows.append(f"| `{_code(record[0])}` | {_cell(record[1])} |")
    text = f"## {name}\n\n{_paragraphs(command.help or '')}\n\n    {usage}\n"
    if rows:
        text += "\n| option | meaning |\n| --- | --- |\n" + "\n".join(rows) + "\n"
    return text


def _paragraphs(text: str) -> str:
    """Help as Markdown: its markup of the terminal taken out."""
    plain = re.sub(r"\[/?(?:bold|dim|red|green|yellow|blue|cyan|link)[^\]]*\]", "", text.replace("\b", ""))
    return plain.replace("<", "&lt;").strip()


def _code(text: str) -> str:
    """Text within backticks, where nothing but the bar that ends a cell is taken for markup."""
    return " ".join(text.split()).replace("|", "\\|")


def _cell(text: str) -> str:
    return " ".join(_paragraphs(text).replace("|", "\\|").split())
