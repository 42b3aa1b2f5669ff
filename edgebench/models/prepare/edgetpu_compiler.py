"""Google's edgetpu_compiler: where it is, which version, what it makes of a model, and what its log says."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from edgebench.agent.children import signal_name
from edgebench.errors import EdgeBenchError, UnavailableError

PROGRAM = "edgetpu_compiler"
ASK_S = 30.0
COMPILE_S = 600.0
MAX_OUTPUT = 1 << 20  # characters of its words that are read
MAX_ROWS = 500
MAPPED = "Mapped to Edge TPU"

_VERSION = re.compile(r"Edge TPU Compiler version (?P<version>[0-9A-Za-z._-]{1,60})")
_SIZES = {
    "on_chip_used_bytes": "On-chip memory used for caching model parameters",
    "on_chip_remaining_bytes": "On-chip memory (?:available|remaining) for caching model parameters",
    "off_chip_used_bytes": "Off-chip memory used for streaming uncached model parameters",
}
_COUNTS = {
    "subgraphs": "Number of Edge TPU subgraphs",
    "operations": "Total number of operations",
    "on_edgetpu": "Number of operations that will run on Edge TPU",
    "on_cpu": "Number of operations that will run on CPU",
}
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_ROW = re.compile(
    r"^(?P<name>[A-Za-z][A-Za-z0-9_]{0,79})\s{2,}(?P<count>\d{1,6})\s{2,}(?P<status>\S.{0,299}?)\s*$"
)


@dataclass(frozen=True)
class Operation:
    """One row of the operation log: so many operations of one kind with one outcome."""

    name: str
    count: int
    status: str  # the compiler's own words

    @property
    def mapped(self) -> bool:
        """Whether they run on the Edge TPU."""
        return self.status == MAPPED


@dataclass(frozen=True)
class Log:
    """What the compiler said; None where it did not say it.

    Attributes:
        version: of the compiler.
        table: the operation log.
        on_chip_used_bytes, on_chip_remaining_bytes: of the Edge TPU's own memory for parameters.
        off_chip_used_bytes: parameters that are sent again with every inference.
        subgraphs: parts of the graph on the Edge TPU.
        operations, on_edgetpu, on_cpu: how many there are, and where they run.
    """

    version: str | None
    table: tuple[Operation, ...]
    on_chip_used_bytes: int | None = None
    on_chip_remaining_bytes: int | None = None
    off_chip_used_bytes: int | None = None
    subgraphs: int | None = None
    operations: int | None = None
    on_edgetpu: int | None = None
    on_cpu: int | None = None

    def as_record(self) -> dict[str, Any]:
        """Plain data for an artifact's provenance."""
        return asdict(self)


class CompilerError(EdgeBenchError):
    """The compiler did not make a model; `why` holds its last words."""


@dataclass(frozen=True)
class Compiler:
    """The program on this machine."""

    path: Path
    version: str


def find() -> Compiler | None:
    """The compiler on PATH; None where there is none. CompilerError for one that does not run."""
    program = shutil.which(PROGRAM)
    if program is None:
        return None
    path = Path(program)
    status = path.stat()
    return Compiler(path, _version(program, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=8)
def _version(path: str, size_bytes: int, mtime_ns: int) -> str:
    """Of the program in the state that size and time of change stand for."""
    output, code = _run([path, "--version"], ASK_S)
    match = _VERSION.search(output)
    if code != 0 or match is None:
        raise CompilerError(
            f"{path} does not say its version",
            why=_last(output) or f"exit code {code}",
            fix="it is a program for x86-64 Linux: run it by hand, or take it off PATH and use --artifact",
        )
    return match["version"]


def compile_model(compiler: Compiler, model: Path, scratch: Path) -> tuple[Path, Log]:
    """The compiled file, in `scratch`, and the log; CompilerError with the compiler's own words."""
    command = [str(compiler.path), "--show_operations", "--out_dir", str(scratch), str(model)]
    output, code = _run(command, COMPILE_S)
    compiled = scratch / f"{model.stem}_edgetpu.tflite"
    written = scratch / f"{model.stem}_edgetpu.log"
    if code != 0 or not compiled.is_file():
        raise CompilerError(
            f"edgetpu_compiler does not take {model.name}",
            why=_why(output, code),
            fix="see what it says; the model has to be int8 throughout, with fixed shapes",
        )
    with suppress(OSError):
        with written.open(encoding="utf-8", errors="replace") as file:
            output += "\n" + file.read(MAX_OUTPUT)
        written.unlink()
    return compiled, parse(output)


def parse(text: str) -> Log:
    """What the compiler's words and its log say; rows that come in both count once."""
    version = _VERSION.search(text)
    rows = dict.fromkeys(
        Operation(match["name"], int(match["count"]), match["status"])
        for line in text[: 2 * MAX_OUTPUT].splitlines()
        if (match := _ROW.match(line))
    )
    return Log(
        version["version"] if version else None,
        tuple(rows)[:MAX_ROWS],
        **{name: _size(text, label) for name, label in _SIZES.items()},
        **{name: _count(text, label) for name, label in _COUNTS.items()},
    )


def _size(text: str, label: str) -> int | None:
    match = re.search(label + r":\s*(\d{1,12}(?:\.\d{1,6})?)\s*(B|KiB|MiB|GiB)\b", text)
    return round(float(match[1]) * _UNITS[match[2]]) if match else None


def _count(text: str, label: str) -> int | None:
    match = re.search(label + r":\s*(\d{1,7})\b", text)
    return int(match[1]) if match else None


def _run(command: list[str], limit_s: float) -> tuple[str, int]:
    """Its words and exit code; the whole process group is ended after `limit_s`."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise UnavailableError(
            f"{command[0]} cannot be run",
            why=error.strerror or str(error),
            fix="it is a program for x86-64 Linux; without it use --artifact with a compiled model",
        ) from error
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise CompilerError(
            f"{Path(command[0]).name} was ended after {limit_s:.0f} s",
            why="it had not finished",
            fix="compile the model by hand and give it with --artifact",
        ) from error
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return output[:MAX_OUTPUT], process.returncode


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return "; ".join(lines[-4:])[:600]


def _why(output: str, code: int) -> str:
    """How it ended and its last words; a compiler that dies amid its work says nothing of that itself."""
    ended = f"it died by {signal_name(-code)}" if code < 0 else f"exit code {code}"
    return f"{ended}: {_last(output) or 'it printed nothing'}"


def command_for(models: Mapping[str, Path], folder: Path) -> str:
    """What to type on a machine that has the compiler, for these files."""
    from shlex import quote

    names = " ".join(quote(str(path)) for path in models.values())
    return f"{PROGRAM} --show_operations --out_dir {quote(str(folder))} {names}"
