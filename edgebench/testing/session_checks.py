"""What is looked at in a session's passes and scores, and how a session that ended early is told."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from edgebench.errors import SessionError
from edgebench.measure.golden import compare, require
from edgebench.testing.backend_kit import BackendKit
from edgebench.testing.problems import Problems
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.passes import Pass, Window
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.values import Scores

REFUSED_AT = ("start", "build", "load", "golden")
"""Where a session may say that artifact and device do not fit: all of it before anything is timed."""


def check_phases(faults: Problems, phases: list[str], passes: int) -> None:
    """The first pass, the warm-up as one or none, then the steady ones."""
    without = [phase for phase in phases if phase != "warmup"]
    faults.unless(
        without == ["first"] + ["steady"] * passes
        and phases.count("warmup") <= 1
        and phases[:1] == ["first"],
        f"the passes came as {phases}",
        f"give the first pass, the warm-up as one Pass or none, then {passes} steady ones",
    )


def check_windows(faults: Problems, windows: Sequence[Window], plan: MeasurePlan, classes: int) -> None:
    """Windows in order: the first, those of the warm-up, as many steady ones as planned; each possible."""
    phases = [window.phase for window in windows]
    warm = phases.count("warmup")
    faults.unless(
        phases == ["first", *["warmup"] * warm, *["steady"] * plan.passes],
        f"the windows came as {phases}",
        f"give the first window, those of the warm-up if there is any, then {plan.passes} steady ones",
    )
    faults.unless(
        [window.index for window in windows] == list(range(len(windows))),
        f"the windows are numbered {[window.index for window in windows]}",
        "count them from 0, the first one, in the order in which they are given",
    )
    for before, after in pairwise(windows):
        faults.unless(
            before.end_ns <= after.start_ns,
            f"window {after.index} begins before window {before.index} has ended",
            "stamp with one monotonic clock, and one window after the other",
        )
    for window in windows:
        _check_window(faults, window, plan.scene.patches, classes)


def _check_window(faults: Problems, window: Window, patches: int, classes: int) -> None:
    subject = f"window {window.index} ({window.phase})"
    faults.unless(
        window.end_ns > window.start_ns,
        f"{subject}: it ends at {window.end_ns} ns and began at {window.start_ns} ns",
        "take the start before the first inference and the end after the last, on a monotonic clock",
    )
    faults.unless(
        window.inferences >= 1,
        f"{subject}: {window.inferences} inferences",
        "count the inferences between its two stamps",
    )
    faults.unless(
        0 <= window.patch < patches,
        f"{subject}: patch {window.patch} of a scene of {patches}",
        "say which patch of the scene was resident, row by row from 0",
    )
    scores = window.scores
    faults.unless(
        scores is None or (scores.shape == (classes,) and bool(np.isfinite(scores).all())),
        f"{subject}: scores are {None if scores is None else list(scores.shape)}",
        f"give {classes} finite scores of its patch, or None",
    )


def check_pass(faults: Problems, scene_pass: Pass, patches: int, classes: int) -> None:
    """Stamps within the pass and in order; scores of every patch, but in the warm-up."""
    subject = f"pass {scene_pass.index} ({scene_pass.phase})"
    stamps = scene_pass.stamps_ns
    batches = -(-patches // scene_pass.batch)
    if not faults.unless(
        stamps.dtype == np.int64 and stamps.ndim == 3 and stamps.shape[1:] == (len(scene_pass.stages), 2),
        f"{subject}: stamps are {stamps.dtype} {list(stamps.shape)}",
        "give int64 [batches, stages, 2]",
    ):
        return
    faults.unless(
        bool((stamps[:, :, 1] >= stamps[:, :, 0]).all()),
        f"{subject}: a stage ends before it starts",
        "stamp with a monotonic clock, each stage on its own",
    )
    faults.unless(
        scene_pass.start_ns <= int(stamps.min()) and int(stamps.max()) <= scene_pass.end_ns,
        f"{subject}: a stage lies outside the pass",
        "take start before the first stage and end after the last",
    )
    if scene_pass.phase == "warmup":
        return
    faults.unless(
        len(stamps) == batches,
        f"{subject}: {len(stamps)} batches of stamps, {batches} were due",
        "stamp every batch",
    )
    scores = scene_pass.scores
    faults.unless(
        scores is not None and scores.shape == (patches, classes) and bool(np.isfinite(scores).all()),
        f"{subject}: scores are {None if scores is None else list(scores.shape)}, "
        f"{[patches, classes]} finite ones were due",
        "give one row a patch and one score a class",
    )


def check_near(
    faults: Problems, scores: Scores, due: Scores, artifact: Artifact, subject: str, mend: str
) -> None:
    """Scores against those that were due, within the artifact's own tolerance."""
    if scores.shape != due.shape:
        faults.add(f"{subject}: shape {list(scores.shape)} against {list(due.shape)}", mend)
        return
    difference = float(np.abs(scores.astype(np.float64) - due).max())
    allowed = artifact.golden.tolerance
    faults.unless(
        difference <= allowed, f"{subject}: they differ by {difference:.4g} (allowed {allowed:.4g})", mend
    )


def check_refused(faults: Problems, kit: BackendKit, wrong: Artifact, subject: str) -> None:
    """An artifact that does not fit ends its session with a reason before anything is timed."""
    try:
        with kit.device.session(wrong, kit.settings(wrong.batch)) as session:
            require(compare(session.golden(), wrong.golden, kit.options))
    except SessionError as error:
        faults.unless(
            error.stage in REFUSED_AT and error.status != "timeout",
            f"{subject}: the session ended at {error.stage} ({error.status}), not before the timing",
            "look at the input's shape and dtype in load",
        )
        faults.unless(
            error.status != "crash",
            f"{subject}: the worker crashed ({error.signal}) where a message was due",
            "compare before the runtime touches memory, and raise ValueError with both sides",
        )
        faults.unless(
            bool(error.why.strip()),
            f"{subject}: refused without a reason",
            "raise with what was found and what was due",
        )
    else:
        faults.add(
            f"{subject}: no error was raised",
            "say the model's true input_shape and input_dtype, give the runtime's own arrays as buffers(), "
            "and the scores as the model gives them",
        )
