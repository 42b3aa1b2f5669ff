"""The figures of one meter's channels, from its samples as they come: memory holds none but the last ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.fit.power_rails import UNITS, as_watts
from edgebench.stats.power_totals import PowerTotals
from edgebench.vocabulary.probe import Channel, ProbeChunk, ProbeInfo, headline_channels


class RecordedFigures:
    """Those of each power or energy channel of a meter.

    Args:
        channels: of the meter.

    Attributes:
        readings: how many numbers its channels of power and energy gave.
        duration_s: from the first sample to the last, whatever they are of.
    """

    def __init__(self, channels: Iterable[Channel] = ()) -> None:
        self._rails = [_Rail(channel) for channel in channels if channel.quantity in UNITS]
        headline = headline_channels(rail.channel for rail in self._rails)
        self._headline = next((rail for rail in self._rails if rail.channel in headline), None)
        self._span_ns: tuple[int, int] | None = None

    @property
    def readings(self) -> int:
        """Of all its rails."""
        return sum(rail.readings for rail in self._rails)

    @property
    def duration_s(self) -> float:
        """0 for no sample."""
        return 0.0 if self._span_ns is None else (self._span_ns[1] - self._span_ns[0]) / 1e9

    def add(self, chunk: ProbeChunk) -> tuple[str, float] | None:
        """Take in a chunk; the channel of the meter's headline and its mean power in W over the chunk.

        None where the chunk says nothing of it. A counter of energy is read from the chunk before on.
        """
        if not len(chunk.stamps_ns):
            return None
        first_ns, last_ns = int(chunk.stamps_ns.min()), int(chunk.stamps_ns.max())
        if self._span_ns is not None:
            first_ns, last_ns = min(first_ns, self._span_ns[0]), max(last_ns, self._span_ns[1])
        self._span_ns = first_ns, last_ns
        newest = None
        for rail in self._rails:
            if rail.channel.name in chunk.values:
                watts = rail.add(chunk.stamps_ns, chunk.values[rail.channel.name])
                if rail is self._headline and len(watts):
                    newest = rail.channel.name, float(watts.mean())
        return newest

    def rails(self, info: ProbeInfo) -> list[dict[str, Any]]:
        """The figures of each; each figure that is missing is None.

        `channel`, `total`, `mean_w`, `peak_w`, `energy_j`, `rate_hz` (stated), `effective_hz`,
        `longest_gap_s`, `samples`, and `reason`, why there is no mean.
        """
        return [rail.figures(info.rate_hz) for rail in self._rails]

    def headline(self, info: ProbeInfo) -> dict[str, Any] | None:
        """Those of the rail that stands for the meter, as `rails` has them; None of no meter."""
        return None if self._headline is None else self._headline.figures(info.rate_hz)


class _Rail:
    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.readings = 0
        self._totals = PowerTotals()
        self._scale = UNITS[channel.quantity].get(channel.unit, float("nan"))
        self._last: tuple[NDArray[np.int64], NDArray[np.float64]] = np.empty(0, np.int64), np.empty(0)

    def add(self, t_ns: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take in readings; the finite power in W that they say."""
        finite = np.isfinite(values)
        self.readings += int(finite.sum())
        if self.channel.quantity == "energy":
            # Power is what a counter counted since its last reading.
            t_ns, values = np.append(self._last[0], t_ns[finite]), np.append(self._last[1], values[finite])
            self._last = t_ns[-1:], values[-1:]
        t_ns, watts = as_watts(self.channel.quantity, t_ns, values * self._scale)
        self._totals.add(t_ns, watts)
        return watts[np.isfinite(watts)]

    def figures(self, rate_hz: float) -> dict[str, Any]:
        window = self._totals.window()
        return {
            "channel": self.channel.name,
            "total": self.channel.total,
            "mean_w": window.mean_w,
            "peak_w": window.peak_w,
            "energy_j": None if window.mean_w is None else window.mean_w * window.window_s,
            "effective_hz": window.effective_hz,
            "longest_gap_s": window.longest_gap_s,
            "rate_hz": rate_hz,
            "samples": window.samples,
            "reason": window.reason,
        }
