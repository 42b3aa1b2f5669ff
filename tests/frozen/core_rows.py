"""Rows of expected values, computed by the core: of a played result, and of the published figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.power.limits import estimate_of_rail
from edgebench.judge.requirements.profile import Profile, load_profile, shipped_profiles
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.trial import STATED, Certainty, Conditions, Estimate, Trial
from edgebench.judge.verdicts.next_steps import passing_limit
from edgebench.judge.verdicts.verdict import Verdict, estimates_for, is_settled
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

LATER = frozenset({"accuracy_top5", "accuracy_balanced", "lateness_s"})
"""Metrics that are younger than the expected values."""

_QUESTION = Requirement.model_validate({"limit": 1.0})


def profiles() -> tuple[Profile, ...]:
    """Those by which every scenario is judged."""
    return tuple(map(load_profile, (*SHIPPED, EVERYTHING, OTHERS)))


def rows_of_folder(folder: Path, **declared: Sequence[str]) -> Document:
    """The rows of a result, where `judge_folder` is told what is `declared`."""
    return rows(judge_folder(folder, profiles(), **declared))


def rows_of_published() -> Document:
    """The rows of the published figures that come with EdgeBench."""
    from edgebench.judge.published import judge_published

    return rows(judge_published((*shipped_profiles(), load_profile(EVERYTHING), load_profile(OTHERS))))


def rows(judged: Judged) -> Document:
    """All rows of a judged result."""
    names = {trial.key: trial_name(trial) for trial in judged.trials}
    trials = {trial.key: trial for trial in judged.trials}
    document: Document = {part: [] for part in KEYS}
    for trial in judged.trials:
        # Verdicts alone leave the upper ends out that short stamps make doubtful.
        doubts = {subject: doubt for subject, doubt in trial.doubts.items() if subject != "stamps"}
        document["estimates"] += (
            [names[trial.key], *row]
            for row in _estimates(replace(trial, doubts=doubts), judged.profiles)
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
    for verdict in judged.verdicts:
        key = [names[verdict.trial], verdict.profile, verdict.requirement.name]
        row = _verdict(verdict)
        if verdict.requirement.metric.is_size and verdict.word != "unknown":
            sides = [estimate.value for _, estimate in trials[verdict.trial].estimates_of("size_mm")]
            row[4] = [side / verdict.requirement.scale for side in sides if side is not None]
        document["verdicts"].append([*key, *row])
        if verdict.word != "pass":
            limit = passing_limit(trials[verdict.trial], verdict.requirement)
            scale = verdict.requirement.scale
            document["limits"].append([*key, _number(_in_unit(limit, scale))])
    return document


def trial_name(trial: Trial) -> str:
    """Target, variant, settings, batch and requests in flight: the same whatever goes into the key."""
    settings = [f"{name}={value}" for name, value in trial.settings.items() if name not in trial.target]
    batch = f"batch {trial.batch}" if trial.batch != 1 else ""
    concurrency = f"{trial.concurrency} at once" if trial.concurrency != 1 else ""
    return " ".join(filter(None, (trial.target, trial.variant, *settings, batch, concurrency)))


def _in_unit(number: Any, scale: float) -> Any:
    if isinstance(number, tuple):
        return tuple(side / scale for side in number)
    return None if number is None else number / scale


def _verdict(verdict: Verdict) -> list[Any]:
    requirement, estimate = verdict.requirement, verdict.estimate
    scale = requirement.scale
    low, high, bound = estimate.low, estimate.high, ""
    if estimate.value is None and (low is None) != (high is None):
        bound = ("above" if estimate.strict else "at least") if high is None else ""
        bound = bound or ("below" if estimate.strict else "at most")
    if estimate.is_exact and not estimate.n and requirement.quantity not in ("slowdown", "accuracy_drop"):
        low = high = None
    high = None if estimate.objection else high
    low = requirement.base_limit if low == math.inf else low
    numbers = [_in_unit(number, scale) for number in (estimate.value, low, high)]
    margin = _in_unit(verdict.margin, scale)
    return [
        *(requirement.quantity, requirement.statistic, requirement.averaging_s, verdict.word),
        *(*map(_number, numbers), bound, _number(margin)),
    ]


def _estimates(trial: Trial, profiles: Sequence[Profile]) -> Iterator[list[Any]]:
    """Rows without the trial's name; some of them without numbers."""
    for metric in METRICS.values():
        if metric.name in LATER:
            continue
        if metric.is_scheduled or "uplink_bps" in metric.conditions:
            for profile in profiles:
                conditions = {"schedule": profile.stated_schedule, "uplink_bps": profile.uplink_bps}
                if conditions["schedule" if metric.is_scheduled else "uplink_bps"] is not None:
                    for statistic in metric.statistics:
                        question = _question(metric, statistic, **conditions)
                        [estimate, *_] = estimates_for(trial, question)
                        yield _row(metric, statistic, estimate, profile=profile.name)
        elif any(key.rail for key, _ in trial.estimates_of(metric.name)):
            yield from _of_meters(metric, trial)
        elif trial.is_published and metric.unit in ("W", "J") and not metric.is_scheduled:
            continue  # of rails alone
        elif metric.required and not metric.is_size:
            for statistic in metric.statistics:
                [estimate, *_] = estimates_for(trial, _question(metric, statistic))
                if not (metric.is_power and estimate.basis.startswith("declared")):
                    yield _row(metric, statistic, estimate)
        elif metric.name == "declared_power":
            for key, estimate in trial.estimates_of(metric.name):
                watts = estimate.value
                yield _row(metric, key.stage, replace(estimate, low=watts, high=watts))
        elif metric.is_size or not trial.is_published:
            for key, estimate in trial.estimates_of(metric.name):
                if key.worker is None:
                    yield _row(metric, _recorded(key.statistic, metric), estimate, stage=key.stage)
        for key, estimate in trial.estimates_of(metric.name):
            if key.worker is not None and key.metric in _OF_WORKERS:
                if key.metric in ("load_s", "memory_bytes"):
                    estimate = replace(estimate, low=None, high=None)  # the expected values have no ends
                yield _row(
                    metric, _recorded(key.statistic, metric), estimate, worker=key.worker, stage=key.stage
                )


