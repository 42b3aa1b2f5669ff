"""`edgebench doctor`: what stands in the way of a trustworthy measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgebench.cli.common import (
    ArtifactOption,
    HostOption,
    JsonOption,
    PortOption,
    PowerModeOption,
    PythonOption,
    SetPowerModeOption,
    TargetsFileOption,
    complete_device,
    exit_where,
    option,
    say,
    stdout,
    targets_file_setting,
)
from edgebench.errors import UsageError

if TYPE_CHECKING:
    from edgebench.contract import Backend
    from edgebench.records.target import Target


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
    target: Annotated[list[str] | None, option("target")] = None,
    targets_file: TargetsFileOption = None,
    host: HostOption = None,
    port: PortOption = None,
    python: PythonOption = None,
    set_: Annotated[list[str] | None, option("set")] = None,
    power_mode: PowerModeOption = None,
    set_power_mode: SetPowerModeOption = None,
    meter: Annotated[
        list[str] | None,
        option("meter", help_text="Check this meter, KIND[:ADDRESS], step by step. Repeatable."),
    ] = None,
    try_: Annotated[
        bool, typer.Option("--try", help="Run the device for one short session, and write a report to send.")
    ] = False,
    artifact: ArtifactOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The report of --try. Default: DEVICE-try.md"),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Check runtimes, governor, load, memory, clock and temperature; each problem comes with its fix.

    Of this machine, or of boards with --host or --target; `edgebench targets check` says more of a board.
    A target with several values of a setting is checked at the first of them.
    With --meter alone only meters are checked: each step from its address to the limits that it can decide.
    With --try, one device prepares MobileNet 0.25, compares its scores and times three passes; the report
    leaves out the names of people and machines.

    Exit code 1 where a device or a meter that was named cannot be used; without a name, where no device can.
    """
    from edgebench import registry
    from edgebench.cli.meters import machine, require_meter
    from edgebench.report.listings import print_findings
    from edgebench.run.config import run_config
    from edgebench.run.measuring.preflight import meter_preflight, preflight
    from edgebench.run.planner import choose
    from edgebench.run.targets import declared_once

    if try_ and (meter or json_):
        raise UsageError("--try checks no meter and prints no JSON", fix="leave out --meter and --json")
    if not try_ and (artifact or output):
        raise UsageError("--artifact and -o are options of --try", fix="add --try")
    for name in meter or ():
        require_meter(name)
    if meter and not device and not target:
        findings = meter_preflight([machine(host, python)], meter)
        print_findings(stdout(), findings, as_json=json_)
        return exit_where(any(finding["level"] == "error" for finding in findings))
    for flag, place in (("--host", host), ("--port", port)):
        if place is not None and not device:
            raise UsageError(f"{flag} says where, and not what is measured there", fix="add --device NAME")
    every = (name for name in registry.loadable("edgebench.backends") if not registry.backend(name).for_tests)
    names = device or ([] if target else list(every))
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
                "artifact": artifact,
                "power_mode": power_mode or (),
                "set_power_mode": bool(set_power_mode),
            }
        )
    )
    if try_:
        return _try(targets, backends, output)
    targets = declared_once(targets)
    if meter:
        targets = tuple(replace(target, meters=(), preferred_meters=()) for target in targets)
    findings = preflight(targets, backends)
    of_meters = meter_preflight(targets, meter) if meter else []
    print_findings(stdout(), findings + of_meters, as_json=json_)
    exit_where(any(finding["level"] == "error" for finding in of_meters))
    lacking = {name for finding in findings if finding["level"] == "error" for name in finding["targets"]}
    # Of all devices most are not here: only where none is, nothing can be measured.
    exit_where(bool(lacking and (device or target or len(lacking) == len(targets))))


def _try(targets: Sequence[Target], backends: Mapping[str, Backend], output: Path | None) -> None:
    from edgebench.cli.tryout import try_out
    from edgebench.files import require_file_name, write_output
    from edgebench.link.agent_backend import AgentBackend
    from edgebench.prepare.cache import Cache

    if len(targets) != 1:
        raise UsageError(
            f"--try takes one device, and not {len(targets)} targets",
            fix="name one --device, each option once",
        )
    [target], [backend] = targets, backends.values()
    if not isinstance(backend, AgentBackend):
        raise UsageError(f"--try does not take {backend.name}", why="it has no agent", fix="leave out --try")
    report = output or Path(f"{target.device}-try.md")
    require_file_name(report, "-o")
    result = try_out(target, backend, Cache(), say)
    write_output(report, result.markdown().encode(), "-o")
    say(f"report: {report}; read it before you send it")
    if result.missing:
        say("What is missing:")
        for line in result.missing:
            say(f"  - {line}")
    exit_where(bool(result.missing))
