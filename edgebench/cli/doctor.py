"""`edgebench doctor`: what stands in the way of a trustworthy measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from edgebench.cli.common import (
    HostOption,
    JsonOption,
    MeterOption,
    PortOption,
    PowerModeOption,
    PythonOption,
    SetOption,
    SetPowerModeOption,
    TargetOption,
    TargetsFileOption,
    stdout,
    targets_file_setting,
)
from edgebench.cli.completions import complete_device
from edgebench.errors import EXIT_ERROR, UsageError


def doctor(
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device",
            "-d",
            metavar="NAME",
            autocompletion=complete_device,
            help="Check this one only. Repeatable. Default: every device",
        ),
    ] = None,
    target: TargetOption = None,
    targets_file: TargetsFileOption = None,
    host: HostOption = None,
    port: PortOption = None,
    python: PythonOption = None,
    set_: SetOption = None,
    power_mode: PowerModeOption = None,
    set_power_mode: SetPowerModeOption = None,
    meter: MeterOption = None,
    json_: JsonOption = False,
) -> None:
    """Check runtimes, governor, load, memory, clock and temperature; each problem comes with its fix.

    Of this machine, or of boards with --host or --target; `edgebench targets check` says more of a board.
    With --meter alone only meters are checked: each step from its address to the limits that it can decide.

    Exit code 1 where a device or a meter that was named cannot be used; without a name, where no device can.
    """
    from edgebench.cli.meters import machine, require_meter
    from edgebench.measure.preflight import meter_preflight, preflight
    from edgebench.plan.config import run_config
    from edgebench.plan.planner import choose
    from edgebench.report.listings import print_findings

    for name in meter or ():
        require_meter(name)
    if meter and not device and not target:
        findings = meter_preflight([machine(host, python)], meter)
        print_findings(stdout(), findings, as_json=json_)
        _exit_where_a_meter_is_not_usable(findings)
        return
    if host is not None and not device:
        raise UsageError("--host says where, and not what is measured there", fix="add --device NAME")
    if port is not None and not device:
        raise UsageError("--port says where, and not what is measured there", fix="add --device NAME")
    names = device or ([] if target else _every_device())
    backends, targets = choose(
        run_config(
            {
                "device": names,
                "target": target or (),
                "targets_file": targets_file_setting(targets_file),
                "host": host,
                "port": port,
                "python": python,
                "set": set_ or (),
                "power_mode": power_mode or (),
                "set_power_mode": bool(set_power_mode),
            }
        )
    )
    if meter:
        targets = tuple(replace(target, meters=(), preferred_meters=()) for target in targets)
    findings = preflight(targets, backends)
    of_meters = meter_preflight(targets, meter) if meter else []
    print_findings(stdout(), findings + of_meters, as_json=json_)
    _exit_where_a_meter_is_not_usable(of_meters)
    lacking = {name for finding in findings if finding["level"] == "error" for name in finding["targets"]}
    # Of all devices most are not here: only where none is, nothing can be measured.
    if lacking and (device or target or len(lacking) == len(targets)):
        raise typer.Exit(EXIT_ERROR)


def _exit_where_a_meter_is_not_usable(findings: Sequence[Mapping[str, Any]]) -> None:
    if any(finding["level"] == "error" for finding in findings):
        raise typer.Exit(EXIT_ERROR)


def _every_device() -> list[str]:
    from edgebench import registry

    names = registry.names("edgebench.backends")
    return [name for name in names if not registry.backend(name).for_tests]
