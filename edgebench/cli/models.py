"""`edgebench models`: list, show and prepare models."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from edgebench.cli.common import JsonOption, complete_device, exit_where, stderr, stdout, with_options
from edgebench.cli.panels import CommandGroup

app = CommandGroup(no_args_is_help=True, help="List, show and prepare models.")


@app.command("list")
def list_(json_: JsonOption = False) -> None:
    """List what is there without any download.

    First the shipped variants with what is prepared of them and the accuracy
    that was measured, then every family by name with its widths.
    """
    from edgebench.prepare.cache import Cache
    from edgebench.prepare.description import list_families, list_variants
    from edgebench.report.listings.models import print_variants

    print_variants(stdout(), list_variants(Cache()), families=list_families(), as_json=json_)


@app.command()
def show(
    model: Annotated[
        str,
        typer.Argument(
            metavar="FILE|DIR|VARIANT|FAMILY",
            help="A .tflite, .onnx, .keras or .npz file, a SavedModel's folder, a prepared variant, or a "
            "family by name.",
        ),
    ],
    json_: JsonOption = False,
) -> None:
    """Show what a model is: inputs, outputs, operations, MACs, size.

    MACs are multiply-accumulates of convolutions, dense layers and matrix
    products, of one call, as published figures count them; an operation that
    does not tell its work leaves them out, with the reason. Parameters are what
    the file holds: converters fold normalisation into other weights.
    """
    from edgebench.prepare.cache import Cache
    from edgebench.prepare.description import show as look
    from edgebench.report.listings.models import print_model

    print_model(stdout(), look(model, Cache()), as_json=json_)


@app.command()
@with_options(
    *("model", "width", "depth", "precision", "labels", "layout", "input_scale", "input_mean"),
    *("input_shape", "inputs", "calibration", "artifact", "set"),
)
def prepare(
    *,
    device: Annotated[
        str, typer.Option("--device", "-d", metavar="NAME", autocompletion=complete_device, help="For what.")
    ] = "cpu",
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", help="Patches in one inference. Default: the device's, often 1"),
    ] = None,
    evaluate: Annotated[
        bool, typer.Option(help="Also measure each variant's accuracy on the 1,000 test images.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json_: JsonOption = False,
    **flags: Any,
) -> None:
    """Make the files that a device's runtime loads; say what they are and where.

    They are kept in a cache by content (EDGEBENCH_CACHE_DIR, else the user's
    cache folder); what is there already is not made again. A family without
    trained weights gets random ones, the same every time: for latency only.

    Exit code 5 where one cannot be made, or is not supported although its
    precision was named; the others are made all the same.
    """
    from edgebench import registry
    from edgebench.errors import EXIT_TRIALS_FAILED, UnsupportedError
    from edgebench.prepare.cache import Cache, using
    from edgebench.prepare.description import list_prepared
    from edgebench.prepare.user_model import input_choice
    from edgebench.records.model import Artifact
    from edgebench.report.listings.models import print_variants
    from edgebench.run.config import resolve
    from edgebench.run.measuring.progress import Observer, StderrObserver
    from edgebench.run.model_choice import requests_for, resolve_sources
    from edgebench.run.targets import make_targets, require_unswept
    from edgebench.run.trials import batches_of

    config = resolve(flags).config
    choice = input_choice(
        layout=config.layout, scale=config.input_scale, mean=config.input_mean, shapes=config.input_shape
    )
    backend = registry.backend(device)
    [patches] = batches_of(backend, () if batch is None else (batch,))
    observer = Observer() if quiet else StderrObserver(stderr())
    cache = Cache()
    with using(cache):
        chosen = resolve_sources(
            flags["model"] or (),
            cache=cache,
            progress=observer.note,
            widths=[*config.depth, *config.width],
            labels=config.labels,
            choice=choice,
            calibration=config.calibration,
            inputs=config.inputs,
        )
        target = require_unswept(make_targets({backend.name: backend}, replace(config, device=(device,))))
        requests = requests_for(chosen, backend, config.precision, patches, cache, target.options)
        outcomes = backend.prepare(requests, cache, observer.note)
        rows = list_prepared(requests, outcomes, cache, with_evaluations=evaluate, progress=observer.note)
    print_variants(stdout(), rows, as_json=json_)
    lacking = [outcome for outcome in outcomes if not isinstance(outcome, Artifact)]
    failed = any(config.precision or not isinstance(outcome, UnsupportedError) for outcome in lacking)
    exit_where(failed, EXIT_TRIALS_FAILED)
