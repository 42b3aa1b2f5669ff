"""From a configuration to a plan: backends, scene and images looked up, trials made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgebench import registry
from edgebench.contract import Backend, Progress, Target
from edgebench.data.images import load_images, load_scene
from edgebench.data.shipped import shipped_images, shipped_scene
from edgebench.errors import UsageError
from edgebench.models.cache import Cache
from edgebench.plan.config import RunConfig
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
    backends, targets = choose(config)
    variants = {
        name: choose_variants(backend, config.depth, config.precision) for name, backend in backends.items()
    }
    progress("scene and images")
    scene = load_scene(config.scene, cache) if config.scene else shipped_scene(cache)
    images = load_images(config.images, cache) if config.images else shipped_images(cache, "test")
    period_s = config.period
    sustained_s = None if config.sustained is None else 60.0 * config.sustained
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
    )
    return Built(plan, targets, backends)
