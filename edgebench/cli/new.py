"""`edgebench new`: a package of one's own for a device or a meter, to be filled in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgebench.cli.common import echo_path
from edgebench.cli.panels import CommandGroup

if TYPE_CHECKING:
    from edgebench.testing.scaffold import Kind

app = CommandGroup(
    no_args_is_help=True,
    help="Begin a package for a device or a meter of your own: it works as written, and is yours to change.",
)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Lower case, words joined by -: my-board.", show_default=False)
]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where the folder edgebench-NAME is made.")
]


@app.command()
def backend(name: NameArgument, output: OutputOption = Path()) -> None:
    """Write a package with a device NAME, a meter NAME-meter, and their tests.

    The device measures the shipped models with LiteRT on the processor and the
    meter gives made-up watts, so that `edgebench run --device NAME` works before
    anything is changed. Fill in backend.py (on this machine: options, chain of
    preparation, checks) and runner.py (on the board: load, infer). The tests try
    both against EdgeBench's contract and say how to repair a problem.

    Example: edgebench new backend my-board -o ~/src
    """
    _make("backend", name, output)


@app.command()
def meter(name: NameArgument, output: OutputOption = Path()) -> None:
    """Write a package with a meter NAME and its tests.

    The meter gives made-up watts from /proc/stat until you read your sensor in
    meter.py. It is run on the board, with Python 3.6 or newer alone.

    Example: edgebench new meter my-sensor
    """
    _make("meter", name, output)


def _make(kind: Kind, name: str, output: Path) -> None:
    from edgebench.files import require_folder
    from edgebench.testing.scaffold import make_package

    require_folder(output, "-o")
    folder = make_package(kind, name, output)
    echo_path(folder)
    tries = f"edgebench run --device {name} --quick" if kind == "backend" else "edgebench devices"
    steps = (
        "next:",
        f"  cd {folder}",
        "  pip install -e '.[test]'",
        "  pytest              # the contract: it passes now, keep it so",
        f"  {tries}",
        "  README.md says what to fill in",
    )
    typer.echo("\n".join(steps), err=True)
