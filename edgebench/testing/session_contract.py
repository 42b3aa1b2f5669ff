"""What a device does: describes itself, computes the golden scores, takes passes, batches and nonsense."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from edgebench.contract import Backend
from edgebench.errors import SessionError
from edgebench.link.board_facts import BoardFacts
from edgebench.records.model import Artifact
from edgebench.records.session import MeasurePlan, Pass, SessionFacts, Window
from edgebench.records.values import Scores
from edgebench.testing.backend_kit import BackendKit, contradictions, images_of, patches_of
from edgebench.testing.problems import Promise, ended, fail, is_json, promises

REFUSED_AT = ("start", "build", "load", "golden")
"""Where a session may say that artifact and device do not fit: all of it before anything is timed."""


class Contract:
    """What a test class says of the backend that it tries, and the first of all tests.

    Pytest tries the tests of a base before those of the class. Where a device computes something else than
    its artifact, every other test of its sessions would fail with words about locks, padding or stamps: they
    need the golden scores and skip instead.

    Attributes:
        backend: the name under the entry points, or a Backend that is not registered yet.
        options: as `--set` takes them.
        variants: which are tried; none for the smallest at each precision.
        batch: patches in a batch where batches are tried, 2 or more; 1 for a device that takes none.
        deciding: options that decide the artifact, each with another value than it has.
        runtime_modules: what the runner imports that is not the standard library, numpy or `board_packages`.
        host, port, python: where the device is and its Python, as in `--host`, `--port` and `--python`; a
            function that finds one of them is called when a test needs it, and may skip.
        pass_limit_s: after how long a pass over twelve patches counts as hung.
        skips: tests that are left out, each with the reason that is shown.
    """

    kit_type: ClassVar[Any] = BackendKit
    backend: ClassVar[str | Backend | None] = None
    options: ClassVar[Mapping[str, Any]] = {}
    variants: ClassVar[Sequence[str]] = ()
    batch: ClassVar[int] = 4
    deciding: ClassVar[Mapping[str, Any] | None] = None
    runtime_modules: ClassVar[Sequence[str]] = ()
    host: ClassVar[str | None] = None
    port: ClassVar[str | Callable[[], str] | None] = None
    python: ClassVar[str | Callable[[], str] | None] = None
    pass_limit_s: ClassVar[float] = 3.0
    skips: ClassVar[Mapping[str, str]] = {}

    @promises()
    def test_golden_scores(self, kit: BackendKit) -> Iterable[Promise]:
        """Each variant computes what its artifact says, before anything is timed."""
        return kit.golden_promises


class SessionContract(Contract):
    """Through Device and Session alone: a device at the end of a serial line is held to it as well."""

    @promises("golden")
    def test_the_device_describes_itself(self, kit: BackendKit) -> Iterator[Promise]:
        """What is recorded of the board and of the runtime is JSON and names them."""
        description = kit.device.describe()
        with kit.session(kit.artifact()) as session:
            runtime = session.facts().runtime
        plain = is_json(description, "describe() of the device")
        yield plain
        if plain[0]:
            BoardFacts.of(description)
            yield (
                any(description.get(key) for key in ("board", "soc", "cpu")),
                f"describe() names no board, soc or cpu: {sorted(description)}",
                "say what the device is",
            )
        yield is_json(runtime, "describe() of the runtime")
        for key in ("name", "version"):
            text = runtime.get(key)
            yield (
                isinstance(text, str) and bool(text.strip()),
                f"describe() of the runtime has no {key}: {runtime}",
                "give the runtime's name and version as text: figures are compared by them",
            )

    @promises("golden")
    def test_a_pass_over_a_scene(self, kit: BackendKit) -> Iterator[Promise]:
        """First pass, warm-up, steady passes; stamps in order; the scores of the same patches as images."""
        artifact = kit.artifact()
        plan = kit.plan(artifact)
        patches = patches_of(artifact, plan.scene.patches)
        images = kit.pictures.images if kit.pictures else images_of(patches, kit.cache)
        try:
            with kit.session(artifact) as session:
                session.golden()
                measurements = list(session.measure(plan))
                predicted = None if images is None else session.predict(images)
                facts = session.facts()
        except SessionError as error:
            fail(*ended("a session of golden, measure and predict", error)[1:])
        if not isinstance(facts, SessionFacts):
            fail(f"facts() of the session gave {type(facts).__name__}", "give a SessionFacts")
        classes = len(artifact.class_names)
        passes = [item for item in measurements if isinstance(item, Pass)]
        windows = [item for item in measurements if isinstance(item, Window)]
        yield (
            not (passes and windows),
            f"the session gave {len(passes)} passes and {len(windows)} windows",
            "give one kind in a session: passes where the device takes a scene, else windows",
        )
        yield is_json(asdict(facts), "facts() of the session")
        if windows:
            yield from window_promises(windows, plan, classes)
        else:
            phases, steady = [item.phase for item in passes], ["steady"] * plan.passes
            yield (
                phases in (["first", *steady], ["first", "warmup", *steady]),
                f"the passes came as {phases}",
                f"give the first pass, at most one Pass of warm-up, then {plan.passes} steady ones",
            )
        for item in passes:
            yield from pass_promises(
                item, facts.measured_patches or plan.patches or plan.scene.patches, classes
            )
        if kit.pictures is None and predicted is not None:
            for item in passes:
                if item.scores is not None:
                    yield _near(
                        item.scores,
                        predicted[: len(item.scores)],
                        artifact,
                        f"pass {item.index} scores the patches of the scene otherwise than the same images",
                        "give the same scores for the same input, whatever was inferred before",
                    )
            for window in windows:
                if window.scores is not None:
                    yield _near(
                        window.scores[None],
                        predicted[window.patch : window.patch + 1],
                        artifact,
                        f"window {window.index} scores patch {window.patch} otherwise than the same image",
                        "give the scores of the patch that is resident, whatever was inferred before",
                    )

    @promises("measured", "golden")
    def test_batch_edges(self, kit: BackendKit) -> Iterable[Promise]:
        """1, a batch and a batch + 1 patches: padding changes no score, and the order is kept."""
        batch = kit.contract.batch
        artifact = kit.artifact(kit.variants[-1], batch)
        patches = patches_of(artifact, batch + 1)
        try:
            with kit.session(artifact) as session:
                session.golden()
                whole = session.predict(images_of(patches, kit.cache))
                parts = {n: session.predict(images_of(patches[:n], kit.cache)) for n in (1, batch)}
                turned = session.predict(images_of(patches[::-1].copy(), kit.cache))
        except SessionError as error:
            fail(*ended(f"predicting 1, {batch} and {batch + 1} patches at batch {batch}", error)[1:])
        return [
            *(
                _near(
                    scores,
                    whole[:n],
                    artifact,
                    f"{n} patches alone score otherwise than at the head of {batch + 1}, at batch {batch}",
                    "let no row of a batch depend on another: the rest of a batch is padding",
                )
                for n, scores in parts.items()
            ),
            _near(
                turned,
                whole[::-1],
                artifact,
                f"the scores of {batch + 1} patches in the other order are not the same scores in that order",
                "give row n of the scores for row n of the batch",
            ),
        ]

    @promises("golden")
    def test_an_artifact_that_contradicts_the_runner_is_refused(self, kit: BackendKit) -> Iterator[Promise]:
        """Another dtype, layout or batch than the model's is refused with a message, before any timing."""
        for contradiction, wrong in contradictions(kit.artifact()):
            yield from _refusal_promises(kit, wrong, contradiction)

    @promises("golden")
    def test_a_wrong_number_of_scores_is_refused(self, kit: BackendKit) -> Iterable[Promise]:
        """An artifact of one class more than the model has is never timed."""
        sound = kit.artifact()
        scores = tuple((*row, 0.0) for row in sound.golden.scores)
        wrong = sound.model_copy(
            update={
                "class_names": (*sound.class_names, "one class too many"),
                "golden": sound.golden.model_copy(update={"scores": scores}),
            }
        )
        return _refusal_promises(kit, wrong, "one class more than the model gives scores for")

    @promises()
    def test_closing_twice(self, kit: BackendKit) -> Iterator[Promise]:
        """A device is closed once too often rather than not at all."""
        device = kit.opened()
        device.close()
        try:
            device.close()
        except Exception as error:
            words = f"closing the device a second time raised {type(error).__name__}: {error}"
            yield False, words, "do nothing then"


