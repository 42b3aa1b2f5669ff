"""A result against profiles: `edgebench fit` judges it, `edgebench mission` simulates their schedules."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.cli.common import (
    BoardOption,
    DeclaredOption,
    DeclaredPowerOption,
    DetailsOption,
    JsonOption,
    OptionalResultsArgument,
    OutputDirOption,
    ProfileOption,
    ReferenceOption,
    ResultsArgument,
    StrictOption,
    judged_by,
    print_either,
    read_profiles,
    require_alone,
    results_folder,
    stdout,
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
            help="Print the Pareto front over these metrics, such as image_s,energy_j,accuracy or "
            "image_s:p99.",
        ),
    ] = "",
    details: DetailsOption = False,
    strict: StrictOption = False,
    json_: JsonOption = False,
) -> None:
    """Judge a result against requirement profiles. Default: those of its run.

    --board adds the mass, size and power that a board's maker states;
    --declared-power and --declared add values from a data sheet or label.
    Nothing is written.

    Exit codes: 0 no requirement is missed, 3 a requirement is missed,
    4 undecided (--strict), 5 some trials failed.
    """
    from dataclasses import replace

    from edgebench.cli.outcome import show_judged
    from edgebench.errors import UsageError
    from edgebench.judge.judged import judge_folder
    from edgebench.judge.verdicts.front import axes_of

    profiles = read_profiles(profile) if profile else None
    axes = axes_of(pareto) if pareto else ()
    if reference:
        from edgebench.judge.published import judge_published

        require_alone(results, output_dir, declared_power, declared, pareto)
        published = judge_published(profiles, boards=board or ())
        raise typer.Exit(show_judged(published, strict=strict, json_=json_, details=details))
    folder = results_folder(results, output_dir)
    judged = judge_folder(folder, profiles, declared_power or (), board or (), declared or ())
    if not judged.profiles:
        raise UsageError(
            "there is nothing to judge against",
            why="the result was run without a profile and none was given",
            fix="add --profile P; `edgebench profiles list` names them",
        )
    judged = replace(judged, options=judged_by(profile, board, declared_power, declared))
    raise typer.Exit(show_judged(judged, strict=strict, json_=json_, details=details, axes=axes))


def mission(
    results: ResultsArgument = "latest",
    profile: ProfileOption = None,
    trial: Annotated[
        str,
        typer.Option(metavar="NAME|KEY", help="Only these trials, by name ('0.5 fp32'), variant or key."),
    ] = "",
    days: Annotated[
        float,
        typer.Option(
            metavar="DAYS",
            min=0.001,
            max=1e6,
            help="Length of the mission, split among a trial's sessions.",
        ),
    ] = 1000.0,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random draws.")] = 0,
    output_dir: OutputDirOption = None,
    json_: JsonOption = False,
) -> None:
    """Simulate a mission from measured latencies: duty cycle, backlog, age of results, energy.

    The profile's schedule says when images arrive. Default: the profiles of the
    run. Each image takes the time of a measured pass, drawn from one session at
    a time; intervals are over sessions.
    """
    from edgebench.errors import UsageError
    from edgebench.judge.judged import judge_folder, missions
    from edgebench.report.missions import mission_document, print_missions
    from edgebench.report.tables import names_by_trial, trial_names

    judged = judge_folder(results_folder(results, output_dir), read_profiles(profile) if profile else None)
    if not judged.profiles:
        raise UsageError(
            "there is no schedule to play",
            why="the result was run without a profile and none was given",
            fix="add --profile P; `edgebench profiles list` names them",
        )
    names = names_by_trial(judged.trials)
    outcomes = list(missions(judged, judged.profiles, trial, days=days, seed=seed, names=names))
    print_either(
        json_,
        lambda: mission_document(outcomes, days, seed),
        lambda: print_missions(stdout(), outcomes, trial_names(judged.trials)),
    )
