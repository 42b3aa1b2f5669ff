"""`edgebench fit`: judge a result against profiles."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.cli.common import (
    BoardOption,
    DeclaredOption,
    DeclaredPowerOption,
    JsonOption,
    OptionalResultsArgument,
    OutputDirOption,
    ProfileOption,
    ReferenceOption,
    StrictOption,
    read_profiles,
    require_alone,
    results_folder,
)


def fit(
    results: OptionalResultsArgument = None,
    reference: ReferenceOption = False,
    profile: ProfileOption = None,
    board: BoardOption = None,
    declared_power: DeclaredPowerOption = None,
    declared: DeclaredOption = None,
    output_dir: OutputDirOption = None,
    pareto: Annotated[
        str,
        typer.Option(
            metavar="QUANTITIES",
            help="The Pareto front over these, such as image_s,energy_j,accuracy or image_s:p99; by default "
            "over those of each profile that are known.",
        ),
    ] = "",
    strict: StrictOption = False,
    json_: JsonOption = False,
) -> None:
    """Judge a result against requirement profiles, by default those of its run.

    Below the verdicts stands what would pass where a target does not, the
    Pareto front and what excludes targets.

    With --board also by what a target's boards weigh, measure and draw by their
    makers, with --declared-power and --declared by its data sheet or label; nothing
    in the result's folder changes. Published figures (--reference) are judged by
    themselves, and each is marked as published.

    Exit codes: 0 no requirement is missed, 3 one is, 4 undecided (--strict),
    5 some trials failed.
    """
    from edgebench.cli.outcome import show_judged, show_published
    from edgebench.errors import UsageError
    from edgebench.judge.answers import axes_of
    from edgebench.judge.judged import judge_folder
    from edgebench.judge.published import judge_published

    profiles = read_profiles(profile) if profile else None
    axes = axes_of(pareto) if pareto else ()
    if reference:
        require_alone(results, output_dir, declared_power, declared, pareto)
        published = judge_published(profiles, boards=board or ())
        raise typer.Exit(show_published(published, strict=strict, json_=json_))
    folder = results_folder(results, output_dir)
    judged = judge_folder(folder, profiles, declared_power or (), board or (), declared or ())
    if not judged.profiles:
        raise UsageError(
            "there is nothing to judge against",
            why="the result was run without a profile and none was given",
            fix="add --profile P; `edgebench profiles list` names them",
        )
    raise typer.Exit(show_judged(judged, strict=strict, json_=json_, figures=False, axes=axes))
