"""`edgebench run`: measure variants on devices and judge them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from edgebench.cli.common import read_profiles, require_results_folder, stderr, stdout, with_settings
from edgebench.run.settings import HOW_LONG, OUTPUT


def _switch(flag: str, panel: str, help_text: str, *short: str) -> Any:
    return typer.Option(flag, *short, rich_help_panel=panel, help=help_text)


def _help_all(ctx: typer.Context, value: bool) -> None:
    if value:
        ctx.command.shows_all = True  # type: ignore[attr-defined]
        typer.echo(ctx.get_help())
        ctx.command.shows_all = False  # type: ignore[attr-defined]
        raise typer.Exit


@with_settings
def run(
    *,
    quick: Annotated[
        bool,
        _switch(
            "--quick",
            HOW_LONG,
            "--sessions 3 --passes 3, where these flags, --target-ci, --decide and --sustained leave "
            "them open",
        ),
    ] = False,
    resume: Annotated[
        bool,
        _switch("--resume", OUTPUT, "Go on with the newest unfinished run; with options, of these trials."),
    ] = False,
    dry_run: Annotated[
        bool, _switch("--dry-run", OUTPUT, "Print the trials and how long they will take.")
    ] = False,
    strict: Annotated[bool, _switch("--strict", OUTPUT, "Exit with 4 where a verdict is undecided.")] = False,
    json_: Annotated[bool, _switch("--json", OUTPUT, "Print one JSON document (schema version 1).")] = False,
    quiet: Annotated[bool, _switch("--quiet", OUTPUT, "No progress.", "-q")] = False,
    verbose: Annotated[bool, _switch("--verbose", OUTPUT, "More progress.", "-v")] = False,
    help_all: Annotated[
        bool,
        typer.Option(
            "--help-all", is_eager=True, callback=_help_all, rich_help_panel=OUTPUT, help="Show all options."
        ),
    ] = False,
    **flags: Any,
) -> None:
    """Measure models on devices, and judge them against profiles.

    Without --model: the variants of MobileNet v1 that come with EdgeBench.
    Each trial (a variant on a device) is measured in several fresh processes.
    The decision is printed; all results are kept in a folder with report.html.

    --host measures on another machine. --target names a device of targets.toml.

    Exit codes: 0 done, 1 error, 2 usage, 3 a requirement is not met,
    4 undecided (--strict), 5 some trials failed, or a model, depth or precision
    that was named is not supported, 130 interrupted (129 by a terminal that
    hangs up, 143 by SIGTERM).
    """
    from edgebench.cli.outcome import conclude, print_plan, say_forecast
    from edgebench.link.inspection import require_answer
    from edgebench.prepare.cache import Cache, using
    from edgebench.results.layout import check_name
    from edgebench.results.listing import newest_unfinished
    from edgebench.results.writing import require_writable
    from edgebench.run.config import resolve_from_machine, resolve_one, resolve_stored
    from edgebench.run.measuring.execution import Campaign, LocalMachines
    from edgebench.run.measuring.progress import Observer, StderrObserver, warnings_noted
    from edgebench.run.planner import build

    typed = {name for name, value in flags.items() if value not in (None, [])}
    if resume and not quick and typed <= {"output_dir", "name"}:
        output_dir = resolve_one("output_dir", flags["output_dir"]).output_dir
        resolved = resolve_stored(newest_unfinished(output_dir, flags["name"]), output_dir)
    else:
        resolved = resolve_from_machine(flags, quick=quick)
    require_results_folder(resolved.config.output_dir)
    profiles = read_profiles(resolved.config.profile)
    observer = Observer() if quiet else StderrObserver(stderr(), verbose=verbose)
    cache = Cache()
    if resolved.config.name is not None:
        check_name(resolved.config.name)
    if not dry_run and not resume:
        require_writable(resolved.config.output_dir)
    with using(cache):
        with warnings_noted(observer):
            fleet, declared = None, None
            if resolved.config.scheduler is not None:
                from edgebench.fleet.remote import RemoteMachines

                fleet = RemoteMachines(resolved.config, observer.note)
                declared = fleet.declared
            # A fleet's machines reach their targets' hosts themselves.
            contact = None if dry_run or fleet else require_answer
            try:
                built = build(
                    resolved.config,
                    cache,
                    observer.note,
                    declared,
                    contact,
                    list_only=dry_run,
                    report=observer.reads,
                )
            finally:
                observer.close()
        if dry_run:
            print_plan(stdout(), built, cache, json_=json_)
            return
        say_forecast(observer, built, cache)
        campaign = Campaign(
            built=built,
            resolved=resolved,
            profiles=tuple(profile.as_record() for profile in profiles),
            command=command_line(),
            resume=resume,
            cache=cache,
            observer=observer,
            machines=fleet or LocalMachines(built.backends),
        )
        with warnings_noted(observer):
            try:
                folder, outcome = campaign.carry_out()
            finally:
                observer.close()
    conclude(folder, outcome, profiles, strict=strict, json_=json_)


def command_line() -> tuple[str, ...]:
    """The command as it was typed, with the program's bare name."""
    import sys

    return ("edgebench", *sys.argv[1:])
