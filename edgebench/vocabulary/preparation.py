"""What is asked of a backend that prepares a variant, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgebench.errors import EdgeBenchError
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.model_source import SHIPPED, ModelSource
from edgebench.vocabulary.values import Json
from edgebench.vocabulary.variant import Variant

Prepared = Artifact | EdgeBenchError
"""What became of a request for an artifact: UnsupportedError where the device does not take the variant, any
other error where it could not be made. The trial has the reason, and the other trials go on."""


@dataclass(frozen=True)
class PrepareRequest:
    """What a backend needs to make one variant's artifact."""

    variant: Variant
    batch: int
    options: Mapping[str, Json]
    source: ModelSource = SHIPPED  # whose variant it is
