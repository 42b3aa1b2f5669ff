"""What paced and sustained sessions come to: deadlines missed, a median a minute, signs of heat."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from edgebench.fit.latency import SteadyPasses
from edgebench.fit.telemetry_summary import Observed
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
    found = [one for one in judged if one is not None]
    first_s = fmean(one.first for one in found) if found else None
    last_s = fmean(one.last for one in found) if found else None
    because = (*_by_latency(found, len(judged)), *_by_telemetry(observed))
    return Sustained(
        minutes=_minutes([minute_medians(at_s, scene_s) for at_s, scene_s in series]),
        first_quarter_s=first_s,
        last_quarter_s=last_s,
        ratio=last_s / first_s if first_s and last_s else None,
        slope_per_hour=fmean(one.slope_per_s for one in found) * HOUR_S if found else None,
        suspected=bool(because),
        because=because,
    )


def _minutes(sessions: Sequence[dict[int, tuple[float, int]]]) -> tuple[Minute, ...]:
    return tuple(
        Minute(minute, fmean(one[minute][0] for one in there), sum(one[minute][1] for one in there))
        for minute in sorted({minute for one in sessions for minute in one})
        if (there := [one for one in sessions if minute in one])
    )


def _by_latency(found: Sequence[Heat], of: int) -> list[str]:
    said = []
    if slower := [one.ratio for one in found if one.slower]:
        said.append(
            f"the last quarter took up to {max(slower):.2f} times the first, "
            f"more than {RATIO_LIMIT:g}, in {len(slower)} of {of} sessions"
        )
    if rising := [one.rise for one in found if one.rising]:
        said.append(
            f"latency rose by up to {max(rising):.1%} over the session (Theil-Sen) "
            f"in {len(rising)} of {of} sessions"
        )
    return said


def _by_telemetry(observed: Sequence[Observed]) -> list[str]:
    said, of = [], len(observed)
    if drops := [one.clock_drop for one in observed if one.dropped and one.clock_drop is not None]:
        said.append(
            f"the clock dropped by up to {max(drops):.0%}, more than {CLOCK_DROP_LIMIT:.0%}, "
            f"in {len(drops)} of {of} sessions"
        )
    if throttled := [one.throttled for one in observed if one.throttled]:
        what = ", ".join(dict.fromkeys(word for words in throttled for word in words))
        said.append(f"the board said so ({what}) in {len(throttled)} of {of} sessions")
    return said
