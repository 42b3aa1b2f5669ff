"""The cross-compiler for Cortex-M, where it is installed, and its calls."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from edgebench.errors import EdgeBenchError, UnavailableError

_COMPILER = "arm-none-eabi-gcc"
_DEBIAN = "apt install gcc-arm-none-eabi libnewlib-arm-none-eabi"
_LONGEST_WHY = 2000


class BuildError(EdgeBenchError):
    """A compiler, linker or generator that ended with an error; `why` has its last lines."""


def cross_compiler() -> Path:
    """Where it is; UnavailableError where it is not installed."""
    path = shutil.which(_COMPILER)
    if path is None:
        raise UnavailableError(
            "firmware for a Cortex-M cannot be compiled",
            why=f"{_COMPILER} is not installed",
            fix=_DEBIAN,
        )
    _require_library(Path(path))
    return Path(path)


def program_beside(compiler: Path, name: str) -> Path:
    """A program that comes with the compiler, such as `g++` or `readelf`; UnavailableError without it."""
    path = compiler.with_name(compiler.name.removesuffix("gcc") + name)
    if not path.exists():
        raise UnavailableError(
            "firmware for a Cortex-M cannot be built", why=f"{path.name} is not installed", fix=_DEBIAN
        )
    return path


@cache
def _require_library(compiler: Path) -> None:
    """UnavailableError where the compiler has no C library: Debian packages it on its own."""
    script = "#include <math.h>\n#include <string.h>\n"
    done = subprocess.run(
        [compiler, "-fsyntax-only", "-x", "c", "-"], input=script, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UnavailableError(
            "firmware for a Cortex-M cannot be compiled",
            why="newlib, its C library, is not installed",
            fix=_DEBIAN,
        )


@cache
def compiler_version(compiler: Path) -> str:
    """The first line that it says of itself."""
    return run([str(compiler), "--version"], "the compiler").splitlines()[0]


def run(command: Sequence[str], purpose: str, folder: Path | None = None) -> str:
    """Carry out a command in a folder; its output. BuildError, with what it wrote, where it fails.

    Args:
        command: program and arguments.
        purpose: what it works on, as the error says it.
        folder: that it runs in.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise BuildError(
            f"{purpose} failed: {Path(command[0]).name} ended with {done.returncode}",
            why=(done.stderr or done.stdout).strip()[-_LONGEST_WHY:],
        )
    return done.stdout
