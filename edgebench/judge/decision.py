"""What the verdicts of a profile add up to: which trials satisfy it, what is open, or the nearest miss."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edgebench.judge.estimates import NEARLY_ALL, PERCENTILES
from edgebench.judge.figure import Figure
from edgebench.judge.metric import DECLARED, IMPOSSIBLE, ByRail, Metric, Sampled, Stated
from edgebench.judge.metrics import METRICS
from edgebench.judge.mission import NO_SCHEDULE, OVERLOADED
from edgebench.judge.power import WIDE_SCOPES
from edgebench.judge.power_limits import rate_objection
from edgebench.judge.profile import Profile
from edgebench.judge.requirement import Requirement
from edgebench.judge.trial_summary import Accuracy, TrialSummary, Verdict
from edgebench.judge.verdict import WORDS, Judgement, Overall, judgement
from edgebench.records.values import SESSIONS_LIMIT
from edgebench.stats.compare import wilson
from edgebench.stats.forecast import forecast
from edgebench.stats.interval import Count, NotNegative
from edgebench.stats.intervals import MIN_SESSIONS, session_medians
from edgebench.stats.percentiles import least_n, stall_sessions
from edgebench.stats.power import CHECK_WIRING

# The least change of one limit under which a trial that was measured would pass it.
#
# A pass needs the bound of the figure that lies towards the limit: the upper one of what is to be at most,
# the lower one of what is to be at least, the number itself of what was declared. Which meter or which
# declared power decides depends on the limit, so that every limit is tried by judging the trial under it.


_MOST = math.nextafter(1e18, 0.0)
"""The most that a requirement may say."""

_ROUNDING = 1e-12

Limit = float | tuple[float, ...]


@dataclass(frozen=True)
class OfRequirement:
    """About one requirement."""

    requirement: str
    """Name of the requirement. Source: profile."""
    quantity: str
    """What is limited, such as image_s. Source: profile."""
    statistic: str
    """Which statistic of it. Source: profile."""


@dataclass(frozen=True)
class RelaxedLimit(OfRequirement):
    """A limit that a trial does not pass, and the nearest one that it would."""

    averaging_s: float | None
    """Time over which a limit on power means its average; null for all else. Unit: s. Source: profile."""
    unit: str
    """Unit of limit, to and by. Source: profile."""
    limit: Limit
    """The limit as it is; three numbers for a size. Source: profile."""
    to: Limit
    """The nearest limit under which the trial passes: the bound of its figure that a pass needs. Source: fit.
    """
    by: NotNegative
    """How much looser that is, above 0; of a size, of the side that takes most. Source: fit."""
    share: NotNegative
    """by over limit; of a size, the greatest of its sides. Source: fit."""
    verdict: Literal["fail", "inconclusive"]
    """What the trial got under the limit as it is. Source: fit."""


@dataclass(frozen=True)
class ToMeasure(OfRequirement):
    """A requirement that no limit lets a trial pass, because what decides it was not measured; and why."""

    reason: str
    """Why what was measured cannot pass it. Source: fit."""


def relaxed_limit(trial: TrialSummary, requirement: Requirement) -> RelaxedLimit | ToMeasure:
    """What would make a pass of another verdict: another limit, or else what has to be measured.

    Args:
        trial: that was judged.
        requirement: that it does not pass.
    """
    judged = judgement(trial, requirement)
    limit, value, reason = requirement.limit, judged.figure.value, judged.reason
    to: Limit | None = None
    if isinstance(limit, tuple):
        if isinstance(value, tuple):  # each side at least as long as the body's, longest against longest
            order = sorted(range(len(limit)), key=lambda at: limit[at])
            sides = {at: max(limit[at], side) for at, side in zip(order, sorted(value), strict=True)}
            to = tuple(sides[at] for at in range(len(limit)))
    elif judged.word != "unknown":
        to = _least(trial, requirement, limit)
        if to is None and requirement.metric.most == math.inf:
            reason = under_loosest_limit(trial, requirement).reason
    about = (requirement.name, requirement.quantity, requirement.statistic)
    if to is None:
        return ToMeasure(*about, reason)
    olds, news = (each if isinstance(each, tuple) else (each,) for each in (limit, to))
    differences = [abs(new - old) for old, new in zip(olds, news, strict=True)]
    return RelaxedLimit(
        *about,
        requirement.averaging_s,
        requirement.unit,
        limit,
        to,
        by=max(differences),
        share=max(difference / old for old, difference in zip(olds, differences, strict=True)),
        verdict="fail" if judged.word == "fail" else "inconclusive",
    )


def under_loosest_limit(trial: TrialSummary, requirement: Requirement) -> Judgement:
    """The trial under a limit that any figure meets."""
    return judgement(trial, requirement, limit=sys.float_info.min if requirement.at_least else _MOST)


def depends_on_limit(metric: Metric) -> bool:
    """Whether another figure may be judged under another limit."""
    return bool(metric.rail) or not (metric.of_schedule or isinstance(metric.judged, Sampled | Stated))


def _least(trial: TrialSummary, requirement: Requirement, limit: float) -> float | None:
    """The nearest limit that the trial passes: bounds of its figures, tried from the nearest on."""
    metric, sign = requirement.metric, -1 if requirement.at_least else 1
    bounds = _bounds(judgement(trial, requirement).figure, requirement)
    if depends_on_limit(metric):
        bounds |= _bounds(under_loosest_limit(trial, requirement).figure, requirement)
    if metric.is_power:
        bounds |= {power.watts / requirement.scale for power in trial.declared_power}
    tried: set[float] = set()
    while looser := [bound for bound in bounds - tried if sign * bound > sign * limit]:
        nearest = min(looser, key=lambda bound: abs(bound - limit))
        tried.add(nearest)
        # The requirement's unit may round a bound to its wrong side.
        for to in (nearest, nearest + math.copysign(_ROUNDING * abs(nearest), nearest - limit)):
            judged = judgement(trial, requirement, limit=to)
            if judged.word == "pass":
                return to if to * requirement.scale <= metric.most else None
        bounds |= _bounds(judged.figure, requirement)  # another meter decides under it
    return None


def _bounds(figure: Figure, requirement: Requirement) -> set[float]:
    """What of a figure a limit has to reach: its end on that side, else its number.

    Of several meters one may decide no longer as soon as the limit has reached its other end.
    """
    needed, other = (figure.low, figure.high) if requirement.at_least else (figure.high, figure.low)
    number = figure.value if needed is None and other is None else needed
    bounds = (number, other) if depends_on_limit(requirement.metric) else (number,)
    return {float(bound) for bound in bounds if isinstance(bound, int | float) and bound > 0}


# The nearest yes: of each target that does not pass a profile as a whole, what would.
#
# First which of its trials did pass: another variant, batch or setting of its sweep. Where none did, the
# trial that takes least: the fewest figures that have to be measured, then the fewest limits that have to
# be looser, then the smallest share by which the loosest of them is; of equal ones the quickest. Where
# every trial that was measured misses a limit, the limits go before what has to be measured. All from what
# was measured; what was not is said, and never assumed. Requirements that are only wanted count for nothing
# here.


@dataclass(frozen=True)
class Undecided:
    """A trial that misses no limit, and what has to be measured before it passes."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    measure: tuple[ToMeasure, ...]
    """The requirements that it does not pass, and why. Source: fit."""


