"""How long a run will take: from what was measured here before, else a rough guess that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgebench.models import families
from edgebench.models.cache import Cache, canonical_hash
from edgebench.models.variant import Variant

_UNKNOWN_MACS = 569e6  # of a model whose size nobody told: MobileNet v1's
# For scale only: LiteRT on one thread of one x86-64 server processor did 70 to 280 of these a second.
_ROUGH_GIGA_MACS_PER_S = {"fp32": 90.0, "fp16": 90.0, "int8": 200.0}
_ROUGH_PIXELS_S = 1e-4  # patchify and preprocess a patch
_START_S = 0.8  # a session's process, load and records
_COST_KIND = "image-cost"


@dataclass(frozen=True)
class Cost:
    """Seconds that one patch takes, and whether it was measured on this machine."""

    patch_s: float
    measured: bool


@dataclass(frozen=True)
class Estimate:
    """Seconds of one trial's sessions; `measured` False marks a guess."""

    session_s: float
    accuracy_s: float
    measured: bool


def rough_cost(variant: Variant, macs: int | None = None) -> Cost:
    """A guess from the number of operations (`macs`, else a family's), good within a factor of a few."""
    known = macs or families.macs_of(variant.family, variant.depth_multiplier) or _UNKNOWN_MACS
    speed = _ROUGH_GIGA_MACS_PER_S.get(variant.precision, 90.0) * 1e9
    return Cost(known / speed + _ROUGH_PIXELS_S, measured=False)


def known_cost(cache: Cache, inputs: Mapping[str, object], variant: Variant, macs: int | None = None) -> Cost:
    """What a patch of this trial cost when it was last measured here, else the guess."""
    noted = cache.recipe(_COST_KIND, canonical_hash(inputs))
    patch_s = noted.get("patch_s") if noted else None
    if isinstance(patch_s, int | float) and 0 < patch_s < 1e4:
        return Cost(float(patch_s), measured=True)
    return rough_cost(variant, macs)


def note_cost(cache: Cache, inputs: Mapping[str, object], patch_s: float) -> None:
    """Remember a measured cost for the next estimate."""
    cache.remember(_COST_KIND, canonical_hash(inputs), {"patch_s": patch_s})


def estimate(
    cost: Cost,
    *,
    patches: int,
    passes: int,
    idle_s: float,
    images: int,
    period_s: float | None = None,
    sustained_s: float | None = None,
) -> Estimate:
    """One session: start, idle window, the cold pass, the steady ones; accuracy comes once a trial.

    A paced pass takes its period, or longer where the device is too slow for it; sustained passes take as
    long as they are told to, and the one that is in hand then.
    """
    pass_s = cost.patch_s * patches
    each_s = max(pass_s, period_s or 0.0)
    steady_s = each_s * passes if sustained_s is None else max(sustained_s, each_s)
    return Estimate(
        session_s=_START_S + idle_s + pass_s + steady_s,
        accuracy_s=cost.patch_s * images,
        measured=cost.measured,
    )


def total_s(estimates: Sequence[Estimate], sessions: int) -> float:
    """Seconds of a whole experiment whose trials are all still to be measured."""
    return sum(item.session_s * sessions + item.accuracy_s for item in estimates)
