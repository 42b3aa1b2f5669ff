"""Verdicts: one requirement against one trial, decided by the ends of an estimate.

An estimate passes a limit where all of its interval meets it, fails where all of it misses it, and leaves it
open where the limit is inside or an end is missing. Without an estimate the verdict is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from edgebench.errors import EXIT_NOT_MET, EXIT_OK, EXIT_TRIALS_FAILED, EXIT_UNDECIDED
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.trial import EMULATED, MISSING, STATED, Certainty, Conditions, Estimate, Trial
from edgebench.texts import joined

Word = Literal["pass", "fail", "inconclusive", "unknown"]
WORDS: tuple[Word, ...] = ("fail", "unknown", "inconclusive", "pass")
"""Words by rank: the first of these that any requirement got is the whole profile's."""

Limit = float | tuple[float, ...]
"""One number, or the three sides of a size."""

StepKind = Literal["measure", "declare", "more sessions", "more images", "longer sessions", "resume", "relax"]


@dataclass(frozen=True)
class NextStep:
    """One action that would settle or change a verdict."""

    kind: StepKind
    """Kind: measure or declare what is missing, more or longer sessions, more images, resume the run, relax
    the limit. Source: fit."""
    arguments: tuple[str, ...] = ()
    """Arguments of a command, such as ("--sessions", "9"); empty for a step without one. Source: fit."""
    limit: Limit | None = None
    """Nearest limit that the trial passes, for relax, in the requirement's unit. Null for other kinds.
    Source: fit."""
    reason: str = ""
    """Amount or condition in words, such as "some 9 sessions". Source: fit."""

    def in_unit(self, scale: float) -> NextStep:
        """Same step with its limit in a unit of `scale` base units."""
        if self.limit is None:
            return self
        if isinstance(self.limit, tuple):
            return replace(self, limit=tuple(side / scale for side in self.limit))
        return replace(self, limit=self.limit / scale)


@dataclass(frozen=True)
class Verdict:
    """One requirement against one trial, in base units.

    Attributes:
        trial: key of the trial.
        profile: name of the profile; empty where the requirement is of none.
        requirement: the requirement.
        estimate: estimate that decided.
        word: pass, fail, inconclusive (the data cannot decide) or unknown (there is no estimate).
        limit: limit in base units; of a size that of the side with the least margin.
        margin: distance from the value to the limit, negative where it is missed; None without a value.
        reason: cause of the word, as a sentence.
    """

    trial: str
    profile: str
    requirement: Requirement
    estimate: Estimate
    word: Word
    limit: float
    margin: float | None
    reason: str = ""


def word_of(estimate: Estimate, limit: float, at_least: bool) -> Word:
    """Word for an estimate against a limit in the same unit."""
    low, high = estimate.low, estimate.high
    if estimate.is_missing:
        return "inconclusive" if estimate.n else "unknown"
    best, worst, sign = (high, low, -1) if at_least else (low, high, 1)
    if best is not None and (sign * best > sign * limit or (estimate.strict and best == limit)):
        return "fail"
    met = worst is not None and sign * worst <= sign * limit and not estimate.objection
    return "pass" if met else "inconclusive"


# Estimates that may decide a requirement, with the rules that hold for every metric.


_UNMEASURED = {
    "failed": "the trial failed",
    "unsupported": "the target does not support it",
    "not_run": "it was not measured",
}


def estimates_for(
    trial: Trial, requirement: Requirement, certainty: Certainty = STATED
) -> tuple[Estimate, ...]:
    """Estimates that may decide a requirement, the one that represents the trial first.

    A trial without a finished session has none, not even its declared mass, but it has a share of failed
    sessions. An emulated trial has none. Stamps that are too short make a lower bound, which fails a limit
    and passes none. A part, such as infer_s of image_s, bounds an untimed whole from below.
    """
    metric = requirement.metric
    if missing := _missing_reason(trial, metric):
        return (Estimate(reason=missing),)
    conditions = Conditions(
        requirement.statistic,
        certainty,
        requirement.averaging_s,
        requirement.schedule,
        requirement.uplink_bps,
    )
    question = ("estimates", metric.name, conditions)
    return trial.once(question, lambda: _estimates_of(trial, metric, conditions))


