"""What the meters say of one trial: a figure a meter and rail over the steady windows of its sessions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.fit.meter_lag import lag_note
from edgebench.fit.power_rails import (
    UNITS,
    Rail,
    rail_watts,
    rails_of,
    recorded_number,
    scope_rank,
)
from edgebench.fit.probe_reasons import reasons_by_probe, recorded_name
from edgebench.fit.steady_time import SteadyTime
from edgebench.fit.trial_summary import PowerFigure
from edgebench.stats.idle_power import IdleDrift, idle_drift, idle_power, idle_window
from edgebench.stats.intervals import CONFIDENCE
from edgebench.stats.pass_phase import passes_in_step
from edgebench.stats.percentiles import least_n
from edgebench.stats.power import (
    EDGE_PERIODS,
    ImageEnergy,
    WindowPower,
    covers_its_period,
    energy_per_image,
    passes_power,
)
from edgebench.stats.power_curve import PowerCurve
from edgebench.stats.power_spread import widened_interval
from edgebench.store.records import SessionRecord
from edgebench.vocabulary.probe import LIVE_SAMPLES

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")

STUCK_READINGS = 10
"""From so many readings before the work and as many from then on one value for all is no chance."""


@dataclass(frozen=True)
class PowerOfTrial:
    """The figures of a trial's meters and rails, and of each the samples of every session's steady time.

    `idle_drifts` are those of the primary rail, of every session that was sampled before and after its work.
    """

    figures: tuple[PowerFigure, ...]
    curves: tuple[tuple[PowerCurve, ...], ...]
    idle_drifts: tuple[IdleDrift, ...] = ()


@dataclass(frozen=True)
class SessionPower:
    """What one rail says of one session."""

    window: WindowPower
    idle: WindowPower | None
    idle_drift: IdleDrift | None
    energy: ImageEnergy
    averaging_ms: float | None = None
    rejected: int = 0
    unread: str = ""  # why its readings leave open what was drawn in the steady window
    stuck: str = ""  # that it said one and the same for all of it


def power_figures(
    records: Sequence[SessionRecord], probes: pd.DataFrame, times: Mapping[int, SteadyTime]
) -> PowerOfTrial | None:
    """One figure a meter and rail, the primary marked; None where no session had a meter.

    Means, idle power and energy are means over the sessions, the peak is the highest of all, with intervals
    by `stats.power_spread`; the rate is the lowest that a session's samples came at.

    Args:
        records: the trial's finished sessions.
        probes: the trial's rows of `probes` (see store.records.PROBE_COLUMNS).
        times: when each session's passes were, and its images.
    """
    rails = list(dict.fromkeys(rail for record in records for rail in rails_of(record)))
    if not rails:
        return None
    samples = _Samples(probes)
    # That no session of a steady device is said to drift is as sure as that a single one of them is not.
    confidence = 1 - (1 - CONFIDENCE) / len(records)
    figures, curves, drifts = [], [], []
    for rail in rails:
        sessions = [
            session_power(
                rail,
                record,
                samples.of(record.n, rail.meter, rail.channel),
                times.get(record.n),
                confidence,
            )
            for record in records
            if rail in rails_of(record)
        ]
        figures.append(_figure(rail, sessions, lag_note(records, rail.meter)))
        curves.append(tuple(session.window.curve for session in sessions))
        drifts.append(tuple(session.idle_drift for session in sessions if session.idle_drift is not None))
    first = min(range(len(rails)), key=lambda at: _rank(figures[at]))
    marked = tuple(replace(figure, primary=at == first) for at, figure in enumerate(figures))
    return PowerOfTrial(marked, tuple(curves), drifts[first])


def power_reason(records: Sequence[SessionRecord]) -> str:
    """Why a meter, or every meter, gave nothing, as the sessions say; empty where they say nothing."""
    reasons = {
        reason if not meter or reason.startswith(f"{meter}:") else f"{meter}: {reason}": None
        for record in records
        for meter, reason in record.probe_reasons.items()
    }
    return "; ".join(reasons)


def session_power(
    rail: Rail,
    record: SessionRecord,
    rows: pd.DataFrame | None,
    time: SteadyTime | None,
    confidence: float = CONFIDENCE,
) -> SessionPower:
    """Power and energy of a rail over a session's steady time and its idle windows.

    Args:
        rail: one of the record's.
        record: a finished session.
        rows: the rail's rows of the session's `probes`; None where there are none.
        time: when its passes were; None where that was not recorded.
        confidence: of the half-width of its idle drift.
    """
    scale = UNITS[rail.quantity].get(rail.unit)
    if time is None or scale is None:
        reason = "no steady window was recorded" if scale else f"its unit {rail.unit!r} is not known"
        unknown = WindowPower(None, None, 0.0, 0, 0.0, reason)
        return SessionPower(unknown, None, None, ImageEnergy(reason=reason))
    info = _info(record, rail.meter)
    averaging_ms = recorded_number(info.get("averaging_ms")) or None
    t_ns, watts = rail_watts(rail, rows)
    time = time.seen_until(_reach_ns(t_ns[np.isfinite(watts)]))
    start_ns, end_ns = int(time.spans_ns[0, 0]), int(time.spans_ns[-1, 1])
    stuck = _stuck(t_ns, watts, start_ns)
    unread = _unread(t_ns, watts, start_ns, end_ns) or stuck or _played(info)
    averaging_s = averaging_ms / 1e3 if averaging_ms and rail.quantity == "power" else None
    window = passes_power(t_ns, watts, time.spans_ns, averaging_s)
    if time.period_s is not None and window.mean_w is not None:
        note = f"mean and energy are those of whole periods of {time.period_s:g} s, pauses included"
        window = replace(window, note=note)
    if in_step := _in_step(window, time, averaging_s):
        # Their own spread bounds nothing then; how sessions differ, each with other moments, still does.
        note = f"{window.note}; {in_step}" if window.note else in_step
        window, unread = replace(window, mean_margin_w=None, note=note), unread or in_step
    if window.reason and (why := reasons_by_probe(record).get(rail.meter)):
        window = replace(window, reason=f"{window.reason} ({why})")
    before, after = (
        idle_window(t_ns, watts, window_ns, averaging_s) if window_ns else None
        for window_ns in (record.windows_ns.get("idle"), record.windows_ns.get("idle_after"))
    )
    idle = idle_power([side for side in (before, after) if side is not None])
    if rail.quantity == "energy" and window.effective_hz:
        averaging_ms = 1e3 / window.effective_hz  # a counter says what was drawn since the reading before
    return SessionPower(
        window,
        idle,
        idle_drift(before, after, confidence),
        energy_per_image(window, time.images, idle),
        averaging_ms,
        int(recorded_number(info.get("rejected"))),
        unread,
        stuck,
    )


def _info(record: SessionRecord, meter: str) -> Mapping[str, Any]:
    """What a meter said of itself in a session."""
    return next(info for info in record.probes if recorded_name(info) == meter)


def _reach_ns(t_ns: NDArray[np.int64]) -> int:
    """How far samples speak: EDGE_PERIODS of theirs beyond the last; 0 where there are none."""
    if len(t_ns) < 2:
        return 0
    first, last = int(t_ns.min()), int(t_ns.max())
    return last + int(EDGE_PERIODS * (last - first) / (len(t_ns) - 1))


def _unread(t_ns: NDArray[np.int64], watts: NDArray[np.float64], start_ns: int, end_ns: int) -> str:
    """That readings within a window are no value: out of the meter's range, or none; "" where each is one.

    What was drawn then may be more than all that the meter could read.
    """
    within = (t_ns >= start_ns) & (t_ns <= end_ns)
    lost = int((~np.isfinite(watts[within])).sum())
    return f"{lost} of {int(within.sum())} readings there are no number or out of range" if lost else ""


def _in_step(window: WindowPower, time: SteadyTime, averaging_s: float | None) -> str:
    """That a meter of moments reads every pass at the same few of them; "" where it does not."""
    if window.effective_hz is None or covers_its_period(averaging_s, window.effective_hz):
        return ""
    periods = passes_in_step(window.curve.t_ns, time.starts_ns)
    if periods is None:
        return ""
    return (
        f"the passes begin in step with the readings, one in {periods:.3g} of their periods: what is drawn "
        "between the moments that are read of every pass is not known"
    )


def _stuck(t_ns: NDArray[np.int64], watts: NDArray[np.float64], start_ns: int) -> str:
    """That a meter said one and the same from before the work to its end; "" where it did not.

    A meter that hangs and repeats its last answer looks like this, and a board at work does not.
    """
    readings = np.isfinite(watts)
    before, values = watts[readings & (t_ns < start_ns)], watts[readings]
    if min(len(before), len(values) - len(before)) < STUCK_READINGS or values.min() < values.max():
        return ""
    return f"all {len(values)} readings are {values[0]:g} W, idle and at work alike: the meter may have hung"


def _played(info: Mapping[str, Any]) -> str:
    """That a meter played what was recorded at another time: it says nothing about what ran beside it."""
    absent = info.get("absent")
    is_played = isinstance(absent, Mapping) and LIVE_SAMPLES in absent
    return "the samples were played from a recording, not taken then" if is_played else ""


class _Samples:
    """The samples of a trial by session, probe and channel: only where their rows are, and no copy of them.

    Args:
        probes: the trial's rows.
    """

    def __init__(self, probes: pd.DataFrame) -> None:
        self._probes = probes[["t_ns", "value"]]
        self._rows = probes.groupby(["session", "probe", "channel"], observed=True).indices

    def of(self, session: int, probe: str, channel: str) -> pd.DataFrame | None:
        """Stamps and values in their order; None where there are none."""
        rows = self._rows.get((session, probe, channel))
        return None if rows is None else self._probes.iloc[np.asarray(rows)]


def _figure(rail: Rail, sessions: Sequence[SessionPower], lag: str) -> PowerFigure:
    windows = [session.window for session in sessions]
    measured = [window for window in windows if window.mean_w is not None]
    means = _present([window.mean_w for window in measured])
    peaks = _present([window.peak_w for window in windows])
    energies = [session.energy for session in sessions if session.energy.gross_j is not None]
    nets = [energy for energy in energies if energy.net_j is not None]
    gross, net = (
        _present([energy.gross_j for energy in energies]),
        _present([energy.net_j for energy in nets]),
    )
    reasons = [reason for session in sessions for reason in _of_session(session)]
    uncovered = [
        session.window.reason or session.unread
        for session in sessions
        if session.window.mean_w is None or session.unread
    ]
    mean_low, mean_high = widened_interval(means, [window.mean_margin_w for window in measured])
    energy_low, energy_high = widened_interval(gross, [energy.gross_margin_j for energy in energies])
    net_low, net_high = widened_interval(net, [energy.net_margin_j for energy in nets])
    return PowerFigure(
        meter=rail.meter,
        channel=rail.channel,
        scope=rail.scope,
        primary=False,
        rate_hz=rail.rate_hz,
        samples=sum(window.samples for window in windows),
        mean_w=_mean(means),
        peak_w=max(peaks, default=None),
        idle_w=_mean(_present([session.idle.mean_w for session in sessions if session.idle])),
        idle_drift_w=_mean([session.idle_drift.drift_w for session in sessions if session.idle_drift]),
        energy_j=_mean(gross),
        net_energy_j=_mean(net),
        reason="; ".join([*_counted(reasons, len(sessions)), *([lag] if means and lag else [])]),
        window_s=min((window.window_s for window in windows if window.window_s > 0), default=None),
        mean_w_sessions=tuple(means),
        energy_j_sessions=tuple(gross),
        uncovered=f"{len(uncovered)} of {len(sessions)} sessions: "
        + "; ".join(texts[0] for texts in _alike(uncovered))
        if uncovered
        else "",
        p99_w=_p99_w([window.curve.watts for window in windows]),
        mean_low_w=mean_low,
        mean_high_w=mean_high,
        energy_low_j=energy_low,
        energy_high_j=energy_high,
        net_low_j=net_low,
        net_high_j=net_high,
        effective_hz=min(_present([window.effective_hz for window in windows]), default=None),
        longest_gap_s=max(_present([window.longest_gap_s for window in windows]), default=None),
        averaging_ms=_least([session.averaging_ms for session in sessions if session.window.samples]),
        total=rail.total,
        rejected=sum(session.rejected for session in sessions),
    )


def _of_session(session: SessionPower) -> tuple[str, ...]:
    """What is to be known of a session's figures, each sentence once."""
    return tuple(dict.fromkeys((session.energy.reason, session.window.note, session.stuck)))


