"""Which variants can be prepared with what is installed here; asked before anything that takes long."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.contract import Backend
from edgebench.errors import UnavailableError
from edgebench.plan.batches import batches_of
from edgebench.plan.model_choice import Chosen, variants_of
from edgebench.plan.run_settings import RunConfig
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.variant import Variant


def available_variants(
    target: Target, backend: Backend, chosen: Sequence[Chosen], config: RunConfig
) -> tuple[tuple[Variant, ...], str]:
    """The variants of a target that can be prepared, and a note that names the others; "" where all can.

    UnavailableError, on one line, where a depth or batch that was named lacks a package, or all of a model.
    """
    batches = batches_of(backend, config.batch)
    variants: list[Variant] = []
    left_out: dict[Variant, UnavailableError] = {}
    for model in chosen:
        asked = variants_of(model, backend, config.precision)
        lacking: dict[Variant, UnavailableError] = {}
        for variant in asked:
            for batch in batches:
                request = PrepareRequest(variant, batch, target.options, source=model.source)
                if (error := backend.missing(request)) is not None:
                    if config.depth or config.width or batch != backend.default_batch:
                        raise error
                    lacking[variant] = error
        if lacking and len(lacking) == len(asked):
            raise next(iter(lacking.values()))
        variants += [variant for variant in asked if variant not in lacking]
        left_out |= lacking
    if not left_out:
        return tuple(variants), ""
    names = ", ".join(variant.name for variant in list(left_out)[1:])
    also = f"; left out as well: {names}" if names else ""
    return tuple(variants), f"left out on {target.name}: {next(iter(left_out.values())).what}{also}"
