"""What a meter can say about a limit on a board's power.

A meter that covers less than the board (chip, module) sees part of what is drawn, and one of 100 Hz or
less misses short peaks: what it sees can fail a limit and never pass it. A requirement that states its
averaging time asks for less, and a slow meter can meet it; a narrow one still cannot. Nor can one whose
samples do not cover the steady window of every session: what it missed may be what broke the limit, and the
meter with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgebench.fit.figure import STATED, Certainty, Figure, over_sessions, speaks_for_all, too_few
from edgebench.fit.power_summary import WIDE_SCOPES
from edgebench.fit.trial_summary import PowerFigure, TrialSummary
from edgebench.stats.power import MIN_PERIODS

LOW_RATE_HZ = 100.0


def peak_figure(
    summary: TrialSummary, limit_w: float, averaging_s: float | None, certainty: Certainty = STATED
) -> Figure:
    """Peak power in W: the highest sample, or the highest mean over `averaging_s` as far as it is bounded."""

    def bound(power: PowerFigure) -> Figure:
        return _peak(power, certainty) if averaging_s is None else _averaged(power, averaging_s)

    return _decisive_figure(summary, [(power, bound(power)) for power in summary.power or ()], limit_w)


def mean_figure(
    summary: TrialSummary, limit_w: float, averaging_s: float | None, certainty: Certainty = STATED
) -> Figure:
    """Mean power in W over the steady windows, which last at least `averaging_s` where it is stated."""
    return _decisive_figure(
        summary, [(power, _mean(power, averaging_s, certainty)) for power in summary.power or ()], limit_w
    )


def energy_figure(summary: TrialSummary, limit_j: float, certainty: Certainty = STATED) -> Figure:
    """Energy of an image in J, gross."""
    return _decisive_figure(
        summary, [(power, _energy(power, certainty)) for power in summary.power or ()], limit_j
    )


def _decisive_figure(
    summary: TrialSummary, figures: Sequence[tuple[PowerFigure, Figure]], limit: float
) -> Figure:
    """Whichever meter misses the limit, however narrow; otherwise what the primary one says."""
    if not figures:
        return Figure(reason=summary.power_reason or "no meter was asked for")
    missing = [figure for _, figure in figures if figure.low is not None and figure.low > limit]
    if missing:
        return max(missing, key=lambda figure: figure.low or 0.0)
    return next((figure for power, figure in figures if power.primary), figures[0][1])


def _bounded(power: PowerFigure, figure: Figure, *objections: str, few: str = "") -> Figure:
    """The figure without its upper bound where something speaks against it; `few` is mended by sessions."""
    every = (_scope_objection(power), _cover_objection(power), *objections)
    lasting = [objection for objection in every if objection]
    reasons = [*lasting, few] if few else lasting
    high = None if reasons else figure.high
    reason = "; ".join([*reasons, *([figure.reason] if figure.reason else [])])
    return replace(
        figure,
        high=high,
        ceiling=figure.high if lasting and not few else None,
        reason=reason,
        what=f"{figure.what} of {_name(power)}",
    )


def _peak(power: PowerFigure, certainty: Certainty) -> Figure:
    if power.peak_w is None:
        return Figure(reason=_missing_reason(power))
    figure = Figure(power.peak_w, power.peak_w, power.peak_w, what="the highest sample")
    few = too_few(power.samples, "samples") if power.samples < speaks_for_all(certainty) else ""
    return _bounded(power, figure, _rate_objection(power), few=few)


def _averaged(power: PowerFigure, averaging_s: float) -> Figure:
    if not power.mean_w_sessions or power.peak_w is None:
        return Figure(reason=_missing_reason(power))
    if short := _window_objection(power, averaging_s):
        return Figure(undecided=True, reason=short, lasting=True)
    # A window of x averaging times is covered by at most x + 1 of them, one of which therefore has at
    # least x / (x + 1) of the window's mean; none has more than the highest sample.
    stretches = (power.window_s or 0.0) / averaging_s
    mean_w = max(power.mean_w_sessions)
    figure = Figure(
        mean_w,
        mean_w * stretches / (stretches + 1),
        max(power.peak_w, mean_w),
        what="the averaged power",
        lasting=True,
    )
    periods = power.rate_hz * averaging_s
    few = f"{averaging_s:g} s are {periods:.0f} sample periods, and it takes {MIN_PERIODS}"
    return _bounded(power, figure, few if periods < MIN_PERIODS else "")


def _mean(power: PowerFigure, averaging_s: float | None, certainty: Certainty) -> Figure:
    if not power.mean_w_sessions:
        return Figure(reason=_missing_reason(power))
    figure = over_sessions([[value] for value in power.mean_w_sessions], certainty)
    periods = power.rate_hz * (power.window_s or 0.0)
    few = f"window too short: {periods:.0f} sample periods, and it takes {MIN_PERIODS}"
    short = _window_objection(power, averaging_s) if averaging_s is not None else ""
    return _bounded(power, figure, few if periods < MIN_PERIODS else "", short)


def _energy(power: PowerFigure, certainty: Certainty) -> Figure:
    if not power.energy_j_sessions:
        return Figure(reason=_missing_reason(power))
    return _bounded(power, over_sessions([[value] for value in power.energy_j_sessions], certainty))


def _scope_objection(power: PowerFigure) -> str:
    if power.scope in WIDE_SCOPES:
        return ""
    return (
        f"{_name(power)} covers the {power.scope or 'unknown part'} only: "
        "it can fail this limit, never pass it"
    )


def _cover_objection(power: PowerFigure) -> str:
    return (
        f"{_name(power)} did not see the whole steady window of {power.uncovered}" if power.uncovered else ""
    )


def _rate_objection(power: PowerFigure) -> str:
    if power.rate_hz > LOW_RATE_HZ:
        return ""
    return f"at {power.rate_hz:g} Hz the highest sample is a lower bound of the peak"


def _window_objection(power: PowerFigure, averaging_s: float) -> str:
    if power.window_s is not None and power.window_s >= averaging_s:
        return ""
    window_s = power.window_s or 0.0
    return f"the averaging time of {averaging_s:g} s is longer than the steady window of {window_s:.3g} s"


def _name(power: PowerFigure) -> str:
    return f"{power.meter.removesuffix(':')} ({power.channel})"


def _missing_reason(power: PowerFigure) -> str:
    return f"{_name(power)}: {power.reason or 'it gave nothing'}"
