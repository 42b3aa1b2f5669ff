"""The variants that there are, and what the cache holds of each."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from edgebench.contract import PrepareRequest
from edgebench.models.cache import Cache
from edgebench.models.evaluate import fp32_sibling, stored_evaluation
from edgebench.models.prepare import stored_artifact
from edgebench.models.variant import DEPTH_MULTIPLIERS, PRECISIONS, Variant
from edgebench.models.weights import shipped_weights

VARIANTS = tuple(Variant(depth, precision) for depth in DEPTH_MULTIPLIERS for precision in PRECISIONS)


def list_variants(cache: Cache, batch: int = 1) -> list[dict[str, Any]]:
    """Every shipped variant as plain data; prepares nothing.

    Each has `variant`, `depth_multiplier`, `precision`, `parameters`, `weights_sha256`, `artifact` (path,
    size_bytes, sha256, batch; None until it is prepared) and `evaluation` (an Evaluation as a dict; None
    until it is evaluated).
    """
    artifacts = {one.name: stored_artifact(PrepareRequest(one, batch, {}), cache) for one in VARIANTS}
    listed = []
    for variant in VARIANTS:
        weights = shipped_weights(variant.depth_multiplier, variant.family)
        artifact = artifacts[variant.name]
        evaluation = artifact and stored_evaluation(artifact, cache, artifacts.get(fp32_sibling(artifact)))
        listed.append(
            {
                "variant": variant.name,
                "depth_multiplier": variant.depth_multiplier,
                "precision": variant.precision,
                "parameters": weights.parameters,
                "weights_sha256": weights.sha256,
                "artifact": artifact
                and {
                    "path": str(artifact.path),
                    "size_bytes": artifact.size_bytes,
                    "sha256": artifact.sha256,
                    "batch": artifact.batch,
                },
                "evaluation": evaluation and asdict(evaluation),
            }
        )
    return listed
