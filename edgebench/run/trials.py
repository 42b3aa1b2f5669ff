"""Targets x variants x batches become trials, each with a key that hashes whatever decides its result."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edgebench.contract import Backend
from edgebench.errors import UnsupportedError, UsageError
from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.prepare.formats import refusal_of
from edgebench.prepare.image_sets import subset
from edgebench.prepare.images import ReadingOptions
from edgebench.records.model import SHIPPED, ModelSource, PrepareRequest
from edgebench.records.session import MeasurePlan, Pace, Share
from edgebench.records.target import Target
from edgebench.records.values import (
    DEPTH_MULTIPLIERS,
    PRECISIONS,
    STRETCH,
    ImageSet,
    Json,
    Report,
    Resize,
    Scene,
    Variant,
)
from edgebench.run.meters import gives_windows, least_steady_s, meters_of
from edgebench.run.settings import RunConfig
from edgebench.run.sharing import Sharing

# How much a device measures: passes or windows, patches of the scene, images for accuracy.


def require_patches_taken(config: RunConfig, backends: Collection[Backend]) -> None:
    """UsageError where a number of patches is named and no device measures a part of the scene."""
    names = [backend.name for backend in backends if backend.default_patches is None]
    if config.patches is not None and len(names) == len(backends):
        raise UsageError(
            f"--patches: {', '.join(names)} {'measures' if len(names) == 1 else 'measure'} whole scenes",
            why="each pass goes through all patches; the number is for devices that measure windows of "
            "a patch, or a part of the scene",
            fix="leave --patches out; smaller scenes come by --scene, --patch or --stride",
        )


def patches_of(config: RunConfig, backend: Backend, scene: Scene) -> int | None:
    """How many patches of the scene a device measures; None where its passes go through all.

    UsageError for more than the scene has, or than there are windows.
    """
    default = backend.default_patches
    if default is None:
        return None
    if config.patches is None:
        windows = config.passes if backend.gives_windows and config.passes is not None else default
        return min(default, windows, scene.patches)
    if config.patches > scene.patches:
        raise UsageError(
            f"--patches {config.patches} is more than the scene has",
            why=f"{scene.name} has {scene.patches}",
            fix=f"write --patches N with N from 1 to {scene.patches}",
        )
    if backend.gives_windows and config.passes is not None and config.patches > config.passes:
        raise UsageError(
            f"--patches {config.patches} is more than the {config.passes} windows of a session",
            why=f"a window of {backend.name} is of one patch, and passes are its windows",
            fix=f"add --passes {config.patches}, or leave --passes out: there are then enough",
        )
    return config.patches


def passes_of(config: RunConfig, backend: Backend, scene: Scene) -> int:
    """How many steady passes, or windows, a session of a device has: a window for each patch at least."""
    if config.passes is not None:
        return config.passes
    patches = patches_of(config, backend, scene) if backend.gives_windows else None
    return max(backend.default_passes, patches or 1)


def wanted_images(config: RunConfig, backend: Backend) -> int | None:
    """Number of images that a device's accuracy is taken on; None: all."""
    return backend.default_accuracy_images if config.accuracy_images is None else config.accuracy_images


def reading_options(
    config: RunConfig, backends: Collection[Backend], *, list_only: bool, report: Report
) -> ReadingOptions:
    """Reading of the user's pictures: those that any of the run's devices takes.

    Raises UsageError as `resize_of` does.
    """
    return ReadingOptions(
        counts=frozenset(wanted_images(config, backend) for backend in backends),
        seed=config.seed,
        resize=resize_of(config),
        skip_unreadable=config.skip_unreadable,
        list_only=list_only,
        report=report,
    )


def images_of(config: RunConfig, backend: Backend, images: ImageSet | None, cache: Cache) -> ImageSet | None:
    """The images that a device's accuracy is taken on: all, or so many of each class as is its share."""
    wanted = wanted_images(config, backend)
    if images is None or wanted is None:
        return images
    return subset(images, wanted, config.seed, cache)


CROP_SHARE = 0.875
"""Share of a crop where none is named: 224 of 256 pixels, as for most published accuracies on ImageNet."""


def resize_of(config: RunConfig) -> Resize:
    """The way in which the user's pictures are resized.

    Raises UsageError for a choice that no picture is read with.
    """
    if config.resize == "stretch" and config.crop_share is None:
        return STRETCH
    if config.images is None and config.calibration is None:
        raise UsageError(
            "--resize and --crop-share are for pictures of yours",
            why="neither --images nor --calibration names any",
            fix="add --images DIR, or leave them out",
        )
    if config.resize != "crop" and config.crop_share is not None:
        raise UsageError(
            "--crop-share is for --resize crop",
            why=f"--resize {config.resize} cuts nothing off",
            fix="add --resize crop, or leave it out",
        )
    share = config.crop_share or CROP_SHARE
    return Resize(config.resize, share if config.resize == "crop" else None)


