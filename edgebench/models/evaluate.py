"""How often each artifact is right on the test images, and how often it agrees with its fp32 sibling.

These figures are shown beside the variants; a run takes its accuracy on the runtime that it times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import making
from edgebench.data.draws import SHIPPED_COUNTS, shipped_draws
from edgebench.data.shipped import images_identity, shipped_images
from edgebench.errors import UnavailableError
from edgebench.installed import version_of
from edgebench.models.workers.processes import HelperError, results_of, run_jobs
from edgebench.stats.proportion import wilson
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.values import Progress

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
            jobs = [_job(artifact, images) for artifact in missing]
            outcomes = run_jobs("edgebench.models.workers.scoring", jobs, scratch, progress)
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
    """What the cache holds of an artifact, or None; `fp32` is the artifact to agree with."""
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
        raise UnavailableError(
            f"{artifact.variant} cannot be evaluated",
            why=f"{package} is not installed",
            fix=f"pip install 'edgebench[{extra}]'",
        )


def _predicted(artifact: Artifact, cache: Cache) -> list[int] | None:
    note = cache.recipe(KIND, _key(artifact))
    predicted = None if note is None else note.get("predicted")
    if not isinstance(predicted, list) or len(predicted) != SHIPPED_COUNTS["test"]:
        return None
    return predicted


def _job(artifact: Artifact, images: ImageSet) -> dict[str, Any]:
    return {
        "what": artifact.variant,
        "format": artifact.format,
        "path": str(artifact.path),
        "input": artifact.input.model_dump(mode="json"),
        "images": str(images.path),
    }


def _equal(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a == b for a, b in zip(first, second, strict=True))
