"""Next steps: actions that would settle an open verdict, and the nearest limit that a trial passes.

A missing estimate is brought by an option of its metric. An estimate that is there needs more of what its
interval rests on, as much as the spread so far foretells (edgebench.stats.forecast), or a meter that can
decide. All counts are in all, the sessions so far included, so that following the advice once is enough if
the spread stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from edgebench.judge.metric import DECLARED_SOURCE, Metric
from edgebench.judge.metrics.board import share_missed
from edgebench.judge.mission import NO_DEADLINE, OF_PERIOD, OVERLOADED
from edgebench.judge.power.limits import rate_objection
from edgebench.judge.power.rails import WIDE_SCOPES
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.sessions import NEARLY_ALL, PERCENTILES, over_values
from edgebench.judge.trial import STATED, UNPOOLED, Estimate, Trial, Values
from edgebench.judge.verdicts.verdict import (
    Limit,
    NextStep,
    StepKind,
    Verdict,
    estimates_for,
    verdict_of,
    word_of,
)
from edgebench.records.values import SESSIONS_LIMIT
from edgebench.stats.compare import wilson
from edgebench.stats.forecast import forecast
from edgebench.stats.intervals import MIN_SESSIONS, session_medians
from edgebench.stats.percentiles import least_n, stall_sessions
from edgebench.stats.power import CHECK_WIRING, MIN_PERIODS

MOST_IMAGES = 100_000
"""Images above which none are proposed: the limit is as good as met by the estimate itself."""

SENSIBLE_SESSIONS = SESSIONS_LIMIT // 5
"""Sessions above which none are proposed: the limit is as good as met by the estimate itself."""

_GROWTH = 1.1
"""Factor between counts that are tried."""

_ROUNDING = 1e-15
"""Share of a limit that a change of units may round away."""


# The nearest limit that a trial passes.


def passing_limit(trial: Trial, requirement: Requirement) -> Limit | None:
    """Nearest limit in base units that a trial passes where it does not pass the requirement's.

    A pass needs the upper end of an estimate where lower values are better, else the lower one. Several
    estimates may decide, so that every end is tried.

    Returns:
        One number; of a size its three sides, in the requirement's order. None where no limit lets it pass.
    """
    estimates, scale = estimates_for(trial, requirement), requirement.scale
    if isinstance(requirement.limit, tuple):
        return _passing_size(estimates, [side * scale for side in requirement.limit])
    if trial.undisturbed is not None:
        estimates = *estimates, *estimates_for(trial.undisturbed, requirement)
    limit, sign = requirement.base_limit, -1 if requirement.at_least else 1
    ends = {end for estimate in estimates for end in (estimate.value, estimate.low, estimate.high) if end}
    for end in sorted(
        (end for end in ends if end > 0 and sign * end > sign * limit), key=lambda end: sign * end
    ):
        # The requirement's unit may round an end to its wrong side.
        for to in (end / scale * scale, end + math.copysign(_ROUNDING * end, end - limit)):
            if verdict_of(trial, requirement, limit=to).word == "pass":
                return to if to <= requirement.metric.most else None
    return None


def _passing_size(estimates: Sequence[Estimate], limits: Sequence[float]) -> tuple[float, ...] | None:
    """Limits of a size, each at least as long as the body's side, the longest against the longest."""
    if len(estimates) != len(limits):
        return None
    order = sorted(range(len(limits)), key=lambda place: -limits[place])
    sides = {
        place: max(limits[place], estimate.value or 0.0)
        for place, estimate in zip(order, estimates, strict=True)
    }
    return tuple(sides[place] for place in range(len(limits)))


def sides_of(limit: Limit) -> tuple[float, ...]:
    """Numbers of a limit: the three sides of a size, else one."""
    return limit if isinstance(limit, tuple) else (limit,)


def relative_change(requirement: Requirement, to: Limit) -> float:
    """Change from a requirement's limit to another as a share of it; of a size, of the side that takes most.

    Args:
        requirement: the requirement.
        to: the other limit, in base units.
    """
    olds = [side * requirement.scale for side in sides_of(requirement.limit)]
    return max(abs(new - old) / old for old, new in zip(olds, sides_of(to), strict=True))


# Steps that would settle a verdict.


_RESUME = NextStep("resume", ("--resume",))


