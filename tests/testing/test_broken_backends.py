"""The kit can fail: backends with one fault each are caught by the test that is there for it."""

from __future__ import annotations

import importlib
import time
from pathlib import Path

import pytest
from pydantic import ConfigDict, Field

from edgebench.contract import BackendOptions
from edgebench.errors import UnsupportedError
from edgebench.records.model import Artifact
from edgebench.records.values import Finding
from tests.testing import faulty

# --- what it says of itself ---


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"name": "My Board"}, "cannot be typed"),
        ({"description": " "}, "is not one line"),
        ({"description": "two\nlines"}, "is not one line"),
        ({"precisions": ()}, "are not some of"),
        ({"precisions": ("fp32", "fp32")}, "are not some of"),
        ({"precisions": ("float",)}, "are not some of"),
        ({"meters": ("wattmeter",)}, "is not a meter on the board"),
        ({"meters": ("telemetry:1",)}, "is not a meter on the board"),
    ],
)
def test_names(caught, members, words):
    caught("test_name_description_and_precisions", faulty.backend(**members), words)


def test_a_name_that_is_not_the_entry_points(caught, monkeypatch):
    monkeypatch.setattr("edgebench.registry.backend", lambda name: faulty.backend())
    caught("test_name_description_and_precisions", "another", "calls itself 'toy'")


class Open(BackendOptions):
    model_config = ConfigDict(extra="allow")
    repeat: int = 1


class Changing(BackendOptions):
    model_config = ConfigDict(frozen=False)
    repeat: int = 1


class Invalid(BackendOptions):
    repeat: int = Field(default=0, ge=1)


class Strict(BackendOptions):
    repeat: int = Field(default=1, strict=True)


class Lossy(BackendOptions):
    repeat: int = 1
    seen: object = Field(default_factory=lambda: 1, exclude=True)


@pytest.mark.parametrize(
    ("model", "subject", "words"),
    [
        (Open, {}, "an unknown option is taken"),
        (Changing, {}, "can be changed after they were validated"),
        (Invalid, {"options": {"repeat": 1}}, "the default of repeat, 0, is not valid"),
        (Strict, {}, "the option repeat cannot be given as text"),
        (Lossy, {"options": {"seen": 2}}, "come back from JSON as"),
    ],
)
def test_options(caught, model, subject, words):
    caught("test_options", faulty.backend(options_model=model), words, **subject)


@pytest.mark.parametrize(
    ("inputs", "subject", "words"),
    [
        (
            lambda request: {"at": time.time_ns(), "name": request.variant.name},
            {},
            "when they are asked for twice",
        ),
        (lambda request: {"recipe": 1}, {}, "are the same for mobilenet_v1-0.25-fp32 at batch 1 and"),
        (
            lambda request: {"name": request.variant.name},
            {},
            "fp32 at batch 1 and mobilenet_v1-0.25-fp32 at batch 3",
        ),
        (lambda request: {"names": {"a"}}, {}, "is not JSON"),
        (lambda request: {1: request.variant.name}, {}, "JSON turns its keys"),
        (
            lambda request: {"name": request.variant.name, "batch": request.batch},
            {"deciding": {"repeat": 2}},
            "the option repeat decides the artifact",
        ),
    ],
)
def test_inputs(caught, inputs, subject, words):
    backend = faulty.backend(prepare_inputs=lambda self, request: inputs(request))
    caught("test_prepare_inputs", backend, words, **subject)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import tensorrt", "imports tensorrt"),
        ("FROM_A_SET = hash('text')", "differ in another process"),
        ("from edgebench.prepare.cache import Cache", "wrote 1 files"),
    ],
)
def test_looking(caught, tmp_path, monkeypatch, body, words):
    (tmp_path / "tensorrt.py").write_text("")
    module = f"broken_{words.split()[0]}"
    extra = {"FROM": '"set": FROM_A_SET', "from": '"made": Cache().add_bytes(b"x")[1]'}.get(body[:4], "")
    (tmp_path / f"{module}.py").write_text(
        f"{body}\nfrom edgebench.backends.toy.backend import ToyBackend\n\n\n"
        "class Broken(ToyBackend):\n"
        "    def prepare_inputs(self, request):\n"
        f"        return {{**super().prepare_inputs(request), {extra}}}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "own"))
    broken = importlib.import_module(module).Broken
    caught("test_looking_at_it_loads_no_runtime", broken(), words)


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (Finding("error", "runtime", "is missing"), "error without a fix"),
        (Finding("warning", "governor", "", "set it"), "without a subject or a message"),
        ("all is well", "check gave 'all is well'"),
    ],
)
def test_checks(caught, finding, words):
    backend = faulty.backend(check=lambda self, target: [finding])
    caught("test_check_has_a_fix_for_each_problem", backend, words)


