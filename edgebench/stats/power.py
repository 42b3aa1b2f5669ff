"""Power and energy over a window of a meter's samples.

The trapezoid rule on the true time stamps, with interpolation at both edges; a sample from outside the
window only serves to interpolate its edge and never stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_PERIODS = 100
"""Sample periods that a window needs for energy."""

EDGE_PERIODS = 2.0
"""How far, in sample periods, the samples may stop short of the window's edge."""

GAP_PERIODS = 10.0
GAP_SHARE = 0.05
"""A hole in the samples is too long above both this many periods and this share of the window."""


@dataclass(frozen=True)
class WindowPower:
    """What a meter says about one window; mean and peak in W are None with the reason.

    Attributes:
        window_s: the window's length.
        samples: samples that lie within the window.
        periods: the window in sample periods, as the samples really came.
    """

    mean_w: float | None
    peak_w: float | None
    window_s: float
    samples: int
    periods: float
    reason: str = ""


def window_power(
    t_ns: NDArray[np.int64], watts: NDArray[np.float64], start_ns: int, end_ns: int, rate_hz: float = 0.0
) -> WindowPower:
    """Mean and peak power over [start_ns, end_ns].

    Args:
        t_ns: stamps int64 [n], in any order; of equal stamps the first counts.
        watts: float64 [n] in W; samples that are not finite are left out.
        start_ns: the window's start, on the stamps' clock.
        end_ns: its end.
        rate_hz: the meter's nominal rate; 0 where it is not known.
    """
    stamps, first = np.unique(t_ns[np.isfinite(watts)], return_index=True)
    values = watts[np.isfinite(watts)][first]
    window_s = (end_ns - start_ns) / 1e9
    if window_s <= 0:
        return WindowPower(None, None, max(window_s, 0.0), 0, 0.0, "the window has no length")
    # Seconds from the window's start keep every digit; nanoseconds since boot as floats would not.
    at_s = (stamps - np.int64(start_ns)).astype(np.float64) / 1e9
    within = (at_s >= 0) & (at_s <= window_s)
    samples = int(within.sum())
    if samples < 2:
        return WindowPower(None, None, window_s, samples, 0.0, f"{samples} samples lie in the window")
    spacing = float(np.median(np.diff(at_s[within])))
    period = max(spacing, 1.0 / rate_hz if rate_hz > 0 else 0.0)
    periods = window_s / period
    peak_w = float(values[within].max())
    reason = _coverage_reason(at_s, window_s, period)
    if reason:
        return WindowPower(None, peak_w, window_s, samples, periods, reason)
    start, end = max(0.0, float(at_s[0])), min(window_s, float(at_s[-1]))
    inside = (at_s > start) & (at_s < end)
    edges = np.interp([start, end], at_s, values)
    grid = np.concatenate(([start], at_s[inside], [end]))
    curve = np.concatenate((edges[:1], values[inside], edges[1:]))
    mean_w = float(np.trapezoid(curve, grid)) / (end - start)
    return WindowPower(mean_w, peak_w, window_s, samples, periods)


def _coverage_reason(at_s: NDArray[np.float64], window_s: float, period: float) -> str:
    missing = max(float(at_s[0]), window_s - float(at_s[-1]))
    if missing > EDGE_PERIODS * period:
        return f"the samples stop {missing:.3g} s short of the window's edge"
    bracket = (at_s[:-1] < window_s) & (at_s[1:] > 0)
    gap = float(np.diff(at_s)[bracket].max())
    if gap > max(GAP_PERIODS * period, GAP_SHARE * window_s):
        return f"the samples have a hole of {gap:.3g} s in a window of {window_s:.3g} s"
    return ""


def energy_per_image(
    window: WindowPower, images: float, idle_w: float | None
) -> tuple[float | None, float | None, str]:
    """Energy of an image in J, gross and net of idle, with the reason where one of them is None.

    (mean power x window - idle power x window) / images, over at least MIN_PERIODS sample periods.
    """
    if window.mean_w is None:
        return None, None, window.reason
    if images <= 0:
        return None, None, "no image lies in the window"
    if window.periods < MIN_PERIODS:
        reason = f"window too short: {window.periods:.0f} sample periods, energy takes {MIN_PERIODS}"
        return None, None, reason
    gross = window.mean_w * window.window_s / images
    if idle_w is None:
        return gross, None, "no idle window was sampled"
    return gross, gross - idle_w * window.window_s / images, ""
