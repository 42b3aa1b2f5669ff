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
from edgebench.fit.trial_summary import PowerFigure
from edgebench.stats.power import WindowPower, energy_per_image, window_power
from edgebench.store.records import SessionRecord

UNITS = {"power": {"W": 1.0, "mW": 1e-3, "uW": 1e-6}, "energy": {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6}}
WIDE_SCOPES = ("board", "usb", "wall")
"""Scopes that hold all that a board draws, the closest first."""

MOST_HZ = 1e9
"""No meter samples faster than the stamps count."""

MOST = 1e15
"""In W or J: a sample beyond it measured nothing, and sums of such samples have no value."""

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
class _OneSession:
    window: WindowPower
    idle_w: float | None
    energy_j: float | None
    net_energy_j: float | None
    reason: str
    unread: str = ""  # which readings of the steady window are no value, so that nobody knows what was drawn


def power_figures(
    records: Sequence[SessionRecord], probes: pd.DataFrame, images: Mapping[int, float]
) -> tuple[PowerFigure, ...] | None:
    """One figure a meter and rail, the primary marked; None where no session had a meter.

    Means, idle power and energy are means over the sessions, the peak is the highest of all.

    Args:
        records: the trial's finished sessions.
        probes: the trial's rows of `probes` (see store.records.PROBE_COLUMNS).
        images: how many images each session's steady window holds.
    """
    rails = list(dict.fromkeys(rail for record in records for rail in _rails(record)))
    if not rails:
        return None
    samples = dict(list(probes.groupby(["session", "probe", "channel"], observed=True)))
    figures = []
    for rail in rails:
        sessions = [
            _session(
                rail, record, samples.get((record.n, rail.meter, rail.channel)), images.get(record.n, 0.0)
            )
            for record in records
            if rail in _rails(record)
        ]
        figures.append(_figure(rail, sessions))
    first = min(range(len(rails)), key=lambda at: _rank(figures[at], rails[at].total))
    return tuple(replace(figure, primary=at == first) for at, figure in enumerate(figures))


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


def _session(rail: _Rail, record: SessionRecord, rows: pd.DataFrame | None, images: float) -> _OneSession:
    steady = record.windows_ns.get("steady")
    scale = UNITS[rail.quantity].get(rail.unit)
    if steady is None or scale is None:
        reason = "no steady window was recorded" if scale else f"its unit {rail.unit!r} is not known"
        return _OneSession(WindowPower(None, None, 0.0, 0, 0.0, reason), None, None, None, reason)
    t_ns, watts = _watts(rail, rows, scale)
    unread = _unread(t_ns, watts, *steady)
    window = window_power(t_ns, watts, *steady, rate_hz=rail.rate_hz)
    if window.reason and (why := reasons_by_probe(record).get(rail.meter)):
        window = replace(window, reason=f"{window.reason} ({why})")
    idle = record.windows_ns.get("idle")
    idle_w = window_power(t_ns, watts, *idle, rate_hz=rail.rate_hz).mean_w if idle else None
    gross_j, net_j, reason = energy_per_image(window, images, idle_w)
    return _OneSession(window, idle_w, gross_j, net_j, reason, unread)


def _unread(t_ns: NDArray[np.int64], watts: NDArray[np.float64], start_ns: int, end_ns: int) -> str:
    """That readings within a window are no value: out of the meter's range, or none; "" where each is one.

    What was drawn then may be more than all that the meter could read.
    """
    within = (t_ns >= start_ns) & (t_ns <= end_ns)
    lost = int((~np.isfinite(watts[within])).sum())
    return f"{lost} of {int(within.sum())} readings there are no number or out of range" if lost else ""


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
    means = _present([session.window.mean_w for session in sessions])
    peaks = _present([session.window.peak_w for session in sessions])
    energies = _present([session.energy_j for session in sessions])
    reasons = dict.fromkeys(session.reason for session in sessions if session.reason)
    uncovered = [
        session.window.reason or session.unread
        for session in sessions
        if session.window.mean_w is None or session.unread
    ]
    return PowerFigure(
        meter=rail.meter,
        channel=rail.channel,
        scope=rail.scope,
        primary=False,
        rate_hz=rail.rate_hz,
        samples=sum(session.window.samples for session in sessions),
        mean_w=_mean(means),
        peak_w=max(peaks, default=None),
        idle_w=_mean(_present([session.idle_w for session in sessions])),
        energy_j=_mean(energies),
        net_energy_j=_mean(_present([session.net_energy_j for session in sessions])),
        reason="; ".join(reasons),
        window_s=min(
            (session.window.window_s for session in sessions if session.window.window_s > 0), default=None
        ),
        mean_w_sessions=tuple(means),
        energy_j_sessions=tuple(energies),
        uncovered=f"{len(uncovered)} of {len(sessions)} sessions: {'; '.join(dict.fromkeys(uncovered))}"
        if uncovered
        else "",
    )


def _present(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _rank(figure: PowerFigure, total: bool) -> tuple[bool, int, bool, float]:
    """The widest scope first, and of its rails the total, or else the one that carries most."""
    scope = SCOPES.index(figure.scope) if figure.scope in SCOPES else len(SCOPES)
    return figure.peak_w is None, scope, not total, -(figure.mean_w or figure.peak_w or 0.0)
