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

    def bound(one: PowerFigure) -> Figure:
        return _peak(one, certainty) if averaging_s is None else _averaged(one, averaging_s)

    return _judged(summary, [(one, bound(one)) for one in summary.power or ()], limit_w)


def mean_figure(
    summary: TrialSummary, limit_w: float, averaging_s: float | None, certainty: Certainty = STATED
) -> Figure:
    """Mean power in W over the steady windows, which last at least `averaging_s` where it is stated."""
    return _judged(
        summary, [(one, _mean(one, averaging_s, certainty)) for one in summary.power or ()], limit_w
    )


def energy_figure(summary: TrialSummary, limit_j: float, certainty: Certainty = STATED) -> Figure:
    """Energy of an image in J, gross."""
    return _judged(summary, [(one, _energy(one, certainty)) for one in summary.power or ()], limit_j)


def _judged(summary: TrialSummary, found: Sequence[tuple[PowerFigure, Figure]], limit: float) -> Figure:
    """Whichever meter misses the limit, however narrow; otherwise what the primary one says."""
    if not found:
        return Figure(reason=summary.power_reason or "no meter was asked for")
    missing = [figure for _, figure in found if figure.low is not None and figure.low > limit]
    if missing:
        return max(missing, key=lambda figure: figure.low or 0.0)
    return next((figure for one, figure in found if one.primary), found[0][1])


def _bounded(one: PowerFigure, figure: Figure, *objections: str, few: str = "") -> Figure:
    """The figure without its upper bound where something speaks against it; `few` is mended by sessions."""
    every = (_scope_objection(one), _cover_objection(one), *objections)
    lasting = [objection for objection in every if objection]
    said = [*lasting, few] if few else lasting
    high = None if said else figure.high
    reason = "; ".join([*said, *([figure.reason] if figure.reason else [])])
    return replace(
        figure,
        high=high,
        ceiling=figure.high if lasting and not few else None,
        reason=reason,
        what=f"{figure.what} of {_name(one)}",
    )


def _peak(one: PowerFigure, certainty: Certainty) -> Figure:
    if one.peak_w is None:
        return Figure(reason=_nothing(one))
    figure = Figure(one.peak_w, one.peak_w, one.peak_w, what="the highest sample")
    few = too_few(one.samples, "samples") if one.samples < speaks_for_all(certainty) else ""
    return _bounded(one, figure, _rate_objection(one), few=few)


def _averaged(one: PowerFigure, averaging_s: float) -> Figure:
    if not one.mean_w_sessions or one.peak_w is None:
        return Figure(reason=_nothing(one))
    if short := _window_objection(one, averaging_s):
        return Figure(undecided=True, reason=short, lasting=True)
    # A window of x averaging times is covered by at most x + 1 of them, one of which therefore has at
    # least x / (x + 1) of the window's mean; none has more than the highest sample.
    stretches = (one.window_s or 0.0) / averaging_s
    mean_w = max(one.mean_w_sessions)
    figure = Figure(
        mean_w,
        mean_w * stretches / (stretches + 1),
        max(one.peak_w, mean_w),
        what="the averaged power",
        lasting=True,
    )
    periods = one.rate_hz * averaging_s
    few = f"{averaging_s:g} s are {periods:.0f} sample periods, and it takes {MIN_PERIODS}"
    return _bounded(one, figure, few if periods < MIN_PERIODS else "")


def _mean(one: PowerFigure, averaging_s: float | None, certainty: Certainty) -> Figure:
    if not one.mean_w_sessions:
        return Figure(reason=_nothing(one))
    figure = over_sessions([[value] for value in one.mean_w_sessions], certainty)
    periods = one.rate_hz * (one.window_s or 0.0)
    few = f"window too short: {periods:.0f} sample periods, and it takes {MIN_PERIODS}"
    short = _window_objection(one, averaging_s) if averaging_s is not None else ""
    return _bounded(one, figure, few if periods < MIN_PERIODS else "", short)


def _energy(one: PowerFigure, certainty: Certainty) -> Figure:
    if not one.energy_j_sessions:
        return Figure(reason=_nothing(one))
    return _bounded(one, over_sessions([[value] for value in one.energy_j_sessions], certainty))


def _scope_objection(one: PowerFigure) -> str:
    if one.scope in WIDE_SCOPES:
        return ""
    return (
        f"{_name(one)} covers the {one.scope or 'unknown part'} only: it can fail this limit, never pass it"
    )


def _cover_objection(one: PowerFigure) -> str:
    return f"{_name(one)} did not see the whole steady window of {one.uncovered}" if one.uncovered else ""


def _rate_objection(one: PowerFigure) -> str:
    if one.rate_hz > LOW_RATE_HZ:
        return ""
    return f"at {one.rate_hz:g} Hz the highest sample is a lower bound of the peak"


def _window_objection(one: PowerFigure, averaging_s: float) -> str:
    if one.window_s is not None and one.window_s >= averaging_s:
        return ""
    window_s = one.window_s or 0.0
    return f"the averaging time of {averaging_s:g} s is longer than the steady window of {window_s:.3g} s"


def _name(one: PowerFigure) -> str:
    return f"{one.meter} ({one.channel})"


def _nothing(one: PowerFigure) -> str:
    return f"{_name(one)}: {one.reason or 'it gave nothing'}"
