"""The one way from a model to an artifact: from the cache, or by steps in processes of their own.

A format (`tflite.TfliteChain`, `onnx.OnnxChain`, or a backend's own) says under which recipe a request's file
is kept, which steps make it, and how the file becomes an artifact. The rest is the same for all: one maker at
a time, no file made twice, and what fails for one request fails no other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.cache.recipes import CachedFile, find, making, store
from edgebench.errors import EdgeBenchError, InputError, UnavailableError, UnsupportedError
from edgebench.installed import versions_of
from edgebench.models.prepare.subject import Images, Subject
from edgebench.models.workers.processes import HelperError, run_outputs
from edgebench.vocabulary.artifact import Artifact, Golden, InputSpec
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.values import Progress

Refusals = dict[str, EdgeBenchError]
"""Why files cannot be made, by the key of their recipe."""


@dataclass(frozen=True)
class Recipe:
    """How one file is made.

    Attributes:
        kind: under which the cache keeps it.
        inputs: everything that decides the file, as plain data.
        suffix: of the file's name.
    """

    kind: str
    inputs: dict[str, Any]
    suffix: str

    @cached_property
    def key(self) -> str:
        """The hash of what decides the file."""
        return canonical_hash(self.inputs)

    def find(self, cache: Cache) -> CachedFile | None:
        """The file, where the cache holds it whole."""
        return find(cache, self.kind, self.key)

    def store(self, cache: Cache, file: Path, note: Mapping[str, Any]) -> CachedFile:
        """Move a file that lies in a scratch folder of the cache into the cache."""
        return store(cache, self.kind, self.key, file, self.suffix, note)


@dataclass(frozen=True)
class StepJob:
    """Work of one process: what it is told, and by the outputs' names the recipes of the files it makes."""

    description: Mapping[str, Any]
    outputs: Mapping[str, Recipe]


def carry_out(
    module: str, jobs: Sequence[StepJob], cache: Cache, scratch: Path, progress: Progress
) -> Refusals:
    """Have processes of their own make the files, and keep each in the cache; why not, for those that fail.

    Two jobs are done at a time, in the order given. A file that cannot be made takes no other with it.
    """
    refusals: Refusals = {}
    tasks = [
        {
            **job.description,
            "outputs": {
                name: str(scratch / f"{number}-{name}{recipe.suffix}") for name, recipe in job.outputs.items()
            },
        }
        for number, job in enumerate(jobs)
    ]
    all_notes = run_outputs(module, tasks, scratch, progress)
    for job, task, notes in zip(jobs, tasks, all_notes, strict=True):
        for name, recipe in job.outputs.items():
            note = notes[name]
            if isinstance(note, EdgeBenchError):
                refusals[recipe.key] = note
            else:
                recipe.store(cache, Path(task["outputs"][name]), note)
    return refusals


