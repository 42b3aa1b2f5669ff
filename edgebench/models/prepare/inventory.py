"""The variants that there are, what the cache holds of each, and what was just prepared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from edgebench.cache.objects import Cache
from edgebench.data.landcover import CLASS_NAMES
from edgebench.errors import EdgeBenchError, InputError
from edgebench.models.evaluate import RUNTIMES, Evaluation, evaluate, fp32_sibling, stored_evaluation
from edgebench.models.families import catalogue
from edgebench.models.families.weights import count_parameters, has_shipped, shipped_weights
from edgebench.models.inspect.model_file import inspect_model
from edgebench.models.prepare.tflite import TfliteChain
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.values import Progress
from edgebench.vocabulary.variant import DEPTH_MULTIPLIERS, PRECISIONS, Variant

VARIANTS = tuple(Variant(depth, precision) for depth in DEPTH_MULTIPLIERS for precision in PRECISIONS)
_TFLITE = TfliteChain()


def list_variants(cache: Cache, batch: int = 1) -> list[dict[str, Any]]:
    """Every shipped variant as plain data; prepares nothing.

    Each has `variant`, `depth_multiplier`, `precision`, `parameters`, `weights_sha256`, `artifact` (path,
    size_bytes, sha256, batch, format, class_names, provenance; None until it is prepared) and `evaluation`
    (an Evaluation as a dict; None until it is evaluated), `reason` where there is no artifact, and
    `accuracy_reason` where there is one that no accuracy is taken of.
    """
    rows = []
    for variant in VARIANTS:
        request = PrepareRequest(variant, batch, {})
        try:
            artifact = _TFLITE.stored_artifact(request, cache)
        except InputError as error:  # its shipped file is damaged; the others are not
            rows.append(_row(request, None, None, "; ".join(str(error).splitlines())))
            continue
        evaluation = None if artifact is None else _evaluation(artifact, cache)
        rows.append(_row(request, artifact, evaluation, ""))
    return rows


def list_prepared(
    requests: Sequence[PrepareRequest],
    outcomes: Sequence[Prepared],
    cache: Cache,
    *,
    evaluate: bool,
    progress: Progress,
) -> list[dict[str, Any]]:
    """The outcomes of a preparation as plain data, like `list_variants`.

    With `evaluate`, those that run on this machine are evaluated first where they have not been.
    """
    if evaluate:
        _evaluate_all(
            [outcome for outcome in outcomes if isinstance(outcome, Artifact) and _can_be_evaluated(outcome)],
            cache,
            progress,
        )
    siblings = {outcome.variant: outcome for outcome in outcomes if isinstance(outcome, Artifact)}
    rows = []
    for request, outcome in zip(requests, outcomes, strict=True):
        if isinstance(outcome, EdgeBenchError):
            rows.append(_row(request, None, None, "; ".join(str(outcome).splitlines())))
        else:
            evaluation = _evaluation(outcome, cache, siblings) if _can_be_evaluated(outcome) else None
            rows.append(_row(request, outcome, evaluation, ""))
    return rows


_evaluate_all = evaluate  # under a name that the option above does not hide


def _can_be_evaluated(artifact: Artifact) -> bool:
    """Whether it tells the test images' classes apart, on a runtime of this machine."""
    return artifact.format in RUNTIMES and artifact.class_names == CLASS_NAMES


def _evaluation(
    artifact: Artifact, cache: Cache, others: Mapping[str, Artifact] | None = None
) -> Evaluation | None:
    fp32 = (others or {}).get(fp32_sibling(artifact))
    if fp32 is None and artifact.format == _TFLITE.name:
        request = PrepareRequest(Variant.parse(fp32_sibling(artifact)), artifact.batch, {})
        with suppress(InputError):  # damaged: the accuracy stands without the agreement with it
            fp32 = _TFLITE.stored_artifact(request, cache)
    return stored_evaluation(artifact, cache, fp32)


def _row(
    request: PrepareRequest, artifact: Artifact | None, evaluation: Evaluation | None, reason: str
) -> dict[str, Any]:
    variant, source = request.variant, request.source
    row: dict[str, Any] = {
        "variant": variant.name,
        "depth_multiplier": variant.depth_multiplier,
        "precision": variant.precision,
        "parameters": None,
        "weights_sha256": None,
        "artifact": None,
        "evaluation": evaluation and asdict(evaluation),
        "reason": reason,
        "accuracy_reason": "",
    }
    if source.kind == "weights" and source.path is not None:
        row |= {"parameters": count_parameters(source.path), "weights_sha256": source.sha256}
    elif has_shipped(variant.family, variant.depth_multiplier):
        weights = shipped_weights(variant.depth_multiplier, variant.family)
        row |= {"parameters": weights.parameters, "weights_sha256": weights.sha256}
    elif variant.family in catalogue.known():
        row["parameters"] = catalogue.spec(variant.family).parameters(variant.depth_multiplier)
    elif source.kind in ("tflite", "onnx", "keras", "saved_model") and source.path is not None:
        row["parameters"] = inspect_model(source.path).parameters
    if artifact is not None:
        row["accuracy_reason"] = artifact.accuracy_reason
        row["artifact"] = artifact.model_dump(
            mode="json",
            include={"path", "size_bytes", "sha256", "batch", "format", "class_names", "provenance"},
        )
    return row
