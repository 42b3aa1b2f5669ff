"""`edgebench profiles`: the requirement profiles."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.cli.common import JsonOption, stdout
from edgebench.cli.completions import complete_profile

app = typer.Typer(no_args_is_help=True, help="List and show requirement profiles.")


@app.command("list")
def list_(json_: JsonOption = False) -> None:
    """List the shipped profiles."""
    from edgebench.fit.profile import shipped_profiles
    from edgebench.report.listings import print_profiles

    print_profiles(stdout(), [listed.as_record() for listed in shipped_profiles()], as_json=json_)


@app.command()
def show(
    profile: Annotated[
        str,
        typer.Argument(metavar="P", autocompletion=complete_profile, help="A profile's name or TOML file."),
    ],
    json_: JsonOption = False,
) -> None:
    """Show a profile's requirements, with the limits that they come to."""
    from edgebench.fit.profile import load_profile
    from edgebench.report.listings import print_profile

    print_profile(stdout(), load_profile(profile).as_record(), as_json=json_)
