"""Several results: `edgebench compare` against a baseline, and `edgebench history` over all of a folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from edgebench.cli.common import (
    JsonOption,
    LongOutputDirOption,
    OutputDirOption,
    busy,
    complete_compared_metric,
    complete_followed_metric,
    complete_measured_target,
    complete_results,
    echo_path,
    exit_where,
    output_dir_setting,
    results_folder,
    say,
    say_each,
    stdout,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from matplotlib.figure import Figure

    from edgebench.judge.comparisons.history import TrialSeries
    from edgebench.records.stored import TrialRecord
    from edgebench.results.load import StoredResults

_MINIMUM_EFFECT = 3.0  # per cent
MinimumEffectOption = Annotated[
    float,
    typer.Option(
        "--minimum-effect",
        metavar="PERCENT",
        min=0.0,
        max=1000.0,
        help="Smallest difference of times, power, energy and bytes that counts.",
    ),
]
FigureOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Draw the differences, or the values with their changes: .png, .svg or .pdf."
    ),
]


def compare(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="BASELINE",
            autocompletion=complete_results,
            help="The result to compare with: a folder, a name under --output-dir, or `latest`.",
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
            help="Metric to compare, such as image_s, infer_s, energy_j, accuracy or memory_bytes; "
            "repeatable, or several with commas. Default: image_s (infer_s if that is missing), accuracy and "
            "energy_j.",
        ),
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            "--pair",
            metavar="A=B",
            help="Compare target A of the baseline with target B if their names differ. Repeatable. "
            "Not needed if each result has one target.",
        ),
    ] = None,
    minimum_effect: MinimumEffectOption = _MINIMUM_EFFECT,
    minimum_points: Annotated[
        float,
        typer.Option(
            "--minimum-points",
            metavar="POINTS",
            min=0.0,
            max=100.0,
            help="Smallest difference of shares, such as accuracy, that counts, in percentage points.",
        ),
    ] = 1.0,
    fail_on: Annotated[
        Literal["regression"] | None,
        typer.Option(
            "--fail-on",
            metavar="regression",
            help="Exit with 3 if anything is worse than the baseline. Times, power, energy and memory decide "
            "from 5 sessions per side on; below that there is a warning.",
        ),
    ] = None,
    include_contaminated: Annotated[
        bool,
        typer.Option(
            "--include-contaminated",
            help="With --fail-on: also use sessions with interference, throttling or falling clocks.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with 4 if a trial of the baseline is undecided, was not measured again or has no "
            "partner.",
        ),
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File to write: .md for a pull request, .csv with one row per comparison, or .json.",
        ),
    ] = None,
    form: Annotated[
        Literal["md", "csv"] | None,
        typer.Option("--format", metavar="md|csv", help="Print the comparison in this form."),
    ] = None,
    figure: FigureOption = None,
    output_dir: LongOutputDirOption = None,
    json_: JsonOption = False,
) -> None:
    """Compare results with a baseline: better, worse, the same or undecided.

    Trials are paired by target, variant, batch and swept settings. Versions,
    weights and hosts may differ; all differences are listed first. Times, power,
    energy and memory are compared by session (Welch), accuracy by image
    (McNemar). Power and energy are compared only for meters of one scope.
    If nothing changed, at most 1 comparison in 20 reports a difference (Holm).

    Exit codes: 0, 3 something is worse (--fail-on regression), 4 something is
    undecided (--strict).

    Two boards of one result: edgebench compare latest latest --pair nano=coral
    """
    from edgebench.errors import EXIT_NOT_MET, EXIT_UNDECIDED, UsageError
    from edgebench.files import require_file_name
    from edgebench.judge.comparisons.comparison import Threshold, compare_results, metrics_of
    from edgebench.report.comparison import (
        FORMS,
        as_text,
        gate_warning,
        print_comparison,
        summary,
        write_comparison,
    )
    from edgebench.results.load import load

    metrics = metrics_of(metric or ())
    if json_ and form is not None:
        raise UsageError(f"--json and --format {form} are two forms", fix="leave one of them out")
    if file is not None:
        require_file_name(file, "-o", FORMS)
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
        from edgebench.report.plots.history import ratios

        write_figure(figure, lambda page: ratios(comparison, ax=page))
    if file is not None:
        write_comparison(comparison, file, gate=fail_on is not None)
    if json_ or form is not None:
        typer.echo(as_text(comparison, form or "json", gate=fail_on is not None), nl=False)
    elif file is not None:
        say("\n".join(summary(comparison, gate=fail_on is not None)[:2]))
        echo_path(file)
    else:
        print_comparison(stdout(), comparison, gate=fail_on is not None)
    say_each("warning", dict.fromkeys(warning for each in loaded for warning in each.warnings))
    if fail_on is not None and (open_ := gate_warning(comparison)):
        say(f"warning: {open_}")
    exit_where(fail_on is not None and comparison.regressed, EXIT_NOT_MET)
    exit_where(strict and comparison.undecided, EXIT_UNDECIDED)


def history(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            autocompletion=complete_measured_target,
            help="Only this target. Default: all.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            autocompletion=complete_followed_metric,
            help="Metric to follow, such as infer_s, energy_j, power_mean_w, memory_bytes or accuracy. "
            "Default: image_s, or infer_s of trials without image_s",
        ),
    ] = None,
    trial: Annotated[
        str,
        typer.Option(
            "--trial",
            metavar="TRIAL",
            help="Only these trials: '0.5 int8' as tables name them, a variant or a key.",
        ),
    ] = "",
    since: Annotated[
        str, typer.Option(metavar="DATE", help="Only results from this date on, such as 2025-03-01 (UTC).")
    ] = "",
    last: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Only the last N results that have the trials.", show_default=False
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="RESULT",
            autocompletion=complete_results,
            help="The result to compare all others with. Default: the oldest one shown",
        ),
    ] = None,
    minimum_effect: MinimumEffectOption = _MINIMUM_EFFECT,
    figure: FigureOption = None,
    output_dir: OutputDirOption = None,
    json_: JsonOption = False,
) -> None:
    """Follow a metric over all results, and mark where its level changed.

    Trials of the results under --output-dir are matched by target, variant,
    batch and settings. A change is significant and at least --minimum-effect
    large; other differences at the change are listed with it. Needs at least
    8 results.
    """
    from edgebench.errors import StoredResultError, UsageError
    from edgebench.judge.comparisons.history import history as followed
    from edgebench.judge.comparisons.history import targets_of
    from edgebench.report.history import history_listing
    from edgebench.results.listing import distinct, list_results, unreadable_reason

    begun_from_s = _moment_s(since)
    require_figure(figure)
    folder = output_dir_setting(output_dir)
    with busy("reading results"):
        stored, unreadable = list_results(folder)
        if not stored:
            raise StoredResultError(
                f"no result in {folder} can be read" if unreadable else f"there is no result in {folder}",
                why=unreadable_reason(unreadable),
                fix="measure first: edgebench run --device NAME; or say where with --output-dir",
            )
        _require_known("target", target, targets_of(stored))
        _require_known("result", baseline, [result.path.name for result in stored])
        stored, copies = distinct(stored, baseline)
        chosen = [result for result in stored if result.begun_s >= begun_from_s]
        if not chosen:
            newest = f"the newest is of {stored[0].begun_utc[:10]} (UTC)"
            raise UsageError("no result is as new as --since asks", fix=newest)
        planned = [each for result in chosen for each in result.experiment.trials if _is_of(each, target)]
        if not any(trial in _names(each) for each in planned):
            _require_known("trial", trial or None, dict.fromkeys(each.variant for each in planned))
        series = followed(
            chosen,
            metric=metric,
            wanted=lambda each: _is_of(each, target) and (not trial or trial in _names(each)),
            last=last,
            baseline=baseline,
            minimum_effect=minimum_effect / 100,
            left_out=unreadable.append,
        )
    if not series:
        raise StoredResultError(
            f"no result has {metric or 'image_s or infer_s'} of {trial or target or 'a trial'}",
            why=unreadable_reason(unreadable) or "no session of it ended well, or nothing measured it",
            fix="`edgebench show RESULT` says what was measured; follow something else with --metric",
        )
    if figure is not None:
        _draw(figure, series)
    unreadable += copies
    given = {
        "metric": metric,
        "since": since or None,
        "last": last,
        "baseline": baseline,
        "minimum-effect": None if minimum_effect == _MINIMUM_EFFECT else minimum_effect,
        "output-dir": output_dir,
    }
    options = [
        word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))
    ]
    history_listing(series, unreadable, minimum_effect / 100, options=options).show(stdout(), as_json=json_)
    say_each("left out", [f"{each.result}: {each.reason}" for each in unreadable])


def _is_of(planned: TrialRecord, target: str | None) -> bool:
    """True if a planned trial is of a target, by its name with or without settings and revisions."""
    plain = planned.target.partition("[")[0].partition(" (")[0]  # `nano` of `nano[threads=2]` and `nano (2)`
    return target in (None, planned.target, plain)


def _names(planned: TrialRecord) -> tuple[str, ...]:
    """Names that --trial takes: key, variant, and as tables do `0.5 int8` or `cpu: 0.5 int8`."""
    from edgebench.report.words import depth

    if planned.depth_multiplier is None:
        return planned.key, planned.variant
    short = f"{depth(planned.depth_multiplier)} {planned.precision}"
    return planned.key, planned.variant, short, f"{planned.target}: {short}"


def _require_known(what: str, name: str | None, known: Collection[str]) -> None:
    """UsageError for a name that is not known."""
    from edgebench.errors import UsageError
    from edgebench.suggest import choose, short

    if name is not None and name not in known:
        raise UsageError(f"there is no {what} {short(name)}", fix=choose(name, known))


def _moment_s(text: str) -> float:
    """Seconds since 1970 of a date, which is UTC where it does not say otherwise; 0 for none."""
    from edgebench.errors import UsageError
    from edgebench.suggest import short

    if not text:
        return 0.0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"--since {short(text)} is not a date", fix="write YYYY-MM-DD, such as --since 2025-03-01"
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _draw(path: Path, series: Sequence[TrialSeries]) -> None:
    """The figure's file; UsageError for more series than one figure shows."""
    from edgebench.errors import UsageError
    from edgebench.report.plots.history import MAX_SERIES
    from edgebench.report.plots.history import history as draw_history

    if len(series) > MAX_SERIES:
        raise UsageError(
            f"a figure shows at most {MAX_SERIES} series, and there are {len(series)}",
            fix="name a TARGET, or a variant with --trial",
        )
    write_figure(path, lambda figure: draw_history(series, ax=figure))


# A figure in a file that a user names, in the form that its ending says.


FIGURE_ENDINGS = (".png", ".svg", ".pdf")


def require_figure(path: Path | None) -> None:
    """Raise UsageError for another ending or a missing folder, before anything is computed."""
    from edgebench.files import require_file_name

    if path is not None:
        require_file_name(path, "--figure", FIGURE_ENDINGS)


def write_figure(path: Path, draw: Callable[[Figure], object]) -> None:
    """The file of what is drawn, whole or not at all; StoredResultError where it cannot be written."""
    from matplotlib.figure import Figure

    from edgebench.files import write_output
    from edgebench.report.plots.drawing import as_bytes

    figure = Figure()
    draw(figure)
    write_output(path, as_bytes(figure, path.suffix.lower().removeprefix(".")), "--figure")
