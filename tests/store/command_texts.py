"""The command line in this process, on results that someone else made; and what may never come out of it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgebench.cli import main as command
from tests.synthetic_results import write_record

MARK = "qz1"
HOSTILE = f"</script><{MARK} onload=x>&lt;[red]{MARK}[/red]\x1b[31m\x9b2J\x07\x00\r\n# {MARK}\n|`*_~\u202e'\""
"""Markup of every kind, terminal escapes of 7 and 8 bits, control characters and a change of direction."""


@dataclass(frozen=True)
class CommandResult:
    """What a command printed, and its exit code."""

    code: int
    out: str
    error: str


class _Stream(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="")

    def text(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


def run_command(*words: str) -> CommandResult:
    """`edgebench WORDS`, as its entry point runs it; what it does not foresee fails the test."""
    out, error = _Stream(), _Stream()
    before = sys.argv
    sys.argv = ["edgebench", *words]
    code: object = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            command.main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = before
    result = CommandResult(code if isinstance(code, int) else 1 if code else 0, out.text(), error.text())
    assert "Traceback" not in result.error, result.error
    assert "a fault of EdgeBench itself" not in result.error, result.error
    assert result.code in {0, 1, 2, 3, 4, 5}, result
    if result.code == 1:
        assert result.error.startswith("error: ") and "\n  fix: " in result.error, result.error
    plain(result.out)
    plain(result.error)
    return result


def plain(text: str) -> None:
    """AssertionError for what would do something to a terminal."""
    odd = re.search(r"[^\n\x20-\x7e\xa0-\u2029\u202f-\ud7ff\uf900-\ufffd\U00010000-\U0010ffff]", text)
    assert odd is None, (odd, text[max(0, odd.start() - 60) : odd.end() + 60])


def no_markup(text: str, form: str) -> None:
    """AssertionError where a hostile text has become markup of a report."""
    if form == ".md":
        # What stands in a fence is text, and the fence is longer than any in it.
        text = re.sub(r"^(`{3,})[^`\n]*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    if form in {".html", ".md"}:
        unescaped = re.search(rf"(?<!\\)<\s*/?{MARK}", text)
        assert unescaped is None, text[max(0, unescaped.start() - 100) : unescaped.end() + 20]
    if form == ".html":
        assert text.count("</script>") == text.count("<script")
    if form == ".md":
        assert not re.search(rf"^\s*#+ *{MARK}", text, re.MULTILINE)
    if form != ".json":
        assert "\x1b" not in text and "\x9b" not in text and "\x00" not in text


def leaves(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every place in a JSON value, containers too, with what is there."""
    yield at, value
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, (*at, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*at, number))


def replaced(value: Any, at: tuple[str | int, ...], new: Any) -> Any:
    """A copy of a JSON value with another one in that place."""
    if not at:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = replaced(value[at[0]], at[1:], new)
    return copy


def seal(file: Path) -> None:
    """Put the hash of a changed table into its session's record, as whoever means harm would."""
    path = file.parent / "session.json"
    record = json.loads(path.read_text())
    record["tables"][file.stem] = hashlib.sha256(file.read_bytes()).hexdigest()
    write_record(path, record)
