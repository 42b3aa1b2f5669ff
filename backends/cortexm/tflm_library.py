"""TFLM (TensorFlow Lite Micro) as the user built it: its library, its headers, whether they are for a board.

Nothing of TFLM comes with EdgeBench. Its own `make -f tensorflow/lite/micro/tools/make/Makefile
TARGET=cortex_m_generic TARGET_ARCH=cortex-m7+fp microlite` leaves the library next to the sources; a tree of
`create_tflm_tree.py` with a library in it serves as well.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from edgebench.errors import EdgeBenchError, InputError, UnavailableError, not_installed
from edgebench.prepare.cache import canonical_hash, sha256_file

from .boards import FIRMWARE, Board

# The cross-compiler for Cortex-M, where it is installed, and its calls.


_COMPILER = "arm-none-eabi-gcc"
_NOT_COMPILED = "firmware for a Cortex-M cannot be compiled"
_DEBIAN = "apt install gcc-arm-none-eabi libnewlib-arm-none-eabi"
_LONGEST_WHY = 2000


class BuildError(EdgeBenchError):
    """A compiler, linker or generator that ended with an error; `why` has its last lines."""


def cross_compiler() -> Path:
    """Where it is; UnavailableError where it is not installed."""
    if (path := shutil.which(_COMPILER)) is None:
        raise not_installed(_NOT_COMPILED, _COMPILER, _DEBIAN)
    _require_library(Path(path))
    return Path(path)


def program_beside(compiler: Path, name: str) -> Path:
    """A program that comes with the compiler, such as `g++` or `readelf`."""
    return compiler.with_name(compiler.name.removesuffix("gcc") + name)


@cache
def _require_library(compiler: Path) -> None:
    """UnavailableError where the compiler has no C library: Debian packages it on its own."""
    script = "#include <math.h>\n#include <string.h>\n"
    done = subprocess.run(
        [compiler, "-fsyntax-only", "-x", "c", "-"], input=script, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise not_installed(_NOT_COMPILED, "newlib, its C library,", _DEBIAN)


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


VARIABLE = "EDGEBENCH_TFLM"
"""Environment variable: a folder with TFLM's library and headers, or the library itself."""

ADAPTER = FIRMWARE / "engines" / "tflm" / "model_tflm.cc"

ROOM = FIRMWARE / "engines" / "tflm" / "room.c"
"""Takes the adapter's place where there is no TFLM: what the model takes of a board's memory."""

DEFINES = ("-DTF_LITE_STATIC_MEMORY", "-DTF_LITE_DISABLE_X86_NEON", "-DTF_LITE_STRIP_ERROR_STRINGS")
"""Those of TFLM's own makefile that its headers depend on: the first decides a tensor's layout in memory."""

_LIBRARY = "libtensorflow-microlite.a"
_WHERE = (_LIBRARY, f"lib/{_LIBRARY}", f"gen/*/lib/{_LIBRARY}")
_FIX = (
    f"build TFLM for the board, and name its folder: {VARIABLE}=FOLDER "
    "(backends/cortexm/firmware/README.md has the lines)"
)
_CXX_LIBRARY = "apt install libstdc++-arm-none-eabi-newlib"
_INTERPRETER = "tensorflow/lite/micro/micro_interpreter.h"
# Libraries whose headers TFLM's include: where its makefile puts them, and where create_tflm_tree.py does.
_THIRD_PARTY = ("third_party", "tensorflow/lite/micro/tools/make/downloads")
_FLATBUFFERS = "flatbuffers/include"
_OPTIONAL = ("gemmlowp", "ruy")
_ATTRIBUTE = re.compile(r"^\s+(Tag_CPU_arch|Tag_ABI_VFP_args): (.+?)\s*$", re.M)
_MEMBER = re.compile(r"^File: .*\((.*)\)$", re.M)


@dataclass(frozen=True)
class TflmLibrary:
    """A library for a board.

    Attributes:
        path: of the library.
        includes: folders of headers, TFLM's own first.
        title: what a firmware with it says of its engine.
        identity: decided by the library and by all headers that the adapter includes.
    """

    path: Path
    includes: tuple[Path, ...]
    title: str
    identity: str


def tflm_library(board: Board, path: Path | None = None) -> TflmLibrary:
    """The user's library for a board.

    Args:
        board: that it has to be compiled for.
        path: a folder with the library and its headers, or the library itself; None: as the environment says.

    Raises:
        UnavailableError: none is named.
        InputError: it is missing, several fit, headers cannot be read, or it is for another processor.
    """
    named = path or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is None:
        raise UnavailableError(
            "firmware with TFLM cannot be built",
            why="no library of TFLM is named; EdgeBench brings none",
            fix=f"{_FIX}; or take the engine that needs none: --set engine=generated",
        )
    named = named.expanduser().absolute()
    library = _library_in(named, board)
    includes = _includes_of(library)
    digest = sha256_file(library)
    return TflmLibrary(
        library,
        includes,
        f"TFLM library {digest[:12]}",
        canonical_hash({"library": digest, "headers": _header_hashes(includes, board)}),
    )


