"""The one way from a model to an artifact: from the cache, or by steps in processes of their own.

A format (`tflite.TfliteChain`, `onnx.OnnxChain`, or a backend's own) says under which recipe a request's file
is kept, which steps make it, and how the file becomes an artifact. The rest is the same for all: one maker at
a time, no file made twice, and what fails for one request fails no other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from edgebench.errors import EdgeBenchError, InputError, UnavailableError, UnsupportedError, UsageError
from edgebench.installed import versions_of
from edgebench.prepare import families as catalogue
from edgebench.prepare.cache import Cache, CachedFile, canonical_hash, find, making, store
from edgebench.prepare.families import random_identity
from edgebench.prepare.image_sets import images_identity, shipped_images
from edgebench.prepare.landcover import CLASS_NAMES, SHIPPED_COUNTS
from edgebench.prepare.shipped import CHOSEN, golden_patches, has_shipped, shipped_weights
from edgebench.prepare.user_model import input_spec
from edgebench.prepare.workers.processes import HelperError, run_outputs
from edgebench.records.model import (
    Artifact,
    Golden,
    InputSpec,
    ModelSource,
    OutputTolerance,
    Prepared,
    PrepareRequest,
    SourceKind,
    State,
    TensorInput,
    UserModel,
)
from edgebench.records.values import ImageSet, Json, Progress

# What a chain has to know of a model, whosever it is: input, scores, golden patches, calibration.


_TAKEN_AS_IT_IS = ("tflite", "edgetpu", "onnx", "openvino")


@dataclass(frozen=True)
class Images:
    """Calibration images: uint8 [n, height, width, 3], or samples, had when they are needed."""

    name: str
    n: int
    identity: str
    images: Callable[[Cache], ImageSet]


@dataclass(frozen=True)
class GoldenPatches:
    """What the outputs are checked with: `n` patches or samples, had when they are needed."""

    n: int
    identity: Any
    origin: str
    file: Callable[[Cache], CachedFile]


SHIPPED_GOLDEN = GoldenPatches(
    len(CHOSEN), list(CHOSEN), "one of each class, from the shipped calibration images", golden_patches
)


@dataclass(frozen=True)
class Subject:
    """A model on its way to an artifact, whatever the format.

    Attributes:
        kind: of its source.
        identity: what decides its fp32 file, for a key.
        job: what a worker begins from (see `edgebench.prepare.workers.keras.build_keras`).
        spec: the input of the file that the steps begin with, in the model's own layout; None where it takes
            no picture.
        shapes: of the inputs, the batch included, in the model's own layout.
        precision: of a file that is taken as it is; fp32 where TensorFlow makes it.
        macs: multiply-accumulates of one call at a batch of 1; None where they are not known.
        weights_sha256: of the file, or the identity of random weights.
        tensors: the inputs of a model that takes no picture.
        assumed: of the inputs, because neither the file nor the user says it.
        calibration: None where there is nothing to calibrate int8 with.
        is_shipped: whether it is the shipped family with its trained weights.
    """

    kind: SourceKind
    identity: dict[str, Any]
    job: dict[str, Any]
    spec: InputSpec | None
    shapes: tuple[tuple[int, ...], ...]
    precision: str
    macs: int | None
    weights_sha256: str | None
    class_names: tuple[str, ...]
    accuracy_reason: str
    golden: GoldenPatches
    calibration: Images | None
    assumed: tuple[str, ...] = ()
    tensors: tuple[TensorInput, ...] = ()
    is_shipped: bool = False

    @property
    def is_network(self) -> bool:
        """Whether it is a family's network, and not a user's file."""
        return self.kind in ("family", "weights")

    @property
    def by_tensorflow(self) -> bool:
        """Whether the steps begin with TensorFlow, and not with a file that is taken as it is."""
        return self.kind not in _TAKEN_AS_IT_IS


def subject_of(request: PrepareRequest) -> Subject:
    """What is known of the request's model.

    UsageError for a batch below 1, UnsupportedError for a family or width that there is not.
    """
    if request.batch < 1:
        raise UsageError(f"a batch of {request.batch} patches is not possible", fix="use 1 or more")
    return _network(request) if request.source.kind in ("family", "weights") else _file(request)


def require_batch(request: PrepareRequest) -> None:
    """UnsupportedError where a user's model cannot be measured at the batch."""
    source, model = request.source, request.source.model
    if model is None:
        return
    fixed = model.fixed_batch
    if model.picture is None and request.batch != 1:
        raise UnsupportedError(
            f"{request.variant.name} is not measured at a batch of {request.batch}",
            why=model.accuracy_reason,
            fix="use --batch 1: a sample is what the model takes at once",
        )
    if model.picture is not None and source.kind in _TAKEN_AS_IT_IS and fixed not in (None, request.batch):
        raise UnsupportedError(
            f"{request.variant.name} is not measured at a batch of {request.batch}",
            why=f"the file fixes a batch of {fixed}",
            fix=f"use --batch {fixed}, or export it with an open batch",
        )


