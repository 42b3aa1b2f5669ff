"""Table of estimates: one tidy row per estimate, and its pivot with one wide row per trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import Basis, Estimate, EstimateKey, Rail, Trial, Worker
from edgebench.judge.verdicts.verdict import Verdict
from edgebench.records.target import settings_text

Cell = str | int | float | bool | None
"""Content of a row's cell; None where it is missing."""
Row = dict[str, Cell]


@dataclass(frozen=True)
class EstimateRow:
    """One estimate of a trial. Parts of the key that do not apply are empty."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    metric: str
    """Name of the metric, such as image_s. Source: the catalogue of metrics."""
    statistic: str
    """Statistic: median, p90, p99, max, share, declared and others. Source: the catalogue of metrics."""
    worker: int | None
    """Number of the worker, of several on a device; null for the trial's own. Source: session.json."""
    rail: str
    """Meter and channel, such as "ina:0 in". Source: session.json."""
    stage: str
    """Stage of an image, side of a size, or kind of a declared power. Source: sessions."""
    profile: str
    """Profile whose schedule or uplink it depends on. Source: profile."""
    value: float | None
    """Value in unit; null where there is none, or where one end alone is known. Source: fit."""
    low: float | None
    """Lower end of its interval; null without one. Source: fit."""
    high: float | None
    """Upper end of its interval; null without one. Source: fit."""
    unit: str
    """Base unit of the metric: 1 for shares. Source: the catalogue of metrics."""
    n: int
    """Passes, images or samples behind it. Source: sessions."""
    sessions: int
    """Sessions with a value of their own. Source: sessions."""
    basis: Basis
    """Origin: empty for a measured estimate, the meter's scope for power and energy, else declared (maximum,
    typical) or published. Source: fit."""
    reason: str
    """Cause of a missing value or end; empty without one. Source: fit."""


Keyed = Iterable[tuple[EstimateKey, Estimate]]
"""Estimates with their keys, in order; the first of a metric represents it."""


def estimates_with(trial: Trial, verdicts: Sequence[Verdict] = ()) -> list[tuple[EstimateKey, Estimate]]:
    """Estimates of a trial, and those that only its requirements ask for.

    The latter have another statistic than the default, or depend on a profile's schedule or uplink. A power
    over an averaging time stays with its verdict.
    """
    keyed = dict(trial.estimates)
    for verdict in verdicts:
        requirement = verdict.requirement
        metric = requirement.metric
        if verdict.trial != trial.key or requirement.averaging_s is not None:
            continue
        depends_on_profile = {"schedule", "uplink_bps"} & set(metric.conditions)
        profile = verdict.profile if depends_on_profile else ""
        if profile or requirement.statistic != metric.statistics[0]:
            key = EstimateKey(metric.name, requirement.statistic, profile=profile)
            keyed.setdefault(key, verdict.estimate)
    return list(keyed.items())


def estimate_rows(trials: Iterable[Trial], verdicts: Sequence[Verdict] = ()) -> Iterator[EstimateRow]:
    """Tidy rows of all estimates, by trial, then in the order of its estimates."""
    by_trial = verdicts_by_trial(verdicts)
    for trial in trials:
        for key, estimate in estimates_with(trial, by_trial.get(trial.key, ())):
            yield EstimateRow(
                trial.key,
                *key,
                estimate.value,
                estimate.low,
                estimate.high,
                METRICS[key.metric].unit,
                estimate.n,
                len(estimate.sessions),
                estimate.basis,
                estimate.reason,
            )


def column_of(key: EstimateKey) -> str:
    """Name of a key in wide tables and documents: `image_s`, `image_s_p99`, `stages_ms_infer`.

    It is the metric, then statistic (if not the default), stage and profile. Worker and rail have rows of
    their own.
    """
    statistic = "" if key.statistic == METRICS[key.metric].statistics[0] else key.statistic
    return "_".join(filter(None, (key.metric, statistic, key.stage, key.profile)))


