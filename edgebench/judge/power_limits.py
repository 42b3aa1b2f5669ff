"""What a meter can say about a limit on a board's power.

A meter that covers less than the board (chip, module) sees part of what is drawn, and one that delivers 100
samples a second or fewer, or stands still for longer than ten of those, misses short peaks: what it sees can
fail a limit and never pass it. The samples that came decide, never the rate that the meter states. A
requirement that states its averaging time asks for less, and a slow meter can meet it; a narrow one still
cannot. Nor can one whose samples do not cover the steady window of every session: what it missed may be what
broke the limit, and the meter with it.

The mean over an averaging time is the highest of all stretches so long of the samples. A meter of moments
takes 100 samples in it, nine tenths of them as they come: one of 100 Hz decides a second. It is as far off as
these spread (`stats.power_spread`). One whose readings are means over the whole time from one to the next
misses nothing and takes two; how the power lay within the readings at a stretch's edges it does not say, so
that the bound counts all of them whole.

Where the lag of a meter on the host is not known, the bounds hold what it may move: those of a
mean the means of its window moved by up to that lag, and the upper one of a peak all samples from so long
before the passes to so long after them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from edgebench.judge.estimates import NEARLY_ALL, STATED, over_medians, too_few
from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.metric import Asked, ByRail
from edgebench.judge.power import WIDE_SCOPES, scope_rank
from edgebench.judge.trial_summary import UNKNOWN_SCOPE, PowerFigure, TrialSummary
from edgebench.records.target import DeclaredPower
from edgebench.stats.percentiles import least_n
from edgebench.stats.power import (
    MIN_PERIODS,
    NEARLY,
    covers_its_period,
    sampling_half_width,
    short_window_reason,
)
from edgebench.stats.power_curve import PowerCurve, highest_mean_w, highest_touched_mean_w
from edgebench.stats.warnings import Caution, Flag

# What declared power says of a limit on peak or mean power, where no meter decides it.
#
# | declared | against the limit | verdict | because |
# | --- | --- | --- | --- |
# | maximum | at most the limit | pass | the target never draws more, for however short |
# | maximum | above it | inconclusive | it may never be drawn |
# | typical | above it | fail | by its maker's word it draws more than that in ordinary use |
# | typical | at most the limit | inconclusive | it says nothing of the peak and the mean under this load |
#
# A measured figure that decides goes before it. One that a meter contradicts decides nothing: a maximum that
# some meter saw exceeded, and a typical power that a meter of the whole board never saw, since then this load
# is not its maker's. Energy is not computed from it.


def _with_declared_power(measured: Figure, summary: TrialSummary, limit_w: float) -> Figure:
    """The figure that a limit on power is judged by: the measured one, or the declared where that decides.

    Where neither decides it is the measured one, or the declared where nothing was measured, with the reasons
    of both.
    """
    if not summary.declared_power or _decides(measured, limit_w):
        return measured
    doubts = summary.power_doubts
    holding = [power for power in summary.declared_power if power.kind not in doubts]
    figures = [_figure(power) for power in holding]
    unmetered = f"no meter decides it: {measured.reason}" if measured.value is not None else measured.reason
    note = "; ".join(filter(None, (unmetered, summary.board_doubts.get("declared_power"))))
    # Whether no further session lets a meter decide.
    is_bounded = measured.ceiling is not None and measured.ceiling <= limit_w
    stays_open = measured.value is None or measured.lasting or is_bounded
    for figure in figures:
        if _decides(figure, limit_w):
            return replace(figure, note=note, lasting=stays_open)
    why_open = [_OPEN[power.kind].format(power) for power in holding] + list(doubts.values())
    reason = "; ".join(filter(None, (measured.reason, *why_open)))
    if measured.value is not None or not figures:
        return replace(measured, reason=reason)
    return replace(figures[0], reason=reason, lasting=True)


_OPEN = {
    "maximum": "the {} may never be drawn: it can pass this limit, never fail it",
    "typical": "the {} says nothing of this load's peak and mean: it can fail this limit, never pass it",
}


def with_power_doubts(summaries: Sequence[TrialSummary]) -> list[TrialSummary]:
    """The trials, each with which meter contradicts what was declared of its target.

    A maximum is contradicted by any trial of the target, which is a warning; a typical power by the trial's
    own meters, without a warning, since a load may draw less than its maker's.
    """
    rails: dict[str, list[PowerFigure]] = {}
    for summary in summaries:
        rails.setdefault(summary.target, []).extend(summary.power or ())
    doubted = []
    for summary in summaries:
        of_trial, of_target = summary.power or (), rails[summary.target]
        doubts = {
            power.kind: doubt
            for power in summary.declared_power
            if (doubt := _contradiction(power, of_target if power.kind == "maximum" else of_trial))
        }
        cautions = [
            Caution(Flag.POWER_CONTRADICTED, what=doubt)
            for kind, doubt in doubts.items()
            if kind == "maximum"
        ]
        doubted.append(replace(summary, power_doubts=doubts, cautions=(*summary.cautions, *cautions)))
    return doubted


def _contradiction(power: DeclaredPower, rails: Sequence[PowerFigure]) -> str:
    """Which of these rails shows that the figure does not hold, in a sentence; "" where none does."""
    for rail in rails:
        if rail.peak_w is None:
            continue
        saw = ""
        if power.kind == "maximum":
            saw = "saw" if rail.peak_w > power.watts else ""
        elif rail.peak_w < power.watts and rail.scope in WIDE_SCOPES and not rail.uncovered:
            saw = "saw no more than"
        if saw:
            meter = f"{rail.meter.removesuffix(':')} ({rail.channel}, {rail.scope or UNKNOWN_SCOPE})"
            return f"the {power} decides nothing: {meter} {saw} {rail.peak_w:.3g} W"
    return ""


def _figure(power: DeclaredPower) -> Figure:
    return Figure(
        power.watts,
        low=power.watts if power.kind == "typical" else None,
        high=power.watts if power.kind == "maximum" else None,
        what=f"the {power}",
        declared=power.kind,
    )


def _decides(figure: Figure, limit_w: float) -> bool:
    misses = figure.low is not None and figure.low > limit_w
    return misses or (figure.high is not None and figure.high <= limit_w)


LOW_RATE_HZ = 100.0

MOST_GAP_PERIODS = 10
"""How many periods of the slowest meter that decides may pass without a sample."""

COVERING_PERIODS = 2
"""Periods within the averaging time that a meter needs whose readings are means over all of each."""

GAP_OF_COVERING = 1.5
"""Periods for which no sample may come of such a meter, however short the averaging time is."""


def power_figure(summary: TrialSummary, asked: Asked, certainty: Certainty = STATED) -> Figure:
    """Peak power, mean power over the steady windows, or energy of an image: of a meter, or as declared.

    That of a meter that misses the limit, however narrow; otherwise that of the primary one. Among several
    that miss it the first of SCOPES decides, and within it the highest: figures of different scopes are
    not compared. Peak power is the highest sample, or the highest mean over `averaging_s`; the windows
    of mean power last at least as long. Energy is gross, and never declared.
    """
    rails, limit = summary.power or (), asked.base_limit
    measured = Figure(reason=summary.power_reason or "no meter")

    def figure(place: int) -> Figure:
        power, curves = rails[place], (summary.power_curves or [()] * len(rails))[place]
        about = (place, asked.quantity, asked.averaging_s, certainty)
        return summary.once(about, lambda: _of_rail(power, curves, asked, certainty))

    is_power = asked.metric.is_power
    if rails:
        # No mean of a rail is above its highest sample.
        may_miss = [at for at, rail in enumerate(rails) if not is_power or (rail.peak_w or math.inf) > limit]
        missing = [each for at in may_miss if (each := figure(at)).low is not None and each.low > limit]
        primary = next((at for at, rail in enumerate(rails) if rail.primary), 0)
        measured = min(
            missing or [figure(primary)],
            key=lambda figure: (scope_rank(figure.scope), -(figure.low or 0.0)),
        )
    return _with_declared_power(measured, summary, limit) if is_power else measured


def _of_rail(power: PowerFigure, curves: Sequence[PowerCurve], asked: Asked, certainty: Certainty) -> Figure:
    if asked.metric.compared is not None:
        return _over_sessions(power, asked, certainty)
    if asked.averaging_s is None:
        return _peak(power, certainty)
    return _averaged(power, curves, asked.averaging_s, certainty)


def bounded(power: PowerFigure, figure: Figure, *objections: str, few: str = "") -> Figure:
    """The figure without its upper bound where something speaks against it, and by which meter it is.

    What lasts: that the meter sees a part, or missed something, and the `objections`; more sessions remove
    `few`.
    """
    cover = power.uncovered and f"{_name(power)} did not see the whole steady window of {power.uncovered}"
    lasting = [objection for objection in (scope_objection(power), cover, *objections) if objection]
    lag_s = power.unknown_lag_s
    lag_note = (
        f"its bounds hold what a lag of up to {lag_s:.3g} s may move, since it is not known" if lag_s else ""
    )
    return replace(
        figure,
        high=None if lasting or few else figure.high,
        ceiling=figure.high if lasting and not few else None,
        reason="; ".join(filter(None, (*lasting, few, figure.reason))),
        what=f"{figure.what} of {_name(power)}",
        scope=_scope(power),
        note="; ".join(filter(None, (figure.note, lag_note))),
    )


def _peak(power: PowerFigure, certainty: Certainty) -> Figure:
    if power.peak_w is None:
        return _missing(power)
    high = power.peak_w if power.peak_high_w is None else power.peak_high_w
    means = power.averaging_ms and f"the largest of {power.averaging_ms:.3g} ms means"
    what = means or f"the largest of {power.samples} readings, whose averaging time is not known,"
    figure = Figure(power.peak_w, power.peak_w, high, what=what)
    few = too_few(power.samples, "samples") if power.samples < least_n(NEARLY_ALL, certainty.bound) else ""
    figure = bounded(power, figure, rate_objection(power, None), few=few)
    if not figure.reason:
        return figure
    return replace(figure, reason=f"{figure.reason}; compared was {what.removesuffix(',')}")


def _averaged(
    power: PowerFigure, curves: Sequence[PowerCurve], averaging_s: float, certainty: Certainty
) -> Figure:
    if not power.mean_w_sessions or power.peak_w is None:
        return _missing(power)
    if short := _window_objection(power, averaging_s):
        return Figure(undecided=True, reason=short, lasting=True, scope=_scope(power))
    seen = [
        curve for curve in curves if len(curve.t_ns) and (curve.t_ns[-1] - curve.t_ns[0]) / 1e9 >= averaging_s
    ]
    if not seen:
        none = f"{_name(power)}: no samples over {averaging_s:g} s"
        return Figure(undecided=True, reason=none, lasting=True, scope=_scope(power))
    covering = _covers_its_period(power)
    bounds = [_averaged_bounds(curve, averaging_s, covering, certainty) for curve in seen]
    # Of the samples that may be of the same time only the upper bound counts.
    wider = [
        _averaged_bounds(curve.around, averaging_s, covering, certainty)[2]
        for curve in seen
        if curve.around is not None
    ]
    value, low, high = (max(bound[side] for bound in bounds) for side in range(3))
    what = f"the highest mean over {averaging_s:g} s"
    figure = Figure(value, low, max([high, *wider]), what=what, lasting=True)
    return bounded(power, figure, rate_objection(power, averaging_s))


def _averaged_bounds(
    curve: PowerCurve, averaging_s: float, covering: bool, certainty: Certainty
) -> tuple[float, float, float]:
    """The highest mean over the averaging time in W, and what it is at least and at most."""
    value, begin_ns = highest_mean_w(curve, averaging_s)
    if covering:
        return value, value, max(value, highest_touched_mean_w(curve, averaging_s))
    stretch = curve.within(begin_ns, begin_ns + round(averaging_s * 1e9))
    half_w = sampling_half_width(stretch.watts, certainty.interval) if len(stretch.watts) > 1 else 0.0
    return value, value - half_w, value + half_w


def _covers_its_period(power: PowerFigure) -> bool:
    """Whether its readings are means over all the time from one to the next."""
    averaging_s = None if power.averaging_ms is None else power.averaging_ms / 1e3
    return covers_its_period(averaging_s, power.effective_hz or 0.0)


def rate_objection(power: PowerFigure, averaging_s: float | None) -> str:
    """Why a meter misses what would break a limit on the peak, or on the mean over `averaging_s`; else ""."""
    effective_hz = power.effective_hz or 0.0
    if averaging_s is None:
        if effective_hz <= LOW_RATE_HZ:
            return f"at {effective_hz:.4g} Hz, as they came, the highest sample is a lower bound of the peak"
        most_s = MOST_GAP_PERIODS / LOW_RATE_HZ
    else:
        covering = _covers_its_period(power)
        periods, due = effective_hz * averaging_s, COVERING_PERIODS if covering else MIN_PERIODS
        if periods < NEARLY * due:
            came = f"{averaging_s:g} s are {periods:.3g} sample periods as they came"
            return f"{came}, and it takes {due}"
        most_s = averaging_s * MOST_GAP_PERIODS / MIN_PERIODS
        most_s = max(most_s, GAP_OF_COVERING / effective_hz) if covering else most_s
    if power.longest_gap_s is not None and power.longest_gap_s <= most_s:
        return ""
    return f"no sample came for {power.longest_gap_s or 0.0:.3g} s, and {most_s:.3g} s are the most"


def least_averaging_s(power: PowerFigure) -> float:
    """The shortest averaging time over which a meter can pass a limit; infinite where no sample came."""
    if not power.effective_hz:
        return math.inf
    gap_s, covering = power.longest_gap_s or 0.0, _covers_its_period(power)
    periods = NEARLY * (COVERING_PERIODS if covering else MIN_PERIODS)
    is_bridged = covering and gap_s * power.effective_hz <= GAP_OF_COVERING
    return max(periods / power.effective_hz, 0.0 if is_bridged else gap_s * MIN_PERIODS / MOST_GAP_PERIODS)


def _over_sessions(power: PowerFigure, asked: Asked, certainty: Certainty) -> Figure:
    """The mean over sessions, its bounds no closer than those that count the samples' own spread as well."""
    metric = asked.metric
    assert isinstance(metric.compared, ByRail)
    values = getattr(power, metric.compared.field)
    if not values:
        return _missing(power)
    figure = over_medians(values, certainty)
    if figure.low is not None and figure.high is not None:
        low, high = (getattr(power, bound) for bound in metric.rail_bounds)
        figure = replace(
            figure,
            low=figure.low if low is None else min(figure.low, low),
            high=figure.high if high is None else max(figure.high, high),
        )
    if not metric.is_power:
        return bounded(power, figure)
    periods = (power.effective_hz or 0.0) * (power.window_s or 0.0)
    few = short_window_reason(periods, "mean power")
    figure = bounded(power, figure, few, _window_objection(power, asked.averaging_s))
    if not power.pauses:
        return figure
    hidden = (
        f"the mean holds the pauses between the passes, up to {power.pauses:.1%} of the time: its upper "
        "bound is raised by what they can hide"
    )
    return replace(figure, note="; ".join(filter(None, (figure.note, hidden))))


def scope_objection(power: PowerFigure) -> str:
    """Why a meter can pass no limit on a board: it sees a part of what that draws; "" where it sees all."""
    if power.scope in WIDE_SCOPES:
        return ""
    return (
        f"{_name(power)} covers the {power.scope or 'unknown part'} only: "
        "it can fail this limit, never pass it"
    )


def _window_objection(power: PowerFigure, averaging_s: float | None) -> str:
    window_s = power.window_s or 0.0
    if averaging_s is None or window_s >= averaging_s:
        return ""
    return f"the averaging time of {averaging_s:g} s is longer than the steady window of {window_s:.3g} s"


def _name(power: PowerFigure) -> str:
    return f"{power.meter.removesuffix(':')} ({power.channel})"


def _scope(power: PowerFigure) -> str:
    return power.scope or UNKNOWN_SCOPE


def _missing(power: PowerFigure) -> Figure:
    return Figure(reason=f"{_name(power)}: {power.reason or 'it gave nothing'}", scope=_scope(power))
