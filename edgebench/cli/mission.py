"""`edgebench mission`: a result under a mission's schedule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from edgebench.cli.figure_files import require_figure, write_figure

if TYPE_CHECKING:
    from edgebench.judge.judged import Judged
    from edgebench.judge.mission import Mission


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
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the backlog: .png, .svg or .pdf.")
    ] = None,
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

    require_figure(figure)
    judged = judge_folder(results_folder(results, output_dir), read_profiles(profile) if profile else None)
    if not judged.profiles:
        raise UsageError(
            "there is no schedule to play",
            why="the result was run without a profile and none was given",
            fix="add --profile P; `edgebench profiles list` names them",
        )
    names = names_by_trial(judged.summaries)
    outcomes = list(missions(judged, judged.profiles, trial, days=days, seed=seed, names=names))
    if figure is not None:
        _draw(figure, outcomes, judged)
    print_either(
        json_,
        lambda: mission_document(outcomes, days, seed),
        lambda: print_missions(stdout(), outcomes, trial_names(judged.summaries)),
    )


def _draw(path: Path, outcomes: list[Mission], judged: Judged) -> None:
    """One profile's; UsageError for several."""
    from edgebench.errors import UsageError
    from edgebench.judge.judged import schedule_of
    from edgebench.judge.mission import cycle_of
    from edgebench.report.plots.mission import mission as draw_mission

    if len(judged.profiles) != 1:
        raise UsageError(
            f"a figure shows one profile's schedule, and there are {len(judged.profiles)}",
            fix=f"add --profile {judged.profiles[0].name}",
        )
    summaries = {summary.key: summary for summary in judged.summaries}
    cycle = cycle_of(schedule_of(judged.profiles[0]))
    write_figure(path, lambda figure: draw_mission(outcomes, summaries, cycle, ax=figure))
