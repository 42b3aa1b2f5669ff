"""From the int8 .tflite to what the Edge TPU takes: compiled here, given, or told how to compile."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import Any

from edgebench.agent.children import signal_name
from edgebench.errors import EdgeBenchError, InputError, UnavailableError, UnsupportedError, UsageError
from edgebench.files import reason, require_regular, write_atomically
from edgebench.prepare.cache import Cache, CachedFile, sha256_once
from edgebench.prepare.chain import Chain, Recipe, Refusals, artifact_of, refusal_of_16x8, subject_of
from edgebench.prepare.model_file import inspect_model
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import (
    Artifact,
    InputSpec,
    ModelFacts,
    OutputTolerance,
    Prepared,
    PrepareRequest,
    TensorFacts,
)
from edgebench.records.values import Finding, Json, Progress
from edgebench.session_stages import TIMEOUT, seconds_from

# Google's edgetpu_compiler: where it is, which version, what it makes of a model, and what its log says.


PROGRAM = "edgetpu_compiler"
ASK_S = 30.0
COMPILE_S = 600.0
MAX_OUTPUT = 1 << 20  # characters of its words that are read
MAX_ROWS = 500

_VERSION = re.compile(r"Edge TPU Compiler version (?P<version>[0-9A-Za-z._-]{1,60})")
_LABELS = {
    "on_chip_used_bytes": "On-chip memory used for caching model parameters",
    "on_chip_remaining_bytes": "On-chip memory (?:available|remaining) for caching model parameters",
    "off_chip_used_bytes": "Off-chip memory used for streaming uncached model parameters",
    "subgraphs": "Number of Edge TPU subgraphs",
    "operations": "Total number of operations",
    "on_edgetpu": "Number of operations that will run on Edge TPU",
    "on_cpu": "Number of operations that will run on CPU",
}
_UNITS = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_ROW = re.compile(
    r"^(?P<name>[A-Za-z][A-Za-z0-9_]{0,79})\s{2,}(?P<count>\d{1,6})\s{2,}(?P<status>\S.{0,299}?)\s*$"
)


class CompilerError(EdgeBenchError):
    """The compiler did not make a model; `why` holds its last words."""


def find() -> str | None:
    """The compiler's version; None where it is not on PATH. CompilerError for one that does not run."""
    program = shutil.which(PROGRAM)
    if program is None:
        return None
    status = Path(program).stat()
    return _version(program, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=8)
def _version(path: str, size_bytes: int, mtime_ns: int) -> str:
    """The version; size and time of change are for the cache."""
    output, code = _run([path, "--version"], ASK_S)
    match = _VERSION.search(output)
    if code != 0 or match is None:
        raise CompilerError(
            f"{path} does not say its version",
            why=_last(output) or f"exit code {code}",
            fix="it is a program for x86-64 Linux: run it by hand, or take it off PATH and use --artifact",
        )
    return match["version"]


def compile_model(model: Path, scratch: Path) -> tuple[Path, dict[str, Any]]:
    """The compiled file, in `scratch`, and the log; CompilerError with the compiler's own words."""
    command = [PROGRAM, "--show_operations", "--out_dir", str(scratch), str(model)]
    output, code = _run(command, seconds_from(TIMEOUT) or COMPILE_S)
    compiled = scratch / f"{model.stem}_edgetpu.tflite"
    written = scratch / f"{model.stem}_edgetpu.log"
    if code != 0 or not compiled.is_file():
        raise CompilerError(
            f"edgetpu_compiler does not take {model.name}",
            # A compiler that is killed reports nothing itself.
            why=(f"it died by {signal_name(-code)}" if code < 0 else f"exit code {code}")
            + f": {_last(output) or 'it printed nothing'}",
            fix="see what it says; the model has to be int8 throughout, with fixed shapes",
        )
    with suppress(OSError):
        with written.open(encoding="utf-8", errors="replace") as file:
            output += "\n" + file.read(MAX_OUTPUT)
        written.unlink()
    return compiled, parse(output)


