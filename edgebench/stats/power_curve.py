"""Power as a meter's samples draw it over time, and its energy within spans of it.

Between two samples power is a straight line, and beyond the first and the last it stays level; energy is the
integral of that, which within the samples is the trapezoid rule on their true time stamps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 15
"""Samples that are summed up at a time: what is between them stays in the processor's cache."""

ROUNDING = 1e-6
"""A share of a sample period: a stretch that reaches less far into a reading does not touch it."""


@dataclass(frozen=True, eq=False)
class PowerCurve:
    """Samples of power: stamps int64 [n] in ns that rise, and float64 [n] in W, all finite.

    `around` are those that may be of the same time where the lag of the stamps is unknown; None where it
    is known.
    """

    t_ns: NDArray[np.int64]
    watts: NDArray[np.float64]
    around: PowerCurve | None = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PowerCurve)
            and np.array_equal(self.t_ns, other.t_ns)
            and np.array_equal(self.watts, other.watts)
        )

    def __hash__(self) -> int:
        return hash((self.t_ns.tobytes(), self.watts.tobytes()))

    def within(self, start_ns: int, end_ns: int) -> PowerCurve:
        """The samples from one moment to another, both included."""
        first, last = self.t_ns.searchsorted(start_ns), self.t_ns.searchsorted(end_ns, side="right")
        return PowerCurve(self.t_ns[first:last], self.watts[first:last])

    def seconds_from(self, start_ns: int) -> NDArray[np.float64]:
        """The stamps in seconds from a moment: nanoseconds since boot as floats would lose digits."""
        return (self.t_ns - np.int64(start_ns)) / 1e9


NO_SAMPLES = PowerCurve(np.empty(0, np.int64), np.empty(0, np.float64))


def power_curve(t_ns: NDArray[np.int64], watts: NDArray[np.float64]) -> PowerCurve:
    """Samples in any order as a curve: of equal stamps the first counts, what is not finite is left out."""
    finite = np.isfinite(watts)
    if not finite.all():
        t_ns, watts = t_ns[finite], watts[finite]
    if not (t_ns[1:] > t_ns[:-1]).all():
        t_ns, first = np.unique(t_ns, return_index=True)
        watts = watts[first]
    return PowerCurve(t_ns, watts)


class Integral:
    """The energy of a curve from its first sample up to any moment.

    Args:
        curve: at least one sample.

    Attributes:
        at_s: float64 [n], each sample's seconds since the first.
        joules: float64 [n], up to each sample.
    """

    def __init__(self, curve: PowerCurve) -> None:
        self._origin_ns = int(curve.t_ns[0])
        self._watts = curve.watts
        self.at_s = curve.seconds_from(self._origin_ns)
        self.joules = np.zeros(len(curve.watts))
        for first in range(0, len(curve.watts) - 1, BLOCK):
            last = min(first + BLOCK, len(curve.watts) - 1)
            pieces_j = self.at_s[first + 1 : last + 1] - self.at_s[first:last]
            pieces_j *= 0.5 * (self._watts[first:last] + self._watts[first + 1 : last + 1])
            pieces_j[0] += self.joules[first]
            np.cumsum(pieces_j, out=self.joules[first + 1 : last + 1])

    def energies_j(self, spans_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Energy in J, float64 [n], within each span int64 [n, 2] of start and end."""
        edges_s = (spans_ns - np.int64(self._origin_ns)) / 1e9
        return self.until(edges_s[:, 1]) - self.until(edges_s[:, 0])

    def until(self, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Energy in J from the first sample up to moments in s from it; below 0 before it."""
        joules = np.empty(len(at_s))
        for first in range(0, len(at_s), BLOCK):
            moments_s = at_s[first : first + BLOCK]
            before = np.maximum(self.at_s.searchsorted(moments_s, side="right") - 1, 0)
            after = np.minimum(before + 1, len(self._watts) - 1)
            past_s, step_s = moments_s - self.at_s[before], self.at_s[after] - self.at_s[before]
            # Level before the first sample, and from the last one on, which is its own next.
            share = np.clip(past_s / np.where(step_s > 0, step_s, 1.0), 0.0, 1.0)
            rise_w = self._watts[after] - self._watts[before]
            mean_w = self._watts[before] + 0.5 * share * rise_w
            joules[first : first + BLOCK] = self.joules[before] + past_s * mean_w
        return joules


def highest_mean_w(curve: PowerCurve, averaging_s: float) -> tuple[float, int]:
    """The highest mean over any stretch of `averaging_s` of a curve: in W, and where it begins, in ns.

    Exact for the curve. As a stretch moves on its energy changes by the power at its end less that at its
    beginning, which is a straight line between two moments at which it begins or ends at a sample. Its energy
    is greatest at such a moment, or between two of them where that line falls through 0.

    The stretch is no longer than the time from the first sample to the last.
    """
    at_s, watts = curve.seconds_from(int(curve.t_ns[0])), curve.watts
    last_s = at_s[-1] - averaging_s
    ends = int(at_s.searchsorted(averaging_s))
    edges_s = np.concatenate((at_s[: at_s.searchsorted(last_s)], at_s[ends:] - averaging_s))
    edges_s.sort(kind="stable")  # two rows in order, which takes no longer than to merge them
    first_w = np.concatenate((watts[:ends], [np.interp(averaging_s, at_s, watts)]))
    energy_j = highest_j = float(np.trapezoid(first_w, np.concatenate((at_s[:ends], [averaging_s]))))
    begin_s = 0.0
    for first in range(0, len(edges_s) - 1, BLOCK):
        begins_s = edges_s[first : first + BLOCK + 1]
        excess_w = np.interp(begins_s + averaging_s, at_s, watts) - np.interp(begins_s, at_s, watts)
        now_w, next_w, steps_s = excess_w[:-1], excess_w[1:], np.diff(begins_s)
        energies_j = energy_j + np.cumsum(0.5 * (now_w + next_w) * steps_s)  # at the end of each step
        [turns] = np.nonzero((now_w > 0) & (next_w < 0))
        turn_s = steps_s[turns] * now_w[turns] / (now_w[turns] - next_w[turns])
        turned_j = energies_j[turns] - 0.5 * next_w[turns] * (steps_s[turns] - turn_s)
        for joules, moments_s in ((energies_j, begins_s[1:]), (turned_j, begins_s[turns] + turn_s)):
            if joules.size and joules.max() > highest_j:
                highest_j, begin_s = float(joules.max()), float(moments_s[joules.argmax()])
        energy_j = energies_j[-1]
    return highest_j / averaging_s, int(curve.t_ns[0]) + round(begin_s * 1e9)


def highest_touched_mean_w(curve: PowerCurve, averaging_s: float) -> float:
    """Upper bound in W of the mean over any stretch of `averaging_s`, of readings that are means.

    Each is the mean since the one before. All that was drawn in those that a stretch cuts may be within it:
    they count whole.
    """
    at_s = curve.seconds_from(int(curve.t_ns[0]))
    joules = np.concatenate(([0.0], np.cumsum(curve.watts[1:] * np.diff(at_s))))
    # A stretch that begins just before the end of a reading touches the most of those behind it.
    ends = np.ceil(np.interp(at_s + averaging_s, at_s, np.arange(at_s.size, dtype=np.float64)) - ROUNDING)
    touched_j = joules[ends.astype(np.int64)] - np.concatenate((joules[:1], joules[:-1]))
    return float(touched_j.max()) / averaging_s