def window_promises(windows: Sequence[Window], plan: MeasurePlan, classes: int) -> Iterator[Promise]:
    """Windows in order: the first, those of the warm-up, as many steady ones as planned; each possible."""
    phases = [window.phase for window in windows]
    warm = ["warmup"] * phases.count("warmup")
    indices = [window.index for window in windows]
    yield from (
        (
            phases == ["first", *warm, *["steady"] * plan.passes],
            f"the windows came as {phases}",
            f"give the first window, those of the warm-up if there is any, then {plan.passes} steady ones",
        ),
        (
            indices == list(range(len(windows))),
            f"the windows are numbered {indices}",
            "count them from 0, the first one, in the order in which they are given",
        ),
    )
    for before, after in pairwise(windows):
        yield (
            before.end_ns <= after.start_ns,
            f"window {after.index} begins before window {before.index} has ended",
            "stamp with one monotonic clock, and one window after the other",
        )
    for window in windows:
        subject, scores = f"window {window.index} ({window.phase})", window.scores
        yield from (
            (
                window.end_ns > window.start_ns,
                f"{subject}: it ends at {window.end_ns} ns and began at {window.start_ns} ns",
                "take the start before the first inference and the end after the last, on a monotonic clock",
            ),
            (
                window.inferences >= 1,
                f"{subject}: {window.inferences} inferences",
                "count the inferences between its two stamps",
            ),
            (
                0 <= window.patch < plan.scene.patches,
                f"{subject}: patch {window.patch} of a scene of {plan.scene.patches}",
                "say which patch of the scene was resident, row by row from 0",
            ),
            (
                scores is None or (scores.shape == (classes,) and bool(np.isfinite(scores).all())),
                f"{subject}: scores are {None if scores is None else list(scores.shape)}",
                f"give {classes} finite scores of its patch; None without scores",
            ),
        )


