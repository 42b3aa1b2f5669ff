"""`edgebench targets`: the boards that are declared, what they say of themselves, and cleaning them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgebench.cli.common import (
    DeviceOption,
    HostOption,
    JsonOption,
    PortOption,
    PowerModeOption,
    PythonOption,
    SetPowerModeOption,
    TargetsFileOption,
    complete_target,
    exit_where,
    say,
    stdout,
    targets_file_setting,
)
from edgebench.cli.panels import CommandGroup
from edgebench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
def list_(targets_file: TargetsFileOption = None, json_: JsonOption = False) -> None:
    """List the declared targets: name, device, host, meters; mass, size and power that a run takes."""
    from edgebench.report.inventories import print_targets
    from edgebench.run.targets import listed
    from edgebench.run.targets_file import read_targets

    declared = read_targets(targets_file_setting(targets_file))
    rows = [listed(target) for target in declared.targets]
    print_targets(stdout(), rows, None if declared.path is None else str(declared.path), as_json=json_)


@app.command()
def check(
    name: NamesArgument = None,
    device: DeviceOption = None,
    host: HostOption = None,
    port: PortOption = None,
    python: PythonOption = None,
    power_mode: PowerModeOption = None,
    set_power_mode: SetPowerModeOption = None,
    targets_file: TargetsFileOption = None,
    json_: JsonOption = False,
) -> None:
    """Connect to boards, name what they are, and say what is missing there, with the fix.

    Without a name, every target of the targets file; or one board by --host and --device.
    Nothing is measured. Exits with 1 where something stands in the way of a measurement.
    """
    from edgebench.report.inventories import print_checks
    from edgebench.run.measuring.preflight import checked

    flags = {
        **{"device": device or (), "host": host, "port": port, "python": python},
        **{"power_mode": power_mode or (), "set_power_mode": bool(set_power_mode)},
    }
    backends, targets = _chosen(name, targets_file, flags, every=True)
    checks = checked(targets, backends)
    print_checks(stdout(), checks, as_json=json_)
    exit_where(any(finding["level"] == "error" for check in checks for finding in check["findings"]))


@app.command()
def clean(
    name: NamesArgument = None,
    device: DeviceOption = None,
    host: HostOption = None,
    python: PythonOption = None,
    targets_file: TargetsFileOption = None,
) -> None:
    """Remove EdgeBench's files from boards: its cache folder there, and nothing else."""
    from edgebench.link.inspection import clean_target
    from edgebench.report import words

    flags = {"device": device or (), "host": host, "python": python}
    backends, targets = _chosen(name, targets_file, flags, every=False)
    for target in targets:
        cleaned = clean_target(target, backends[target.device])
        left = f"; {words.counted(cleaned.left, 'other file')} left alone" if cleaned.left else ""
        removed = f"removed {words.counted(cleaned.files, 'file')}, {words.size(cleaned.bytes)}{left}"
        say(f"{target.name}: {removed}")


def _chosen(
    names: list[str] | None, targets_file: Path | None, flags: Mapping[str, Any], *, every: bool
) -> tuple[Mapping[str, Backend], tuple[Target, ...]]:
    """The targets by name, or of the flags; with `every` all of the file where none was named."""
    from edgebench.run.config import run_config
    from edgebench.run.planner import choose
    from edgebench.run.targets import declared_once
    from edgebench.run.targets_file import FILE_NAME, read_targets, user_file

    targets_file = targets_file_setting(targets_file)
    if not names and not flags["device"]:
        declared = read_targets(targets_file).targets if every and flags["host"] is None else ()
        names = [target.name for target in declared]
        if not names:
            raise UsageError(
                "no target was named",
                why="" if flags["host"] is None else "--host says where, and not what is measured there",
                fix=f"name one of {FILE_NAME} (here or {user_file()}), or use --host with --device",
            )
    backends, targets = choose(run_config({"target": names or (), "targets_file": targets_file, **flags}))
    return backends, declared_once(targets)
