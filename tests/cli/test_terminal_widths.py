"""What commands print at 80 columns, piped, without colour, in CI and in ASCII."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from rich.cells import cell_len
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from edgebench.cli.common import busy, stderr
from edgebench.cli.main import app
from edgebench.report.renderers.terminal import cell, make_console
from edgebench.report.words import SYMBOLS

LISTINGS = (
    "devices", "doctor --device toy", "targets list", "meters list", "models list", "profiles list",
    "profiles show disco-realtime", "profiles check disco-realtime", "boards list", "boards show jetson-nano",
    "cache", "fit --reference", "results",
)  # fmt: skip


def commands(group: TyperGroup, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All commands that come with EdgeBench, groups too."""
    yield words
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name)


def of_app() -> list[tuple[str, ...]]:
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    return list(commands(command))


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Runs a command in an empty folder, its output in a pipe that is said to have so many columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*words: str, columns: int | str = 80, **environment: str):
        settings = {"COLUMNS": str(columns), "CI": "true", "EDGEBENCH_CACHE_DIR": str(tmp_path / "cache")}
        done = CliRunner().invoke(app, list(words), env=settings | environment)
        return done.stdout, done.stderr

    return run


def too_wide(text: str, columns: int) -> list[str]:
    """Lines that do not fit, but for those that end with a path: what is wrapped cannot be copied."""
    return [line for line in text.splitlines() if cell_len(line) > columns and "/" not in line.split()[-1]]


@pytest.mark.parametrize(
    ("words", "columns"),
    [*((words, columns) for words in LISTINGS for columns in (80, 120)), ("run --device toy --dry-run", 80)],
)
def test_listings_keep_to_the_width_and_bring_no_control_codes_into_a_pipe(call, words, columns):
    out, err = call(*words.split(), columns=columns)
    assert out
    assert too_wide(out, columns) == []
    assert not {"\x1b", "\r", "\b"} & set(out + err)


@pytest.mark.parametrize("columns", ["0", "000", "-5", "wide", "\u00b2", "8 0", "", "9" * 12])
@pytest.mark.parametrize("words", ["devices", "--help"])
def test_columns_that_are_no_width_count_as_unset(call, words, columns):
    out, err = call(words, columns=columns)
    assert out == call(words, columns=80)[0]
    assert err == ""


@pytest.mark.parametrize("columns", ["1", "019", "20"])
@pytest.mark.parametrize("words", ["devices", "profiles list", "run --help"])
def test_columns_below_20_count_as_20(call, words, columns):
    out, err = call(*words.split(), columns=columns)
    assert out == call(*words.split(), columns=20)[0]
    assert max(map(cell_len, out.splitlines())) >= 15
    assert err == ""


def test_python_m_edgebench_is_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "edgebench", "results", "--no-such"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "Usage: edgebench results" in done.stderr


@pytest.mark.parametrize("words", of_app(), ids=" ".join)
def test_help_keeps_to_the_width(call, words):
    out, _ = call(*words, "--help", TERMINAL_WIDTH="")
    assert "Usage:" in out
    assert too_wide(out, 80) == []
    assert "\x1b" not in out
    assert "<bool>" not in out


@pytest.mark.parametrize("forced", [False, True])
def test_help_in_a_pipe_has_colours_only_where_they_are_forced(forced):
    environment = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "NO_COLOR")}
    environment |= {"GITHUB_ACTIONS": "true", "CI": "true", "TERM": "xterm"}
    environment |= {"FORCE_COLOR": "1"} if forced else {}
    program = "from edgebench.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "results", "--help"], env=environment, capture_output=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert (b"\x1b[" in done.stdout) == forced


def test_forced_colour_in_a_pipe_moves_nothing(monkeypatch):
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    console = stderr()
    assert not console.is_terminal
    console.print("late", style="red")
    with busy("reading"):
        pass
    assert pipe.getvalue() == "\x1b[31mlate\x1b[0m\n"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_on_a_terminal_what_takes_a_moment_leaves_nothing_behind(monkeypatch, encoding):
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    terminal = Terminal(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with busy("reading"):
        pass
    terminal.flush()
    written = terminal.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert "reading" in written
    assert written.endswith("\x1b[1A\x1b[2K")  # the line is erased, and the cursor is shown before that
    assert "\x1b[?25h" in written
    monkeypatch.setenv("TERM", "dumb")
    terminal.seek(0)
    terminal.truncate()
    with busy("reading"):
        pass
    terminal.flush()
    assert terminal.buffer.getvalue() == b""  # type: ignore[attr-defined]


def test_every_sign_has_one_in_ascii_that_tells_it_from_the_others():
    console = make_console(io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    signs = [cell(console, sign).plain for sign in (*SYMBOLS.values(), *"▁▂▃▄▅▆▇█")]
    assert len(set(signs)) == len(signs)
    assert "".join(signs).isascii()