# --- preparation ---


def preparing(change):
    """A backend whose artifacts are changed."""
    base = faulty.Toy

    def prepare(self, requests, cache, progress):
        outcomes = base.prepare(self, requests, cache, progress)
        return [change(outcome, cache) if isinstance(outcome, Artifact) else outcome for outcome in outcomes]

    return faulty.backend(prepare=prepare)


def updated(**members):
    return lambda artifact, cache: artifact.model_copy(update=members)


def golden(**members):
    return lambda artifact, cache: artifact.model_copy(
        update={"golden": artifact.golden.model_copy(update=members)}
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (updated(sha256="0" * 64), "sha256 is not that of its file"),
        (updated(path=Path("/no/such/artifact")), "there is no file"),
        (updated(size_bytes=1), "size_bytes is 1"),
        (updated(variant="mobilenet_v1-1.0-fp32"), "says that it is mobilenet_v1-1.0-fp32"),
        (updated(batch=7), "at batch 7"),
        (updated(format=""), "has no format"),
        (updated(class_names=("water", "water")), "the class names"),
        (updated(provenance={"at": {1}}), "comes back from JSON as another"),
        (golden(patches_sha256="0" * 64), "patches_sha256 is not that"),
        (golden(scores=((0.5, 0.5),)), "golden scores of [2] columns for 5 classes"),
        (golden(tolerance=2.0), "catches nothing"),
        (golden(reference=""), "the golden scores have no reference"),
        (
            lambda artifact, cache: artifact.model_copy(
                update={"input": artifact.input.model_copy(update={"dtype": "int8", "scale": None})}
            ),
            "without scale and zero point",
        ),
    ],
)
def test_artifacts(caught, change, words):
    caught("test_artifacts_are_whole", preparing(change), words)


def test_an_artifact_that_is_another_each_time(caught):
    def change(artifact, cache):
        return artifact.model_copy(update={"provenance": {"at": time.time_ns()}})

    caught("test_a_second_preparation_comes_from_the_cache", preparing(change), "is another artifact")


def test_an_artifact_that_is_written_each_time(caught):
    def change(artifact, cache):
        data = artifact.path.read_bytes()
        artifact.path.unlink()
        return artifact.model_copy(update={"path": cache.add_bytes(data, ".json")[0]})

    caught("test_a_second_preparation_comes_from_the_cache", preparing(change), "was written again")


def _reversed(self, requests, cache, progress):
    return faulty.backend().prepare(requests, cache, progress)[::-1]


def _leaving_out(self, requests, cache, progress):
    outcomes = faulty.backend().prepare(requests, cache, progress)
    return [outcome for outcome in outcomes if isinstance(outcome, Artifact)]


def _raising(self, requests, cache, progress):
    for outcome in faulty.backend().prepare(requests, cache, progress):
        if isinstance(outcome, UnsupportedError):
            raise outcome
    return []


def _obliging(self, requests, cache, progress):
    outcomes = faulty.backend().prepare(requests, cache, progress)
    return [outcome if isinstance(outcome, Artifact) else outcomes[0] for outcome in outcomes]


def _silent(self, requests, cache, progress):
    outcomes = faulty.backend().prepare(requests, cache, progress)
    return [outcome if isinstance(outcome, Artifact) else UnsupportedError("") for outcome in outcomes]


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (_reversed, "outcome 0 is mobilenet_v1-0.25-fp32, expected mobilenet_v1-0.25-int8"),
        (_leaving_out, "gave 2 outcomes for 3 requests"),
        (_raising, "prepare raised UnsupportedError"),
        (_obliging, "which is not among the precisions"),
        (_silent, "without a message"),
    ],
)
def test_outcomes(caught, prepare, words):
    caught("test_one_outcome_a_request_in_order", faulty.backend(prepare=prepare), words)
