"""Power over the time of one session of a trial: what a figure of it is drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.power import Rail, rail_watts, rails_of, session_power, steady_times
from edgebench.judge.trial_summary import PowerFigure, TrialSummary
from edgebench.records.stored import SessionRecord
from edgebench.results.load import StoredResults

IDLE_WINDOWS = ("idle", "idle_after")


@dataclass(frozen=True, eq=False)
class RailTrace:
    """One rail over a session.

    Attributes:
        rail: its figures over all sessions.
        t_s: float64 [n], seconds from the trace's origin, rising.
        watts: float64 [n]; NaN for a reading that failed.
        mean_w: the session's own mean within the steady time; None where it has none.
    """

    rail: PowerFigure
    t_s: NDArray[np.float64]
    watts: NDArray[np.float64]
    mean_w: float | None


@dataclass(frozen=True, eq=False)
class PowerTrace:
    """What a trial's meters of one scope saw in one session.

    Attributes:
        trial: the trial's key.
        session: the session's number.
        scope: what all of the rails cover.
        rails: those with samples, the primary first.
        steady_s: float64 [n, 2], start and end of each steady pass, or of the cycles of paced ones.
        idle_s: float64 [m, 2], of each idle window.
    """

    trial: str
    session: int
    scope: str
    rails: tuple[RailTrace, ...]
    steady_s: NDArray[np.float64]
    idle_s: NDArray[np.float64]


def power_traces(results: StoredResults, summary: TrialSummary) -> list[PowerTrace]:
    """One trace a scope of a trial's middle session by mean power, that of the primary rail first.

    Reads that session's samples and no others; where no meter gave any in it, those of the next one from the
    middle. Empty without any. StoredResultError where a stored table is damaged.
    """
    primary = summary.primary_rail
    if primary is None or summary.power is None:
        return []
    records = [record for record in results.session_records(summary.key) if record.status == "ok"]
    traces = (
        _session_traces(results, record, summary.power) for record in _from_the_middle(primary, records)
    )
    return next(filter(None, traces), [])


def _session_traces(
    results: StoredResults, record: SessionRecord, figures: Sequence[PowerFigure]
) -> list[PowerTrace]:
    """Those of one session, in seconds from whatever came first; none where it has no samples."""
    passes = results.session_rows("passes", record)
    table = passes if passes.count else results.session_rows("windows", record)
    time = steady_times([record], table, {}).get(record.n)
    steady_ns = np.empty((0, 2), np.int64) if time is None else time.spans_ns
    idle = [span for name in IDLE_WINDOWS if (span := record.windows_ns.get(name)) is not None]
    idle_ns = np.array(idle, np.int64).reshape(-1, 2)
    samples = results.session_rows("probes", record)
    curves = []
    for figure in sorted(figures, key=lambda figure: not figure.primary):
        rail = next((rail for rail in rails_of(record) if _is_of(rail, figure)), None)
        if rail is None:
            continue
        t_ns, watts = rail_watts(rail, samples)
        if np.isfinite(watts).any():
            order = np.argsort(t_ns, kind="stable")
            mean_w = session_power(rail, record, samples, time).window.mean_w
            curves.append((figure, t_ns[order], watts[order], mean_w))
    starts_ns = [t_ns[0] for _, t_ns, *_ in curves]
    origin_ns = min((*starts_ns, *idle_ns[:, 0], *steady_ns[:1, 0]), default=np.int64(0))
    return [
        PowerTrace(
            record.trial,
            record.n,
            scope,
            tuple(
                RailTrace(figure, _seconds(t_ns, origin_ns), watts, mean_w)
                for figure, t_ns, watts, mean_w in curves
                if figure.scope == scope
            ),
            _seconds(steady_ns, origin_ns),
            _seconds(idle_ns, origin_ns),
        )
        for scope in dict.fromkeys(figure.scope for figure, *_ in curves)
    ]


def _from_the_middle(primary: PowerFigure, records: Sequence[SessionRecord]) -> list[SessionRecord]:
    """The sessions that sampled the primary rail, by mean power from the middle outwards, of two the lower.

    By their numbers where some have no mean, since which ones is not said.
    """
    seen = [record for record in records if any(_is_of(rail, primary) for rail in rails_of(record))]
    if len(primary.mean_w_sessions) == len(seen):
        means_w = {record.n: mean_w for record, mean_w in zip(seen, primary.mean_w_sessions, strict=True)}
        seen.sort(key=lambda record: means_w[record.n])
    middle = (len(seen) - 1) // 2
    return sorted(seen, key=lambda record: abs(seen.index(record) - middle))


def _is_of(rail: Rail, figure: PowerFigure) -> bool:
    """Whether a rail of a record is what a figure was taken from."""
    return (rail.meter, rail.channel, rail.scope) == (figure.meter, figure.channel, figure.scope)


def _seconds(stamps_ns: NDArray[np.int64], origin_ns: np.int64) -> NDArray[np.float64]:
    return (stamps_ns - origin_ns) / 1e9
