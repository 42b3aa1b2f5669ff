"""Which engine a firmware has: by its name, of an artifact that was prepared for it."""

from __future__ import annotations

from pathlib import Path

from edgebench.cache.objects import Cache
from edgebench.errors import UsageError
from edgebench.suggest import choose
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.values import Progress

from . import engines
from .boards import Board
from .choices import ENGINES
from .engines import Engine
from .tflm_library import tflm_library


def engine_of(
    name: str, artifact: Artifact, board: Board, cache: Cache, progress: Progress, *, tflm: Path | None = None
) -> Engine:
    """The engine of that name with the artifact.

    Args:
        name: one of ENGINES.
        artifact: prepared by `preparing.chain_of` for that engine.
        board: that the firmware is for.
        cache: that keeps what is made.
        progress: called with what is made.
        tflm: where the TFLM is that the user built; None: as the environment says.

    Raises:
        UsageError: there is no such engine.
        UnavailableError: what it takes is not here.
        InputError: the TFLM is none, or is for another processor.
        UnsupportedError: it does not take the artifact.
        BuildError: its generator refuses it.
    """
    require_engine(name)
    if name == "generated":
        return engines.generated(artifact, cache, progress)
    return engines.tflm(artifact, tflm_library(board, tflm), progress)


def require_engine(name: str) -> None:
    """UsageError unless there is such an engine."""
    if name not in ENGINES:
        raise UsageError(f"there is no engine {name!r}", fix=choose(name, ENGINES))
