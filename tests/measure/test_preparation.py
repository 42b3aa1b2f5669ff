"""What preparation gives each trial, and what a run does with those that it gives none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import edgebench
from edgebench import registry
from edgebench.errors import EXIT_TRIALS_FAILED, UnavailableError, UnsupportedError, UsageError
from edgebench.prepare.cache import Cache
from edgebench.prepare.workers.processes import HelperError
from edgebench.records.model import ModelSource, Prepared, PrepareRequest
from edgebench.records.target import Target
from edgebench.records.values import Progress, Variant
from edgebench.report.schemas import schema
from edgebench.run.measuring.execution import prepare_trials, require_any, unsupported_requests
from edgebench.run.planner import Built
from edgebench.run.settings import RunConfig
from edgebench.run.sharing import Other, Sharing
from edgebench.run.trials import ModelData, Plan, make_trials
from tests.cli.conftest import make_field
from tests.fakes import FakeBackend, made_artifact, made_images, made_scene

CRASH = HelperError("int8 failed", why="its process ended with signal SIGABRT", fix="take fp32")
REFUSAL = UnsupportedError("it is too large", why="12 MB of 8 MB")
QUARTER, HALF = Variant(0.25, "fp32"), Variant(0.5, "fp32")
QUARTER_INT8, HALF_INT8 = Variant(0.25, "int8"), Variant(0.5, "int8")


class Preparing(FakeBackend):
    """Gives what it is told to give for some variants, and raises `error` where there is one."""

    def __init__(self, name: str, outcomes: dict[Variant, Prepared], error: Exception | None = None) -> None:
        super().__init__(name)
        self.outcomes, self.error = outcomes, error

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> Any:
        if self.error is not None:
            raise self.error
        return [
            self.outcomes.get(request.variant, made_artifact(request.variant.name)) for request in requests
        ]


def built(
    *backends: Preparing,
    variants: Sequence[Variant],
    model_data: dict[str, ModelData] | None = None,
    sharings: Sequence[Sharing] = (),
) -> Built:
    targets = tuple(Target(backend.name, backend.name) for backend in backends)
    by_name = {backend.name: backend for backend in backends}
    scene, images = made_scene(), made_images()
    trials = make_trials(
        targets,
        by_name,
        dict.fromkeys(by_name, variants),
        batches=[1],
        scene=scene,
        images=images,
        model_data=model_data,
        sharings=sharings,
    )
    return Built(Plan(trials, scene, images, sessions=1, passes=1, seed=7), targets, by_name)


def test_what_fails_is_said_and_the_others_have_their_artifacts(tmp_path: Path):
    plan = built(
        Preparing("fake", {QUARTER_INT8: CRASH, HALF: REFUSAL}), variants=[QUARTER, QUARTER_INT8, HALF]
    )
    notes: list[str] = []
    prepared = prepare_trials(plan, Cache(tmp_path), notes.append)
    assert list(prepared.values()) == [made_artifact(QUARTER.name), CRASH, REFUSAL]
    (text,) = notes
    assert text.startswith("fake mobilenet_v1-0.25-int8 cannot be prepared: int8 failed; its process ended")
    require_any(plan.plan, prepared)


def test_a_variant_of_with_that_the_device_does_not_take_refuses_the_run(tmp_path: Path):
    sharings = [Sharing("naive", 2, (Other(precision="int8"),))]
    backend = Preparing("fake", {QUARTER_INT8: REFUSAL})
    plan = built(backend, variants=[QUARTER], sharings=sharings)
    with pytest.raises(UsageError, match=r"--with: fake does not take mobilenet_v1-0\.25-int8") as caught:
        prepare_trials(plan, Cache(tmp_path), lambda _: None)
    assert "12 MB of 8 MB" in caught.value.why and caught.value.fix
    backend.outcomes[QUARTER] = REFUSAL  # then it is a result of the variant itself
    assert set(prepare_trials(plan, Cache(tmp_path), lambda _: None).values()) == {REFUSAL}


def test_a_target_that_cannot_prepare_fails_its_own_trials_alone(tmp_path: Path):
    missing = UnavailableError("no compiler")
    backends = Preparing("one", {}), Preparing("two", {}, missing)
    plan = built(*backends, variants=[QUARTER])
    prepared = prepare_trials(plan, Cache(tmp_path), lambda _: None)
    assert list(prepared.values()) == [made_artifact(QUARTER.name), missing]
    with pytest.raises(UnavailableError):
        prepare_trials(built(backends[1], variants=[QUARTER]), Cache(tmp_path), lambda _: None)
    backends[1].error = UsageError("no such file")
    with pytest.raises(UsageError):
        prepare_trials(plan, Cache(tmp_path), lambda _: None)


def test_where_nothing_is_left_the_first_reason_is_the_error(tmp_path: Path):
    plan = built(Preparing("fake", {QUARTER: REFUSAL, HALF: CRASH}), variants=[QUARTER, HALF]).plan
    by_key = {trial.key: trial.variant for trial in plan.trials}
    with pytest.raises(HelperError, match="int8 failed"):
        require_any(plan, {key: {QUARTER: REFUSAL, HALF: CRASH}[variant] for key, variant in by_key.items()})
    require_any(plan, dict.fromkeys(by_key, REFUSAL))  # of the shipped models that is a result
    own = ModelData(ModelSource(name="mobilenet_v1", kind="tflite"), made_scene(), None)
    plan = built(Preparing("fake", {}), variants=[QUARTER], model_data={"mobilenet_v1": own}).plan
    with pytest.raises(UnsupportedError, match="too large"):
        require_any(plan, {trial.key: REFUSAL for trial in plan.trials})


@pytest.mark.parametrize(
    ("config", "refused", "unsupported"),
    [
        ({}, [QUARTER_INT8, HALF, HALF_INT8], []),
        ({"precision": ("int8",)}, [QUARTER_INT8], [QUARTER_INT8]),
        ({"depth": (0.25, 0.5)}, [QUARTER_INT8], []),
        ({"depth": (0.25, 0.5)}, [HALF, HALF_INT8], [HALF, HALF_INT8]),
        ({"model": ("mobilenet_v1",)}, [HALF, HALF_INT8, QUARTER], [HALF, HALF_INT8]),
    ],
)
def test_what_was_named_and_is_not_supported(config: dict[str, Any], refused: list[Variant], unsupported):
    plan = built(Preparing("fake", {}), variants=[QUARTER, QUARTER_INT8, HALF, HALF_INT8]).plan
    prepared = {
        trial.key: REFUSAL if trial.variant in refused else made_artifact(trial.variant.name)
        for trial in plan.trials
    }
    keys = unsupported_requests(plan, prepared, RunConfig(device=("fake",), **config))
    assert {trial.variant for trial in plan.trials if trial.key in keys} == set(unsupported)


def test_a_run_measures_the_others_and_says_which_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    field = make_field(tmp_path)
    toy = type(registry.backend("toy"))
    prepare = toy.prepare

    def failing(self: Any, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> Any:
        artifacts = prepare(self, requests, cache, progress)
        outcomes = {"fp16": CRASH, "int8": REFUSAL}
        return [
            outcomes.get(request.variant.precision, artifact)
            for request, artifact in zip(requests, artifacts, strict=True)
        ]

    monkeypatch.setattr(toy, "prepare", failing)
    words = (
        "run", "--device", "toy", "--scene", "scene.png", "--images", "images", "--sessions", "1",
        "--passes", "1", "--no-telemetry", "--depth", "0.25", "--name", "mixed",
    )  # fmt: skip
    done = field.call(*words)
    assert done.exit_code == EXIT_TRIALS_FAILED, done.output
    shown = " ".join(done.stdout.split())
    assert "0.25 fp16: failed: it could not be prepared: int8 failed; its process ended with" in shown
    assert "0.25 int8: unsupported: it is too large; 12 MB of 8 MB" in shown
    folder = field.folder / "results" / "mixed"
    record = edgebench.load(folder).experiment
    assert [trial.status for trial in record.trials] == ["planned", "failed", "unsupported"]
    assert not any(trial.requested for trial in record.trials)
    jsonschema.validate(record.model_dump(mode="json"), schema("experiment"))
    assert "it could not be prepared" in (folder / "report.html").read_text()

    again = field.call(*words, "--resume")  # nothing of it is due, and nothing is begun anew
    assert again.exit_code == EXIT_TRIALS_FAILED
    assert "going on with" in again.stderr
    monkeypatch.setattr(toy, "prepare", prepare)
    mended = field.call(*words[:-2], "--resume")
    assert "could not be prepared for it, and now it can" in " ".join(mended.stderr.split())

    monkeypatch.setattr(toy, "prepare", failing)
    named = field.call(*words[:-1], "named", "--precision", "fp32", "--precision", "int8")
    assert named.exit_code == EXIT_TRIALS_FAILED
    record = edgebench.load(field.folder / "results" / "named").experiment
    assert [trial.requested for trial in record.trials] == [False, True]