def parse(text: str) -> dict[str, Any]:
    """What the compiler's words and its log say, as plain data for an artifact's provenance.

    `version`; `table`, the rows of the operation log, each once: the number of operations
    (`count`) of one `name` with one `status`, in the compiler's own words; bytes of the Edge TPU's own memory
    for parameters, and of those that are sent again with every inference (`off_chip_used_bytes`); parts of
    the graph on the Edge TPU (`subgraphs`); how many operations there are, and where they run. None for what
    they do not say.
    """
    version = _VERSION.search(text)
    rows = dict.fromkeys(
        (match["name"], int(match["count"]), match["status"])
        for line in text[: 2 * MAX_OUTPUT].splitlines()
        if (match := _ROW.match(line))
    )
    return {
        "version": version["version"] if version else None,
        "table": [dict(zip(("name", "count", "status"), row, strict=True)) for row in list(rows)[:MAX_ROWS]],
        **{name: _number(text, label) for name, label in _LABELS.items()},
    }


def _number(text: str, label: str) -> int | None:
    match = re.search(label + r":\s*(\d{1,12}(?:\.\d{1,6})?)(?:\s*(B|KiB|MiB|GiB)\b)?", text)
    return round(float(match[1]) * _UNITS[match[2]]) if match else None


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


# Whether a .tflite file is compiled for the Edge TPU, what stays on the processor, and whether it fits.


CUSTOM_OP = "custom:edgetpu-custom-op"


@dataclass(frozen=True)
class Compiled:
    """What the flatbuffer of a .tflite file says.

    Attributes:
        edgetpu: how many parts of the graph are on the Edge TPU; 0 for a model that is not compiled.
        cpu: the operations that stay on the processor, and how many of each.
        facts: everything else that is known of the file.
    """

    edgetpu: int
    cpu: Mapping[str, int]
    facts: ModelFacts


def read(path: Path) -> Compiled:
    """Read a .tflite file's flatbuffer, in a process of its own.

    InputError for another or a damaged file; UnavailableError where its reader is not installed.
    """
    facts = inspect_model(path)
    cpu = {name: count for name, count in facts.operations.items() if name != CUSTOM_OP}
    return Compiled(facts.operations.get(CUSTOM_OP, 0), cpu, facts)


def require_fit(compiled: Compiled, base: Compiled, path: Path, variant: str, device: str) -> None:
    """InputError where a file has other inputs or outputs than the model that it should be compiled of.

    The message names the device that it was given for.
    """
    sides = (
        ("input", compiled.facts.inputs, base.facts.inputs),
        ("output", compiled.facts.outputs, base.facts.outputs),
    )
    for side, have, due in sides:
        if len(have) != len(due) or not all(
            _alike(tensor, expected) for tensor, expected in zip(have, due, strict=False)
        ):
            raise InputError(
                f"{path} is not compiled of {variant}",
                why=f"its {side} is {_listed(have)}, and {variant} has {_listed(due)}",
                fix=f"compile the file that `edgebench models prepare --device {device}` names, or ask for "
                "the model that this one was compiled of (--model, --depth)",
            )


def _alike(first: TensorFacts, second: TensorFacts) -> bool:
    if (first.dtype, first.shape, first.zero_point) != (second.dtype, second.shape, second.zero_point):
        return False
    if first.scale is None or second.scale is None:
        return first.scale == second.scale
    return math.isclose(first.scale, second.scale, rel_tol=1e-4)


def _listed(tensors: tuple[TensorFacts, ...]) -> str:
    return ", ".join(
        f"{tensor.dtype} {list(tensor.shape)}"
        + (
            ""
            if tensor.scale is None
            else f" with scale {tensor.scale:.6g} and zero point {tensor.zero_point}"
        )
        for tensor in tensors[:4]
    )


KIND = "coral"  # of the cache, for every device that takes these files: a file is made once
RECIPE_VERSION = 1  # counts up when the same inputs would give another file
SUFFIX = "_edgetpu.tflite"
ON_CPU = "on the CPU"
OR_UNCOMPILED = " (or measure on the processor, marked so: --set allow-cpu=true)"

