"""Simulated meters that read a known load, and their power by the way of a user's sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from edgebench.judge.power.rails import RailPower, power_of_sessions
from edgebench.judge.steady_time import SteadyTime
from edgebench.records.stored import SessionRecord
from edgebench.results.rows import rows_of
from edgebench.stats.power import WindowPower, passes_power
from edgebench.stats.power_curve import power_curve
from proofs.power_loads import Floats, Generator, Load

START_NS = 3_456_789_012_345_678
"""When sampling begins: a clock that has run for weeks."""

IDLE_W = 0.8
MARGIN = 6.0
"""Periods that a meter samples before and after what is asked of it."""


@dataclass(frozen=True)
class Meter:
    """Simulated meter.

    Attributes:
        rate_hz: samples a second.
        averaging: over how much of its period a reading is the mean; 0 for a moment.
        jitter: standard deviation of a sample's time round the even one, in periods.
        unsure: by how many periods its stamp may be off.
        noise: standard deviation of a reading, as a share of it.
        step_w: the least step of a reading.
        lost: the share of samples that never come.
    """

    rate_hz: float
    averaging: float = 0.0
    jitter: float = 0.02
    unsure: float = 0.02
    noise: float = 0.005
    step_w: float = 1e-3
    lost: float = 0.01

    @property
    def info(self) -> dict[str, Any]:
        """Properties that the meter states in a record."""
        return {
            "kind": "meter",
            "address": "0",
            "rate_hz": self.rate_hz,
            "scope": "board",
            "averaging_ms": 1e3 * self.averaging / self.rate_hz or None,
            "response": {"reach_ms": 1e3 / self.rate_hz} if not self.averaging else None,
            "channels": [{"name": "in", "quantity": "power", "unit": "W", "total": True}],
        }

    def ns(self, at: Floats) -> NDArray[np.int64]:
        """Moments in periods as stamps."""
        return START_NS + np.rint(np.asarray(at) * (1e9 / self.rate_hz)).astype(np.int64)

    def read(self, generator: Generator, load: Load, until: float) -> tuple[NDArray[np.int64], Floats]:
        """Stamps and readings from MARGIN periods before 0 to MARGIN after a moment."""
        due = np.arange(-MARGIN + generator.uniform(0, 1), until + MARGIN)
        due = due[generator.random(len(due)) >= self.lost]
        at = np.sort(due + self.jitter * np.clip(generator.standard_normal(len(due)), -3, 3))
        if self.averaging:
            watts = (load.energy(at) - load.energy(at - self.averaging)) / self.averaging
        else:
            watts = load.watts(at)
        watts = watts * (1 + self.noise * generator.standard_normal(len(at)))
        stamps = self.ns(at + self.unsure * generator.uniform(-1, 1, len(at)))
        return stamps, np.round(watts / self.step_w) * self.step_w


@dataclass(frozen=True, eq=False)
class Measured:
    """One session: a load read over passes, and the idle board before it.

    Attributes:
        load: what was drawn.
        spans: start and end of each pass, [n, 2], in the meter's periods from 0.
        idle: the load of the idle board, and for how many periods it was read; None for none.
        images: that the session got through.
        starts: when each of paced passes began, in the meter's periods; None for those of `spans`.
    """

    load: Load
    spans: Floats
    idle: tuple[Load, float] | None = None
    images: float = 1.0
    starts: Floats | None = None

    @property
    def window_w(self) -> float:
        """The mean power that was truly drawn within the passes."""
        joules = self.load.energy(self.spans[:, 1]) - self.load.energy(self.spans[:, 0])
        return float(joules.sum() / np.diff(self.spans).sum())

    def net_w(self) -> float:
        """Likewise, without what was drawn in the idle window."""
        assert self.idle is not None
        load, periods = self.idle
        return self.window_w - float(np.diff(load.energy(np.array([0.0, periods])))[0]) / periods


def window(generator: Generator, meter: Meter, session: Measured) -> WindowPower:
    """Stated power of one session's passes."""
    stamps, watts = meter.read(generator, session.load, float(session.spans[-1, 1]))
    averaging_s = meter.averaging / meter.rate_hz or None
    return passes_power(power_curve(stamps, watts), meter.ns(session.spans), averaging_s)


def metered(generator: Generator, meter: Meter, sessions: Sequence[Measured]) -> RailPower:
    """Stated power of sessions that a meter read."""
    records, frames, times = [], [], {}
    for number, session in enumerate(sessions):
        readings = [meter.read(generator, session.load, float(session.spans[-1, 1]))]
        windows_ns = {}
        if session.idle is not None:
            load, periods = session.idle
            stamps, watts = meter.read(generator, load, periods)
            before_ns = round((periods + 4 * MARGIN) * 1e9 / meter.rate_hz)
            readings.insert(0, (stamps - before_ns, watts))
            windows_ns["idle"] = (
                START_NS - before_ns,
                int(meter.ns(np.array([periods]))[0]) - before_ns,
            )
        records.append(_record(number, meter, windows_ns))
        stamps, watts = (np.concatenate(column) for column in zip(*readings, strict=True))
        frames.append(pd.DataFrame({"session": number, "t_ns": stamps, "value": watts}))
        spans_ns = meter.ns(session.spans)
        starts_ns, period_s = spans_ns[:, 0], None
        if session.starts is not None:
            starts_ns = meter.ns(session.starts)
            period_s = float(np.diff(session.starts).mean()) / meter.rate_hz
        times[number] = SteadyTime(spans_ns, session.images, period_s=period_s, starts_ns=starts_ns)
    frame = pd.concat(frames, ignore_index=True).assign(probe="meter:0", channel="in")
    probes = rows_of(pa.Table.from_pandas(frame))
    [power] = power_of_sessions(records, lambda: probes, times)
    return power


def _record(number: int, meter: Meter, windows_ns: dict[str, tuple[int, int]]) -> SessionRecord:
    return SessionRecord.model_construct(n=number, probes=(meter.info,), windows_ns=windows_ns)
