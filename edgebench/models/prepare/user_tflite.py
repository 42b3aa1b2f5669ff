"""Preparing .tflite artifacts of a user's model: a .tflite as it is, a .keras or SavedModel by conversion."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import Kept, find, keep
from edgebench.errors import EdgeBenchError, UnavailableError, UnsupportedError
from edgebench.models.user.model import fixed_batch, input_spec
from edgebench.models.workers.processes import HelperError, try_jobs, try_outputs
from edgebench.vocabulary.artifact import Artifact, Golden, InputSpec, TensorInput
from edgebench.vocabulary.model_source import ModelSource
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.user_model import OwnModel
from edgebench.vocabulary.values import Progress
from edgebench.vocabulary.variant import PRECISIONS

KIND = "own-tflite"
RECIPE_VERSION = 1  # counts up when the same inputs would give another file
_CONVERTED = ("keras", "saved_model")

# The largest difference of a score that is accepted against the reference, as a fraction of the largest
# score; where the output is quantised at least as many of its steps as int8's fraction has of 256.
_FRACTIONS = {"fp32": 1e-3, "fp16": 1e-2}
_QUANTISED_STEPS = 24
_QUANTISED = _QUANTISED_STEPS / 256

Tools = Mapping[str, str | None]


def prepare_inputs(request: PrepareRequest, tools: Tools) -> dict[str, Any]:
    """Everything that decides the artifact; UnsupportedError where LiteRT cannot take it so."""
    source, model = _known(request)
    precision = request.variant.precision
    if source.kind == "onnx":
        raise UnsupportedError(
            f"{request.variant.name} is not taken by TFLite",
            why="an .onnx file is not converted to .tflite",
            fix="take the device onnxruntime, or give the .keras or SavedModel that it was made from",
        )
    if source.kind == "tflite" and precision != model.precision:
        raise UnsupportedError(
            f"{request.variant.name} cannot be made",
            why=f"a .tflite file is taken as it is, and this one is {model.precision}",
            fix=f"ask for --precision {model.precision}, or give the .keras that it was made from"
            if model.precision in PRECISIONS
            else "leave --precision out, or give the .keras that it was made from",
        )
    if source.kind in _CONVERTED and precision not in PRECISIONS:
        raise UnsupportedError(
            f"{request.variant.name} cannot be made", why=f"TFLite is made at {', '.join(PRECISIONS)}"
        )
    if source.kind in _CONVERTED and precision == "int8":
        _require_calibration(request, source, model)
    _require_batch(request, source, model)
    return {
        "format": KIND,
        "recipe": RECIPE_VERSION,
        "source": source.identity(),
        "precision": precision,
        "batch": request.batch,
        "tools": dict(tools) if source.kind in _CONVERTED else {"ai-edge-litert": tools["ai-edge-litert"]},
    }


def stored_artifact(request: PrepareRequest, cache: Cache, tools: Tools) -> Artifact | None:
    """The artifact if the cache holds it; UnsupportedError where there is no recipe for it."""
    inputs = prepare_inputs(request, tools)
    key = canonical_hash(inputs)
    kept = find(cache, KIND, key)
    if kept is None:
        return None
    try:
        return _artifact(request, inputs, kept)
    except (ValidationError, KeyError, TypeError, ValueError):  # a damaged note: it is made again
        return None


def make(
    requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress, tools: Tools
) -> dict[str, EdgeBenchError]:
    """Make what these requests ask for; returns why not, by variant and batch, for what cannot be made.

    There is an UnsupportedError for what the runtime does not take, a HelperError for what cannot be read,
    converted or run, and an UnavailableError where a package for it is not installed.
    """
    refused: dict[str, EdgeBenchError] = {
        name_of(request): error for request in requests if (error := missing(request, tools))
    }
    requests = [request for request in requests if name_of(request) not in refused]
    of_tflite = [request for request in requests if request.source.kind == "tflite"]
    of_keras = [request for request in requests if request.source.kind in _CONVERTED]
    if of_tflite:
        jobs = [_tflite_job(request) for request in of_tflite]
        tflite_notes = try_jobs("edgebench.models.workers.user_tflite", jobs, scratch, progress)
        for number, (request, note) in enumerate(zip(of_tflite, tflite_notes, strict=True)):
            if isinstance(note, HelperError) or "unsupported" in note:
                refused[name_of(request)] = _refusal(note)
                continue
            file = scratch / f"copy-{number}.tflite"
            shutil.copyfile(_known(request)[0].path or "", file)
            _keep(cache, request, file, note, tools)
    if of_keras:
        groups: dict[tuple[str, int], list[PrepareRequest]] = {}
        for request in of_keras:
            groups.setdefault((request.source.name, request.batch), []).append(request)
        jobs = [_keras_job(group, scratch, at) for at, group in enumerate(groups.values())]
        keras_notes = try_outputs("edgebench.models.workers.user_keras", jobs, scratch, progress)
        for group, job, notes in zip(groups.values(), jobs, keras_notes, strict=True):
            for request in group:
                note = notes[request.variant.precision]
                if isinstance(note, HelperError) or "unsupported" in note:
                    refused[name_of(request)] = _refusal(note)
                else:
                    _keep(cache, request, Path(job["outputs"][request.variant.precision]), note, tools)
    return refused


def _refusal(note: Mapping[str, Any] | HelperError) -> EdgeBenchError:
    """Why there is no artifact, by a note that tells of none."""
    return note if isinstance(note, HelperError) else UnsupportedError(**note["unsupported"])


def name_of(request: PrepareRequest) -> str:
    """A request's variant and batch."""
    return f"{request.variant.name} at {request.batch}"


