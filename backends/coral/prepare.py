"""From the int8 .tflite to what the Edge TPU takes: compiled here, given, or told how to compile."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from edgebench.atomic import write_atomically
from edgebench.cache.objects import Cache, canonical_hash, sha256_file
from edgebench.cache.recipes import find, keep, making
from edgebench.errors import InputError, UnavailableError, UnsupportedError, UsageError
from edgebench.models.prepare import tflite
from edgebench.regular_files import reason, require_regular
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.values import Json, Progress

from . import compiled, compiler

KIND = "coral"
RECIPE_VERSION = 1  # counts up when the same inputs would give another file
SUFFIX = "_edgetpu.tflite"
ON_CPU = "on the CPU"

PRECISION_REASONS: Mapping[str, str] = {
    "fp32": "the Edge TPU computes in 8-bit integers alone",
    "fp16": "the Edge TPU computes in 8-bit integers alone",
}


def prepare_inputs(request: PrepareRequest) -> dict[str, Json]:
    """Everything that decides the artifact; makes nothing.

    UnsupportedError for another precision than int8 and for batches; UsageError for a file that is not there.
    """
    _require_int8_alone(request)
    inputs: dict[str, Json] = {
        "format": "edgetpu",
        "recipe": RECIPE_VERSION,
        "batch": request.batch,
        "model": tflite.prepare_inputs(request),
    }
    if given := _given(request):
        return {**inputs, "artifact_sha256": _digest(given)}
    found = compiler.find()
    if found is None and request.options.get("allow_cpu"):
        return {**inputs, "compiler": None, "allow_cpu": True}
    return {**inputs, "compiler": None if found is None else found.version}


def missing(request: PrepareRequest) -> UnavailableError | None:
    """What has to be installed for the .tflite; None where nothing is missing, or it is not taken at all."""
    return tflite.missing(request) if request.variant.precision == "int8" else None


def prepare(requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
    """One outcome a request, in order.

    Raises:
        UnavailableError: there is no compiler here, and no compiled file was given; with what to do.
        InputError: a file that was given is not compiled, or is compiled of something else.
    """
    outcomes: dict[int, Prepared] = {}
    taken: list[int] = []
    for at, request in enumerate(requests):
        try:
            _require_uncompiled(request)
            _require_int8_alone(request)
            taken.append(at)
        except UnsupportedError as error:
            outcomes[at] = error
    _require_one_model_a_file([requests[at] for at in taken])
    bases = tflite.prepare_tflite([requests[at] for at in taken], cache, progress) if taken else []
    for at, base in zip(taken, bases, strict=True):
        outcomes[at] = _stored(requests[at], base, cache) or base if isinstance(base, Artifact) else base
    pairs = zip(taken, bases, strict=True)
    missing = {at: base for at, base in pairs if outcomes[at] is base and isinstance(base, Artifact)}
    if missing:
        with making(cache, "prepare-coral") as scratch:
            _require_a_way({at: requests[at] for at in missing}, missing, cache)
            for at, base in missing.items():
                outcomes[at] = _made(requests[at], base, cache, scratch, progress)
    return [outcomes[at] for at in range(len(requests))]


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
    if source.kind == "tflite" and source.path is not None and compiled.read(source.path).edgetpu:
        raise UnsupportedError(
            f"{request.variant.name} is compiled for the Edge TPU already",
            why="its scores have to be known before it is timed, and only an Edge TPU can run it",
            fix="give the int8 .tflite that it was compiled of with --model, and this file with --artifact",
        )


# --- what was given ---


def _given(request: PrepareRequest) -> Path | None:
    """The compiled file of `--artifact` for this variant; None where none was given.

    A folder has one a variant, named as the compiler names them.
    """
    said = str(request.options.get("artifact") or "")
    if not said:
        return None
    path = Path(said).expanduser()
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
    for said in named:
        names = {one.variant.name for one in requests if one.options.get("artifact") == said}
        if len(names) > 1 and not Path(said).expanduser().is_dir():
            raise UsageError(
                f"{said} is one model, and {len(names)} were asked for",
                why=", ".join(sorted(names)),
                fix="say which it is compiled of, such as --depth 0.25, or give a folder with one a model",
            )


# --- making ---


def _stored(request: PrepareRequest, base: Artifact, cache: Cache) -> Artifact | None:
    kept = find(cache, KIND, canonical_hash(prepare_inputs(request)))
    if kept is None:
        return None
    try:
        return _artifact(base, kept.path, kept.sha256, kept.size_bytes, kept.note)
    except (KeyError, TypeError, ValidationError):  # a note that was damaged: it is made again
        return None


def _require_a_way(
    requests: Mapping[int, PrepareRequest], bases: Mapping[int, Artifact], cache: Cache
) -> None:
    """UnavailableError, with the command and the files, where nothing can compile what has to be."""
    without = {at: one for at, one in requests.items() if _given(one) is None}
    if (
        not without
        or compiler.find() is not None
        or all(one.options.get("allow_cpu") for one in without.values())
    ):
        return
    folder = cache.root / "edgetpu"
    files: dict[str, Path] = {}
    for at, request in without.items():
        files[request.variant.name] = folder / f"{request.variant.name}.tflite"
        write_atomically(files[request.variant.name], bases[at].path.read_bytes())
    results = ", ".join(f"{name}{SUFFIX}" for name in files)
    raise UnavailableError(
        f"{', '.join(files)} {'is' if len(files) == 1 else 'are'} not compiled for the Edge TPU",
        why=f"{compiler.PROGRAM} is not on PATH here; the int8 files are written to {folder}",
        fix=f"on x86-64 Linux with Google's compiler: `{compiler.command_for(files, folder)}`; copy "
        f"{results} to {folder} where that is another machine, and add --artifact {folder} "
        "(or measure on the processor, marked so: --set allow-cpu=true)",
    )


def _made(
    request: PrepareRequest, base: Artifact, cache: Cache, scratch: Path, progress: Progress
) -> Prepared:
    name = request.variant.name
    file = scratch / f"{name}.tflite"
    note: dict[str, Json] = {}
    if given := _given(request):
        shutil.copyfile(given, file)
        note["given"] = given.name
    elif found := compiler.find():
        progress(f"compiling {name} for the Edge TPU")
        shutil.copyfile(base.path, file)
        try:
            made, log = compiler.compile_model(found, file, scratch)
        except compiler.CompilerError as error:
            return UnsupportedError(error.what, why=error.why, fix=error.fix)
        made.replace(file)
        note["compiler"] = log.as_record()
    else:
        shutil.copyfile(base.path, file)
    said = compiled.read(given or file)
    if not said.edgetpu and not request.options.get("allow_cpu"):
        if given is None:
            return _not_compiled(request, said)
        reason = _not_compiled(request, said)
        raise InputError(f"{given} is not compiled for the Edge TPU", why=reason.why, fix=reason.fix)
    if given is not None:
        compiled.require_fit(said, compiled.read(base.path), given, name)
    note["operations"] = said.as_record()
    kept = keep(cache, KIND, canonical_hash(prepare_inputs(request)), file, ".tflite", note)
    return _artifact(base, kept.path, kept.sha256, kept.size_bytes, kept.note)


def _not_compiled(request: PrepareRequest, said: compiled.Compiled) -> UnsupportedError:
    kinds = ", ".join(f"{count} {name}" for name, count in list(said.cpu.items())[:6])
    return UnsupportedError(
        f"nothing of {request.variant.name} is compiled for the Edge TPU",
        why=f"the file has no operation {compiled.CUSTOM_OP.partition(':')[2]}: all of it would run on the "
        f"processor ({kinds})",
        fix=f"give the file that {compiler.PROGRAM} writes, whose name ends in {SUFFIX}, or measure on the "
        "processor, marked so: --set allow-cpu=true",
    )


def _artifact(base: Artifact, path: Path, sha256: str, size_bytes: int, note: Mapping[str, Json]) -> Artifact:
    operations = dict(note["operations"])
    return base.model_copy(
        update={
            "format": "edgetpu" if operations["edgetpu"] else base.format,
            "path": path,
            "sha256": sha256,
            "size_bytes": size_bytes,
            # Nothing here is exact: the Edge TPU rounds in its own way.
            "golden": base.golden.model_copy(update={"exact_with": ()}),
            "mark": "" if operations["edgetpu"] else ON_CPU,
            "provenance": {
                **base.provenance,
                "operations": operations,
                **{name: note[name] for name in ("compiler", "given") if name in note},
            },
        }
    )