def estimate_cells(estimates: Keyed) -> Row:
    """Values by column, with `_low` and `_high` where they are not exact; the first of a column stands."""
    cells: Row = {}
    for key, estimate in estimates:
        name = column_of(key)
        if name not in cells:
            cells[name] = estimate.value
            if not estimate.is_exact:
                ends = {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
                cells |= {column: end for column, end in ends.items() if end is not None}
    return cells


def part_of(keyed: Keyed, part: Rail | Worker) -> list[tuple[EstimateKey, Estimate]]:
    """Estimates of one rail, or of one worker."""
    if isinstance(part, Rail):
        return [(key, estimate) for key, estimate in keyed if key.rail == part.name]
    return [(key, estimate) for key, estimate in keyed if key.worker == part.number]


def identity_cells(trial: Trial) -> Row:
    """Cells that say which trial it is, and how far it came."""
    names = "target", "variant", "depth_multiplier", "precision", "batch", "concurrency"
    own = {name: getattr(trial, name) for name in names}
    return {"trial": trial.key, **own, "settings": settings_text(trial.settings)}


def wide_rows(trials: Sequence[Trial], verdicts: Sequence[Verdict] = ()) -> list[Row]:
    """One row per trial: its identity, one column per metric that any trial has, and its conditions.

    Estimates are those of the trial itself; power and energy are those of the rail that represents the board.
    All rows have the same columns in the same order.
    """
    by_trial = verdicts_by_trial(verdicts)
    cells = [
        estimate_cells(
            (key, estimate)
            for key, estimate in estimates_with(trial, by_trial.get(trial.key, ()))
            if key.worker is None
        )
        for trial in trials
    ]
    swept = list(dict.fromkeys(name for trial in trials for name in trial.settings))
    return [
        {
            **identity_cells(trial),
            **{f"setting:{name}": _cell(trial.settings.get(name)) for name in swept},
            "status": trial.status,
            "reason": trial.reason,
            "scene": trial.scene.text,
            "marks": "; ".join(trial.marks),
            **of_metrics,
            "failures": "; ".join(trial.failures),
            "warnings": "; ".join(trial.warnings),
        }
        for trial, of_metrics in zip(trials, aligned(cells), strict=True)
    ]


def aligned(rows: Sequence[Row]) -> list[Row]:
    """Rows of metrics with the same columns, in the catalogue's order; those without any value are left out.

    A column of the same metric keeps the order in which it first comes.
    """
    names = dict.fromkeys(name for row in rows for name, value in row.items() if value is not None)
    places = {name: place for place, name in enumerate(METRICS)}
    order = sorted(names, key=lambda name: places[metric_in(name)])
    return [{name: row.get(name) for name in order} for row in rows]


def metric_in(column: str) -> str:
    """Name of the metric of a column: the longest that the column begins with.

    Raises:
        KeyError: no metric's name begins it.
    """
    parts = column.split("_")
    for end in range(len(parts), 0, -1):
        if (name := "_".join(parts[:end])) in METRICS:
            return name
    raise KeyError(column)


def key_of(column: str, worker: int | None = None, rail: str = "") -> EstimateKey:
    """Key of a column's name, the inverse of `column_of` for estimates that depend on no profile.

    Raises:
        KeyError: no metric's name begins it.
    """
    metric = METRICS[metric_in(column)]
    rest = column.removeprefix(metric.name).removeprefix("_")
    if rest in metric.statistics[1:]:
        return EstimateKey(metric.name, rest, worker, rail)
    return EstimateKey(metric.name, metric.statistics[0], worker, rail, stage=rest)


def verdicts_by_trial(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Verdicts by the key of their trial."""
    by_trial: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_trial.setdefault(verdict.trial, []).append(verdict)
    return by_trial


def _cell(value: object) -> Cell:
    return value if isinstance(value, str | int | float | None) else str(value)
