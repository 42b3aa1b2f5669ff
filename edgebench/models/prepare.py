"""Preparing .tflite artifacts: from the cache where they are there, else converted side by side."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from edgebench.contract import PrepareRequest, Progress
from edgebench.data.draws import SHIPPED_COUNTS
from edgebench.data.landcover import CLASS_NAMES
from edgebench.data.shipped import images_identity, shipped_images
from edgebench.errors import UnavailableError, UnsupportedError, UsageError
from edgebench.models.artifact import Artifact, Golden, InputSpec
from edgebench.models.cache import Cache, canonical_hash
from edgebench.models.golden import CHOSEN, golden_patches
from edgebench.models.keep import Kept, find, keep, making
from edgebench.models.processes import run_jobs
from edgebench.models.variant import PRECISIONS
from edgebench.models.weights import shipped_weights

KIND = "tflite"
RECIPE_VERSION = 1  # counts up when the same inputs would give another file
TOOLS = ("tensorflow", "keras", "ai-edge-litert")

# The largest difference of a score that is accepted against the reference. Seen on this project's
# machines with LiteRT's default kernels: 2e-6 for fp32, 8e-4 for fp16, 15/256 for int8.
TOLERANCES = {"fp32": 1e-3, "fp16": 1e-2, "int8": 24 / 256}


def prepare_inputs(request: PrepareRequest) -> dict[str, Any]:
    """Everything that decides the artifact, as plain data; makes and renders nothing.

    UnsupportedError when the variant has no weights or no recipe here.
    """
    variant = request.variant
    if variant.precision not in PRECISIONS:
        raise UnsupportedError(
            f"{variant.name} cannot be made", why=f"TFLite is made at {', '.join(PRECISIONS)}"
        )
    if request.batch < 1:
        raise UsageError(f"a batch of {request.batch} patches is not possible", fix="use 1 or more")
    return {
        "format": KIND,
        "recipe": RECIPE_VERSION,
        "variant": variant.name,
        "batch": request.batch,
        "weights_sha256": shipped_weights(variant.depth_multiplier, variant.family).sha256,
        "calibration": images_identity("calibration"),
        "golden": list(CHOSEN),
        "tools": tool_versions(),
    }


def prepare_tflite(
    requests: Sequence[PrepareRequest], cache: Cache, progress: Progress
) -> list[Artifact | UnsupportedError]:
    """One artifact a request, in order, or why there is none.

    From the cache in milliseconds; else by up to two converter processes side by side. UnavailableError
    when something must be converted and TensorFlow is not installed; HelperError when the converter fails.
    """
    outcomes = [_stored(request, cache) for request in requests]
    if any(outcome is None for outcome in outcomes):
        with making(cache, "prepare-tflite") as scratch:
            # Another process may have made them while this one waited.
            missing = [request for request in requests if _stored(request, cache) is None]
            if missing:
                _make(missing, cache, scratch, progress)
        outcomes = [_stored(request, cache) for request in requests]
    return [outcome for outcome in outcomes if outcome is not None]


def stored_artifact(request: PrepareRequest, cache: Cache) -> Artifact | None:
    """The artifact if the cache holds it; UnsupportedError where there is no recipe for it."""
    inputs = prepare_inputs(request)
    kept = find(cache, KIND, canonical_hash(inputs))
    if kept is None or not {"scores", "reference"} <= kept.note.keys():
        return None
    try:
        return _artifact(request, inputs, kept, golden_patches(cache))
    except ValidationError:  # a note that was damaged: the artifact is made again
        return None


def tool_versions() -> dict[str, str | None]:
    """The versions of the packages that make an artifact, None where one is not installed."""
    found: dict[str, str | None] = {}
    for tool in TOOLS:
        try:
            found[tool] = version(tool)
        except PackageNotFoundError:
            found[tool] = None
    return found


def _stored(request: PrepareRequest, cache: Cache) -> Artifact | UnsupportedError | None:
    try:
        return stored_artifact(request, cache)
    except UnsupportedError as error:
        return error


def _make(requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress) -> None:
    if absent := [tool for tool, found in tool_versions().items() if found is None]:
        raise UnavailableError(
            f"{requests[0].variant.name} cannot be converted",
            why=f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed",
            fix="pip install 'edgebench[prepare,cpu]'",
        )
    progress(f"preparing {len(requests)} variants")
    golden = golden_patches(cache)
    needs_calibration = any(request.variant.precision == "int8" for request in requests)
    calibration = str(shipped_images(cache, "calibration").path) if needs_calibration else None

    def same_model(request: PrepareRequest) -> tuple[float, int]:
        # The longest go first, so that no process is left with a long one at the end.
        return -(request.variant.depth_multiplier or 0.0), request.batch

    jobs: list[dict[str, Any]] = []
    by_file: dict[str, PrepareRequest] = {}
    for (_, batch), group in groupby(sorted(requests, key=same_model), key=same_model):
        outputs: dict[str, str] = {}
        for request in group:
            file = scratch / f"{len(by_file)}.tflite"
            if request.variant.precision not in outputs:
                outputs[request.variant.precision] = str(file)
                by_file[str(file)] = request
        first = by_file[next(iter(outputs.values()))].variant
        jobs.append(
            {
                "what": f"{first.family}-{first.depth_multiplier}",
                "depth_multiplier": first.depth_multiplier,
                "batch": batch,
                "weights": str(shipped_weights(first.depth_multiplier, first.family).path),
                "golden": str(golden.path),
                "calibration": calibration,
                "outputs": outputs,
            }
        )
    for job, made in zip(jobs, run_jobs("edgebench.models.convert", jobs, scratch, progress), strict=True):
        for precision, output in job["outputs"].items():
            key = canonical_hash(prepare_inputs(by_file[output]))
            keep(cache, KIND, key, Path(output), ".tflite", made[precision])


def _artifact(request: PrepareRequest, inputs: dict[str, Any], kept: Kept, golden: Kept) -> Artifact:
    precision = request.variant.precision
    int8 = precision == "int8"
    return Artifact(
        variant=request.variant.name,
        batch=request.batch,
        format=KIND,
        path=kept.path,
        sha256=kept.sha256,
        size_bytes=kept.size_bytes,
        input=InputSpec(
            dtype="int8" if int8 else "float32",
            scale=1 / 127.5 if int8 else None,
            zero_point=-1 if int8 else None,
        ),
        class_names=CLASS_NAMES,
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
            "calibration": {
                "name": "landcover-calibration",
                "n": SHIPPED_COUNTS["calibration"],
                "identity": inputs["calibration"],
            },
        },
    )
