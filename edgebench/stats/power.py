"""Power and energy over a window of a meter's samples.

The trapezoid rule on the true time stamps. Over one window it interpolates at both edges; a sample from
outside only serves to interpolate its edge and never stands for it. Over passes, at whose edges the load
steps, only readings that lie within a pass count, with all the time that each is a mean over; what lies
between two passes is left out, and the curve is bridged there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.power_curve import Integral, PowerCurve, power_curve
from edgebench.stats.power_spread import Margin, mean_margin

MIN_PERIODS = 100
"""Sample periods that a window needs for energy."""

EDGE_PERIODS = 2.0
"""How far, in sample periods, the samples may stop short of the window's edge."""

GAP_PERIODS = 10.0
GAP_SHARE = 0.05
"""A hole in the samples is too long above both this many periods and this share of the window."""

EDGE_SHARE = 0.02
"""A reading within this share of a period from a pass's edge may be of its other side: no stamp is exact."""

PASS_READINGS = 2
"""A pass has to be as long as so many readings mean, for one of them to lie within it wherever they fall."""

NEARLY = 0.9
"""From this share of it on a period, or a rate, counts as kept: no meter keeps its rate exactly."""

NO_SAMPLES = PowerCurve(np.empty(0, np.int64), np.empty(0, np.float64))


@dataclass(frozen=True)
class WindowPower:
    """What a meter says about one window; mean and peak in W are None with the reason.

    Attributes:
        window_s: the time that the mean is over: the window's length, or that of the passes in it.
        samples: samples that lie within the window.
        periods: `window_s` in sample periods, as the samples really came.
        effective_hz: how many samples a second came within the window; None below two.
        longest_gap_s: the longest time within the window without one, up to its edges; None without any.
        mean_margin_w: by how much the mean may be off by the samples' own spread; None where unknown.
        note: what a reader of the mean should know: that pauses between the passes are in it.
        curve: the samples that lie within the window.
    """

    mean_w: float | None
    peak_w: float | None
    window_s: float
    samples: int
    periods: float
    reason: str = ""
    effective_hz: float | None = None
    longest_gap_s: float | None = None
    mean_margin_w: Margin | None = None
    note: str = ""
    curve: PowerCurve = field(default=NO_SAMPLES, repr=False, compare=False)


def window_power(
    t_ns: NDArray[np.int64], watts: NDArray[np.float64], start_ns: int, end_ns: int
) -> WindowPower:
    """Mean and peak power over [start_ns, end_ns].

    Args:
        t_ns: stamps int64 [n], in any order; of equal stamps the first counts.
        watts: float64 [n] in W; samples that are not finite are left out.
        start_ns: the window's start, on the stamps' clock.
        end_ns: its end.
    """
    return _window_power(power_curve(t_ns, watts), start_ns, end_ns)


def passes_power(
    t_ns: NDArray[np.int64],
    watts: NDArray[np.float64],
    passes_ns: NDArray[np.int64],
    averaging_s: float | None = None,
) -> WindowPower:
    """Mean power within passes, without what lies between them, and peak power from the first to the last.

    A reading counts where the time that it is a mean over lies within one pass. Where passes are shorter
    than PASS_READINGS such times no meter of that kind tells them from the pauses: the mean is then that over
    the whole window, the pauses included, as `note` says.

    Args:
        t_ns: stamps int64 [n], as of `window_power`.
        watts: float64 [n] in W, likewise.
        passes_ns: int64 [n, 2], start and end of each, in order and apart; at least one.
        averaging_s: the time before its stamp that a reading is a mean over; None for that since the reading
            before, which is what a counter gives and the most that a reading without a gap can mean.
    """
    curve = power_curve(t_ns, watts)
    start_ns, end_ns = int(passes_ns[0, 0]), int(passes_ns[-1, 1])
    window = _window_power(curve, start_ns, end_ns)
    if window.mean_w is None or window.effective_hz is None:
        return window
    lengths_s = (passes_ns[:, 1] - passes_ns[:, 0]) / 1e9
    passes_s = float(lengths_s.sum())
    reading_s = 1 / window.effective_hz if averaging_s is None else averaging_s
    edge_ns = round(EDGE_SHARE / window.effective_hz * 1e9) if len(passes_ns) > 1 else 0
    chosen = readings_within(curve, passes_ns + np.array([edge_ns, -edge_ns]), averaging_s)
    pass_s = float(np.median(lengths_s))
    if len(passes_ns) > 1 and (pass_s < PASS_READINGS * reading_s or len(chosen.watts) < 2):
        return replace(
            window,
            note=f"passes of {pass_s:.3g} s are too short for readings over {reading_s:.3g} s: mean and "
            f"energy hold the pauses between them, {1 - passes_s / window.window_s:.1%} of the time",
        )
    if len(chosen.watts) < 2:
        return window
    return replace(
        window,
        mean_w=float(Integral(chosen).energies_j(passes_ns).sum()) / passes_s,
        window_s=passes_s,
        periods=passes_s * window.effective_hz,
        mean_margin_w=mean_margin(
            chosen.watts, missing=_missing(window.curve) * len(chosen.watts) / window.samples
        ),
    )


