"""A device's load over time as a pattern of bursts, and a meter's readings as a regression on it.

A reading is the mean over a time before its stamp, and its stamp may be late; power follows the load
linearly, on a level that drifts linearly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SHORTEST_S = 1e-6
"""A moment, as the time that a reading is a mean over."""

MOST_RESEMBLANCE = 0.99


class LoadPattern:
    """The load in bursts and in the pauses before them: 1 within a burst, else 0.

    Args:
        bursts_s: float64 [n, 2], start and end of each in s, in order.
        from_s: since when nothing ran before the first.

    Attributes:
        from_s, to_s: from the first pause's start to the last burst's end; the load is known between them.
        burst_s: what a burst lasts.
    """

    def __init__(self, bursts_s: NDArray[np.float64], from_s: float) -> None:
        lengths_s = bursts_s[:, 1] - bursts_s[:, 0]
        self.from_s, self.to_s = from_s, float(bursts_s[-1, 1])
        self.burst_s = float(np.median(lengths_s))
        self._edges_s = np.concatenate(([from_s], bursts_s.ravel()))
        self._loaded_s = np.zeros(len(self._edges_s))
        self._loaded_s[2::2] = np.cumsum(lengths_s)
        self._loaded_s[3::2] = self._loaded_s[2:-1:2]

    def mean(self, end_s: NDArray[np.float64], over_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean load over each time `over_s` [n] that ends at `end_s` [..., n]."""
        start_s = end_s - over_s
        loaded_s = np.interp(end_s, self._edges_s, self._loaded_s)
        loaded_s -= np.interp(start_s, self._edges_s, self._loaded_s)
        return np.asarray(loaded_s / over_s)


class Readings:
    """A meter's readings in order of time, float64 [n] each.

    Attributes:
        t_s: their stamps.
        watts: what they say.
        over_s: the time before its stamp that each is a mean over.
    """

    def __init__(
        self, t_s: NDArray[np.float64], watts: NDArray[np.float64], over_s: NDArray[np.float64]
    ) -> None:
        self.t_s, self.watts, self.over_s = t_s, watts, np.maximum(over_s, SHORTEST_S)

    def averaged(self, most: int) -> Readings:
        """At most so many: each the mean of neighbours where there are more."""
        group = -(-len(self.t_s) // most)
        if group <= 1:
            return self
        whole = len(self.t_s) // group * group
        t_s, watts = self.t_s[:whole].reshape(-1, group), self.watts[:whole].reshape(-1, group)
        over_s = self.over_s[:whole:group] + t_s[:, -1] - t_s[:, 0]
        return Readings(t_s[:, -1], watts.mean(axis=1), over_s)

    def within(self, pattern: LoadPattern, least_s: float, most_s: float) -> Readings:
        """Those that are of known load alone, whichever lag from the least to the most is theirs."""
        known = (self.t_s - self.over_s - most_s >= pattern.from_s) & (self.t_s - least_s <= pattern.to_s)
        return Readings(self.t_s[known], self.watts[known], self.over_s[known])


class LoadRegression:
    """Readings on load, what a level and its drift explain taken out of both.

    Args:
        readings: at least three.
    """

    def __init__(self, readings: Readings, pattern: LoadPattern) -> None:
        self._readings, self._pattern = readings, pattern
        t_s = readings.t_s - readings.t_s.mean()
        self._drift, _ = np.linalg.qr(np.stack([np.ones(len(t_s)), t_s], axis=1))
        self._watts = self._without_drift(readings.watts)
        self.squares = float(self._watts @ self._watts)

    def correlations(self, lags_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of readings and load at each lag; 0 where one of them is level."""
        expected = self._expected(lags_s)
        sizes = np.sqrt(np.square(expected).sum(axis=1) * self.squares)
        products = expected @ self._watts
        return np.asarray(np.divide(products, sizes, out=np.zeros(len(lags_s)), where=sizes > 0))

    def unexplained(self, lags_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The squares that each lag leaves, W2: all of them where power falls as the load rises."""
        return np.asarray(self.squares * (1 - np.maximum(self.correlations(lags_s), 0.0) ** 2))

    def independent_readings(self, lag_s: float) -> float:
        """As many as the residuals at a lag are worth, whose neighbours may resemble each other."""
        [expected] = self._expected(np.array([lag_s]))
        residuals = self._watts - float(expected @ self._watts) / float(expected @ expected) * expected
        squares = float(residuals @ residuals)
        resemblance = float(residuals[1:] @ residuals[:-1]) / squares if squares > 0 else 0.0
        resemblance = min(max(resemblance, 0.0), MOST_RESEMBLANCE)
        return len(residuals) * (1 - resemblance) / (1 + resemblance)

    def _expected(self, lags_s: NDArray[np.float64]) -> NDArray[np.float64]:
        readings = self._readings
        return self._without_drift(self._pattern.mean(readings.t_s - lags_s[:, None], readings.over_s))

    def _without_drift(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(values - (values @ self._drift) @ self._drift.T)