def images_note(config: RunConfig, images: ImageSet | None) -> str:
    """What is to be known where fewer images are there than were asked for; "" where there are enough."""
    if images is None or config.accuracy_images is None:
        return ""
    available = images.listing.n if images.listing else images.units
    if config.accuracy_images <= available:
        return ""
    return f"--accuracy-images {config.accuracy_images}: {images.name} has {available}, and all are taken"


# The batches that a run measures on a device: those that were asked for, else the device's own.


def batches_of(backend: Backend, asked: Sequence[int]) -> tuple[int, ...]:
    """The batches, each once, in patches; the device's default where none was asked for.

    UsageError for one that the device does not take.
    """
    for batch in asked:
        if not 1 <= batch <= backend.most_batch:
            most = backend.most_batch
            takes = "one patch at a time" if most == 1 else f"1 to {most} patches in one inference"
            raise UsageError(
                f"{backend.name} does not take a batch of {batch}",
                why=f"it takes {takes}",
                fix="leave --batch out" if most == 1 else f"write --batch N with N from 1 to {most}",
            )
    return tuple(dict.fromkeys(asked)) or (backend.default_batch,)


MEASURING_PROTOCOL = 3
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
    alone: tuple[PlannedTrial, ...] = ()  # of each of several workers: the trial of its variant alone

    @property
    def share(self) -> Share | None:
        """How several workers share the device's cores; None for one worker."""
        share: Share | None = self.inputs["settings"].get("sharing", {}).get("share")
        return share

    @property
    def patches(self) -> int | None:
        """How many patches of the scene are measured; None where its passes go through all."""
        patches: int | None = self.inputs["settings"].get("patches")
        return patches

    @property
    def concurrency(self) -> int:
        """Inferences that the device has in flight."""
        return int(self.inputs["settings"]["concurrency"])


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
class Plan(Pace):
    """The trials of one experiment and how often each is measured.

    `scene` and `images` are those of the trials that have none of their own.
    """

    trials: tuple[PlannedTrial, ...]
    scene: Scene
    images: ImageSet | None
    sessions: int
    passes: int
    seed: int
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

    def session_plan(self, trial: PlannedTrial, images: ImageSet | None) -> MeasurePlan:
        """Plan of one session of the trial, with accuracy on these images or without."""
        return MeasurePlan(
            scene=self.scene_of(trial),
            passes=self.passes_of(trial),
            **self.pace_fields(),
            least_s=least_steady_s(trial.target),
            images=images,
            patches=trial.patches,
        )

    @property
    def steady_text(self) -> str:
        """Content of a session's steady part: `10 passes`, or `10 passes or 5 windows` if devices differ."""
        counts = {(self.passes_of(trial), gives_windows(trial.target)): None for trial in self.trials}
        texts = []
        for count, windows in counts or {(self.passes, False): None}:
            unit, units = ("window", "windows") if windows else ("pass", "passes")
            texts.append(f"{count} {unit if count == 1 else units}")
        return " or ".join(texts)

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


def pace_of(config: RunConfig | None) -> Pace:
    """The pace that a run asks for. Default: back to back."""
    if config is None:
        return Pace()
    sustained_s = None if config.sustained is None else 60.0 * config.sustained
    return Pace(period_s=config.period, sustained_s=sustained_s)


def make_trials(
    targets: Sequence[Target],
    backends: Mapping[str, Backend],
    variants: Mapping[str, Sequence[Variant]],
    *,
    batches: Sequence[int] = (),
    scene: Scene,
    images: ImageSet | None,
    model_data: Mapping[str, ModelData] | None = None,
    target_data: Mapping[str, ModelData] | None = None,
    config: RunConfig | None = None,
    images_for: ImagesFor | None = None,
    sharings: Sequence[Sharing] = (),
) -> tuple[PlannedTrial, ...]:
    """The trials, in the order in which tables show them; `variants` are by target or backend.

    Without `batches` each backend's default is taken; UsageError for one that a backend does not take.
    `model_data` has, by the variants' family, what trials of other models than the shipped one need;
    `target_data`, by target, what those with pictures of their own do. `config` names how much the run
    measures; without `images_for` accuracy is taken on all images. With `sharings` each target has the trials
    of all variants involved alone, and then, for each sharing, a target of its own with those together.
    """
    # Absent where they are not asked for: keys of back-to-back trials are what they always were.
    paced = {name: value for name, value in pace_of(config).pace_fields().items() if value is not None}
    trials: list[PlannedTrial] = []
    for target in targets:
        backend = backends[target.device]
        chosen = tuple(variants[target.name if target.name in variants else target.device])
        alone: dict[tuple[Variant, int], PlannedTrial] = {}
        involved = [other for sharing in sharings for own in chosen for other in sharing.variants(own)]
        for variant in dict.fromkeys((*chosen, *involved)):
            for batch in batches_of(backend, batches):
                own = (target_data or {}).get(target.name) or (model_data or {}).get(variant.family)
                source = SHIPPED if own is None else own.source
                request = PrepareRequest(variant, batch, target.options, source=source)
                timed, available = (scene, images) if own is None else (own.scene, own.images)
                tested = available if images_for is None else images_for(backend, own)
                if tested != available:
                    own = replace(own or ModelData(SHIPPED, timed, None), images=tested)
                patches = patches_of(config or RunConfig(), backend, timed)
                measured = paced if patches is None else {**paced, "patches": patches}
                inputs = _inputs(target, request, backend, timed, tested, measured)
                passes = None if config is None else passes_of(config, backend, timed)
                alone[variant, batch] = PlannedTrial(
                    key_of(inputs), target, variant, batch, request, inputs, own, passes
                )
        trials += alone.values()
        for sharing in sharings:
            shared = sharing.target(target)
            trials += [
                _together(sharing, shared, [alone[other, batch] for other in sharing.variants(variant)])
                for variant, batch in alone
                if variant in chosen
            ]
    return tuple(trials)


