"""From the int8 .tflite to what the Edge TPU takes: compiled here, given, or told how to compile."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from edgebench.atomic import write_atomically
from edgebench.cache.objects import Cache, sha256_file
from edgebench.cache.recipes import CachedFile
from edgebench.errors import EdgeBenchError, InputError, UnavailableError, UnsupportedError, UsageError
from edgebench.models.prepare import edgetpu_compiler as compiler
from edgebench.models.prepare import edgetpu_file
from edgebench.models.prepare.chain import Chain, Recipe, Refusals
from edgebench.models.prepare.tflite import TfliteChain
from edgebench.regular_files import reason, require_regular
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.values import Json, Progress

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
        program = compiler.find()
    except EdgeBenchError as error:
        return Finding("warning", "compiler", f"{error.what}: {error.why}", error.fix)
    if program is not None:
        return Finding("ok", "compiler", f"{compiler.PROGRAM} {program.version}")
    if options.get("allow_cpu"):
        return Finding("ok", "compiler", "none on PATH: models run on the processor, as allow-cpu permits")
    return Finding(
        "warning",
        "compiler",
        f"{compiler.PROGRAM} is not on PATH: no model can be compiled here",
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
            "model": self._tflite.prepare_inputs(request),
        }
        if user_file := _compiled_by_user(request):
            return Recipe(KIND, {**inputs, "artifact_sha256": _digest(user_file)}, ".tflite")
        program = compiler.find()
        inputs["compiler"] = None if program is None else program.version
        if program is None and request.options.get("allow_cpu"):
            inputs["allow_cpu"] = True
        return Recipe(KIND, inputs, ".tflite")

    def packages(self, request: PrepareRequest, cache: Cache | None) -> tuple[str, ...]:
        """What the .tflite takes; nothing where it is not taken at all, or is there."""
        is_needed = request.variant.precision == "int8" and cache is None
        return self._tflite.packages(request, None) if is_needed else ()

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """One outcome a request, in order: that of its .tflite where there is none.

        Raises:
            UnavailableError: there is no compiler here, and no compiled file was given; with what to do.
            InputError: a file that was given is not compiled, or is compiled of something else.
        """
        outcomes: dict[int, Prepared] = {}
        for at, request in enumerate(requests):
            try:
                _require_uncompiled(request)
                _require_int8_alone(request)
            except UnsupportedError as error:
                outcomes[at] = error
        taken = [at for at in range(len(requests)) if at not in outcomes]
        _require_one_model_a_file([requests[at] for at in taken])
        bases = self._tflite.prepare([requests[at] for at in taken], cache, progress)
        outcomes |= dict(zip(taken, bases, strict=True))
        based = [at for at in taken if isinstance(outcomes[at], Artifact)]
        compiled_ones = super().prepare([requests[at] for at in based], cache, progress)
        outcomes |= dict(zip(based, compiled_ones, strict=True))
        return [outcomes[at] for at in range(len(requests))]

    def make(
        self, requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress
    ) -> Refusals:
        """Compile one after the other: the compiler has no other work to wait for."""
        bases: list[Artifact] = []
        for request in requests:
            base = self._tflite.stored_artifact(request, cache)
            assert base is not None  # `prepare` made it
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
        """The int8 .tflite's, with what is known of the compiled file."""
        base = self._tflite.stored_artifact(request, cache)
        return None if base is None else _artifact(base, file)

    # --- making ---

    def _require_a_way(
        self, requests: Sequence[PrepareRequest], bases: Sequence[Artifact], cache: Cache
    ) -> None:
        """UnavailableError, with the command and the files, where nothing can compile what has to be."""
        pairs = zip(requests, bases, strict=True)
        uncompiled = {
            request.variant.name: (request, base)
            for request, base in pairs
            if _compiled_by_user(request) is None
        }
        if compiler.find() is not None or all(
            request.options.get("allow_cpu") for request, _ in uncompiled.values()
        ):
            return
        folder = cache.root / "edgetpu"
        files: dict[str, Path] = {}
        for name, (_, base) in uncompiled.items():
            files[name] = folder / f"{name}.tflite"
            write_atomically(files[name], base.path.read_bytes())
        results = ", ".join(f"{name}{SUFFIX}" for name in files)
        raise UnavailableError(
            f"{', '.join(files)} {'is' if len(files) == 1 else 'are'} not compiled for the Edge TPU",
            why=f"{compiler.PROGRAM} is not on PATH here; the int8 files are written to {folder}",
            fix=f"on x86-64 Linux with Google's compiler: `{compiler.command_for(files, folder)}`; copy "
            f"{results} to {folder} where that is another machine, and add --artifact {folder}"
            f"{self._or_uncompiled}",
        )

    def _compile(
        self, request: PrepareRequest, base: Artifact, file: Path, progress: Progress
    ) -> dict[str, Json]:
        """Write the file, by the compiler or as it was given; the note of it.

        UnsupportedError for what the compiler does not take, InputError for a given file that is another's.
        """
        name, user_file, program = request.variant.name, _compiled_by_user(request), compiler.find()
        note: dict[str, Json] = {}
        shutil.copyfile(user_file or base.path, file)
        if user_file is not None:
            note["given"] = user_file.name
        elif program is not None:
            progress(f"compiling {name} for the Edge TPU")
            try:
                output, log = compiler.compile_model(program, file, file.parent)
            except compiler.CompilerError as error:
                raise UnsupportedError(error.what, why=error.why, fix=error.fix) from error
            output.replace(file)
            note["compiler"] = log.as_record()
        content = edgetpu_file.read(user_file or file)
        if not content.edgetpu and not request.options.get("allow_cpu"):
            refusal = self._not_compiled(request, content)
            if user_file is None:
                raise refusal
            raise InputError(
                f"{user_file} is not compiled for the Edge TPU", why=refusal.why, fix=refusal.fix
            )
        if user_file is not None:
            edgetpu_file.require_fit(content, edgetpu_file.read(base.path), user_file, name, self._device)
        return {**note, "operations": content.as_record()}

    def _not_compiled(self, request: PrepareRequest, content: edgetpu_file.Compiled) -> UnsupportedError:
        kinds = ", ".join(f"{count} {name}" for name, count in list(content.cpu.items())[:6])
        custom_op = edgetpu_file.CUSTOM_OP.partition(":")[2]
        return UnsupportedError(
            f"nothing of {request.variant.name} is compiled for the Edge TPU",
            why=f"the file has no operation {custom_op}: all of it would run on the processor ({kinds})",
            fix=f"give the file that {compiler.PROGRAM} writes, whose name ends in {SUFFIX}"
            f"{self._or_uncompiled}",
        )


def _require_int8_alone(request: PrepareRequest) -> None:
    precision = request.variant.precision
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


def _require_uncompiled(request: PrepareRequest) -> None:
    """UnsupportedError for a compiled `--model`: nothing here can say which scores it should give."""
    source = request.source
    if source.kind == "tflite" and source.path is not None and edgetpu_file.read(source.path).edgetpu:
        raise UnsupportedError(
            f"{request.variant.name} is compiled for the Edge TPU already",
            why="its scores have to be known before it is timed, and only an Edge TPU can run it",
            fix="give the int8 .tflite that it was compiled of with --model, and this file with --artifact",
        )


# --- what was given ---


def _compiled_by_user(request: PrepareRequest) -> Path | None:
    """The compiled file of `--artifact` for this variant; None where none was given.

    A folder has one a variant, named as the compiler names them.
    """
    artifact_option = str(request.options.get("artifact") or "")
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


def _digest(path: Path) -> str:
    status = path.stat()
    return _hashed(path.absolute(), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=64)
def _hashed(path: Path, size_bytes: int, mtime_ns: int) -> str:
    """Of a file in the state that size and time of change stand for."""
    return sha256_file(path)


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


def _artifact(base: Artifact, file: CachedFile) -> Artifact:
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