PRECISION_REASONS: Mapping[str, str] = {
    "fp32": "the Edge TPU computes in 8-bit integers alone",
    "fp16": "the Edge TPU computes in 8-bit integers alone",
}


def compiler_finding(options: Mapping[str, Json]) -> Finding:
    """What `doctor` says of the compiler on this machine: preparation is the host's."""
    if compiled_model := options.get("artifact"):
        name = Path(str(compiled_model)).name
        return Finding("ok", "compiler", f"not needed: the compiled model is given ({name})")
    try:
        version = find()
    except EdgeBenchError as error:
        return Finding("warning", "compiler", f"{error.what}: {error.why}", error.fix)
    if version is not None:
        return Finding("ok", "compiler", f"{PROGRAM} {version}")
    if options.get("allow_cpu"):
        return Finding("ok", "compiler", "none on PATH: models run on the processor, as allow-cpu permits")
    return Finding(
        "warning",
        "compiler",
        f"{PROGRAM} is not on PATH: no model can be compiled here",
        "install it from Google's Coral apt repository (x86-64 Linux), or give compiled models: --artifact",
    )


class EdgeTpuChain(Chain):
    """To what the Edge TPU takes, from the int8 .tflite.

    Args:
        device: as `--device` names it, for messages; no part of what decides a file.
        takes_uncompiled: whether the device has the option `allow_cpu`.
    """

    name = KIND
    title = "the Edge TPU"
    extras = TfliteChain.extras
    formats = (*TfliteChain.formats, "edgetpu")

    def __init__(self, device: str, *, takes_uncompiled: bool) -> None:
        self._device = device
        self._or_uncompiled = OR_UNCOMPILED if takes_uncompiled else ""
        self._tflite = TfliteChain()

    def recipe(self, request: PrepareRequest) -> Recipe:
        """UnsupportedError for another precision than int8 and for batches; UsageError for a missing file."""
        _require_int8_alone(request)
        inputs: dict[str, Json] = {
            "format": "edgetpu",
            "recipe": RECIPE_VERSION,
            "batch": request.batch,
            "model": {"source": request.source.identity(), "input": subject_of(request).identity["input"]}
            if _is_compiled(request)
            else self._tflite.recipe(request).inputs,
        }
        if user_file := _compiled_by_user(request):
            return Recipe(KIND, {**inputs, "artifact_sha256": sha256_once(user_file)}, ".tflite")
        version = find()
        inputs["compiler"] = version
        if version is None and request.options.get("allow_cpu"):
            inputs["allow_cpu"] = True
        return Recipe(KIND, inputs, ".tflite")

    def packages(self, request: PrepareRequest, cache: Cache | None) -> tuple[str, ...]:
        """What the .tflite takes; nothing where it is not taken at all, or is there."""
        is_needed = request.variant.precision == "int8" and cache is None and not _is_compiled(request)
        return self._tflite.packages(request, None) if is_needed else ()

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """One outcome a request, in order: that of its .tflite where that failed.

        Raises:
            UnavailableError: there is no compiler here, and no compiled file was given; with what to do.
            InputError: a file that was given is not compiled, or is compiled of something else.
        """
        outcomes: dict[int, Prepared] = {}
        for at, request in enumerate(requests):
            try:
                _require_int8_alone(request)
            except UnsupportedError as error:
                outcomes[at] = error
        places = [at for at in range(len(requests)) if at not in outcomes]
        _require_one_model_a_file([requests[at] for at in places])
        bases = [at for at in places if not _is_compiled(requests[at])]
        prepared = self._tflite.prepare([requests[at] for at in bases], cache, progress)
        outcomes |= dict(zip(bases, prepared, strict=True))
        places = [at for at in places if not isinstance(outcomes.get(at), EdgeBenchError)]
        prepared = super().prepare([requests[at] for at in places], cache, progress)
        outcomes |= dict(zip(places, prepared, strict=True))
        return [outcomes[at] for at in range(len(requests))]

    def make(
        self, requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress
    ) -> Refusals:
        """Compile one after the other: the compiler has no other work to wait for."""
        bases: list[Artifact | None] = []
        for request in requests:
            base = None if _is_compiled(request) else self._tflite.stored_artifact(request, cache)
            assert base is not None or _is_compiled(request)  # `prepare` made it
            bases.append(base)
        self._require_a_way(requests, bases, cache)
        refusals: Refusals = {}
        for request, base in zip(requests, bases, strict=True):
            recipe = self.recipe(request)
            file = scratch / f"{request.variant.name}.tflite"
            try:
                recipe.store(cache, file, self._compile(request, base, file, progress))
            except UnsupportedError as error:
                refusals[recipe.key] = error
        return refusals

    def artifact(
        self, request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache
    ) -> Artifact | None:
        """The int8 .tflite's, with what is known of the compiled file; of that alone where it was given."""
        if _is_compiled(request):
            return _without_reference(request, recipe, file, cache)
        base = self._tflite.stored_artifact(request, cache)
        if base is None:
            return None
        operations = dict(file.note["operations"])
        return base.model_copy(
            update={
                "format": "edgetpu" if operations["edgetpu"] else base.format,
                "path": file.path,
                "sha256": file.sha256,
                "size_bytes": file.size_bytes,
                # Nothing here is exact: the Edge TPU rounds in its own way.
                "golden": base.golden.model_copy(update={"exact_with": ()}),
                "mark": "" if operations["edgetpu"] else ON_CPU,
                "provenance": {
                    **base.provenance,
                    "operations": operations,
                    **{name: file.note[name] for name in ("compiler", "given") if name in file.note},
                },
            }
        )

    # --- making ---

    def _require_a_way(
        self, requests: Sequence[PrepareRequest], bases: Sequence[Artifact | None], cache: Cache
    ) -> None:
        """UnavailableError, with the command and the files, where nothing can compile what has to be."""
        pairs = zip(requests, bases, strict=True)
        uncompiled = {
            request.variant.name: (request, base)
            for request, base in pairs
            if base is not None and _compiled_by_user(request) is None
        }
        if find() is not None or all(request.options.get("allow_cpu") for request, _ in uncompiled.values()):
            return
        folder = cache.root / "edgetpu"
        files: dict[str, Path] = {}
        for name, (_, base) in uncompiled.items():
            files[name] = folder / f"{name}.tflite"
            write_atomically(files[name], base.path.read_bytes())
        results = ", ".join(f"{name}{SUFFIX}" for name in files)
        command = f"{PROGRAM} --show_operations --out_dir {quote(str(folder))}"
        command += "".join(f" {quote(str(path))}" for path in files.values())
        raise UnavailableError(
            f"{', '.join(files)} {'is' if len(files) == 1 else 'are'} not compiled for the Edge TPU",
            why=f"{PROGRAM} is not on PATH here; the int8 files are written to {folder}",
            fix=f"on x86-64 Linux with Google's compiler: `{command}`; copy "
            f"{results} to {folder} where that is another machine, and add --artifact {folder}"
            f"{self._or_uncompiled}",
        )

    def _compile(
        self, request: PrepareRequest, base: Artifact | None, file: Path, progress: Progress
    ) -> dict[str, Json]:
        """Write the file, by the compiler or as it was given; the note of it.

        UnsupportedError for what the compiler does not take, InputError for a given file that is another's.
        """
        name, user_file = request.variant.name, _compiled_by_user(request)
        note: dict[str, Json] = {}
        original = user_file or (base.path if base else None)
        assert original is not None
        shutil.copyfile(original, file)
        if user_file is not None:
            note["given"] = user_file.name
        elif find() is not None:
            progress(f"compiling {name} for the Edge TPU")
            try:
                output, log = compile_model(file, file.parent)
            except CompilerError as error:
                raise UnsupportedError(error.what, why=error.why, fix=error.fix) from error
            output.replace(file)
            note["compiler"] = log
        content = read(user_file or file)
        if not content.edgetpu and not request.options.get("allow_cpu"):
            refusal = self._not_compiled(request, content)
            if user_file is None:
                raise refusal
            raise InputError(
                f"{user_file} is not compiled for the Edge TPU", why=refusal.why, fix=refusal.fix
            )
        if user_file is not None and base is not None:
            require_fit(content, read(base.path), user_file, name, self._device)
        return {**note, "operations": {"edgetpu": content.edgetpu, "cpu": dict(content.cpu)}}

    def _not_compiled(self, request: PrepareRequest, content: Compiled) -> UnsupportedError:
        kinds = ", ".join(f"{count} {name}" for name, count in list(content.cpu.items())[:6])
        custom_op = CUSTOM_OP.partition(":")[2]
        return UnsupportedError(
            f"nothing of {request.variant.name} is compiled for the Edge TPU",
            why=f"the file has no operation {custom_op}: all of it would run on the processor ({kinds})",
            fix=f"give the file that {PROGRAM} writes, whose name ends in {SUFFIX}{self._or_uncompiled}",
        )