class Chain(ABC):
    """How artifacts of one format are prepared.

    Attributes:
        name: of the format, and of the lock that its makers hold.
        title: as people are told it.
        extras: of this package, that install what makes the format.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    extras: ClassVar[str]

    @abstractmethod
    def recipe(self, request: PrepareRequest) -> Recipe:
        """What the request's file is made of; makes and renders nothing.

        UnsupportedError where there is no way to it, UsageError for a batch below 1.
        """

    @abstractmethod
    def packages(self, request: PrepareRequest, cache: Cache | None) -> tuple[str, ...]:
        """What has to be installed to make the request's file.

        What a cache holds already takes nothing; None: as if it were empty.
        """

    @abstractmethod
    def make(
        self, requests: Sequence[PrepareRequest], cache: Cache, scratch: Path, progress: Progress
    ) -> Refusals:
        """Make the files of requests whose recipes all differ, and keep them in the cache."""

    @abstractmethod
    def artifact(
        self, request: PrepareRequest, recipe: Recipe, file: CachedFile, cache: Cache
    ) -> Artifact | None:
        """What the request's file is; None where it has to be made again.

        A file that was noted otherwise than its recipe has it may raise KeyError, TypeError or ValueError.
        """

    def find(self, recipe: Recipe, cache: Cache) -> CachedFile | None:
        """The file, where it is there."""
        return recipe.find(cache)

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Any]:
        """Everything that decides the artifact, as plain data; see `recipe`."""
        return self.recipe(request).inputs

    def stored_artifact(self, request: PrepareRequest, cache: Cache) -> Artifact | None:
        """The artifact if its file is there; UnsupportedError where there is no recipe for it."""
        recipe = self.recipe(request)
        file = self.find(recipe, cache)
        if file is None:
            return None
        try:
            return self.artifact(request, recipe, file, cache)
        except (ValidationError, KeyError, TypeError, ValueError):  # a damaged note: it is made again
            return None

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """Which packages have to be installed before this can be prepared; None where nothing is missing.

        What is in a cache does not count: it was made by versions that were installed then.
        """
        return self._missing(request, None)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """One artifact a request, in order, or why there is none.

        From the cache in milliseconds; else by up to two processes at once. The outcome is an
        UnsupportedError where there is no way to the artifact, an UnavailableError where a package for it is
        not installed, and a HelperError where a file cannot be read, converted or run.
        """
        outcomes = [self._stored(request, cache) for request in requests]
        if all(outcome is not None for outcome in outcomes):
            return [outcome for outcome in outcomes if outcome is not None]
        with making(cache, f"prepare-{self.name}") as scratch:
            # Another process may have made them while this one waited.
            wanted = {
                self.recipe(request).key: request
                for request in requests
                if self._stored(request, cache) is None
            }
            refusals: Refusals = {
                key: error for key, request in wanted.items() if (error := self._missing(request, cache))
            }
            if makeable := [request for key, request in wanted.items() if key not in refusals]:
                variants = "1 variant" if len(makeable) == 1 else f"{len(makeable)} variants"
                progress(f"preparing {variants} for {self.title}")
                refusals |= self.make(makeable, cache, scratch, progress)
        return [self._outcome(request, cache, refusals) for request in requests]

    def _outcome(self, request: PrepareRequest, cache: Cache, refusals: Refusals) -> Prepared:
        if stored := self._stored(request, cache):
            return stored
        return refusals.get(self.recipe(request).key) or HelperError(
            f"{request.variant.name} was prepared and is not in the cache",
            why=f"something else changes {cache.root}",
            fix="run again, or set EDGEBENCH_CACHE_DIR to a folder that nothing else uses",
        )

    def _stored(self, request: PrepareRequest, cache: Cache) -> Prepared | None:
        try:
            return self.stored_artifact(request, cache)
        except (UnsupportedError, InputError) as error:
            return error

    def _missing(self, request: PrepareRequest, cache: Cache | None) -> UnavailableError | None:
        absent = [
            name for name, version in versions_of(self.packages(request, cache)).items() if version is None
        ]
        if not absent:
            return None
        return UnavailableError(
            f"{request.variant.name} cannot be prepared: {', '.join(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} not installed (pip install 'edgebench[{self.extras}]')"
        )


def largest_score(note: Mapping[str, Any]) -> float:
    """The largest absolute score of the golden patches; never 0, so that a fraction of it is a tolerance."""
    return max((abs(score) for scores in note["scores"] for score in scores), default=0.0) or 1e-6


def artifact_of(
    request: PrepareRequest,
    subject: Subject,
    recipe: Recipe,
    file: CachedFile,
    cache: Cache,
    *,
    format: str,
    input_spec: InputSpec,
    tolerance: float,
    calibration: Images | None,
    checks: Sequence[Mapping[str, Any]],
    provenance: Mapping[str, Any],
    exact_with: tuple[str, ...] = (),
    input_shapes: tuple[tuple[int, ...], ...] = (),
) -> Artifact:
    """The artifact of a request whose file the cache holds.

    Args:
        request: what was asked for.
        subject: its model.
        recipe: of the file.
        file: with a note that has `scores` of the golden patches and the `reference` that computed them.
        cache: where the golden patches are.
        format: of the artifact.
        input_spec: of the file.
        tolerance: the largest difference of a score that a session may show.
        calibration: the images that decided the file.
        checks: how far each step is off.
        provenance: what the format has to add.
        exact_with: settings under which a runtime computes the same scores.
        input_shapes: what a runtime has to be told.

    Raises:
        UnsupportedError: the model has not as many scores as class names.
    """
    scores, names = file.note["scores"], subject.class_names
    if names and len(names) != len(scores[0]):
        raise UnsupportedError(
            f"{request.variant.name} has {len(scores[0])} scores and {len(names)} labels",
            fix="give --labels a file with one name a line, as many as the model has scores",
        )
    golden = subject.golden.file(cache)
    return Artifact(
        variant=request.variant.name,
        batch=request.batch,
        format=format,
        path=file.path,
        sha256=file.sha256,
        size_bytes=file.size_bytes,
        input=input_spec,
        class_names=names,
        outputs=None if names else len(scores[0]),
        accuracy_reason=subject.accuracy_reason,
        assumed=subject.assumed,
        tensors=subject.tensors,
        input_shapes=input_shapes,
        golden=Golden(
            patches=golden.path,
            patches_sha256=golden.sha256,
            scores=scores,
            reference=file.note["reference"],
            tolerance=tolerance,
            exact_with=exact_with,
        ),
        provenance={
            "weights_sha256": subject.weights_sha256,
            "recipe": recipe.inputs["recipe"],
            "source": subject.kind,
            "tools": dict(recipe.inputs["tools"]),
            "golden_patches": subject.golden.origin,
            "checks": list(checks),
            "calibration": calibration
            and {"name": calibration.name, "n": calibration.n, "identity": calibration.identity},
            **provenance,
        },
    )
