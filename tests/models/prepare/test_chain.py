"""What all formats share: nothing is made twice, and what fails for one request fails no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgebench import installed
from edgebench.errors import UnavailableError, UnsupportedError
from edgebench.prepare import chain
from edgebench.prepare.cache import Cache, CachedFile
from edgebench.prepare.chain import Chain, Recipe, Refusals, StepJob, artifact_of, carry_out, subject_of
from edgebench.prepare.workers.processes import HelperError
from edgebench.records.model import (
    Artifact,
    InputSpec,
    ModelSource,
    OutputTolerance,
    PrepareRequest,
    Samples,
)
from edgebench.records.values import Progress, Variant


class NumberChain(Chain):
    """Makes a file that holds its variant's name, but none of fp16; int8 there is none of."""

    name = "numbers"
    title = "tests"
    extras = "cpu"

    def __init__(self) -> None:
        self.made: list[str] = []

    def recipe(self, request: PrepareRequest) -> Recipe:
        if request.variant.precision == "int8":
            raise UnsupportedError("no int8 here")
        return Recipe("numbers", {"recipe": 1, "tools": {}, "variant": request.variant.name}, ".txt")

    def packages(self, request: PrepareRequest, cache: Cache | None) -> tuple[str, ...]:
        return ("absent",) if request.variant.precision == "fp64" else ()

    def make(
        self, requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress
    ) -> Refusals:
        refusals: Refusals = {}
        for request in requests:
            self.made.append(request.variant.precision)
            recipe = self.recipe(request)
            if request.variant.precision == "fp16":
                refusals[recipe.key] = HelperError("it fails")
            elif request.variant.precision != "lost":
                file = scratch / "file"
                file.write_text(request.variant.name)
                recipe.store(cache, file, {"scores": [[0.0] * 5], "reference": "nobody"})
        return refusals

    def artifact(
        self, request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache
    ) -> Artifact | None:
        spec = InputSpec(dtype="float32")
        return artifact_of(
            request, subject_of(request), recipe, file, cache, format="numbers", input_spec=spec,
            tolerances=[OutputTolerance(scores=5, tolerance=1.0)], calibration=None, checks=[], provenance={},
        )  # fmt: skip


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def request_of(tmp_path: Path) -> Any:
    patches = tmp_path / "golden.npy"
    np.save(patches, np.zeros((1, 2, 2, 3), np.uint8))
    source = ModelSource(golden=Samples(patches, "d" * 64, 1, "zeros"))
    return lambda precision: PrepareRequest(Variant(0.25, precision), 1, {}, source=source)


def test_what_fails_for_one_request_fails_no_other(cache: Cache, request_of: Any):
    numbers = NumberChain()
    requests = [request_of(precision) for precision in ("fp32", "fp16", "int8", "fp32", "lost")]
    first, failed, unsupported, again, lost = numbers.prepare(requests, cache, lambda _: None)
    assert isinstance(first, Artifact) and first == again
    assert first.path.read_text() == "mobilenet_v1-0.25-fp32"
    assert isinstance(failed, HelperError) and failed.what == "it fails"
    assert isinstance(unsupported, UnsupportedError)
    assert isinstance(lost, HelperError) and "is not in the cache" in lost.what
    assert sorted(numbers.made) == ["fp16", "fp32", "lost"]
    assert numbers.prepare([request_of("fp32")], cache, pytest.fail) == [first]


def test_a_package_that_is_not_installed_fails_its_own_requests(
    cache: Cache, request_of: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(installed, "version_of", lambda name: None)
    numbers = NumberChain()
    made, missing = numbers.prepare([request_of("fp32"), request_of("fp64")], cache, lambda _: None)
    assert isinstance(made, Artifact)
    assert isinstance(missing, UnavailableError)
    assert str(missing) == str(numbers.missing(request_of("fp64")))
    assert "absent is not installed (pip install 'edgebench[cpu]')" in str(missing)
    assert numbers.made == ["fp32"]


def test_every_output_of_a_step_is_kept_or_refused(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    refusal = UnsupportedError("not this one")

    def run_outputs(_module: str, tasks: Sequence[Mapping[str, Any]], *_: object) -> list[dict[str, Any]]:
        for task in tasks:
            for name, file in task["outputs"].items():
                Path(file).write_text(f"{task['what']} {name}")
        return [{"a": {"what": task["what"]}, "b": refusal} for task in tasks]

    monkeypatch.setattr(chain, "run_outputs", run_outputs)
    recipes = [
        {name: Recipe("k", {"job": job, "name": name}, ".txt") for name in "ab"} for job in ("one", "two")
    ]
    jobs = [StepJob({"what": f"job {at}"}, outputs) for at, outputs in enumerate(recipes)]
    refusals = carry_out("module", jobs, cache, cache.scratch(), lambda _: None)
    assert refusals == {outputs["b"].key: refusal for outputs in recipes}
    for at, outputs in enumerate(recipes):
        kept = outputs["a"].find(cache)
        assert kept is not None and kept.note == {"what": f"job {at}"}
        assert kept.path.read_text() == f"job {at} a"
        assert outputs["b"].find(cache) is None