def _require_int8_alone(request: PrepareRequest) -> None:
    precision = request.variant.precision
    if refusal := refusal_of_16x8(request, "the Edge TPU"):
        raise refusal
    if precision != "int8":
        raise UnsupportedError(
            f"{request.variant.name} is not taken by the Edge TPU",
            why=PRECISION_REASONS.get(precision, "it computes in 8-bit integers alone"),
            fix="ask for --precision int8",
        )
    if request.batch != 1:
        raise UnsupportedError(
            f"{request.variant.name} is not measured at a batch of {request.batch}",
            why="the Edge TPU takes one patch at a time: its compiler takes no batches",
            fix="leave --batch out",
        )


# --- a compiled file alone: its scores are known to nobody ---


def _is_compiled(request: PrepareRequest) -> bool:
    return request.source.kind == "edgetpu"


def _without_reference(request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache) -> Artifact:
    """The artifact of a compiled file, whose golden scores are not known."""
    subject, model = subject_of(request), request.source.model
    assert model is not None
    scores = sum(math.prod(side or 1 for side in output.shape) for output in model.outputs)
    unknown = [[math.nan] * scores] * subject.golden.n
    return artifact_of(
        request,
        subject,
        replace(recipe, inputs={**recipe.inputs, "tools": {}}),
        replace(file, note={**file.note, "scores": unknown, "reference": ""}),
        cache,
        format="edgetpu",
        input_spec=subject.spec or InputSpec(dtype="float32"),
        tolerances=[OutputTolerance(scores=scores, tolerance=None)],
        calibration=None,
        checks=(),
        provenance={"operations": dict(file.note["operations"])},
        state=model.state,
    )