def _missing_reason(trial: Trial, metric: Metric) -> str:
    """Reason why no estimate of a trial counts; empty where its own say so."""
    if trial.is_emulated:
        return EMULATED
    unmeasured = _UNMEASURED.get(trial.status, "")
    if unmeasured and not (metric.share_of == "session" and trial.estimate(metric.name).n):
        return f"{unmeasured}: {trial.reason}" if trial.reason else unmeasured
    return trial.doubts.get("machine", "") if metric.of_machine else ""


def _estimates_of(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    if trial.is_published:
        estimates = tuple(estimate for _, estimate in trial.estimates_of(metric.name))
    else:
        estimates = metric.estimates(trial, metric, conditions)
    combined, *_ = estimates = estimates or (MISSING,)
    if trial.is_published and conditions.statistic != metric.statistics[0] and not combined.is_missing:
        other = f"published is the {metric.statistics[0]} of {metric.name}, and not its"
        estimates = (Estimate(reason="; ".join((f"{other} {conditions.statistic}", *combined.notes))),)
    if metric.part and combined.is_missing:
        part = METRICS[metric.part]
        for lower in part.estimates(trial, part, conditions):
            least = lower.value if trial.is_published and lower.value is not None else lower.low
            if least is not None:
                note = f"{part.name}, a part of {metric.name}, is at least {least:.4g} {part.unit}"
                bound = Estimate(low=least, n=lower.n, basis=lower.basis, strict=lower.strict)
                reason = "" if trial.is_published else combined.reason
                estimates = *estimates, bound.with_notes(note, *lower.notes, reason)
    if (doubt := trial.doubts.get("stamps", "")) and metric.follows_stamps:
        return tuple(_objected(estimate, doubt) for estimate in estimates)
    return estimates


def _objected(estimate: Estimate, doubt: str) -> Estimate:
    """Estimate without its upper end, which the doubt makes unknown."""
    if estimate.value is None:
        return estimate
    return replace(estimate, high=None, objection=joined(doubt, estimate.objection), final=True)


def _decisive(estimates: Sequence[Estimate], limit: float, at_least: bool) -> Estimate:
    """Estimate that decides: measured ones before declared ones, a fail before a pass, else the first."""
    measured = [estimate for estimate in estimates if not estimate.basis.startswith("declared")]
    declared = [estimate for estimate in estimates if estimate.basis.startswith("declared")]
    for group in (measured, declared):
        by_word = {word_of(estimate, limit, at_least): estimate for estimate in reversed(group)}
        for word in ("fail", "pass"):
            if word in by_word:
                return by_word[word]
    return estimates[0]


# Verdicts of one trial on one requirement. Stopping, other limits and decisions start from them.


def verdict_of(
    trial: Trial,
    requirement: Requirement,
    certainty: Certainty = STATED,
    limit: float | None = None,
) -> Verdict:
    """Verdict on one trial; equal questions, of whatever name, are judged once.

    Args:
        trial: the trial.
        requirement: the requirement; not of a size if `limit` is given.
        certainty: confidence of the ends.
        limit: limit in base units in place of the requirement's.
    """
    limits = (limit,) if limit is not None else tuple(reversed(requirement.sides))
    question: Hashable = ("verdict", limits, certainty, *requirement.question)
    return trial.once(question, lambda: _judged(trial, requirement, certainty, limits))


def _judged(
    trial: Trial, requirement: Requirement, certainty: Certainty, limits: tuple[float, ...]
) -> Verdict:
    metric, at_least = requirement.metric, requirement.at_least
    estimates = estimates_for(trial, requirement, certainty)
    if len(limits) == 1:
        estimate, limit = _decisive(estimates, limits[0], at_least), limits[0]
    elif len(estimates) != len(limits):
        estimate, limit = estimates[0], limits[0]
    else:
        # A body may be turned: its longest side is compared with the longest that is allowed.
        sides = zip(estimates, limits, strict=True)
        estimate, limit = min(sides, key=lambda side: side[1] - (side[0].value or 0.0))
    margin = None
    if estimate.value is not None:
        margin = estimate.value - limit if at_least else limit - estimate.value
    word = word_of(estimate, limit, at_least)
    verdict = Verdict(trial.key, "", requirement, estimate, word, limit, margin, _reason(word, estimate))
    is_excusable = metric.suffers_from_others and not estimate.basis.startswith("declared")
    if word != "fail" or not trial.disturbed[0] or not is_excusable:
        return verdict
    return _without_disturbed(trial, verdict, certainty, limits)


def _without_disturbed(
    trial: Trial, failed: Verdict, certainty: Certainty, limits: tuple[float, ...]
) -> Verdict:
    """Verdict of the sessions that no other program disturbed, in place of a fail of all sessions.

    Fewer than MIN_SESSIONS of them leave the limit undecided. Throttling and falling clocks are the device's
    own and excuse nothing.
    """
    disturbed, sessions = trial.disturbed
    others = f"{disturbed} of {sessions} sessions, which other programs disturbed"
    if trial.undisturbed is None:
        few = f"it misses the limit with {others}: {sessions - disturbed} without them are too few to decide"
        estimate = replace(failed.estimate, final=False, reason=few)
        return replace(failed, estimate=estimate, word="inconclusive", reason=few)
    verdict = verdict_of(trial.undisturbed, failed.requirement, certainty, limits[0])
    return replace(verdict, reason=f"without {others}: {verdict.reason}")


def _reason(word: Word, estimate: Estimate) -> str:
    sources = estimate.notes if estimate.basis == "published" else ()
    cause = joined(estimate.objection, estimate.reason, *sources)
    if word == "unknown" or (word == "inconclusive" and (estimate.objection or estimate.reason)):
        return cause
    if word == "inconclusive":
        sentence = "the limit is inside the 95 % interval"
    else:
        ends = [end for end in (estimate.low, estimate.high) if end is not None]
        noun = "the value" if estimate.is_exact else "the whole interval" if len(ends) == 2 else "the bound"
        sentence = f"{noun} {'meets' if word == 'pass' else 'misses'} the limit"
    return "; ".join((sentence, *estimate.notes))


def is_settled(
    trial: Trial, requirement: Requirement, certainty: Certainty, least_margin: float = 0.0
) -> bool:
    """Tell whether further sessions of the same kind leave a verdict as it is, as surely as `certainty` says.

    Settled is a pass and a fail; an unknown verdict, because no session brings its estimate; and an
    inconclusive one for a reason that stays, such as a meter of a part of the board, unless that meter may
    yet fail the limit. A declared number settles where no meter can decide. A published one settles nothing:
    a session may show otherwise.

    Args:
        trial: the trial.
        requirement: the requirement.
        certainty: confidence of the ends.
        least_margin: a verdict that rests on sessions is settled only with a margin above this share of its
            limit. None is needed of a number that is taken once a trial, nor of a maximum above its limit.
    """
    verdict, metric = verdict_of(trial, requirement, certainty), requirement.metric
    estimate, limit = verdict.estimate, verdict.limit
    if trial.is_published:
        return False
    if estimate.basis in ("declared maximum", "declared typical"):
        return all(
            measured.value is None or measured.final or _stays_below(measured, limit)
            for measured in estimates_for(trial, requirement, certainty)
            if not measured.basis.startswith("declared")
        )
    is_recorded = estimate.is_exact and estimate.final
    if verdict.word == "unknown" or (verdict.word == "inconclusive" and estimate.final) or is_recorded:
        return True
    is_once = estimate.final and not (metric.follows_stamps or metric.is_power)
    is_exceeded = verdict.word == "fail" and requirement.statistic == "max"
    if least_margin and not (is_once or is_exceeded):
        ends = (end for end in (estimate.value, estimate.low, estimate.high) if end is not None)
        # An overload has no end from which a margin could be told.
        if abs(next(filter(math.isfinite, ends), limit) - limit) <= least_margin * limit:
            return False
    return verdict.word != "inconclusive" or _stays_below(estimate, limit)


def _stays_below(estimate: Estimate, limit: float) -> bool:
    """Tell whether an estimate with an objection, which passes no limit, does not fail this one either."""
    return bool(estimate.objection) and estimate.high is not None and estimate.high <= limit


# Verdicts of all trials on all profiles, and their sum.


@dataclass(frozen=True)
class Overall:
    """One trial against one profile as a whole."""

    trial: str
    profile: str
    verdict: Word
    verdicts: tuple[Verdict, ...]

    @cached_property
    def missed(self) -> list[Verdict]:
        """Verdicts that keep the trial from passing."""
        return [
            verdict for verdict in self.verdicts if not verdict.requirement.wanted and verdict.word != "pass"
        ]


def judge_all(trials: Sequence[Trial], profiles: Sequence[Profile]) -> list[Verdict]:
    """Every trial against every profile: by trial, then profile, then requirement.

    A verdict on the schedule of a profile is added where an end of its load is above 1.
    """
    # Hashing a question is slow, so equal requirements are judged once.
    places: dict[Hashable, int] = {}
    first: list[Requirement] = []
    entries = []
    for profile in profiles:
        for number, requirement in enumerate(profile.judged):
            place = places.setdefault((requirement.limit, *requirement.question), len(first))
            if place == len(first):
                first.append(requirement)
            entries.append((profile.name, requirement, place, number < len(profile.requirements)))
    verdicts = []
    for trial in trials:
        verdicts_of = [verdict_of(trial, requirement) for requirement in first]
        for name, requirement, place, is_stated in entries:
            judged = verdicts_of[place]
            ends = () if is_stated else (judged.estimate.value, judged.estimate.low, judged.estimate.high)
            # An implied requirement, that the schedule is kept, counts where it may not be.
            if is_stated or any(end is not None and end > 1 for end in ends):
                verdicts.append(replace(judged, profile=name, requirement=requirement))
    return verdicts


def overall(verdicts: Sequence[Verdict]) -> list[Overall]:
    """Verdicts of each trial against each profile as one word, in the order given.

    fail if any requirement fails, else unknown if any is, else inconclusive if any is, else pass; a wish
    does not count.
    """
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.trial, verdict.profile), []).append(verdict)
    return [
        Overall(trial, profile, min(_required(group), key=WORDS.index, default="pass"), tuple(group))
        for (trial, profile), group in groups.items()
    ]


def _required(verdicts: Sequence[Verdict]) -> set[Word]:
    """Words without those of wishes."""
    return {verdict.word for verdict in verdicts if not verdict.requirement.wanted}


def exit_code(verdicts: Sequence[Verdict], trials: Sequence[Trial], strict: bool) -> int:
    """Exit code of a judged experiment: 5 before 3 before 4 before 0.

    5: a trial failed, or lacks sessions because some failed, or is of a variant that was named and that the
    device does not take: the comparison is not complete. 3: a requirement is not met. 4, only under
    `strict`: one is inconclusive or unknown. Wishes do not count. A variant that was not named and that the
    device does not take is no failure.
    """
    lacking = (
        trial.requested
        if trial.status == "unsupported"
        else trial.status == "failed" or (trial.status == "partial" and trial.failures)
        for trial in trials
    )
    if any(lacking):
        return EXIT_TRIALS_FAILED
    required = _required(verdicts)
    undecided = EXIT_UNDECIDED if strict and required & {"inconclusive", "unknown"} else EXIT_OK
    return EXIT_NOT_MET if "fail" in required else undecided
