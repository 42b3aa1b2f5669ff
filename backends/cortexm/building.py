"""Firmware: compiled and linked for a board with an engine, kept in the cache, and what memory it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgebench.errors import EdgeBenchError, UnsupportedError, UsageError
from edgebench.prepare.cache import Cache, canonical_hash, find, making, sha256_file, store
from edgebench.records.values import Progress

from .boards import FIRMWARE, Board, Firmware, does_not_fit, parsed, usage_of
from .choices import BAUD
from .engines import Engine
from .tflm_library import BuildError, compiler_version, cross_compiler, include_flags, program_beside, run

# How deep the stack of compiled code gets, from the call graph that GCC writes with -fcallgraph-info=su.


_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]*)"')
_FRAME = re.compile(r"\\n(\d+) bytes \(([a-z,]+)\)")
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


def stack_bytes(call_graph: str, function: str) -> int:
    """The deepest stack of a call of `function`, in bytes, of the functions whose code is in the graph.

    Functions of libraries have no size there: the caller allows for them.

    Raises:
        ValueError: the function is not there, calls itself, or has a frame whose size no compiler can know.
    """
    frames, calls = _parse(call_graph)
    if function not in frames:
        raise ValueError(f"{function} is not in the call graph")

    def deepest(name: str, callers: tuple[str, ...]) -> int:
        if name in callers:
            raise ValueError(f"{name} calls itself")
        below = (deepest(callee, (*callers, name)) for callee in calls.get(name, ()))
        return frames.get(name, 0) + max(below, default=0)

    return deepest(function, ())


def all_frames_bytes(call_graph: str) -> int:
    """The sum of all frames: no stack is deeper where none calls itself. ValueError as `stack_bytes`."""
    return sum(_parse(call_graph)[0].values())


def _parse(call_graph: str) -> tuple[Mapping[str, int], Mapping[str, Sequence[str]]]:
    """Frames in bytes by function, and whom each calls."""
    frames: dict[str, int] = {}
    calls: dict[str, list[str]] = {}
    for line in call_graph.splitlines():
        if node := _NODE.match(line):
            name, label = node.groups()
            frame = _FRAME.search(label)
            if frame and frame[2] == "dynamic":
                raise ValueError(f"the stack of {name} is not bounded")
            if frame:
                frames[name] = int(frame[1])
        elif edge := _EDGE.match(line):
            calls.setdefault(edge[1], []).append(edge[2])
    return frames, calls


_LIBRARY_STACK_BYTES = 320
"""Stack of frames that the compiler does not know: an interrupt's with floats, and the C library's."""

_KIND = "firmware"
_CORE = FIRMWARE / "core"
_SHARED = FIRMWARE / "ports" / "cortex_m"
_FLAGS = (
    "-ffp-contract=off",
    "-fstack-usage",
    "-fcallgraph-info=su",
    "-ffunction-sections",
    "-fdata-sections",
    f"-I{_CORE}",
    f"-I{_SHARED}",
)
_STANDARD = {
    ".c": ("-std=c11",),
    ".cc": ("-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"),
}
_COMPILERS = {".c": "gcc", ".cc": "g++"}
_CORE_FLAGS = ("-Os", "-ffreestanding", "-Wall", "-Wextra", "-Werror")
# What a generator wrote is compiled as it is, for speed; its warnings are nobody's here.
_ENGINE_FLAGS = ("-O3", "-w")
_LINK_FLAGS = ("-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections", "-Wl,--fatal-warnings")
_MISSING_OPERATOR = re.compile(r"has no member named .Add(\w+)")
_OVERFLOW = re.compile(r"region `(\w+)' overflowed by (\d+) bytes")


@dataclass(frozen=True)
class LineOptions:
    """How a firmware speaks.

    Attributes:
        baud: baud rate of the serial line.
        energy: stamps are pulses of the timing pin and no lines, for a power analyser.
        benchmark_id: what `m-model` says, by which MLPerf Tiny's runner chooses its test; default: the model.
    """

    baud: int = BAUD
    energy: bool = False
    benchmark_id: str | None = None

    def defines(self) -> dict[str, str]:
        """Definitions for the preprocessor."""
        named = {} if self.benchmark_id is None else {"BENCHMARK_ID": f'"{self.benchmark_id}"'}
        return {"PORT_BAUD": f"{self.baud}u", "PROTOCOL_ENERGY_MODE": str(int(self.energy)), **named}


def build(
    board: Board, engine: Engine, cache: Cache, progress: Progress, options: LineOptions = LineOptions()
) -> Firmware:
    """The firmware, from the cache or compiled.

    Raises:
        UsageError: the board's serial port does not take the baud rate.
        UnavailableError: the cross-compiler is not installed.
        UnsupportedError: it does not fit into the board's memory (`why` says by how much), or the user's TFLM
            lacks an operator.
        BuildError: the compiler or the linker ended with an error.
    """
    if problem := board.why_not_baud(options.baud):
        raise UsageError(problem, fix=f"give --baud {BAUD}, or another rate between them")
    compiler = cross_compiler()
    key = canonical_hash(_inputs(board, engine, compiler, options))
    file = find(cache, _KIND, key)
    if file is None:
        with making(cache, f"prepare-{_KIND}") as scratch:
            progress(f"compiling firmware for {board.name} with {engine.model_id.partition(':')[0]}")
            compiled = _compile(board, engine, compiler, options, scratch)
            file = store(cache, _KIND, key, *compiled)
    sections, _ = parsed(file.path.read_bytes())
    usage = usage_of(sections, board.regions())
    return Firmware(file.path, sections, usage, file.sha256, int(file.note["engine_bytes"]))


def _core_files(board: Board, pattern: str = "*") -> list[Path]:
    folders = (_CORE, _SHARED, board.folder)
    return [path for folder in folders for path in sorted(folder.glob(pattern)) if path.is_file()]


def _inputs(board: Board, engine: Engine, compiler: Path, options: LineOptions) -> dict[str, object]:
    """Everything that decides the file; paths of this machine do not."""
    sources = {path.name: sha256_file(path) for path in [*_core_files(board), *engine.sources]}
    flags = [
        flag for flag in (*_FLAGS, *_CORE_FLAGS, *_ENGINE_FLAGS, *_LINK_FLAGS) if not flag.startswith("-I")
    ]
    return {
        "compiler": compiler_version(compiler),
        "flags": [*board.cpu_flags, *flags],
        "standards": _STANDARD,
        "sources": sources,
        "engine": [engine.title, engine.model_id, engine.input_bytes, engine.scores, engine.content],
        "library_stack": [_LIBRARY_STACK_BYTES, engine.library_stack_bytes],
        "line": options.defines(),
    }


def _compile(
    board: Board, engine: Engine, compiler: Path, options: LineOptions, scratch: Path
) -> tuple[Path, str, dict[str, int]]:
    """The file, its suffix, and what is noted of it."""
    all_defines = engine.all_defines() | options.defines()
    defines = [f"-D{name}={value}" if value else f"-D{name}" for name, value in all_defines.items()]
    shared = [*board.cpu_flags, *_FLAGS, *defines]
    engine_flags = [*shared, *_ENGINE_FLAGS, *include_flags(engine.includes)]
    try:
        engine_objects = _compiled(compiler, engine_flags, engine.sources, "the engine's code", scratch)
    except BuildError as error:
        raise _lacks_operators(engine, error) from error
    core_flags = [*shared, *_CORE_FLAGS]
    core_objects = _compiled(compiler, core_flags, _core_files(board, "*.c"), "the firmware's code", scratch)
    try:
        invoke_bytes = stack_bytes(_call_graph(engine_objects), "model_invoke") + engine.library_stack_bytes
        start_bytes = stack_bytes(_call_graph(engine_objects), "model_start") + engine.library_stack_bytes
        core_bytes = all_frames_bytes(_call_graph(core_objects))
    except ValueError as error:
        raise BuildError("the depth of the stack cannot be computed", why=str(error)) from error
    engine_bytes = invoke_bytes + engine.static_bytes
    elf = scratch / "firmware.elf"
    link = [
        *(str(compiler), *board.cpu_flags, *_LINK_FLAGS),
        f"-Wl,--defsym=STACK_BYTES={max(invoke_bytes, start_bytes) + core_bytes + _LIBRARY_STACK_BYTES}",
        f"-Wl,--defsym=ENGINE_BYTES={engine_bytes}",
        f"-L{_SHARED}",
        f"-T{board.linker_script}",
        *(str(path) for path in (*engine_objects, *core_objects)),
        *([] if engine.library is None else [str(engine.library)]),
        *("-lm", "-o", str(elf)),
    ]
    try:
        run(link, "linking", scratch)
    except BuildError as error:
        raise _does_not_fit(board, engine, error) from error
    return elf, ".elf", {"engine_bytes": engine_bytes}


def _compiled(
    compiler: Path, flags: Sequence[str], sources: Sequence[Path], purpose: str, scratch: Path
) -> list[Path]:
    """Objects of C and C++ sources, in the scratch folder."""
    objects = [scratch / f"{source.stem}.o" for source in sources]
    for source, file in zip(sources, objects, strict=True):
        program = program_beside(compiler, _COMPILERS[source.suffix])
        command = [str(program), *_STANDARD[source.suffix], *flags, "-c", str(source), "-o", str(file)]
        run(command, purpose, scratch)
    return objects


def _call_graph(objects: Sequence[Path]) -> str:
    """The call graphs that the compiler wrote next to them."""
    return "".join(path.with_suffix(".ci").read_text() for path in objects)


def _lacks_operators(engine: Engine, error: BuildError) -> EdgeBenchError:
    """The compiler's error as one of operators that the user's TFLM has not, where it is that."""
    names = sorted(set(_MISSING_OPERATOR.findall(error.why)))
    if not names:
        return error
    return UnsupportedError(
        f"{engine.model_id.partition(':')[0]} cannot be built with {engine.title}",
        why=f"that TFLM lacks {', '.join(names)}",
        fix="build a newer TFLM, or take a model without these operations",
    )


def _does_not_fit(board: Board, engine: Engine, error: BuildError) -> Exception:
    """The linker's error as one of memory, where it is that."""
    overflows = _OVERFLOW.findall(error.why)
    if not overflows:
        return error
    firmware = f"{engine.model_id.partition(':')[0]} with {engine.title}"
    return does_not_fit(firmware, board, {region: int(more) for region, more in overflows})
