"""Metrics as text in the form that their catalogue entry names, and the tables of a report made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edgebench.judge.metric import Form, Metric
from edgebench.judge.metrics import METRICS, shown_in
from edgebench.judge.metrics.power import rail_value
from edgebench.judge.power import scope_rank
from edgebench.judge.trial_summary import PUBLISHED, UNKNOWN_SCOPE, PowerFigure, TrialSummary
from edgebench.report import words
from edgebench.report.blocks import Column, Table, of_figures
from edgebench.report.words import FigureText
from edgebench.stats.interval import Interval

FORMS: Mapping[Form, tuple[str, Callable[[Any], str]]] = {
    "interval": ("", words.interval),
    "percent": (
        "",
        lambda figure: (
            words.number(100 * figure)
            if isinstance(figure, int | float)
            else words.estimate(100 * figure.k / figure.n, 100 * figure.low, 100 * figure.high)
            if figure.n
            else words.MISSING
        ),
    ),
    "right of n": ("", words.right_of),
    "points": (
        "",
        lambda drop: (  # below fp32; the sign for fp32 itself
            words.estimate(drop.points, drop.low, drop.high) if drop.low or drop.high else words.MISSING
        ),
    ),
    "k of n": ("", lambda figure: f"{figure.k} of {figure.n}"),
    "p": ("mcnemar_p", lambda p: words.number(p, 2)),
    "bytes": ("", words.size),
    "number": ("", lambda figure: (words.interval if isinstance(figure, Interval) else words.number)(figure)),
    "milliseconds": ("", lambda seconds: words.number(seconds * 1e3)),
    "median": ("median", words.number),
    "p99": ("p99", words.number),
    "count": ("", words.count),
    "area": ("", lambda figure: words.estimate(figure.area, figure.low, figure.high)),
}
"""Field of the value that is printed (empty: the value itself), and the function that prints it."""


def value_of(metric: Metric, trial: TrialSummary) -> Any:
    """The value of a metric; of power and energy what the primary meter and rail saw, with its interval."""
    if not metric.rail:
        return metric.value(trial)
    return None if trial.primary_rail is None else rail_value(trial.primary_rail, metric)


def metric_text(value: Any, form: Form) -> str:
    """The value of a metric as its entry says, which knows the value; the sign for a missing one."""
    part, text_of = FORMS[form]
    figure = getattr(value, part) if part and value is not None else value
    if figure is None:
        return words.MISSING
    number = figure if isinstance(figure, int | float) else getattr(figure, "median", None)
    return text_of(figure) if number is None else FigureText(text_of(figure), number)


# Which figures of power and energy may be compared: those of meters that cover the same.


def scope_text(rail: PowerFigure) -> str:
    """Scope of its meter: `board`, `scope unknown`."""
    return words.plain(rail.scope, 20) or UNKNOWN_SCOPE


def meter_text(rail: PowerFigure) -> str:
    """Meter and rail: `rapl package-0`."""
    return words.plain(f"{rail.meter.removesuffix(':')} {rail.channel}", 60)


def rail_text(rail: PowerFigure) -> str:
    """Meter, rail and what they cover: `rapl package-0, chip`."""
    return f"{meter_text(rail)}, {scope_text(rail)}"


def declared_texts(summary: TrialSummary) -> list[str]:
    """Declared values of a trial's target, marked as such: mass, size, power and boot time."""
    texts = [
        f"declared {METRICS[name].label.lower()}: {words.quantity(getattr(summary, name))} "
        f"{name.rpartition('_')[2]} ({words.plain(source)})"
        for name, source in summary.declared_sources.items()
    ]
    figures = [
        f"{power.kind} {power.watts:g} W ({words.plain(power.source)})" for power in summary.declared_power
    ]
    if figures:
        texts.append(f"declared power, not measured: {', '.join(figures)}")
    if boot := summary.boot_s:
        source = words.plain(boot.source)
        texts.append(f"declared boot time, not measured: {boot.kind} {boot.seconds:g} s ({source})")
    return texts


def scopes_note(rails: Iterable[PowerFigure]) -> str:
    """Reason why figures of these rails cannot all be compared; "" if their scope is one."""
    ranks = {scope_text(rail): scope_rank(rail.scope) for rail in rails}
    if len(ranks) < 2:
        return ""
    scopes = sorted(ranks, key=lambda text: (ranks[text], text))
    return (
        f"Power and energy are of meters that cover different things ({', '.join(scopes)}): "
        "they are comparable within a scope, not across scopes."
    )


# The tables, made once and shown in every form.


