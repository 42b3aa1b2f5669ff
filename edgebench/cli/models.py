"""`edgebench models`: list, prepare and train the variants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgebench.cli.common import JsonOption, complete_device, stderr, stdout

app = typer.Typer(no_args_is_help=True, help="List, prepare and train the variants of MobileNet v1.")


@app.command("list")
def list_(json_: JsonOption = False) -> None:
    """List the variants: parameters, what is prepared, and the accuracy that was measured."""
    from edgebench.models.cache import Cache
    from edgebench.models.listing import list_variants
    from edgebench.report.lists import print_variants

    print_variants(stdout(), list_variants(Cache()), as_json=json_)


@app.command()
def prepare(
    device: Annotated[
        str, typer.Option("--device", "-d", metavar="NAME", autocompletion=complete_device, help="For what.")
    ] = "cpu",
    depth: Annotated[
        list[float] | None, typer.Option("--depth", metavar="A", help="0.25, 0.5 or 1.0. Repeatable.")
    ] = None,
    precision: Annotated[
        list[str] | None, typer.Option("--precision", metavar="P", help="fp32, fp16 or int8. Repeatable.")
    ] = None,
    batch: Annotated[int, typer.Option("--batch", metavar="N", min=1, max=1024, help="Patches a call.")] = 1,
    evaluate: Annotated[
        bool, typer.Option(help="Also measure each variant's accuracy on the 1,000 test images.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    json_: JsonOption = False,
) -> None:
    """Make the files that a device's runtime loads; say what they are and where.

    They are kept in a cache by content (EDGEBENCH_CACHE_DIR, else the user's
    cache folder); what is there already is not made again.
    """
    from edgebench import registry
    from edgebench.contract import PrepareRequest
    from edgebench.measure.progress import SilentObserver, StderrObserver
    from edgebench.models.cache import Cache
    from edgebench.models.listing import list_prepared
    from edgebench.plan.trials import choose_variants
    from edgebench.report.lists import print_variants

    backend = registry.backend(device)
    observer = SilentObserver() if quiet else StderrObserver(stderr())
    cache = Cache()
    options = backend.options_model().model_dump(mode="json")
    requests = [
        PrepareRequest(variant, batch, options)
        for variant in choose_variants(backend, depth or (), precision or ())
    ]
    made = backend.prepare(requests, cache, observer.note)
    rows = list_prepared(requests, made, cache, evaluate=evaluate, progress=observer.note)
    print_variants(stdout(), rows, as_json=json_)


@app.command()
def train(
    depth: Annotated[float, typer.Option("--depth", metavar="A", help="Depth multiplier.")] = 0.25,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="A folder a class. Default: the shipped land-cover set"),
    ] = None,
    init: Annotated[
        Path | None, typer.Option("--init", metavar="FILE", help="Weights to begin with: .npz or .weights.h5")
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where they go.")] = Path(
        "mobilenet_v1.npz"
    ),
    epochs: Annotated[int, typer.Option(min=0, help="Epochs at half the size.")] = 10,
    full_epochs: Annotated[int, typer.Option(min=0, help="Epochs at the full size, after those.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same weights.")] = 7,
) -> None:
    """Train MobileNet v1 from scratch or from given weights, reproducibly.

    Needs TensorFlow (`pip install 'edgebench[prepare]'`), which runs in a process of its own.
    """
    from edgebench.models.cache import Cache
    from edgebench.models.train import train as start

    observer = stderr()
    start(
        cache=Cache(),
        depth_multiplier=depth,
        data=data,
        init=init,
        output=output,
        epochs=epochs,
        full_epochs=full_epochs,
        seed=seed,
        progress=lambda text: observer.print(text, markup=False, soft_wrap=True),
    )
    typer.echo(output)
