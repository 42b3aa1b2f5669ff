"""What one device's self-test looks at, beside the steps that all share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.values import Json
from edgebench.vocabulary.variant import Variant

Outcome = Literal["ok", "warning", "failed", "left out"]


@dataclass(frozen=True)
class Kind:
    """One device's self-test.

    Attributes:
        device: a name of `edgebench devices`.
        title: of the report.
        variant: what is prepared and timed.
        prepared: what is said of the artifact, and whether it is what the device is for.
        loaded: whether the runtime runs on the device, by what the runner describes.
    """

    device: str
    title: str
    variant: Variant
    prepared: Callable[[Artifact], tuple[Outcome, str]]
    loaded: Callable[[Mapping[str, Json]], tuple[Outcome, str]]
