"""Artifacts for TFLite's runtimes: those that are shipped, a user's .tflite as it is, all else converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgebench.errors import InputError, UnsupportedError
from edgebench.installed import versions_of
from edgebench.prepare import families as catalogue
from edgebench.prepare.cache import Cache, CachedFile
from edgebench.prepare.chain import (
    Chain,
    Recipe,
    Refusals,
    StepJob,
    Subject,
    artifact_of,
    carry_out,
    output_tolerances,
    require_batch,
    require_calibration,
    subject_of,
)
from edgebench.prepare.image_sets import images_identity
from edgebench.prepare.shipped import find_shipped, shipped_artifact, with_shipped_tools
from edgebench.records.model import Artifact, InputSpec, OutputTolerance, PrepareRequest
from edgebench.records.values import PRECISIONS, Progress

TOOLS = ("tensorflow", "keras", "ai-edge-litert")
_RUNTIME = ("ai-edge-litert",)
_KIND = "tflite"
_KIND_OF_USERS_FILES = "own-tflite"
_RECIPE_VERSION = 2  # counts up when the same inputs would give another file, or other notes on it
_STEPS = "edgebench.prepare.workers.tflite_steps"

# The largest difference of a score that is accepted against the reference, as a fraction of the largest
# score; where the output is quantised at least as many of its steps as int8's fraction has of 256. Seen on
# this project's machines with LiteRT's default kernels: 2e-6 for fp32, 8e-4 for fp16, 15/256 for int8.
_TOLERATED_FRACTIONS = {"fp32": 1e-3, "fp16": 1e-2}
_TOLERATED_STEPS = 24
_TOLERATED_FRACTION = _TOLERATED_STEPS / 256


class TfliteChain(Chain):
    """To .tflite. Without `use_shipped` what comes with the package is converted, too."""

    name = "tflite"
    title = "TFLite"
    extras = "prepare,cpu"
    formats = ("tflite", "keras", "saved_model", "weights")

    def __init__(self, *, use_shipped: bool = True) -> None:
        self._use_shipped = use_shipped

    def recipe(self, request: PrepareRequest) -> Recipe:
        """The tools are those that are installed; of a shipped artifact those that made it.

        Its key is the same everywhere then.
        """
        subject = subject_of(request)
        if subject.is_network:
            return self._network_recipe(request, subject)
        return _file_recipe(request, subject)

    def packages(self, request: PrepareRequest, cache: Cache | None) -> tuple[str, ...]:
        """TensorFlow for what is converted, the runtime for a .tflite."""
        if request.source.kind == "tflite":
            return _RUNTIME
        if request.source.model is None and self._use_shipped:
            try:
                return () if shipped_artifact(self.recipe(request).inputs) else TOOLS
            except UnsupportedError:
                return ()
        return TOOLS

    def find(self, recipe: Recipe, cache: Cache) -> CachedFile | None:
        """InputError where the shipped file is damaged."""
        return (find_shipped(recipe.inputs) if self._use_shipped else None) or recipe.find(cache)

    def make(
        self, requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress
    ) -> Refusals:
        """Shipped files are unpacked; else one job a model and batch makes all its precisions."""
        groups: dict[tuple[Any, ...], list[PrepareRequest]] = {}
        refusals: Refusals = {}
        for request in requests:
            recipe = self.recipe(request)
            shipped = shipped_artifact(recipe.inputs) if self._use_shipped else None
            if shipped is not None:
                file = scratch / f"{request.variant.name}.tflite"
                try:
                    file.write_bytes(shipped.content())
                except InputError as error:
                    refusals[recipe.key] = error
                else:
                    recipe.store(cache, file, shipped.note)
                continue
            model = (request.source, request.variant.model, request.batch)
            groups.setdefault(model, []).append(request)
        # The longest go first, so that no process is left with a long one at the end.
        ordered = sorted(groups.values(), key=lambda group: -(subject_of(group[0]).macs or 1e12))
        jobs = [self._job(group, cache) for group in ordered]
        return refusals | carry_out(_STEPS, jobs, cache, scratch, progress)

    def artifact(
        self, request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache
    ) -> Artifact | None:
        """With reference kernels int8 computes its golden scores exactly."""
        subject, note, precision = subject_of(request), file.note, request.variant.precision
        is_int8 = precision == "int8"
        picture = request.source.model.picture if request.source.model else None
        is_calibrated = subject.is_network or (is_int8 and subject.by_tensorflow)
        return artifact_of(
            request,
            subject,
            recipe,
            file,
            cache,
            format=self.name,
            input_spec=_input_spec(subject, precision, note.get("input")),
            tolerances=_tolerances(subject, precision, note),
            exact_with=("kernels=reference",) if is_int8 else (),
            input_shapes=_shapes_to_tell(request),
            state="none" if subject.is_shipped else note["state"],
            calibration=subject.calibration if is_calibrated else None,
            checks=[note["check"]] if "check" in note else [],
            provenance={} if subject.is_network else {"input_told_by": picture.told_by if picture else None},
        )

    def _network_recipe(self, request: PrepareRequest, subject: Subject) -> Recipe:
        variant, source = request.variant, request.source
        if variant.precision not in PRECISIONS:
            raise _not_made(request)
        calibration = subject.calibration
        inputs: dict[str, Any] = {
            "format": _KIND,
            "recipe": _RECIPE_VERSION,
            "variant": variant.name,
            "batch": request.batch,
            "weights_sha256": subject.weights_sha256,
            "calibration": calibration.identity if calibration else images_identity("calibration"),
            "golden": subject.golden.identity,
            "tools": versions_of(TOOLS),
        }
        if source.kind == "weights":
            if variant.precision == "int8":
                require_calibration(request, subject)
            # The user's images stand in the place of the shipped ones.
            inputs |= {"source": source.identity(), "calibration": None, "golden": None}
        return Recipe(_KIND, with_shipped_tools(inputs) if self._use_shipped else inputs, ".tflite")

    def _job(self, group: Sequence[PrepareRequest], cache: Cache) -> StepJob:
        request = group[0]
        subject = subject_of(request)
        outputs = {member.variant.precision: self.recipe(member) for member in group}
        needs_images = subject.by_tensorflow and "int8" in outputs and subject.calibration is not None
        description = {
            "what": request.variant.model,
            **subject.job,
            "batch": request.batch,
            "shapes": [list(shape) for shape in subject.shapes],
            "input": subject.spec and subject.spec.model_dump(mode="json"),
            "tensors": [tensor.model_dump() for tensor in subject.tensors],
            "golden": str(subject.golden.file(cache).path),
            "n": subject.golden.n,
            # A family's network can be resized, and single patches take less time than a padded batch.
            "golden_batch": 1 if subject.is_network else request.batch,
            "published": subject.is_shipped,
            "calibration": str(subject.calibration.images(cache).path)
            if needs_images and subject.calibration
            else None,
        }
        return StepJob(description, outputs)


def _file_recipe(request: PrepareRequest, subject: Subject) -> Recipe:
    _require_precision(request, subject)
    if subject.by_tensorflow and request.variant.precision == "int8":
        require_calibration(request, subject)
    require_batch(request)
    inputs = {
        "format": _KIND_OF_USERS_FILES,
        "recipe": _RECIPE_VERSION,
        "source": request.source.identity(),
        "precision": request.variant.precision,
        "batch": request.batch,
        "input": subject.identity["input"],
        "tools": versions_of(TOOLS if subject.by_tensorflow else _RUNTIME),
    }
    return Recipe(_KIND_OF_USERS_FILES, inputs, ".tflite")


def _require_precision(request: PrepareRequest, subject: Subject) -> None:
    """UnsupportedError where TFLite has no such file of a user's model."""
    name, precision = request.variant.name, request.variant.precision
    if subject.by_tensorflow and precision not in PRECISIONS:
        raise _not_made(request)
    if not subject.by_tensorflow and precision != subject.precision:
        raise UnsupportedError(
            f"{name} cannot be made",
            why=f"a .tflite file is taken as it is, and this one is {subject.precision}",
            fix=f"ask for --precision {subject.precision}, or give the .keras that it was made from"
            if subject.precision in PRECISIONS
            else "leave --precision out, or give the .keras that it was made from",
        )


