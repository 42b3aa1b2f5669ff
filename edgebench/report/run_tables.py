"""Telemetry of the sessions, how power is read, and what few sessions can miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.cautions import LIMIT_SENSOR, QUANTITIES, Observed, observe
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.report.blocks import Column, Table, of_figures
from edgebench.report.metric_text import meter_text
from edgebench.results.load import StoredResults
from edgebench.results.rows import Rows
from edgebench.stats.intervals import MIN_SESSIONS
from edgebench.stats.shape import unseen_mode_share

# What telemetry saw beside the sessions, as one row a trial: clocks, temperature, load, memory, waiting.


_FIGURES = (
    "fastest clock, MHz", "hottest zone, °C", "load", "memory left", "involuntary context switches a second",
    "waiting for a core", "stolen",
)  # fmt: skip
_COLUMNS = (*of_figures("trial", *_FIGURES), Column("throttled", long=True))
SHOWN = QUANTITIES | {"load", "memory"}
"""What a probe may sample that this table shows, whichever probe it is."""


def telemetry(results: StoredResults, names: Mapping[str, str]) -> Table:
    """Lowest to highest over all sessions of a trial; the last four over their steady passes, the worst."""
    rows = []
    if not results.experiment.trials:
        return Table("telemetry", _COLUMNS, ())
    samples = results.rows_of_trials("probes")
    for trial in results.experiment.trials:
        seen = samples(trial.key)
        seen = seen.take(seen.having("quantity", SHOWN.__contains__) & np.isfinite(seen.floats("value")))
        if seen.count:
            ok = [session for session in results.session_records(trial.key) if session.status == "ok"]
            rows.append((names.get(trial.key, trial.key), *_cells(seen, observe(ok, seen))))
    return Table(
        "telemetry",
        _COLUMNS,
        tuple(rows),
        caption="sampled at a low rate during every session; - where the board does not report it",
    )


def _cells(samples: Rows, seen: tuple[Observed, ...]) -> tuple[str, ...]:
    def of(quantity: str) -> Rows:
        return samples.take(samples.equal("quantity", quantity))

    left, zones = of("memory").floats("value"), of("temperature")
    rate, waiting, stolen = (
        max((value for value in values if value is not None), default=None)
        for values in (
            [session.involuntary_per_s for session in seen],
            [session.waiting_share for session in seen],
            [session.stolen_share for session in seen],
        )
    )
    throttling = dict.fromkeys(text for session in seen for text in session.throttled)
    return (
        _range(_highest(of("clock")), 0),
        _range(_highest(zones.take(~zones.having("channel", lambda name: LIMIT_SENSOR in name))), 1),
        _range(of("load").floats("value"), 2),
        words.size(int(left.min())) if len(left) else words.MISSING,
        words.MISSING if rate is None else f"{rate:.0f}",
        words.MISSING if waiting is None else words.percent(waiting),
        words.MISSING if stolen is None else words.percent(stolen),
        ", ".join(throttling) or _not_throttled(seen),
    )


def _not_throttled(seen: tuple[Observed, ...]) -> str:
    """That no session was throttled, as far as samples of their steady passes tell."""
    watched = sum(session.watched for session in seen)
    if not watched:
        return words.MISSING
    return "no" if watched == len(seen) else f"no, as far as {watched} of {len(seen)} sessions tell"


def _highest(samples: Rows) -> NDArray[np.float64]:
    """The highest value of each moment, as cores and zones differ; of several probes, the highest one's."""
    rows = samples.ordered("probe", "session", "t_ns")
    values = rows.floats("value")
    by_probe: dict[str, list[float]] = {}
    for first, last in rows.spans("probe", "session", "t_ns"):
        by_probe.setdefault(rows.word("probe", first), []).append(float(values[first:last].max()))
    return np.array(max(by_probe.values(), key=max, default=[]))


def _range(values: NDArray[np.float64], places: int) -> str:
    if not len(values):
        return words.MISSING
    low, high = f"{values.min():.{places}f}", f"{values.max():.{places}f}"
    return low if low == high else f"{low} to {high}"


# How power and energy are read, for a report with a meter.


_METERS = 4  # whose averaging times are named


def reading_notes(summaries: Sequence[TrialSummary]) -> list[str]:
    """What mean, peak and net energy are; nothing where no trial had a meter."""
    rails = [rail for summary in summaries for rail in summary.power or ()]
    if not rails:
        return []
    within = "within the steady passes, without the time between them"
    if any(summary.paced for summary in summaries):
        within = "over whole periods, with the pauses of --period"
    averaged = dict.fromkeys(
        f"{words.number(rail.averaging_ms)} ms for {meter_text(rail)}"
        for rail in rails
        if rail.averaging_ms is not None
    )
    reading = f" A reading is the mean over {', '.join(list(averaged)[:_METERS])}." if averaged else ""
    return [
        f"Mean power and energy are {within}. Peak and p99 are over all readings from the first pass to the "
        "last; a peak between two readings is not seen. Net of idle: energy per image less that of the idle "
        f"device in the same time. Only figures of one scope compare.{reading}"
    ]


# What few sessions cannot show, whatever their figures look like.


SELDOM = 0.05
"""What stays unseen in less of all results than an interval misses is not worth a sentence."""


def unseen_modes(summaries: Sequence[TrialSummary]) -> str:
    """One sentence on the fewest sessions of a result; empty where many were measured, or no interval is."""
    counts = [summary.latency.sessions for summary in summaries if summary.latency is not None]
    fewest = min((count for count in counts if count >= MIN_SESSIONS), default=0)
    if not fewest or unseen_mode_share(fewest) < SELDOM:
        return ""
    return (
        f"{fewest} sessions can miss slow starts: if 30 % of starts were slow, "
        f"{words.percent(unseen_mode_share(fewest), 0)} of runs would show no difference"
    )
