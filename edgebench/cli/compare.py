"""`edgebench compare`: results against a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from edgebench.cli.common import (
    JsonOption,
    LongOutputDirOption,
    complete_compared_metric,
    complete_results,
    echo_path,
    exit_where,
    results_folder,
    say,
    say_each,
    stdout,
)

if TYPE_CHECKING:
    from edgebench.judge.comparison import ResultsComparison
    from edgebench.results.load import StoredResults


def compare(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="BASELINE",
            autocompletion=complete_results,
            help="What to compare with: a result folder, a name under --output-dir, or `latest`.",
            show_default=False,
        ),
    ],
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULTS...",
            autocompletion=complete_results,
            help="One result or several.",
            show_default=False,
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="METRIC",
            autocompletion=complete_compared_metric,
            help="What to compare by, such as image_s, infer_s, energy_j, accuracy or memory_bytes; "
            "repeatable, or several after commas. Default: image_s (infer_s where that is missing), and "
            "accuracy and energy_j where both sides have them.",
        ),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            "--pair",
            metavar="A=B",
            help="Compare target A of the baseline with target B, where their names differ. Repeatable. "
            "Where each result has one target, these two are compared without it.",
        ),
    ] = None,
    minimum_effect: Annotated[
        float,
        typer.Option(
            "--minimum-effect",
            metavar="PERCENT",
            min=0.0,
            max=1000.0,
            help="The smallest difference of times, energy and bytes that counts.",
        ),
    ] = 3.0,
    minimum_points: Annotated[
        float,
        typer.Option(
            "--minimum-points",
            metavar="POINTS",
            min=0.0,
            max=100.0,
            help="The smallest difference of shares, such as accuracy, that counts, in hundredths.",
        ),
    ] = 1.0,
    fail_on: Annotated[
        Literal["regression"] | None,
        typer.Option(
            "--fail-on",
            help="Exit with 3 where anything is worse than in the baseline. Times, power, energy and memory "
            "decide from 5 sessions a side on, else there is a warning.",
        ),
    ] = None,
    include_contaminated: Annotated[
        bool,
        typer.Option(
            "--include-contaminated",
            help="With --fail-on: decide by sessions with interference, throttling or falling clocks, too.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with 4 where something of the baseline is undecided, also by --fail-on, was not "
            "measured again, or has no partner.",
        ),
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write it to a file: .md, for a pull request, .csv with a row a comparison, or .json.",
        ),
    ] = None,
    form: Annotated[
        Literal["md", "csv"] | None, typer.Option("--format", help="Print it in that form.")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the differences with their intervals: .png, .svg or .pdf."),
    ] = None,
    output_dir: LongOutputDirOption = None,
    json_: JsonOption = False,
) -> None:
    """Compare results with a baseline: better, worse, the same or undecided.

    Trials are paired by target, variant, batch and swept settings, so that
    versions, weights and hosts may differ; what differs is named first. Times,
    power, energy and memory are compared by their sessions (Welch), accuracy
    image by image (McNemar), power and energy only by meters of one scope.
    Over all comparisons of a call together, like results are called better or
    worse in at most 5 % of calls (Holm).

    Exit codes: 0, 3 something is worse (--fail-on regression), 4 something is
    undecided (--strict).

    Two boards of one result: edgebench compare latest latest --pair nano=coral
    """
    from edgebench.cli.figure_files import require_figure
    from edgebench.errors import EXIT_NOT_MET, EXIT_UNDECIDED, UsageError
    from edgebench.judge.comparison import compare_results, metrics_of
    from edgebench.judge.metric_comparison import Threshold
    from edgebench.report.comparison import (
        as_text,
        gate_warning,
        print_comparison,
        require_output,
        write_comparison,
    )
    from edgebench.results.load import load

    metrics = metrics_of(metric or ())
    if json_ and form is not None:
        raise UsageError(f"--json and --format {form} are two forms", fix="leave one of them out")
    if file is not None:
        require_output(file)
    require_figure(figure)
    loaded: list[StoredResults] = [
        load(results_folder(text, output_dir).absolute()) for text in (baseline, *results)
    ]
    comparison = compare_results(
        loaded,
        metrics=metrics,
        against=pair or (),
        threshold=Threshold(minimum_effect / 100, minimum_points, include_contaminated=include_contaminated),
    )
    if figure is not None:
        _draw(figure, comparison)
    if file is not None:
        write_comparison(comparison, file)
    if json_ or form is not None:
        typer.echo(as_text(comparison, form or "json"), nl=False)
    elif file is not None:
        echo_path(file)
    else:
        print_comparison(stdout(), comparison)
    say_each("warning", dict.fromkeys(warning for each in loaded for warning in each.warnings))
    if fail_on is not None and (open_ := gate_warning(comparison)):
        say(f"warning: {open_}")
    exit_where(fail_on is not None and comparison.regressed, EXIT_NOT_MET)
    exit_where(strict and comparison.undecided, EXIT_UNDECIDED)


def _draw(path: Path, comparison: ResultsComparison) -> None:
    from edgebench.cli.figure_files import write_figure
    from edgebench.report.plots.history import ratios

    write_figure(path, lambda figure: ratios(comparison, ax=figure))