@dataclass(frozen=True)
class Nearest:
    """What would pass a profile on a target that has a trial which does not."""

    target: str
    """Name of the target, without the settings of a sweep. Source: experiment.json."""
    profile: str
    """Name of the profile. Source: profile."""
    passing: tuple[str, ...]
    """Keys of its trials that pass all that the profile requires; empty where none does. Source: fit."""
    trial: str | None = None
    """Key of the trial that takes least where none passes: the fewest figures to measure, then the fewest
    limits to relax, then the smallest share by which the loosest is; the limits first where every trial
    misses one; null where some pass. Source: fit."""
    relax: tuple[RelaxedLimit, ...] = ()
    """The limits that have to be looser for that trial, all of them. Source: fit."""
    measure: tuple[ToMeasure, ...] = ()
    """What has to be measured of it besides, because no limit lets it pass. Source: fit."""
    undecided: tuple[Undecided, ...] = ()
    """Trials that miss no limit as it is, where none passes, and what each lacks. Source: fit."""


def nearest(
    trials: Sequence[TrialSummary], profiles: Sequence[Profile], wholes: Sequence[Overall]
) -> list[Nearest]:
    """An entry for each profile and target that some trial of does not pass, in the order given.

    A trial that its target does not take at all does not fail.

    Args:
        trials: those that were judged.
        profiles: what they were judged by.
        wholes: the verdicts by trial and profile, as `overall` gives them.
    """
    missed = {(whole.profile, whole.trial): whole.missed for whole in wholes}
    targets: dict[str, list[TrialSummary]] = {}
    for trial in trials:
        targets.setdefault(trial.swept_target, []).append(trial)
    entries = []
    for profile in profiles:
        of_profile = {trial.key: missed.get((profile.name, trial.key), []) for trial in trials}
        for target, group in targets.items():
            taken = [trial for trial in group if trial.status != "unsupported"]
            if not taken or any(of_profile[trial.key] for trial in taken):
                entries.append(_entry(target, profile, group, of_profile))
    return entries


