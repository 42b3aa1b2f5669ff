"""Mean, energy, peak and gaps of power whose samples come piece by piece: none of them is kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.power import WindowPower, hole_reason
from edgebench.stats.power_curve import power_curve


class PowerTotals:
    """What `stats.power.window_power` says from the first sample to the last."""

    def __init__(self) -> None:
        self._first_ns = 0
        self._last_ns = 0
        self._last_w = 0.0
        self._samples = 0
        self._energy_j = 0.0
        self._peak_w = -np.inf
        self._longest_gap_s = 0.0

    def add(self, t_ns: NDArray[np.int64], watts: NDArray[np.float64]) -> None:
        """Take in a piece.

        Args:
            t_ns: stamps int64 [n], in any order; one not later than all pieces before is left out.
            watts: float64 [n] in W; what is not finite is left out.
        """
        curve = power_curve(t_ns, watts)
        stamps_ns, power_w = curve.t_ns, curve.watts
        if self._samples:
            new = int(stamps_ns.searchsorted(self._last_ns, side="right"))
            stamps_ns = np.append(np.int64(self._last_ns), stamps_ns[new:])
            power_w = np.append(self._last_w, power_w[new:])
        if len(stamps_ns) <= bool(self._samples):
            return
        steps_s = np.diff(stamps_ns) / 1e9
        self._energy_j += float(np.dot(steps_s, power_w[1:] + power_w[:-1])) / 2
        self._longest_gap_s = max(self._longest_gap_s, float(steps_s.max(initial=0.0)))
        if not self._samples:
            self._first_ns = int(stamps_ns[0])
            self._samples = 1
        self._samples += len(steps_s)
        self._peak_w = max(self._peak_w, float(power_w.max()))
        self._last_ns, self._last_w = int(stamps_ns[-1]), float(power_w[-1])

    def window(self) -> WindowPower:
        """From the first sample to the last; no mean below two, or with a hole, with the reason."""
        window_s = (self._last_ns - self._first_ns) / 1e9
        if self._samples < 2:
            return WindowPower(None, None, window_s, self._samples, 0.0, f"{self._samples} samples")
        effective_hz = (self._samples - 1) / window_s
        reason = hole_reason(self._longest_gap_s, 1 / effective_hz, window_s)
        return WindowPower(
            None if reason else self._energy_j / window_s,
            self._peak_w,
            window_s,
            self._samples,
            window_s * effective_hz,
            reason,
            effective_hz,
            self._longest_gap_s,
        )
