"""Preparing .tflite artifacts: those that are shipped, those in the cache, else converted side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import Kept, find, keep, making
from edgebench.data.draws import SHIPPED_COUNTS
from edgebench.data.landcover import CLASS_NAMES
from edgebench.data.shipped import images_identity, shipped_images
from edgebench.errors import EdgeBenchError, InputError, UnavailableError, UnsupportedError, UsageError
from edgebench.installed import versions_of
from edgebench.models.families import catalogue
from edgebench.models.families.golden import CHOSEN, golden_patches
from edgebench.models.families.shipped_tflite import find_shipped, is_shipped, with_shipped_tools
from edgebench.models.families.weights import has_shipped, random_identity, shipped_weights
from edgebench.models.prepare import user_tflite
from edgebench.models.workers.processes import HelperError, try_outputs
from edgebench.vocabulary.artifact import Artifact, Golden, InputSpec
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.values import Progress
from edgebench.vocabulary.variant import PRECISIONS

KIND = "tflite"
RECIPE_VERSION = 1  # counts up when the same inputs would give another file
TOOLS = ("tensorflow", "keras", "ai-edge-litert")
_CONVERTER = "edgebench.models.workers.convert"

# The largest difference of a score that is accepted against the reference. Seen on this project's
# machines with LiteRT's default kernels: 2e-6 for fp32, 8e-4 for fp16, 15/256 for int8.
TOLERANCES = {"fp32": 1e-3, "fp16": 1e-2, "int8": 24 / 256}


def prepare_inputs(request: PrepareRequest, *, shipped: bool = True) -> dict[str, Any]:
    """Everything that decides the artifact, as plain data; makes and renders nothing.

    The tools are those that are installed; of an artifact that is shipped, those that made it, so that its
    key is the same everywhere. Without `shipped` it is taken as one that is converted here.

    UnsupportedError when the variant has no weights or no recipe here.
    """
    variant, source = request.variant, request.source
    if source.own and source.kind != "weights":
        return user_tflite.prepare_inputs(request, tool_versions())
    if variant.precision not in PRECISIONS:
        raise UnsupportedError(
            f"{variant.name} cannot be made", why=f"TFLite is made at {', '.join(PRECISIONS)}"
        )
    if request.batch < 1:
        raise UsageError(f"a batch of {request.batch} patches is not possible", fix="use 1 or more")
    inputs = {
        "format": KIND,
        "recipe": RECIPE_VERSION,
        "variant": variant.name,
        "batch": request.batch,
        "weights_sha256": _weights_identity(request),
        "calibration": images_identity("calibration"),
        "golden": list(CHOSEN),
        "tools": tool_versions(),
    }
    if source.kind == "weights":
        if variant.precision == "int8" and source.calibration is None:
            raise UnsupportedError(
                f"{variant.name} cannot be made without calibration images",
                why="int8 takes its ranges from pictures like those that the model will see",
                fix="give a folder of them: --calibration DIR",
            )
        # The user's images stand in the place of the shipped ones.
        inputs |= {"source": source.identity(), "calibration": None, "golden": None}
    elif source.calibration is not None:
        inputs["calibration"] = source.calibration.sha256
    return with_shipped_tools(inputs) if shipped else inputs


def _weights_identity(request: PrepareRequest) -> str:
    """The hash of the weights, or of what random ones are drawn from."""
    variant, source = request.variant, request.source
    if source.kind == "weights":
        return source.sha256 or ""
    if has_shipped(variant.family, variant.depth_multiplier):
        return shipped_weights(variant.depth_multiplier, variant.family).sha256
    if catalogue.macs_of(variant.family, variant.depth_multiplier) is None:  # no family, or not that width
        return shipped_weights(variant.depth_multiplier, variant.family).sha256  # raises, with what there is
    return random_identity(variant.family, variant.depth_multiplier, catalogue.CLASSES)


def prepare_tflite(
    requests: Sequence[PrepareRequest], cache: Cache, progress: Progress, *, shipped: bool = True
) -> list[Prepared]:
    """One artifact a request, in order, or why there is none.

    From the package or the cache in milliseconds; else by up to two converter processes side by side. The
    outcome is an UnavailableError for what must be converted and TensorFlow is not installed, and a
    HelperError where the conversion fails. Without `shipped` what comes with the package is converted too.
    """
    outcomes = [_stored(request, cache, shipped) for request in requests]
    if any(outcome is None for outcome in outcomes):
        refused: dict[str, EdgeBenchError] = {}
        with making(cache, "prepare-tflite") as scratch:
            # Another process may have made them while this one waited.
            missing = [request for request in requests if _stored(request, cache, shipped) is None]
            if files := [request for request in missing if _is_file(request)]:
                refused |= user_tflite.make(files, cache, scratch, progress, tool_versions())
            if networks := [request for request in missing if not _is_file(request)]:
                refused |= _make(networks, cache, scratch, progress, shipped)
        outcomes = [
            _stored(request, cache, shipped) or refused.get(user_tflite.name_of(request))
            for request in requests
        ]
    return [outcome for outcome in outcomes if outcome is not None]


def stored_artifact(request: PrepareRequest, cache: Cache, *, shipped: bool = True) -> Artifact | None:
    """The artifact if it is shipped or the cache holds it.

    UnsupportedError where there is no recipe for it, InputError where the shipped file is damaged.
    """
    if _is_file(request):
        return user_tflite.stored_artifact(request, cache, tool_versions())
    inputs = prepare_inputs(request, shipped=shipped)
    kept = (find_shipped(inputs) if shipped else None) or find(cache, KIND, canonical_hash(inputs))
    if kept is None or not {"scores", "reference"} <= kept.note.keys():
        return None
    try:
        return _artifact(request, inputs, kept, _golden(request, cache))
    except ValidationError:  # a note that was damaged: the artifact is made again
        return None


def missing(request: PrepareRequest) -> UnavailableError | None:
    """Which packages have to be installed before this can be prepared; None where nothing is missing.

    What is in the cache does not count: it was made by versions that were installed then.
    """
    if _is_file(request):
        return user_tflite.missing(request, tool_versions())
    try:
        inputs = prepare_inputs(request)
    except UnsupportedError:  # whatever is installed
        return None
    return None if is_shipped(inputs) else user_tflite.not_installed(request, tool_versions(), TOOLS)


def _is_file(request: PrepareRequest) -> bool:
    """Whether it is a user's model file, and not weights of a family."""
    return request.source.own and request.source.kind != "weights"


