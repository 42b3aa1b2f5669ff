"""Targets x variants x batches become trials, each with a key that hashes whatever decides its result."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgebench.cache.objects import canonical_hash
from edgebench.contract import Backend
from edgebench.errors import UnsupportedError, UsageError
from edgebench.plan.batches import batches_of
from edgebench.plan.extent import Extent
from edgebench.plan.meters_and_monitors import meters_of
from edgebench.vocabulary.model_source import SHIPPED, ModelSource
from edgebench.vocabulary.pictures import ImageSet, Scene
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json
from edgebench.vocabulary.variant import DEPTH_MULTIPLIERS, PRECISIONS, Variant

MEASURING_PROTOCOL = 1
"""Raised when the way of measuring changes so that figures are no longer comparable."""

KEY_LENGTH = 16


@dataclass(frozen=True)
class PlannedTrial:
    """One trial: what is measured on what, and the inputs that its key hashes."""

    key: str
    target: Target
    variant: Variant
    batch: int
    request: PrepareRequest
    inputs: Mapping[str, Any]
    model_data: ModelData | None = None  # what it is timed and tested with; None: what the plan says
    passes: int | None = None  # steady passes, or windows, of a session; None: what the plan says

    @property
    def patches(self) -> int | None:
        """How many patches of the scene are measured; None where its passes go through all."""
        patches: int | None = self.inputs["settings"].get("patches")
        return patches

    @property
    def concurrency(self) -> int:
        """Inferences that the device has in flight."""
        return int(self.inputs["settings"]["concurrency"])

    @property
    def macs(self) -> int | None:
        """Multiply-accumulates of one inference of a user's model; None where they are not known."""
        model = self.request.source.model
        return model.macs if model else None


@dataclass(frozen=True)
class ModelData:
    """What trials of a model, or of a target with pictures of its own, are timed and tested with."""

    source: ModelSource
    scene: Scene
    images: ImageSet | None
    images_reason: str = ""  # why there are none


ImagesFor = Callable[[Backend, ModelData | None], ImageSet | None]
"""By a device and what its trials have of their own, if anything: the images for their accuracy."""


@dataclass(frozen=True)
class Plan:
    """The trials of one experiment and how often each is measured.

    `scene` and `images` are those of the trials that have none of their own.
    """

    trials: tuple[PlannedTrial, ...]
    scene: Scene
    images: ImageSet | None
    sessions: int
    passes: int
    seed: int
    period_s: float | None = None  # between two steady passes; None: back to back
    sustained_s: float | None = None  # of steady passes a session, instead of a number of them
    retries: int = 1  # how often a failed session is measured again
    telemetry: bool = False  # whether telemetry runs beside every session; not in the key
    target_ci: float | None = None  # a trial ends at this half-width of image_s, as a share of its value
    decide: bool = False  # a trial ends when every verdict on it is settled
    min_sessions: int = 3  # no rule ends a trial before
    max_time_s: float | None = None  # no session starts after so much of this run
    notes: tuple[str, ...] = ()  # what was assumed of the models

    def scene_of(self, trial: PlannedTrial) -> Scene:
        """What a trial is timed with."""
        return self.scene if trial.model_data is None else trial.model_data.scene

    def images_of(self, trial: PlannedTrial) -> ImageSet | None:
        """What a trial's accuracy is taken on."""
        return self.images if trial.model_data is None else trial.model_data.images

    def passes_of(self, trial: PlannedTrial) -> int:
        """How many steady passes, or windows, a session of a trial has."""
        return self.passes if trial.passes is None else trial.passes

    @property
    def adaptive(self) -> bool:
        """Whether a rule ends a trial, with `sessions` as the most."""
        return self.target_ci is not None or self.decide


def choose_variants(
    backend: Backend,
    depths: Sequence[float],
    precisions: Sequence[str],
    options: Mapping[str, Any] | None = None,
) -> tuple[Variant, ...]:
    """The variants that a run takes on one backend, by depth and precision.

    Empty `depths` or `precisions` stand for what the backend supports, or offers under a target's `options`;
    UsageError for one that was asked for and does not exist, is not supported or is not offered.
    """
    offered = backend.offers(options) if options is not None else None
    if offered is not None:
        return _among(backend, offered, depths, precisions)
    _refuse_unknown(depths, DEPTH_MULTIPLIERS, "depth multiplier")
    _refuse_unknown(precisions, PRECISIONS, "precision")
    refused = [precision for precision in precisions if precision not in backend.precisions]
    if refused:
        raise UsageError(
            f"{backend.name} does not take {refused[0]}",
            why=backend.precision_reasons.get(refused[0], ""),
            fix=f"it takes {', '.join(backend.precisions)}",
        )
    return tuple(
        Variant(depth, precision)
        for depth in dict.fromkeys(depths or DEPTH_MULTIPLIERS)
        for precision in dict.fromkeys(precisions or default_precisions(backend))
    )


def default_precisions(backend: Backend) -> tuple[str, ...]:
    """The precisions that a run takes on a backend where it names none."""
    return backend.default_precisions or backend.precisions


