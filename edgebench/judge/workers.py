"""Workers that share a device, and the slowdown of each against its variant alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.cautions import cautions
from edgebench.judge.recorded import Recorded
from edgebench.judge.sessions import over_medians
from edgebench.judge.trial import Certainty, Estimate, Trial, Worker
from edgebench.results.listing import status_of
from edgebench.stats.compare import slowest
from edgebench.stats.intervals import MIN_SESSIONS, interval_reason, session_medians


def workers_of(recorded: Recorded) -> tuple[Worker, ...]:
    """Workers that shared the device; empty for a lone one."""
    workers = []
    for number in recorded.several_workers:
        plan, entries = recorded.plan_of(number), recorded.entries(number)
        cores = next((entry.get("cores") for entry in reversed(entries)), None)
        warnings = tuple(caution.sentence() for caution in cautions((), recorded.steady(number)))
        numbers = cores if isinstance(cores, list) else ()
        pinned = tuple(core for core in numbers if isinstance(core, int))
        variant, alone = (plan or recorded.trial).variant, plan.alone if plan else ""
        workers.append(Worker(number, variant, alone, pinned, warnings))
    return tuple(workers)


def slowest_note(workers: int, number: int, variant: str) -> str:
    """Note that names the slowest of several workers."""
    return f"the slowest of {workers} workers is worker {number}, {variant}"


def slowest_worker(trial: Trial, metric: str, certainty: Certainty) -> Estimate | None:
    """Median of the slowest of several workers, with ends that hold for all of them at once.

    None where one of them has no such times.

    Args:
        trial: trial of several workers.
        metric: `image_s`, or `infer_s` of workers that time nothing else.
        certainty: confidence of the ends; that of each worker is higher (Bonferroni).
    """
    values = [trial.values_of(metric, worker.number) for worker in trial.workers]
    has_images = [bool(trial.values_of("image_s", worker.number)) for worker in trial.workers]
    if not all(values) or any(has_images) != (metric == "image_s"):
        return None
    sure = Certainty(1 - (1 - certainty.interval) / len(values), certainty.bound)
    estimates = [over_medians(session_medians(by_session), sure) for by_session in values]
    place = max(range(len(estimates)), key=lambda index: estimates[index].value or 0.0)
    worker = trial.workers[place]
    note = slowest_note(len(values), worker.number, worker.variant)
    slowest_one = replace(estimates[place], n=sum(map(len, values[place])), notes=(note,))
    if reason := next((estimate.reason for estimate in estimates if estimate.reason), ""):
        return replace(slowest_one, low=None, high=None, reason=reason)
    low = max(estimate.low for estimate in estimates if estimate.low is not None)
    high = max(estimate.high for estimate in estimates if estimate.high is not None)
    return replace(slowest_one, low=low, high=high).widened(trial.ticks.get(metric, 0.0))


# Slowdown: session medians of a worker over those of the trial of its variant alone.


class SharedWorker(NamedTuple):
    """Session medians of a worker, in s.

    Attributes:
        together_s: while all workers ran.
        alone_s: of the trial of its variant alone; empty where that is not known.
    """

    number: int
    variant: str
    together_s: NDArray[np.float64]
    alone_s: NDArray[np.float64]


def shared_workers(recorded: Recorded) -> list[SharedWorker]:
    """Workers of a trial with the medians of their variants alone; empty for a lone one."""
    workers = []
    for number in recorded.several_workers:
        plan, steady = recorded.plan_of(number), recorded.steady(number)
        lone = recorded.siblings.get(plan.alone) if plan else None
        is_alike = lone is not None and lone.steady().quantity == steady.quantity
        alone_s = session_medians(lone.steady().latency_s) if lone is not None and is_alike else []
        sides = (np.array(session_medians(steady.latency_s)), np.array(alone_s, np.float64))
        workers.append(SharedWorker(number, (plan or recorded.trial).variant, *sides))
    return workers


def slowdown_of(workers: Sequence[SharedWorker], confidence: float) -> Estimate | None:
    """Slowdown of the slowest of these workers, named; None where that of one is not known.

    Its interval holds whoever is selected (`edgebench.stats.compare.slowest`). `sessions` are values whose
    mean is the slowdown and whose standard error is that of the ratio.
    """
    alone_s, together_s = [worker.alone_s for worker in workers], [worker.together_s for worker in workers]
    sides = [*alone_s, *together_s]
    fewest = min((side.size for side in sides), default=0)
    if not fewest or min(map(np.min, sides)) <= 0:
        return None
    ratios = [float(b.mean() / a.mean()) for a, b in zip(alone_s, together_s, strict=True)]
    place, low, high = int(np.argmax(ratios)), None, None
    if fewest >= MIN_SESSIONS:
        _, widest = slowest(alone_s, together_s, 1 - confidence)
        low, high = float(widest.low), float(widest.high)
    worker, n = workers[place], int(alone_s[place].size + together_s[place].size)
    estimate = Estimate(ratios[place], low, high, _by_session(worker), n, reason=interval_reason(fewest))
    return estimate.with_notes(slowest_note(len(workers), worker.number, worker.variant))


def slowdown_reason(recorded: Recorded, worker: SharedWorker) -> str:
    """Reason why the slowdown of a worker is missing."""
    if not worker.together_s.size:
        return "no finished session holds a steady pass of it"
    plan, target = recorded.plan_of(worker.number), recorded.target
    lone = recorded.siblings.get(plan.alone) if plan else None
    if lone is None:
        unmeasured = f"{worker.variant} alone was"
        changed = ", ".join(target.differences) if target and target.revision_of else ""
        since = f"the device changed ({changed}), and {unmeasured} not measured since"
        return since if changed else f"no trial of {unmeasured} planned"
    _, reason = status_of(lone.trial, lone.sessions, lone.experiment.sessions)
    return f"{worker.variant} alone: {reason or lone.untimed_reason or 'no finished session times it'}"


def _by_session(worker: SharedWorker) -> tuple[float, ...]:
    """Ratio of the k-th session together to the k-th alone, scaled to the slowdown as their mean.

    Of unequal counts the larger side has as many means of neighbours as the other has sessions, which scatter
    less by as much as its own mean does.
    """
    together_s, alone_s = worker.together_s, worker.alone_s
    fewest = min(together_s.size, alone_s.size)
    above, below = (
        np.array([part.mean() for part in np.array_split(side, fewest)]) for side in (together_s, alone_s)
    )
    values = above / below
    return tuple(map(float, values * (together_s.mean() / alone_s.mean() / values.mean())))


def kept_workers(trial: Trial) -> list[SharedWorker]:
    """Workers of a trial with the medians that its values hold."""
    metric = "image_s" if trial.values_of("image_s", 0) else "infer_s"
    workers = []
    for worker in trial.workers:
        alone_s = [session[0] for session in trial.values_of("slowdown", worker.number)]
        together_s = session_medians(trial.values_of(metric, worker.number))
        sides = (np.array(together_s), np.array(alone_s, np.float64))
        workers.append(SharedWorker(worker.number, worker.variant, *sides))
    return workers
