"""How long the stages of a session of windows take, from the least to the most (pure)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from edgebench.link.window_lengths import WindowLengths
from edgebench.session_stages import SessionStage
from edgebench.vocabulary.session import MeasurePlan

GOLDEN_PATCHES = 5
"""Of the shipped artifacts; a user's own may have others."""

Seconds = tuple[float, float]
"""The least and the most."""


def window_stages_s(
    plan: MeasurePlan,
    lengths: WindowLengths,
    load_s: Seconds,
    patch_s: float | None,
    unknown_s: Seconds | None = None,
) -> Mapping[SessionStage, Seconds]:
    """The seconds of each stage, as `Backend.stage_seconds` has them.

    Args:
        plan: of one session.
        lengths: of its windows.
        load_s: to make a patch the resident one.
        patch_s: what one inference takes; None where nothing was measured yet.
        unknown_s: what one takes then, roughly; None: as long as a window allows.
    """
    if patch_s is not None:
        inference_s: Seconds = (patch_s, patch_s)
        warm_up_s = lengths.warm_ups(patch_s, plan.warmup_floor) * patch_s
        window_s: Seconds = (lengths.window_s(patch_s), lengths.window_s(patch_s) + warm_up_s)
    elif unknown_s is not None:
        inference_s = unknown_s
        window_s = (lengths.window_s(unknown_s[0]), lengths.window_s(unknown_s[1]) + lengths.warm_up_s)
    else:
        inference_s = (0.0, lengths.most_s / lengths.least_inferences)
        window_s = (lengths.least_s, lengths.most_s + lengths.warm_up_s)
    stages: dict[SessionStage, Seconds] = {
        "load": _times(GOLDEN_PATCHES, load_s, inference_s),
        "first pass": _times(1, load_s, window_s),
        "warm-up": (0.0, 0.0),
        "passes": (_steady_s(plan, window_s[0], load_s[0]), _steady_s(plan, window_s[1], load_s[1])),
    }
    if plan.images is not None:
        stages["images"] = _times(plan.images.n, load_s, inference_s)
    return stages


def _steady_s(plan: MeasurePlan, window_s: float, load_s: float) -> float:
    """All steady windows, with a load before each where patches take turns."""
    counted_s = 0.0 if plan.sustained_s else plan.passes * window_s
    steady_s = max(counted_s, plan.sustained_s or 0.0, plan.least_s or 0.0)
    takes_turns = (plan.patches or plan.scene.patches) > 1
    if not takes_turns or not 0 < window_s < math.inf:
        return steady_s
    return steady_s + math.ceil(steady_s / window_s) * load_s


def _times(count: int, *seconds: Seconds) -> Seconds:
    return count * sum(least_s for least_s, _ in seconds), count * sum(most_s for _, most_s in seconds)
