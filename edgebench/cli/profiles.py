"""`edgebench profiles`: the requirement profiles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from edgebench.cli.common import (
    JsonOption,
    complete_profile,
    echo_path,
    exit_where,
    read_profiles,
    say_each,
    stdout,
)
from edgebench.cli.panels import CommandGroup
from edgebench.errors import EXIT_USAGE, UsageError

app = CommandGroup(no_args_is_help=True, help="List, show, check and write requirement profiles.")

ProfileArgument = Annotated[
    str, typer.Argument(metavar="P", autocompletion=complete_profile, help="A profile's name or TOML file.")
]


@app.command("list")
def list_(json_: JsonOption = False) -> None:
    """List the shipped profiles."""
    from edgebench.judge.requirements.profile import shipped_profiles
    from edgebench.report.listings.devices import profiles_listing

    profiles_listing(shipped_profiles()).show(stdout(), as_json=json_)


@app.command()
def show(profile: ProfileArgument, json_: JsonOption = False) -> None:
    """Show the schedule and requirements of a profile."""
    from edgebench.judge.requirements.profile import load_profile
    from edgebench.report.listings.devices import profile_listing

    profile_listing(load_profile(profile)).show(stdout(), as_json=json_)


@app.command()
def check(profile: ProfileArgument, json_: JsonOption = False) -> None:
    """Check a profile's file; all faults are printed, with their lines.

    Exit codes: 0 no fault, 2 a fault.
    """
    from edgebench.judge.requirements.profile import problems_of
    from edgebench.report.listings.devices import problems_listing

    problems = problems_of(profile)
    problems_listing(profile, problems).show(stdout(), as_json=json_)
    exit_where(bool(problems), EXIT_USAGE)
    [read] = read_profiles([profile])  # which warns of what is ignored
    say_each(
        "note",
        [
            f"{limit.name}: meters average over different times, so that their peaks differ; add the "
            "averaging time of the limit, such as averaging_s = 1.0"
            for limit in read.requirements
            if limit.metric.is_power and limit.statistic == "max" and limit.averaging_s is None
        ],
    )


@app.command()
def schema() -> None:
    """Print the JSON Schema of a profile's file, for an editor's completion.

    Editors that know TOML (taplo, Even Better TOML) take it from a file's first
    line: #:schema ./profile.schema.json

    Example: edgebench profiles schema > profile.schema.json
    """
    import json

    from edgebench.judge.requirements.profile_file import profile_schema

    typer.echo(json.dumps(profile_schema(), indent=2, ensure_ascii=False))


TEMPLATE_SCHEDULE: Mapping[str, str | int] = {"cycle": "10 s", "images": 1}
TEMPLATE_LIMITS = (
    "accuracy=90 %", "power_peak_w=5 W", "energy_j=10 J", "mass_g=150 g", "size_mm=100 x 70 x 30 mm",
)  # fmt: skip


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the profile.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: NAME.toml"),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title in reports, one line.")] = "",
    extends: Annotated[
        str,
        typer.Option(
            metavar="P",
            autocompletion=complete_profile,
            help="A profile whose schedule and requirements are copied.",
        ),
    ] = "",
    cycle: Annotated[
        str, typer.Option(metavar="TIME", help="Time between two bursts of images: '95.65 min'.")
    ] = "",
    images: Annotated[int | None, typer.Option(metavar="N", help="Images per cycle.")] = None,
    burst: Annotated[str, typer.Option(metavar="TIME", help="Time in which a cycle's images arrive.")] = "",
    deadline: Annotated[
        str, typer.Option(metavar="TIME", help="Longest time from an image to its result: '1 h'.")
    ] = "",
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUANTITY[:STATISTIC]=LIMIT", help="A limit, such as power_peak_w='5 W'. Repeatable."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a profile with comments, from flags; without flags a template with example limits.

    Example: edgebench profiles new sky --cycle '1 d' --images 320 --limit mass_g='150 g'
    """
    from edgebench.files import require_file_name, write_output
    from edgebench.judge.requirements.profile import shipped_profiles
    from edgebench.judge.requirements.profile_file import limit_of, profile_text
    from edgebench.suggest import short

    path = output or Path(f"{name}.toml")
    require_file_name(path, "-o")
    if name in {profile.name for profile in shipped_profiles()}:
        raise UsageError(
            f"a profile that comes with EdgeBench is called {short(name)}",
            fix=f"choose another name, such as my-{name}; --extends {name} copies its requirements",
        )
    if path.exists() and not force:
        raise UsageError(f"{path} is there already", fix="name another by -o, or add --force to replace it")
    schedule: dict[str, str | int | None] = {
        "cycle": cycle, "images": images, "burst": burst, "deadline": deadline,
    }  # fmt: skip
    is_template = not (limit or extends or any(value not in (None, "") for value in schedule.values()))
    limits = [limit_of(text) for text in (TEMPLATE_LIMITS if is_template else limit or ())]
    schedule |= TEMPLATE_SCHEDULE if is_template else {}
    text = profile_text(limits, path.parent, name=name, title=title, extends=extends, **schedule)
    write_output(path, text.encode(), "-o")
    echo_path(path)
    if is_template:
        say_each("note", [f"its limits are examples: edit them, then edgebench profiles check {path}"])
