"""The power and energy channels of a record's meters, what they cover, and their samples in W."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.fit.probe_reasons import recorded_name
from edgebench.store.records import SessionRecord

UNITS = {"power": {"W": 1.0, "mW": 1e-3, "uW": 1e-6}, "energy": {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6}}

WIDE_SCOPES = ("board", "usb", "wall")
"""Scopes that hold all that a board draws, the closest to it first."""

SCOPES = (*WIDE_SCOPES, "module", "chip")
"""The order in which meters stand for a board: those of all of it, then of parts; any other comes last."""

MOST_RECORDED = 1e9
"""A meter's rate in Hz, time in ms or count that reaches it is damage: stamps count a billion a second."""

MOST_READING = 1e15
"""In W or J: a sample beyond it measured nothing, and sums of such samples have no value."""


@dataclass(frozen=True)
class Rail:
    """A power or energy channel of a meter, as a session's record has it."""

    meter: str
    channel: str
    quantity: str
    unit: str
    scope: str
    rate_hz: float
    total: bool = field(compare=False)  # of a rail in some sessions' records alone: older ones do not say


def rails_of(record: SessionRecord) -> list[Rail]:
    """The power and energy channels of a session's probes; what is no probe is passed over."""
    rails = []
    for info in record.probes:
        channels = info.get("channels")
        for channel in channels if isinstance(channels, list | tuple) else ():
            if isinstance(channel, Mapping) and str(channel.get("quantity")) in UNITS:
                meter = recorded_name(info)
                scope, rate_hz = str(info.get("scope", "")), recorded_number(info.get("rate_hz"))
                name, quantity, unit = (str(channel.get(key, "")) for key in ("name", "quantity", "unit"))
                total = channel.get("total") is True
                rails.append(Rail(meter, name, quantity, unit, scope, rate_hz, total))
    return rails


def recorded_number(value: Any) -> float:
    """A number of a record between 0 and MOST_RECORDED, or 0 for what is none."""
    # A whole number of a file has any number of digits.
    if isinstance(value, int | float) and 0 < value < MOST_RECORDED:
        return float(value)
    return 0.0


def scope_rank(scope: str) -> int:
    """The place of a scope among SCOPES."""
    return SCOPES.index(scope) if scope in SCOPES else len(SCOPES)


def rail_watts(rail: Rail, rows: pd.DataFrame | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Stamps int64 [n] in ns and power float64 [n] in W of a rail's rows; none of an unknown unit."""
    scale = UNITS[rail.quantity].get(rail.unit)
    if rows is None or scale is None:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    t_ns, values = rows["t_ns"].to_numpy(np.int64), rows["value"].to_numpy(np.float64) * scale
    return as_watts(rail.quantity, t_ns, values)


def as_watts(
    quantity: str, t_ns: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Stamps int64 [n] and power float64 [n] in W of a channel of power in W or of energy in J."""
    values = np.where(np.abs(values) < MOST_READING, values, np.nan)
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
