"""What stands beside every figure of a trial: what a pass of it is, and its marks."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.fit import untimed_stages
from edgebench.fit.trial_summary import WHOLE
from edgebench.store.records import SceneRecord, SessionRecord, TrialRecord


def timed_with(scene: SceneRecord) -> str:
    """What a pass is, in words."""
    if scene.kind == "samples":
        return f"{scene.name} (image_s is the time of {scene.patches} inferences)"
    across = scene.patch_width or scene.patch
    apart = "" if scene.stride is None else f", {scene.stride} apart"
    many = f"{scene.patches} patches" if scene.patches != 1 else "1 patch"
    covered = scene.covered
    share = "" if covered is None or covered >= WHOLE else f", {100 * covered:.1f} % of the scene"
    return (
        f"{scene.name}, {scene.width} x {scene.height} pixels, "
        f"{many} of {across} x {scene.patch}{apart}{share}"
    )


def mark_of(
    trial: TrialRecord, ok: Sequence[SessionRecord], untimed: Sequence[str], *, extrapolated: bool
) -> str:
    """The marks of a trial with these finished sessions; that its clock was moved for a test among them."""
    marks = {
        trial.mark: bool(trial.mark),
        "on a test clock": any("test_clock" in record.clock for record in ok),
        "extrapolated": extrapolated,
        untimed_stages.mark(untimed): bool(untimed),
        "emulated": any(record.emulated for record in ok),
    }
    return " ".join(mark for mark, holds in marks.items() if mark and holds)