def _known(request: PrepareRequest) -> tuple[ModelSource, OwnModel]:
    source = request.source
    if source.model is None or source.path is None or source.golden is None:
        raise ValueError(f"{source.name} has not been read")
    return source, source.model


def _require_calibration(request: PrepareRequest, source: ModelSource, model: OwnModel) -> None:
    if model.picture is None:
        raise UnsupportedError(
            f"{request.variant.name} cannot be made",
            why=f"post-training quantisation is calibrated with pictures, and {model.accuracy_reason}",
            fix="give a .tflite that is quantised already",
        )
    if source.calibration is None:
        raise UnsupportedError(
            f"{request.variant.name} cannot be made without calibration images",
            why="int8 takes its ranges from pictures like those that the model will see",
            fix="give a folder of them: --calibration DIR",
        )


def _require_batch(request: PrepareRequest, source: ModelSource, model: OwnModel) -> None:
    fixed = fixed_batch(model)
    if model.picture is None and request.batch != 1:
        raise UnsupportedError(
            f"{request.variant.name} is not measured at a batch of {request.batch}",
            why=model.accuracy_reason,
            fix="leave --batch out: a sample is what the model takes at once",
        )
    if model.picture is not None and source.kind == "tflite" and fixed not in (None, request.batch):
        raise UnsupportedError(
            f"{request.variant.name} is not measured at a batch of {request.batch}",
            why=f"the file fixes a batch of {fixed}",
            fix=f"use --batch {fixed}, or export it with an open batch",
        )


def missing(request: PrepareRequest, tools: Tools) -> UnavailableError | None:
    """Which packages have to be installed before this file can be prepared; None where nothing is missing."""
    names = {"tflite": ("ai-edge-litert",), "onnx": ()}.get(request.source.kind, tuple(tools))
    return not_installed(request, tools, names)


def not_installed(request: PrepareRequest, tools: Tools, names: Sequence[str]) -> UnavailableError | None:
    """What of these tools is not installed, in one line with the way to get it; None where all are."""
    absent = [name for name in names if tools[name] is None]
    if not absent:
        return None
    return UnavailableError(
        f"{request.variant.name} cannot be prepared: {', '.join(absent)} "
        f"{'is' if len(absent) == 1 else 'are'} not installed (pip install 'edgebench[prepare,cpu]')"
    )


def _golden_job(request: PrepareRequest) -> dict[str, Any]:
    source, model = _known(request)
    golden = source.golden
    assert golden is not None
    return {
        "what": request.variant.model,
        "path": str(source.path),
        "shapes": [list(shape) for shape in model.shapes(request.batch)],
        "golden": str(golden.path),
        "n": golden.n,
        "batch": request.batch,
    }


def _tflite_job(request: PrepareRequest) -> dict[str, Any]:
    _, model = _known(request)
    spec = _own_spec(request)
    return {
        **_golden_job(request),
        "input": None if model.picture is None else spec.model_dump(mode="json"),
        # Reference kernels are the yardstick of integers; of floats they only are slow.
        "reference": request.variant.precision == "int8",
    }


