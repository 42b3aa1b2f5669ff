"""Cost of several workers on one device for each other, and their numbers together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from edgebench.judge.metric import BYTE_UNITS, ENERGY_UNITS, Metric, Option, Reading, Sampled
from edgebench.judge.metrics.power import metered
from edgebench.judge.trial import STATED, Conditions, Estimate, Trial, Values

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded

ALONE = "one worker had the device: --workers N or --with VARIANT adds others"
_MORE = (Option(("--workers", "N")), Option(("--with", "VARIANT")))


def _reason(recorded: Recorded, reason: str) -> str:
    """Reason why numbers of several workers are missing; empty for the status of a trial."""
    if recorded.is_shared:
        return reason
    return ALONE if recorded.was_measured else ""


def _slowdown(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    if not recorded.is_shared:
        yield metric.missing(_reason(recorded, ""))
        return
    from edgebench.judge.recorded import once_per_session
    from edgebench.judge.workers import shared_workers, slowdown_of, slowdown_reason

    workers, confidence = shared_workers(recorded), recorded.confidence
    of_workers, reasons = [], []
    for worker in workers:
        estimate = slowdown_of([worker], confidence)
        if estimate is None:
            estimate = Estimate(reason=slowdown_reason(recorded, worker))
            reasons.append(f"worker {worker.number}: {estimate.reason}")
        values = once_per_session(worker.alone_s)
        of_workers.append(Reading(metric.key(worker.number), replace(estimate, notes=()), values))
    yield Reading(metric.key(), slowdown_of(workers, confidence) or Estimate(reason="; ".join(reasons)))
    yield from of_workers


def _slowdown_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    if not trial.is_shared:
        return (Estimate(1.0, 1.0, 1.0, final=True).with_notes("it runs alone"),)
    stored, sure = trial.estimate(metric.name), conditions.certainty.at_least(trial.confidence)
    if stored.value is None or sure.interval <= STATED.at_least(trial.confidence).interval:
        return (stored,)
    from edgebench.judge.workers import kept_workers, slowdown_of

    return (slowdown_of(kept_workers(trial), sure.interval) or stored,)


def _rates(recorded: Recorded, worker: int | None) -> Values:
    from edgebench.judge.recorded import once_per_session

    together = () if recorded.is_emulated else recorded.images_together.values()
    return once_per_session(count / time_s for count, time_s in together if count)


def _peaks(recorded: Recorded, worker: int | None) -> Values:
    from edgebench.judge.recorded import once_per_session
    from edgebench.judge.workers import peaks_together

    return once_per_session(peaks_together(recorded))


def _energy(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    return metered(recorded, metric) if recorded.is_shared else (metric.missing(_reason(recorded, "")),)


def _energy_estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    from edgebench.judge.power.limits import power_candidates

    is_metered = trial.is_shared and trial.rails
    return power_candidates(trial, metric, conditions) if is_metered else (trial.estimate(metric.name),)


_images_per_s = Sampled(
    "sessions",
    _rates,
    lambda recorded: _reason(recorded, "no finished session says when all workers ran"),
    by_worker=False,
)
_together_bytes = Sampled(
    "sessions",
    _peaks,
    lambda recorded: _reason(recorded, "no finished session says how much memory each worker took"),
    by_worker=False,
)

METRICS = (
    Metric(
        "slowdown",
        "Ratio of the time that the slowest of several workers takes for an image to that of its variant "
        "alone, in the same run with the same options and all cores.",
        {"1": 1.0},
        source="passes.parquet",
        statistics=("median",),
        read=_slowdown,
        estimates=_slowdown_estimates,
        label="Slowdown",
        options=_MORE,
        tables=("matrix", "sharing"),
        where_present=True,
        belongs_to="sharing",
        usual="also",
    ),
    Metric(
        "images_per_s",
        "Images that all workers finish a second, over the time when all of them run.",
        {"images/s": 1.0, "images/min": 1 / 60},
        source="passes.parquet",
        statistics=("median",),
        read=_images_per_s.read,
        estimates=_images_per_s.estimates,
        label="Throughput together",
        better="higher",
        options=_MORE,
        tables=("matrix", "sharing"),
        where_present=True,
        belongs_to="sharing",
        usual="speed",
    ),
    Metric(
        "together_bytes",
        "Peak resident memory of all workers, added up: pages that several share, such as libraries and "
        "mapped models, count once for each.",
        BYTE_UNITS,
        source="session.json",
        statistics=("median", "max"),
        read=_together_bytes.read,
        estimates=_together_bytes.estimates,
        label="Peak memory together",
        options=_MORE,
        tables=("sharing",),
        belongs_to="sharing",
    ),
    Metric(
        "together_energy_j",
        "Energy of an image on a shared device: that of the time when all workers run, idle power included, "
        "by the images that all of them finish in it.",
        ENERGY_UNITS,
        source="probes.parquet",
        statistics=("median",),
        read=_energy,
        estimates=_energy_estimates,
        label="Energy per image together",
        options=(Option(("--meter", "KIND")),),
        tables=("sharing",),
        where_present=True,
        compared="rails",
        belongs_to="sharing",
        usual="also",
    ),
)
