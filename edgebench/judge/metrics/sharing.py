"""Several workers on one device: what they cost each other, and their figures together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.metric import (
    BYTE_UNITS,
    Asked,
    ByRail,
    BySession,
    Metric,
    Sampled,
    Shown,
    where_measured,
)
from edgebench.judge.metrics.power import metered, of_rail

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import Slowdown, TrialSummary

_MORE = "--workers N, or --with VARIANT"
_NO_MEMORY = "no finished session says how much memory each worker took"
_NO_TIME = "no finished session says when all workers ran"


def slowest_worker(workers: Sequence[Mapping[str, Any]], confidence: float) -> Slowdown | None:
    """The slowdown of the slowest of these workers, named; None where it is not known of one of them.

    Args:
        workers: each a WorkerSummary as plain data, with its medians and those of its variant alone.
        confidence: of the interval, which holds whoever is selected.
    """
    import numpy as np

    from edgebench.judge.trial_summary import Slowdown
    from edgebench.stats.compare import slowest
    from edgebench.stats.intervals import MIN_SESSIONS

    alone, together = (
        [np.array(worker[name], np.float64) for worker in workers]
        for name in ("alone_medians_s", "medians_s")
    )
    sides = [*alone, *together]
    fewest = min((side.size for side in sides), default=0)
    if not fewest or min(map(np.min, sides)) <= 0:
        return None
    times = [float(b.mean() / a.mean()) for a, b in zip(alone, together, strict=True)]
    at, low, high = int(np.argmax(times)), None, None
    if fewest >= MIN_SESSIONS:
        _, found = slowest(alone, together, 1 - confidence)
        low, high = float(found.low), float(found.high)
    n = alone[at].size + together[at].size
    named = workers[at]["worker"], workers[at]["variant"]
    return Slowdown(times[at], low, high, fewest, n, *named)


def with_slowdowns(summaries: Sequence[TrialSummary]) -> list[TrialSummary]:
    """The summaries with how much longer each worker takes than the trial of its variant alone."""
    by_key = {summary.key: summary for summary in summaries}
    return [_slowed(summary, by_key) if summary.sharing else summary for summary in summaries]


def _slowed(summary: TrialSummary, by_key: Mapping[str, TrialSummary]) -> TrialSummary:
    from edgebench.judge.estimates import quantity_of
    from edgebench.stats.intervals import session_medians

    assert summary.sharing is not None
    workers, confidence = [], summary.interval_confidence
    for worker in summary.workers:
        lone = by_key.get(worker["alone"])
        is_alike = lone is not None and lone.latency_quantity == quantity_of(worker)
        medians_s = tuple(session_medians(lone.latency_values)) if lone and is_alike else ()
        known = {**worker, "alone_medians_s": medians_s}
        slowdown = slowest_worker([known], confidence)
        reason = _reason(known, lone, slowdown, summary.sharing.slowdown_reason)
        workers.append({**known, "slowdown": slowdown and asdict(slowdown), "slowdown_reason": reason})
    slowdown = slowest_worker(workers, confidence)
    reasons = [
        f"worker {each['worker']}: {each['slowdown_reason']}" for each in workers if not each["slowdown"]
    ]
    values = next(
        (_by_session(each) for each in workers if slowdown and each["worker"] == slowdown.worker), ()
    )
    sharing = replace(
        summary.sharing,
        slowdown=slowdown,
        slowdown_reason="" if slowdown else "; ".join(reasons),
        slowdown_values=values,
    )
    return replace(summary, workers=tuple(workers), sharing=sharing)


def _reason(
    worker: Mapping[str, Any], lone: TrialSummary | None, slowdown: Slowdown | None, changed: str
) -> str:
    """Why a worker's slowdown, or its interval, is missing; empty where neither is."""
    from edgebench.stats.intervals import interval_reason

    if slowdown is not None:
        return interval_reason(slowdown.sessions)
    if not worker["medians_s"]:
        return "no finished session holds a steady pass of it"
    if lone is None:
        alone = f"{worker['variant']} alone was"
        return f"{changed}, and {alone} not measured since" if changed else f"no trial of {alone} planned"
    return (
        f"{worker['variant']} alone: {lone.reason or lone.untimed_reason or 'no finished session times it'}"
    )


