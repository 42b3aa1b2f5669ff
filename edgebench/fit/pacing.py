"""What paced and sustained sessions come to: deadlines missed, a median a minute, signs of heat."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from edgebench.fit.latency import SteadyPasses
from edgebench.fit.telemetry_summary import ClockDrops, Observed, hottest
from edgebench.fit.trial_summary import Minute, Paced, Sustained
from edgebench.stats import deadlines
from edgebench.stats.heat import RATIO_LIMIT, Heat, heat
from edgebench.stats.minute_medians import minute_medians
from edgebench.stats.telemetry_window import CLOCK_DROP_LIMIT

HOUR_S = 3600.0


def paced_of(steady: SteadyPasses, period_s: float | None) -> Paced | None:
    """The deadlines of a trial's paced passes over all sessions; None where it was not paced or measured."""
    late_s = [late for session in steady.lateness_s for late in session]
    worst_s = deadlines.worst(late_s)
    if period_s is None or worst_s is None:
        return None
    by_session = tuple((deadlines.misses(session), len(session)) for session in steady.lateness_s if session)
    return Paced(period_s, len(late_s), deadlines.misses(late_s), worst_s, by_session)


def sustained_of(
    steady: SteadyPasses, sustained_s: float | None, observed: Sequence[Observed] = ()
) -> Sustained | None:
    """How a trial's latency moved over its sustained sessions; None where they were not or have no passes.

    Every figure is the mean over sessions of the session's own; heat is suspected as soon as one of the
    tests says so in one session.

    Args:
        steady: the steady passes or windows of the trial's finished sessions.
        sustained_s: for how long they went on; None for a number of passes.
        observed: what telemetry saw in the finished sessions.
    """
    if sustained_s is None or not steady.latency_s:
        return None
    series = list(zip(steady.at_s, steady.latency_s, strict=True))
    judged = [heat(at_s, scene_s) for at_s, scene_s in series]
    trends = [trend for trend in judged if trend is not None]
    first_s = fmean(trend.first for trend in trends) if trends else None
    last_s = fmean(trend.last for trend in trends) if trends else None
    because = (*_by_latency(trends, len(judged)), *_by_telemetry(observed))
    if because and (celsius := hottest(observed)) is not None:
        because += (f"the hottest sensor read up to {celsius:.0f} °C",)
    return Sustained(
        minutes=_minutes([minute_medians(at_s, scene_s) for at_s, scene_s in series]),
        first_quarter_s=first_s,
        last_quarter_s=last_s,
        ratio=last_s / first_s if first_s and last_s else None,
        slope_per_hour=fmean(trend.slope_per_s for trend in trends) * HOUR_S if trends else None,
        suspected=bool(because),
        because=because,
    )


def _minutes(sessions: Sequence[dict[int, tuple[float, int]]]) -> tuple[Minute, ...]:
    return tuple(
        Minute(
            minute,
            fmean(session[minute][0] for session in there),
            sum(session[minute][1] for session in there),
        )
        for minute in sorted({minute for session in sessions for minute in session})
        if (there := [session for session in sessions if minute in session])
    )


def _by_latency(trends: Sequence[Heat], of: int) -> list[str]:
    reasons = []
    if slower := [trend.ratio for trend in trends if trend.slower]:
        reasons.append(
            f"the last quarter took up to {max(slower):.2f} times the first, "
            f"more than {RATIO_LIMIT:g}, in {len(slower)} of {of} sessions"
        )
    if rising := [trend.rise for trend in trends if trend.rising]:
        reasons.append(
            f"latency rose by up to {max(rising):.1%} over the session (Theil-Sen) "
            f"in {len(rising)} of {of} sessions"
        )
    return reasons


def _by_telemetry(observed: Sequence[Observed]) -> list[str]:
    reasons, of = [], len(observed)
    if drops := ClockDrops.of(observed):
        reasons.append(
            f"{drops.clocks} dropped by up to {drops.worst:.0%}, more than {CLOCK_DROP_LIMIT:.0%}, "
            f"in {drops.count} of {of} sessions"
        )
    if throttled := [session.throttled for session in observed if session.throttled]:
        what = ", ".join(dict.fromkeys(word for words in throttled for word in words))
        reasons.append(f"the board reported throttling ({what}) in {len(throttled)} of {of} sessions")
    return reasons
