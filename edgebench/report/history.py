"""Output of `edgebench history` and `edgebench results`: a table and its remarks, or a JSON document."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from rich.console import Console

from edgebench.judge.core.metrics import METRICS
from edgebench.judge.history import HistoryPoint, LevelChange, TrialSeries
from edgebench.report import words
from edgebench.report.blocks import Block, Column, Command, Heading, Notes, Table
from edgebench.report.listings import show_listing
from edgebench.results.listing import ResultOverview, UnreadableResult
from edgebench.stats.compare import ALPHA, Comparison
from edgebench.stats.interval import Interval


@dataclass(frozen=True)
class HistoryDocument:
    """A metric over the results of a folder, and where its level changed."""

    alpha: float
    """Share of series without a change in which one is found all the same. Source: command line."""
    minimum_effect: float
    """The smallest change that counts, as a share. Source: command line."""
    series: tuple[TrialSeries, ...]
    """One a trial: of one target, variant, batch, settings, scope and scene. Source: fit."""
    left_out: tuple[UnreadableResult, ...]
    """Folders that cannot be read. Source: results."""


# What `edgebench history` prints: one series result by result, several as a line each.


_BARS = "▁▂▃▄▅▆▇█"
_TREND = 12  # results in the trend of one series among several
_LONGEST_TREND = 56
_HEADING = 14  # characters of a line above figures


def print_history(
    console: Console,
    series: Sequence[TrialSeries],
    unreadable: Sequence[UnreadableResult],
    minimum_effect: float,
    *,
    options: Sequence[str] = (),
    as_json: bool = False,
) -> None:
    """Print one series as a table of its results, several as a table with a line each; then the changes.

    As JSON it is what `history.schema.json` describes, in the metric's base unit. `options` of the command
    are repeated in the command that shows one series.
    """
    document = HistoryDocument(ALPHA, minimum_effect, tuple(series), tuple(unreadable))
    names = series_names(series)
    blocks = _results(series[0], names[0]) if len(series) == 1 else _overview(series, names)
    blocks += [Notes.of(_remarks(series, names)), *_one_by_one(series, options)]
    show_listing(console, vars(document), blocks, as_json=as_json)


def _one_by_one(series: Sequence[TrialSeries], options: Sequence[str]) -> list[Block]:
    """Command that shows one of several series result by result, as JSON where no trial's name tells one."""
    if len(series) < 2:
        return []
    named = words.grouped(((each.target, each.variant), each) for each in series)
    target, variant = next((name for name, of in named.items() if len(of) == 1), next(iter(named)))
    json = [] if len(named[target, variant]) == 1 else ["--json"]
    names = [words.plain(target, 60), "--trial", words.plain(variant, 120)]
    command = shlex.join(["edgebench", "history", *names, *options, *json])
    return [Notes.of(["Result by result:"]), Command(command)]


def _remarks(series: Sequence[TrialSeries], names: Sequence[str]) -> Iterator[str]:
    """The changes, why none was looked for, and what the series are compared with."""
    yield from _change_texts(names, series)
    reasons = words.grouped(
        (each.change_reason, name) for name, each in zip(names, series, strict=True) if each.change_reason
    )
    for reason, alike in reasons.items():
        some = words.listed(alike) if len(alike) <= 3 else f"{len(alike)} of these"
        yield f"{some}: {reason}." if len(alike) < len(series) else f"{reason.capitalize()}."
    if not any(each.changes or each.change_reason for each in series):
        yield "No change of the level was found."
    first, *others = {
        next(point.result for point in each.results if point.to_baseline is None): None for each in series
    }
    yield f"Baseline: {'the oldest result of each' if others else words.plain(first, 80)}."


def series_names(series: Sequence[TrialSeries]) -> list[str]:
    """A name for each: variant, with target, settings, meter's scope, scene and metric where they differ."""
    differing = {
        part: len({_parts(each)[part] for each in series}) > 1
        for part in ("target", "batch", "concurrency", "settings", "scope", "metric")
    }
    names = []
    for each in series:
        parts = _parts(each)
        details = [parts[part] for part in differing if part != "target" and differing[part] and parts[part]]
        name = f"{parts['target']}: {parts['variant']}" if differing["target"] else parts["variant"]
        names.append(f"{name} ({', '.join(details)})" if details else name)
    # Where the names are still the same, the scene or the images are others.
    return [
        name
        if names.count(name) == 1
        else f"{name}, scene {words.plain(each.scene, 40)}, from {words.plain(each.results[0].result, 80)}"
        for name, each in zip(names, series, strict=True)
    ]


