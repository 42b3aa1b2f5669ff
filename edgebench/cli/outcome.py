"""What commands end with: tables, the report's path, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from edgebench.cli.common import print_json, say, stderr, stdout
from edgebench.cli.failures import as_error, print_lines
from edgebench.errors import EXIT_ERROR

if TYPE_CHECKING:
    from rich.console import Console

    from edgebench.cache.objects import Cache
    from edgebench.fit.judged_experiment import Judged
    from edgebench.fit.profile import Profile
    from edgebench.fit.requirement import Requirement
    from edgebench.measure.lane_group import Outcome
    from edgebench.measure.progress import Observer
    from edgebench.plan.planner import Built


def show_judged(
    judged: Judged, *, strict: bool, json_: bool, figures: bool = True, axes: Sequence[Requirement] = ()
) -> int:
    """Print a judged result, as tables or as JSON; returns the exit code that it deserves.

    Without `figures` the verdicts alone, and what follows from them, with a Pareto front over `axes`.
    """
    from edgebench.fit.answers import answers
    from edgebench.fit.verdict import exit_code
    from edgebench.report.answer_paragraphs import print_answers
    from edgebench.report.terminal import print_result

    if json_:
        print_json(judged, axes)
    else:
        beyond = answers(judged.summaries, judged.profiles, judged.verdicts, axes)
        print_result(stdout(), judged.summaries, judged.verdicts, beyond.decisions, figures=figures)
        if not figures:
            print_answers(stdout(), beyond, judged.summaries)
    for note in judged.notes:
        say(f"note: {note}")
    for warning in judged.results.warnings:
        say(f"warning: {warning}")
    return exit_code(judged.verdicts, judged.summaries, strict=strict)


def show_published(judged: Judged, *, strict: bool, json_: bool) -> int:
    """Print the verdicts on published figures, as tables or as JSON; returns the exit code they deserve."""
    from edgebench.fit.verdict import exit_code
    from edgebench.report.published_table import print_published

    if json_:
        print_json(judged)
    else:
        print_published(stdout(), judged)
    return exit_code(judged.verdicts, judged.summaries, strict=strict)


def conclude(
    folder: Path, outcome: Outcome, profiles: Sequence[Profile], *, strict: bool, json_: bool
) -> None:
    """After a run: the report, the tables and the exit code; an interrupted run says how to go on.

    What ended the measuring on one host is an error, after the report of what the others measured.
    """
    from edgebench.fit.judged_experiment import judge_folder
    from edgebench.measure.signals import exit_code as interrupted_code
    from edgebench.printable import printable
    from edgebench.report.html import write_report
    from edgebench.store.layout import RUN_FILE

    judged = judge_folder(folder, profiles)
    parts = (judged.results, judged.summaries, judged.verdicts)
    report = write_report(*parts, folder / "report.html", judged.profiles)
    code = show_judged(judged, strict=strict, json_=json_)
    messages = stderr() if json_ else stdout()
    messages.print(f"report: {printable(report)}", soft_wrap=True, markup=False)
    if outcome.interrupted:
        say("interrupted: everything measured so far is kept; go on with the same command and --resume")
        code = interrupted_code()
    elif outcome.out_of_time:
        say("the time is over: everything measured is kept; go on with --resume")
    if outcome.faults and not outcome.interrupted:
        code = EXIT_ERROR
        for fault in outcome.faults:
            print_lines(as_error(fault, f"its traceback is in {folder / RUN_FILE}: report it"))
    raise typer.Exit(code)


def print_plan(console: Console, built: Built, cache: Cache, *, json_: bool) -> None:
    """The trials of a dry run, how long they will take and what they will resolve."""
    from edgebench.plan.cost import costs_of
    from edgebench.report.planned import planned_json, print_planned

    costs = costs_of(built.plan, cache)
    if json_:
        typer.echo(planned_json(built.plan, costs))
    else:
        print_planned(console, built.plan, costs)


def say_forecast(observer: Observer, built: Built, cache: Cache) -> None:
    """Before a run: what its sessions will not resolve, and how long devices take that are slow to load."""
    from edgebench.plan.cost import costs_of
    from edgebench.report.planned import forecast_notes, time_notes

    costs = costs_of(built.plan, cache)
    for note in (*forecast_notes(built.plan, costs), *time_notes(built.plan, costs)):
        observer.note(note)
