"""`edgebench report`: write a result's report again, or export it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgebench.cli.common import (
    BoardOption,
    DeclaredOption,
    DeclaredPowerOption,
    OptionalResultsArgument,
    ProfileOption,
    ReferenceOption,
    echo_path,
    read_profiles,
    require_alone,
    results_folder,
    say,
)


def report(
    results: OptionalResultsArgument = None,
    reference: ReferenceOption = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write: .html, .json, .md or .csv. Default: report.html in the result's folder; "
            "of --reference reference.html here",
        ),
    ] = None,
    profile: ProfileOption = None,
    board: BoardOption = None,
    declared_power: DeclaredPowerOption = None,
    declared: DeclaredOption = None,
    output_dir: Annotated[
        Path | None, typer.Option("--output-dir", metavar="DIR", help="Where results lie. Default: results")
    ] = None,
) -> None:
    """Write the report of a result, which needs nothing but its folder, or of published figures."""
    from edgebench.fit.judged_experiment import judge_folder
    from edgebench.fit.published_experiment import judge_published
    from edgebench.report.export import export, require_output

    if reference:
        require_alone(results, output_dir, board, declared_power, declared)
        file = file or Path("reference.html")
        require_output(file)
        echo_path(export(judge_published(read_profiles(profile) if profile else None), file))
        return
    folder = results_folder("latest" if results is None else results, output_dir)
    if file is not None:
        require_output(file)
    judged = judge_folder(
        folder, read_profiles(profile) if profile else None, declared_power or (), board or (), declared or ()
    )
    for note in judged.notes:
        say(f"note: {note}")
    echo_path(export(judged, file or folder / "report.html"))
