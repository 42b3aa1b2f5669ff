"""Rows of expected values, computed by the core: of a played result, and of the published figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
from tests.frozen.expected_values import KEYS, Document
from tests.frozen.replays import EVERYTHING, HERE, SHIPPED

OTHERS = str(HERE / "inputs" / "others.toml")


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
    return tuple(map(load_profile, (*SHIPPED, EVERYTHING, OTHERS)))


def rows_of_folder(folder: Path, **declared: Sequence[str]) -> Document:
    """The rows of a result, where `judge_folder` is told what is `declared`."""
    return rows(judge_folder(folder, profiles(), **declared))


def rows_of_published() -> Document:
    """The rows of the published figures that come with EdgeBench."""
    return rows(judge_published((*shipped_profiles(), load_profile(EVERYTHING), load_profile(OTHERS))))


def rows(judged: Judged) -> Document:
    """All rows of a judged result."""
    names = {trial.key: trial_name(trial) for trial in judged.summaries}
    assert len(set(names.values())) == len(judged.summaries), "two trials have one name"
    document: Document = {part: [] for part in KEYS}
    for trial in judged.summaries:
        document["estimates"] += (
            [names[trial.key], *row]
            for row in _estimates(trial, judged.profiles)
            if any(number is not None for number in row[-4:-1])
        )
        for profile in judged.profiles:
            document["stopping"] += (
                [
                    *(names[trial.key], profile.name, requirement.name),
                    *(is_settled(trial, requirement, *look) for look in LOOKS),
                ]
                for requirement in profile.judged
            )
    trials = {trial.key: trial for trial in judged.summaries}
    requirements = {
        (profile.name, requirement.name): requirement
        for profile in judged.profiles
        for requirement in profile.judged
    }
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
            requirement = requirements[verdict.profile, verdict.requirement]
            nearest = relaxed_limit(trials[verdict.trial], requirement)
            to = _number(nearest.to) if isinstance(nearest, RelaxedLimit) else None
            document["limits"].append([*key, to])
    return document


def trial_name(trial: TrialSummary) -> str:
    """Target, variant, settings, batch and requests in flight: the same whatever goes into the key."""
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
                conditions = {"schedule": profile.stated_schedule, "uplink_bps": profile.uplink_bps}
                if conditions["schedule" if metric.of_schedule else "uplink_bps"] is not None:
                    for statistic in metric.statistics:
                        figure = figure_of(trial, _question(metric, statistic, **conditions))
                        yield _row(metric.name, statistic, figure, n, profile=profile.name)
        elif metric.rail:
            rails = trial.power or ()
            for rail, curves in zip(rails, trial.power_curves or [()] * len(rails), strict=True):
                yield from _of_meter(metric, rail, curves)
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
    name, n = f"{rail.meter.removesuffix(':')} {rail.channel}", rail.samples
    ends = [getattr(rail, end) for end in metric.rail_bounds]
    recorded = Figure(getattr(rail, metric.rail), *ends)
    if metric.name != "power_peak_w":
        yield _row(metric.name, "mean", recorded, n, rail=name)
    for statistic in metric.statistics:
        for averaging_s in (None, *AVERAGING_S) if metric.name == "power_peak_w" else (None,):
            over = f" over {averaging_s:g} s" if averaging_s else ""
            figure = _of_rail(rail, curves, _question(metric, statistic, averaging_s=averaging_s), STATED)
            yield _row(metric.name, statistic + over, figure, n, rail=name)
    others = {"power_peak_w": {"p99": rail.p99_w}, "power_idle_w": {"drift": rail.idle_drift_w}}
    for statistic, number in others.get(metric.name, {}).items():
        yield _row(metric.name, statistic, Figure(number), n, rail=name)


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


def _question(metric: Metric, statistic: str, **conditions: Any) -> Requirement:
    """A requirement whose limit lets no other figure take the place of the metric's own."""
    limit = 0.0 if metric.at_least else math.inf
    comparison = "at least" if metric.at_least else "at most"
    fields = {"quantity": metric.name, "statistic": statistic, "limit": limit, "comparison": comparison}
    return _QUESTION.model_copy(update=fields | {"unit": metric.unit} | conditions)


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
