"""`edgebench models` lists, shows and prepares models; `edgebench cache` shows and removes what is kept."""

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
    from edgebench.report.listings.models import variants_listing

    variants_listing(list_variants(Cache()), families=list_families()).show(stdout(), as_json=json_)


@app.command()
@with_options("keep_state")
def show(
    model: Annotated[
        str,
        typer.Argument(
            metavar="FILE|DIR|VARIANT|FAMILY",
            help="A .tflite, .onnx, .xml, .keras or .npz file, a SavedModel's folder, a prepared variant, or "
            "a family by name.",
        ),
    ],
    json_: JsonOption = False,
    **flags: Any,
) -> None:
    """Show what a model is: inputs, outputs, operations, MACs, size.

    MACs are multiply-accumulates of convolutions, dense layers and matrix
    products, of one call, as published figures count them; an operation that
    does not tell its work leaves them out, with the reason. Parameters are what
    the file holds: converters fold normalisation into other weights.
    """
    from edgebench.prepare.cache import Cache
    from edgebench.prepare.description import show as look
    from edgebench.report.listings.models import model_listing

    keep_state = bool(flags["keep_state"])
    model_listing(look(model, Cache(), keep_state=keep_state)).show(stdout(), as_json=json_)


@app.command()
@with_options(
    *(
        "model",
        "width",
        "depth",
        "precision",
        "labels",
        "label_offset",
        "layout",
        "input_scale",
        "input_mean",
    ),
    *("input_shape", "keep_state", "inputs", "calibration", "skip_unreadable", "resize", "crop_share"),
    *("artifact", "set"),
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

    Exit code 1 where one of them cannot be prepared; the others are made all
    the same.
    """
    from edgebench import registry
    from edgebench.errors import EXIT_ERROR
    from edgebench.prepare.cache import Cache, using
    from edgebench.prepare.description import list_prepared
    from edgebench.prepare.user_model import input_choice
    from edgebench.records.model import Artifact
    from edgebench.report.listings.models import variants_listing
    from edgebench.run.config import resolve
    from edgebench.run.measuring.progress import Observer, StderrObserver
    from edgebench.run.model_choice import requests_for, require_batch_axes, require_formats, resolve_sources
    from edgebench.run.targets import make_targets, require_unswept
    from edgebench.run.trials import batches_of, reading_options

    config = resolve(flags).config
    choice = input_choice(
        layout=config.layout,
        scale=config.input_scale,
        mean=config.input_mean,
        shapes=config.input_shape,
        keep_state=config.keep_state,
    )
    backend = registry.backend(device)
    [patches] = batches_of(backend, () if batch is None else (batch,))
    observer = Observer() if quiet else StderrObserver(stderr())
    cache = Cache()
    with using(cache):
        target = require_unswept(make_targets({backend.name: backend}, replace(config, device=(device,))))
        models = flags["model"] or ()
        require_formats(models, [(backend, target.options)])
        chosen = resolve_sources(
            models,
            cache=cache,
            progress=observer.note,
            widths=[*config.depth, *config.width],
            labels=config.labels,
            label_offset=config.label_offset,
            choice=choice,
            calibration=config.calibration,
            inputs=config.inputs,
            options=reading_options(config, [backend], list_only=False, report=observer.reads),
        )
        require_batch_axes(chosen, () if batch is None else (batch,))
        requests = requests_for(chosen, backend, config.precision, patches, cache, target.options)
        outcomes = backend.prepare(requests, cache, observer.note)
        rows = list_prepared(requests, outcomes, cache, with_evaluations=evaluate, progress=observer.note)
    variants_listing(rows).show(stdout(), as_json=json_)
    exit_where(not all(isinstance(outcome, Artifact) for outcome in outcomes), EXIT_ERROR)


# The cache of what was prepared.


cache = CommandGroup(
    no_args_is_help=True,
    help="Show and clean the cache: prepared models, scenes and images as pixels. Results are not in it.",
)


@cache.command("show")
def show_cache(json_: JsonOption = False) -> None:
    """Show what the cache holds, by kind: files, size, last use.

    The folder is EDGEBENCH_CACHE_DIR, else the user's cache folder. It keeps
    what takes long to make: models as runtimes load them, and scenes and images
    as pixels. All of it is made again when it is needed and is not there.
    """
    from edgebench.prepare.cache import Cache, foreign, list_files, totals
    from edgebench.report.listings.models import cache_listing

    kept = Cache()
    cache_listing(kept.root, totals(list_files(kept)), foreign(kept)).show(stdout(), as_json=json_)


@cache.command()
def clean(
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than",
            metavar="TIME",
            help="Only what was not used for so long: 30d, 12h, 90m. Default: everything",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and remove nothing.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Remove the cache's files, all of them or those not used for some time.

    Nothing is lost but time: the next run makes again what it needs. Only files
    that the cache itself has made are removed; other files in its folder
    stay, and so do results. Refused while a run or a preparation uses the cache.
    Scratch of a process that was killed is removed by the next use of the cache, too.

    edgebench cache clean --older-than 30d --dry-run     see what would go
    """
    import math
    import time

    from edgebench.errors import UsageError
    from edgebench.prepare.cache import Cache, foreign, list_files, remove, select, totals
    from edgebench.report.listings.models import cleaned_listing
    from edgebench.run.setting import duration_s

    before_s: float | None = None
    if older_than is not None:
        try:
            age_s = float(str(duration_s(older_than)))
        except ValueError:
            age_s = math.nan
        if not 0 <= age_s < math.inf:
            raise UsageError(f"--older-than: {older_than!r} is no time", fix="write it like 30d, 12h or 90m")
        before_s = time.time() - age_s
    kept = Cache()
    removed = select(list_files(kept), before_s) if dry_run else remove(kept, before_s)
    gone = {file.path for file in removed}
    left = totals(file for file in list_files(kept) if file.path not in gone)
    cleaned_listing(kept.root, totals(removed), left, foreign(kept), dry_run=dry_run).show(
        stdout(), as_json=json_
    )
