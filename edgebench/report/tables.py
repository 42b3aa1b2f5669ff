"""Tables of a report, made of the metrics' declarations and the estimates of trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from edgebench.judge.metric import SHARE_UNITS, Metric
from edgebench.judge.metric import Table as MetricTable
from edgebench.judge.metrics import METRICS, metrics_in
from edgebench.judge.power.rails import scope_rank
from edgebench.judge.sessions import PERCENTILES
from edgebench.judge.trial import MISSING, PUBLISHED, Estimate, EstimateKey, Rail, Trial
from edgebench.report import words
from edgebench.report.renderers.blocks import Column, Table


def estimate_text(estimate: Estimate, metric: Metric, heading: str = "") -> str:
    """Text of an estimate in the unit of its column: an interval, `954/1000`, bytes, percent or milliseconds.

    Args:
        estimate: the estimate.
        metric: its metric.
        heading: heading of the column, which may name another unit than the base unit.
    """
    scale = 0.01 if heading.endswith("%") else 1.0
    if metric.unit == "s" and heading.endswith("ms"):
        scale = 1e-3
    if estimate.value is None or scale != 1.0:
        return words.interval(estimate, scale)
    if metric.share_of and metric.unit != "points":
        return words.right_of(estimate)
    if metric.unit == "bytes":
        return words.size(round(estimate.value))
    return words.count(estimate.value) if metric.unit == "instruction" else words.interval(estimate)


def value_heading(metric: Metric) -> str:
    """Heading of a column of values: `Latency per image, s`, `Accuracy, %`."""
    return f"{metric.words}, %" if metric.units is SHARE_UNITS else metric.titled


# Scopes of meters, within which power and energy compare.


def meter_text(rail: Rail) -> str:
    """Meter and channel: `rapl package-0`."""
    return words.plain(rail.name, 60)


def rail_text(rail: Rail) -> str:
    """Meter, channel and scope: `rapl package-0, chip`."""
    return f"{meter_text(rail)}, {rail.scope}"


def declared_texts(trial: Trial) -> list[str]:
    """Declared numbers of a trial's target with their sources: mass, size, power and boot time."""
    texts = []
    for metric in METRICS.values():
        declared = [estimate for _, estimate in trial.estimates_of(metric.name) if estimate.basis]
        declared = [estimate for estimate in declared if estimate.basis.startswith("declared")]
        notes = (words.plain(note) for estimate in declared for note in estimate.notes[:1])
        sources = list(dict.fromkeys(notes))
        if sources and any(estimate.basis != "declared" for estimate in declared):
            texts.append(f"not measured: {words.listed(sources)}")
        elif sources:
            numbers = [estimate.value for estimate in declared if estimate.value is not None]
            text = words.quantity(numbers if metric.is_size else numbers[0])
            texts.append(f"declared {metric.inside}: {text} {metric.unit} ({sources[0]})")
    return texts


def scopes_note(rails: Iterable[Rail]) -> str:
    """Reason why numbers of these rails cannot all be compared; empty if their scope is one."""
    ranks = {rail.scope: scope_rank(rail.scope) for rail in rails}
    if len(ranks) < 2:
        return ""
    scopes = sorted(ranks, key=lambda scope: (ranks[scope], scope))
    return (
        f"Power and energy are of meters that cover different things ({', '.join(scopes)}): "
        "they are comparable within a scope, not across scopes."
    )


# Names of trials.


def trial_names(trials: Sequence[Trial]) -> dict[str, str]:
    """Short names by key, with the target in front where there are several."""
    names = words.labels(trials)
    targets = words.grouped((words.plain(trial.target, 60), trial) for trial in trials)
    if len(targets) < 2:
        return names
    has_published = any(trial.is_published for trial in trials)  # their targets say most
    for target, group in targets.items():
        if has_published:
            marks = [tuple(mark for mark in trial.marks if mark != PUBLISHED) for trial in group]
            names |= words.labels(
                [replace(trial, marks=own) for trial, own in zip(group, marks, strict=True)]
            )
        for trial in group:
            is_alone = has_published and len(group) == 1
            names[trial.key] = target if is_alone else f"{target}: {names[trial.key]}"
    return names


def names_by_trial(trials: Sequence[Trial]) -> dict[str, tuple[str, ...]]:
    """Names of each trial by key, with its target in front and without."""
    with_target, without = trial_names(trials), words.labels(trials)
    return {key: tuple(dict.fromkeys((name, without[key]))) for key, name in with_target.items()}


# Tables of trials.


