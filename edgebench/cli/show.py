"""`edgebench show`: the tables of a result."""

from __future__ import annotations

import typer

from edgebench.cli.common import JsonOption, OutputDirOption, ResultsArgument, StrictOption, results_folder


def show(
    results: ResultsArgument = "latest",
    output_dir: OutputDirOption = None,
    strict: StrictOption = False,
    json_: JsonOption = False,
) -> None:
    """Print a result's figures, and the verdicts of the profiles of its run."""
    from edgebench.cli.outcome import show_judged
    from edgebench.fit.judged_experiment import judge_folder

    judged = judge_folder(results_folder(results, output_dir))
    raise typer.Exit(show_judged(judged, strict=strict, json_=json_))
