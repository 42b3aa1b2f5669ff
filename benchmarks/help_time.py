"""`edgebench --help` against a bare typer program of two commands."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.pairs import abba
from benchmarks.row import Row, ratio_row
from edgebench.prepare.cache import Cache

BAR = 1.3
BARE = '''
import typer
app = typer.Typer()
@app.command()
def one(name: str = "a") -> None:
    """One."""
@app.command()
def two(count: int = 1) -> None:
    """Two."""
app()
'''
OURS = "from edgebench.cli.main import main; main()"


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Whole processes, each after one that is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE)
        ours_command = [sys.executable, "-c", OURS, "--help"]
        bare_command = [sys.executable, str(bare), "--help"]
        _seconds(ours_command)
        _seconds(bare_command)
        paired = abba(lambda: _seconds(ours_command), lambda: _seconds(bare_command), pairs)
    return [ratio_row("edgebench --help against a bare typer program", paired, BAR)]


def _seconds(command: list[str]) -> float:
    start_s = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
    return time.perf_counter() - start_s
