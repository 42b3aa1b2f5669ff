"""End of commands: tables, the report's path, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgebench.cli.common import (
    DetailsOption,
    JsonOption,
    OutputDirOption,
    ResultsArgument,
    StrictOption,
    print_json,
    results_folder,
    say,
    say_each,
    stderr,
    stdout,
)
from edgebench.cli.streams import as_error, print_lines
from edgebench.errors import EXIT_ERROR, UsageError
from edgebench.suggest import choose, short

if TYPE_CHECKING:
    from rich.console import Console

    from edgebench.judge.judged import Judged
    from edgebench.judge.requirements.profile import Profile
    from edgebench.judge.requirements.requirement import Requirement
    from edgebench.prepare.cache import Cache
    from edgebench.run.measuring.host_queue import Outcome
    from edgebench.run.measuring.progress import Observer
    from edgebench.run.planner import Built


def show_judged(
    judged: Judged, *, strict: bool, json_: bool, details: bool = False, axes: Sequence[Requirement] = ()
) -> int:
    """Print a judged result, for people or as JSON; returns the exit code that it deserves.

    Args:
        judged: the result, or published figures.
        strict: whether an undecided verdict has an exit code of its own.
        json_: whether to print the document.
        details: whether to print every section below decisions and matrix.
        axes: of one Pareto front in place of one a profile; it is printed with or without `details`.
    """
    from edgebench.judge.verdicts.front import fronts
    from edgebench.judge.verdicts.verdict import exit_code
    from edgebench.report.answer import pareto_sentences
    from edgebench.report.page import first_screen
    from edgebench.report.renderers.terminal import lines, print_blocks, print_first_screen, print_sections
    from edgebench.report.sharing import workers_table

    if json_:
        print_json(judged, axes)
    else:
        console, screen, trials = stdout(), first_screen(judged), judged.trials
        print_first_screen(console, screen, details=details)
        if details:
            from edgebench.report.missions import brief_missions
            from edgebench.report.sections import details as sections_of

            missions = brief_missions(judged)
            compared = fronts(trials, judged.profiles, axes)
            print_sections(console, sections_of(judged, compared, missions, screen.matrix))
        elif (workers := workers_table(trials)).rows:
            console.print()
            print_blocks(console, [workers])
        if axes and not details:
            lines(console, pareto_sentences(fronts(trials, judged.profiles, axes), trials), indent=2)
    say_each("note", judged.notes)
    say_each("warning", judged.results.warnings)
    return exit_code(judged.verdicts, judged.trials, strict=strict)


def conclude(
    folder: Path, outcome: Outcome, profiles: Sequence[Profile], *, strict: bool, json_: bool
) -> None:
    """Write the report and print the tables after a run; an interrupted run says how to go on.

    What ended the measuring on one host is an error, after the report of what the others measured.
    """
    from edgebench.files import write_output
    from edgebench.interruption import GO_ON
    from edgebench.interruption import exit_code as interrupted_code
    from edgebench.judge.judged import judge_folder
    from edgebench.report.notes import sessions_sentence
    from edgebench.report.renderers.forms import FORMS
    from edgebench.results.layout import RUN_FILE
    from edgebench.suggest import printable

    try:
        judged = judge_folder(folder, profiles)
        report = folder / "report.html"
        write_output(report, FORMS["html"].write(judged), "-o")
        code = show_judged(judged, strict=strict, json_=json_)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(GO_ON) from None
    messages = stderr() if json_ else stdout()
    record = judged.results.experiment
    if record.target_ci is None and not record.decide and (sentence := sessions_sentence(judged.trials)):
        messages.print(f"\n{sentence}", highlight=False)
    messages.print(f"\nReport: {printable(report)}", soft_wrap=True, markup=False)
    if outcome.interrupted:
        say(f"interrupted: {GO_ON}")
        code = interrupted_code()
    elif outcome.out_of_time:
        say("the time is over: everything measured is kept; go on with --resume")
    if outcome.faults and not outcome.interrupted:
        code = EXIT_ERROR
        for fault in outcome.faults:
            print_lines(as_error(fault, f"its traceback is in {folder / RUN_FILE}: report it"))
    raise typer.Exit(code)


def print_plan(console: Console, built: Built, cache: Cache, *, json_: bool) -> None:
    """Print the trials of a dry run, their sessions and the known time."""
    from edgebench.report.listings.planned import planned_json, print_planned
    from edgebench.run.forecast import forecasts_of

    forecasts = forecasts_of(built.plan, cache)
    if json_:
        typer.echo(planned_json(built.plan, forecasts))
    else:
        print_planned(console, built.plan, forecasts)


def say_warnings(observer: Observer, built: Built, cache: Cache) -> None:
    """Say before a run that a period is too short, and what takes long."""
    from edgebench.run.forecast import forecasts_of, warnings_of

    for warning in warnings_of(built.plan, forecasts_of(built.plan, cache)):
        observer.note(warning)


# `edgebench show`, the tables of a result, and `edgebench schema`, the JSON Schemas of what is written.


def show(
    results: ResultsArgument = "latest",
    output_dir: OutputDirOption = None,
    details: DetailsOption = False,
    strict: StrictOption = False,
    json_: JsonOption = False,
) -> None:
    """Print decision and table of a result, judged by the profiles of its run."""
    from edgebench.judge.judged import judge_folder

    judged = judge_folder(results_folder(results, output_dir))
    raise typer.Exit(show_judged(judged, strict=strict, json_=json_, details=details))


def _complete_schema(incomplete: str) -> list[str]:
    from edgebench.report.schemas import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


def schema(
    name: Annotated[
        str,
        typer.Argument(
            help="Document, such as result or session. Without it: their names.",
            autocompletion=_complete_schema,
        ),
    ] = "",
) -> None:
    """Print the JSON Schema of a stored record or of a document that --json prints."""
    import json

    from edgebench.report import schemas

    if not name:
        typer.echo("\n".join(schemas.NAMES))
    elif name in schemas.NAMES:
        typer.echo(json.dumps(schemas.schema(name), indent=2, ensure_ascii=False))
    else:
        raise UsageError(f"there is no schema {short(name)}", fix=choose(name, schemas.NAMES))
