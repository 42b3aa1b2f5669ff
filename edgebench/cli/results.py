"""`edgebench results`: the results of a folder."""

from __future__ import annotations

from typing import Annotated

import typer

from edgebench.cli.common import JsonOption, OutputDirOption, busy, output_dir_setting, stdout


def results(
    last: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the newest N.", show_default=False)
    ] = None,
    output_dir: OutputDirOption = None,
    json_: JsonOption = False,
) -> None:
    """List the results: name, date, targets, trials and the verdicts that their runs ended with.

    Newest first. Each name, and `latest`, is what other commands take for
    RESULTS. What is damaged or of a newer version stands below, with the
    reason.
    """
    from edgebench.report.json_values import as_json
    from edgebench.report.result_list import print_results
    from edgebench.report.results_document import results_document
    from edgebench.store.result_listing import list_results
    from edgebench.store.result_overview import overview

    folder = output_dir_setting(output_dir)
    with busy("reading results"):
        stored, unreadable = list_results(folder)
        rows = [overview(result, latest=number == 0) for number, result in enumerate(stored[:last])]
    if json_:
        typer.echo(as_json(results_document(rows, unreadable, folder)), nl=False)
    else:
        print_results(stdout(), rows, unreadable, folder)
