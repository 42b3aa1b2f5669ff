"""What a replay plays from: a scenario or a stored result, found by the words that a user gave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from edgebench.cache.objects import Cache
from edgebench.errors import UnsupportedError, UsageError
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.pictures import ImageSet, Pictures
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.variant import Variant

SCENARIOS = Path(__file__).with_name("scenarios")


class Source(Protocol):
    """Something that can be played.

    Attributes:
        name: for people, as in "replayed from NAME".
        sha256: of everything that decides what is played.
    """

    @property
    def name(self) -> str:
        """For people."""

    @property
    def sha256(self) -> str:
        """Of the content."""

    def variants(self) -> tuple[Variant, ...]:
        """Those that it tells of."""

    def concurrency(self) -> int:
        """How many inferences were in flight."""

    def check_batch(self, variant: Variant, batch: int) -> None:
        """UsageError where it does not tell of that batch."""

    def artifact(self, variant: Variant, batch: int, cache: Cache) -> Artifact | UnsupportedError:
        """What the runner loads."""

    def pictures(self, cache: Cache) -> Pictures:
        """Stand-ins of the pictures that it was measured on."""

    def check_plan(self, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """UsageError where there is less to play than the plan asks for."""


@dataclass(frozen=True)
class SourceOptions:
    """What a user gave: `--set source=... --set target=... --set seed=...`."""

    source: str
    target: str | None
    seed: int | None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> SourceOptions:
        """From a target's options."""
        return cls(str(options.get("source") or "demo"), options.get("target"), options.get("seed"))


def shipped() -> tuple[str, ...]:
    """The names of the shipped scenarios."""
    return tuple(sorted(path.stem for path in SCENARIOS.glob("*.toml")))


def open_source(options: SourceOptions) -> Source:
    """The source; UsageError where there is none, or options that do not belong to it."""
    from .result_source import RecordedSource
    from .scenario_source import DrawnSource

    path = SCENARIOS / f"{options.source}.toml" if options.source in shipped() else Path(options.source)
    # os.path's answer is no, and no error, for a name that is none.
    if os.path.isdir(path):  # noqa: PTH112
        if options.seed is not None:
            raise UsageError("--set seed belongs to a scenario", fix="leave it out: a result is what it is")
        return RecordedSource.read(path, options.target)
    if path.suffix.lower() != ".toml" or not os.path.exists(path):  # noqa: PTH110
        raise UsageError(
            f"there is no source {options.source[:200]!r} to replay",
            fix=f"name a result folder, a scenario's .toml file, or one of: {', '.join(shipped())}",
        )
    if options.target is not None:
        raise UsageError("--set target belongs to a stored result", fix="leave it out: a scenario has none")
    return DrawnSource.read(path, options.seed)
