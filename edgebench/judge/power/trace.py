"""Power over the time of one session of a trial, for plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.power.rails import scope_of, session_power
from edgebench.judge.steady_time import steady_times
from edgebench.judge.trial import EstimateKey, Rail, Scope, Trial
from edgebench.records.stored import SessionRecord
from edgebench.results.load import StoredResults
from edgebench.results.meters import Channel, channels_of, watts_of

IDLE_WINDOWS = ("idle", "idle_after")


@dataclass(frozen=True, eq=False)
class RailTrace:
    """One rail over a session.

    Attributes:
        rail: the rail of the trial.
        t_s: float64 [n], seconds from the trace's origin, rising.
        watts: float64 [n]; NaN for a reading that failed.
        mean_w: mean of this session within the steady time; None where it has none.
    """

    rail: Rail
    t_s: NDArray[np.float64]
    watts: NDArray[np.float64]
    mean_w: float | None


@dataclass(frozen=True, eq=False)
class PowerTrace:
    """Samples of a trial's meters of one scope in one session.

    Attributes:
        trial: the trial's key.
        session: the session's number.
        scope: scope of all of the rails.
        rails: rails with samples, the representing one first.
        steady_s: float64 [n, 2], start and end of each steady pass, or of the cycles of paced ones.
        idle_s: float64 [m, 2], start and end of each idle window.
    """

    trial: str
    session: int
    scope: Scope
    rails: tuple[RailTrace, ...]
    steady_s: NDArray[np.float64]
    idle_s: NDArray[np.float64]


def power_traces(results: StoredResults, trial: Trial) -> list[PowerTrace]:
    """One trace per scope of a trial's middle session by mean power, that of the representing rail first.

    Reads that session's samples and no others; where no meter gave any in it, those of the next one from the
    middle.

    Returns:
        the traces; none without samples.

    Raises:
        StoredResultError: a stored table is damaged.
    """
    if not trial.rails:
        return []
    records = [record for record in results.session_records(trial.key) if record.status == "ok"]
    middle = _from_the_middle(trial, [record for record in records if _channel(record, trial.rails[0])])
    traces = (_session_traces(results, record, trial.rails) for record in middle)
    return next(filter(None, traces), [])


def _session_traces(results: StoredResults, record: SessionRecord, rails: Sequence[Rail]) -> list[PowerTrace]:
    """Traces of one session, in seconds from the earliest of them; none where it has no samples."""
    passes = results.session_rows("passes", record)
    table = passes if passes.count else results.session_rows("windows", record)
    time = steady_times([record], table, {}).get(record.n)
    steady_ns = np.empty((0, 2), np.int64) if time is None else time.spans_ns
    idle = [span for name in IDLE_WINDOWS if (span := record.windows_ns.get(name)) is not None]
    idle_ns = np.array(idle, np.int64).reshape(-1, 2)
    samples = results.session_rows("probes", record)
    curves = []
    for rail in rails:
        channel = _channel(record, rail)
        if channel is None:
            continue
        t_ns, watts = watts_of(channel, samples)
        if np.isfinite(watts).any():
            order = np.argsort(t_ns, kind="stable")
            mean_w = session_power(channel, record, samples, time).window.mean_w
            curves.append((rail, t_ns[order], watts[order], mean_w))
    starts_ns = [t_ns[0] for _, t_ns, *_ in curves]
    origin_ns = min((*starts_ns, *idle_ns[:, 0], *steady_ns[:1, 0]), default=np.int64(0))
    return [
        PowerTrace(
            record.trial,
            record.n,
            scope,
            tuple(
                RailTrace(rail, _seconds(t_ns, origin_ns), watts, mean_w)
                for rail, t_ns, watts, mean_w in curves
                if rail.scope == scope
            ),
            _seconds(steady_ns, origin_ns),
            _seconds(idle_ns, origin_ns),
        )
        for scope in dict.fromkeys(rail.scope for rail, *_ in curves)
    ]


def _from_the_middle(trial: Trial, records: Sequence[SessionRecord]) -> list[SessionRecord]:
    """Sessions by mean power from the middle outwards, of two the lower; by number where one has no mean."""
    means_w = trial.estimates[EstimateKey("power_mean_w", "median", rail=trial.rails[0].name)].sessions
    ordered = list(records)
    if len(means_w) == len(records):
        by_number = {record.n: mean_w for record, mean_w in zip(records, means_w, strict=True)}
        ordered.sort(key=lambda record: by_number[record.n])
    middle = (len(ordered) - 1) // 2
    return sorted(ordered, key=lambda record: abs(ordered.index(record) - middle))


def _channel(record: SessionRecord, rail: Rail) -> Channel | None:
    """Channel of a record that a rail was taken from; None without one."""
    place = rail.meter, rail.channel, rail.scope
    channels = channels_of(record)
    return next((it for it in channels if (it.meter, it.name, scope_of(it.scope)) == place), None)


def _seconds(stamps_ns: NDArray[np.int64], origin_ns: np.int64) -> NDArray[np.float64]:
    return (stamps_ns - origin_ns) / 1e9
