"""`edgebench targets`: boards that are declared here; `edgebench fleet`: those of several hosts together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgebench.cli.common import (
    JsonOption,
    complete_target,
    exit_where,
    say,
    stdout,
    targets_file_setting,
    with_options,
)
from edgebench.cli.panels import CommandGroup
from edgebench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgebench.contract import Backend
    from edgebench.records.target import Target

app = CommandGroup(
    no_args_is_help=True,
    help="List, check and clean the boards of a targets file (targets.toml).",
)

NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME...", autocompletion=complete_target, help="Targets of the targets file."),
]


@app.command("list")
@with_options("targets_file")
def list_(*, json_: JsonOption = False, **flags: Any) -> None:
    """List the declared targets: name, device, host, meters; mass, size and power that a run takes."""
    from edgebench.report.listings.boards import targets_listing
    from edgebench.run.targets import listed
    from edgebench.run.targets_file import read_targets

    declared = read_targets(targets_file_setting(flags["targets_file"]))
    rows = [listed(target) for target in declared.targets]
    targets_listing(rows, None if declared.path is None else str(declared.path)).show(stdout(), as_json=json_)


@app.command()
@with_options("device", "host", "port", "python", "power_mode", "set_power_mode", "targets_file")
def check(*, name: NamesArgument = None, json_: JsonOption = False, **flags: Any) -> None:
    """Connect to boards, name what they are, and say what is missing there, with the fix.

    Without a name, every target of the targets file; or one board by --host and --device.
    Nothing is measured. Exits with 1 where something prevents a measurement.
    """
    from edgebench.report.listings.boards import print_checks
    from edgebench.run.measuring.preflight import checked

    backends, targets = _chosen(name, flags, every=True)
    checks = checked(targets, backends)
    print_checks(stdout(), checks, as_json=json_)
    exit_where(any(finding["level"] == "error" for check in checks for finding in check["findings"]))


@app.command()
@with_options("device", "host", "python", "targets_file")
def clean(*, name: NamesArgument = None, **flags: Any) -> None:
    """Remove EdgeBench's files from boards: its cache folder there, and nothing else."""
    from edgebench.link.inspection import clean_target
    from edgebench.report import words

    backends, targets = _chosen(name, flags, every=False)
    for target in targets:
        cleaned = clean_target(target, backends[target.device])
        left = f"; {words.counted(cleaned.left, 'other file')} left alone" if cleaned.left else ""
        removed = f"removed {words.counted(cleaned.files, 'file')}, {words.size(cleaned.size)}{left}"
        say(f"{target.name}: {removed}")


def _chosen(
    names: list[str] | None, flags: dict[str, Any], *, every: bool
) -> tuple[Mapping[str, Backend], tuple[Target, ...]]:
    """The targets by name, or of the flags; with `every` all of the file where none was named."""
    from edgebench.run.config import resolve
    from edgebench.run.planner import choose
    from edgebench.run.targets import declared_once
    from edgebench.run.targets_file import FILE_NAME, read_targets, user_file

    targets_file = targets_file_setting(flags["targets_file"])
    if not names and not flags["device"]:
        declared = read_targets(targets_file).targets if every and flags["host"] is None else ()
        names = [target.name for target in declared]
        if not names:
            raise UsageError(
                "no target was named",
                why="" if flags["host"] is None else "--host says where, and not what is measured there",
                fix=f"name one of {FILE_NAME} (here or {user_file()}), or use --host with --device",
            )
    backends, targets = choose(resolve(flags | {"target": names, "targets_file": targets_file}).config)
    return backends, declared_once(targets)


# Fleets: machines of several hosts that measure together, by Dask.

fleet = CommandGroup(
    no_args_is_help=True,
    help="Join machines with boards on several hosts to a fleet (needs the extra `fleet`).",
)

SchedulerArgument = Annotated[
    str,
    typer.Argument(metavar="SCHEDULER", help="Such as tcp://127.0.0.1:8786.", show_default=False),
]


@fleet.command()
@with_options("targets_file", "insecure", targets_file="The targets that this machine offers.")
def worker(
    scheduler: SchedulerArgument,
    *,
    worker_port: Annotated[
        int,
        typer.Option(metavar="PORT", show_default=False, help="Where it listens. Default: any port"),
    ] = 0,
    **flags: Any,
) -> None:
    """Offer this machine's targets to a fleet, and measure for its runs until Ctrl-C."""
    from edgebench.fleet.worker import serve

    targets_file = targets_file_setting(flags["targets_file"])
    serve(scheduler, targets_file, worker_port, say, insecure=bool(flags["insecure"]))


@fleet.command()
@with_options("insecure")
def status(scheduler: SchedulerArgument, *, json_: JsonOption = False, **flags: Any) -> None:
    """List a fleet's machines: their targets, what they measure, and who waits."""
    from edgebench.fleet.scheduler import ask, status_of
    from edgebench.report.listings.boards import print_machines

    machines = ask(scheduler, insecure=bool(flags["insecure"]))
    print_machines(stdout(), status_of(machines), as_json=json_)
