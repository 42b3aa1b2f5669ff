"""Power as a meter's samples draw it over time, and its energy within spans of it.

Between two samples power is a straight line, and beyond the first and the last it stays level; energy is the
integral of that, which within the samples is the trapezoid rule on their true time stamps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 15
"""Samples that are summed up at a time: what lies between them stays in the processor's cache."""


@dataclass(frozen=True, eq=False)
class PowerCurve:
    """Samples of power: stamps int64 [n] in ns that rise, and float64 [n] in W, all finite.

    `around` are those that may be of the same time where nobody knows how late the stamps are; None where it
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
        joules: float64 [n], up to each sample.
    """

    def __init__(self, curve: PowerCurve) -> None:
        self._origin_ns = int(curve.t_ns[0])
        self._t_ns, self._watts = curve.t_ns, curve.watts
        self.joules, self._slopes = np.zeros((2, len(curve.watts)))  # in W/s; none after the last sample
        for first in range(0, len(curve.watts) - 1, BLOCK):
            last = min(first + BLOCK, len(curve.watts) - 1)
            steps_ns = self._t_ns[first + 1 : last + 1] - self._t_ns[first:last]
            begin_w, end_w = self._watts[first:last], self._watts[first + 1 : last + 1]
            np.divide(end_w - begin_w, steps_ns / 1e9, out=self._slopes[first:last])
            pieces_j = steps_ns * 0.5e-9
            pieces_j *= begin_w + end_w
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
            before, after_s, slope = self._segments(at_s[first : first + BLOCK])
            within_j = after_s * (self._watts[before] + 0.5 * slope * after_s)
            joules[first : first + BLOCK] = self.joules[before] + within_j
        return joules

    def watts(self, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The curve's power at moments in s from its first sample."""
        before, after_s, slope = self._segments(at_s)
        return np.asarray(self._watts[before] + slope * after_s)

    def _segments(
        self, at_s: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """The sample before each moment, the seconds since then, and the slope in W/s; none outside."""
        at_ns = np.rint(at_s * 1e9).astype(np.int64) + self._origin_ns
        before = self._t_ns[1:].searchsorted(at_ns, side="right")
        after_s = at_s - (self._t_ns[before] - self._origin_ns) / 1e9
        slope = np.where(after_s < 0, 0.0, self._slopes[before])
        return before, after_s, slope


def highest_mean_w(curve: PowerCurve, averaging_s: float) -> tuple[float, int]:
    """The highest mean over any stretch of `averaging_s` of a curve: in W, and where it begins, in ns.

    Exact of the curve. Stretches that begin at a sample are tried first. A later beginning gains no more than
    the range of power times the time until the next sample, so that few times between samples are left: there
    the mean is greatest where the stretch ends at a sample, or where the power at its end, having been above
    that at its beginning, falls below it.

    The stretch is no longer than the time from the first sample to the last.
    """
    at_s = curve.seconds_from(int(curve.t_ns[0]))
    last_s = float(at_s[-1]) - averaging_s
    integral = Integral(curve)

    begins_s = at_s[: at_s.searchsorted(last_s) + 1].copy()
    begins_s[-1] = last_s
    until_j = integral.until(np.append(begins_s + averaging_s, last_s))
    joules = until_j[:-1] - np.append(
        integral.joules[: begins_s.size - 1], until_j[-1]
    )  # known until samples
    gains_j = np.zeros_like(joules)  # none after the last
    gains_j[:-1] = (begins_s[1:] - begins_s[:-1]) * float(curve.watts.max() - curve.watts.min())
    is_promising = joules + gains_j > joules.max()
    turns_s = _turns_s(integral, at_s, begins_s, is_promising, averaging_s)
    begins_s = np.concatenate((begins_s, turns_s))
    turned_j = integral.until(np.concatenate((turns_s + averaging_s, turns_s)))
    joules = np.concatenate((joules, turned_j[: turns_s.size] - turned_j[turns_s.size :]))
    best = int(joules.argmax())
    return float(joules[best]) / averaging_s, int(curve.t_ns[0]) + round(float(begins_s[best]) * 1e9)


def _turns_s(
    integral: Integral,
    at_s: NDArray[np.float64],
    begins_s: NDArray[np.float64],
    is_promising: NDArray[np.bool_],
    averaging_s: float,
) -> NDArray[np.float64]:
    """Where else the energy of a stretch may be greatest, after each of the promising beginnings."""
    # The last beginning is never promising.
    first_s, next_s = begins_s[is_promising], begins_s[1:][is_promising[:-1]]
    inside = np.zeros(len(at_s) + 1, np.int64)
    np.add.at(inside, at_s.searchsorted(first_s + averaging_s), 1)
    np.subtract.at(inside, at_s.searchsorted(next_s + averaging_s), 1)
    ending_s = at_s[np.cumsum(inside[:-1]) > 0] - averaging_s
    edges_s = np.sort(np.concatenate((first_s, next_s, ending_s)))
    watts = integral.watts(np.concatenate((edges_s + averaging_s, edges_s)))
    excess_w = watts[: edges_s.size] - watts[edges_s.size :]
    turns = np.flatnonzero((excess_w[:-1] > 0) & (excess_w[1:] < 0))
    share = excess_w[turns] / (excess_w[turns] - excess_w[turns + 1])
    return np.concatenate((edges_s, edges_s[turns] + share * (edges_s[turns + 1] - edges_s[turns])))


def highest_touched_mean_w(curve: PowerCurve, averaging_s: float) -> float:
    """What the highest mean over any stretch of `averaging_s` is at most, in W, of readings that are means.

    Each is the mean since the one before. Of those that a stretch cuts, all that was drawn may lie within it:
    they count whole.
    """
    at_s = curve.seconds_from(int(curve.t_ns[0]))
    joules = np.concatenate(([0.0], np.cumsum(curve.watts[1:] * np.diff(at_s))))
    # A stretch that begins just before the end of a reading touches the most of those behind it.
    ends = np.minimum(at_s.searchsorted(at_s + averaging_s), len(at_s) - 1)
    befores = np.maximum(np.arange(len(at_s)) - 1, 0)
    return float((joules[ends] - joules[befores]).max()) / averaging_s
