"""What the meters say of one trial: a figure a meter and rail over the steady windows of its sessions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.fit.probe_reasons import reasons_by_probe
from edgebench.fit.steady_time import SteadyTime
from edgebench.fit.trial_summary import PowerFigure
from edgebench.stats.percentiles import least_n
from edgebench.stats.power import (
    EDGE_PERIODS,
    ImageEnergy,
    WindowPower,
    energy_per_image,
    passes_power,
    window_power,
)
from edgebench.stats.power_curve import PowerCurve
from edgebench.stats.power_spread import widened_interval
from edgebench.store.records import SessionRecord

UNITS = {"power": {"W": 1.0, "mW": 1e-3, "uW": 1e-6}, "energy": {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6}}
WIDE_SCOPES = ("board", "usb", "wall")
"""Scopes that hold all that a board draws, the closest first."""

MOST_HZ = 1e9
"""No meter samples faster than the stamps count."""

MOST = 1e15
"""In W or J: a sample beyond it measured nothing, and sums of such samples have no value."""

LIVE_SAMPLES = "live samples"
"""What a meter that plays a recording names among what it lacks."""

SCOPES = (*WIDE_SCOPES, "module", "chip")


@dataclass(frozen=True)
class _Rail:
    meter: str
    channel: str
    quantity: str
    unit: str
    scope: str
    rate_hz: float
    total: bool = field(compare=False)  # of a rail in some sessions' records alone: older ones do not say


@dataclass(frozen=True)
class PowerOfTrial:
    """The figures of a trial's meters and rails, and of each the samples of every session's steady time."""

    figures: tuple[PowerFigure, ...]
    curves: tuple[tuple[PowerCurve, ...], ...]


@dataclass(frozen=True)
class _OneSession:
    window: WindowPower
    idle: WindowPower | None
    energy: ImageEnergy
    averaging_ms: float | None = None
    rejected: int = 0
    unread: str = ""  # why its readings leave open what was drawn in the steady window


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
    rails = list(dict.fromkeys(rail for record in records for rail in _rails(record)))
    if not rails:
        return None
    samples = dict(list(probes.groupby(["session", "probe", "channel"], observed=True)))
    figures, curves = [], []
    for rail in rails:
        sessions = [
            _session(rail, record, samples.get((record.n, rail.meter, rail.channel)), times.get(record.n))
            for record in records
            if rail in _rails(record)
        ]
        figures.append(_figure(rail, sessions))
        curves.append(tuple(session.window.curve for session in sessions))
    first = min(range(len(rails)), key=lambda at: _rank(figures[at]))
    marked = tuple(replace(figure, primary=at == first) for at, figure in enumerate(figures))
    return PowerOfTrial(marked, tuple(curves))


def power_reason(records: Sequence[SessionRecord]) -> str:
    """Why a meter, or every meter, gave nothing, as the sessions say; empty where they say nothing."""
    reasons = {
        reason if not meter or reason.startswith(f"{meter}:") else f"{meter}: {reason}": None
        for record in records
        for meter, reason in record.probe_reasons.items()
    }
    return "; ".join(reasons)


def _rails(record: SessionRecord) -> list[_Rail]:
    """The power and energy channels of a session's probes; what is no probe is passed over."""
    rails = []
    for info in record.probes:
        channels = info.get("channels")
        for channel in channels if isinstance(channels, list | tuple) else ():
            if isinstance(channel, Mapping) and str(channel.get("quantity")) in UNITS:
                meter = f"{info.get('kind')}:{info.get('address')}"
                scope, rate_hz = str(info.get("scope", "")), _number(info.get("rate_hz"))
                name, quantity, unit = (str(channel.get(key, "")) for key in ("name", "quantity", "unit"))
                total = channel.get("total") is True
                rails.append(_Rail(meter, name, quantity, unit, scope, rate_hz, total))
    return rails


def _number(value: Any) -> float:
    # A whole number of a file has any number of digits.
    if isinstance(value, int | float) and 0 < value < MOST_HZ:
        return float(value)
    return 0.0