def _entry(
    target: str, profile: Profile, group: Sequence[TrialSummary], missed: Mapping[str, list[Verdict]]
) -> Nearest:
    if passing := tuple(trial.key for trial in group if not missed[trial.key]):
        return Nearest(target, profile.name, passing)
    requirements = {requirement.name: requirement for requirement in profile.judged}
    changes: dict[str, list[RelaxedLimit | ToMeasure]] = {}
    undecided = []
    for trial in group:
        open_ = missed[trial.key]
        changes[trial.key] = [relaxed_limit(trial, requirements[each.requirement]) for each in open_]
        if _is_measured(trial) and all(each.verdict != "fail" for each in open_):
            lacks = (
                ToMeasure(each.requirement, each.quantity, each.statistic, each.reason) for each in open_
            )
            undecided.append(Undecided(trial.key, tuple(lacks)))
    entries = [
        Nearest(
            target,
            profile.name,
            (),
            key,
            tuple(change for change in of_trial if isinstance(change, RelaxedLimit)),
            tuple(change for change in of_trial if isinstance(change, ToMeasure)),
            tuple(undecided),
        )
        for key, of_trial in changes.items()
    ]
    return least(entries, {trial.key: trial for trial in group}, missed)


def least(
    entries: Sequence[Nearest], trials: Mapping[str, TrialSummary], missed: Mapping[str, Sequence[Verdict]]
) -> Nearest:
    """The entry whose trial takes least, of one target or of several; each names a trial.

    Args:
        entries: of one profile, at least one.
        trials: by key.
        missed: by key the verdicts that keep a trial from passing.
    """
    limits_first = not any(entry.undecided for entry in entries)

    def effort(entry: Nearest) -> tuple[float, ...]:
        assert entry.trial is not None
        trial = trials[entry.trial]
        shares = [limit.share for limit in entry.relax]
        latency_s = trial.latency.median if trial.latency else math.inf
        looser = (len(entry.relax), max(shares, default=0.0), sum(shares))
        if not limits_first:
            return (len(entry.measure), *looser, latency_s)
        failed = {verdict.requirement for verdict in missed[entry.trial] if verdict.verdict == "fail"}
        by_no_limit = sum(lack.requirement in failed for lack in entry.measure)
        return (not _is_measured(trial), by_no_limit, *looser, len(entry.measure), latency_s)

    return min(entries, key=effort)


def _is_measured(trial: TrialSummary) -> bool:
    return trial.status in ("done", "partial")


# What would settle a verdict that is unknown or inconclusive: an option, or how many sessions or images.
#
# What brings a figure that is missing its metric says (`Metric.brought_by`). Of a figure that is there it
# is more of what its interval rests on, as many as the spread between the sessions so far foretells
# (`edgebench.stats.forecast`), or a meter that can decide.


MOST_IMAGES = 100_000
"""Beyond which a limit on a share is as good as met by the figure itself: none are proposed."""

SENSIBLE_SESSIONS = SESSIONS_LIMIT // 5
"""More than these are not proposed: the limit is as good as met by the figure itself."""

_TOO_CLOSE = "no sensible number of {}: the margin is too small to settle by repeating"
_MEASURE = "a run of one's own (`edgebench run`)"


