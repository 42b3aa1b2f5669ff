"""Meters and declared power against limits on a board's power and energy.

A meter that covers less than the board (chip, module) sees part of its power, and one that delivers 100
samples a second or fewer, or stands still for longer than ten of those, misses short peaks: it can fail a
limit and never pass it. The samples that came decide, never the rate that the meter states. A requirement
that states its averaging time needs less, and a slow meter can meet it; a narrow one still cannot. Nor can
one whose samples do not cover the steady window of every session: the moment that it missed may be the one
that broke the limit, and the meter with it.

The mean over an averaging time is the highest of all stretches so long of the samples. A meter of moments
takes 100 samples in it, nine tenths of them as they come: one of 100 Hz decides a second. It is as far off as
these spread (`stats.power.sampling_half_width`). One whose readings are means over the whole time from one to
the next misses nothing and takes two; how the power lay within the readings at a stretch's edges it does not
say, so that the bound counts all of them whole.

Where the lag of a meter on the host is not known, the ends hold what it may move: those of a mean the means
of its window moved by up to that lag, and the upper one of a peak all samples from so long before the passes
to so long after them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from edgebench.judge.metric import Metric
from edgebench.judge.power.rails import WIDE_SCOPES, scope_rank
from edgebench.judge.sessions import NEARLY_ALL, over_medians, too_few
from edgebench.judge.trial import (
    UNKNOWN_SCOPE,
    Certainty,
    Conditions,
    Estimate,
    EstimateKey,
    Rail,
    Trial,
)
from edgebench.stats.percentiles import least_n
from edgebench.stats.power import (
    MIN_PERIODS,
    NEARLY,
    covers_its_period,
    sampling_half_width,
    short_window_reason,
)
from edgebench.stats.power_curve import PowerCurve, highest_mean_w, highest_touched_mean_w
from edgebench.texts import joined

LOW_RATE_HZ = 100.0

MOST_GAP_PERIODS = 10
"""Periods of the slowest meter that decides that may pass without a sample."""

COVERING_PERIODS = 2
"""Periods within the averaging time that a meter needs whose readings are means over all of each."""

GAP_OF_COVERING = 1.5
"""Periods for which no sample may come of such a meter, however short the averaging time is."""

# Declared power against a limit on peak or mean power, where no meter decides it.
#
# | declared | against the limit | verdict | because |
# | --- | --- | --- | --- |
# | maximum | at most the limit | pass | the target never draws more, for however short |
# | maximum | above it | inconclusive | it may never be drawn |
# | typical | above it | fail | by its maker's word it draws more than that in ordinary use |
# | typical | at most the limit | inconclusive | it says nothing of the peak and the mean under this load |
#
# A measured estimate that decides goes before it. One that a meter contradicts decides nothing: a maximum
# that some meter saw exceeded, and a typical power that a meter of the whole board never saw, since then this
# load is not its maker's. Energy is not computed from it.


def power_candidates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    """Estimates of power or energy that may decide a limit.

    That of the rail that represents the board comes first. Other rails can only fail: the first of SCOPES
    before the others, and within it the highest. Declared power follows; it comes first where the
    representing rail has no value.
    """
    first, *others = _of_rails(trial, metric, conditions) or [trial.estimate(metric.name)]
    others.sort(key=lambda estimate: (scope_rank(estimate.basis), -(estimate.low or 0.0)))
    narrow = "another rail represents the board: this one can fail the limit, never pass it"
    fails = [
        replace(estimate, objection=joined(estimate.objection, narrow))
        for estimate in others
        if estimate.low is not None
    ]
    if not metric.is_power:
        return first, *fails
    declared = [pair for pair in trial.estimates_of("declared_power") if pair[1].value is not None]
    doubts = [trial.doubts.get(f"power.{key.stage}", "") for key, _ in declared]
    holding = [estimate for (_, estimate), doubt in zip(declared, doubts, strict=True) if not doubt]
    # Reasons of a limit that neither a meter nor declared power decides.
    open_reasons = [*(estimate.reason for estimate in holding), *doubts]
    why = joined(first.objection, first.reason)
    unmetered = f"no meter decides it: {why}" if first.value is not None and why else why
    noted = [estimate.with_notes(unmetered) for estimate in holding]
    if first.value is None and noted:
        noted[0] = replace(noted[0], reason=joined(unmetered, *open_reasons))
        return *noted, *fails
    return replace(first, reason=joined(first.reason, *open_reasons)), *fails, *noted


def _of_rails(trial: Trial, metric: Metric, conditions: Conditions) -> list[Estimate]:
    """Estimates of the rails that may decide, computed once per trial and question.

    Rails whose peak is not above the lower end of the first rail are skipped: they cannot fail a limit that
    the first rail passes.
    """
    conditions = conditions._replace(schedule=None, uplink_bps=None)
    estimates: list[Estimate] = []
    for rail in trial.rails:
        peak_w = trial.estimates[EstimateKey("power_peak_w", "max", rail=rail.name)].value
        least_w = estimates[0].low if estimates and metric.is_power else None
        if peak_w is None or least_w is None or peak_w > least_w:
            compute = partial(estimate_of_rail, trial, rail, metric, conditions)
            estimates.append(trial.once((metric.name, rail.name, conditions), compute))
    return estimates


def estimate_of_rail(trial: Trial, rail: Rail, metric: Metric, conditions: Conditions) -> Estimate:
    """Estimate of power or energy of one rail under the conditions of a question."""
    mean = trial.estimates[metric.key(rail=rail.name)]
    averaging_s, certainty = conditions.averaging_s, conditions.certainty
    if mean.value is None:
        return replace(mean, reason=f"{name_of(rail)}: {mean.reason}")
    objection = objection_to(rail, metric.name, averaging_s)
    if metric.name == "power_peak_w":
        if averaging_s is None:
            return _peak(rail, mean, objection, certainty)
        if not trial.estimates[EstimateKey("power_mean_w", "median", rail=rail.name)].sessions:
            return Estimate(reason=f"{name_of(rail)}: {rail.reason or 'it gave nothing'}", basis=rail.scope)
        return _averaged(rail, averaging_s, objection, certainty)
    estimate = over_medians(mean.sessions, certainty, n=mean.n)
    if estimate.low is not None and estimate.high is not None:
        # No closer than the ends that count the samples' own spread as well.
        low = estimate.low if mean.low is None else min(estimate.low, mean.low)
        high = estimate.high if mean.high is None else max(estimate.high, mean.high)
        estimate = replace(estimate, low=low, high=high)
    hidden = (
        f"the mean holds the pauses between the passes, up to {rail.pauses:.1%} of the time: its upper "
        "bound is raised by what they can hide"
    )
    return bounded(rail, estimate, objection).with_notes(hidden if rail.pauses and metric.is_power else "")


def bounded(rail: Rail, estimate: Estimate, objection: str, source: str = "") -> Estimate:
    """Estimate of a rail with the objection to it and notes of its source and of its unknown lag."""
    lag_s = rail.unknown_lag_s
    lag = (
        f"its bounds hold what a lag of up to {lag_s:.3g} s may move, since it is not known" if lag_s else ""
    )
    source = source or f"measured by {name_of(rail)}"
    notes = tuple(filter(None, (source, *estimate.notes, lag)))
    return replace(estimate, basis=rail.scope, objection=objection, notes=notes)


def _peak(rail: Rail, mean: Estimate, objection: str, certainty: Certainty) -> Estimate:
    source = f"the largest of {rail.samples} readings of {name_of(rail)}, whose averaging time is not known"
    if rail.averaging_ms:
        source = f"the largest of {rail.averaging_ms:.3g} ms means of {name_of(rail)}"
    if rail.samples < least_n(NEARLY_ALL, certainty.bound):
        mean = replace(mean, high=None, reason=too_few(rail.samples, "samples"))
    return bounded(rail, mean, objection, source)


def _averaged(rail: Rail, averaging_s: float, objection: str, certainty: Certainty) -> Estimate:
    """Highest mean over an averaging time; sessions that were sampled for a shorter time do not count."""
    undecided = Estimate(n=rail.samples, basis=rail.scope, final=True)
    if short := _window_objection(rail, averaging_s):
        return replace(undecided, reason=short)
    seen = [
        curve
        for curve in rail.curves
        if len(curve.t_ns) and (curve.t_ns[-1] - curve.t_ns[0]) / 1e9 >= averaging_s
    ]
    if not seen:
        return replace(undecided, reason=f"{name_of(rail)}: no samples over {averaging_s:g} s")
    covering = _covers_its_period(rail)
    bounds = [_averaged_bounds(curve, averaging_s, covering, certainty) for curve in seen]
    # Samples that may be of the same time raise the upper end alone.
    wider = [
        _averaged_bounds(curve.around, averaging_s, covering, certainty)[2]
        for curve in seen
        if curve.around is not None
    ]
    value, low, high = (max(side) for side in zip(*bounds, strict=True))
    estimate = replace(undecided, value=value, low=low, high=max([high, *wider]))
    source = f"the highest mean over {averaging_s:g} s of {name_of(rail)}"
    return bounded(rail, estimate, objection, source)


def _averaged_bounds(
    curve: PowerCurve, averaging_s: float, covering: bool, certainty: Certainty
) -> tuple[float, float, float]:
    """Highest mean over the averaging time in W, with its lower and upper end."""
    value, begin_ns = highest_mean_w(curve, averaging_s)
    if covering:
        return value, value, max(value, highest_touched_mean_w(curve, averaging_s))
    stretch = curve.within(begin_ns, begin_ns + round(averaging_s * 1e9))
    half_w = sampling_half_width(stretch.watts, certainty.interval) if len(stretch.watts) > 1 else 0.0
    return value, value - half_w, value + half_w


# Objections to a meter, which no further session removes.


def objection_to(rail: Rail, metric: str, averaging_s: float | None = None) -> str:
    """Cause why a rail passes no limit on a metric, however long one measures; empty where it may."""
    name = name_of(rail)
    cover = f"{name} did not see the whole steady window of {rail.uncovered}" if rail.uncovered else ""
    more = ""
    if metric == "power_peak_w":
        more = rate_objection(rail, averaging_s)
    elif metric == "power_mean_w":
        periods = (rail.effective_hz or 0.0) * (rail.window_s or 0.0)
        more = joined(short_window_reason(periods, "mean power"), _window_objection(rail, averaging_s))
    return joined(scope_objection(rail), cover, more)


def scope_objection(rail: Rail) -> str:
    """Sentence that a meter sees a part of what the board draws; empty where it sees all."""
    if rail.scope in WIDE_SCOPES:
        return ""
    part = "unknown part" if rail.scope == UNKNOWN_SCOPE else rail.scope
    return f"{name_of(rail)} covers the {part} only: it can fail this limit, never pass it"


def rate_objection(rail: Rail, averaging_s: float | None) -> str:
    """Cause why a meter misses short peaks, or those of means over `averaging_s`; empty where it does not."""
    effective_hz = rail.effective_hz or 0.0
    if averaging_s is None:
        if effective_hz <= LOW_RATE_HZ:
            return f"at {effective_hz:.4g} Hz, as they came, the highest sample is a lower bound of the peak"
        most_s = MOST_GAP_PERIODS / LOW_RATE_HZ
    else:
        covering = _covers_its_period(rail)
        periods, due = effective_hz * averaging_s, COVERING_PERIODS if covering else MIN_PERIODS
        if periods < NEARLY * due:
            came = f"{averaging_s:g} s are {periods:.3g} sample periods as they came"
            return f"{came}, and it takes {due}"
        most_s = averaging_s * MOST_GAP_PERIODS / MIN_PERIODS
        most_s = max(most_s, GAP_OF_COVERING / effective_hz) if covering else most_s
    if rail.longest_gap_s is not None and rail.longest_gap_s <= most_s:
        return ""
    return f"no sample came for {rail.longest_gap_s or 0.0:.3g} s, and {most_s:.3g} s are the most"


def least_averaging_s(rail: Rail) -> float:
    """Shortest averaging time over which a meter can pass a limit; infinite where no sample came."""
    if not rail.effective_hz:
        return math.inf
    gap_s, covering = rail.longest_gap_s or 0.0, _covers_its_period(rail)
    periods = NEARLY * (COVERING_PERIODS if covering else MIN_PERIODS)
    is_bridged = covering and gap_s * rail.effective_hz <= GAP_OF_COVERING
    return max(periods / rail.effective_hz, 0.0 if is_bridged else gap_s * MIN_PERIODS / MOST_GAP_PERIODS)


def name_of(rail: Rail) -> str:
    """Rail in words: `ina:0 (in)`."""
    return f"{rail.meter.removesuffix(':')} ({rail.channel})"


def _covers_its_period(rail: Rail) -> bool:
    """True if the readings of its meter are means over all the time from one to the next."""
    averaging_s = None if rail.averaging_ms is None else rail.averaging_ms / 1e3
    return covers_its_period(averaging_s, rail.effective_hz or 0.0)


def _window_objection(rail: Rail, averaging_s: float | None) -> str:
    window_s = rail.window_s or 0.0
    if averaging_s is None or window_s >= averaging_s:
        return ""
    return f"the averaging time of {averaging_s:g} s is longer than the steady window of {window_s:.3g} s"