def next_steps(trial: Trial, verdict: Verdict) -> tuple[NextStep, ...]:
    """Actions that would settle or change a verdict: alternatives, the looser limit last; empty of a pass."""
    if verdict.word == "pass":
        return ()
    steps = settling_steps(trial, verdict)
    to = None if verdict.word == "unknown" else passing_limit(trial, verdict.requirement)
    return steps if to is None else (*steps, NextStep("relax", limit=to))


def settling_steps(trial: Trial, verdict: Verdict) -> tuple[NextStep, ...]:
    """Actions with which an open verdict would be a pass or a fail; empty where none is known.

    An interrupted trial is resumed before it takes more sessions than planned.
    """
    steps = _settling_steps(trial, verdict)
    is_interrupted = trial.ended is not None and trial.ended.by == "interrupted"
    if is_interrupted and any(step.kind == "more sessions" for step in steps):
        return (_RESUME,)
    return steps


def _settling_steps(trial: Trial, verdict: Verdict) -> tuple[NextStep, ...]:
    if verdict.word in ("pass", "fail"):
        return ()
    metric, estimate = verdict.requirement.metric, verdict.estimate
    is_metered = metric.is_power or metric.unit == "J"
    if trial.is_published:
        return _of_published(metric)
    if trial.is_emulated or trial.status == "unsupported":
        return ()
    if trial.status in ("not_run", "failed"):
        return (_RESUME,)
    if metric.source == DECLARED_SOURCE and metric.name != "boot_s" and trial.body:
        return (NextStep("declare", ("--declared", f"{metric.name}:VALUE:SOURCE")),)
    if is_metered and trial.rails and CHECK_WIRING in trial.rails[0].reason:
        return (NextStep("measure", reason=CHECK_WIRING.replace("check", "a check of")),)
    if verdict.word == "unknown":
        return _of_missing(trial, verdict, metric)
    is_disturbed = trial.disturbed[0] and trial.undisturbed is None and (verdict.margin or 0.0) < 0
    if is_disturbed and metric.suffers_from_others:
        return (NextStep("more sessions", reason="sessions without other programs on the device"),)
    calm = trial.undisturbed if metric.suffers_from_others else None
    if calm is not None and estimate in estimates_for(calm, verdict.requirement):
        return tuple(_beside(step, trial.disturbed[0]) for step in _settling_steps(calm, verdict))
    # More sessions leave an objection to the stamps as it is, and a simulation that is too large.
    is_doubted = metric.follows_stamps and trial.doubts.get("stamps")
    if is_doubted or (metric.is_scheduled and estimate.final):
        return ()
    if is_metered:
        return _of_power(trial, verdict)
    if estimate.basis.startswith("declared"):
        # A maximum above the limit may never be reached, whatever else is declared.
        return option_steps(metric) if estimate.basis == "declared typical" else ()
    if metric.share_of in ("image", "session") and not metric.is_scheduled:
        return _of_share(verdict, metric.share_of)
    values = trial.values_of(metric.name)
    if metric.name == "load" and estimate.value is not None and trial.values_of("image_s"):
        # It is the mean latency over the time for an image: the same number of sessions settles both.
        times_s = trial.values_of("image_s")
        mean_s = sum(sum(session) / len(session) for session in times_s) / len(times_s)
        values = tuple([estimate.value * time_s / mean_s for time_s in session] for session in times_s)
    elif metric.is_scheduled:
        return _more_sessions(None, len(trial.latency_values))
    elif metric.share_of:
        return _of_misses(values, verdict, trial.confidence)
    values = values or tuple([number] for number in estimate.sessions)
    if not values:
        return ()
    if verdict.requirement.statistic in (*PERCENTILES, "max"):
        return _of_tail(trial, [session for session in values if len(session)], verdict)
    return _of_sessions(values, verdict, trial.confidence)


def _beside(step: NextStep, disturbed: int) -> NextStep:
    """Step whose sessions come on top of the disturbed ones."""
    if step.kind != "more sessions" or not step.arguments:
        return step
    option, count, *others = step.arguments
    arguments = option, str(int(count) + disturbed), *others
    return replace(step, arguments=arguments, reason=f"{step.reason} without other programs")