class MetricColumn(NamedTuple):
    """Column of a metric, with one cell per trial."""

    metric: Metric
    column: Column
    texts: list[str]


def metric_columns(table: MetricTable, trials: Sequence[Trial]) -> list[MetricColumn]:
    """Columns of the metrics of a table; one per stage of a metric that has stages, one per statistic."""
    columns = []
    for metric in metrics_in(table):
        estimates = [
            {
                (key.stage, key.statistic): estimate
                for key, estimate in reversed(list(trial.estimates_of(metric.name)))
                if key.worker is None
            }
            for trial in trials
        ]
        parts = dict.fromkeys(part for by_part in estimates for part in reversed(by_part))
        for part in parts or [("", metric.statistics[0])]:
            column = [by_part.get(part, MISSING) for by_part in estimates]
            if any(estimate.value is not None for estimate in column):
                columns.append(metric_column(metric, column, *part))
    return columns


def metric_column(
    metric: Metric, estimates: Sequence[Estimate], stage: str = "", statistic: str = ""
) -> MetricColumn:
    """Column of estimates of one metric."""
    heading = (metric.heading or metric.titled).replace("{stage}", words.plain(stage, 40))
    if statistic not in ("", metric.statistics[0]):
        heading = statistic.replace("mcnemar_p", "McNemar p")
        texts = [words.number(estimate.value, 2) for estimate in estimates]
    else:
        texts = [estimate_text(estimate, metric, heading) for estimate in estimates]
    numbers = tuple(estimate.value for estimate in estimates)
    column = Column(heading, figures=True, about=metric.sentence, numbers=numbers)
    return MetricColumn(metric, column, texts)


def metric_table(
    title: MetricTable, trials: Sequence[Trial], caption: str = "", *more: tuple[str, Sequence[str]]
) -> Table:
    """One row per trial, a column for every metric of that table that some trial has, then `more`.

    `more` are headings with their cells.
    """
    names = trial_names(trials)
    columns = [column[1:] for column in metric_columns(title, trials)]
    columns += [(Column(heading, figures=True), list(texts)) for heading, texts in more]
    filled = [column for column in columns if set(column[1]) != {words.MISSING}]
    table = Table.of_columns(title, "Trial", [names[trial.key] for trial in trials], filled)
    return replace(table, caption=caption)


def latency(trials: Sequence[Trial]) -> Table:
    """Times within an image, with their sessions and passes."""
    latencies = [trial.latency or MISSING for trial in trials]
    sessions = [str(len(latency.sessions) or words.MISSING) for latency in latencies]
    passes = [str(latency.n or words.MISSING) for latency in latencies]
    counts = (("Sessions", sessions), ("Passes or windows", passes))
    return metric_table("latency", trials, words.MEDIAN, *counts)


def start(trials: Sequence[Trial]) -> Table:
    """Times of a session's start, memory, and the build, once per board."""
    built = [words.number(trial.built.seconds if trial.built else None) for trial in trials]
    return metric_table("start", trials, "mean over the sessions", ("Build on the board, s", built))


_DELIVERY = (("Rate, Hz", "effective_hz"), ("Longest gap, s", "longest_gap_s"))  # fields of a rail


def power_tables(trials: Sequence[Trial], *, brief: bool = False) -> list[Table]:
    """One table per rail and scope, with one row per trial; those that represent a board first.

    `brief` leaves out percentiles and the rate of the meter.
    """
    names = trial_names(trials)
    rails = words.grouped(
        ((place > 0, rail_text(rail)), (trial, rail))
        for trial in trials
        for place, rail in enumerate(trial.rails)
    )
    has_others = any(is_other for is_other, _ in rails)
    tables = []
    for (is_other, name), pairs in sorted(rails.items(), key=lambda item: item[0][0]):
        columns = []
        for metric in metrics_in("power"):
            if not (brief and metric.statistics[0] in PERCENTILES):
                key = EstimateKey(metric.name, metric.statistics[0])
                estimates = [
                    trial.estimates.get(key._replace(rail=rail.name), MISSING) for trial, rail in pairs
                ]
                columns.append(metric_column(metric, estimates)[1:])
        for heading, field in () if brief else _DELIVERY:
            numbers = tuple(getattr(rail, field) for _, rail in pairs)
            columns.append((Column(heading, figures=True, numbers=numbers), [*map(words.number, numbers)]))
        title = f"{name} (represents the board)" if has_others and not is_other else name
        tables.append(Table.of_columns(title, "Trial", [names[trial.key] for trial, _ in pairs], columns))
    return tables
