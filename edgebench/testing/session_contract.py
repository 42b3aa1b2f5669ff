"""What a device does: describes itself, computes the golden scores, takes passes, batches and nonsense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest

from edgebench.errors import SessionError
from edgebench.link.board_facts import BoardFacts
from edgebench.records.model import Artifact
from edgebench.records.session import MeasurePlan, Pass, SessionFacts, Window
from edgebench.records.values import Scores
from edgebench.run.measuring.session import compare, require
from edgebench.testing import backend_kit as artifacts
from edgebench.testing.backend_kit import Asked, BackendKit, images_of, patches_of
from edgebench.testing.problems import Problems, ended, fail, problems

# What is looked at in a session's passes and scores, and how a session that ended early is told.


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


class SessionContract(Asked):
    """Through Device and Session alone: a device at the end of a serial line is held to it as well."""

    def test_the_device_describes_itself(self, edgebench_backend: BackendKit) -> None:
        """What is recorded of the board and of the runtime is JSON and names them."""
        kit = edgebench_backend.require_golden()
        description = kit.device.describe()
        artifact = kit.artifact()
        with kit.device.session(artifact, kit.settings()) as session:
            facts = session.facts()
        with problems() as faults:
            if faults.unless_json(description, "describe() of the device"):
                BoardFacts.of(description)
                faults.unless(
                    any(description.get(key) for key in ("board", "soc", "cpu")),
                    f"describe() names no board, soc or cpu: {sorted(description)}",
                    "say what the device is",
                )
            runtime = facts.runtime
            if faults.unless_json(runtime, "describe() of the runtime") and isinstance(runtime, dict):
                for key in ("name", "version"):
                    faults.unless(
                        isinstance(runtime.get(key), str) and bool(runtime[key].strip()),
                        f"describe() of the runtime has no {key}: {runtime}",
                        "give the runtime's name and version as text: figures are compared by them",
                    )

    def test_a_pass_over_a_scene(self, edgebench_backend: BackendKit) -> None:
        """First pass, warm-up, steady passes; stamps in order; the scores of the same patches as images."""
        kit = edgebench_backend.require_golden()
        artifact = kit.artifact()
        plan = kit.plan(artifact)
        images = (
            kit.pictures.images
            if kit.pictures
            else images_of(patches_of(artifact, plan.scene.patches), kit.cache)
        )
        try:
            with kit.device.session(artifact, kit.settings()) as session:
                session.golden()
                measurements = list(session.measure(plan))
                predicted = None if images is None else session.predict(images)
                facts = session.facts()
        except SessionError as error:
            fail(*ended("a session of golden, measure and predict", error))
        if not isinstance(facts, SessionFacts):
            fail(f"facts() of the session gave {type(facts).__name__}", "give a SessionFacts")
        classes = len(artifact.class_names)
        patches = facts.measured_patches or plan.patches or plan.scene.patches
        with problems() as faults:
            passes = [item for item in measurements if isinstance(item, Pass)]
            windows = [item for item in measurements if isinstance(item, Window)]
            faults.unless(
                not (passes and windows),
                f"the session gave {len(passes)} passes and {len(windows)} windows",
                "give one kind in a session: passes where the device takes a scene, else windows",
            )
            if windows:
                check_windows(faults, windows, plan, classes)
            else:
                check_phases(faults, [scene_pass.phase for scene_pass in passes], plan.passes)
            for scene_pass in passes:
                check_pass(faults, scene_pass, patches, classes)
                if not kit.plays and scene_pass.scores is not None and predicted is not None:
                    check_near(
                        faults,
                        scene_pass.scores,
                        predicted[: len(scene_pass.scores)],
                        artifact,
                        f"pass {scene_pass.index} scores the patches of the scene otherwise than the same "
                        "images",
                        "give the same scores for the same input, whatever was inferred before",
                    )
            for window in windows:
                if not kit.plays and window.scores is not None and predicted is not None:
                    check_near(
                        faults,
                        window.scores[None],
                        predicted[window.patch : window.patch + 1],
                        artifact,
                        f"window {window.index} scores patch {window.patch} otherwise than the same image",
                        "give the scores of the patch that is resident, whatever was inferred before",
                    )
            faults.unless_json(asdict(facts), "facts() of the session")

    def test_batch_edges(self, edgebench_backend: BackendKit) -> None:
        """1, a batch and a batch + 1 patches: padding changes no score, and the order is kept."""
        kit = edgebench_backend
        if kit.plays:
            pytest.skip(f"{kit.backend.name} has its own pictures: its scores are not those of given patches")
        kit.require_golden()
        batch = kit.subject.batch
        artifact = kit.artifact(kit.variants[-1], batch)
        patches = patches_of(artifact, batch + 1)
        try:
            with kit.device.session(artifact, kit.settings(batch)) as session:
                session.golden()
                whole = session.predict(images_of(patches, kit.cache))
                parts = {n: session.predict(images_of(patches[:n], kit.cache)) for n in (1, batch)}
                turned = session.predict(images_of(patches[::-1].copy(), kit.cache))
        except SessionError as error:
            fail(*ended(f"predicting 1, {batch} and {batch + 1} patches at batch {batch}", error))
        with problems() as faults:
            for n, scores in parts.items():
                check_near(
                    faults,
                    scores,
                    whole[:n],
                    artifact,
                    f"{n} patches alone score otherwise than at the head of {batch + 1}, at batch {batch}",
                    "let no row of a batch depend on another: the rest of a batch is padding",
                )
            check_near(
                faults,
                turned,
                whole[::-1],
                artifact,
                f"the scores of {batch + 1} patches in the other order are not the same scores in that order",
                "give row n of the scores for row n of the batch",
            )

    def test_an_artifact_that_contradicts_the_runner_is_refused(self, edgebench_backend: BackendKit) -> None:
        """Another dtype, layout or batch than the model's is refused with a message, before any timing."""
        kit = edgebench_backend.require_golden()
        sound = kit.artifact()
        with problems() as faults:
            for contradiction, wrong in artifacts.contradictions(sound):
                check_refused(faults, kit, wrong, contradiction)

    def test_a_wrong_number_of_scores_is_refused(self, edgebench_backend: BackendKit) -> None:
        """An artifact of one class more than the model has is never timed."""
        kit = edgebench_backend.require_golden()
        sound = kit.artifact()
        wrong = sound.model_copy(
            update={
                "class_names": (*sound.class_names, "one class too many"),
                "golden": sound.golden.model_copy(
                    update={"scores": tuple((*row, 0.0) for row in sound.golden.scores)}
                ),
            }
        )
        with problems() as faults:
            check_refused(faults, kit, wrong, "one class more than the model gives scores for")

    def test_closing_twice(self, edgebench_backend: BackendKit) -> None:
        """A device is closed once too often rather than not at all."""
        device = edgebench_backend.opened()
        device.close()
        try:
            device.close()
        except Exception as error:
            fail(
                f"closing the device a second time raised {type(error).__name__}: {error}", "do nothing then"
            )