def _parts(series: TrialSeries) -> dict[str, str]:
    settings = ", ".join(f"{name}={value}" for name, value in series.settings.items())
    return {
        "target": words.plain(series.target, 60),
        "variant": words.plain(series.variant, 120),
        "batch": f"batch {series.batch}",
        "concurrency": f"{series.concurrency} in flight",
        "settings": words.plain(settings, 120),
        "scope": words.power_of(series.scope) if METRICS[series.metric].rail else "",
        "metric": series.metric,
    }


def heading(series: TrialSeries) -> str:
    """`Latency per image, s`."""
    label, unit = METRICS[series.metric].words, "%" if series.is_share else series.unit
    return label if unit in ("", "1") else f"{label}, {unit}"


def value_text(series: TrialSeries, point: HistoryPoint) -> str:
    """A value with its interval; a share in per cent."""
    if series.is_share:
        ends = ""
        if point.low is not None and point.high is not None:
            ends = f" ({100 * point.low:.1f} to {100 * point.high:.1f})"
        return f"{100 * point.value:.1f}{ends}"
    if series.unit == "bytes":
        return words.number(point.value)
    return words.interval(
        Interval(point.value, point.low, point.high, sessions=len(point.session_values), n=0)
    )


def change_cell(series: TrialSeries, point: HistoryPoint, comparison: Comparison | None) -> str:
    """`+8.2 % worse`, `-0.1 %`; of shares points; the sign where there is nothing to compare with."""
    if comparison is None:
        return words.MISSING
    if series.is_share:
        points = 100 * (point.value - point.value / comparison.ratio)
        return f"{points:+.1f}" if abs(points) >= 0.05 else "same"
    word = f" {comparison.word}" if comparison.word in ("better", "worse") else ""
    return f"{ratio_text(comparison.ratio)}{word}"


def ratio_text(ratio: float) -> str:
    """A ratio as the change that it is: `+8.2 %`; from twice on as a factor: `2.13 x`."""
    return f"{100 * (ratio - 1):+.1f} %" if 0.5 < ratio < 2 else f"{words.number(ratio)} x"


def _change_texts(names: Sequence[str], series: Sequence[TrialSeries]) -> Iterator[str]:
    """A paragraph a place where levels changed."""
    places = words.grouped(
        ((change.result, change.after_result, change.differences), (name, each, change))
        for name, each in zip(names, series, strict=True)
        for change in each.changes
    )
    for (first, last, differences), changed in places.items():
        _, example, _ = changed[0]
        day = next((point.begun_utc or "")[:10] for point in example.results if point.result == first)
        levels = [
            f"{name} {ratio_text(change.ratio)} {change.word}"
            if len(series) > 1
            else level_text(each, change)
            for name, each, change in changed
        ]
        since = f"since {words.plain(last, 80)}"
        explained = (
            f"Also changed {since}: {words.plain('; '.join(differences), 1000)}."
            if differences
            else f"No other recorded fact changed {since}."
        )
        yield f"Changed at {words.plain(first, 80)} ({day or 'no date'}): {', '.join(levels)}. {explained}"


def level_text(series: TrialSeries, change: LevelChange) -> str:
    """`from 0.199 to 0.216 s, +8.3 % (+7.7 % to +9.0 %), worse (p 0.01)`."""
    levels = f"from {words.number(change.before)} to {words.number(change.after)}"
    if series.is_share:
        levels = f"from {100 * change.before:.1f} to {100 * change.after:.1f} %"
    elif series.unit not in ("", "1"):
        levels += f" {series.unit}"
    span = f"{ratio_text(change.low)} to {ratio_text(change.high)}"
    return f"{levels}, {ratio_text(change.ratio)} ({span}), {change.word} (p {change.p:.2g})"


def trend(points: Sequence[HistoryPoint], most: int) -> str:
    """The last values as bars, the lowest of them the lowest bar."""
    values = [point.value for point in points[-most:]]
    low, high = min(values), max(values)
    # A hundredth between them is no hill.
    step = max(high - low, 0.01 * high) / (len(_BARS) - 1)
    return "".join(_BARS[round((value - low) / step)] for value in values)


def dates(points: Sequence[HistoryPoint]) -> list[str]:
    """The days, with the time of day where two are of one day."""
    days = [(point.begun_utc or "")[:10] for point in points]
    if len(set(days)) == len(days):
        return [day or words.MISSING for day in days]
    return [(point.begun_utc or "")[:16].replace("T", " ") or words.MISSING for point in points]


def _results(series: TrialSeries, name: str) -> list[Block]:
    changed = {change.result for change in series.changes}
    figures = (fill(heading(series), _HEADING), *_change_headings([series]))
    columns = (
        Column("date (UTC)", figures=True),
        Column("result", long=True),
        *(Column(each, figures=True) for each in figures),
    )
    rows = tuple(
        (
            day,
            f"{point.result} *" if point.result in changed else point.result,
            value_text(series, point),
            change_cell(series, point, point.to_previous),
            change_cell(series, point, point.to_baseline),
        )
        for day, point in zip(dates(series.results), series.results, strict=True)
    )
    shown = min(len(series.results), _LONGEST_TREND)
    marked = ["* The level changed here."] if changed else []
    return [
        Heading(f"{words.plain(series.target, 60)}: {name}"),
        Table(name, columns, rows),
        Notes.of([f"Trend of the last {shown}: {trend(series.results, shown)}", *marked]),
    ]


