"""What commands end with: tables, the report's path, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from edgebench.cli.common import print_json, stderr, stdout
from edgebench.errors import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from rich.console import Console

    from edgebench.fit.judgement import Judged
    from edgebench.fit.profile import Profile
    from edgebench.measure.experiment import Outcome
    from edgebench.models.cache import Cache
    from edgebench.plan.build import Built
    from edgebench.plan.estimate import Estimate
    from edgebench.plan.trials import Plan


def show_judged(judged: Judged, *, strict: bool, json_: bool, figures: bool = True) -> int:
    """Print a judged result, as tables or as JSON; returns the exit code that it deserves."""
    from edgebench.fit.verdict import exit_code
    from edgebench.report.terminal import print_result

    if json_:
        print_json(judged)
    else:
        print_result(stdout(), judged.summaries, judged.verdicts, figures=figures)
    for warning in judged.results.warnings:
        stderr().print(f"warning: {warning}", markup=False, soft_wrap=True)
    return exit_code(judged.verdicts, judged.summaries, strict=strict)


def conclude(
    folder: Path, outcome: Outcome, profiles: Sequence[Profile], *, strict: bool, json_: bool
) -> None:
    """After a run: the report, the tables and the exit code; an interrupted run says how to go on."""
    from edgebench.fit.judgement import judge_folder
    from edgebench.report.html import write_report

    judged = judge_folder(folder, profiles)
    report = write_report(judged.results, judged.summaries, judged.verdicts, folder / "report.html")
    code = show_judged(judged, strict=strict, json_=json_)
    messages = stderr() if json_ else stdout()
    messages.print(f"\nreport: {report}", soft_wrap=True, markup=False)
    if outcome.interrupted:
        stderr().print(
            "interrupted: everything measured so far is kept; go on with the same command and --resume"
        )
        code = EXIT_INTERRUPTED
    raise typer.Exit(code)


def print_plan(console: Console, built: Built, cache: Cache, *, json_: bool) -> None:
    """The trials of a dry run and how long they will take."""
    from edgebench.measure.experiment import IDLE_WINDOW_S
    from edgebench.measure.progress import clock_text
    from edgebench.plan.beside import meters_of
    from edgebench.plan.estimate import estimate, known_cost, total_s
    from edgebench.report.console import line, new_table

    plan = built.plan
    estimates = [
        estimate(
            known_cost(cache, trial.inputs, trial.variant, trial.macs),
            patches=plan.scene_of(trial).patches,
            passes=plan.passes,
            idle_s=IDLE_WINDOW_S if meters_of(trial.target) else 0.0,
            images=images.n if (images := plan.images_of(trial)) else 0,
            period_s=plan.period_s,
            sustained_s=plan.sustained_s,
        )
        for trial in plan.trials
    ]
    # Hosts are measured side by side: the whole takes as long as the slowest of them.
    by_host: dict[str | None, list[Estimate]] = {}
    for trial, one in zip(plan.trials, estimates, strict=True):
        by_host.setdefault(trial.target.host, []).append(one)
    whole_s = max((total_s(ones, plan.sessions) for ones in by_host.values()), default=0.0)
    if json_:
        import json

        trials = [
            {
                "key": trial.key,
                "target": trial.target.name,
                "variant": trial.variant.name,
                "batch": trial.batch,
                "estimated_s": one.session_s * plan.sessions + one.accuracy_s,
                "estimate_measured": one.measured,
            }
            for trial, one in zip(plan.trials, estimates, strict=True)
        ]
        summary = {
            "sessions": plan.sessions,
            "passes": plan.passes,
            "period_s": plan.period_s,
            "sustained_s": plan.sustained_s,
            "estimated_s": whole_s,
        }
        typer.echo(json.dumps({"schema_version": 1, "plan": summary, "trials": trials}, indent=2))
        return
    table = new_table(
        console, [("target", False), ("variant", False), ("batch", True), ("time", True), ("key", False)]
    )
    for trial, one in zip(plan.trials, estimates, strict=True):
        text = clock_text(one.session_s * plan.sessions + one.accuracy_s)
        table.add_row(
            trial.target.name,
            trial.variant.name,
            str(trial.batch),
            text if one.measured else f"~{text}",
            trial.key,
        )
    console.print(table)
    line(
        console,
        f"{len(plan.trials)} trials, {plan.sessions} sessions of {_steady(plan)} each, "
        f"{_pass_patches(plan)} a pass: about {clock_text(whole_s)}, preparation not included",
    )
    if not all(one.measured for one in estimates):
        line(console, "~ guessed from the number of operations: this machine has not measured it yet")


def _pass_patches(plan: Plan) -> str:
    """How many patches, or samples, a pass is; several numbers where models differ."""
    scenes = [plan.scene_of(trial) for trial in plan.trials] or [plan.scene]
    counts = ", ".join(str(count) for count in dict.fromkeys(one.patches for one in scenes))
    return f"{counts} {'samples' if all(one.kind == 'samples' for one in scenes) else 'patches'}"


def _steady(plan: Plan) -> str:
    """What a session's steady part is, in words."""
    often = "" if plan.period_s is None else f", one every {plan.period_s:g} s,"
    if plan.sustained_s is None:
        return f"{plan.passes} passes{often}"
    return f"{plan.sustained_s / 60:g} minutes of passes{often}"
