"""What a device does: describes itself, computes the golden scores, takes passes, batches and nonsense."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from edgebench.errors import SessionError
from edgebench.link.board_facts import BoardFacts
from edgebench.testing import artifacts
from edgebench.testing.backend_kit import BackendKit
from edgebench.testing.kit_settings import Asked
from edgebench.testing.pictures import images_of, patches_of
from edgebench.testing.problems import ended, fail, problems
from edgebench.testing.session_checks import (
    check_near,
    check_pass,
    check_phases,
    check_refused,
    check_windows,
)
from edgebench.vocabulary.passes import Pass, Window
from edgebench.vocabulary.session_facts import SessionFacts


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
