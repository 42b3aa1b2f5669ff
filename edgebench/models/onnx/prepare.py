"""Preparing ONNX artifacts: from the cache where they are there, else by the steps, two models at once.

Every file is kept under a key of what made it. That of a smaller precision holds the key of the fp32 file
that it is made from, so int8 of a model that was exported before takes no TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from edgebench.contract import PrepareRequest, Progress
from edgebench.errors import UnavailableError, UnsupportedError, UsageError
from edgebench.models.artifact import Artifact, Golden, InputSpec
from edgebench.models.cache import Cache, canonical_hash
from edgebench.models.keep import Kept, find, keep, making
from edgebench.models.onnx.form import OnnxForm
from edgebench.models.onnx.subject import Subject, subject_of
from edgebench.models.processes import run_jobs
from edgebench.models.variant import PRECISIONS

KIND = "onnx"
RECIPE_VERSION = 1  # counts up when the same inputs would give another file
OPSET = 13
TOOLS = ("tensorflow", "keras", "tf2onnx", "onnx", "onnxruntime")
_EXPORT_TOOLS = TOOLS
_STEP_TOOLS = ("onnx", "onnxruntime")
_MODULE = "edgebench.models.onnx.steps"
_SUFFIX = ".onnx"

# The largest difference of a score that a session may show against the reference, as a fraction of the
# largest score. Seen on this project's machines: 2e-6 for fp32, 6e-3 for fp16, 0.04 for int8.
TOLERANCES = {"fp32": 1e-3, "fp16": 2e-2, "int8": 24 / 256}


class Order(NamedTuple):
    """A variant, and how the backend wants its ONNX."""

    request: PrepareRequest
    form: OnnxForm


def prepare_inputs(request: PrepareRequest, form: OnnxForm) -> dict[str, Any]:
    """Everything that decides the artifact, as plain data; makes and renders nothing.

    UnsupportedError when the variant has no weights or no recipe here.
    """
    subject, precision = _checked(request), request.variant.precision
    base = _base_inputs(request, form, subject)
    if precision == "fp32":
        return base
    if precision == "fp16":
        return {
            "format": KIND,
            "step": "fp16",
            "recipe": RECIPE_VERSION,
            "from": base,
            "tools": _tools(_STEP_TOOLS),
        }
    if subject.calibration is None and request.source.kind != "onnx":
        raise _uncalibrated(request)
    return {
        "format": KIND,
        "step": "int8",
        "recipe": RECIPE_VERSION,
        "from": base,
        "calibration": subject.calibration and subject.calibration.identity,
        "form": form.quantisation(),
        "tools": _tools(_STEP_TOOLS),
    }


def prepare_onnx(
    orders: Sequence[Order], cache: Cache, progress: Progress
) -> list[Artifact | UnsupportedError]:
    """One artifact an order, in order, or why there is none.

    Raises:
        UnavailableError: something must be made, and a package for it is not installed.
        HelperError: a step fails, or its output computes something else than its input (with the figures).
    """
    outcomes = [_stored(order, cache) for order in orders]
    if any(outcome is None for outcome in outcomes):
        refused: dict[str, UnsupportedError] = {}
        with making(cache, "prepare-onnx") as scratch:
            # Another process may have made them while this one waited.
            missing = [order for order in orders if _stored(order, cache) is None]
            if missing:
                refused = _make(missing, cache, scratch, progress)
        outcomes = [
            _stored(order, cache) or refused.get(canonical_hash(prepare_inputs(*order))) for order in orders
        ]
    return [outcome for outcome in outcomes if outcome is not None]


def stored_artifact(order: Order, cache: Cache) -> Artifact | None:
    """The artifact if the cache holds it; UnsupportedError where there is no recipe for it."""
    request, form = order
    subject, inputs = _checked(request), prepare_inputs(request, form)
    own_precision = _own_precision(request)
    if own_precision is not None and own_precision == request.variant.precision:
        inputs = _base_inputs(request, form, subject)
    kept = find(cache, KIND, canonical_hash(inputs))
    if kept is None or not {"scores", "reference", "input", "checks"} <= kept.note.keys():
        return None
    try:
        return _artifact(order, subject, inputs, kept, subject.golden(cache))
    except (ValidationError, KeyError, TypeError, ValueError):  # a note that was damaged: it is made again
        return None


def _checked(request: PrepareRequest) -> Subject:
    variant = request.variant
    if variant.precision not in PRECISIONS:
        raise UnsupportedError(
            f"{variant.name} cannot be made", why=f"ONNX is made at {', '.join(PRECISIONS)}"
        )
    if request.batch < 1:
        raise UsageError(f"a batch of {request.batch} patches is not possible", fix="use 1 or more")
    own = _own_precision(request)
    if own not in (None, "fp32", variant.precision):
        raise UnsupportedError(
            f"{variant.name} cannot be made",
            why=f"the file is {own} already, and only fp32 can be converted",
            fix=f"ask for {own}, or give the fp32 file",
        )
    return subject_of(request)


def _own_precision(request: PrepareRequest) -> str | None:
    """The precision of a user's .onnx as it is; None where the chain does not begin with one."""
    source = request.source
    return source.model.precision if source.kind == "onnx" and source.model is not None else None


