"""What `edgebench models show` prints about a model file, weights, a variant or a family, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from edgebench.errors import EdgeBenchError, InputError, UsageError, not_installed
from edgebench.installed import version_of
from edgebench.prepare import families as catalogue
from edgebench.prepare.cache import Cache, canonical_hash, making, sha256_file
from edgebench.prepare.families import count_parameters, read_weights
from edgebench.prepare.formats import is_named_as_model
from edgebench.prepare.image_sets import images_identity, shipped_images
from edgebench.prepare.landcover import CLASS_NAMES, SHIPPED_COUNTS, shipped_draws
from edgebench.prepare.model_file import as_record, inspect_model
from edgebench.prepare.shipped import has_shipped, shipped_weights
from edgebench.prepare.tflite import TfliteChain
from edgebench.prepare.user_model import METADATA, RECORD_SUFFIX, read_record, understand
from edgebench.prepare.workers.processes import HelperError, results_of, run_jobs
from edgebench.records.model import (
    SHIPPED,
    Artifact,
    InputChoice,
    ModelSource,
    Prepared,
    PrepareRequest,
    state_of,
)
from edgebench.records.values import DEPTH_MULTIPLIERS, PRECISIONS, Progress, Variant
from edgebench.stats.compare import wilson


def show(what: str, cache: Cache, *, keep_state: bool = False) -> dict[str, Any]:
    """The facts of a file, else of the variant or the family of that name.

    Of a file: `ModelFacts` as a dict, with `name`, `path` and `state`, as a run treats it under `keep_state`.
    Of weights and families: what of these fields is known, and `family`. Of a variant: its prepared .tflite
    file. InputError and UsageError where there is no such thing.
    """
    path = Path(what)
    if path.suffix.lower() == ".npz":
        return _weights(path)
    if path.exists() or is_named_as_model(path):
        return _file(path, keep_state=keep_state)
    if what in catalogue.known():
        return _family(what)
    return _variant(what, cache)


def _file(path: Path, *, keep_state: bool = False) -> dict[str, Any]:
    """The facts of a model file, and how its picture input is filled where the user says nothing."""
    facts = inspect_model(path)
    state = state_of(facts.states, facts.operations, keep=keep_state) if facts.format == "tflite" else "none"
    model = understand(facts, InputChoice(), path.name)
    return {
        "name": path.name,
        "path": str(path),
        **as_record(facts),
        "state": state,
        "input": model.picture and asdict(model.picture),
        "class_names": list(model.class_names),
        "class_names_told_by": METADATA if model.class_names else "",
        "notes": list(model.notes),
    }


def list_families() -> list[dict[str, Any]]:
    """Every family: its widths with their parameters and MACs, and whether trained weights are shipped."""
    return [_family(name) for name in catalogue.known()]


def _family(name: str) -> dict[str, Any]:
    family = catalogue.spec(name)
    return {
        "name": name,
        "format": "family",
        "source": family.source,
        "input": {"height": catalogue.SIZE, "width": catalogue.SIZE, **_pixels(family)},
        "classes": catalogue.CLASSES,
        "widths": [
            {
                "width": width,
                "parameters": parameters,
                "macs": macs,
                "weights": "trained" if has_shipped(name, width) else "random",
            }
            for width, (parameters, macs) in family.figures.items()
        ],
        "precisions": list(PRECISIONS),
    }


def _pixels(family: catalogue.Family) -> dict[str, float]:
    return {"divisor": family.divisor, "offset": family.offset}


def _weights(path: Path) -> dict[str, Any]:
    """Facts of a .npz; the record in the same folder names its family."""
    arrays = read_weights(path)
    record_fields: dict[str, Any] = {
        "name": path.name,
        "path": str(path),
        "format": "weights",
        "parameters": sum(array.size for array in arrays.values()),
        "size_bytes": path.stat().st_size,
        "sha256": sha256_file(path),
        "macs": None,
        "macs_reason": "there is no record next to the weights that names their family",
    }
    if not path.with_suffix(RECORD_SUFFIX).exists():
        return record_fields
    record = read_record(path)
    family = catalogue.spec(record.family)
    record_fields |= {
        "family": family.name,
        "width": record.depth_multiplier,
        "class_names": list(record.class_names),
        "class_names_told_by": "the record beside the weights",
        "input": {"height": catalogue.SIZE, "width": catalogue.SIZE, **_pixels(family)},
    }
    if "scores/kernel" in arrays:
        inputs, classes = arrays["scores/kernel"].shape
        more = (classes - catalogue.CLASSES) * inputs
        record_fields |= {"macs": family.macs(record.depth_multiplier) + more, "macs_reason": ""}
    return record_fields


def _variant(name: str, cache: Cache) -> dict[str, Any]:
    try:
        variant = Variant.parse(name)
        catalogue.spec(variant.family).width(variant.depth_multiplier)
    except UsageError as error:
        raise UsageError(
            f"there is no model {name!r}",
            why=error.what,
            fix="name a model file, a variant such as mobilenet_v1-0.25-int8, or a family "
            f"({', '.join(catalogue.known())})",
        ) from error
    source = SHIPPED if variant.family == SHIPPED.name else ModelSource(name=variant.family)
    artifact = TfliteChain().stored_artifact(PrepareRequest(variant, 1, {}, source=source), cache)
    if artifact is not None:
        return {**_file(artifact.path), "name": name}
    flags = f"--model {variant.family} --precision {variant.precision}"
    if variant.depth_multiplier is not None:
        flags += f" --width {variant.depth_multiplier}"
    raise InputError(
        f"{name} is not prepared yet",
        why="what a variant's file holds is known when there is one",
        fix=f"edgebench models prepare {flags}",
    )


# How often each artifact is right on the test images, and how often it agrees with its fp32 sibling.
#
# These figures are shown beside the variants; a run takes its accuracy on the runtime that it times.


KIND = "evaluation"
RUNTIMES = {  # by the artifact's format: the package, the extra that brings it, and how it is run
    "tflite": ("ai-edge-litert", "cpu", "default kernels"),
    "onnx": ("onnxruntime", "onnx", "CPUExecutionProvider"),
}
_EVALUATION_VERSION = 1


@dataclass(frozen=True)
class Evaluation:
    """k right of n test patches, with the Wilson interval at 95 % (fractions).

    `agree_k` of `agree_n` predictions are those of the fp32 artifact of the same depth multiplier; None
    where that has not been evaluated, with the reason. `overlapping` says that patches share pixels, so
    the interval is a little too narrow.
    """

    variant: str
    artifact_sha256: str
    images: str
    k: int
    n: int
    low: float
    high: float
    agree_k: int | None
    agree_n: int | None
    agreement_reason: str
    overlapping: bool
    runtime: str


def evaluate(artifacts: Sequence[Artifact], cache: Cache, progress: Progress) -> list[Evaluation]:
    """Evaluate every artifact on the test images, those that are not in the cache on its own runtime.

    UnavailableError when that is not installed and something must be run.
    """
    if any(_predicted(artifact, cache) is None for artifact in artifacts):
        images = shipped_images(cache, "test")
        with making(cache, "evaluate") as scratch:
            missing = [artifact for artifact in artifacts if _predicted(artifact, cache) is None]
            for artifact in missing:
                _require_runtime(artifact)
            missing.sort(key=lambda artifact: -artifact.size_bytes)  # the longest first
            jobs = [
                {
                    "what": artifact.variant,
                    "format": artifact.format,
                    "path": str(artifact.path),
                    "input": artifact.input.model_dump(mode="json"),
                    "images": str(images.path),
                }
                for artifact in missing
            ]
            outcomes = run_jobs("edgebench.prepare.workers.scoring", jobs, scratch, progress)
            for artifact, outcome in zip(missing, outcomes, strict=True):
                if not isinstance(outcome, HelperError):
                    cache.note_recipe(KIND, _key(artifact), outcome)
            results_of(outcomes)
    siblings = {artifact.variant: artifact for artifact in artifacts}
    evaluations = [
        stored_evaluation(artifact, cache, siblings.get(fp32_sibling(artifact))) for artifact in artifacts
    ]
    return [evaluation for evaluation in evaluations if evaluation is not None]


def stored_evaluation(artifact: Artifact, cache: Cache, fp32: Artifact | None = None) -> Evaluation | None:
    """What the cache has of an artifact, if anything; `fp32` is the artifact to agree with."""
    predicted = _predicted(artifact, cache)
    if predicted is None:
        return None
    labels = shipped_draws("test").labels.tolist()
    k = _equal(predicted, labels)
    low, high = wilson(k, len(labels))
    agree_k, reason = None, ""
    if artifact.as_variant.precision == "fp32":
        reason = "it is the fp32 variant"
    elif fp32 is None or (others := _predicted(fp32, cache)) is None:
        reason = "the fp32 variant has not been evaluated"
    else:
        agree_k = _equal(predicted, others)
    return Evaluation(
        variant=artifact.variant,
        artifact_sha256=artifact.sha256,
        images="landcover-test",
        k=k,
        n=len(labels),
        low=low,
        high=high,
        agree_k=agree_k,
        agree_n=None if agree_k is None else len(labels),
        agreement_reason=reason,
        overlapping=True,
        runtime=_runtime(artifact.format),
    )


def fp32_sibling(artifact: Artifact) -> str:
    """The name of the fp32 variant of the same depth multiplier."""
    variant = artifact.as_variant
    return type(variant)(variant.depth_multiplier, "fp32", variant.family).name


def _key(artifact: Artifact) -> str:
    return canonical_hash(
        {
            "evaluation": _EVALUATION_VERSION,
            "artifact": artifact.sha256,
            "images": images_identity("test"),
            "runtime": _runtime(artifact.format),
        }
    )


def _runtime(format: str) -> str:
    package, _, how = RUNTIMES[format]
    return f"{package} {version_of(package)}, {how}, 1 thread"


def _require_runtime(artifact: Artifact) -> None:
    package, extra, _ = RUNTIMES[artifact.format]
    if version_of(package) is None:
        what, fix = f"{artifact.variant} cannot be evaluated", f"pip install 'edgebench[{extra}]'"
        raise not_installed(what, package, fix)


def _predicted(artifact: Artifact, cache: Cache) -> list[int] | None:
    note = cache.recipe(KIND, _key(artifact))
    predicted = None if note is None else note.get("predicted")
    if not isinstance(predicted, list) or len(predicted) != SHIPPED_COUNTS["test"]:
        return None
    return predicted


def _equal(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a == b for a, b in zip(first, second, strict=True))


# The variants that there are, what the cache holds of each, and what was just prepared.


VARIANTS = tuple(Variant(depth, precision) for depth in DEPTH_MULTIPLIERS for precision in PRECISIONS)
_TFLITE = TfliteChain()


def list_variants(cache: Cache) -> list[dict[str, Any]]:
    """Every shipped variant as plain data; prepares nothing.

    Each has `variant`, `depth_multiplier`, `precision`, `parameters`, `weights_sha256`, `artifact` (path,
    size_bytes, sha256, batch, format, class_names, provenance; None until it is prepared) and `evaluation`
    (an Evaluation as a dict; None until it is evaluated), `reason` where there is no artifact, and
    `accuracy_reason` where there is one that no accuracy is taken of.
    """
    rows = []
    for variant in VARIANTS:
        request = PrepareRequest(variant, 1, {})
        outcome: Prepared | None
        try:
            outcome = _TFLITE.stored_artifact(request, cache)
        except InputError as error:  # its shipped file is damaged; the others are not
            outcome = error
        rows.append(_row(request, outcome, cache))
    return rows


def list_prepared(
    requests: Sequence[PrepareRequest],
    outcomes: Sequence[Prepared],
    cache: Cache,
    *,
    with_evaluations: bool,
    progress: Progress,
) -> list[dict[str, Any]]:
    """The outcomes of a preparation as plain data, like `list_variants`.

    `with_evaluations`, those that run on this machine are evaluated first where they have not been.
    """
    artifacts = [outcome for outcome in outcomes if isinstance(outcome, Artifact)]
    if with_evaluations:
        evaluate([artifact for artifact in artifacts if _can_be_evaluated(artifact)], cache, progress)
    siblings = {artifact.variant: artifact for artifact in artifacts}
    pairs = zip(requests, outcomes, strict=True)
    return [_row(request, outcome, cache, siblings) for request, outcome in pairs]


def _can_be_evaluated(artifact: Artifact) -> bool:
    """Whether it tells the test images' classes apart, on a runtime of this machine."""
    return artifact.format in RUNTIMES and artifact.class_names == CLASS_NAMES


