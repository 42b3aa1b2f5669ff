"""`edgebench history`: a metric over all results of a folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgebench.cli.common import (
    JsonOption,
    OutputDirOption,
    busy,
    complete_followed_metric,
    complete_measured_target,
    complete_results,
    output_dir_setting,
    say_each,
    stdout,
)
from edgebench.cli.figure_files import require_figure, write_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgebench.judge.history import TrialSeries
    from edgebench.records.stored import TrialRecord
    from edgebench.results.listing import StoredResult, UnreadableResult


def history(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            autocompletion=complete_measured_target,
            help="Only this target. Default: all that results have.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            autocompletion=complete_followed_metric,
            help="What is followed, such as infer_s, energy_j, power_mean_w, memory_bytes or accuracy. "
            "Default: image_s, or infer_s of what has no image_s",
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
        str, typer.Option(metavar="DATE", help="Only results begun from then on, such as 2025-03-01 (UTC).")
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
            help="The result that all others are compared with. Default: the oldest that is shown",
        ),
    ] = None,
    minimum_effect: Annotated[
        float,
        typer.Option(
            "--minimum-effect",
            metavar="PERCENT",
            min=0.0,
            max=1000.0,
            help="The smallest change that counts.",
        ),
    ] = 3.0,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it, the changes marked: .png, .svg or .pdf.")
    ] = None,
    output_dir: OutputDirOption = None,
    json_: JsonOption = False,
) -> None:
    """Follow a metric over all results, and mark where its level changed.

    Results are those under --output-dir, in order of time; trials are followed
    from result to result by target, variant, batch and settings. A change is
    one that chance does not make, and that is large enough to matter; with
    it is listed what else differs there. It takes at least 8 results.
    """
    from edgebench.judge.history import history as followed
    from edgebench.judge.history import targets_of
    from edgebench.report.history import print_history
    from edgebench.results.listing import list_results

    begun_from_s = _moment_s(since)
    require_figure(figure)
    folder = output_dir_setting(output_dir)
    with busy("reading results"):
        stored, unreadable = list_results(folder)
        _require_known("target", target, targets_of(stored))
        _require_known("result", baseline, [result.path.name for result in stored])
        chosen = [result for result in stored if result.begun_s >= begun_from_s]
        series = followed(
            chosen,
            metric=metric,
            wanted=lambda planned: _is_wanted(planned, target, trial),
            last=last,
            baseline=baseline,
            minimum_effect=minimum_effect / 100,
            left_out=unreadable.append,
        )
    if not series:
        raise _nothing(folder, stored, chosen, unreadable, metric, target, trial)
    if figure is not None:
        _draw(figure, series)
    print_history(stdout(), series, unreadable, minimum_effect / 100, as_json=json_)
    say_each("left out", [f"{each.path.name}: {each.reason}" for each in unreadable])


def _is_wanted(planned: TrialRecord, target: str | None, trial: str) -> bool:
    """Whether a planned trial is asked for; a target by its name without settings and revisions."""
    plain = planned.target.partition("[")[0].partition(" (")[0]  # `nano` of `nano[threads=2]` and `nano (2)`
    return (not trial or trial in _names(planned)) and target in (None, planned.target, plain)


def _names(planned: TrialRecord) -> tuple[str, ...]:
    """What --trial may call it: key, variant, and as tables do `0.5 int8` or `cpu: 0.5 int8`."""
    from edgebench.report.words import depth

    if planned.depth_multiplier is None:
        return planned.key, planned.variant
    short = f"{depth(planned.depth_multiplier)} {planned.precision}"
    return planned.key, planned.variant, short, f"{planned.target}: {short}"


def _require_known(what: str, name: str | None, known: Sequence[str]) -> None:
    """UsageError for a name that is not known."""
    from edgebench.errors import UsageError
    from edgebench.suggest import choose, short

    if name is not None and known and name not in known:
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


def _nothing(
    folder: Path,
    stored: Sequence[StoredResult],
    chosen: Sequence[StoredResult],
    unreadable: Sequence[UnreadableResult],
    metric: str | None,
    target: str | None,
    trial: str,
) -> Exception:
    """Why there is nothing to follow, with what to do."""
    from edgebench.errors import StoredResultError, UsageError
    from edgebench.results.listing import unreadable_reason
    from edgebench.suggest import choose, short

    damaged = unreadable_reason(unreadable)
    if not stored:
        return StoredResultError(
            f"no result in {folder} can be read" if unreadable else f"there is no result in {folder}",
            why=damaged,
            fix="measure first: edgebench run --device NAME; or say where with --output-dir",
        )
    if not chosen:
        return UsageError(
            "no result is as new as --since asks", fix=f"the newest is of {stored[0].begun_utc[:10]}"
        )
    planned = [planned for result in chosen for planned in result.experiment.trials]
    known = dict.fromkeys(each.variant for each in planned if _is_wanted(each, target, ""))
    if trial and not any(_is_wanted(each, target, trial) for each in planned):
        return UsageError(f"there is no trial {short(trial)}", fix=choose(trial, known))
    return StoredResultError(
        f"no result has {metric or 'image_s or infer_s'} of {trial or target or 'a trial'}",
        why=damaged or "no session of it ended well, or nothing measured it",
        fix="`edgebench show RESULT` says what was measured; follow something else with --metric",
    )


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
