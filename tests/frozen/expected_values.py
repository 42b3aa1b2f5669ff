"""Expected values: figures, verdicts, nearest passing limits and settled verdicts of every scenario, in full digits.

The rows are plain data: a list of keys and numbers each, in base units. `differences` compares them and knows
no type of EdgeBench's; `rows` computes them. `python -m tests.frozen.expected_values` renews the files.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgebench.judge.decision import RelaxedLimit, relaxed_limit
from edgebench.judge.estimates import STATED
from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.metric import Metric, Sampled
from edgebench.judge.metrics import METRICS
from edgebench.judge.power_limits import _of_rail
from edgebench.judge.profile import Profile, load_profile, shipped_profiles
from edgebench.judge.published import judge_published
from edgebench.judge.requirement import Requirement
from edgebench.judge.trial_summary import PowerFigure, TrialSummary
from edgebench.judge.verdict import figure_of, is_settled
from edgebench.stats.intervals import EARLY_MARGIN
from tests.frozen.console import carry_out
from tests.frozen.replays import EVERYTHING, SHIPPED

FOLDER = Path(__file__).parent / "expected"

Document = dict[str, list[list[Any]]]
"""Rows by the name of their list."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "estimates": ("trial", "metric", "statistic", "worker", "rail", "stage", "profile"),
    "verdicts": ("trial", "profile", "requirement"),
    "limits": ("trial", "profile", "requirement"),
    "stopping": ("trial", "profile", "requirement"),
}
"""Columns by which a row is found; a `worker` is null for the trial itself, other parts that do not apply are empty."""

VALUES: Mapping[str, tuple[str, ...]] = {
    "estimates": ("value", "low", "high", "n"),
    "verdicts": ("metric", "statistic", "averaging_s", "word", "value", "low", "high", "bound", "margin"),
    "limits": ("limit",),
    "stopping": ("0.95", "0.99", "0.999", "0.95 early", "0.99 early", "0.999 early"),
}
"""Columns that are compared, behind those of the key."""


# Files of rows, and their comparison. Nothing here knows the core's types.


def write(name: str, document: Document) -> None:
    """Renew one file: a row a line, sorted, so that a difference of two versions can be read."""
    parts = []
    for part in KEYS:
        lines = [json.dumps([*KEYS[part], *VALUES[part]])]
        lines += [json.dumps(row, separators=(",", ":")) for row in _sorted(document[part])]
        parts.append(f"{json.dumps(part)}: [\n" + ",\n".join(lines) + "\n]")
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def expected(name: str) -> Document:
    """The rows of a file, without the names of their columns."""
    parts = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {part: rows for part, (_, *rows) in parts.items()}


def differences(expected: Document, found: Document, rel: float = 1e-12) -> list[str]:
    """Rows that are missing, additional or different, the first twenty in words, and how many more there are.

    Numbers differ by more than `rel` of the larger one, or of the row's value, since a margin and an end
    near 0 have the rounding of the value; passing limits by more than four times as much, since they are
    rounded to the side that passes. Where the expected n is 0, it is not known and not compared.
    """
    lines = [line for part in KEYS for line in _differences(part, expected[part], found[part], rel)]
    more = [f"and {len(lines) - 20} more"] if len(lines) > 20 else []
    return lines[:20] + more


def _differences(
    part: str, expected: Iterable[Sequence[Any]], found: Iterable[Sequence[Any]], rel: float
) -> Iterator[str]:
    width = len(KEYS[part])
    keyed: list[dict[tuple[Any, ...], Sequence[Any]]] = []
    for rows in (expected, found):
        by_key: dict[tuple[Any, ...], Sequence[Any]] = {}
        for row in rows:
            if (key := tuple(row[:width])) in by_key:
                yield f"{_named(part, key)}: two rows"
            by_key[key] = row[width:]
        keyed.append(by_key)
    before, after = keyed
    for key in _sorted(before.keys() | after.keys()):
        if key not in after:
            yield f"{_named(part, key)}: is missing, was {_numbers(part, before[key])}"
        elif key not in before:
            yield f"{_named(part, key)}: is new, {_numbers(part, after[key])}"
        else:
            yield from _changes(part, key, before[key], after[key], rel)