# --- what was given ---


def _compiled_by_user(request: PrepareRequest) -> Path | None:
    """The compiled file of `--artifact` for this variant, or `--model`; None where none was given.

    A folder has one a variant, named as the compiler names them.
    """
    artifact_option = str(request.options.get("artifact") or "")
    if _is_compiled(request):
        if artifact_option:
            raise UsageError(
                f"--artifact is given beside {request.source.name}, which is compiled already",
                fix="leave --artifact out, or give the uncompiled .tflite with --model",
            )
        return request.source.path
    if not artifact_option:
        return None
    path = Path(artifact_option).expanduser()
    if path.is_dir():
        path = path / f"{request.variant.name}{SUFFIX}"
    try:
        require_regular(path)
    except OSError as error:
        raise UsageError(
            f"there is no compiled model {path}",
            why=f"{reason(error)}; it was asked for as the artifact of {request.variant.name}",
            fix=f"name a file, or a folder that has {request.variant.name}{SUFFIX}",
        ) from error
    return path


def _require_one_model_a_file(requests: Sequence[PrepareRequest]) -> None:
    """One file is one model's: which of several it is compiled of, its input does not tell."""
    named = {str(request.options.get("artifact") or "") for request in requests} - {""}
    for artifact_option in named:
        names = {
            request.variant.name for request in requests if request.options.get("artifact") == artifact_option
        }
        if len(names) > 1 and not Path(artifact_option).expanduser().is_dir():
            raise UsageError(
                f"{artifact_option} is one model, and {len(names)} were asked for",
                why=", ".join(sorted(names)),
                fix="say which it is compiled of, such as --depth 0.25, or give a folder with one a model",
            )