def _session(
    rail: _Rail, record: SessionRecord, rows: pd.DataFrame | None, time: SteadyTime | None
) -> _OneSession:
    scale = UNITS[rail.quantity].get(rail.unit)
    if time is None or scale is None:
        reason = "no steady window was recorded" if scale else f"its unit {rail.unit!r} is not known"
        return _OneSession(WindowPower(None, None, 0.0, 0, 0.0, reason), None, ImageEnergy(reason=reason))
    info = _info(record, rail.meter)
    averaging_ms = _number(info.get("averaging_ms")) or None
    t_ns, watts = _watts(rail, rows, scale)
    time = time.seen_until(_reach_ns(t_ns[np.isfinite(watts)]))
    unread = _unread(t_ns, watts, int(time.spans_ns[0, 0]), int(time.spans_ns[-1, 1])) or _played(info)
    averaging_s = averaging_ms / 1e3 if averaging_ms and rail.quantity == "power" else None
    window = passes_power(t_ns, watts, time.spans_ns, averaging_s)
    if window.reason and (why := reasons_by_probe(record).get(rail.meter)):
        window = replace(window, reason=f"{window.reason} ({why})")
    idle_ns = record.windows_ns.get("idle")
    idle = window_power(t_ns, watts, *idle_ns) if idle_ns else None
    if rail.quantity == "energy" and window.effective_hz:
        averaging_ms = 1e3 / window.effective_hz  # a counter says what was drawn since the reading before
    return _OneSession(
        window,
        idle,
        energy_per_image(window, time.images, idle),
        averaging_ms,
        int(_number(info.get("rejected"))),
        unread,
    )


def _info(record: SessionRecord, meter: str) -> Mapping[str, Any]:
    """What a meter said of itself in a session."""
    return next(info for info in record.probes if f"{info.get('kind')}:{info.get('address')}" == meter)


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


def _played(info: Mapping[str, Any]) -> str:
    """That a meter played what was recorded at another time: it says nothing about what ran beside it."""
    absent = info.get("absent")
    is_played = isinstance(absent, Mapping) and LIVE_SAMPLES in absent
    return "the samples were played from a recording, not taken then" if is_played else ""


def _watts(
    rail: _Rail, rows: pd.DataFrame | None, scale: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if rows is None:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    t_ns, values = rows["t_ns"].to_numpy(np.int64), rows["value"].to_numpy(np.float64) * scale
    return as_watts(rail.quantity, t_ns, values)


def as_watts(
    quantity: str, t_ns: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Stamps int64 [n] and power float64 [n] in W of a channel of power in W or of energy in J."""
    values = np.where(np.abs(values) < MOST, values, np.nan)
    if quantity == "power":
        return t_ns, values
    # A counter: the mean power of each interval, stamped at its end; one that runs back says nothing. It goes
    # on counting through readings that are no number.
    counted = np.isfinite(values)
    t_ns, values = t_ns[counted], values[counted]
    order = np.argsort(t_ns, kind="stable")
    steps_s, steps_j = np.diff(t_ns[order]) / 1e9, np.diff(values[order])
    usable = (steps_s > 0) & (steps_j >= 0)
    return t_ns[order][1:][usable], steps_j[usable] / steps_s[usable]


def _figure(rail: _Rail, sessions: Sequence[_OneSession]) -> PowerFigure:
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
    reasons = [session.energy.reason for session in sessions] + [window.note for window in windows]
    uncovered = [
        session.window.reason or session.unread
        for session in sessions
        if session.window.mean_w is None or session.unread
    ]
    mean_low, mean_high = widened_interval(means, [window.mean_half_width_w for window in measured])
    energy_low, energy_high = widened_interval(gross, [energy.gross_half_width_j for energy in energies])
    net_low, net_high = widened_interval(net, [energy.net_half_width_j for energy in nets])
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
        energy_j=_mean(gross),
        net_energy_j=_mean(net),
        reason="; ".join(dict.fromkeys(reason for reason in reasons if reason)),
        window_s=min((window.window_s for window in windows if window.window_s > 0), default=None),
        mean_w_sessions=tuple(means),
        energy_j_sessions=tuple(gross),
        uncovered=f"{len(uncovered)} of {len(sessions)} sessions: {'; '.join(dict.fromkeys(uncovered))}"
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


def _rank(figure: PowerFigure) -> tuple[bool, int, bool, float]:
    """The widest scope first, and of its rails the total, or else the one that carries most."""
    scope = SCOPES.index(figure.scope) if figure.scope in SCOPES else len(SCOPES)
    return figure.peak_w is None, scope, not figure.total, -(figure.mean_w or figure.peak_w or 0.0)