def settled_by(trial: TrialSummary, verdict: Verdict) -> str:
    """With what a verdict would be a pass or a fail; empty where it is one, or nothing is known to do it."""
    metric = METRICS.get(verdict.quantity)
    if verdict.verdict not in ("unknown", "inconclusive") or metric is None:
        return ""
    is_of_meter, rail = metric.is_power or bool(metric.rail), trial.primary_rail
    is_of_body = isinstance(metric.judged, Stated) and metric.source == DECLARED
    ways = (
        (is_of_body and trial.body, f"--declared {metric.name}:VALUE:SOURCE"),
        (is_of_body and trial.published, "--board TARGET=NAME"),
        # No run brings what is declared of a board.
        (trial.published, "" if metric.source == DECLARED else _MEASURE),
        (trial.emulated or trial.status == "unsupported", ""),
        (trial.status in ("not_run", "failed"), "--resume"),
        (
            is_of_meter and rail is not None and CHECK_WIRING in rail.reason,
            CHECK_WIRING.replace("check", "a check of"),
        ),
        (verdict.verdict == "unknown", _of_missing(trial, verdict, metric)),
        (
            metric.suffers_from_others
            and trial.interfered[0]
            and trial.undisturbed is None
            and (verdict.margin or 0.0) < 0,
            "sessions without other programs on the device",
        ),
    )
    if (way := next((way for holds, way in ways if holds), None)) is not None:
        return way
    if is_of_meter:
        return _of_power(trial, verdict, metric)
    if verdict.declared:  # a maximum above the limit may never be reached, whatever else is declared
        return metric.brought_by if verdict.declared == "typical" else ""
    if metric.share_of == "image" and not metric.of_schedule:
        return _of_images(metric.value(trial), verdict, metric)
    if isinstance(metric.judged, Sampled):
        return _of_sessions(metric.judged.values(trial), verdict, metric)
    if verdict.quantity == "load" and isinstance(verdict.value, float):
        # It is the mean latency over what an image may take: as many sessions settle both.
        means_s = [statistics.fmean(session) for session in trial.image_s_values if session]
        scale = verdict.value * metric.units[verdict.unit] / statistics.fmean(means_s)
        loads = [[scale * time_s for time_s in session] for session in trial.image_s_values]
        return _of_sessions(loads, replace(verdict, statistic="median"), metric)
    # The number of sessions decides these, in a way that is not foretold.
    is_counted = metric.share_of or metric.of_schedule
    return _more_sessions(None, len(trial.latency_values)) if is_counted else ""


def _of_missing(trial: TrialSummary, verdict: Verdict, metric: Metric) -> str:
    """What brings its figure by the metric, unless the trial has that or its device cannot give it."""
    ways = (
        (trial.other_machine and metric.of_machine, "a run on the declared board"),
        (trial.unpooled and verdict.reason == trial.unpooled, "a run with one worker"),
        (metric.of_schedule and verdict.reason == NO_SCHEDULE, "a [schedule] in the profile"),
        # No meter gives the energy of a cycle that is not kept.
        (verdict.reason.startswith((OVERLOADED, IMPOSSIBLE)), ""),
        (metric.json_place == "paced" and trial.untimed_reason, ""),
    )
    return next((way for holds, way in ways if holds), metric.brought_by)


def _of_power(trial: TrialSummary, verdict: Verdict, metric: Metric) -> str:
    """A meter of all of the board, a faster one, or sessions."""
    rail = trial.primary_rail
    if verdict.declared or rail is None:
        return "--meter KIND"
    is_peak, averaging_s = metric.is_power and verdict.statistic == "max", verdict.averaging_s or 0.0
    ways = (
        (rail.scope not in WIDE_SCOPES, "--meter KIND that sees all of the board"),
        (
            averaging_s > (rail.window_s or 0.0),
            f"longer sessions (--sustained {math.ceil(averaging_s / 60)})",
        ),
        # Over an averaging time the samples decide how far the mean is known, and no further session.
        (
            rail.uncovered or (is_peak and (averaging_s or rate_objection(rail, None))),
            "--meter KIND that is faster and leaves no gap",
        ),
        (rail.unknown_lag_s is not None, "--meter KIND whose lag is known"),
    )
    if way := next((way for holds, way in ways if holds), ""):
        return way
    if is_peak or not isinstance(metric.comparison, ByRail):
        return _more_sessions(None, len(rail.mean_w_sessions))
    return _of_sessions([[value] for value in metric.comparison.by_session(trial)], verdict, metric)


def _of_images(figure: object, verdict: Verdict, metric: Metric) -> str:
    """The labelled images with which Wilson's interval around the same share leaves the limit out."""
    if not isinstance(figure, Accuracy) or isinstance(verdict.limit, tuple):
        return "more images (--images DIR|CSV)"
    n, share = figure.n, figure.k / figure.n
    limit = verdict.limit * metric.units[verdict.unit]
    while n <= MOST_IMAGES:
        low, high = wilson(round(share * n), n)
        if not low < limit <= high:
            return f"some {_rounded_up(n)} images (--images DIR|CSV)"
        n = math.ceil(1.1 * n)
    return _TOO_CLOSE.format("images")


def _rounded_up(n: int) -> int:
    """To two digits."""
    step = int(10 ** max(0, len(str(n)) - 2))
    return math.ceil(n / step) * step