def _window_power(curve: PowerCurve, start_ns: int, end_ns: int) -> WindowPower:
    window_s = (end_ns - start_ns) / 1e9
    if window_s <= 0:
        return WindowPower(None, None, max(window_s, 0.0), 0, 0.0, "the window has no length")
    inside = curve.within(start_ns, end_ns)
    samples = len(inside.watts)
    at_s = inside.seconds_from(start_ns)
    gap_s = float(np.diff(np.concatenate(([0.0], at_s, [window_s]))).max())
    if samples < 2:
        reason = f"{samples} samples lie in the window"
        return WindowPower(
            None, None, window_s, samples, 0.0, reason, longest_gap_s=gap_s if samples else None
        )
    effective_hz = (samples - 1) / float(at_s[-1] - at_s[0])
    window = WindowPower(
        None,
        float(inside.watts.max()),
        window_s,
        samples,
        window_s * effective_hz,
        _coverage_reason(curve, at_s, start_ns, end_ns, 1 / effective_hz),
        effective_hz,
        gap_s,
        curve=inside,
    )
    if window.reason:
        return window
    start, end = max(start_ns, int(curve.t_ns[0])), min(end_ns, int(curve.t_ns[-1]))
    [energy_j] = Integral(_with_neighbours(curve, start_ns, end_ns)).energies_j(np.array([[start, end]]))
    mean_w = float(energy_j) / ((end - start) / 1e9)
    return replace(window, mean_w=mean_w, mean_margin_w=mean_margin(inside.watts, missing=_missing(inside)))


def _missing(curve: PowerCurve) -> float:
    """How many samples did not come between the first and the last, by the usual time between two."""
    steps_ns = np.diff(curve.t_ns)
    return float(np.maximum(np.rint(steps_ns / np.median(steps_ns)) - 1, 0).sum())


def covers_its_period(averaging_s: float | None, effective_hz: float) -> bool:
    """Whether readings are means over (nearly) all the time from one to the next."""
    return averaging_s is not None and averaging_s * effective_hz >= NEARLY


def _with_neighbours(curve: PowerCurve, start_ns: int, end_ns: int) -> PowerCurve:
    """The samples of a window, and beyond each of its edges the one that the edge is interpolated with."""
    first = max(0, int(curve.t_ns.searchsorted(start_ns)) - 1)
    last = int(curve.t_ns.searchsorted(end_ns, side="right")) + 1
    return PowerCurve(curve.t_ns[first:last], curve.watts[first:last])


def _coverage_reason(
    curve: PowerCurve, at_s: NDArray[np.float64], start_ns: int, end_ns: int, period_s: float
) -> str:
    missing_s = max(int(curve.t_ns[0]) - start_ns, end_ns - int(curve.t_ns[-1])) / 1e9
    if missing_s > EDGE_PERIODS * period_s:
        return f"the samples stop {missing_s:.3g} s short of the window's edge"
    window_s = (end_ns - start_ns) / 1e9
    around = _with_neighbours(curve, start_ns, end_ns)
    return hole_reason(float(np.diff(around.t_ns).max()) / 1e9, period_s, window_s)


def hole_reason(gap_s: float, period_s: float, window_s: float) -> str:
    """That the longest time without a sample is too long for a mean over the window; "" where it is not."""
    if gap_s > max(GAP_PERIODS * period_s, GAP_SHARE * window_s):
        return f"the samples have a hole of {gap_s:.3g} s in a window of {window_s:.3g} s"
    return ""


def readings_within(curve: PowerCurve, passes_ns: NDArray[np.int64], averaging_s: float | None) -> PowerCurve:
    """The readings whose whole averaging time lies within one pass."""
    lead_ns = 0 if averaging_s is None else round(averaging_s * 1e9)
    firsts = curve.t_ns.searchsorted(passes_ns[:, 0] + lead_ns)
    if averaging_s is None:
        firsts = firsts + 1  # of the first reading in a pass, the one before lies outside
    lasts = curve.t_ns.searchsorted(passes_ns[:, 1], side="right")
    pieces = [slice(first, last) for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    if len(pieces) == 1:
        return PowerCurve(curve.t_ns[pieces[0]], curve.watts[pieces[0]])
    return PowerCurve(
        np.concatenate([curve.t_ns[piece] for piece in pieces]),
        np.concatenate([curve.watts[piece] for piece in pieces]),
    )


def short_window_reason(periods: float, figure: str) -> str:
    """That a window holds too few sample periods for a figure of it; "" where it holds enough."""
    if periods < MIN_PERIODS:
        return f"window too short: {periods:.0f} sample periods, {figure} takes {MIN_PERIODS}"
    return ""


@dataclass(frozen=True)
class ImageEnergy:
    """Energy of an image in J, gross and net of idle, each with its margin by the samples' spread.

    None where it is not known, with the reason.
    """

    gross_j: float | None = None
    net_j: float | None = None
    reason: str = ""
    gross_margin_j: Margin | None = None
    net_margin_j: Margin | None = None


def energy_per_image(window: WindowPower, images: float, idle: WindowPower | None) -> ImageEnergy:
    """Energy of an image by the mean power of a window and of the idle one, where there is one.

    (mean power x window - idle power x window) / images, over at least MIN_PERIODS sample periods.
    """
    if window.mean_w is None:
        return ImageEnergy(reason=window.reason)
    if images <= 0:
        return ImageEnergy(reason="no image lies in the window")
    if short := short_window_reason(window.periods, "energy"):
        return ImageEnergy(reason=short)
    image_s = window.window_s / images
    margin_w = window.mean_margin_w
    gross = ImageEnergy(
        window.mean_w * image_s, gross_margin_j=None if margin_w is None else margin_w.scaled(image_s)
    )
    if idle is None:
        return replace(gross, reason="no idle window was sampled")
    if idle.mean_w is None:
        return replace(gross, reason=f"of the idle window: {idle.reason}")
    idle_margin_w = idle.mean_margin_w
    return replace(
        gross,
        net_j=(window.mean_w - idle.mean_w) * image_s,
        net_margin_j=None
        if margin_w is None or idle_margin_w is None
        else margin_w.without(idle_margin_w).scaled(image_s),
    )