def make_trials(
    targets: Sequence[Target],
    backends: Mapping[str, Backend],
    variants: Mapping[str, Sequence[Variant]],
    *,
    batches: Sequence[int] = (),
    scene: Scene,
    images: ImageSet | None,
    period_s: float | None = None,
    sustained_s: float | None = None,
    model_data: Mapping[str, ModelData] | None = None,
    target_data: Mapping[str, ModelData] | None = None,
    extent: Extent | None = None,
    images_for: ImagesFor | None = None,
) -> tuple[PlannedTrial, ...]:
    """The trials, in the order in which tables show them; `variants` are by target or backend.

    Without `batches` each backend's default is taken; UsageError for one that a backend does not take.
    `model_data` has, by the variants' family, what trials of other models than the shipped one need;
    `target_data`, by target, what those with pictures of their own do. `extent` is how much the run measures,
    where it names that; without `images_for` accuracy is taken on all images.
    """
    # Absent where they are not asked for: keys of back-to-back trials are what they always were.
    pace = {"period_s": period_s, "sustained_s": sustained_s}
    pace = {name: value for name, value in pace.items() if value is not None}
    trials: list[PlannedTrial] = []
    for target in targets:
        backend = backends[target.device]
        for variant in variants[target.name if target.name in variants else target.device]:
            for batch in batches_of(backend, batches):
                own = (target_data or {}).get(target.name) or (model_data or {}).get(variant.family)
                source = SHIPPED if own is None else own.source
                request = PrepareRequest(variant, batch, target.options, source=source)
                timed, available = (scene, images) if own is None else (own.scene, own.images)
                tested = available if images_for is None else images_for(backend, own)
                if tested != available:
                    own = replace(own or ModelData(SHIPPED, timed, None), images=tested)
                patches = (extent or Extent()).patches_of(backend, timed)
                measured = pace if patches is None else {**pace, "patches": patches}
                inputs = _inputs(target, request, backend, timed, tested, measured)
                passes = None if extent is None else extent.passes_of(backend, timed)
                trials.append(
                    PlannedTrial(key_of(inputs), target, variant, batch, request, inputs, own, passes)
                )
    return tuple(trials)


def key_of(inputs: Mapping[str, Any]) -> str:
    """The key of the trial that these inputs decide."""
    return canonical_hash(inputs)[:KEY_LENGTH]


def _inputs(
    target: Target,
    request: PrepareRequest,
    backend: Backend,
    scene: Scene,
    images: ImageSet | None,
    measured: Mapping[str, float | None],
) -> dict[str, Any]:
    launch = target.launch
    return {
        "measuring_protocol": MEASURING_PROTOCOL,
        "variant": request.variant.name,
        "artifact": _artifact_inputs(backend, request),
        "scene": _scene_inputs(scene),
        "images": images.sha256 if images else None,
        "target": {
            "name": target.declared_name,  # settings are in the key already, a sweep of them is not
            "device": target.device,
            "power_mode": target.power_mode,
            "meters": list(meters_of(target)),
            **({"set_power_mode": True} if target.set_power_mode else {}),  # which pins its clocks too
            **_preferred_meters(target),
            **_host(target),
        },
        "settings": {
            "batch": request.batch,
            "concurrency": backend.concurrency(target.options),
            "options": _options_of_key(backend, target.options),
            "launch": {
                "python": launch.python,
                "env": dict(launch.env),
                "prefix": list(launch.prefix),
                "affinity": list(launch.affinity),
            },
            **measured,
        },
    }


def _artifact_inputs(backend: Backend, request: PrepareRequest) -> dict[str, Any]:
    """What decides the artifact; for one that cannot be made, the reason, so that the trial can say it."""
    try:
        return backend.prepare_inputs(request)
    except UnsupportedError as error:
        return {"unsupported": str(error), "source": request.source.identity(), "batch": request.batch}


def _options_of_key(backend: Backend, options: Mapping[str, Json]) -> dict[str, Json]:
    """All options that decide a result, without those that were added later and have their default."""
    model = backend.options_model
    return {
        name: value
        for name, value in options.items()
        if name not in model.not_in_key | model.places
        and (name not in model.added_later or value != model.model_fields[name].default)
    }


def _scene_inputs(scene: Scene) -> dict[str, Any]:
    """A picture and how it is cut; samples and how many of them are a pass."""
    if scene.kind == "samples":
        return {"sha256": scene.sha256, "samples": scene.patches}
    return {"sha256": scene.sha256, **scene.grid}


def _host(target: Target) -> dict[str, str]:
    """The declared host as a digest: another host is another trial, and its name stays out of the inputs."""
    return {} if target.host is None else {"host_sha256": hashlib.sha256(target.host.encode()).hexdigest()}


def _preferred_meters(target: Target) -> dict[str, list[str]]:
    """In order, where there are any: which of them a board can read comes out, and is no input."""
    return {"preferred_meters": list(target.preferred_meters)} if target.preferred_meters else {}


def _among(
    backend: Backend, offered: Sequence[Variant], depths: Sequence[float], precisions: Sequence[str]
) -> tuple[Variant, ...]:
    chosen: list[Variant] = []
    for depth in tuple(dict.fromkeys(depths)) or (None,):
        for precision in tuple(dict.fromkeys(precisions)) or (None,):
            matching = [
                variant
                for variant in offered
                if depth in (None, variant.depth_multiplier) and precision in (None, variant.precision)
            ]
            if not matching:
                wanted = " at ".join(str(part) for part in (depth, precision) if part is not None)
                raise UsageError(
                    f"{backend.name} has no variant {wanted} here".replace("  ", " "),
                    fix=f"it has {', '.join(variant.name for variant in offered) or 'none at all'}",
                )
            chosen += matching
    return tuple(chosen)


def _refuse_unknown(asked: Sequence[object], known: Sequence[object], what: str) -> None:
    for value in asked:
        if value not in known:
            raise UsageError(
                f"there is no {what} {value}", fix=f"known: {', '.join(str(item) for item in known)}"
            )