def option_steps(metric: Metric) -> tuple[NextStep, ...]:
    """Options that measure or declare a metric, as alternatives."""
    is_declared = metric.option_of != "run"
    return tuple(
        NextStep(
            "declare" if is_declared or option.arguments[:1] == ("--declared-power",) else "measure",
            option.arguments,
            reason=option.reason,
        )
        for option in metric.options
    )


def _of_published(metric: Metric) -> tuple[NextStep, ...]:
    if metric.source != DECLARED_SOURCE:
        return (NextStep("measure", reason="a run of one's own (`edgebench run`)"),)
    return () if metric.name == "boot_s" else (NextStep("declare", ("--board", "TARGET=NAME")),)


def _of_missing(trial: Trial, verdict: Verdict, metric: Metric) -> tuple[NextStep, ...]:
    """Options of the metric, unless the trial has that already or its device cannot give it."""
    reason = verdict.estimate.reason
    if metric.of_machine and trial.doubts.get("machine"):
        return (NextStep("measure", reason="a run on the declared board"),)
    if trial.is_shared and UNPOOLED in reason:
        return (NextStep("measure", ("--workers", "1"), reason="a run with one worker"),)
    if metric.is_scheduled and verdict.requirement.schedule is None:
        return (NextStep("declare", reason="a [schedule] in the profile"),)
    if reason == NO_DEADLINE:
        return (NextStep("declare", reason="a deadline in the [schedule]"),)
    if reason == OF_PERIOD:
        return (NextStep("measure", reason="a run without --period"),)
    # No option changes an estimate that stays missing, nor one whose schedule or uplink is stated already.
    conditions = verdict.requirement.schedule, verdict.requirement.uplink_bps
    is_stated = metric.option_of == "profile" and conditions != (None, None)
    cannot_help = verdict.estimate.final or OVERLOADED in reason or is_stated
    cannot_help |= metric.is_scheduled and bool(trial.rails)
    is_untimed = metric.belongs_to == "pass" and not metric.part and metric.name != "infer_s"
    if cannot_help or (is_untimed and reason == trial.estimate("image_s").reason):
        return ()
    return option_steps(metric)


def _of_power(trial: Trial, verdict: Verdict) -> tuple[NextStep, ...]:
    """A meter of all of the board, a faster one, or sessions."""
    meter = ("--meter", "KIND")
    if verdict.estimate.basis.startswith("declared") or not trial.rails:
        return (NextStep("measure", meter),)
    rail, averaging_s = trial.rails[0], verdict.requirement.averaging_s or 0.0
    if rail.scope not in WIDE_SCOPES:
        return (NextStep("measure", meter, reason="that sees all of the board"),)
    if averaging_s > (rail.window_s or 0.0):
        minutes = str(math.ceil(averaging_s / 60))
        return (NextStep("longer sessions", ("--sustained", minutes)),)
    # Over an averaging time the samples decide how far the mean is known, and no further session.
    is_peak = verdict.requirement.statistic == "max"
    if rail.uncovered or (is_peak and (averaging_s or rate_objection(rail, None))):
        return (NextStep("measure", meter, reason="that is faster and leaves no gap"),)
    if rail.unknown_lag_s is not None:
        return (NextStep("measure", meter, reason="whose lag is known"),)
    if verdict.estimate.objection and rail.effective_hz:
        minutes = str(math.ceil(MIN_PERIODS / rail.effective_hz / 60))
        longer = NextStep("longer sessions", ("--sustained", minutes))
        return longer, NextStep("measure", meter, reason="that is faster")
    sessions = verdict.estimate.sessions
    if is_peak or not sessions:
        return _more_sessions(None, max(map(len, (sessions, trial.latency_values))))
    return _of_sessions(tuple([value] for value in sessions), verdict, STATED.interval)


def _of_share(verdict: Verdict, counted: str) -> tuple[NextStep, ...]:
    """Images or sessions with which Wilson's interval around the same share leaves the limit out."""
    share, n, is_sessions = verdict.estimate.value, verdict.estimate.n, counted == "session"
    images = ("--images", "DIR|CSV")
    if share is None or verdict.requirement.metric.unit != "1":
        return (NextStep("more images", images),)
    for count in _counts(n, SENSIBLE_SESSIONS if is_sessions else MOST_IMAGES):
        low, high = wilson(round(share * count), count)
        if not low < verdict.limit <= high:
            step = NextStep("more images", images, reason=f"some {_rounded_up(count)} images")
            return _more_sessions(count, n) if is_sessions else (step,)
    return (_too_close(f"{counted}s"),)