def pass_promises(scene_pass: Pass, patches: int, classes: int) -> Iterator[Promise]:
    """Stamps within the pass and in order; scores of every patch, but in the warm-up."""
    subject, stamps, scores = (
        f"pass {scene_pass.index} ({scene_pass.phase})",
        scene_pass.stamps_ns,
        scene_pass.scores,
    )
    batches = -(-patches // scene_pass.batch)
    shaped = stamps.dtype == np.int64 and stamps.ndim == 3 and stamps.shape[1:] == (len(scene_pass.stages), 2)
    words = f"{subject}: stamps are {stamps.dtype} {list(stamps.shape)}"
    yield shaped, words, "give int64 [batches, stages, 2]"
    if not shaped:
        return
    yield from (
        (
            bool((stamps[:, :, 1] >= stamps[:, :, 0]).all()),
            f"{subject}: a stage ends before it starts",
            "stamp with a monotonic clock, each stage on its own",
        ),
        (
            scene_pass.start_ns <= int(stamps.min()) and int(stamps.max()) <= scene_pass.end_ns,
            f"{subject}: a stage is outside the pass",
            "take start before the first stage and end after the last",
        ),
    )
    if scene_pass.phase != "warmup":
        shape = None if scores is None else list(scores.shape)
        yield from (
            (
                len(stamps) == batches,
                f"{subject}: {len(stamps)} batches of stamps, expected {batches}",
                "stamp every batch",
            ),
            (
                scores is not None and shape == [patches, classes] and bool(np.isfinite(scores).all()),
                f"{subject}: scores are {shape}, expected {[patches, classes]} finite ones",
                "give one row a patch and one score a class",
            ),
        )


def _near(scores: Scores, due: Scores, artifact: Artifact, subject: str, fix: str) -> Promise:
    """Scores are the expected ones, within the artifact's own tolerance."""
    if scores.shape != due.shape:
        return False, f"{subject}: shape {list(scores.shape)} against {list(due.shape)}", fix
    difference, allowed = float(np.abs(scores.astype(np.float64) - due).max()), artifact.golden.tolerance
    words = f"{subject}: they differ by {difference:.4g} (allowed {allowed:.4g})"
    return difference <= allowed, words, fix


def _refusal_promises(kit: BackendKit, wrong: Artifact, subject: str) -> list[Promise]:
    """An artifact that does not fit ends its session with a reason before anything is timed."""
    try:
        kit.try_golden(wrong)
    except SessionError as error:
        return [
            (
                error.stage in REFUSED_AT and error.status != "timeout",
                f"{subject}: the session ended at {error.stage} ({error.status}), not before the timing",
                "look at the input's shape and dtype in load",
            ),
            (
                error.status != "crash",
                f"{subject}: the worker crashed ({error.signal}), expected a message",
                "compare before the runtime touches memory, and raise ValueError with both sides",
            ),
            (
                bool(error.why.strip()),
                f"{subject}: refused without a reason",
                "raise with what was found and what was expected",
            ),
        ]
    fix = (
        "say the model's true input_shape and input_dtype, give the runtime's own arrays as buffers(), "
        "and the scores as the model gives them"
    )
    return [(False, f"{subject}: no error was raised", fix)]