def _base_inputs(request: PrepareRequest, form: OnnxForm, subject: Subject) -> dict[str, Any]:
    ours = request.source.kind != "onnx"
    return {
        "format": KIND,
        "step": "export" if ours else "ready",
        "recipe": RECIPE_VERSION,
        "model": subject.identity,
        "batch": request.batch,
        "layout": form.layout or subject.spec.layout,
        "golden": subject.golden_identity,
        "tools": _tools(_EXPORT_TOOLS if ours else _STEP_TOOLS),
        **({"opset": OPSET} if ours else {}),
    }


def _tools(names: Sequence[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _stored(order: Order, cache: Cache) -> Artifact | UnsupportedError | None:
    try:
        return stored_artifact(order, cache)
    except UnsupportedError as error:
        return error


@dataclass
class _Group:
    """What is made from one fp32 file: the orders of it, by the output that each waits for."""

    first: Order
    base_key: str
    have: Kept | None
    outputs: dict[str, tuple[str, Order]]  # key: (output file, order); without the base's own


def _make(
    orders: Sequence[Order], cache: Cache, scratch: Path, progress: Progress
) -> dict[str, UnsupportedError]:
    """Make what is missing; the answer has why not, by key, for what cannot be made."""
    groups: dict[str, _Group] = {}
    for order in orders:
        request, form = order
        base_key = canonical_hash(_base_inputs(request, form, _checked(request)))
        group = groups.get(base_key)
        if group is None:
            group = groups[base_key] = _Group(order, base_key, find(cache, KIND, base_key), {})
        key = canonical_hash(prepare_inputs(request, form))
        if request.variant.precision not in ("fp32", _own_precision(request)):
            name = f"{len(groups)}-{len(group.outputs)}{_SUFFIX}"
            group.outputs.setdefault(key, (str(scratch / name), order))
    _require_tools(list(groups.values()))
    progress(f"preparing {len(orders)} variants as ONNX")
    # The longest go first, so that no process is left with a long one at the end.
    ordered = sorted(groups.values(), key=lambda one: -(one.first.request.variant.depth_multiplier or 1e9))
    jobs = [_job(group, cache, scratch / f"base-{number}{_SUFFIX}") for number, group in enumerate(ordered)]
    refused: dict[str, UnsupportedError] = {}
    for group, job, made in zip(ordered, jobs, run_jobs(_MODULE, jobs, scratch, progress), strict=True):
        # What the base was refused for, everything that begins with it is.
        if problem := made["base"].get("unsupported"):
            refused |= {key: UnsupportedError(**problem) for key in (group.base_key, *group.outputs)}
            continue
        notes = {job["fp16"]: made["fp16"]} if job["fp16"] else {}
        notes |= {form["output"]: note for form, note in zip(job["int8"], made["int8"], strict=True)}
        for key, (output, _) in group.outputs.items():
            if problem := notes[output].get("unsupported"):
                refused[key] = UnsupportedError(**problem)
            else:
                keep(cache, KIND, key, Path(output), _SUFFIX, notes[output])
        if group.have is None:
            keep(cache, KIND, group.base_key, Path(job["base"]), _SUFFIX, made["base"])
    return refused


def _job(group: _Group, cache: Cache, base: Path) -> dict[str, Any]:
    request, form = group.first
    subject = subject_of(request)
    outputs = list(group.outputs.values())
    int8 = [(output, order) for output, order in outputs if order.request.variant.precision == "int8"]
    fp16 = [output for output, order in outputs if order.request.variant.precision == "fp16"]
    calibration = subject.calibration
    return {
        "what": request.variant.model,
        **subject.job,
        "batch": request.batch,
        "input": subject.spec.model_dump(mode="json") | {"layout": form.layout or subject.spec.layout},
        "own_layout": subject.spec.layout,
        "golden": str(subject.golden(cache).path),
        "have": dict(group.have.note) if group.have else None,
        "base": str(group.have.path if group.have else base),
        "fp16": fp16[0] if fp16 else None,
        "calibration": str(calibration.images(cache).path) if int8 and calibration else None,
        "int8": [{"output": output, **order.form.quantisation()} for output, order in int8],
    }


def _require_tools(groups: Sequence[_Group]) -> None:
    wanted = set(_STEP_TOOLS)
    for group in groups:
        if group.have is None and group.first.request.source.kind != "onnx":
            wanted |= set(_EXPORT_TOOLS)
    found = _tools(sorted(wanted))
    if absent := [name for name in TOOLS if name in found and found[name] is None]:
        raise UnavailableError(
            f"{groups[0].first.request.variant.name} cannot be converted",
            why=f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed",
            fix="pip install 'edgebench[prepare,onnx]'",
        )


def _uncalibrated(request: PrepareRequest) -> UnsupportedError:
    return UnsupportedError(
        f"{request.variant.name} cannot be made",
        why="int8 is calibrated on images like those that the model will see, and there are none",
        fix="give a folder of them: --calibration DIR",
    )


def _artifact(
    order: Order, subject: Subject, inputs: Mapping[str, Any], kept: Kept, golden: Kept
) -> Artifact:
    request, form = order
    precision, note = request.variant.precision, kept.note
    largest = max((abs(value) for row in note["scores"] for value in row), default=1.0)
    converted = inputs["step"] == "int8"
    calibration = subject.calibration if converted else None
    return Artifact(
        variant=request.variant.name,
        batch=request.batch,
        format=KIND,
        path=kept.path,
        sha256=kept.sha256,
        size_bytes=kept.size_bytes,
        input=InputSpec.model_validate(note["input"]),
        class_names=subject.class_names,
        golden=Golden(
            patches=golden.path,
            patches_sha256=golden.sha256,
            scores=note["scores"],
            reference=note["reference"],
            tolerance=TOLERANCES[precision] * largest,
        ),
        outputs=subject.outputs,
        accuracy_reason=subject.accuracy_reason,
        provenance={
            "weights_sha256": subject.weights_sha256,
            "recipe": inputs["recipe"],
            "tools": dict(inputs["tools"]),
            "opset": OPSET if subject.ours else None,
            "input_and_output": "float32"
            if not converted or not form.integer_input
            else note["input"]["dtype"],
            "int8": form.quantisation() if converted else None,
            "golden_patches": subject.golden_origin,
            "checks": list(note["checks"]),
            "calibration": calibration
            and {"name": calibration.name, "n": calibration.n, "identity": calibration.identity},
        },
    )
