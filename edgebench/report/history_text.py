"""What `edgebench history` prints: one series result by result, several as a line each."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from rich.console import Console

from edgebench.fit.history import HistoryFigure, HistoryPoint, LevelChange, TrialSeries
from edgebench.report import words
from edgebench.report.console import cell, line, new_table
from edgebench.stats.compare import Comparison
from edgebench.stats.interval import Interval

_BARS = "▁▂▃▄▅▆▇█"
_TREND = 12  # results in the trend of one series among several
_STYLES = {"better": "green", "worse": "bold red"}


def print_history(console: Console, series: Sequence[TrialSeries]) -> None:
    """Print one series as a table of its results, several as a table with a line each; then the changes."""
    names = series_names(series)
    if len(series) == 1:
        _print_results(console, series[0], names[0])
    else:
        _print_overview(console, series, names)
    for text, word in _change_texts(names, series):
        line(console, text, _STYLES.get(word, ""), indent=2)
    for reason, alike in _reasons(names, series).items():
        sentence = f"{_some(alike)}: {reason}." if len(alike) < len(series) else f"{reason.capitalize()}."
        line(console, sentence, indent=2)
    if not any(each.changes or each.change_reason for each in series):
        line(console, "No change of the level was found.", indent=2)
    baselines = list(dict.fromkeys(_baseline(each) for each in series))
    which = words.plain(baselines[0], 80) if len(baselines) == 1 else "the oldest result of each"
    line(console, f"Baseline: {which}.", indent=2)
    if len(series) > 1:
        line(console, f"Result by result: {_narrower(series)}", indent=2)


def _narrower(series: Sequence[TrialSeries]) -> str:
    """A command that shows the first series alone, or nearly so."""
    first = series[0]
    command = f"edgebench history {shlex.quote(words.plain(first.target, 60))}"
    if len({each.variant for each in series}) > 1:
        command += f" --trial {shlex.quote(words.plain(first.variant, 120))}"
    return command


def _some(names: Sequence[str]) -> str:
    """Names, or of many how many."""
    return words.listed(list(names)) if len(names) <= 3 else f"{len(names)} of these"


def _baseline(series: TrialSeries) -> str:
    """The result that has nothing to be compared with."""
    return next(point.result for point in series.points if point.to_baseline is None)


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
        else f"{name}, scene {words.plain(each.scene, 40)}, from {_first(each)}"
        for name, each in zip(names, series, strict=True)
    ]


def _first(series: TrialSeries) -> str:
    return words.plain(series.points[0].result, 80)


def _parts(series: TrialSeries) -> dict[str, str]:
    settings = ", ".join(f"{name}={value}" for name, value in series.settings.items())
    return {
        "target": words.plain(series.target, 60),
        "variant": words.plain(series.variant, 120),
        "batch": f"batch {series.batch}",
        "concurrency": f"{series.concurrency} in flight",
        "settings": words.plain(settings, 120),
        "scope": words.power_of(series.scope) if series.metric.rail else "",
        "metric": series.metric.name,
    }


def heading(series: TrialSeries) -> str:
    """`image_s [s]`."""
    unit = "%" if series.is_share else series.metric.unit
    return series.metric.name if unit in ("", "1") else f"{series.metric.name} [{unit}]"


def value_text(series: TrialSeries, figure: HistoryFigure) -> str:
    """A value with its interval; a share in per cent."""
    if series.is_share:
        ends = "" if figure.low is None or figure.high is None else f" ({_ends(figure.low, figure.high)})"
        return f"{100 * figure.value:.1f}{ends}"
    if series.metric.unit == "bytes":
        return words.number(figure.value)
    return words.interval(
        Interval(figure.value, figure.low, figure.high, sessions=len(figure.session_values), n=0)
    )


def _ends(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f}"


def change_cell(series: TrialSeries, figure: HistoryFigure, comparison: Comparison | None) -> str:
    """`+8.2 % worse`, `-0.1 %`; of shares points; the sign where there is nothing to compare with."""
    if comparison is None:
        return words.MISSING
    if series.is_share:
        points = 100 * (figure.value - figure.value / comparison.ratio)
        return f"{points:+.1f}" if abs(points) >= 0.05 else "same"
    word = f" {comparison.word}" if comparison.word in _STYLES else ""
    return f"{ratio_text(comparison.ratio)}{word}"


def ratio_text(ratio: float) -> str:
    """A ratio as the change that it is: `+8.2 %`; from twice on as a factor: `2.13 x`."""
    return f"{100 * (ratio - 1):+.1f} %" if 0.5 < ratio < 2 else f"{words.number(ratio)} x"


def _change_texts(names: Sequence[str], series: Sequence[TrialSeries]) -> list[tuple[str, str]]:
    """A paragraph a place where levels changed, with better or worse where all of them did one of these."""
    places: dict[tuple[str, str, tuple[str, ...]], list[tuple[str, TrialSeries, LevelChange]]] = {}
    for name, each in zip(names, series, strict=True):
        for change in each.changes:
            place = change.first_after, change.last_before, change.differences
            places.setdefault(place, []).append((name, each, change))
    texts: list[tuple[str, str]] = []
    for (first, last, differences), changed in places.items():
        _, example, _ = changed[0]
        day = next(point.begun_utc[:10] for point in example.points if point.result == first)
        levels = [
            f"{name} {ratio_text(change.point.ratio)} {change.word}"
            if len(series) > 1
            else level_text(each, change)
            for name, each, change in changed
        ]
        since = f"since {words.plain(last, 80)}"
        explained = (
            f"What else is different {since}: {words.plain('; '.join(differences), 1000)}."
            if differences
            else f"Nothing else that the results record is different {since}."
        )
        text = f"Changed at {words.plain(first, 80)} ({day or 'no date'}): {', '.join(levels)}. {explained}"
        verdicts = {change.word for _, _, change in changed}
        texts.append((text, verdicts.pop() if len(verdicts) == 1 else ""))
    return texts


def level_text(series: TrialSeries, change: LevelChange) -> str:
    """`from 0.199 to 0.216 s, +8.3 % (+7.7 % to +9.0 %), worse (p 0.01)`."""
    point = change.point
    levels = f"from {words.number(point.before)} to {words.number(point.after)}"
    if series.is_share:
        levels = f"from {100 * point.before:.1f} to {100 * point.after:.1f} %"
    elif series.metric.unit not in ("", "1"):
        levels += f" {series.metric.unit}"
    span = f"{ratio_text(point.low)} to {ratio_text(point.high)}"
    return f"{levels}, {ratio_text(point.ratio)} ({span}), {change.word} (p {point.p:.2g})"


def trend(points: Sequence[HistoryPoint], most: int) -> str:
    """The last values as bars, the lowest of them the lowest bar."""
    values = [point.figure.value for point in points[-most:]]
    low, high = min(values), max(values)
    # A hundredth between them is no hill.
    step = max(high - low, 0.01 * high) / (len(_BARS) - 1)
    return "".join(_BARS[round((value - low) / step)] for value in values)


def dates(points: Sequence[HistoryPoint]) -> list[str]:
    """The days, with the time of day where two are of one day."""
    days = [point.begun_utc[:10] for point in points]
    if len(set(days)) == len(days):
        return [day or words.MISSING for day in days]
    return [point.begun_utc[:16].replace("T", " ") or words.MISSING for point in points]


def _print_results(console: Console, series: TrialSeries, name: str) -> None:
    line(console, f"{words.plain(series.target, 60)}: {name}", "bold")
    table = new_table(
        console,
        [
            ("date", True),
            ("result", False),
            (heading(series), True),
            *_change_headings([series]),
        ],
    )
    changed = {change.first_after: change.word for change in series.changes}
    for day, point in zip(dates(series.points), series.points, strict=True):
        mark = changed.get(point.result, "")
        table.add_row(
            cell(console, day),
            cell(console, f"{point.result} *" if mark else point.result, "bold" if mark else ""),
            cell(console, value_text(series, point.figure)),
            *(
                cell(
                    console,
                    change_cell(series, point.figure, comparison),
                    "" if comparison is None else _STYLES.get(comparison.word, ""),
                )
                for comparison in (point.to_previous, point.to_baseline)
            ),
        )
    console.print(table)
    shown = min(len(series.points), max(8, console.width - 24))
    line(console, f"Trend of the last {shown}: {trend(series.points, shown)}", indent=2)
    if changed:
        line(console, "* The level changed here.", indent=2)


def _print_overview(console: Console, series: Sequence[TrialSeries], names: Sequence[str]) -> None:
    shared = _shared_start(names)
    targets = {each.target for each in series}
    title = [words.plain(series[0].target, 60)] if len(targets) == 1 else []
    line(console, ": ".join([*title, shared.rstrip("-: ")] if shared else title), "bold")
    headings = list(dict.fromkeys(map(heading, series)))
    table = new_table(
        console,
        [
            ("trial", False),
            ("results", True),
            (f"latest\n{headings[0]}" if len(headings) == 1 else "latest", True),
            *_change_headings(series),
            ("trend", True),
        ],
    )
    for name, each in zip(names, series, strict=True):
        latest = each.points[-1]
        table.add_row(
            cell(console, name.removeprefix(shared)),
            str(len(each.points)),
            cell(console, value_text(each, latest.figure).replace(" (", "\n(")),
            *(
                cell(
                    console,
                    change_cell(each, latest.figure, comparison),
                    "" if comparison is None else _STYLES.get(comparison.word, ""),
                )
                for comparison in (latest.to_previous, latest.to_baseline)
            ),
            cell(console, trend(each.points, _TREND)),
        )
    console.print(table)


def _change_headings(series: Sequence[TrialSeries]) -> list[tuple[str, bool]]:
    unit = " [points]" if all(each.is_share for each in series) else ""
    return [(f"to the one\nbefore{unit}", True), (f"to the\nbaseline{unit}", True)]


def _shared_start(names: Sequence[str]) -> str:
    """What all names begin with, such as `mobilenet_v1-`; it need not stand in every row."""
    start = os.path.commonprefix(list(names))  # noqa: RUF071  # characters are what is meant
    return start[: max(start.rfind("-"), start.rfind(": ") + 1) + 1]


def _reasons(names: Sequence[str], series: Sequence[TrialSeries]) -> dict[str, list[str]]:
    """Why no change was looked for, and of which series."""
    reasons: dict[str, list[str]] = {}
    for name, each in zip(names, series, strict=True):
        if each.change_reason:
            reasons.setdefault(each.change_reason, []).append(name)
    return reasons
