"""Cost of several workers on one device for each other, and their numbers together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import (
    BYTE_UNITS,
    ENERGY_UNITS,
    Metric,
    Option,
    Reading,
    Sampled,
    once_per_session,
)
from edgebench.judge.metrics.power import metered, power_estimates
from edgebench.judge.trial import STATED, Conditions, Estimate, Trial, Values

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded

ALONE = "one worker had the device: --workers N or --with VARIANT adds others"


def _reason(recorded: Recorded, reason: str) -> str:
    """Reason why numbers of several workers are missing; empty for the status of a trial."""
    if recorded.is_shared:
        return reason
    return ALONE if recorded.was_measured else ""


def _slowdown(recorded: Recorded, worker: int | None) -> Iterable[Reading]:
    """Slowdown of a worker, or of the slowest."""
    from edgebench.judge.workers import shared_workers, slowdown_of, slowdown_reason

    if not recorded.is_shared:
        return [Reading(Estimate(reason=_reason(recorded, "")))]
    workers, confidence = shared_workers(recorded), recorded.confidence
    if worker is not None:
        [own] = (shared for shared in workers if shared.number == worker)
        estimate = slowdown_of([own], confidence) or Estimate(reason=slowdown_reason(recorded, own))
        return [Reading(replace(estimate, notes=()), once_per_session(own.alone_s))]
    unknown = [shared for shared in workers if slowdown_of([shared], confidence) is None]
    reasons = (f"worker {shared.number}: {slowdown_reason(recorded, shared)}" for shared in unknown)
    return [Reading(slowdown_of(workers, confidence) or Estimate(reason="; ".join(reasons)))]


def _slowdown_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    if not trial.is_shared:
        return (Estimate(1.0, 1.0, 1.0, final=True).with_notes("it runs alone"),)
    stored, sure = trial.estimate(metric.name), conditions.certainty.at_least(trial.confidence)
    if stored.value is None or sure.interval <= STATED.at_least(trial.confidence).interval:
        return (stored,)
    from edgebench.judge.workers import kept_workers, slowdown_of

    return (slowdown_of(kept_workers(trial), sure.interval) or stored,)


def _rates(recorded: Recorded, worker: int | None) -> Values:
    is_timed = recorded.is_shared and not recorded.is_emulated
    times = [time for time in recorded.steady_times.values() if is_timed and time.images]
    return once_per_session(time.images / ((time.end_ns - time.start_ns) / 1e9) for time in times)


def _peaks(recorded: Recorded, worker: int | None) -> Values:
    """Peak memory of all workers added up, of each session that has it of all."""
    sums = []
    for record in recorded.ok:
        memories = (entry.get("memory") for entry in record.workers)
        peaks = [memory.get("peak_bytes") for memory in memories if isinstance(memory, Mapping)]
        finite = [peak for peak in peaks if isinstance(peak, int | float) and math.isfinite(peak)]
        if recorded.is_shared and len(finite) == len(recorded.workers):
            sums.append(int(sum(finite)))
    return once_per_session(sums)


def _energy(recorded: Recorded, worker: int | None) -> Iterable[Reading]:
    if not recorded.is_shared:
        return [Reading(Estimate(reason=_reason(recorded, "")))]
    return metered(recorded, "together_energy_j")


def _energy_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    is_metered = trial.is_shared and trial.rails
    return power_estimates(trial, metric, conditions) if is_metered else (trial.estimate(metric.name),)


def _metric(name: str, sentence: str, units: Mapping[str, float], **fields: Any) -> Metric:
    """Metric of several workers together."""
    common: dict[str, Any] = {
        "source": "passes.parquet",
        "statistics": ("median",),
        "options": (Option(("--workers", "N")), Option(("--with", "VARIANT"))),
        "belongs_to": "sharing",
    }
    return Metric(name, sentence, units, **common | fields)


METRICS = (
    _metric(
        "slowdown",
        "Ratio of the time that the slowest of several workers takes for an image to that of its variant "
        "alone, in the same run with the same options and all cores.",
        {"1": 1.0},
        read=_slowdown,
        estimates=_slowdown_estimates,
        by_worker=True,
        tables=("matrix", "sharing"),
        usual="also",
    ),
    _metric(
        "images_per_s",
        "Images that all workers finish a second, over the time when all of them run.",
        {"images/s": 1.0, "images/min": 1 / 60},
        read=Sampled(
            "sessions",
            _rates,
            lambda recorded: _reason(recorded, "no finished session says when all workers ran"),
        ),
        label="Throughput together",
        better="higher",
        tables=("matrix", "sharing"),
        usual="speed",
    ),
    _metric(
        "together_bytes",
        "Peak resident memory of all workers, added up: pages that several share, such as libraries and "
        "mapped models, count once for each.",
        BYTE_UNITS,
        source="session.json",
        statistics=("median", "max"),
        read=Sampled(
            "sessions",
            _peaks,
            lambda recorded: _reason(recorded, "no finished session says how much memory each worker took"),
        ),
        label="Peak memory together",
        tables=("sharing",),
    ),
    _metric(
        "together_energy_j",
        "Energy of an image on a shared device: that of the time when all workers run, idle power included, "
        "by the images that all of them finish in it.",
        ENERGY_UNITS,
        source="probes.parquet",
        read=_energy,
        estimates=_energy_estimates,
        label="Energy per image together",
        options=(Option(("--meter", "KIND")),),
        tables=("sharing",),
        compared="rails",
        usual="also",
    ),
)
