"""What a device has made of an artifact, on the board, before a trial's first session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


@dataclass(frozen=True)
class BuiltArtifact:
    """The file that was loaded in the artifact's place.

    Attributes:
        seconds: of building, on the board's clock; where it is cached, when it was built.
        sha256, bytes: of the file.
        cached: whether it lay on the board already.
    """

    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(gt=0)]
    cached: bool