def trial_names(summaries: Sequence[TrialSummary]) -> dict[str, str]:
    """Short names by key, with the target in front where there are several."""
    names = words.labels(summaries)
    targets = words.grouped((words.plain(summary.target, 60), summary) for summary in summaries)
    if len(targets) < 2:
        return names
    if not any(PUBLISHED in summary.mark for summary in summaries):
        return {each.key: f"{target}: {names[each.key]}" for target, of in targets.items() for each in of}
    published: dict[str, str] = {}  # of many devices one or two trials each: their targets say most
    for target, group in targets.items():
        labels = words.labels(
            [replace(each, mark=each.mark.replace(PUBLISHED, "").strip()) for each in group]
        )
        published |= {
            key: target if len(group) == 1 else f"{target}: {label}" for key, label in labels.items()
        }
    return published


def names_by_trial(summaries: Sequence[TrialSummary]) -> dict[str, tuple[str, ...]]:
    """Names of each trial by key, with its target in front and without."""
    with_target, alone = trial_names(summaries), words.labels(summaries)
    return {key: tuple(dict.fromkeys((name, alone[key]))) for key, name in with_target.items()}


def metric_columns(table: str, summaries: Sequence[TrialSummary]) -> list[tuple[Metric, Column, list[str]]]:
    """The metrics in a table: each with its column and a cell a trial; of a keyed metric one column a key."""
    columns = []
    for metric, shown in shown_in(table, summaries):
        values = [value_of(metric, summary) for summary in summaries]
        if not metric.keyed:
            columns.append((metric, shown.heading, shown.form, values))
            continue
        for key in dict.fromkeys(key for value in values for key in value or {}):
            heading = shown.heading.format(key=words.plain(key, 40))
            columns.append((metric, heading, shown.form, [(value or {}).get(key) for value in values]))
    return [
        (
            metric,
            Column(heading, figures=True, about=metric.sentence),
            [metric_text(value, form) for value in values],
        )
        for metric, heading, form, values in columns
    ]


def metric_table(
    title: str,
    summaries: Sequence[TrialSummary],
    caption: str = "",
    *more: tuple[str, Sequence[str]],
) -> Table:
    """One row per trial, a column for every metric of that table that some trial has, then `more`.

    `more` are headings with their cells.
    """
    names = trial_names(summaries)
    columns = [(column, texts) for _, column, texts in metric_columns(title, summaries)]
    columns += [(Column(heading, figures=True), list(texts)) for heading, texts in more]
    columns = [(column, texts) for column, texts in columns if set(texts) != {words.MISSING}]
    cells = [texts for _, texts in columns]
    rows = [(names[summary.key], *row) for summary, *row in zip(summaries, *cells, strict=True)]
    return Table(title, (Column("Trial"), *(column for column, _ in columns)), tuple(rows), caption=caption)


def latency(summaries: Sequence[TrialSummary]) -> Table:
    """Times within an image, and what they rest on."""
    figures = [summary.latency for summary in summaries]
    counted = [
        ("Sessions", [words.MISSING if figure is None else str(figure.sessions) for figure in figures]),
        ("Passes or windows", [words.MISSING if figure is None else str(figure.n) for figure in figures]),
    ]
    return metric_table("latency", summaries, words.MEDIAN, *counted)


def start(summaries: Sequence[TrialSummary]) -> Table:
    """Times of a session's start, memory, and the build, once per board."""
    seconds = [summary.built.seconds if summary.built else None for summary in summaries]
    built = [metric_text(value, "number") for value in seconds]
    return metric_table("start", summaries, "mean over the sessions", ("Build on the board, s", built))


def power_tables(summaries: Sequence[TrialSummary], *, brief: bool = False) -> list[Table]:
    """One table per meter, rail and scope, with one row per trial; the primary ones first.

    `brief` leaves out how well the meter delivered.
    """
    names = trial_names(summaries)
    rows_by_rail: dict[tuple[bool, str], list[tuple[str, ...]]] = {}
    for summary in summaries:
        for rail in summary.power or ():
            delivered = (rail.p99_w, rail.effective_hz, rail.longest_gap_s)
            figures = (
                metric_text(rail_value(rail, metric) if metric.rail else metric.value(summary), shown.form)
                for metric, shown in shown_in("power")
            )
            more = () if brief else tuple(metric_text(value, "number") for value in delivered)
            cells = (names[summary.key], *figures, *more)
            rows_by_rail.setdefault((not rail.primary, rail_text(rail)), []).append(cells)
    has_others = any(is_other for is_other, _ in rows_by_rail)
    headings = [shown.heading for _, shown in shown_in("power")]
    headings += [] if brief else ["p99, W", "Rate, Hz", "Longest gap, s"]
    return [
        Table(
            f"{name} (primary)" if has_others and not is_other else name,
            of_figures("Trial", *headings),
            tuple(rows),
        )
        for (is_other, name), rows in sorted(rows_by_rail.items(), key=lambda item: item[0][0])
    ]
