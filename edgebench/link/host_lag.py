"""Lag and response of a session's meters, by the bursts of load that it runs for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from edgebench.records.session import (
    UNKNOWN_REACH_S,
    BurstTimes,
    LoadBursts,
    MeterLag,
    MeterResponse,
    ProbeChunk,
    ProbeInfo,
    headline_channels,
    load_bursts,
)
from edgebench.stats.burst_lag import SEARCH_PERIODS, SEARCH_S, burst_lag, burst_response
from edgebench.stats.clock import ClockFit


def bursts_for(probes: Sequence[ProbeInfo]) -> LoadBursts | None:
    """The bursts that all live meters among some probes see; None without such a meter."""
    rates_hz = [info.rate_hz for info in _live_meters(probes)]
    return load_bursts(min(rates_hz)) if rates_hz else None


def settle_s(probes: Sequence[ProbeInfo]) -> float:
    """How long a device idles before an idle window, for load to leave the readings of all live meters.

    A reading may be held for as long as it averages, or until the next one is taken.
    """
    reaches_s = [
        UNKNOWN_REACH_S + 1 / info.rate_hz + 2 * (info.averaging_ms or 0.0) / 1e3
        for info in _live_meters(probes)
    ]
    return max(reaches_s, default=0.0)


def averaging_s(probes: Sequence[ProbeInfo]) -> float:
    """The longest time that a live meter states to average over; 0 where none states one."""
    return max(((info.averaging_ms or 0.0) / 1e3 for info in _live_meters(probes)), default=0.0)


def _live_meters(probes: Sequence[ProbeInfo]) -> list[ProbeInfo]:
    """Those that read power now: a counter of energy covers the time since its last reading."""
    live = [info for info in probes if not info.is_played]
    return [info for info in live if headline_channels(info.channels, ("power",))]


def lag_of(
    info: ProbeInfo, chunks: Iterable[ProbeChunk], fit: ClockFit, times: BurstTimes | None
) -> MeterLag | None:
    """The lag of a host's meter in a session, or why none is known; None for what is no meter.

    It is applied where it is more than its own uncertainty and that of the clocks together: below that it
    is not known on which side of the true moment the stamps are.

    Args:
        info: of the probe.
        chunks: its samples of the session, on the host's clock; read where there are bursts.
        fit: of the device's clock.
        times: of the bursts, on the device's clock; None where the session ran none.
    """
    if not info.is_meter:
        return None
    if info.is_played:
        return MeterLag(reason="its samples are played from a recording")
    if times is None:
        return MeterLag(reason="the session ran no load bursts")
    if not headline_channels(info.channels, ("power",)):
        return MeterLag(reason="it has no power channel")
    bursts_ns = [(fit.to_host(start_ns), fit.to_host(end_ns)) for start_ns, end_ns in times.bursts_ns]
    from_ns = fit.to_host(times.from_ns)
    stamps_ns, watts = _around(info, chunks, from_ns, bursts_ns)
    averaging_s = None if info.averaging_ms is None else info.averaging_ms / 1e3
    pause_ns = bursts_ns[0][0] - from_ns
    lag = burst_lag(stamps_ns, watts, bursts_ns, pause_ns, averaging_s)
    if lag.lag_ns is None or lag.half_width_ns is None:
        return MeterLag(reason=lag.reason, correlation=lag.correlation)
    applied = abs(lag.lag_ns) > lag.half_width_ns + fit.bound_ns
    return MeterLag(lag.lag_ns / 1e6, lag.half_width_ns / 1e6, applied, correlation=lag.correlation)


def response_of(
    info: ProbeInfo, chunks: Iterable[ProbeChunk], times: BurstTimes | None
) -> MeterResponse | None:
    """The response of a meter in a session, or why it is not known; None where no bursts were run for it.

    Args:
        info: of the probe.
        chunks: its samples of the session, on the device's clock and without lag.
        times: of the bursts; None where the session ran none.
    """
    if times is None or not _live_meters([info]):
        return None
    stamps_ns, watts = _around(info, chunks, times.from_ns, times.bursts_ns)
    pause_ns = times.bursts_ns[0][0] - times.from_ns
    response = burst_response(stamps_ns, watts, times.bursts_ns, pause_ns)
    reach_ms = None if response.reach_s is None else 1e3 * response.reach_s
    follows = None
    if info.lag is None:
        averaging_s = None if info.averaging_ms is None else info.averaging_ms / 1e3
        follows = burst_lag(stamps_ns, watts, times.bursts_ns, pause_ns, averaging_s).correlation
    return MeterResponse(reach_ms, 1e3 * response.ahead_s, response.reason, follows)


def _around(
    info: ProbeInfo, chunks: Iterable[ProbeChunk], from_ns: int, bursts_ns: Sequence[tuple[int, int]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Stamps and power of a meter's readings around bursts, as far off as a lag is searched for."""
    channels = [channel.name for channel in headline_channels(info.channels, ("power",))]
    to_ns = bursts_ns[-1][1]
    reach_ns = round((SEARCH_S + SEARCH_PERIODS / info.rate_hz) * 1e9) + to_ns - bursts_ns[-1][0]
    stamps, watts = [np.empty(0, np.int64)], [np.empty(0)]
    for chunk in chunks:
        near = (chunk.stamps_ns > from_ns - reach_ns) & (chunk.stamps_ns < to_ns + reach_ns)
        if near.any() and all(name in chunk.values for name in channels):
            stamps.append(chunk.stamps_ns[near])
            watts.append(np.sum([chunk.values[name][near] for name in channels], axis=0))
    return np.concatenate(stamps), np.concatenate(watts)
