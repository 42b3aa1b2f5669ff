"""Artifacts as ONNX: an fp32 file that is exported or a user's own, and smaller precisions made from it.

Every file is kept under a key of what made it. That of a smaller precision holds the key of the file that it
is made from, so int8 of a model that was exported before takes no TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from edgebench.errors import UnsupportedError
from edgebench.installed import version_of, versions_of
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
from edgebench.records.model import Artifact, InputSpec, PrepareRequest, SourceKind
from edgebench.records.values import PRECISIONS, Finding, Progress

# How a backend wants its ONNX: layout, the form of int8, and what of it stays float.


Layout = Literal["NHWC", "NCHW"]


@dataclass(frozen=True)
class OnnxForm:
    """Parameters of the steps; the same form and the same model make the same file.

    Attributes:
        layout: of the input; None: a family's is NHWC, a file's stays what it is.
        int8: QuantizeLinear/DequantizeLinear pairs round float operations (`qdq`), or integer operations
            (`qoperator`).
        activations: the integers of everything that is no weight. ONNX Runtime asks for int8 with `qdq`;
            integer operations on int8 are several times slower on x86-64 than on uint8.
        exclude: kinds of operations (`Softmax`) or names of single ones that int8 leaves float.
        integer_input: int8 takes integers, so that preprocessing is one step as for .tflite; else float32.
        explicit: pairs as TensorRT's explicit quantisation takes them: before the inputs of what multiplies
            and nowhere else, every zero point 0, weights as floats with a pair of their own, biases as
            floats. Its parser refuses any zero point but 0 and pairs of int32.
    """

    layout: Layout | None = None
    int8: Literal["qdq", "qoperator"] = "qdq"
    activations: Literal["int8", "uint8"] = "int8"
    exclude: tuple[str, ...] = ()
    integer_input: bool = True
    explicit: bool = False

    def quantisation(self) -> dict[str, Any]:
        """What of it decides an int8 file, as plain data for a key."""
        fields = asdict(self)
        del fields["layout"]
        if not self.explicit:  # it came when files were kept under keys without it
            del fields["explicit"]
        return {**fields, "exclude": sorted(self.exclude), "per_channel": True}


RECIPE_VERSION = 3  # counts up when the same inputs would give another file, or other notes on it
_OPSET = 13
_TOOLS = ("tensorflow", "keras", "tf2onnx", "onnx", "onnxruntime")

# The largest difference of a score that a session may show against the reference, as a fraction of the
# largest score. Seen on this project's machines: 2e-6 for fp32, 6e-3 for fp16, 0.04 for int8.
_TOLERATED_FRACTIONS = {"fp32": 1e-3, "fp16": 2e-2}
_TOLERATED_FRACTION = 24 / 256


class OnnxChain(Chain):
    """To ONNX, in the form that a backend wants of a request.

    Attributes:
        suffix: of its files.
        steps: the module that makes them.
        step_tools: packages that work on files of the format.
    """

    name = "onnx"
    title = "ONNX"
    extras = "prepare,onnx"
    formats: ClassVar[tuple[SourceKind, ...]] = ("onnx", "keras", "saved_model", "weights")
    suffix = ".onnx"
    steps = "edgebench.prepare.workers.onnx_steps"
    step_tools: ClassVar[tuple[str, ...]] = ("onnx", "onnxruntime")

    def __init__(self, form_of: Callable[[PrepareRequest], OnnxForm]) -> None:
        self._form_of = form_of

    def recipe(self, request: PrepareRequest) -> Recipe:
        """The recipe of a smaller precision holds that of its base."""
        subject = subject_of(request)
        _require_taken(request, subject)
        base = self.base(request, subject)
        precision = request.variant.precision
        if precision == subject.precision:
            return base
        inputs: dict[str, Any] = {
            "format": self.name,
            "step": precision,
            "recipe": RECIPE_VERSION,
            "from": base.inputs,
            "tools": versions_of(self.step_tools),
        }
        if precision == "int8":
            form = self._form_of(request)
            calibration = require_calibration(request, subject)
            inputs |= {"calibration": calibration.identity, "form": form.quantisation()}
        return Recipe(self.name, inputs, self.suffix)

    def packages(self, request: PrepareRequest, cache: Cache | None) -> tuple[str, ...]:
        """TensorFlow for what is exported, and what works on ONNX."""
        is_there = cache is not None and self.base(request, subject_of(request)).find(cache) is not None
        return self.step_tools if request.source.kind == "onnx" or is_there else _TOOLS

    def make(
        self, requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress
    ) -> Refusals:
        """First what the chain begins with, then what is made from that."""
        # The longest go first, so that no process is left with a long one at the end.
        ordered = sorted(requests, key=lambda request: -(subject_of(request).macs or 1e12))
        bases = [self.base(request, subject_of(request)) for request in ordered]
        missing = {
            base.key: self._base_job(request, base, cache)
            for request, base in zip(ordered, bases, strict=True)
            if base.find(cache) is None
        }
        refusals = carry_out(self.steps, list(missing.values()), cache, scratch, progress)
        derived: list[StepJob] = []
        for request, base in zip(ordered, bases, strict=True):
            recipe, file = self.recipe(request), base.find(cache)
            if base.key in refusals:
                refusals[recipe.key] = refusals[base.key]
            elif recipe.key != base.key and file is not None:
                derived.append(self._derived_job(request, recipe, file, cache))
        return refusals | carry_out(self.steps, derived, cache, scratch, progress)

    def artifact(
        self, request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache
    ) -> Artifact | None:
        """With how far each step is off."""
        subject, note, precision = subject_of(request), file.note, request.variant.precision
        is_quantised = recipe.inputs["step"] == "int8"
        fraction = _TOLERATED_FRACTIONS.get(precision, _TOLERATED_FRACTION)
        return artifact_of(
            request,
            subject,
            recipe,
            file,
            cache,
            format=self.name,
            input_spec=InputSpec(dtype="float32")  # of an artifact with tensors it says nothing
            if note["input"] is None
            else InputSpec.model_validate(note["input"]),
            tolerances=output_tolerances(
                note, [fraction * (output["largest"] or 1e-6) for output in note["outputs"]]
            ),
            calibration=subject.calibration if is_quantised else None,
            checks=note["checks"],
            provenance={
                "opset": _OPSET if subject.by_tensorflow else None,
                "int8": self._form_of(request).quantisation() if is_quantised else None,
            },
        )

    def base(self, request: PrepareRequest, subject: Subject) -> Recipe:
        """The recipe of the file that the steps begin with."""
        inputs = {
            "format": self.name,
            "step": "export" if subject.by_tensorflow else "ready",
            "recipe": RECIPE_VERSION,
            "model": subject.identity,
            "batch": request.batch,
            "layout": self._layout(request, subject),
            "golden": subject.golden.identity,
            "tools": versions_of(_TOOLS if subject.by_tensorflow else self.step_tools),
            **({"opset": _OPSET} if subject.by_tensorflow else {}),
        }
        return Recipe(self.name, inputs, self.suffix)

    def _layout(self, request: PrepareRequest, subject: Subject) -> str | None:
        return None if subject.spec is None else self._form_of(request).layout or subject.spec.layout

    def _base_job(self, request: PrepareRequest, recipe: Recipe, cache: Cache) -> StepJob:
        subject = subject_of(request)
        description = {
            "step": "base",
            **subject.job,
            **_golden_patches(request, subject, cache),
            "input": subject.spec and subject.spec.model_dump(mode="json"),
            "layout": self._layout(request, subject),
            "opset": _OPSET,
        }
        return StepJob(description, {subject.precision: recipe})

    def _derived_job(
        self, request: PrepareRequest, recipe: Recipe, base: CachedFile, cache: Cache
    ) -> StepJob:
        subject, precision = subject_of(request), request.variant.precision
        description = {
            "step": precision,
            **_golden_patches(request, subject, cache),
            "base": str(base.path),
            "base_note": dict(base.note),
        }
        if precision == "int8" and subject.calibration is not None:
            description["calibration"] = str(subject.calibration.images(cache).path)
            description["form"] = self._form_of(request).quantisation()
        return StepJob(description, {precision: recipe})


def _golden_patches(request: PrepareRequest, subject: Subject, cache: Cache) -> dict[str, Any]:
    """What a step is checked with."""
    return {
        "what": request.variant.model,
        "batch": request.batch,
        "shapes": [list(shape) for shape in subject.shapes],
        "tensors": [tensor.model_dump() for tensor in subject.tensors],
        "golden": str(subject.golden.file(cache).path),
        "n": subject.golden.n,
    }


def _require_taken(request: PrepareRequest, subject: Subject) -> None:
    """UnsupportedError where there is no ONNX of the model at that precision and batch."""
    require_batch(request)
    precisions = PRECISIONS if subject.precision == "fp32" else (subject.precision,)
    if request.variant.precision not in precisions:
        raise UnsupportedError(
            f"{request.variant.name} cannot be made",
            why=f"ONNX is made at {', '.join(PRECISIONS)}"
            if subject.precision == "fp32"
            else f"the file is {subject.precision}, and only fp32 can be converted",
            fix="" if subject.by_tensorflow else f"ask for {', '.join(precisions)}",
        )


# What `doctor` says of the packages that make .onnx files, on this machine.


PACKAGES = ("onnx", "tf2onnx", "tensorflow")


def packages_finding() -> Finding:
    """Whether they are installed, and what cannot be prepared without."""
    absent = [name for name in PACKAGES if version_of(name) is None]
    if not absent:
        return Finding("ok", "preparing", ", ".join(f"{name} {version_of(name)}" for name in PACKAGES))
    # A key holds the versions of what prepares: without them no cached artifact is found, either.
    models = "no model" if "onnx" in absent else "only .onnx files"
    message = (
        f"{', '.join(absent)} not installed: {models} can be prepared, or found among the artifacts "
        "that were cached with it"
    )
    return Finding("warning", "preparing", message, "pip install 'edgebench[prepare,onnx]'")