def _of_sessions(values: Sequence[Sequence[float]], verdict: Verdict, metric: Metric) -> str:
    """As many sessions as the spread between those so far foretells."""
    sessions = [session for session in values if session]
    limit = verdict.limit
    if verdict.statistic != "median" or isinstance(limit, tuple):
        return _of_tail(sessions, verdict.statistic)
    limit *= metric.units[verdict.unit]
    medians = session_medians(sessions)
    if len(medians) < 2 or min(medians) <= 0 or limit <= 0:
        return _more_sessions(None, len(medians))
    needed = forecast(medians, max(MIN_SESSIONS, len(medians)), limit=limit).sessions_needed
    if needed is None:
        return _TOO_CLOSE.format("sessions")
    return _more_sessions(max(needed, len(medians) + 1), len(medians))


def _of_tail(sessions: Sequence[Sequence[float]], statistic: str) -> str:
    """More values, where a percentile or a maximum takes more than there are; else more sessions."""
    least = least_n(PERCENTILES.get(statistic, NEARLY_ALL))
    longest = max(map(len, sessions), default=0)
    needed = stall_sessions()
    if statistic != "p90" and longest > 1 and len(sessions) < needed:
        passes = math.ceil(least / needed)
        more = f" of {passes} passes (--passes {passes})" if longest < passes else ""
        return _more_sessions(needed, len(sessions)) + more
    if len(sessions) < MIN_SESSIONS or sum(map(len, sessions)) >= least or longest < 2:
        return _more_sessions(None, len(sessions))
    passes = math.ceil(least / len(sessions))
    return f"{passes} passes a session (--passes {passes})"


def _more_sessions(needed: int | None, so_far: int) -> str:
    """`some 12 sessions (--sessions 12)`; without a forecast the fewest that could do."""
    least = max(MIN_SESSIONS, so_far + 1)
    if max(needed or least, least) > SENSIBLE_SESSIONS:
        return _TOO_CLOSE.format("sessions")
    if needed is None:
        return f"more sessions (--sessions {least} or more)"
    return f"some {needed} sessions (--sessions {needed})"


Outcome = Literal["satisfied", "open", "missed", "unmeasured"]


@dataclass(frozen=True)
class Open(OfRequirement):
    """A requirement that is unknown or inconclusive of trials that miss none."""

    verdict: Literal["unknown", "inconclusive"]
    """unknown or inconclusive. Source: fit."""
    by: str
    """What would settle it: an option, or how many sessions or images; empty where nothing is known to.
    Source: fit."""
    trials: tuple[str, ...]
    """Keys of the trials that it is open for, and that would settle it. Source: fit."""


@dataclass(frozen=True)
class Overload:
    """A trial that does not keep up with the profile's schedule."""

    trial: str
    """Key of the trial. Source: experiment.json."""
    load: float
    """Work that comes in a cycle as a share of the cycle, above 1; the least that it is where no more is
    known. Source: fit."""
    reason: str
    """The verdict's. Source: fit."""


@dataclass(frozen=True)
class Decision:
    """The answer to one profile."""

    profile: str
    """Name of the profile. Source: profile."""
    outcome: Outcome
    """satisfied: some trial satisfies the profile; open: none does, and some misses no requirement; missed:
    every one misses one; unmeasured: none has a session. Source: fit."""
    passing: tuple[str, ...]
    """Keys of the trials that satisfy it. Source: fit."""
    failing: Count
    """How many trials miss a requirement. Source: fit."""
    trials: Count
    """How many trials were judged. Source: fit."""
    trial: str | None = None
    """Key of the quickest that satisfies it, of the open one that lacks least, or of the nearest miss; null
    where none was measured. Source: fit."""
    level: tuple[str, ...] = ()
    """The others that satisfy it and whose interval of the same latency reaches the quickest's. Source:
    fit."""
    lightest: tuple[str, ...] = ()
    """Keys of those that satisfy it and whose declared mass is the least; empty without a mass. Source: fit.
    """
    relax: tuple[RelaxedLimit, ...] = ()
    """For the nearest miss, the limits that would have to be looser, all of them. Source: fit."""
    open: tuple[Open, ...] = ()
    """What is open of the trials that miss nothing, where none satisfies it. Source: fit."""
    overloaded: tuple[Overload, ...] = ()
    """The trials that are shown not to keep up with the profile's schedule, each a miss. Source: fit."""


