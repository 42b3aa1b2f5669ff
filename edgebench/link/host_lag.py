"""How late the stamps of a meter on this machine are, by the bursts of load that a session runs for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from edgebench.stats.burst_lag import SEARCH_PERIODS, SEARCH_S, burst_lag
from edgebench.stats.clock import ClockFit
from edgebench.vocabulary.load_bursts import BurstTimes, LoadBursts, load_bursts
from edgebench.vocabulary.probe import MeterLag, ProbeChunk, ProbeInfo, headline_channels


def bursts_for(probes: Sequence[ProbeInfo]) -> LoadBursts | None:
    """The bursts that all live meters among a host's probes see; None without such a meter."""
    rates_hz = [info.rate_hz for info in probes if info.is_meter and not info.is_played]
    return load_bursts(min(rates_hz)) if rates_hz else None


def lag_of(
    info: ProbeInfo, chunks: Iterable[ProbeChunk], fit: ClockFit, times: BurstTimes | None
) -> MeterLag | None:
    """The lag of a host's meter in a session, or why none is known; None for what is no meter.

    It is applied where it is more than its own uncertainty and that of the clocks together: below that nobody
    knows on which side of the true moment the stamps are.

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
    channels = [channel.name for channel in headline_channels(info.channels, ("power",))]
    if not channels:
        return MeterLag(reason="it has no power channel")
    bursts_ns = [(fit.to_host(start_ns), fit.to_host(end_ns)) for start_ns, end_ns in times.bursts_ns]
    from_ns, to_ns = fit.to_host(times.from_ns), bursts_ns[-1][1]
    reach_ns = round((SEARCH_S + SEARCH_PERIODS / info.rate_hz) * 1e9) + to_ns - bursts_ns[-1][0]
    stamps, watts = [np.empty(0, np.int64)], [np.empty(0)]
    for chunk in chunks:
        near = (chunk.stamps_ns > from_ns - reach_ns) & (chunk.stamps_ns < to_ns + reach_ns)
        if near.any() and all(name in chunk.values for name in channels):
            stamps.append(chunk.stamps_ns[near])
            watts.append(np.sum([chunk.values[name][near] for name in channels], axis=0))
    averaging_s = None if info.averaging_ms is None else info.averaging_ms / 1e3
    pause_ns = bursts_ns[0][0] - from_ns
    lag = burst_lag(np.concatenate(stamps), np.concatenate(watts), bursts_ns, pause_ns, averaging_s)
    if lag.lag_ns is None or lag.half_width_ns is None:
        return MeterLag(reason=lag.reason)
    applied = abs(lag.lag_ns) > lag.half_width_ns + fit.bound_ns
    return MeterLag(lag.lag_ns / 1e6, lag.half_width_ns / 1e6, applied)