def _of_misses(late_s: Values, verdict: Verdict, confidence: float) -> tuple[NextStep, ...]:
    """Sessions after which the share of missed deadlines decides, if the lateness of these repeats."""
    if not late_s:
        return _more_sessions(None, 0)
    for count in _counts(max(MIN_SESSIONS, len(late_s) + 1), SENSIBLE_SESSIONS):
        estimate = share_missed(tuple(_repeated(late_s, count)), confidence)
        if word_of(estimate, verdict.limit, at_least=False) in ("pass", "fail"):
            return _more_sessions(count, len(late_s))
    return (_too_close("sessions"),)


def _of_sessions(values: Values, verdict: Verdict, confidence: float) -> tuple[NextStep, ...]:
    """Sessions that the spread between those so far foretells; none where it leaves the limit out already.

    The interval is then wide by what no session removes: ticks of a clock, or pauses that a meter holds.
    """
    medians = session_medians([session for session in values if len(session)])
    if len(medians) < 2 or min(medians) <= 0 or verdict.limit <= 0:
        return _more_sessions(None, len(medians))
    planned = max(MIN_SESSIONS, len(medians))
    needed = forecast(medians, planned, limit=verdict.limit, confidence=confidence).sessions_needed
    if needed is None:
        return (_too_close("sessions"),)
    return () if needed <= len(medians) else _more_sessions(needed, len(medians))


def _of_tail(trial: Trial, sessions: Sequence[Sequence[float]], verdict: Verdict) -> tuple[NextStep, ...]:
    """Sessions and passes, in all, after which a percentile or a maximum decides if the values repeat."""
    statistic, at_least = verdict.requirement.statistic, verdict.requirement.at_least
    least = least_n(PERCENTILES.get(statistic, NEARLY_ALL))
    longest = max(map(len, sessions))
    first = max(MIN_SESSIONS, len(sessions), stall_sessions() if statistic != "p90" else 0)
    count_each = max(longest, math.ceil(least / first)) if longest > 1 else 1
    # Passes with several requests at once have several values each.
    passes_so_far = max(map(len, trial.latency_values), default=0) or longest
    passes = math.ceil(count_each / max(1.0, longest / passes_so_far))
    first = first if longest > 1 else max(first, least)
    highest = SENSIBLE_SESSIONS if longest > 1 else SESSIONS_LIMIT
    repeated = [_repeated(session, count_each) for session in sessions]
    for count in _counts(first, highest):
        estimate = over_values(_repeated(repeated, count), "passes", statistic)
        if word_of(estimate, verdict.limit, at_least) in ("pass", "fail"):
            longer = count_each > longest
            arguments = "--sessions", str(count), *(("--passes", str(passes)) if longer else ())
            reason = f"some {count} sessions" + (f" of {passes} passes" if longer else "")
            return (NextStep("more sessions", arguments, reason=reason),)
    return (_too_close("sessions"),)


def _repeated(values: Sequence[Any], count: int) -> list[Any]:
    """List of so many values: the given ones again and again."""
    return [values[place % len(values)] for place in range(count)]


def _counts(first: int, highest: int) -> Iterable[int]:
    """Counts from the first on, each a tenth above the one before."""
    count = first
    while count <= highest:
        yield count
        count = math.ceil(_GROWTH * count)


def _rounded_up(count: int) -> int:
    """The count with two digits, not below itself."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return math.ceil(count / step) * step


def _more_sessions(needed: int | None, so_far: int) -> tuple[NextStep, ...]:
    """Sessions in all; without a forecast the fewest that could do."""
    least = max(MIN_SESSIONS, so_far + 1)
    count = max(needed or least, least)
    if count > SENSIBLE_SESSIONS:
        return (_too_close("sessions"),)
    reason = f"some {count} sessions" if needed else f"{count} sessions or more"
    return (NextStep("more sessions", ("--sessions", str(count)), reason=reason),)


def _too_close(noun: str) -> NextStep:
    """Step without arguments, since it would take too many more of the same."""
    kind: StepKind = "more images" if noun == "images" else "more sessions"
    far = f"no sensible number of {noun}: the margin is too small to settle by repeating"
    return NextStep(kind, reason=far)
