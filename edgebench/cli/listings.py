"""`edgebench results`: the results of a folder."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.cli.common import (
    JsonOption,
    OutputDirOption,
    busy,
    complete_board,
    output_dir_setting,
    stdout,
)
from edgebench.cli.panels import CommandGroup


def results(
    last: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the newest N.", show_default=False)
    ] = None,
    output_dir: OutputDirOption = None,
    json_: JsonOption = False,
) -> None:
    """List results, newest first: name, date, targets, trials and verdicts.

    Other commands take these names, and `latest`, as RESULTS. Results that are
    damaged or of another version are listed below, with the reason.
    """
    from edgebench.report.history import results_listing
    from edgebench.results.listing import list_results

    folder = output_dir_setting(output_dir)
    with busy("reading results"):
        stored, unreadable = list_results(folder)
        rows = [result.overview(latest=number == 0) for number, result in enumerate(stored[:last])]
    results_listing(rows, unreadable, folder).show(stdout(), as_json=json_)


# `edgebench boards`: what is known of the boards that --board names, with sources.


app = CommandGroup(no_args_is_help=True, help="List and show boards: mass, size, power, and their sources.")


@app.command("list")
def list_(json_: JsonOption = False) -> None:
    """List the boards that --board takes, with mass, size and declared power."""
    from edgebench.board_catalogue import known_boards
    from edgebench.report.listings.boards import boards_listing

    boards_listing(dict(sorted(known_boards().items()))).show(stdout(), as_json=json_)


@app.command()
def show(
    board: Annotated[
        str,
        typer.Argument(
            metavar="NAME", autocompletion=complete_board, help="A board's name, or a TOML file with one."
        ),
    ],
    json_: JsonOption = False,
) -> None:
    """Show what is known of a board, each figure with its source."""
    from edgebench.board_catalogue import known_board
    from edgebench.report.listings.boards import board_listing

    board_listing(board, known_board(board)).show(stdout(), as_json=json_)


# `edgebench devices`: what can be measured here.


def devices(json_: JsonOption = False) -> None:
    """List the devices, their precisions and options, and the meters."""
    from edgebench import registry
    from edgebench.report.listings.devices import device_record, devices_listing

    backends = map(registry.backend, registry.loadable("edgebench.backends"))
    records = [device_record(backend) for backend in backends if not backend.for_tests]
    meters = {
        name: registry.probe_description(name)
        for name in registry.loadable("edgebench.probes")
        if not registry.is_monitor(name)
    }
    devices_listing(records, meters).show(stdout(), as_json=json_)