def refusal_of_16x8(request: PrepareRequest, device: str) -> UnsupportedError | None:
    """Refusal of int16 activations with int8 weights by a device of 8-bit integers; None for other models."""
    if request.source.model is None or not request.source.model.is_16x8:
        return None
    return UnsupportedError(
        f"{request.variant.name} is not taken by {device}",
        why="it is quantised 16x8 (int16 activations, int8 weights), and it takes 8-bit integers alone",
        fix="take the device cpu, whose LiteRT runs 16x8, or give the model quantised to int8 throughout",
    )


def require_calibration(request: PrepareRequest, subject: Subject) -> Images:
    """Return the images that int8 is calibrated with; UnsupportedError if there are none."""
    if subject.calibration is not None:
        return subject.calibration
    name, things = request.variant.name, "inputs" if subject.tensors else "pictures"
    raise UnsupportedError(
        f"{name} cannot be made without calibration {'images' if subject.spec else things}",
        why=f"int8 takes its ranges from {things} like those that the model will see",
        fix="give an .npz of them: --calibration FILE"
        if subject.tensors
        else "give a folder of them: --calibration DIR",
    )


def _network(request: PrepareRequest) -> Subject:
    """A family's network: with the shipped weights, with random ones, or with those of a training."""
    source, variant = request.source, request.variant
    name, width, classes = variant.family, variant.depth_multiplier, catalogue.CLASSES
    if source.kind == "weights":
        name, width = source.family or name, source.width
        classes = len(source.class_names or ()) or classes
    try:
        family = catalogue.spec(name)
        width = family.width(width)
    except UsageError as error:
        raise UnsupportedError(error.what, why=error.why, fix=error.fix) from error
    path, digest, names = source.path, source.sha256, source.class_names or ()
    is_shipped = source.kind == "family" and has_shipped(name, width)
    if is_shipped:
        weights = shipped_weights(width, name)
        path, digest, names = weights.path, weights.inputs["weights_sha256"], CLASS_NAMES
    elif source.kind == "family":
        path, digest = None, random_identity(name, width, classes)
    calibration = _calibration(source)
    if calibration is None and source.kind == "family":
        calibration = Images(
            "landcover-calibration",
            SHIPPED_COUNTS["calibration"],
            images_identity("calibration"),
            lambda cache: shipped_images(cache, "calibration"),
        )
    return Subject(
        kind=source.kind,
        identity={"family": name, "width": width, "classes": classes, "weights_sha256": digest},
        job={
            "kind": "family",
            "family": name,
            "depth_multiplier": width,
            "classes": classes,
            "size": catalogue.SIZE,
            "weights": None if path is None else str(path),
        },
        spec=InputSpec(
            dtype="float32",
            height=catalogue.SIZE,
            width=catalogue.SIZE,
            divisor=family.divisor,
            offset=family.offset,
        ),
        shapes=((request.batch, catalogue.SIZE, catalogue.SIZE, 3),),
        precision="fp32",
        macs=catalogue.macs_of(name, width),
        weights_sha256=digest,
        class_names=names,
        accuracy_reason="" if path else catalogue.RANDOM_REASON,
        golden=_golden(source),
        calibration=calibration,
        is_shipped=is_shipped,
    )


def _file(request: PrepareRequest) -> Subject:
    """A user's .tflite, .onnx, OpenVINO IR, .keras or SavedModel."""
    source, model = request.source, request.source.model
    if model is None or source.path is None or source.golden is None:
        raise ValueError(f"{source.name} has not been read")
    spec = None if model.picture is None else _file_spec(source, model)
    shapes = model.shapes(request.batch)
    return Subject(
        kind=source.kind,
        identity={
            "sha256": source.sha256,
            "kind": source.kind,
            "input": spec and spec.model_dump(mode="json"),
            "shapes": [list(shape) for shape in shapes],
        },
        job={
            "kind": source.kind,
            "path": str(source.path),
            "precision": model.precision,
            "keep_state": source.input.keep_state,
        },
        spec=spec,
        shapes=shapes,
        precision=model.precision if source.kind in _TAKEN_AS_IT_IS else "fp32",
        macs=model.macs,
        weights_sha256=source.sha256,
        class_names=source.class_names or (),
        accuracy_reason="" if source.labelled else model.accuracy_reason,
        assumed=model.assumed,
        golden=_golden(source),
        calibration=_calibration(source),
        tensors=()
        if spec
        else tuple(
            TensorInput(
                name=tensor.name,
                dtype=tensor.dtype,
                shape=tuple(shape),
                scale=tensor.scale,
                zero_point=tensor.zero_point,
            )
            for tensor, shape in zip(model.inputs, model.shapes(1), strict=True)
        ),
    )


def _file_spec(source: ModelSource, model: UserModel) -> InputSpec:
    """The input of the file as it is; float32 where TensorFlow makes the file."""
    if source.kind not in _TAKEN_AS_IT_IS:
        return input_spec(source, "float32")
    picture = model.inputs[0]
    scale, zero_point = picture.scale, picture.zero_point
    if picture.dtype in ("int8", "uint8") and scale is None:
        scale, zero_point = 1.0, 0  # an integer input that is not quantised holds the pixels themselves
    return input_spec(source, picture.dtype, scale=scale, zero_point=zero_point)


