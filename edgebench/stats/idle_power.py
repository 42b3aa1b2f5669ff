"""Power of the idle device, by the windows before a session's work and after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.intervals import CONFIDENCE
from edgebench.stats.power import WindowPower, passes_power, readings_within
from edgebench.stats.power_curve import PowerCurve, power_curve
from edgebench.stats.power_spread import mean_margin

ROUNDING = 1e-6
"""As a share of idle power: sums of equal readings differ by less."""


@dataclass(frozen=True)
class IdleDrift:
    """How idle power after the work differs from that before it.

    Attributes:
        drift_w: that after less that before, in W.
        half_width_w: by how much it may be too large by the samples' own spread; None where not known.
    """

    drift_w: float
    half_width_w: float | None

    @property
    def unexplained(self) -> bool:
        """Whether it is more than the samples' own spread."""
        return self.half_width_w is not None and abs(self.drift_w) > self.half_width_w


def idle_window(
    t_ns: NDArray[np.int64],
    watts: NDArray[np.float64],
    window_ns: tuple[int, int],
    averaging_s: float | None = None,
) -> WindowPower:
    """Power within an idle window, at whose edges the load steps: of its own readings alone.

    Args:
        t_ns: stamps int64 [n], as of `stats.power.window_power`.
        watts: float64 [n] in W, likewise.
        window_ns: its start and end.
        averaging_s: what a reading is a mean over, as of `stats.power.passes_power`.
    """
    span_ns = np.array([window_ns], np.int64)
    window = passes_power(t_ns, watts, span_ns, averaging_s)
    return replace(window, curve=readings_within(power_curve(t_ns, watts), span_ns, averaging_s))


def idle_power(windows: Sequence[WindowPower]) -> WindowPower | None:
    """The idle windows of a session, in time order, as one; None without any.

    Of those that were sampled the mean is weighted with their lengths; its margin is that of all their
    readings in a row, so that a drift from one window to the next counts. Where none was sampled it is the
    first, with its reason.
    """
    sampled = [window for window in windows if window.mean_w is not None]
    if len(sampled) < 2:
        return next(iter([*sampled, *windows]), None)
    window_s = math.fsum(window.window_s for window in sampled)
    energy_j = math.fsum((window.mean_w or 0.0) * window.window_s for window in sampled)
    curve = PowerCurve(
        np.concatenate([window.curve.t_ns for window in sampled]),
        np.concatenate([window.curve.watts for window in sampled]),
    )
    return WindowPower(
        mean_w=energy_j / window_s,
        peak_w=max(window.peak_w or 0.0 for window in sampled),
        window_s=window_s,
        samples=sum(window.samples for window in sampled),
        periods=math.fsum(window.periods for window in sampled),
        mean_margin_w=mean_margin(curve.watts),
        curve=curve,
    )


def idle_drift(
    before: WindowPower | None, after: WindowPower | None, confidence: float = CONFIDENCE
) -> IdleDrift | None:
    """How the idle windows of a session differ; None where one of them was not sampled.

    Args:
        before: the window before the work.
        after: that after it.
        confidence: of the drift's half-width, two-sided.
    """
    if before is None or after is None or before.mean_w is None or after.mean_w is None:
        return None
    drift_w = after.mean_w - before.mean_w
    margin, other = (mean_margin(window.curve.watts, confidence) for window in (after, before))
    if margin is None or other is None:
        return IdleDrift(drift_w, None)
    margin = margin.without(other)
    rounding_w = ROUNDING * max(abs(before.mean_w), abs(after.mean_w))
    return IdleDrift(drift_w, math.hypot(margin.below if drift_w > 0 else margin.above, rounding_w))
