"""Preparing ONNX artifacts: from the cache where they are there, else by the steps, two models at once.

Every file is kept under a key of what made it. That of a smaller precision holds the key of the fp32 file
that it is made from, so int8 of a model that was exported before takes no TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import Kept, find, keep, making
from edgebench.errors import EdgeBenchError, UnavailableError, UnsupportedError, UsageError
from edgebench.installed import versions_of
from edgebench.models.prepare.onnx_form import OnnxForm
from edgebench.models.prepare.subject import Subject, subject_of
from edgebench.models.workers.processes import HelperError, try_jobs
from edgebench.vocabulary.artifact import Artifact, Golden, InputSpec
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.values import Progress
from edgebench.vocabulary.variant import PRECISIONS

KIND = "onnx"
RECIPE_VERSION = 1  # counts up when the same inputs would give another file
# Of int8 as integer operations alone: version 1 computed the golden scores by kernels that overflow on some
# processors, so that runners failed their check.
QOPERATOR_VERSION = 2
OPSET = 13
TOOLS = ("tensorflow", "keras", "tf2onnx", "onnx", "onnxruntime")
_STEP_TOOLS = ("onnx", "onnxruntime")
_MODULE = "edgebench.models.workers.onnx.steps"
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
    if precision == subject.precision:
        return base
    derived = {
        "format": KIND,
        "step": precision,
        "recipe": RECIPE_VERSION,
        "from": base,
        "tools": versions_of(_STEP_TOOLS),
    }
    if precision == "fp16":
        return derived
    if subject.calibration is None:
        raise _uncalibrated(request, subject)
    version = QOPERATOR_VERSION if form.int8 == "qoperator" else RECIPE_VERSION
    quantised = {"calibration": subject.calibration.identity, "form": form.quantisation()}
    return {**derived, **quantised, "recipe": version}


def prepare_onnx(orders: Sequence[Order], cache: Cache, progress: Progress) -> list[Prepared]:
    """One artifact an order, in order, or why there is none.

    The outcome is a HelperError where a file cannot be read or run, or its fp32 ONNX computes something
    else, with figures. UnavailableError is raised when something must be made, and a package for it is not
    installed.
    """
    outcomes = [_stored(order, cache) for order in orders]
    if any(outcome is None for outcome in outcomes):
        refused: dict[str, EdgeBenchError] = {}
        with making(cache, "prepare-onnx") as scratch:
            # Another process may have made them while this one waited.
            missing = [order for order in orders if _stored(order, cache) is None]
            if missing:
                refused = _make(missing, cache, scratch, progress)
        outcomes = [
            _stored(order, cache) or refused.get(canonical_hash(prepare_inputs(*order))) for order in orders
        ]
    return [outcome for outcome in outcomes if outcome is not None]


def missing(request: PrepareRequest) -> UnavailableError | None:
    """Which packages have to be installed before this can be prepared; None where nothing is missing.

    What is in the cache does not count: it was made by versions that were installed then.
    """
    if request.source.kind == "tflite":  # it is not taken, whatever is installed
        return None
    return _not_installed(request, _STEP_TOOLS if request.source.kind == "onnx" else TOOLS)


def stored_artifact(order: Order, cache: Cache) -> Artifact | None:
    """The artifact if the cache holds it; UnsupportedError where there is no recipe for it."""
    request, form = order
    subject, inputs = _checked(request), prepare_inputs(request, form)
    kept = find(cache, KIND, canonical_hash(inputs))
    if kept is None:
        return None
    try:
        return _artifact(order, subject, inputs, kept, subject.golden.file(cache))
    except (ValidationError, KeyError, TypeError, ValueError):  # a damaged note: it is made again
        return None


def _checked(request: PrepareRequest) -> Subject:
    variant = request.variant
    if request.batch < 1:
        raise UsageError(f"a batch of {request.batch} patches is not possible", fix="use 1 or more")
    subject = subject_of(request)
    made = PRECISIONS if subject.precision == "fp32" else (subject.precision,)
    if variant.precision not in made:
        raise UnsupportedError(
            f"{variant.name} cannot be made",
            why=f"ONNX is made at {', '.join(PRECISIONS)}"
            if subject.precision == "fp32"
            else f"the file is {subject.precision}, and only fp32 can be converted",
            fix=f"ask for {', '.join(made)}" if not subject.ours else "",
        )
    return subject


def _base_inputs(request: PrepareRequest, form: OnnxForm, subject: Subject) -> dict[str, Any]:
    """What decides the file that the chain begins with."""
    return {
        "format": KIND,
        "step": "export" if subject.ours else "ready",
        "recipe": RECIPE_VERSION,
        "model": subject.identity,
        "batch": request.batch,
        "layout": _layout(form, subject),
        "golden": subject.golden.identity,
        "tools": versions_of(TOOLS if subject.ours else _STEP_TOOLS),
        **({"opset": OPSET} if subject.ours else {}),
    }


def _layout(form: OnnxForm, subject: Subject) -> str | None:
    return None if subject.spec is None else form.layout or subject.spec.layout


def _stored(order: Order, cache: Cache) -> Prepared | None:
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
) -> dict[str, EdgeBenchError]:
    """Make what is missing; the answer has why not, by key, for what cannot be made."""
    groups: dict[str, _Group] = {}
    for order in orders:
        request, form = order
        base_key = canonical_hash(_base_inputs(request, form, _checked(request)))
        group = groups.get(base_key)
        if group is None:
            group = groups[base_key] = _Group(order, base_key, find(cache, KIND, base_key), {})
        key = canonical_hash(prepare_inputs(request, form))
        if key != base_key:
            name = f"{len(groups)}-{len(group.outputs)}{_SUFFIX}"
            group.outputs.setdefault(key, (str(scratch / name), order))
    _require_tools(list(groups.values()))
    progress(f"preparing {len(orders)} variants as ONNX")
    # The longest go first, so that no process is left with a long one at the end.
    ordered = sorted(groups.values(), key=lambda one: -(one.first.request.variant.depth_multiplier or 1e9))
    return _make_groups(ordered, cache, scratch, progress)


def _make_groups(
    groups: Sequence[_Group], cache: Cache, scratch: Path, progress: Progress
) -> dict[str, EdgeBenchError]:
    """As `_make`; a group that fails is made again file by file: what fails for one takes no other along."""
    jobs = [_job(group, cache, scratch / f"base-{number}{_SUFFIX}") for number, group in enumerate(groups)]
    refused: dict[str, EdgeBenchError] = {}
    for group, job, made in zip(groups, jobs, try_jobs(_MODULE, jobs, scratch, progress), strict=True):
        if isinstance(made, HelperError):
            refused |= _file_by_file(group, made, cache, scratch, progress)
            continue
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


def _file_by_file(
    group: _Group, error: HelperError, cache: Cache, scratch: Path, progress: Progress
) -> dict[str, EdgeBenchError]:
    """Make what a group that failed with `error` is of; the answer as that of `_make`."""
    keys = list(group.outputs) if group.have else [group.base_key, *group.outputs]
    if len(keys) == 1:
        return {keys[0]: error}
    have = group.have
    refused: dict[str, EdgeBenchError] = {}
    if have is None:
        refused |= _make_groups([replace(group, outputs={})], cache, scratch, progress)
        have = find(cache, KIND, group.base_key)
    if have is None:
        return refused | dict.fromkeys(group.outputs, refused[group.base_key])
    for key, output in group.outputs.items():
        single = replace(group, have=have, outputs={key: output})
        refused |= _make_groups([single], cache, scratch, progress)
    return refused


def _job(group: _Group, cache: Cache, base: Path) -> dict[str, Any]:
    request, form = group.first
    subject = subject_of(request)
    outputs = list(group.outputs.values())
    int8 = [(output, order) for output, order in outputs if order.request.variant.precision == "int8"]
    fp16 = [output for output, order in outputs if order.request.variant.precision == "fp16"]
    calibration, spec = subject.calibration, subject.spec
    return {
        "what": request.variant.model,
        **subject.job,
        "batch": request.batch,
        "shapes": [list(shape) for shape in subject.shapes],
        "input": spec and spec.model_dump(mode="json") | {"layout": _layout(form, subject)},
        "own_layout": spec and spec.layout,
        "golden": str(subject.golden.file(cache).path),
        "n": subject.golden.n,
        "have": dict(group.have.note) if group.have else None,
        "base": str(group.have.path if group.have else base),
        "fp16": fp16[0] if fp16 else None,
        "calibration": str(calibration.images(cache).path) if int8 and calibration else None,
        "int8": [{"output": output, **order.form.quantisation()} for output, order in int8],
    }


def _require_tools(groups: Sequence[_Group]) -> None:
    wanted = set(_STEP_TOOLS)
    for group in groups:
        if group.have is None and subject_of(group.first.request).ours:
            wanted |= set(TOOLS)
    if error := _not_installed(groups[0].first.request, [name for name in TOOLS if name in wanted]):
        raise error


def _not_installed(request: PrepareRequest, names: Sequence[str]) -> UnavailableError | None:
    absent = [name for name, version in versions_of(names).items() if version is None]
    if not absent:
        return None
    return UnavailableError(
        f"{request.variant.name} cannot be prepared: {', '.join(absent)} "
        f"{'is' if len(absent) == 1 else 'are'} not installed (pip install 'edgebench[prepare,onnx]')"
    )


def _uncalibrated(request: PrepareRequest, subject: Subject) -> UnsupportedError:
    if subject.uncalibrated:
        return UnsupportedError(
            f"{request.variant.name} cannot be made",
            why=f"int8 is calibrated with pictures, and {subject.uncalibrated}",
            fix="give a file that is quantised already",
        )
    return UnsupportedError(
        f"{request.variant.name} cannot be made without calibration images",
        why="int8 takes its ranges from pictures like those that the model will see",
        fix="give a folder of them: --calibration DIR",
    )


def _artifact(
    order: Order, subject: Subject, inputs: Mapping[str, Any], kept: Kept, golden: Kept
) -> Artifact:
    request, form = order
    precision, note = request.variant.precision, kept.note
    scores, names = note["scores"], subject.class_names
    if names and len(names) != len(scores[0]):
        raise UnsupportedError(
            f"{request.variant.name} has {len(scores[0])} scores and {len(names)} labels",
            fix="give --labels a file with one name a line, as many as the model has scores",
        )
    largest = max((abs(value) for row in scores for value in row), default=0.0) or 1e-6
    quantised = inputs["step"] == "int8"
    calibration = subject.calibration if quantised else None
    return Artifact(
        variant=request.variant.name,
        batch=request.batch,
        format=KIND,
        path=kept.path,
        sha256=kept.sha256,
        size_bytes=kept.size_bytes,
        # Of an artifact with tensors the input says nothing.
        input=InputSpec(dtype="float32")
        if note["input"] is None
        else InputSpec.model_validate(note["input"]),
        class_names=names,
        outputs=None if names else len(scores[0]),
        accuracy_reason=subject.accuracy_reason,
        assumed=subject.assumed,
        tensors=subject.tensors,
        golden=Golden(
            patches=golden.path,
            patches_sha256=golden.sha256,
            scores=scores,
            reference=note["reference"],
            tolerance=TOLERANCES.get(precision, TOLERANCES["int8"]) * largest,
        ),
        provenance={
            "weights_sha256": subject.weights_sha256,
            "recipe": inputs["recipe"],
            "source": request.source.kind,
            "tools": dict(inputs["tools"]),
            "opset": OPSET if subject.ours else None,
            "int8": form.quantisation() if quantised else None,
            "golden_patches": subject.golden.origin,
            "checks": list(note["checks"]),
            "calibration": calibration
            and {"name": calibration.name, "n": calibration.n, "identity": calibration.identity},
        },
    )
