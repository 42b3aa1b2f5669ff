"""`edgebench boards`: what is known of the boards that --board names, with sources."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.cli.common import JsonOption, stdout
from edgebench.cli.completions import complete_board
from edgebench.cli.panels import CommandGroup

app = CommandGroup(no_args_is_help=True, help="List and show boards: mass, size, power, and their sources.")


@app.command("list")
def list_(json_: JsonOption = False) -> None:
    """List the boards that --board takes, with mass, size and declared power."""
    from edgebench.plan.bodies import known_bodies
    from edgebench.report.board_tables import print_boards

    print_boards(stdout(), dict(sorted(known_bodies().items())), as_json=json_)


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
    from edgebench.plan.bodies import known_body
    from edgebench.report.board_tables import print_board

    print_board(stdout(), board, known_body(board), as_json=json_)