def _keras_job(group: Sequence[PrepareRequest], scratch: Path, at: int) -> dict[str, Any]:
    source, model = _known(group[0])
    outputs = {one.variant.precision: str(scratch / f"{at}-{one.variant.precision}.tflite") for one in group}
    return {
        **_golden_job(group[0]),
        "kind": source.kind,
        "input": None if model.picture is None else input_spec(source, "float32").model_dump(mode="json"),
        "calibration": None if source.calibration is None else str(source.calibration.path),
        "outputs": outputs,
    }


def _own_spec(request: PrepareRequest, converted: Mapping[str, Any] | None = None) -> InputSpec:
    """The input of the artifact: as the file has it, or as a conversion left it."""
    source, model = _known(request)
    if model.picture is None:
        return InputSpec(dtype="float32")
    if converted is not None:
        scale, zero_point = converted["scale"], converted["zero_point"]
        return input_spec(source, converted["dtype"], scale=scale, zero_point=zero_point)
    picture = model.inputs[0]
    scale, zero_point = picture.scale, picture.zero_point
    if picture.dtype in ("int8", "uint8") and scale is None:
        scale, zero_point = 1.0, 0  # an integer input that is not quantised holds the pixels themselves
    return input_spec(source, picture.dtype, scale=scale, zero_point=zero_point)


def _keep(cache: Cache, request: PrepareRequest, file: Path, note: Mapping[str, Any], tools: Tools) -> None:
    key = canonical_hash(prepare_inputs(request, tools))
    keep(cache, KIND, key, file, ".tflite", note)


def _artifact(request: PrepareRequest, inputs: Mapping[str, Any], kept: Kept) -> Artifact:
    source, model = _known(request)
    golden, calibration, note = source.golden, source.calibration, kept.note
    assert golden is not None
    scores = note["scores"]
    shapes = model.shapes(request.batch)
    at_once = [tuple(shape) for shape in model.shapes(1)]
    is_resized = (
        source.kind == "tflite"
        and model.open_axes
        and any(
            length != 1 and have is None
            for shape, one in zip(shapes, model.open_shapes, strict=True)
            for length, have in zip(shape, one, strict=True)
        )
    )
    names = source.class_names or ()
    if names and len(names) != len(scores[0]):
        raise UnsupportedError(
            f"{request.variant.name} has {len(scores[0])} scores and {len(names)} labels",
            fix="give --labels a file with one name a line, as many as the model has scores",
        )
    return Artifact(
        variant=request.variant.name,
        batch=request.batch,
        format="tflite",
        path=kept.path,
        sha256=kept.sha256,
        size_bytes=kept.size_bytes,
        input=_own_spec(request, note.get("input")),
        class_names=names,
        outputs=None if names else len(scores[0]),
        accuracy_reason=model.accuracy_reason,
        assumed=model.assumed,
        tensors=()
        if model.picture is not None
        else tuple(
            TensorInput(name=one.name, dtype=one.dtype, shape=shape)
            for one, shape in zip(model.inputs, at_once, strict=True)
        ),
        input_shapes=shapes if is_resized else (),
        golden=Golden(
            patches=golden.path,
            patches_sha256=golden.sha256,
            scores=scores,
            reference=note["reference"],
            tolerance=_tolerance(request.variant.precision, scores, note["steps"]),
            exact_with=("kernels=reference",) if request.variant.precision == "int8" else (),
        ),
        provenance={
            "weights_sha256": source.sha256,
            "recipe": inputs["recipe"],
            "tools": dict(inputs["tools"]),
            "source": source.kind,
            "golden_patches": golden.origin,
            "checks": [note["check"]] if "check" in note else [],
            "input_told_by": model.picture.told_by if model.picture else None,
            "calibration": None
            if calibration is None or source.kind == "tflite" or request.variant.precision != "int8"
            else {"name": calibration.name, "n": calibration.n, "identity": calibration.sha256},
        },
    )


def _tolerance(precision: str, scores: Sequence[Sequence[float]], steps: Sequence[float]) -> float:
    largest = max((abs(value) for row in scores for value in row), default=0.0) or 1e-6
    allowed = _FRACTIONS.get(precision, _QUANTISED) * largest
    return max(allowed, _QUANTISED_STEPS * max(steps)) if steps else allowed
