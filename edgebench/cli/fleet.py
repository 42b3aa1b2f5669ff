"""`edgebench fleet`: machines of several hosts that measure together, by Dask's `distributed`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from edgebench.cli.common import JsonOption, say, stdout, targets_file_setting, with_options
from edgebench.cli.panels import CommandGroup

app = CommandGroup(
    no_args_is_help=True,
    help="Join machines with boards on several hosts to a fleet (needs the extra `fleet`).",
)

SchedulerArgument = Annotated[
    str,
    typer.Argument(metavar="SCHEDULER", help="Such as tcp://127.0.0.1:8786.", show_default=False),
]


@app.command()
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


@app.command()
@with_options("insecure")
def status(scheduler: SchedulerArgument, *, json_: JsonOption = False, **flags: Any) -> None:
    """List a fleet's machines: their targets, what they measure, and who waits."""
    from edgebench.fleet import lab
    from edgebench.report.listings.boards import print_machines

    machines = lab.ask(scheduler, insecure=bool(flags["insecure"]))
    print_machines(stdout(), lab.status(machines), as_json=json_)