def _not_made(request: PrepareRequest) -> UnsupportedError:
    return UnsupportedError(
        f"{request.variant.name} cannot be made", why=f"TFLite is made at {', '.join(PRECISIONS)}"
    )


def _input_spec(subject: Subject, precision: str, quantised: Mapping[str, Any] | None) -> InputSpec:
    """The input of the artifact: as the file has it, or as a conversion left it."""
    if subject.spec is None:  # of an artifact with tensors the input says nothing
        return InputSpec(dtype="float32")
    if quantised and precision == "int8" and subject.is_shipped:
        quantised = {**quantised, "scale": catalogue.INT8_SCALE}
    return InputSpec.model_validate({**subject.spec.model_dump(), **(quantised or {})})


def _tolerances(subject: Subject, precision: str, note: Mapping[str, Any]) -> tuple[OutputTolerance, ...]:
    fraction = _TOLERATED_FRACTIONS.get(precision, _TOLERATED_FRACTION)
    if subject.is_shipped:  # its file has no note of two kernels
        return (OutputTolerance(scores=len(note["scores"][0]), tolerance=fraction),)
    if subject.is_network:  # a softmax gives at most 1
        return output_tolerances(note, [fraction])
    return output_tolerances(
        note,
        [
            max(fraction * (output["largest"] or 1e-6), _TOLERATED_STEPS * step)
            for output, step in zip(note["outputs"], note["steps"], strict=True)
        ],
    )


def _shapes_to_tell(request: PrepareRequest) -> tuple[tuple[int, ...], ...]:
    """The inputs' shapes, where a user's .tflite leaves open what is not 1: runtimes assume 1."""
    model = request.source.model
    if model is None or request.source.kind != "tflite":
        return ()
    shapes = model.shapes(request.batch)
    is_resized = model.open_axes and any(
        side != 1 and open_side is None
        for shape, open_shape in zip(shapes, model.open_shapes, strict=True)
        for side, open_side in zip(shape, open_shape, strict=True)
    )
    return shapes if is_resized else ()