def include_flags(includes: Sequence[Path]) -> list[str]:
    """As headers of a system: their warnings are not shown."""
    return [flag for folder in includes for flag in ("-isystem", str(folder))]


def _library_in(named: Path, board: Board) -> Path:
    """The library that is named, or the only one of a folder that is for the board."""
    if named.is_file():
        if refusal := _misfit(named, board):
            raise refusal
        return named
    libraries = [path for pattern in _WHERE for path in sorted(named.glob(pattern))]
    if not libraries:
        why = f"none of {', '.join(_WHERE)} is there"
        raise InputError(f"there is no library of TFLM in {named}", why=why, fix=_FIX)
    refusals = [_misfit(path, board) for path in libraries]
    fitting = [path for path, refusal in zip(libraries, refusals, strict=True) if refusal is None]
    if len(fitting) > 1:
        raise InputError(
            f"{named} has several libraries of TFLM for {board.title}",
            why=", ".join(str(path.relative_to(named)) for path in fitting),
            fix=f"name one: {VARIABLE}={fitting[0]}",
        )
    if not fitting:
        raise refusals[0] or AssertionError
    return fitting[0]


def _misfit(library: Path, board: Board) -> InputError | None:
    """Why not all members are for the board's processor and its floating-point convention; None: they are."""
    compiler = cross_compiler()
    readelf = program_beside(compiler, "readelf")
    try:
        attributes = run([str(readelf), "-A", str(library)], "reading the library")
    except BuildError as error:
        return InputError(f"{library} is no library", why=error.why, fix=_FIX)
    expected = _attributes(_of_empty_code(compiler, readelf, board))
    members = _MEMBER.split(attributes)[1:]
    for member, text in zip(members[::2], members[1::2], strict=True):
        if (actual := _attributes(text)) != expected:
            return InputError(
                f"{library} is not for {board.title}",
                why=f"{member} is compiled for {_in_words(actual)}, the board's code for "
                f"{_in_words(expected)}",
                fix="build it with TARGET=cortex_m_generic TARGET_ARCH=cortex-m7+fp, or with "
                + " ".join(board.cpu_flags),
            )
    return None if members else InputError(f"{library} is no library", why="it has no members", fix=_FIX)


def _of_empty_code(compiler: Path, readelf: Path, board: Board) -> str:
    """What readelf says of a file that is compiled for the board."""
    with tempfile.TemporaryDirectory(prefix="edgebench-") as name:
        empty = Path(name) / "empty.o"
        run([str(compiler), *board.cpu_flags, "-x", "c", "-c", os.devnull, "-o", str(empty)], "the compiler")
        return run([str(readelf), "-A", str(empty)], "readelf")


def _attributes(text: str) -> Mapping[str, str]:
    return dict(_ATTRIBUTE.findall(text))


def _in_words(attributes: Mapping[str, str]) -> str:
    if "Tag_CPU_arch" not in attributes:
        return "no Arm processor"
    arguments = attributes.get("Tag_ABI_VFP_args", "core registers")
    return f"Arm {attributes['Tag_CPU_arch']} with floating-point arguments in {arguments}"


def _includes_of(library: Path) -> tuple[Path, ...]:
    """Folders of headers: the nearest folder upwards that has TFLM's, and those of what TFLM includes."""
    places = (place for folder in library.parents for place in (folder, folder / "include"))
    root = next((place for place in places if (place / _INTERPRETER).is_file()), None)
    if root is None:
        raise InputError(
            f"the headers of {library} are missing",
            why=f"no folder above it has {_INTERPRETER}",
            fix="leave the library in TFLM's source tree, or put it next to the headers: FOLDER/"
            f"{_LIBRARY}, FOLDER/{_INTERPRETER}",
        )
    folders = [folder for name in _THIRD_PARTY if (folder := root / name).is_dir()]
    includes = [root, *(path for folder in folders if (path := folder / _FLATBUFFERS).is_dir())]
    return (
        *includes,
        *(path for folder in folders for name in _OPTIONAL if (path := folder / name).is_dir()),
    )


def _header_hashes(includes: Sequence[Path], board: Board) -> list[str]:
    """The hashes of all headers in these folders that the adapter includes, in the order of their hashes."""
    compiler = program_beside(cross_compiler(), "g++")
    command = [
        *(str(compiler), *board.cpu_flags, "-std=c++17", "-M", f"-I{FIRMWARE / 'core'}", *DEFINES),
        *include_flags(includes),
        str(ADAPTER),
    ]
    try:
        rule = run(command, "reading TFLM's headers")
    except BuildError as error:
        raise InputError(
            f"the headers of TFLM in {includes[0]} cannot be read",
            why=error.why,
            fix=f"those of flatbuffers, gemmlowp and ruy are in {_THIRD_PARTY[0]}/ of TFLM's tree, or where "
            f"its makefile downloads them, {_THIRD_PARTY[1]}/; those of C++: {_CXX_LIBRARY}",
        ) from error
    files = rule.replace("\\\n", " ").partition(": ")[2].replace("\\ ", "\0").split()
    headers = [Path(file.replace("\0", " ")) for file in files]
    return sorted(
        sha256_file(header) for header in headers if any(header.is_relative_to(folder) for folder in includes)
    )