def _changes(
    part: str, key: Sequence[Any], before: Sequence[Any], after: Sequence[Any], rel: float
) -> Iterator[str]:
    values = dict(zip(VALUES[part], before, strict=True)).get("value")
    scale = max((abs(number) for number in _flat(values) if number is not None), default=0.0)
    for column, one, other in zip(VALUES[part], before, after, strict=True):
        if column == "n":
            same = one in (0, other)
        else:
            tolerance = 4 * rel if part == "limits" else rel
            same = _equal(one, other, tolerance, scale)
        if not same:
            yield f"{_named(part, key)}: {column} {one!r} is now {other!r}"


def _equal(one: Any, other: Any, rel: float, scale: float) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_equal(*pair, rel, scale) for pair in pairs)
    if type(one) in (int, float) and type(other) in (int, float):
        return math.isclose(one, other, rel_tol=rel, abs_tol=rel * scale)
    return type(one) is type(other) and bool(one == other)


def _flat(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _named(part: str, key: Sequence[Any]) -> str:
    texts = (
        f"worker {at}" if name == "worker" else str(at) for name, at in zip(KEYS[part], key, strict=True)
    )
    shown = [text for text, at in zip(texts, key, strict=True) if at not in (None, "")]
    return f"{part}: {' / '.join(shown)}"


def _numbers(part: str, values: Sequence[Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in zip(VALUES[part], values, strict=True))


def _sorted(rows: Iterable[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: [(at is not None, str(at)) for at in row])


# Rows of today's core.


LOOKS = tuple(
    (Certainty.of_look(confidence), margin)
    for margin in (0.0, EARLY_MARGIN)
    for confidence in (0.95, 0.99, 0.999)
)
"""Certainties and least margins of the columns of `stopping`."""

AVERAGING_S = (0.1, 1.0, 10.0)
SIDES = ("longest", "middle", "shortest")

WITHOUT_REQUIREMENTS: Mapping[str, str] = {
    **dict.fromkeys(("import_s", "first_inference_s", "first_pass_s", "stages_ms", "instructions"), "median"),
    **dict.fromkeys(("power_idle_w", "net_energy_j"), "mean"),
    **dict.fromkeys(("scene_accuracy", "agreement"), "share"),
    "in_flight": "mean",
}
"""Statistics of metrics that no requirement is about."""

_QUESTION = Requirement.model_validate({"limit": 1.0})


def profiles() -> tuple[Profile, ...]:
    """Those by which every scenario is judged."""
    return tuple(map(load_profile, (*SHIPPED, EVERYTHING)))


def rows_of_folder(folder: Path) -> Document:
    """The rows of a played result."""
    return rows(judge_folder(folder, profiles()))


def rows_of_published() -> Document:
    """The rows of the published figures that come with EdgeBench."""
    return rows(judge_published((*shipped_profiles(), load_profile(EVERYTHING))))


def rows(judged: Judged) -> Document:
    """All rows of a judged result."""
    names = {trial.key: _name(trial) for trial in judged.summaries}
    assert len(set(names.values())) == len(judged.summaries), "two trials have one name"
    document: Document = {part: [] for part in KEYS}
    for trial in judged.summaries:
        found = ([names[trial.key], *row] for row in _estimates(trial, judged.profiles))
        document["estimates"] += (row for row in found if any(number is not None for number in row[-4:-1]))
        for profile in judged.profiles:
            document["stopping"] += (
                [
                    *(names[trial.key], profile.name, requirement.name),
                    *(is_settled(trial, requirement, *look) for look in LOOKS),
                ]
                for requirement in profile.judged
            )
    trials = {trial.key: trial for trial in judged.summaries}
    requirements = {(profile.name, each.name): each for profile in judged.profiles for each in profile.judged}
    for verdict in judged.verdicts:
        key = [names[verdict.trial], verdict.profile, verdict.requirement]
        numbers = [_number(getattr(verdict, column)) for column in ("value", "low", "high")]
        document["verdicts"].append(
            [
                *(*key, verdict.quantity, verdict.statistic, verdict.averaging_s, verdict.verdict),
                *(*numbers, verdict.bound, _number(verdict.margin)),
            ]
        )
        if verdict.verdict != "pass":
            asked = requirements[verdict.profile, verdict.requirement]
            nearest = relaxed_limit(trials[verdict.trial], asked)
            to = _number(nearest.to) if isinstance(nearest, RelaxedLimit) else None
            document["limits"].append([*key, to])
    return document


def _name(trial: TrialSummary) -> str:
    settings = [f"{name}={value}" for name, value in trial.settings.items() if name not in trial.target]
    batch = f"batch {trial.batch}" if trial.batch != 1 else ""
    concurrency = f"{trial.concurrency} at once" if trial.concurrency != 1 else ""
    return " ".join(filter(None, (trial.target, trial.variant, *settings, batch, concurrency)))


def _estimates(trial: TrialSummary, profiles: Sequence[Profile]) -> Iterator[list[Any]]:
    """Rows without the trial's name; some of them without numbers."""
    # An objection to a figure is no part of its numbers.
    trial = replace(trial, stamp_doubt="") if trial.stamp_doubt else trial
    for metric in METRICS.values():
        n = _count(metric, trial)
        if metric.of_schedule or "uplink_bps" in metric.conditions:
            for profile in profiles:
                more = {"schedule": profile.stated_schedule, "uplink_bps": profile.uplink_bps}
                if more["schedule" if metric.of_schedule else "uplink_bps"] is not None:
                    for statistic in metric.statistics:
                        figure = figure_of(trial, _question(metric, statistic, **more))
                        yield _row(metric.name, statistic, figure, n, profile=profile.name)
        elif metric.rail:
            for at, rail in enumerate(trial.power or ()):
                yield from _of_meter(metric, rail, (trial.power_curves or [()] * (at + 1))[at])
        elif metric.is_size:
            sides = figure_of(trial, _question(metric, metric.statistics[0])).value
            if isinstance(sides, tuple):
                for stage, side in zip(SIDES, sorted(sides, reverse=True), strict=True):
                    yield _row(metric.name, metric.statistics[0], Figure(side, exact=True), stage=stage)
        elif metric.statistics:
            for statistic in metric.statistics:
                yield _row(metric.name, statistic, figure_of(trial, _question(metric, statistic)), n)
        else:
            yield from _recorded(metric, trial, n)
    if len(trial.workers) > 1:
        for worker in trial.workers:
            yield from _of_worker(worker)


def _recorded(metric: Metric, trial: TrialSummary, n: int) -> Iterator[list[Any]]:
    """Rows of a metric that no requirement is about, from its value."""
    value = metric.value(trial)
    if metric.name == "declared_power":
        for power in trial.declared_power:
            yield _row(metric.name, power.kind, Figure(power.watts, exact=True))
    elif metric.name == "stages_ms":
        for stage, time_ms in value.items():
            yield _row(metric.name, WITHOUT_REQUIREMENTS[metric.name], Figure(time_ms), stage=stage)
    elif value is not None and hasattr(value, "k"):
        ends = (getattr(value, "low", None), getattr(value, "high", None))
        yield _row(metric.name, WITHOUT_REQUIREMENTS[metric.name], Figure(value.k / value.n, *ends), n)
        if (p := getattr(value, "mcnemar_p", None)) is not None:
            yield _row(metric.name, "p", Figure(p), n)
    elif value is not None:
        yield _row(metric.name, WITHOUT_REQUIREMENTS[metric.name], Figure(float(value)), n)


def _of_meter(metric: Metric, rail: PowerFigure, curves: Any) -> Iterator[list[Any]]:
    """Rows of one rail: what it says of limits, and as `mean` what documents have of it."""
    place = {"rail": f"{rail.meter.removesuffix(':')} {rail.channel}", "n": rail.samples}
    ends = [getattr(rail, end) for end in metric.rail_bounds]
    recorded = Figure(getattr(rail, metric.rail), *ends)
    if metric.name != "power_peak_w":
        yield _row(metric.name, "mean", recorded, **place)
    for statistic in metric.statistics:
        for averaging_s in (None, *AVERAGING_S) if metric.name == "power_peak_w" else (None,):
            over = f" over {averaging_s:g} s" if averaging_s else ""
            figure = _of_rail(rail, curves, _question(metric, statistic, averaging_s=averaging_s), STATED)
            yield _row(metric.name, statistic + over, figure, **place)
    others = {"power_peak_w": {"p99": rail.p99_w}, "power_idle_w": {"drift": rail.idle_drift_w}}
    for statistic, number in others.get(metric.name, {}).items():
        yield _row(metric.name, statistic, Figure(number), **place)


def _of_worker(worker: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Rows of one of several workers."""
    number = worker["worker"]
    for name in ("image_s", "infer_s", "slowdown"):
        if interval := worker[name]:
            figure = Figure(interval["median"], interval["low"], interval["high"])
            yield _row(name, "median", figure, interval["n"], worker=number)
    if requests := worker["request_ms"]:
        for statistic in ("median", "p99"):
            yield _row("request_ms", statistic, Figure(requests[statistic]), requests["n"], worker=number)
    yield _row("in_flight", "mean", Figure(worker["in_flight"]), worker=number)
    for name in ("load_s", "memory_bytes"):
        yield _row(name, "median", Figure(worker[name]), worker=number)
    for stage, time_ms in worker["stages_ms"].items():
        yield _row("stages_ms", "median", Figure(time_ms), worker=number, stage=stage)
    if accuracy := worker["accuracy"]:
        figure = Figure(accuracy["k"] / accuracy["n"], accuracy["low"], accuracy["high"])
        yield _row("accuracy", "share", figure, accuracy["n"], worker=number)


def _question(metric: Metric, statistic: str, **more: Any) -> Requirement:
    """A requirement whose limit lets no other figure take the place of the metric's own."""
    limit = 0.0 if metric.at_least else math.inf
    comparison = "at least" if metric.at_least else "at most"
    fields = {"quantity": metric.name, "statistic": statistic, "limit": limit, "comparison": comparison}
    return _QUESTION.model_copy(update=fields | {"unit": metric.unit} | more)


def _count(metric: Metric, trial: TrialSummary) -> int:
    """Passes, images or sessions that its figure is of; 0 where nothing says so."""
    if isinstance(metric.judged, Sampled):
        return sum(map(len, metric.judged.values(trial)))
    if metric.name == "deadline_misses":
        return trial.paced.passes if trial.paced else 0
    if metric.name == "auc":
        return trial.auc.normal + trial.auc.anomalous if trial.auc else 0
    return getattr(metric.value(trial), "n", 0)


def _row(
    metric: str,
    statistic: str,
    figure: Figure,
    n: int = 0,
    *,
    worker: int | None = None,
    rail: str = "",
    stage: str = "",
    profile: str = "",
) -> list[Any]:
    low, high = (figure.value, figure.value) if figure.exact else (figure.low, figure.high)
    # An upper end that an objection keeps from passing a limit is there all the same.
    high = figure.ceiling if high is None else high
    return [metric, statistic, worker, rail, stage, profile, *map(_number, (figure.value, low, high)), n]


def _number(value: Any) -> Any:
    """A float, or a list of them; None where it is missing."""
    return (
        [float(side) for side in value]
        if isinstance(value, tuple)
        else None
        if value is None
        else float(value)
    )
