"""`edgebench doctor`: what prevents a trustworthy measurement; and `edgebench --version`."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgebench.cli.common import JsonOption, exit_where, say, stdout, targets_file_setting, with_options
from edgebench.errors import UsageError
from edgebench.installed import plug_ins, requirements, versions_of
from edgebench.suggest import printable
from edgebench.version import __version__

if TYPE_CHECKING:
    from edgebench.contract import Backend
    from edgebench.records.target import Target


@with_options(
    *("target", "targets_file", "host", "port", "python", "set", "power_mode", "set_power_mode", "artifact"),
    device="Check this one only. Repeatable. Default: every device",
    meter="Check this meter, KIND[:ADDRESS], step by step. Repeatable.",
)
def doctor(
    *,
    try_: Annotated[
        bool, typer.Option("--try", help="Run the device for one short session, and write a report to send.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The report of --try. Default: DEVICE-try.md"),
    ] = None,
    json_: JsonOption = False,
    **flags: Any,
) -> None:
    """Check runtimes, governor, load, memory, clock and temperature; each problem comes with its fix.

    Checks this machine, or boards with --host or --target; `edgebench targets
    check` says more about a board. With --meter alone, only meters are checked.
    With --try, one device prepares MobileNet 0.25, compares its scores and
    times three passes; the report leaves out names of people and machines.

    Exit code 1 if a named device or meter cannot be used, or no device at all.
    """
    from edgebench import registry
    from edgebench.cli.meters import machine, require_meter
    from edgebench.report.listings.devices import print_findings
    from edgebench.run.config import resolve
    from edgebench.run.measuring.preflight import meter_preflight, preflight
    from edgebench.run.planner import choose
    from edgebench.run.targets import declared_once

    device, target, meter = (flags[name] or () for name in ("device", "target", "meter"))
    if try_ and (meter or json_):
        raise UsageError("--try checks no meter and prints no JSON", fix="leave out --meter and --json")
    if not try_ and (flags["artifact"] or output):
        raise UsageError("--artifact and -o are options of --try", fix="add --try")
    for name in meter:
        require_meter(name)
    if meter and not device and not target:
        findings = meter_preflight([machine(flags["host"], flags["python"])], meter)
        print_findings(stdout(), findings, as_json=json_)
        return exit_where(any(finding["level"] == "error" for finding in findings))
    for name in ("host", "port"):
        if flags[name] is not None and not device:
            raise UsageError(f"--{name} says where, and not what is measured there", fix="add --device NAME")
    every = (name for name in registry.loadable("edgebench.backends") if not registry.backend(name).for_tests)
    names = device or ([] if target else list(every))
    targets_file = targets_file_setting(flags["targets_file"])
    chosen = resolve(flags | {"device": names, "targets_file": targets_file, "meter": ()}).config
    backends, targets = choose(chosen)
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


# What `edgebench --version` prints: the versions that somebody who looks into a bug asks for first.


_WIDTH = 80


def version_lines() -> list[str]:
    """EdgeBench's version alone on the first line, then Python's, the system's and those of packages.

    Distributions are asked for their metadata; none is imported.
    """
    core, extras = (versions_of(names) for names in requirements())
    return [
        f"edgebench {__version__}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"{platform.system()} {platform.release()}, {platform.machine()}",
        *_listed("packages", {name: version or "missing" for name, version in core.items()}),
        *_listed("runtimes and meters", {name: version for name, version in extras.items() if version}),
        *_listed("not installed", {name: "" for name, version in extras.items() if not version}),
        *_listed("plug-ins", plug_ins()),
    ]


def _listed(title: str, versions: Mapping[str, str]) -> list[str]:
    """The packages in as many lines as they take; `none` without any."""
    text = ", ".join(printable(f"{name} {version}".strip()) for name, version in versions.items())
    return textwrap.wrap(f"{title}: {text or 'none'}", _WIDTH, subsequent_indent="  ")