def decisions(
    trials: Sequence[TrialSummary], wholes: Sequence[Overall], entries: Sequence[Nearest]
) -> list[Decision]:
    """One a profile, in the order of the verdicts.

    Args:
        trials: those that were judged.
        wholes: the verdicts by trial and profile, as `overall` gives them.
        entries: as `nearest` gives them of the same.
    """
    by_key = {trial.key: trial for trial in trials}
    by_profile: dict[str, list[Overall]] = {}
    for whole in wholes:
        by_profile.setdefault(whole.profile, []).append(whole)
    return [
        _decision(
            profile,
            [whole for whole in of_profile if whole.trial in by_key],
            by_key,
            [entry for entry in entries if entry.profile == profile],
        )
        for profile, of_profile in by_profile.items()
    ]


def _overloads(wholes: Sequence[Overall]) -> tuple[Overload, ...]:
    overloads = {}  # by trial: it may have several limits of its load
    for verdict in (each for whole in wholes for each in whole.missed):
        metric, least = METRICS.get(verdict.quantity), verdict.low if verdict.value is None else verdict.value
        if metric and metric.most < math.inf and verdict.verdict == "fail" and isinstance(least, float):
            load = least * metric.units[verdict.unit]
            if load > metric.most:
                overloads[verdict.trial] = Overload(verdict.trial, load, verdict.reason)
    return tuple(overloads.values())


def _decision(
    profile: str, wholes: Sequence[Overall], trials: Mapping[str, TrialSummary], entries: Sequence[Nearest]
) -> Decision:
    by_word = {word: [whole.trial for whole in wholes if whole.verdict == word] for word in WORDS}
    passing, failing = tuple(by_word["pass"]), by_word["fail"]
    measured = [whole.trial for whole in wholes if _is_measured(trials[whole.trial])]
    overloads = _overloads(wholes)
    decision = Decision(profile, "unmeasured", passing, len(failing), len(wholes), overloaded=overloads)
    if passing:
        first = min((trials[key] for key in passing), key=_slowness)
        level = tuple(key for key in passing if key != first.key and is_level(trials[key], first))
        masses = {key: mass_g for key in passing if (mass_g := trials[key].mass_g) is not None}
        least_g = min(masses.values(), default=None)
        lightest = tuple(key for key, mass_g in masses.items() if mass_g == least_g)
        return replace(decision, outcome="satisfied", trial=first.key, level=level, lightest=lightest)
    if not measured:
        return decision
    missed = {whole.trial: whole.missed for whole in wholes}
    if undecided := [key for key in measured if key not in failing]:
        nearest = min(undecided, key=lambda key: (len(missed[key]), _slowness(trials[key])))
        open_ = _settling({key: missed[key] for key in undecided}, trials)
        return replace(decision, outcome="open", trial=nearest, open=open_)
    misses = [entry for entry in entries if entry.trial in missed]
    if not misses:  # judged by profiles that are not at hand
        return replace(decision, outcome="missed", trial=wholes[0].trial if len(wholes) == 1 else None)
    entry = least(misses, trials, missed)
    return replace(decision, outcome="missed", trial=entry.trial, relax=entry.relax)


def _slowness(trial: TrialSummary) -> tuple[bool, float]:
    """The quickest comes first, and times of inference alone, which are another figure, come last."""
    return trial.latency_quantity != "image_s", math.inf if trial.latency is None else trial.latency.median


def is_level(trial: TrialSummary, first: TrialSummary) -> bool:
    """Whether the intervals of both have a value in common, so that another run may have it otherwise."""
    mine, best = trial.latency, first.latency
    if mine is None or best is None or trial.latency_quantity != first.latency_quantity:
        return False
    return mine.low is None or best.high is None or mine.low <= best.high


def _settling(
    missed: Mapping[str, Sequence[Verdict]], trials: Mapping[str, TrialSummary]
) -> tuple[Open, ...]:
    """Requirement by requirement, those together that the same would settle."""
    groups: dict[tuple[str, str, str], list[Verdict]] = {}
    for key, verdicts in missed.items():
        for verdict in verdicts:
            by = settled_by(trials[key], verdict)
            groups.setdefault((verdict.requirement, verdict.verdict, by), []).append(verdict)
    return tuple(
        Open(
            requirement,
            group[0].quantity,
            group[0].statistic,
            "unknown" if word == "unknown" else "inconclusive",
            by,
            tuple(verdict.trial for verdict in group),
        )
        for (requirement, word, by), group in groups.items()
    )
