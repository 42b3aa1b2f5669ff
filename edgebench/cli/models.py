"""`edgebench models`: list, show, prepare and train models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgebench.cli.common import (
    ArtifactOption,
    JsonOption,
    echo_path,
    say,
    stderr,
    stdout,
)
from edgebench.cli.completions import complete_device
from edgebench.cli.model_options import (
    CalibrationOption,
    InputMeanOption,
    InputScaleOption,
    InputShapeOption,
    InputsOption,
    LabelsOption,
    LayoutOption,
    ModelOption,
    WidthOption,
)
from edgebench.cli.panels import CommandGroup

app = CommandGroup(no_args_is_help=True, help="List, show, prepare and train models.")


def complete_family(incomplete: str) -> list[str]:
    """Names of the families for the shell."""
    from edgebench.models.families import catalogue

    return [name for name in catalogue.known() if name.startswith(incomplete)]


@app.command("list")
def list_(json_: JsonOption = False) -> None:
    """List what is there without any download.

    First the shipped variants with what is prepared of them and the accuracy
    that was measured, then every family by name with its widths.
    """
    from edgebench.cache.objects import Cache
    from edgebench.models.inspect.description import list_families
    from edgebench.models.prepare.inventory import list_variants
    from edgebench.report.listings import print_variants

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
    from edgebench.cache.objects import Cache
    from edgebench.models.inspect.description import show as look
    from edgebench.report.model_tables import print_model

    print_model(stdout(), look(model, Cache()), as_json=json_)


@app.command()
def prepare(
    device: Annotated[
        str, typer.Option("--device", "-d", metavar="NAME", autocompletion=complete_device, help="For what.")
    ] = "cpu",
    model: ModelOption = None,
    depth: Annotated[
        list[float] | None, typer.Option("--depth", metavar="A", help="Width of a family. Repeatable.")
    ] = None,
    width: WidthOption = None,
    precision: Annotated[
        list[str] | None, typer.Option("--precision", metavar="P", help="fp32, fp16 or int8. Repeatable.")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", help="Patches in one inference. Default: the device's, often 1"),
    ] = None,
    labels: LabelsOption = None,
    layout: LayoutOption = None,
    input_scale: InputScaleOption = None,
    input_mean: InputMeanOption = None,
    input_shape: InputShapeOption = None,
    inputs: InputsOption = None,
    calibration: CalibrationOption = None,
    artifact: ArtifactOption = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option of the device. Repeatable."),
    ] = None,
    evaluate: Annotated[
        bool, typer.Option(help="Also measure each variant's accuracy on the 1,000 test images.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json_: JsonOption = False,
) -> None:
    """Make the files that a device's runtime loads; say what they are and where.

    They are kept in a cache by content (EDGEBENCH_CACHE_DIR, else the user's
    cache folder); what is there already is not made again. A family without
    trained weights gets random ones, the same every time: for latency only.

    Exit code 5 where one cannot be made, or is not supported although its
    precision was named; the others are made all the same.
    """
    from edgebench import registry
    from edgebench.cache.objects import Cache
    from edgebench.cache.use import using
    from edgebench.errors import EXIT_TRIALS_FAILED, UnsupportedError
    from edgebench.measure.progress import SilentObserver, StderrObserver
    from edgebench.models.prepare.inventory import list_prepared
    from edgebench.models.user.input_choice import input_choice
    from edgebench.plan.batches import batches_of
    from edgebench.plan.config import resolve
    from edgebench.plan.model_choice import requests_for, resolve_sources
    from edgebench.plan.sweeps import require_unswept
    from edgebench.plan.targets import make_targets
    from edgebench.report.listings import print_variants
    from edgebench.vocabulary.artifact import Artifact

    flags = {
        "layout": layout,
        "input_scale": input_scale,
        "input_mean": input_mean,
        "input_shape": input_shape,
    }
    config = resolve(flags).config
    choice = input_choice(
        layout=config.layout, scale=config.input_scale, mean=config.input_mean, shapes=config.input_shape
    )
    backend = registry.backend(device)
    [patches] = batches_of(backend, () if batch is None else (batch,))
    observer = SilentObserver() if quiet else StderrObserver(stderr())
    cache = Cache()
    with using(cache):
        chosen = resolve_sources(
            model or (),
            cache=cache,
            progress=observer.note,
            widths=[*(depth or ()), *(width or ())],
            labels=labels,
            choice=choice,
            calibration=calibration,
            inputs=inputs,
        )
        settings = [*(set_ or ()), *([] if artifact is None else [f"artifact={artifact}"])]
        target = require_unswept(make_targets({backend.name: backend}, settings, ()))
        requests = requests_for(chosen, backend, precision or (), patches, cache, target.options)
        outcomes = backend.prepare(requests, cache, observer.note)
        rows = list_prepared(requests, outcomes, cache, evaluate=evaluate, progress=observer.note)
    print_variants(stdout(), rows, as_json=json_)
    lacking = [outcome for outcome in outcomes if not isinstance(outcome, Artifact)]
    if any(precision or not isinstance(outcome, UnsupportedError) for outcome in lacking):
        raise typer.Exit(EXIT_TRIALS_FAILED)


@app.command()
def train(
    family: Annotated[
        str,
        typer.Option(
            "--family", metavar="NAME", autocompletion=complete_family, help="`edgebench models list`."
        ),
    ] = "mobilenet_v1",
    depth: Annotated[
        float | None, typer.Option("--depth", "--width", metavar="A", help="Its width. Default: 0.25 or 1.0")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="A folder a class, or a CSV of paths and labels. Default: the shipped land-cover set",
        ),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(
            "--init",
            metavar="FILE",
            help="Weights to begin with: .npz of a training, or Keras's .h5; of other classes too.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Where they go (.npz). Default: FAMILY-WIDTH.npz"
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(min=0, help="Epochs at half the size.")] = 10,
    full_epochs: Annotated[int, typer.Option(min=0, help="Epochs at the full size, after those.")] = 3,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed: same split, same weights.")] = 7,
) -> None:
    """Train a family from scratch or from given weights, reproducibly.

    A fifth of --data is kept for validation: the very files that Keras's
    `image_dataset_from_directory(validation_split=0.2, seed=SEED)` keeps, so
    `--data flowers_photos --seed 123` has the split of the published study.
    Beside the weights go their record (.json), the validation images
    (.validation.csv, for `edgebench run --model W.npz --images`) and those of
    the training part that int8 is calibrated with (.calibration.csv).

    Needs TensorFlow (the extra `prepare`), which runs in a process of its own.
    """
    from edgebench.cache.objects import Cache
    from edgebench.models.families.catalogue import spec
    from edgebench.models.train.training_run import train as start
    from edgebench.vocabulary.variant import FAMILY

    known = spec(family)
    width = known.width(0.25 if depth is None and family == FAMILY else depth)
    done = start(
        cache=Cache(),
        family=family,
        depth_multiplier=width,
        data=data,
        init=init,
        output=output or Path(f"{family}{'' if width is None else f'-{width}'}.npz"),
        epochs=epochs,
        full_epochs=full_epochs,
        seed=seed,
        progress=say,
    )
    say(f"right on {done.validation_k} of {done.validation_n} validation images")
    echo_path(done.weights)
