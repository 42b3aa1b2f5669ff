"""Meters of a session's record: channels of power and energy, their samples in W, and their lag."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.records.session import probe_name
from edgebench.records.stored import SessionRecord
from edgebench.results.rows import Rows
from edgebench.stats.burst_lag import BY_CHANCE, SEARCH_PERIODS, SEARCH_S
from edgebench.stats.power import CHECK_WIRING

UNITS = {"power": {"W": 1.0, "mW": 1e-3, "uW": 1e-6}, "energy": {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6}}

MOST_RECORDED = 1e9
"""A meter's rate in Hz, time in ms or count that reaches it is damage: stamps count a billion a second."""

MOST_READING = 1e15
"""Limit of a sample in W or J: one beyond it measured nothing, and sums of such samples have no value."""


def recorded_name(info: Mapping[str, Any]) -> str:
    """Name `kind:address` of one of a record's `probes`, whatever stands there."""
    return f"{info.get('kind')}:{info.get('address')}"


def reasons_by_probe(record: SessionRecord) -> dict[str, str]:
    """Reasons why probes gave nothing, or nothing more, by `kind:address`."""
    reasons = record.probe_reasons | record.monitor_reasons
    return {probe_name(words): reason for words, reason in reasons.items()}


def meters_reason(records: Sequence[SessionRecord]) -> str:
    """Reasons why a meter, or every meter, gave nothing, each once; empty where the sessions have none."""
    reasons = {
        reason if not meter or reason.startswith(f"{meter}:") else f"{meter}: {reason}": None
        for record in records
        for meter, reason in record.probe_reasons.items()
    }
    return "; ".join(reasons)


@dataclass(frozen=True)
class Channel:
    """Channel of power or energy of a meter in a session's record."""

    meter: str
    name: str
    quantity: str
    unit: str
    scope: str
    rate_hz: float
    total: bool = field(compare=False)  # sessions' records of one channel may differ in it


def channels_of(record: SessionRecord) -> list[Channel]:
    """Channels of power and energy of a session's probes; anything else is passed over."""
    return [channel for info in record.probes for channel in _channels(info)]


def _channels(info: Mapping[str, Any]) -> Iterator[Channel]:
    listed = info.get("channels")
    for entry in listed if isinstance(listed, list | tuple) else ():
        if isinstance(entry, Mapping) and str(entry.get("quantity")) in UNITS:
            yield Channel(
                recorded_name(info),
                str(entry.get("name", "")),
                str(entry.get("quantity")),
                str(entry.get("unit", "")),
                str(info.get("scope", "")),
                recorded_number(info.get("rate_hz")),
                entry.get("total") is True,
            )


def recorded_number(value: Any) -> float:
    """Number of a record between 0 and MOST_RECORDED; 0 for anything else."""
    # A whole number of a file has any number of digits.
    if isinstance(value, int | float) and 0 < value < MOST_RECORDED:
        return float(value)
    return 0.0


def watts_of(channel: Channel, rows: Rows | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Stamps int64 [n] in ns and power float64 [n] in W of a channel.

    Args:
        channel: one of the session's record.
        rows: the session's `probes`; None without any.

    Returns:
        empty arrays for an unknown unit and without rows.
    """
    scale = UNITS[channel.quantity].get(channel.unit)
    if rows is None or scale is None:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    own = rows.equal("probe", channel.meter) & rows.equal("channel", channel.name)
    return as_watts(channel.quantity, rows.whole("t_ns")[own], rows.floats("value")[own] * scale)


def as_watts(
    quantity: str, t_ns: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Stamps int64 [n] and power float64 [n] in W of a channel of power in W or of energy in J."""
    if len(values) and not (values.min() > -MOST_READING and values.max() < MOST_READING):
        values = np.where(np.abs(values) < MOST_READING, values, np.nan)
    if quantity == "power":
        return t_ns, values
    # A counter: the mean power of each interval, stamped at its end; not a number where it was set back. It
    # goes on counting through readings that are no number.
    counted = np.isfinite(values)
    t_ns, values = t_ns[counted], values[counted]
    order = np.argsort(t_ns, kind="stable")
    steps_s, steps_j = np.diff(t_ns[order]) / 1e9, np.diff(values[order])
    usable, watts = steps_s > 0, np.where(steps_j >= 0, steps_j, np.nan)
    return t_ns[order][1:][usable], watts[usable] / steps_s[usable]


# Lag of a meter on the host.
#
# A meter whose lag is not known may be as late, or as early, as the load bursts are searched for: by SEARCH_S
# and SEARCH_PERIODS of its own periods. The readings of one that is later still do not follow the bursts, and
# decide nothing. Its numbers are as far off as those of the same windows, moved by up to that, differ from
# them (`stats.power.of_unknown_lag`).


def lag_note(records: Sequence[SessionRecord], meter: str) -> str:
    """Lag that was taken off a meter's stamps, or the reason why none is known; empty where neither is so."""
    infos = [info for record in records for info in record.probes if recorded_name(info) == meter]
    lags = [lag for info in infos if isinstance(lag := info.get("lag"), Mapping)]
    known = [(lag, _number(lag.get("lag_ms"))) for lag in lags]
    applied_ms = [lag_ms for lag, lag_ms in known if lag.get("applied") is True and lag_ms is not None]
    unknown = [str(lag.get("reason") or "no reason is recorded") for lag, lag_ms in known if lag_ms is None]
    notes = []
    if applied_ms:
        # Three digits, and no power of ten from a second on.
        ends = dict.fromkeys(
            f"{lag_ms:.3g}" if abs(lag_ms) < 999.5 else f"{lag_ms:.0f}"
            for lag_ms in (min(applied_ms), max(applied_ms))
        )
        taken = f"a lag of {' to '.join(ends)} ms is taken off its stamps"
        notes.append(f"{taken} in {len(applied_ms)} of {len(lags)} sessions")
    if unknown:
        why = "; ".join(dict.fromkeys(unknown))
        notes.append(f"its lag is not known in {len(unknown)} of {len(lags)} sessions: {why}")
    return "; ".join(notes)


def lag_reach_s(info: Mapping[str, Any], effective_hz: float | None) -> float:
    """Greatest error of a meter's stamps in a session, in s; 0 where its lag is known."""
    lag = info.get("lag")
    if not isinstance(lag, Mapping) or _number(lag.get("lag_ms")) is not None or not effective_hz:
        return 0.0
    return SEARCH_S + SEARCH_PERIODS / effective_hz


FALLS = "the meter does not measure this board: its readings fall under load"


def unrelated_reason(info: Mapping[str, Any]) -> str:
    """Sentence that a meter's readings do not follow a session's load bursts; empty where they may."""
    found = (info.get("lag"), info.get("response"))  # of a meter of the host, of one of the board
    correlations = [_number(part.get("correlation")) for part in found if isinstance(part, Mapping)]
    correlation = next((number for number in correlations if number is not None), None)
    if correlation is None or correlation >= BY_CHANCE:
        return ""
    if correlation <= -BY_CHANCE:
        return f"{FALLS} (their correlation with the load bursts is {correlation:.2f}): {CHECK_WIRING}"
    return (
        f"its readings do not follow the load: their correlation with the load bursts is {correlation:.2f} "
        f"at most, and {BY_CHANCE:g} comes by chance: {CHECK_WIRING}"
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
