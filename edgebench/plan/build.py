"""From a configuration to a plan: backends, scene and images looked up, trials made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgebench import registry
from edgebench.contract import Backend, Progress, Target
from edgebench.errors import UsageError
from edgebench.models.cache import Cache
from edgebench.models.own_choice import input_choice
from edgebench.plan.config import RunConfig
from edgebench.plan.material import Material, gather
from edgebench.plan.models import resolve_sources, variants_of
from edgebench.plan.targets import make_targets
from edgebench.plan.targets_file import read_targets
from edgebench.plan.trials import Given, Plan, choose_variants, make_trials


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
    """The whole plan; reads the models, renders or reads scene and images once, then finds them cached."""
    backends, targets = choose(config)
    if not config.model:
        # What does not exist is said before anything is read.
        for backend in backends.values():
            choose_variants(backend, config.depth, config.precision)
    chosen = resolve_sources(
        config.model,
        cache=cache,
        progress=progress,
        widths=config.width or config.depth,
        labels=config.labels,
        choice=input_choice(
            layout=config.layout,
            scale=config.input_scale,
            mean=config.input_mean,
            shapes=config.input_shape,
        ),
        calibration=config.calibration,
        inputs=config.inputs,
    )
    progress("scene and images")
    material = gather(chosen, config, cache)
    variants = {
        name: tuple(
            variant for one in material for variant in variants_of(one.chosen, backend, config.precision)
        )
        for name, backend in backends.items()
    }
    first = _main(material)
    period_s = config.period
    sustained_s = None if config.sustained is None else 60.0 * config.sustained
    trials = make_trials(
        targets,
        backends,
        variants,
        batches=config.batch,
        scene=first.scene,
        images=first.images,
        period_s=period_s,
        sustained_s=sustained_s,
        given={one.source.name: _given(one) for one in material if one is not first or one.source.own},
    )
    plan = Plan(
        trials=trials,
        scene=first.scene,
        images=first.images,
        sessions=config.sessions,
        passes=config.passes,
        seed=config.seed,
        period_s=period_s,
        sustained_s=sustained_s,
        retries=config.retries,
        telemetry=config.telemetry,
        notes=tuple(note for one in chosen if one.source.model for note in one.source.model.notes),
    )
    return Built(plan, targets, backends)


def _main(material: tuple[Material, ...]) -> Material:
    """Whose scene and images stand for the run: the first with both, else the first with a picture."""
    for wanted in (
        [one for one in material if one.images is not None],
        [one for one in material if one.scene.kind == "picture"],
    ):
        if wanted:
            return wanted[0]
    return material[0]


def _given(one: Material) -> Given:
    return Given(one.source, one.scene, one.images, one.images_reason)
