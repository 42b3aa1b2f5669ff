"""`edgebench mission`: a result under a mission's schedule."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.cli.common import (
    JsonOption,
    OutputDirOption,
    ProfileOption,
    ResultsArgument,
    print_either,
    read_profiles,
    results_folder,
    stdout,
)


def mission(
    results: ResultsArgument = "latest",
    profile: ProfileOption = None,
    trial: Annotated[
        str,
        typer.Option(metavar="NAME|KEY", help="Only these trials, by name ('0.5 fp32'), variant or key."),
    ] = "",
    days: Annotated[
        float,
        typer.Option(min=0.001, max=1e6, help="How long the mission is; shared among a trial's sessions."),
    ] = 1000.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    output_dir: OutputDirOption = None,
    json_: JsonOption = False,
) -> None:
    """Play a result's latencies over a mission: duty cycle, backlog, age of results, energy.

    Images come as a profile's schedule says, by default those of its run. Each
    takes the time of one of the passes that were measured, a session's cycles
    those of the session's own passes; intervals are over sessions.
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
    names = names_by_trial(judged.summaries)
    outcomes = list(missions(judged, judged.profiles, trial, days=days, seed=seed, names=names))
    print_either(
        json_,
        lambda: mission_document(outcomes, days, seed),
        lambda: print_missions(stdout(), outcomes, trial_names(judged.summaries)),
    )
