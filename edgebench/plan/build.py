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
from edgebench.plan.trials import Plan, choose_variants, make_targets, make_trials


@dataclass(frozen=True)
class Built:
    """A plan with the backends that it speaks of."""

    plan: Plan
    targets: tuple[Target, ...]
    backends: Mapping[str, Backend]


def choose(config: RunConfig) -> tuple[dict[str, Backend], tuple[Target, ...]]:
    """The backends and targets of a configuration; UsageError for whatever does not exist."""
    if not config.device:
        raise UsageError(
            "no device was named",
            fix=f"add --device NAME; known: {', '.join(registry.names('edgebench.backends'))}",
        )
    backends = {name: registry.backend(name) for name in dict.fromkeys(config.device)}
    for meter in config.meter:
        registry.probe_module(meter.partition(":")[0])
    return backends, make_targets(backends, config.set, config.meter)


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
    )
    return Built(plan, targets, backends)