def _golden(request: PrepareRequest, cache: Cache) -> Kept:
    golden = request.source.golden
    if golden is None:
        return golden_patches(cache)
    return Kept(golden.path, golden.sha256, golden.path.stat().st_size, {})


def tool_versions() -> dict[str, str | None]:
    """The versions of the packages that make an artifact, None where one is not installed."""
    return versions_of(TOOLS)


def _stored(request: PrepareRequest, cache: Cache, shipped: bool) -> Prepared | None:
    try:
        return stored_artifact(request, cache, shipped=shipped)
    except (UnsupportedError, InputError) as error:
        return error


def _make(
    requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress, shipped: bool
) -> dict[str, EdgeBenchError]:
    """Convert what these requests ask for; returns why not, by variant and batch, for what fails."""
    failures: dict[str, EdgeBenchError] = {}
    for request in requests:
        if error := user_tflite.not_installed(request, tool_versions(), TOOLS):
            failures[user_tflite.name_of(request)] = error
    if failures:
        return failures
    progress(f"preparing {len(requests)} variants")

    def same_model(request: PrepareRequest) -> tuple[float, str, int]:
        # The longest go first, so that no process is left with a long one at the end.
        return -(_macs(request) or 1e12), request.source.name + request.variant.model, request.batch

    jobs: list[dict[str, Any]] = []
    by_file: dict[str, PrepareRequest] = {}
    for (_, _, batch), group in groupby(sorted(requests, key=same_model), key=same_model):
        outputs: dict[str, str] = {}
        for request in group:
            file = scratch / f"{len(by_file)}.tflite"
            if request.variant.precision not in outputs:
                outputs[request.variant.precision] = str(file)
                by_file[str(file)] = request
        first = by_file[next(iter(outputs.values()))]
        calibration = _calibration(first, cache) if "int8" in outputs else None
        jobs.append(
            {
                "what": first.variant.model,
                **_network(first),
                "batch": batch,
                "golden": str(_golden(first, cache).path),
                "calibration": None if calibration is None else str(calibration.path),
                "outputs": outputs,
            }
        )
    for job, notes in zip(jobs, try_outputs(_CONVERTER, jobs, scratch, progress), strict=True):
        for precision, output in job["outputs"].items():
            request, note = by_file[output], notes[precision]
            if isinstance(note, HelperError):
                failures[user_tflite.name_of(request)] = note
            else:
                key = canonical_hash(prepare_inputs(request, shipped=shipped))
                keep(cache, KIND, key, Path(output), ".tflite", note)
    return failures


