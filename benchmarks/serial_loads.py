"""How long an input takes to a microcontroller: over a pty that is as slow as a UART, as digits and as
frames.

The board is the firmware as a program of this machine. What the line allows for digits is taken twice: by
arithmetic (`hex_line_s`), and as the least program needs that sends the same commands over the same
pty and checks nothing (plain_load.c). At 921600 baud a command takes 0.81 ms, of which a pty and a
processor that wakes up may take more than 5 %: there the plain program is the bar, and arithmetic for
information.
"""

from __future__ import annotations

import importlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.pairs import abba
from benchmarks.row import Row, ratio_row
from edgebench.prepare.cache import Cache
from tests.backends.cortexm.host_programs import CORE, SCORES, compile_program

DIGITS_BAR = 1 / 0.95
"""At least 95 % of what the line allows, as times."""
FRAMES_BAR = 1 / 1.8
COMMANDS = {115_200: 100, 921_600: 500}
LINE_BARS = {115_200: DIGITS_BAR, 921_600: None}
TIMEOUT_S = 120.0
FLAGS = ("-std=c11", "-O2", f"-I{CORE}", '-DMODEL_ID="bench"', f"-DMODEL_SCORES={SCORES}")


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Three rows a baud; none, with the reason, where there is no C compiler."""
    if shutil.which("cc") is None:
        print("serial loads: not taken: no C compiler", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder:
        return [
            row for baud, commands in COMMANDS.items() for row in _rows(Path(folder), baud, commands, pairs)
        ]


def _rows(folder: Path, baud: int, commands: int, pairs: int) -> list[Row]:
    conversations, lines = (
        importlib.import_module(f"edgebench.backends.cortexm.{name}") for name in ("conversation", "line")
    )
    tensor = random.Random(baud).randbytes(commands * conversations.COMMAND_BYTES)
    plain = _plain_program(folder)
    with _paced_board(folder, baud, len(tensor)) as port:

        def by_digits() -> float:
            return load(frames=False)

        def load(frames: bool) -> float:
            line = lines.open_line(port, baud)
            try:
                conversation = conversations.Conversation(line, baud)
                if not frames:
                    conversation.help = tuple  # a firmware that offers no frames
                conversation.resynchronise()
                began_s = time.perf_counter()
                conversation.load(tensor)
                return time.perf_counter() - began_s
            finally:
                line.close()

        def plainly() -> float:
            command = [str(plain), port, str(len(tensor))]
            return float(subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S).stdout)

        digits = abba(by_digits, plainly, pairs)
        frames = abba(lambda: load(frames=True), by_digits, max(pairs // 4, 4))
    line_s = conversations.hex_line_s(len(tensor), baud)
    name = f"load at {baud} baud"
    return [
        ratio_row(f"{name}, digits against a plain program", digits, DIGITS_BAR, bytes=len(tensor)),
        Row(
            f"{name}, digits against the line's own time",
            statistics.median(digits.a) / line_s,
            "times",
            LINE_BARS[baud],
            statistics.median(digits.b) / line_s,
            {"line_s": line_s},
        ),
        ratio_row(f"{name}, frames against digits", frames, FRAMES_BAR, bytes=len(tensor)),
    ]


def _plain_program(folder: Path) -> Path:
    program = folder / "plain_load"
    source = Path(__file__).with_name("plain_load.c")
    subprocess.run(["cc", "-O2", str(source), "-o", str(program)], check=True, timeout=TIMEOUT_S)
    return program


@contextmanager
def _paced_board(folder: Path, baud: int, input_bytes: int) -> Iterator[str]:
    """The firmware on a pty, where bytes pass at this baud; its port."""
    compile_host: Callable[..., Path] = compile_program
    program = compile_host("host", folder, input_bytes=input_bytes, flags=FLAGS)
    with subprocess.Popen([program, "--baud", str(baud)], stdout=subprocess.PIPE, text=True) as board:
        try:
            assert board.stdout is not None
            yield board.stdout.readline().strip()
        finally:
            board.kill()