def _together(sharing: Sharing, target: Target, alone: Sequence[PlannedTrial]) -> PlannedTrial:
    """The trial of several workers, whose variants `alone` measures; the first is its own."""
    own, *others = alone
    parts = [{name: other.inputs[name] for name in ("variant", "artifact")} for other in others]
    workers = {"with": parts} if sharing.others else {"workers": sharing.workers}
    settings = {**own.inputs["settings"], "sharing": {"share": sharing.share, **workers}}
    inputs = {**own.inputs, "settings": settings}
    return replace(own, key=key_of(inputs), target=target, inputs=inputs, alone=tuple(alone))


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
        # A picture and how it is cut; samples and how many of them are a pass.
        "scene": {
            "sha256": scene.sha256,
            **({"samples": scene.patches} if scene.kind == "samples" else scene.grid),
        },
        "images": images.sha256 if images else None,
        **(
            {"labels": [images.labels_by, images.label_offset, images.labels]}
            if images and images.labels_by
            else {}
        ),
        # The names of a user's model may come from a label file that no artifact depends on.
        **(
            {"classes": list(request.source.class_names)}
            if images and request.source.is_users and request.source.class_names
            else {}
        ),
        **(
            {"resize": [images.reading.mode, images.reading.crop_share]}
            if images and images.reading and images.reading.mode != "stretch"
            else {}
        ),
        "target": {
            "name": target.declared_name,  # settings are in the key already, a sweep of them is not
            "device": target.device,
            "power_mode": target.power_mode,
            "meters": list(meters_of(target)),
            **({"set_power_mode": True} if target.set_power_mode else {}),  # which pins its clocks too
            **({"preferred_meters": list(target.preferred_meters)} if target.preferred_meters else {}),
            # As a digest: another host is another trial, and its name stays out of the inputs.
            **({"host_sha256": hashlib.sha256(target.host.encode()).hexdigest()} if target.host else {}),
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
        if refusal := refusal_of(backend, request):
            raise refusal
        return backend.prepare_inputs(request)
    except UnsupportedError as error:
        return {
            "unsupported": str(error),
            "source": request.source.identity(),
            "batch": request.batch,
        }


def _options_of_key(backend: Backend, options: Mapping[str, Json]) -> dict[str, Json]:
    """All options that decide a result, as results on disk have them: see BackendOptions."""
    model = backend.options_model
    left_out = model.not_in_key | model.places
    return {name: value for name, value in options.items() if name not in left_out}


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


# The order of sessions: rounds that interleave the trials, shuffled from a stored seed.


@dataclass(frozen=True)
class Turn:
    """One session to come: which trial, in which round."""

    round: int
    key: str


def turns(
    keys: Sequence[str], sessions: int, seed: int, *, finished: Mapping[str, int], together: frozenset[str]
) -> list[Turn]:
    """The sessions still to be measured, in order.

    Each round holds every trial once, shuffled by (seed, round), so that slow drifts of the machine fall
    on all trials alike. A trial with `finished` sessions skips its first rounds. Trials in `together`,
    whose placement is slow or manual, come after the rounds with all their sessions in a row.
    The order depends on the seed alone: a resumed experiment goes on where it was.
    """
    interleaved = [key for key in keys if key not in together]
    order: list[Turn] = []
    for number in range(sessions):
        row = list(interleaved)
        random.Random(f"{seed}/{number}").shuffle(row)
        order += [Turn(number, key) for key in row]
    for key in keys:
        if key in together:
            order += [Turn(number, key) for number in range(sessions)]
    return [turn for turn in order if turn.round >= finished.get(turn.key, 0)]