def _slowdown(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    """The slowest worker's, named; its interval is at least that of the trial's others."""
    from edgebench.judge.estimates import naming_slowest
    from edgebench.stats.intervals import interval_reason

    if trial.sharing is None:
        return Figure(1.0, 1.0, 1.0, what="it runs alone, which", lasting=True)
    sure = certainty.at_least(trial.interval_confidence)
    slowdown = trial.once(("slowdown", sure), lambda: slowest_worker(trial.workers, sure.interval))
    if slowdown is None:
        return Figure(reason=trial.sharing.slowdown_reason)
    note = naming_slowest(trial.workers, slowdown.worker, slowdown.variant)
    few = interval_reason(slowdown.sessions)
    return Figure(slowdown.median, slowdown.low, slowdown.high, reason=few, note=note)


def _energy(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    return metered(trial, asked, certainty) if trial.sharing else Figure(reason=_missing(trial, ""))


def _by_session(worker: Mapping[str, Any]) -> tuple[float, ...]:
    """Values whose mean is a worker's slowdown and whose standard error is that of the ratio.

    The k-th session together over the k-th alone. Of unequal counts the larger side has as many means of
    neighbours as the other has sessions, which scatter less by as much as its own mean does.
    """
    import numpy as np

    together, alone = sides = [
        np.array(worker[name], np.float64) for name in ("medians_s", "alone_medians_s")
    ]
    fewest = min(together.size, alone.size)
    above, below = (np.array([part.mean() for part in np.array_split(side, fewest)]) for side in sides)
    values = above / below
    return tuple(map(float, values * (together.mean() / alone.mean() / values.mean())))


def _missing(trial: TrialSummary, why: str) -> str:
    from edgebench.judge.trial_summary import ALONE

    return why if trial.sharing else where_measured(ALONE)(trial)


def _sharing(name: str, sentence: str, why: str, values: str = "", **fields: Any) -> Metric:
    """A field of the trial's record of sharing."""
    if values:
        fields["judged"] = Sampled(
            lambda trial: [[float(value)] for value in getattr(trial.sharing, values, ())], "sessions", why
        )

    return Metric(
        name,
        sentence,
        read=lambda trial: getattr(trial.sharing, name, None),
        json_field="sharing",
        brought_by=_MORE,
        missing=lambda trial: _missing(trial, why or (trial.sharing and trial.sharing.slowdown_reason) or ""),
        together=True,
        **fields,
    )


METRICS = (
    _sharing(
        "slowdown",
        "How many times as long the slowest of several workers takes for an image as its variant does alone, "
        "in the same run with the same options and all cores.",
        "",
        units={"1": 1.0},
        label="Slowdown",
        source="passes.parquet",
        statistics=("median",),
        judged=_slowdown,
        compared=BySession(lambda trial: [[each] for each in getattr(trial.sharing, "slowdown_values", ())]),
        usual="also",
        csv={
            "slowdown": "median",
            "slowdown_low": "low",
            "slowdown_high": "high",
            "slowdown_worker": "worker",
            "slowdown_variant": "variant",
        },
        shown=(Shown("matrix", form="interval", where_present=True), Shown("sharing", form="interval")),
    ),
    _sharing(
        "images_per_s",
        "Images that all workers finish a second, over the time when all of them run.",
        _NO_TIME,
        "images_per_s_values",
        units={"images/s": 1.0, "images/min": 1 / 60},
        label="Throughput together",
        source="passes.parquet",
        better="higher",
        statistics=("median",),
        usual="speed",
        csv={"images_per_s": "median", "images_per_s_low": "low", "images_per_s_high": "high"},
        shown=(Shown("matrix", form="interval", where_present=True), Shown("sharing", form="interval")),
    ),
    _sharing(
        "together_bytes",
        "Peak resident memory of all workers, added up: pages that several share, such as libraries and "
        "mapped models, count once for each.",
        _NO_MEMORY,
        "together_bytes_values",
        units=BYTE_UNITS,
        label="Peak memory together",
        source="session.json",
        statistics=("median", "max"),
        shown=(Shown("sharing", form="bytes"),),
    ),
    of_rail(
        "together_energy_j",
        "Energy of an image on a shared device: that of the time when all workers run, idle power included, "
        "by the images that all of them finish in it.",
        "together_energy_j",
        label="Energy per image together",
        statistics=("median",),
        brought_by="--meter KIND",
        judged=_energy,
        shown=(Shown("sharing", form="interval", where_present=True),),
        compared=ByRail("together_energy_j_sessions"),
        usual="also",
        of_a_pass=True,
        rail_bounds=("together_low_j", "together_high_j"),
        missing=lambda trial: _missing(trial, ""),
        together=True,
    ),
)
