"""From a configuration to a plan: backends, scene and images looked up, trials made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgebench import registry
from edgebench.contract import Backend, ImageSet, MeasurePlan, Progress, Scene, Target
from edgebench.data.images import load_images, load_scene
from edgebench.data.shipped import shipped_images, shipped_scene
from edgebench.errors import UsageError
from edgebench.models.cache import Cache
from edgebench.plan.config import MIN_SESSIONS, RunConfig
from edgebench.plan.targets import make_targets
from edgebench.plan.targets_file import read_targets
from edgebench.plan.trials import Plan, choose_variants, make_trials


@dataclass(frozen=True)
class Built:
    """A plan with the backends that it speaks of."""

    plan: Plan
    targets: tuple[Target, ...]
    backends: Mapping[str, Backend]


def choose(config: RunConfig) -> tuple[dict[str, Backend], tuple[Target, ...]]:
    """The backends and targets of a configuration; UsageError for whatever does not exist."""
    if not config.device and not config.target:
        raise UsageError(
            "no device was named",
            fix=f"add --device NAME or --target NAME; known devices: "
            f"{', '.join(registry.names('edgebench.backends'))}",
        )
    declared = read_targets(config.targets_file).named(config.target) if config.target else ()
    backends = {
        name: registry.backend(name)
        for name in dict.fromkeys((*config.device, *(one.device for one in declared)))
    }
    targets = make_targets(
        backends,
        config.set,
        config.meter,
        devices=config.device,
        declared=declared,
        host=config.host,
        python=config.python,
        power_mode=config.power_mode,
    )
    for meter in dict.fromkeys(meter for target in targets for meter in target.meters):
        registry.probe_module(meter.partition(":")[0])
    return backends, targets


def build(config: RunConfig, cache: Cache, progress: Progress) -> Built:
    """The whole plan; renders or reads scene and images once, and finds them in the cache afterwards."""
    if config.decide and not config.profile:
        raise UsageError(
            "decide needs something to decide",
            why="it ends a trial when every verdict on it is settled, and no profile was named",
            fix="add --profile NAME (`edgebench profiles list`), or leave --decide out",
        )
    backends, targets = choose(config)
    variants = {
        target.name: choose_variants(backends[target.device], config.depth, config.precision, target.options)
        for target in targets
    }
    progress("scene and images")
    scene, images = _pictures(config, backends, targets, cache)
    period_s = config.period
    sustained_s = None if config.sustained is None else 60.0 * config.sustained
    measured = MeasurePlan(scene, config.passes, period_s=period_s, sustained_s=sustained_s)
    for target in targets:
        backends[target.device].check_plan(target, measured, images, config.sessions)
    trials = make_trials(
        targets,
        backends,
        variants,
        batches=config.batch,
        scene=scene,
        images=images,
        period_s=period_s,
        sustained_s=sustained_s,
    )
    plan = Plan(
        trials=trials,
        scene=scene,
        images=images,
        sessions=config.sessions,
        passes=config.passes,
        seed=config.seed,
        period_s=period_s,
        sustained_s=sustained_s,
        retries=config.retries,
        telemetry=config.telemetry,
        target_ci=config.target_ci,
        decide=config.decide,
        min_sessions=MIN_SESSIONS,
        max_time_s=config.max_time,
    )
    return Built(plan, targets, backends)


def _pictures(
    config: RunConfig, backends: Mapping[str, Backend], targets: Sequence[Target], cache: Cache
) -> tuple[Scene, ImageSet | None]:
    """What was asked for, else what the only target brings itself, else what is shipped."""
    scene = load_scene(config.scene, cache) if config.scene else None
    images = load_images(config.images, cache) if config.images else None
    if len(targets) == 1 and (scene is None or images is None):
        own = backends[targets[0].device].pictures(targets[0].options, cache)
        if own is not None:
            return scene or own.scene, images or own.images
    return scene or shipped_scene(cache), images or shipped_images(cache, "test")
