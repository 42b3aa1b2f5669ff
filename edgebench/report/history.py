"""Output of `edgebench history` and `edgebench results`: a table and its remarks, or a JSON document."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from edgebench.judge.comparisons.history import HistoryPoint, LevelChange, TrialSeries
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import Estimate
from edgebench.report import words
from edgebench.report.listings import CommandOutput
from edgebench.report.renderers.blocks import Block, Column, Command, Heading, Notes, Table
from edgebench.report.tables import estimate_text, value_heading
from edgebench.results.listing import ResultOverview, UnreadableResult
from edgebench.stats.compare import ALPHA, Comparison


@dataclass(frozen=True)
class HistoryDocument:
    """Metric over the results of a folder, with the changes of its level."""

    alpha: float
    """Share of series without a change in which one is found by chance. Source: command line."""
    minimum_effect: float
    """Smallest change that counts, as a share. Source: command line."""
    series: tuple[TrialSeries, ...]
    """One series per trial: per target, variant, batch, settings, scope and scene. Source: fit."""
    left_out: tuple[UnreadableResult, ...]
    """Folders that cannot be read. Source: results."""


# Output of `edgebench history`: one series result by result, several with one line per series.


_BARS = "▁▂▃▄▅▆▇█"
_TREND = 12  # results in the trend of one series among several
_LONGEST_TREND = 56
_HEADING = 14  # characters of a line above figures


def history_listing(
    series: Sequence[TrialSeries],
    unreadable: Sequence[UnreadableResult],
    minimum_effect: float,
    *,
    options: Sequence[str] = (),
) -> CommandOutput:
    """One series as a table of its results, several as one table; then the changes.

    Args:
        series: series of trials.
        unreadable: results that cannot be read.
        minimum_effect: smallest change that counts, as a share.
        options: options of the command, repeated in the command that shows one series.

    Returns:
        the document of `history.schema.json`, in the metric's base unit, and its blocks.
    """
    document = HistoryDocument(ALPHA, minimum_effect, tuple(series), tuple(unreadable))
    names = series_names(series)
    blocks = _results(series[0], names[0]) if len(series) == 1 else _overview(series, names)
    return CommandOutput(
        vars(document), [*blocks, Notes.of(_remarks(series, names)), *_one_by_one(series, options)]
    )


def _one_by_one(series: Sequence[TrialSeries], options: Sequence[str]) -> list[Block]:
    """Command that shows the first series that it names alone, of several, result by result."""
    by_name = words.grouped(((entry.target, entry.variant), entry) for entry in series)
    lone = next((name for name, entries in by_name.items() if len(entries) == 1), None)
    if len(series) < 2 or lone is None:
        return []
    target, variant = lone
    names = [words.plain(target, 60), "--trial", words.plain(variant, 120)]
    command = shlex.join(["edgebench", "history", *names, *options])
    return [Notes.of(["Result by result:"]), Command(command)]


def _remarks(series: Sequence[TrialSeries], names: Sequence[str]) -> Iterator[str]:
    """Changes, causes why none was looked for, and the baseline."""
    yield from _change_texts(names, series)
    reasons = words.grouped(
        (entry.change_reason, name) for name, entry in zip(names, series, strict=True) if entry.change_reason
    )
    for reason, alike in reasons.items():
        some = words.listed(alike) if len(alike) <= 3 else f"{len(alike)} of these"
        yield f"{some}: {reason}." if len(alike) < len(series) else f"{reason.capitalize()}."
    if not any(entry.changes or entry.change_reason for entry in series):
        yield "No change of the level was found."
    first, *others = {
        point.result for entry in series for point in entry.results if point.to_baseline is None
    }
    yield f"Baseline: {'the oldest result of each' if others else words.plain(first, 80)}."


def series_names(series: Sequence[TrialSeries]) -> list[str]:
    """Names of series: variant, with target, settings, scope, scene and metric where they differ."""
    parts_by_series = list(map(_parts, series))
    places = zip(*(parts.items() for parts in parts_by_series), strict=True)
    differing = {parts[0][0] for parts in places if len(set(parts)) > 1}
    names = []
    for parts in parts_by_series:
        details = [parts[name] for name in parts if name in differing - {"target", "variant"} and parts[name]]
        name = f"{parts['target']}: {parts['variant']}" if "target" in differing else parts["variant"]
        names.append(f"{name} ({', '.join(details)})" if details else name)
    return names


def _parts(series: TrialSeries) -> dict[str, str]:
    settings = ", ".join(f"{name}={value}" for name, value in series.settings.items())
    return {
        "target": words.plain(series.target, 60),
        "variant": words.plain(series.variant, 120),
        "batch": f"batch {series.batch}",
        "concurrency": f"{series.concurrency} in flight",
        "settings": words.plain(settings, 120),
        "scope": words.power_of(series.scope) if series.scope else "",
        "scene": f"scene {words.plain(series.scene, 40)}",
        "metric": series.metric,
    }


def _value_cells(series: TrialSeries, point: HistoryPoint) -> tuple[str, str, str]:
    """Cells of a point: its value with the interval, and its changes to the one before and the baseline."""
    metric = METRICS[series.metric]
    return (
        estimate_text(Estimate(point.value, point.low, point.high), metric, value_heading(metric)),
        _change_cell(series, point, point.to_previous),
        _change_cell(series, point, point.to_baseline),
    )


def _change_cell(series: TrialSeries, point: HistoryPoint, comparison: Comparison | None) -> str:
    """Change: `+8.2 % worse`, `-0.1 %`, points of a share; a sign without another result."""
    if comparison is None:
        return words.MISSING
    if series.is_share:
        points = 100 * (point.value - point.value / comparison.ratio)
        return f"{points:+.1f}" if abs(points) >= 0.05 else "same"
    word = f" {comparison.word}" if comparison.word in ("better", "worse") else ""
    return f"{ratio_text(comparison.ratio)}{word}"


def ratio_text(ratio: float) -> str:
    """Ratio as a change: `+8.2 %`; from twice on as a factor: `2.13 x`."""
    return f"{100 * (ratio - 1):+.1f} %" if 0.5 < ratio < 2 else f"{words.number(ratio)} x"


def _change_texts(names: Sequence[str], series: Sequence[TrialSeries]) -> Iterator[str]:
    """Paragraphs, one per result at which levels changed."""
    places = words.grouped(
        ((change.result, change.after_result, change.differences), (name, entry, change))
        for name, entry in zip(names, series, strict=True)
        for change in entry.changes
    )
    for (first, last, differences), changed in places.items():
        _, example, _ = changed[0]
        day = next((point.begun_utc or "")[:10] for point in example.results if point.result == first)
        levels = [
            f"{name} {ratio_text(change.ratio)} {change.word}"
            if len(series) > 1
            else level_text(entry, change)
            for name, entry, change in changed
        ]
        also = words.plain("; ".join(differences) or "no other recorded fact", 1000)
        place = f"{words.plain(first, 80)} ({day or 'no date'})"
        yield f"Changed at {place}: {', '.join(levels)}. Also changed since {words.plain(last, 80)}: {also}."


def level_text(series: TrialSeries, change: LevelChange) -> str:
    """Change of a level: `from 0.199 to 0.216 s, +8.3 % (+7.7 % to +9.0 %), worse (p 0.01)`."""
    scale, unit = (100, " %") if series.is_share else (1, words.spaced(series.unit))
    levels = f"from {words.number(scale * change.before)} to {words.number(scale * change.after)}{unit}"
    span = f"{ratio_text(change.low)} to {ratio_text(change.high)}"
    return f"{levels}, {ratio_text(change.ratio)} ({span}), {change.word} (p {change.p:.2g})"


def trend(points: Sequence[HistoryPoint], most: int) -> str:
    """Last values as bars; the lowest bar is the lowest value."""
    values = [point.value for point in points[-most:]]
    low, high = min(values), max(values)
    # Values within a hundredth look flat.
    step = max(high - low, 0.01 * high) / (len(_BARS) - 1)
    return "".join(_BARS[round((value - low) / step)] for value in values)


def dates(points: Sequence[HistoryPoint]) -> list[str]:
    """Days of the points, with the time of day where two are of one day."""
    days = [(point.begun_utc or "")[:10] for point in points]
    length = 10 if len(set(days)) == len(days) else 16
    return [(point.begun_utc or "")[:length].replace("T", " ") or words.MISSING for point in points]


def _results(series: TrialSeries, name: str) -> list[Block]:
    changed = {change.at for change in series.changes}
    columns = (Column("date (UTC)", figures=True), Column("result", long=True), *_value_columns([series]))
    rows = tuple(
        (day, point.result + " *" * (place in changed), *_value_cells(series, point))
        for place, (day, point) in enumerate(zip(dates(series.results), series.results, strict=True))
    )
    shown = min(len(series.results), _LONGEST_TREND)
    marked = ["* The level changed here."] if changed else []
    return [
        Heading(f"{words.plain(series.target, 60)}: {name}"),
        Table(name, columns, rows),
        Notes.of([f"Trend of the last {shown}: {trend(series.results, shown)}", *marked]),
    ]


def _overview(series: Sequence[TrialSeries], names: Sequence[str]) -> list[Block]:
    shared = _shared_start([words.plain(entry.variant, 120) for entry in series])
    targets = {entry.target for entry in series}
    before = "" if len(targets) == 1 else ": "
    title = [words.plain(series[0].target, 60)] if len(targets) == 1 else []
    columns = (
        Column("trial", long=True),
        Column("results", figures=True),
        *_value_columns(series, "latest"),
        Column("trend", figures=True),
    )
    rows = tuple(
        (
            name.replace(f"{before}{shared}", before, 1),
            str(len(entry.results)),
            *(text.replace(" (", "\n(") for text in _value_cells(entry, entry.results[-1])),
            trend(entry.results, _TREND),
        )
        for name, entry in zip(names, series, strict=True)
    )
    text = ": ".join([*title, shared.rstrip("-: ")] if shared else title)
    return [*([Heading(text)] if text else []), Table("overview", columns, rows)]


def _value_columns(series: Sequence[TrialSeries], *above: str) -> list[Column]:
    """Columns of `_value_cells`, the first with the heading that all series share."""
    shared = {value_heading(METRICS[entry.metric]) for entry in series}
    headings = [fill(heading, _HEADING) for heading in shared if len(shared) == 1]
    unit = " [points]" if all(entry.is_share for entry in series) else ""
    texts = ["\n".join([*above, *headings]), f"to the one\nbefore{unit}", f"to the\nbaseline{unit}"]
    return [Column(text, figures=True) for text in texts]


def _shared_start(names: Sequence[str]) -> str:
    """Common start of names, such as `mobilenet_v1-`, which rows leave out."""
    start = os.path.commonprefix(list(names))  # noqa: RUF071  # by characters
    return start[: start.rfind("-") + 1]


# Output of `edgebench results`: the results of a folder, newest first.


@dataclass(frozen=True)
class ResultsDocument:
    """Results of a folder, newest first."""

    output_dir: str
    """Folder of the results. Source: command line."""
    results: tuple[ResultOverview, ...]
    """Results, newest first. Source: results."""
    left_out: tuple[UnreadableResult, ...]
    """Folders that cannot be read. Source: results."""


def results_listing(
    rows: Sequence[ResultOverview], unreadable: Sequence[UnreadableResult], output_dir: Path
) -> CommandOutput:
    """Results, then those that cannot be read; the document is that of `results.schema.json`."""
    document = ResultsDocument(str(output_dir), tuple(rows), tuple(unreadable))
    long = {"result", "targets"}
    headings = ("result", "begun (UTC)", "targets", "trials", "verdicts")
    columns = tuple(Column(text, figures=text not in long, long=text in long) for text in headings)
    table = Table("results", columns, tuple(map(_cells, rows)))
    none = "No result in {} can be read." if unreadable else "There is no result in {}."
    advice = "Measure first: edgebench run --device cpu --profile disco-realtime --quick"
    empty = Notes.of([none.format(output_dir), advice])
    shown = [table, Notes.of(_notes(rows))] if rows else [empty]
    reasons = Notes.of(f"{result.result}: {result.reason}" for result in unreadable)
    return CommandOutput(vars(document), [*shown, reasons])


_ENDS = {"time": "time was over", "interrupted": "interrupted", "error": "ended by an error"}
_TARGETS = 3  # named in a cell


def _cells(row: ResultOverview) -> tuple[str, ...]:
    """Cells of a result; verdicts have one line per profile, with the trials by verdict."""
    more = len(row.targets) - _TARGETS
    trials = str(row.trials) if row.measured == row.trials else f"{row.measured} of {row.trials}"
    verdicts = [
        "  ".join([words.plain(name, 30), *(f"{words.SYMBOLS[word]} {n}" for word, n in counts.items() if n)])
        for name, counts in (row.verdicts or {}).items()
    ]
    return (
        f"{row.result} (latest)" if row.latest else row.result,
        (row.begun_utc or "")[:16].replace("T", " ") or words.MISSING,
        ", ".join(row.targets[:_TARGETS]) + (f" and {more} more" if more > 0 else ""),
        f"{trials}\n{_ENDS[row.ended]}" if row.ended in _ENDS else trials,
        "\n".join(verdicts) or ("not recorded" if row.profiles else words.MISSING),
    )


def _notes(rows: Sequence[ResultOverview]) -> Iterator[str]:
    if any(row.verdicts for row in rows):
        signs = ", ".join(f"{symbol} {word}" for word, symbol in words.SYMBOLS.items())
        yield f"Verdicts: number of trials by profile when the run ended ({signs})."
    unrecorded = [row.result for row in rows if row.profiles and row.verdicts is None]
    if unrecorded:
        yield (
            "Not recorded: the run is going on or was killed; judge it with "
            f"edgebench fit {words.plain(unrecorded[0], 80)}"
        )