_OF_WORKERS = (
    "image_s", "infer_s", "slowdown", "request_ms", "in_flight", "load_s", "memory_bytes", "stages_ms",
    "accuracy",
)  # fmt: skip


def _recorded(statistic: str, metric: Metric) -> str:
    names = {"in_flight": "mean", "power_idle_w": "mean", "net_energy_j": "mean"}
    return {"mcnemar_p": "p"}.get(statistic, names.get(metric.name, statistic))


def _of_meters(metric: Metric, trial: Trial) -> Iterator[list[Any]]:
    """Rows of each rail: the judged estimates, and as `mean` the documents'."""
    for rail in trial.rails:
        kept = next(each for key, each in trial.estimates_of(metric.name) if key.rail == rail.name)
        if metric.name == "power_p99_w":
            yield ["power_peak_w", "p99", *_row(metric, "", kept, rail=rail.name)[2:]]
            continue
        if metric.name != "power_peak_w":
            yield _row(metric, "mean", kept, rail=rail.name)
        if metric.name == "power_idle_w":
            yield _row(metric, "drift", Estimate(rail.idle_drift_w, n=rail.samples), rail=rail.name)
        if metric.required:
            for statistic in metric.statistics:
                averaging = (None, *AVERAGING_S) if metric.name == "power_peak_w" else (None,)
                for averaging_s in averaging:
                    over = f" over {averaging_s:g} s" if averaging_s else ""
                    conditions = Conditions(statistic, STATED, averaging_s)
                    estimate = estimate_of_rail(trial, rail, metric, conditions)
                    if estimate.basis.startswith("declared"):
                        continue
                    yield _row(metric, statistic + over, estimate, rail=rail.name)


def _question(metric: Metric, statistic: str, **conditions: Any) -> Requirement:
    comparison = "at least" if metric.at_least else "at most"
    fields = {"quantity": metric.name, "statistic": statistic, "comparison": comparison}
    return _QUESTION.model_copy(update=fields | {"unit": metric.unit} | conditions)


def _row(
    metric: Metric,
    statistic: str,
    estimate: Estimate,
    *,
    worker: int | None = None,
    rail: str = "",
    stage: str = "",
    profile: str = "",
) -> list[Any]:
    numbers = map(_number, (estimate.value, estimate.low, estimate.high))
    return [metric.name, statistic, worker, rail, stage, profile, *numbers, estimate.n]


def _number(value: Any) -> Any:
    """A float, or a list of them; None where it is missing."""
    if isinstance(value, tuple):
        return [float(side) for side in value]
    return None if value is None else float(value)
