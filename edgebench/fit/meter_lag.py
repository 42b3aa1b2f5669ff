"""What a reader of power has to know of the lag of a meter on the host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from edgebench.fit.probe_reasons import recorded_name
from edgebench.store.records import SessionRecord


def lag_note(records: Sequence[SessionRecord], meter: str) -> str:
    """That a lag was taken off a meter's stamps, or that none is known and why; "" where neither is so."""
    infos = [info for record in records for info in record.probes if recorded_name(info) == meter]
    lags = [lag for info in infos if isinstance(lag := info.get("lag"), Mapping)]
    applied = [_lag_ms(lag) for lag in lags if lag.get("applied") is True]
    applied_ms = [lag_ms for lag_ms in applied if lag_ms is not None]
    unknown = [str(lag.get("reason") or "no reason is recorded") for lag in lags if _lag_ms(lag) is None]
    notes = []
    if applied_ms:
        low, high = (_figure(lag_ms) for lag_ms in (min(applied_ms), max(applied_ms)))
        span = low if low == high else f"{low} to {high}"
        notes.append(f"a lag of {span} ms is taken off its stamps {_of(applied_ms, lags)}")
    if unknown:
        notes.append(f"its lag is not known {_of(unknown, lags)}: {'; '.join(dict.fromkeys(unknown))}")
    return "; ".join(notes)


def _figure(lag_ms: float) -> str:
    """Three digits, and no power of ten from a second on."""
    return f"{lag_ms:.3g}" if abs(lag_ms) < 999.5 else f"{lag_ms:.0f}"


def _of(some: Sequence[object], lags: Sequence[object]) -> str:
    return f"in {len(some)} of {len(lags)} sessions"


def _lag_ms(lag: Mapping[str, Any]) -> float | None:
    lag_ms = lag.get("lag_ms")
    return float(lag_ms) if isinstance(lag_ms, int | float) and math.isfinite(lag_ms) else None
