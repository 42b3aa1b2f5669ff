"""What telemetry saw in the steady window of each session of a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from edgebench.stats.telemetry_window import (
    CLOCK_DROP_LIMIT,
    INVOLUNTARY_LIMIT_PER_S,
    OTHERS_LIMIT,
    STEAL_LIMIT,
    WAITING_LIMIT,
    Stamps,
    Values,
    around,
    clock_drop,
    others_cores,
    rate_per_s,
    stolen_share,
    throttle_events,
    throttle_flags,
    waiting_share,
    within,
)
from edgebench.store.records import SessionRecord

KIND = ("telemetry:", "replay:telemetry")
"""Whose samples they are: the board's, or those that a replay plays."""


@dataclass(frozen=True)
class Observed:
    """One session's steady window; a field is None, or empty, where the board does not tell.

    Attributes:
        throttled: what the board said of throttling, such as `under-voltage`.
        clock_drop: by which share the fastest core's clock fell from the first quarter to the last.
        involuntary_per_s: how often the worker's threads were put off their cores.
        waiting_share: the share of their time that they waited for one.
        stolen_share: the share of their cores' time that a hypervisor gave to others.
        others_cores: how many cores' worth of other work went on on their cores.
        watched: whether a sample of the window tells of throttling: without one there may have been some.
    """

    throttled: tuple[str, ...] = ()
    clock_drop: float | None = None
    involuntary_per_s: float | None = None
    waiting_share: float | None = None
    stolen_share: float | None = None
    others_cores: float | None = None
    watched: bool = False

    @property
    def dropped(self) -> bool:
        """Whether the clock fell by more than 5 %."""
        return self.clock_drop is not None and self.clock_drop > CLOCK_DROP_LIMIT

    @property
    def interfered(self) -> bool:
        """Whether something else wanted the worker's cores.

        Another process: the worker was put off them often, or half a core's worth of other work went on,
        and it had to wait, where that is known. Or another machine on the same processor.
        """
        often = _above(self.involuntary_per_s, INVOLUNTARY_LIMIT_PER_S)
        if self.waiting_share is None:
            return often or self.stolen
        others = often or _above(self.others_cores, OTHERS_LIMIT)
        return (others and self.waiting_share > WAITING_LIMIT) or self.stolen

    @property
    def stolen(self) -> bool:
        """Whether a hypervisor gave more than 5 % of the cores' time to others."""
        return _above(self.stolen_share, STEAL_LIMIT)


def _above(value: float | None, limit: float) -> bool:
    return value is not None and value > limit


def observe(records: Sequence[SessionRecord], probes: pd.DataFrame) -> tuple[Observed, ...]:
    """One Observed a record, in order.

    Args:
        records: sessions of one trial.
        probes: the trial's rows of `probes` (see store.records.PROBE_COLUMNS, with `session`).
    """
    rows = probes[probes["probe"].astype(str).str.startswith(KIND)]
    found = dict(list(rows.groupby(["session", "channel"], observed=True)))
    return tuple(_one(record, found) for record in records)


def _one(record: SessionRecord, found: Mapping[Any, pd.DataFrame]) -> Observed:
    steady = record.windows_ns.get("steady")
    if steady is None:
        return Observed()

    def column(channel: str) -> tuple[Stamps, Values]:
        rows = found.get((record.n, channel))
        if rows is None:
            return np.empty(0, np.int64), np.empty(0)
        return rows["t_ns"].to_numpy(np.int64), rows["value"].to_numpy(np.float64)

    def samples(channel: str) -> Values:
        return within(*column(channel), *steady)[1]

    def counter(channel: str) -> tuple[Stamps, Values]:
        return around(*column(channel), *steady)

    bits, cooling = samples("throttle_flags"), samples("cooling_state")
    events = counter("throttle_count")[1]
    flags = list(throttle_flags(bits))
    if throttle_events(events):
        flags.append("throttle events counted")
    if (cooling > 0).any():
        flags.append("a cooling device slowed the processor")
    busy_at, busy = counter("cores_busy")
    return Observed(
        throttled=tuple(flags),
        clock_drop=clock_drop(samples("cpu_clock_max")),
        involuntary_per_s=rate_per_s(*counter("involuntary_switches")),
        waiting_share=waiting_share(counter("worker_running")[1], counter("worker_waiting")[1]),
        stolen_share=stolen_share(busy_at, busy, counter("cores_stolen")[1]),
        others_cores=others_cores(busy_at, busy, counter("worker_running")[1]),
        watched=bool(bits.size or cooling.size or events.size > 1),
    )