def _overview(series: Sequence[TrialSeries], names: Sequence[str]) -> list[Block]:
    shared = _shared_start([words.plain(each.variant, 120) for each in series])
    targets = {each.target for each in series}
    before = "" if len(targets) == 1 else ": "
    title = [words.plain(series[0].target, 60)] if len(targets) == 1 else []
    headings = {fill(heading(each), _HEADING) for each in series}
    latest = f"latest\n{headings.pop()}" if len(headings) == 1 else "latest"
    figures = ("results", latest, *_change_headings(series), "trend")
    columns = (Column("trial", long=True), *(Column(each, figures=True) for each in figures))
    rows = tuple(
        (
            name.replace(f"{before}{shared}", before, 1),
            str(len(each.results)),
            value_text(each, each.results[-1]).replace(" (", "\n("),
            change_cell(each, each.results[-1], each.results[-1].to_previous),
            change_cell(each, each.results[-1], each.results[-1].to_baseline),
            trend(each.results, _TREND),
        )
        for name, each in zip(names, series, strict=True)
    )
    text = ": ".join([*title, shared.rstrip("-: ")] if shared else title)
    return [*([Heading(text)] if text else []), Table("overview", columns, rows)]


def _change_headings(series: Sequence[TrialSeries]) -> list[str]:
    unit = " [points]" if all(each.is_share for each in series) else ""
    return [f"to the one\nbefore{unit}", f"to the\nbaseline{unit}"]


def _shared_start(names: Sequence[str]) -> str:
    """Start of all names, such as `mobilenet_v1-`; it is left out of the rows."""
    start = os.path.commonprefix(list(names))  # noqa: RUF071  # characters are what is meant
    return start[: start.rfind("-") + 1]


# The document of `edgebench results --json`: the results of a folder, newest first.


@dataclass(frozen=True)
class ResultsDocument:
    """The results of a folder, newest first."""

    output_dir: str
    """The folder that was looked into. Source: command line."""
    results: tuple[ResultOverview, ...]
    """Its results, newest first. Source: results."""
    left_out: tuple[UnreadableResult, ...]
    """Folders that cannot be read. Source: results."""


def print_results(
    console: Console,
    rows: Sequence[ResultOverview],
    unreadable: Sequence[UnreadableResult],
    output_dir: Path,
    *,
    as_json: bool = False,
) -> None:
    """Print the results newest first, then what cannot be read; as JSON as `results.schema.json` has it."""
    document = ResultsDocument(str(output_dir), tuple(rows), tuple(unreadable))
    columns = (
        Column("result", long=True),
        Column("begun (UTC)", figures=True),
        Column("targets", long=True),
        Column("trials", figures=True),
        Column("verdicts", figures=True),
    )
    table = Table("results", columns, tuple(map(_cells, rows)))
    none = "No result in {} can be read." if unreadable else "There is no result in {}."
    nothing = [
        none.format(output_dir),
        "Measure first: edgebench run --device cpu --profile disco-realtime --quick",
    ]
    shown = [table, Notes.of(_notes(rows))] if rows else [Notes.of(nothing)]
    reasons = Notes.of(f"{each.result}: {each.reason}" for each in unreadable)
    show_listing(console, vars(document), [*shown, reasons], as_json=as_json)


_ENDS = {"time": "time was over", "interrupted": "interrupted", "error": "ended by an error"}
_TARGETS = 3  # named in a cell


def _cells(row: ResultOverview) -> tuple[str, ...]:
    """A line of the table: of the verdicts a line a profile, with how many trials got which."""
    more = len(row.targets) - _TARGETS
    trials = str(row.trials) if row.measured == row.trials else f"{row.measured} of {row.trials}"
    verdicts = [words.MISSING] if not row.profiles else ["not recorded"]
    if row.profiles and row.verdicts is not None:
        verdicts = [
            "  ".join(
                [
                    words.plain(name, 30),
                    *(f"{words.SYMBOLS[word]} {count}" for word, count in counts.items() if count),
                ]
            )
            for name, counts in row.verdicts.items()
        ]
    return (
        f"{row.result} (latest)" if row.latest else row.result,
        (row.begun_utc or "")[:16].replace("T", " ") or words.MISSING,
        ", ".join(row.targets[:_TARGETS]) + (f" and {more} more" if more > 0 else ""),
        f"{trials}\n{_ENDS[row.ended]}" if row.ended in _ENDS else trials,
        "\n".join(verdicts),
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
