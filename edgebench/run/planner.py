"""From a configuration to a plan: backends, scene and images looked up, trials made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import UnavailableError, UsageError
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import shipped_images, shipped_scene
from edgebench.prepare.images import ReadingOptions, load_images, load_scene
from edgebench.prepare.user_model import input_choice
from edgebench.records.model import SHIPPED
from edgebench.records.session import MeasurePlan
from edgebench.records.target import Target
from edgebench.records.values import ImageSet, Pictures, Progress, Report, Scene, Variant
from edgebench.run.config import MIN_SESSIONS
from edgebench.run.meters import require_meters_of_their_own
from edgebench.run.model_choice import (
    Chosen,
    available_variants,
    gather,
    notes_of,
    require_batch_axes,
    require_formats,
    resolve_sources,
)
from edgebench.run.settings import RunConfig
from edgebench.run.sharing import sharings_of
from edgebench.run.targets import make_targets
from edgebench.run.targets_file import DeclaredTarget, read_targets
from edgebench.run.trials import (
    ModelData,
    Plan,
    batches_of,
    choose_variants,
    images_note,
    images_of,
    make_trials,
    pace_of,
    passes_of,
    patches_of,
    reading_options,
    require_patches_taken,
)


@dataclass(frozen=True)
class Built:
    """A plan with the backends that it speaks of."""

    plan: Plan
    targets: tuple[Target, ...]
    backends: Mapping[str, Backend]


def choose(
    config: RunConfig, declared: Sequence[DeclaredTarget] | None = None
) -> tuple[dict[str, Backend], tuple[Target, ...]]:
    """The backends and targets of a configuration; UsageError for whatever does not exist.

    `declared` are the targets that it names; None: they are those of its targets file.
    """
    if not config.device and not config.target:
        raise UsageError(
            "no device was named",
            fix=f"add --device NAME or --target NAME; known devices: "
            f"{', '.join(registry.names('edgebench.backends'))}",
        )
    if declared is None:
        declared = read_targets(config.targets_file).named(config.target) if config.target else ()
    backends = {
        name: registry.backend(name)
        for name in dict.fromkeys((*config.device, *(entry.device for entry in declared)))
    }
    targets = make_targets(backends, config, declared)
    meters = (meter for target in targets for meter in (*target.meters, *target.preferred_meters))
    for meter in dict.fromkeys(meters):
        registry.probe_module(meter.partition(":")[0])
    return backends, targets


def build(
    config: RunConfig,
    cache: Cache,
    progress: Progress,
    declared: Sequence[DeclaredTarget] | None = None,
    contact: Callable[[Sequence[Target]], None] | None = None,
    *,
    list_only: bool = False,
    report: Report = lambda name, done, total: None,
) -> Built:
    """The whole plan; reads the models, renders or reads scene and images once, then finds them cached.

    Args:
        config: the run's settings.
        cache: of scenes, images and artifacts.
        progress: told what is done.
        declared: as of `choose`.
        contact: called with the targets before any file is read.
        list_only: pictures of the user's are listed and not read, as for a dry run.
        report: told a set's name, and how many of how many of its pictures are read.
    """
    if config.decide and not config.profile:
        raise UsageError(
            "decide needs something to decide",
            why="it ends a trial when every verdict on it is settled, and no profile was named",
            fix="add --profile NAME (`edgebench profiles list`), or leave --decide out",
        )
    backends, targets = choose(config, declared)
    require_meters_of_their_own(targets)
    require_patches_taken(config, backends.values())
    options = reading_options(config, backends.values(), list_only=list_only, report=report)
    sharings = sharings_of(config, backends, targets)
    for target in targets:
        batches_of(backends[target.device], config.batch)  # before anything is read
    variants = _offered(config, backends, targets)
    measured = [target for target in targets if target.name not in variants]
    require_formats(config.model, [(backends[target.device], target.options) for target in measured])
    if contact is not None:
        contact(targets)
    measuring = {target.device: backends[target.device] for target in measured}
    chosen = _chosen(config, measuring, cache, progress, options)
    require_batch_axes(chosen, config.batch)
    left_out: list[str] = []
    lacking: dict[str, UnavailableError] = {}
    for target in measured:
        try:
            variants[target.name], note = available_variants(target, backends[target.device], chosen, config)
        except UnavailableError as error:
            if config.names_variants:
                raise
            lacking[target.name] = error
            note = f"{target.name} is left out: {error.what}"
        left_out += [note] if note else []
    if lacking and len(lacking) == len(targets):
        raise next(iter(lacking.values()))
    targets = tuple(target for target in targets if target.name not in lacking)
    progress("scene and images")
    model_pictures = gather(chosen, config, cache, options)
    own_pictures = _own_pictures(config, backends, [t for t in targets if t not in measured], cache, options)
    scene, images = _pictures(config, model_pictures, own_pictures.values(), cache, options)
    pictured = [note for data in model_pictures for note in notes_of(data)]
    sets = [images, *(data.images for data in model_pictures)]
    sets += [own.images for own in own_pictures.values()]
    fewer = [note for images_set in sets if (note := images_note(config, images_set))]
    notes = tuple(dict.fromkeys([*left_out, *pictured, *(images.notes if images else ()), *fewer]))
    for note in notes:
        progress(f"note: {note}")
    for target in targets:
        backend, timed = backends[target.device], own_pictures.get(target.name, Pictures(scene, images))
        one_session = MeasurePlan(
            timed.scene,
            passes_of(config, backend, timed.scene),
            patches=patches_of(config, backend, timed.scene),
            **pace_of(config).pace_fields(),
        )
        backend.check_plan(
            target, one_session, images_of(config, backend, timed.images, cache), config.sessions
        )
    main_backend = backends[targets[0].device]
    run_images = images_of(config, main_backend, images, cache)
    trials = make_trials(
        targets,
        backends,
        variants,
        batches=config.batch,
        scene=scene,
        images=run_images,
        model_data={data.source.name: data for data in model_pictures if data.source != SHIPPED},
        target_data={
            name: ModelData(SHIPPED, own.scene, own.images)
            for name, own in own_pictures.items()
            if own != Pictures(scene, images)
        },
        config=config,
        images_for=lambda backend, own: images_of(config, backend, own.images if own else images, cache),
        sharings=sharings,
    )
    for part in (part for trial in trials for part in trial.alone):
        if (lack := backends[part.target.device].missing(part.request)) is not None:
            raise lack
    plan = Plan(
        trials=trials,
        scene=scene,
        images=run_images,
        sessions=config.sessions,
        passes=passes_of(config, main_backend, scene),
        seed=config.seed,
        **pace_of(config).pace_fields(),
        retries=config.retries,
        telemetry=config.telemetry,
        target_ci=config.target_ci,
        decide=config.decide,
        min_sessions=MIN_SESSIONS,
        max_time_s=config.max_time,
        notes=(*dict.fromkeys(note for model in chosen for note in model.notes), *notes),
    )
    return Built(plan, tuple({trial.target.name: trial.target for trial in trials}.values()), backends)


def _offered(
    config: RunConfig, backends: Mapping[str, Backend], targets: Sequence[Target]
) -> dict[str, tuple[Variant, ...]]:
    """By target, the variants of those that bring their own, such as a replay; the others measure models."""
    offered = {}
    for target in targets:
        backend = backends[target.device]
        if backend.offers(target.options) is None:
            continue
        if config.model:
            raise UsageError(
                f"{target.name} has its own models",
                fix="leave --model out, or take another device",
            )
        offered[target.name] = choose_variants(backend, config.depth, config.precision, target.options)
    return offered


def _chosen(
    config: RunConfig,
    backends: Mapping[str, Backend],
    cache: Cache,
    progress: Progress,
    options: ReadingOptions,
) -> tuple[Chosen, ...]:
    """The models of the backends that measure any; what does not exist is said before anything is read."""
    if not backends:
        return ()
    if not config.model:
        for backend in backends.values():
            choose_variants(backend, config.depth, config.precision)
    return resolve_sources(
        config.model,
        cache=cache,
        progress=progress,
        widths=config.width or config.depth,
        labels=config.labels,
        label_offset=config.label_offset,
        choice=input_choice(
            layout=config.layout,
            scale=config.input_scale,
            mean=config.input_mean,
            shapes=config.input_shape,
            keep_state=config.keep_state,
            takes_grey=config.images is not None and config.inputs is None,
        ),
        calibration=config.calibration,
        inputs=config.inputs,
        options=options,
    )


def _own_pictures(
    config: RunConfig,
    backends: Mapping[str, Backend],
    targets: Sequence[Target],
    cache: Cache,
    options: ReadingOptions,
) -> dict[str, Pictures]:
    """By target, the pictures of those that bring their own; what the run names beats them."""
    scene = load_scene(config.scene, cache) if config.scene and targets else None
    images = load_images(config.images, cache, options=options) if config.images and targets else None
    if scene is not None and images is not None:
        return {target.name: Pictures(scene, images) for target in targets}
    pictures = {target.name: backends[target.device].pictures(target.options, cache) for target in targets}
    return {
        name: Pictures(scene or own.scene, images or own.images)
        for name, own in pictures.items()
        if own is not None
    }


def _pictures(
    config: RunConfig,
    model_pictures: Sequence[ModelData],
    own_pictures: Iterable[Pictures],
    cache: Cache,
    options: ReadingOptions,
) -> tuple[Scene, ImageSet | None]:
    """The run's scene and images: the first model's, else the first target's own, else the shipped ones."""
    # The first model's with both, else the first with a picture.
    models = sorted(model_pictures, key=lambda data: (data.images is None, data.scene.kind != "picture"))
    candidates: list[ModelData | Pictures] = [*models, *own_pictures]
    if candidates:
        return candidates[0].scene, candidates[0].images
    scene = load_scene(config.scene, cache) if config.scene else shipped_scene(cache)
    if config.images:
        return scene, load_images(config.images, cache, options=options)
    return scene, shipped_images(cache, "test")
