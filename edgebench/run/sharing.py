"""Several workers on one device: what --workers, --with and --share ask for, and the targets that follow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from edgebench.contract import Backend
from edgebench.errors import UsageError
from edgebench.prepare import families as catalogue
from edgebench.records.session import Share
from edgebench.records.target import Target
from edgebench.records.values import PRECISIONS, Variant
from edgebench.run.settings import MOST_WORKERS, RunConfig
from edgebench.run.targets import settings_text


@dataclass(frozen=True)
class Other:
    """A worker of --with; what it leaves out is as the trial's own variant has it."""

    depth: float | None = None
    precision: str | None = None

    def variant(self, of: Variant) -> Variant:
        """Its variant next to another one; UsageError for a depth that the model does not have."""
        depth = of.depth_multiplier
        if self.depth is not None and of.family in catalogue.known():
            depth = catalogue.spec(of.family).width(self.depth)
        elif self.depth is not None:
            raise UsageError(
                f"--with {self.depth:g}: {of.family} has one depth",
                why="a model file comes in one width",
                fix="name a precision alone, such as --with int8",
            )
        return replace(of, depth_multiplier=depth, precision=self.precision or of.precision)


@dataclass(frozen=True)
class Sharing:
    """Sharing of a device by several workers.

    Attributes:
        share: its cores.
        workers: how many there are.
        others: those of --with; empty where each worker has the trial's own variant.
    """

    share: Share
    workers: int
    others: tuple[Other, ...] = ()

    def variants(self, own: Variant) -> tuple[Variant, ...]:
        """The variants of the workers of a trial, its own first."""
        if not self.others:
            return (own,) * self.workers
        return (own, *(other.variant(own) for other in self.others))

    def target(self, alone: Target) -> Target:
        """The target of trials together, next to that of the trials alone: its name ends with the sharing."""
        words = (f"{other.depth or ''} {other.precision or ''}".split() for other in self.others)
        asked = {"with": "+".join("-".join(parts) for parts in words)} if self.others else {}
        settings = {**alone.settings, **(asked or {"workers": self.workers}), "share": self.share}
        return replace(alone, name=f"{alone.declared_name}[{settings_text(settings)}]", settings=settings)


def sharings_of(
    config: RunConfig, backends: Mapping[str, Backend], targets: Sequence[Target]
) -> tuple[Sharing, ...]:
    """Sharings that a run requests, one for each way to share the cores; empty for one worker a session.

    UsageError for what contradicts itself, and for a device that cannot be shared so; reads no model.
    """
    others = tuple(_other(text) for text in config.with_)
    workers = config.workers or 1 + len(others)
    if config.workers and others:
        raise UsageError(
            "--workers and --with exclude each other",
            why="--workers repeats the variant of each trial, --with names the variants of further workers",
            fix="leave one of them out; --with can be repeated",
        )
    if workers == 1 and config.share:
        raise UsageError(
            "--share is of several workers, and there is one",
            fix="add --workers N or --with 'DEPTH PRECISION', or leave --share out",
        )
    if workers == 1:
        return ()
    if workers > MOST_WORKERS:
        raise UsageError(
            f"{workers} workers are too many", fix=f"write --with at most {MOST_WORKERS - 1} times"
        )
    for target in targets:
        backend = backends[target.device]
        if not backend.shares_device:
            raise UsageError(
                f"{backend.name} cannot be shared by several workers",
                why="one process holds the device",
                fix=f"leave {'--with' if others else '--workers'} out, or take another device",
            )
        for other in others:
            if other.precision and other.precision not in backend.precisions:
                raise UsageError(
                    f"--with: {backend.name} does not take {other.precision}",
                    why=backend.precision_reasons.get(other.precision, ""),
                    fix=f"it takes {', '.join(backend.precisions)}",
                )
        # How many cores another machine has is known once its agent is connected.
        cores = target.launch.affinity or (None if target.host else _usable_cores())
        if "cores" in config.share and cores is not None:
            require_cores(workers, len(cores))
    return tuple(Sharing(share, workers, others) for share in dict.fromkeys(config.share or ("naive",)))


def require_cores(workers: int, cores: int) -> None:
    """UsageError where a device has too few usable cores for workers that share them; 0: it pins none."""
    if workers > cores:
        why = "each worker is pinned to cores of its own" if cores else "this system pins no process to cores"
        raise UsageError(
            f"--share cores: {workers} workers and {cores or 'no'} usable cores",
            why=why,
            fix=f"use at most {cores} workers, or --share naive" if cores > 1 else "use --share naive",
        )


def _other(text: str) -> Other:
    """Worker that `1.0 int8`, `1.0` or `int8` names."""
    other = Other()
    for word in text.split():
        if word in PRECISIONS and other.precision is None:
            other = replace(other, precision=word)
        elif other.depth is None and _is_number(word):
            other = replace(other, depth=float(word))
        else:
            other = Other()
            break
    if other == Other():
        raise UsageError(
            f"--with {text!r} names no variant",
            why="it takes a depth multiplier, a precision, or both",
            fix="write it like --with '1.0 int8'",
        )
    return other


def _is_number(word: str) -> bool:
    try:
        return 0 < float(word) < 1000
    except ValueError:
        return False


def _usable_cores() -> tuple[int, ...]:
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