def _counted(reasons: Sequence[str], sessions: int) -> list[str]:
    """Each reason once, with how many of the sessions have it where not all do."""
    return [
        texts[0] + _count_text(len(texts), sessions, differ=len(set(texts)) > 1) for texts in _alike(reasons)
    ]


def _alike(reasons: Sequence[str]) -> list[list[str]]:
    """The reasons by what they say: in each list those that differ in their numbers alone, in order."""
    alike: dict[str, list[str]] = {}
    for reason in filter(None, reasons):
        alike.setdefault(_NUMBER.sub("#", reason), []).append(reason)
    return list(alike.values())


def _count_text(count: int, sessions: int, *, differ: bool) -> str:
    if differ:
        of = "" if count == sessions else f" of {sessions}"
        return f" (in the first of {count} such sessions{of})"
    return "" if count == sessions else f" (in {count} of {sessions} sessions)"


def _least(values: Sequence[float | None]) -> float | None:
    """The least of them; None where one is not known."""
    known = _present(values)
    return min(known) if known and len(known) == len(values) else None


def _p99_w(watts: Sequence[NDArray[np.float64]]) -> float | None:
    """Of all samples; None where they are too few for that percentile."""
    values = np.concatenate(watts)
    return float(np.quantile(values, 0.99)) if len(values) >= least_n(0.99) else None


def _present(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def headline_rails(figures: Sequence[PowerFigure]) -> list[PowerFigure]:
    """Of each meter the rail that stands for it, the primary one first."""
    by_meter: dict[str, PowerFigure] = {}
    for figure in sorted(figures, key=lambda figure: (not figure.primary, _rank(figure))):
        by_meter.setdefault(figure.meter, figure)
    return list(by_meter.values())


def _rank(figure: PowerFigure) -> tuple[bool, int, bool, float]:
    """By the order of SCOPES, and of a scope's rails the total first, or else the one that carries most."""
    peak_missing = figure.peak_w is None
    return peak_missing, scope_rank(figure.scope), not figure.total, -(figure.mean_w or figure.peak_w or 0.0)
