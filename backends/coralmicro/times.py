"""How long the stages of a session take, from the least to the most (pure)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from edgebench.link.window_times import GOLDEN_PATCHES, Seconds
from edgebench.session_stages import SessionStage
from edgebench.vocabulary.session import MeasurePlan

from .scene_passes import MOST_PATCHES

BYTES_A_SECOND = (200_000, 5_000_000)
"""Of pixels, which go as base64 in pieces that are acknowledged one by one: no board was there to tell."""

MODEL_BYTES = (500_000, 5_000_000)
COMPILED_PATCH_S = (0.002, 0.1)
UNCOMPILED_PATCH_S = (0.02, 5.0)
"""Of MobileNet v1 0.25 and 1.0, roughly, where nothing was measured: Edge TPUs elsewhere, other Cortex-M7."""


def stage_seconds(
    plan: MeasurePlan, patch_s: float | None, *, compiled: bool
) -> Mapping[SessionStage, Seconds]:
    """Of each stage.

    Args:
        plan: of one session.
        patch_s: what one patch takes; None where nothing was measured yet.
        compiled: whether the Edge TPU infers.
    """
    scene = plan.scene
    patch_bytes = scene.patch * (scene.patch_width or scene.patch) * 3
    patches = min(plan.patches or MOST_PATCHES, scene.patches)
    known = COMPILED_PATCH_S if compiled else UNCOMPILED_PATCH_S
    patch = known if patch_s is None else (patch_s, patch_s)
    a_pass = _times(patches, patch)
    warm_up = _times(max(0, plan.warmup_cap - patches), patch)
    resident = _sent((patches + GOLDEN_PATCHES) * patch_bytes)
    stages: dict[SessionStage, Seconds] = {
        # The model and the scene may lie there already.
        "load": (0.0, _sent(MODEL_BYTES[1])[1] + resident[1] + GOLDEN_PATCHES * patch[1]),
        "first pass": a_pass,
        "warm-up": (0.0, warm_up[1]),
        "passes": (_steady_s(plan, a_pass[0]), _steady_s(plan, a_pass[1])),
    }
    if plan.images is not None:
        sent, inferred = _sent(plan.images.n * patch_bytes), _times(plan.images.n, patch)
        stages["images"] = (sent[0] + inferred[0], sent[1] + inferred[1])
    return stages


def _steady_s(plan: MeasurePlan, pass_s: float) -> float:
    """Passes that are counted, or go on for so long; the last one of these ends when it does."""
    counted_s = max(plan.sustained_s, pass_s) if plan.sustained_s else plan.passes * pass_s
    if plan.least_s is None or counted_s >= plan.least_s or pass_s <= 0:
        return max(counted_s, plan.least_s or 0.0)
    return math.ceil(plan.least_s / pass_s) * pass_s


def _sent(size_bytes: int) -> Seconds:
    return size_bytes / BYTES_A_SECOND[1], size_bytes / BYTES_A_SECOND[0]


def _times(count: int, seconds: Seconds) -> Seconds:
    return count * seconds[0], count * seconds[1]