def _evaluation(artifact: Artifact, cache: Cache, siblings: Mapping[str, Artifact]) -> Evaluation | None:
    fp32 = siblings.get(fp32_sibling(artifact))
    if fp32 is None and artifact.format == _TFLITE.name:
        request = PrepareRequest(Variant.parse(fp32_sibling(artifact)), artifact.batch, {})
        with suppress(InputError):  # damaged: the accuracy stands without the agreement with it
            fp32 = _TFLITE.stored_artifact(request, cache)
    return stored_evaluation(artifact, cache, fp32)


def _row(
    request: PrepareRequest,
    outcome: Prepared | None,
    cache: Cache,
    siblings: Mapping[str, Artifact] = MappingProxyType({}),
) -> dict[str, Any]:
    variant, source = request.variant, request.source
    row: dict[str, Any] = {
        "variant": variant.name,
        "depth_multiplier": variant.depth_multiplier,
        "precision": variant.precision,
        "parameters": None,
        "weights_sha256": None,
        "artifact": None,
        "evaluation": None,
        "reason": "; ".join(str(outcome).splitlines()) if isinstance(outcome, EdgeBenchError) else "",
        "accuracy_reason": "",
    }
    if source.kind == "weights" and source.path is not None:
        row |= {"parameters": count_parameters(source.path), "weights_sha256": source.sha256}
    elif variant.family in catalogue.known():
        row["parameters"] = catalogue.spec(variant.family).parameters(variant.depth_multiplier)
        if has_shipped(variant.family, variant.depth_multiplier):
            weights = shipped_weights(variant.depth_multiplier, variant.family)
            row["weights_sha256"] = weights.inputs["weights_sha256"]
    elif source.path is not None:
        row["parameters"] = inspect_model(source.path).parameters
    if isinstance(outcome, Artifact):
        evaluation = _evaluation(outcome, cache, siblings) if _can_be_evaluated(outcome) else None
        row["evaluation"] = evaluation and asdict(evaluation)
        row["accuracy_reason"] = outcome.accuracy_reason
        row["artifact"] = outcome.model_dump(
            mode="json",
            include={"path", "size_bytes", "sha256", "batch", "format", "class_names", "provenance"},
        )
    return row
