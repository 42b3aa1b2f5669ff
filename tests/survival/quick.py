"""A device in the harness's own process that answers at once, for kills and refusals at every step."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgebench.records.model import Artifact
from edgebench.records.session import (
    ColdFigures,
    MeasurePlan,
    MemoryFigures,
    Pass,
    ProbeChunk,
    SessionFacts,
    SessionSettings,
)
from edgebench.records.values import ImageSet, Scores
from tests.fakes import made_pass
from tests.survival.small import Small


@dataclass
class QuickDevice:
    """Every session ends well, after two passes of a second each; `tell` is called as one ends."""

    tell: Callable[[str, int], None]
    placement_cost: Literal["cheap", "slow", "manual"] = "cheap"

    def describe(self) -> dict[str, Any]:
        return {"model": "quick"}

    @contextmanager
    def session(self, artifact: Artifact, settings: SessionSettings) -> Iterator[QuickSession]:
        yield QuickSession(artifact)
        self.tell(artifact.sha256, settings.number)

    def close(self) -> None:
        """There is nothing to end."""


_BEGINNINGS_NS = itertools.count(1)  # equal passes of two sessions would be damage


@dataclass
class QuickSession:
    artifact: Artifact

    def golden(self) -> Scores:
        return np.array(self.artifact.golden.scores, np.float32)

    def measure(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        begin_ns = next(_BEGINNINGS_NS)
        for index in range(plan.passes + 1):
            phase = "steady" if index else "first"
            yield made_pass(index, plan.scene.patches, phase, begin_ns=begin_ns)

    def predict(self, images: ImageSet) -> Scores:
        return np.tile(self.golden()[:1], (images.n, 1))

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        return iter(())

    def facts(self) -> SessionFacts:
        return SessionFacts(
            cold=ColdFigures(load_s=0.2), memory=MemoryFigures(peak_bytes=20), runtime={"name": "quick"}
        )


class Quick(Small):
    """Small experiments on the quick device."""

    def __post_init__(self) -> None:
        super().__post_init__()
        plain, tell = self.backend, self.tell

        class Answering(type(plain)):  # type: ignore[misc]
            def open(self, target: object) -> QuickDevice:
                return QuickDevice(tell)

        self.backend = Answering()

    def tell(self, artifact: str, number: int) -> None:
        """Note down a finished session, as the toy's runner does."""
        notes = os.open(self.folder / "notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(notes, f"{artifact} {number}\n".encode())
        os.close(notes)
