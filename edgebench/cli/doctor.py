"""`edgebench doctor`: what stands in the way of a trustworthy measurement."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.cli.common import JsonOption, complete_device, stdout
from edgebench.errors import EXIT_ERROR


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
    json_: JsonOption = False,
) -> None:
    """Check runtimes, governor, load, memory, clock and temperature; each problem comes with its fix."""
    from edgebench import registry
    from edgebench.contract import Target
    from edgebench.measure.campaign import preflight
    from edgebench.report.lists import print_findings

    names = device or [
        name for name in registry.names("edgebench.backends") if not registry.backend(name).for_tests
    ]
    backends = {name: registry.backend(name) for name in dict.fromkeys(names)}
    findings = preflight([Target(name=name, device=name) for name in backends], backends)
    print_findings(stdout(), findings, as_json=json_)
    if any(finding["level"] == "error" for finding in findings):
        raise typer.Exit(EXIT_ERROR)