def _golden(source: ModelSource) -> GoldenPatches:
    samples = source.golden
    if samples is None:
        return SHIPPED_GOLDEN
    return GoldenPatches(
        samples.n,
        samples.sha256,
        samples.origin,
        lambda _: CachedFile(samples.path, samples.sha256, samples.path.stat().st_size, {}),
    )


def _calibration(source: ModelSource) -> Images | None:
    images = source.calibration
    return None if images is None else Images(images.name, images.n, images.sha256, lambda _: images)


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
        """Move a file of a scratch folder of the cache into the cache."""
        return store(cache, self.kind, self.key, file, self.suffix, note)


@dataclass(frozen=True)
class StepJob:
    """Work of one process: its description, and the recipes of its files by the outputs' names."""

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
        title: as messages name it.
        extras: of this package, that install what makes the format.
        formats: of users' models, that it begins with.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    extras: ClassVar[str]
    formats: ClassVar[tuple[SourceKind, ...]]

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

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """One artifact a request, in order, or the error.

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
                key: error for key, request in wanted.items() if (error := self.missing(request, cache))
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

    def missing(self, request: PrepareRequest, cache: Cache | None = None) -> UnavailableError | None:
        """Which packages have to be installed before this can be prepared; None where nothing is missing.

        Without a cache what is in one does not count: it was made by versions that were installed then.
        """
        absent = [
            name for name, version in versions_of(self.packages(request, cache)).items() if version is None
        ]
        if not absent:
            return None
        return UnavailableError(
            f"{request.variant.name} cannot be prepared: {', '.join(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} not installed (pip install 'edgebench[{self.extras}]')"
        )


def output_tolerances(note: Mapping[str, Any], allowed: Sequence[float]) -> tuple[OutputTolerance, ...]:
    """The tolerance of each output: at least twice the difference between two kernels of the reference.

    Args:
        note: of a file, with `outputs` as `edgebench.prepare.workers.checking.outputs_of` gives them.
        allowed: the difference that each output may show in any case.
    """
    return tuple(
        OutputTolerance(
            scores=output["scores"],
            tolerance=None if output["spread"] is None else max(least, 2 * output["spread"]),
        )
        for output, least in zip(note["outputs"], allowed, strict=True)
    )


def artifact_of(
    request: PrepareRequest,
    subject: Subject,
    recipe: Recipe,
    file: CachedFile,
    cache: Cache,
    *,
    format: str,
    input_spec: InputSpec,
    tolerances: Sequence[OutputTolerance],
    calibration: Images | None,
    checks: Sequence[Mapping[str, Any]],
    provenance: Mapping[str, Any],
    exact_with: tuple[str, ...] = (),
    input_shapes: tuple[tuple[int, ...], ...] = (),
    state: State = "none",
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
        tolerances: the largest difference of a score that a session may show, for each output.
        calibration: the images that decided the file.
        checks: how far each step is off.
        provenance: what the format has to add.
        exact_with: settings under which a runtime computes the same scores.
        input_shapes: what a runtime has to set.
        state: that the file carries from one inference to the next.

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
    quantised = file.note.get("tensors") or [{}] * len(subject.tensors)  # as a conversion left them
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
        tensors=tuple(
            TensorInput.model_validate({**tensor.model_dump(), **of_file})
            for tensor, of_file in zip(subject.tensors, quantised, strict=True)
        ),
        input_shapes=input_shapes,
        state=state,
        golden=Golden(
            patches=golden.path,
            patches_sha256=golden.sha256,
            scores=scores,
            reference=file.note["reference"],
            tolerance=max((output.tolerance or 0.0 for output in tolerances), default=0.0),
            exact_with=exact_with,
            outputs=tuple(tolerances),
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


class PreparedByChain:
    """The preparation of a backend whose artifacts are made by chains; a base class before `Backend`.

    Attributes:
        chain: of all requests, unless `chain_of` says otherwise.
    """

    chain: ClassVar[Chain]

    def chain_of(self, request: PrepareRequest) -> Chain:
        """The chain that makes a request's artifact."""
        return self.chain

    def formats(self, options: Mapping[str, Json]) -> tuple[SourceKind, ...]:
        """Return the formats that the chain begins with."""
        return self.chain.formats

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Any]:
        """What decides the file: weights or a user's model, the steps, calibration, batch."""
        return self.chain_of(request).recipe(request).inputs

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """What the steps need."""
        return self.chain_of(request).missing(request)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """Carry out the steps, in processes of their own, for what the cache does not hold."""
        outcomes: dict[int, Prepared] = {}
        chains = [self.chain_of(request) for request in requests]
        for chain in dict.fromkeys(chains):
            places = [at for at, other in enumerate(chains) if other is chain]
            prepared = chain.prepare([requests[at] for at in places], cache, progress)
            outcomes |= dict(zip(places, prepared, strict=True))
        return [outcomes[at] for at in range(len(requests))]