def _family_of(request: PrepareRequest) -> tuple[str, float | None]:
    """The family whose network it is, and its width."""
    source, variant = request.source, request.variant
    if source.kind == "weights":
        return source.family or variant.family, source.width
    return variant.family, variant.depth_multiplier


def _macs(request: PrepareRequest) -> int | None:
    return catalogue.macs_of(*_family_of(request))


def _network(request: PrepareRequest) -> dict[str, Any]:
    """What the converter builds: the family, its weights (None: random ones), its input."""
    source = request.source
    family, width = _family_of(request)
    weights = source.path if source.kind == "weights" else None
    if weights is None and has_shipped(family, width):
        weights = shipped_weights(width, family).path
    return {
        "family": family,
        "depth_multiplier": width,
        "classes": len(source.class_names or ()) or catalogue.CLASSES,
        "weights": None if weights is None else str(weights),
        "published": source.kind == "family" and has_shipped(family, width),
        "input": _spec(request).model_dump(mode="json"),
    }


def _spec(request: PrepareRequest, told: Mapping[str, Any] | None = None) -> InputSpec:
    """The input: float32, or as the note of an int8 file has it."""
    family = catalogue.spec(_family_of(request)[0])
    quantised = {"scale": told["scale"], "zero_point": told["zero_point"]} if told else {}
    return InputSpec.model_validate(
        {
            "dtype": told["dtype"] if told else "float32",
            "divisor": family.divisor,
            "offset": family.offset,
            **quantised,
        }
    )


def _calibration(request: PrepareRequest, cache: Cache) -> ImageSet:
    return request.source.calibration or shipped_images(cache, "calibration")


def _artifact(request: PrepareRequest, inputs: dict[str, Any], kept: Kept, golden: Kept) -> Artifact:
    source, precision = request.source, request.variant.precision
    int8 = precision == "int8"
    published = source.kind == "family" and has_shipped(*_family_of(request))
    # What was noted before the note had an input is the published quantisation.
    taken = kept.note.get("input") or {"dtype": "int8", "scale": 1 / 127.5, "zero_point": -1}
    if int8 and published:
        taken = {**taken, "scale": 1 / 127.5}
    names = CLASS_NAMES if published else source.class_names or ()
    return Artifact(
        variant=request.variant.name,
        batch=request.batch,
        format=KIND,
        path=kept.path,
        sha256=kept.sha256,
        size_bytes=kept.size_bytes,
        input=_spec(request, taken if int8 else None),
        class_names=names,
        outputs=None if names else len(kept.note["scores"][0]),
        accuracy_reason="" if names else catalogue.RANDOM_REASON,
        golden=Golden(
            patches=golden.path,
            patches_sha256=golden.sha256,
            scores=kept.note["scores"],
            reference=kept.note["reference"],
            tolerance=TOLERANCES[precision],
            exact_with=("kernels=reference",) if int8 else (),
        ),
        provenance={
            "weights_sha256": inputs["weights_sha256"],
            "recipe": inputs["recipe"],
            "tools": inputs["tools"],
            "calibration": _calibrated(request, inputs),
        },
    )


def _calibrated(request: PrepareRequest, inputs: dict[str, Any]) -> dict[str, Any] | None:
    own = request.source.calibration
    if own is not None:
        return {"name": own.name, "n": own.n, "identity": own.sha256}
    if request.source.kind == "weights":
        return None
    return {
        "name": "landcover-calibration",
        "n": SHIPPED_COUNTS["calibration"],
        "identity": inputs["calibration"],
    }
