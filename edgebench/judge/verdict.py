"""Requirement by requirement: pass, fail, inconclusive or unknown, with the margin and the reason.

A verdict comes from an interval: pass when all of it meets the limit, fail when all of it misses it,
inconclusive when the limit is inside or there is no interval, unknown when there is no figure. A bound is
an interval with one end, which is open where it leaves its own number out (above 5 W).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from edgebench.errors import EXIT_NOT_MET, EXIT_OK, EXIT_TRIALS_FAILED, EXIT_UNDECIDED
from edgebench.judge.figure import STATED, Certainty, Figure
from edgebench.judge.metric import Sampled, Stated
from edgebench.judge.profile import Profile
from edgebench.judge.requirement import Requirement
from edgebench.judge.trial_summary import EMULATED, TrialSummary, Verdict

# What published figures can say about a limit.
#
# | published | verdict |
# | --- | --- |
# | k of n | as of a measured share, by its Wilson interval |
# | a bound in words, such as "exceeds 5 W peak" | pass or fail where all of it meets or misses the limit |
# | a bound that leaves the limit open | inconclusive |
# | a number without an interval | inconclusive: how far it is off was not published |
# | infer_s above a limit of image_s, of which no number was published | fail: image_s is never shorter |
# | a picture, another statistic, nothing | unknown |
#
# A source that speaks of peak power without saying over what it is averaged is judged as it stands, with a
# note. Sources are not added up: infer_s below a limit of image_s leaves that open. Mass and size are those
# of
# the trial's boards.


def published_figure(summary: TrialSummary, asked: Requirement) -> Figure:
    """The figure that a requirement asks of a published trial, with its source; in its base unit."""
    known = {figure.quantity: figure for figure in summary.published}
    figure = known.get(asked.quantity)
    part = known.get(asked.metric.part)
    least_s = part and (part.low if part.value is None else part.value)
    if part and least_s and least_s > asked.base_limit and not (figure and (figure.value or figure.bound)):
        whole = f"which is a part of {asked.quantity} and at least {least_s:.4g} s,"
        what = f"the published {part.quantity}, {whole}"
        return Figure(low=least_s, bound="at least", what=what, note=part.quote)
    if figure is None:
        return Figure(reason=summary.unpublished(asked.quantity))
    if asked.statistic != figure.statistic:
        published = f"published is the {figure.statistic} of {figure.quantity}"
        return Figure(reason=f"{published}, and not its {asked.statistic}: {figure.quote}")
    if figure.value is None and not figure.bound:
        return Figure(reason=f"published as a picture, from which no number is read: {figure.quote}")
    notes = [f"it covers {figure.covers}"] if figure.covers else []
    if asked.averaging_s is not None:
        notes.append("over what time it is averaged was not published")
    unit = "" if asked.metric.unit == "1" else f" {asked.metric.unit}"
    sourced = "; ".join([figure.quote, *notes])
    if not figure.bound and figure.k is None:
        scaled = f" (the published number times {figure.scaled:g})" if figure.scaled > 1 else ""
        reason = f"{figure.value:.4g}{unit}{scaled} was published without an interval: {sourced}"
        return Figure(figure.value, reason=reason)
    what = f"the whole Wilson interval of the published {figure.k} of {figure.n}"
    reason = f"the limit is inside the Wilson interval of {figure.k} of {figure.n}; {sourced}"
    if figure.bound:
        end = figure.high if figure.low is None else figure.low
        what = f"the published bound, {figure.bound} {end:g}{unit},"
        reason = f"what was published leaves it open: {sourced}"
    return Figure(
        figure.value, figure.low, figure.high, bound=figure.bound, reason=reason, what=what, note=sourced
    )


# The figure that a requirement asks for, from a trial's summary, as the metric's entry says.


def figure_of(summary: TrialSummary, requirement: Requirement, certainty: Certainty = STATED) -> Figure:
    """The figure in its base unit, with its reason where it or a bound of it is missing.

    What follows from stamps that are too short is a lower bound alone: it fails a limit and passes none.
    """
    figure = _figure_of(summary, requirement, certainty)
    if not summary.stamp_doubt or not requirement.metric.of_stamps or figure.value is None:
        return figure
    reason = "; ".join(part for part in (summary.stamp_doubt, figure.reason) if part)
    return replace(figure, high=None, reason=reason, lasting=True)


def _figure_of(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> Figure:
    metric = requirement.metric
    judged = metric.judged
    if summary.published and not (isinstance(judged, Stated) and metric.value(summary) is not None):
        return published_figure(summary, requirement)
    if summary.other_machine and metric.of_machine:
        return Figure(reason=summary.other_machine)
    if summary.unpooled and not (metric.of_board or metric.is_power):
        return Figure(reason=summary.unpooled)
    assert judged is not None, f"{metric.name} has statistics and nothing that judges them"
    figure = judged(summary, requirement, certainty)
    if metric.part and isinstance(judged, Sampled) and not judged.values(summary):
        return _of_its_part(figure, summary, requirement, certainty)
    return figure


def _of_its_part(
    whole: Figure, summary: TrialSummary, requirement: Requirement, certainty: Certainty
) -> Figure:
    """For a metric that was not timed: above the limit where the one that is part of it is already."""
    name, part_name = requirement.quantity, requirement.metric.part
    part = figure_of(summary, requirement.model_copy(update={"quantity": part_name}), certainty)
    if part.low is None or part.low <= requirement.base_limit:
        return whole
    reason = f"; {whole.reason}" if whole.reason else ""
    statistic = requirement.statistic
    return Figure(
        low=part.low,
        bound="above",
        what=f"{part_name} {statistic}, which is a part of {name} and at least {part.low:.4g} s,",
        note=f"{name} itself is not known{reason}",
    )


Word = Literal["pass", "fail", "inconclusive", "unknown"]
WORDS: tuple[Word, ...] = ("fail", "unknown", "inconclusive", "pass")
"""The first of these that any requirement got is the whole profile's."""


@dataclass(frozen=True)
class Overall:
    """One trial against one profile as a whole."""

    trial: str
    profile: str
    verdict: Word
    verdicts: tuple[Verdict, ...]

    @cached_property
    def missed(self) -> list[Verdict]:
        """What keeps the trial from passing."""
        return [verdict for verdict in self.verdicts if not verdict.wanted and verdict.verdict != "pass"]


def judge(summary: TrialSummary, profile: Profile) -> list[Verdict]:
    """One verdict a requirement, in the profile's order; one on its schedule where that is not kept for sure.

    Where the load is not known, or no interval of it reaches above 1, the other requirements decide.
    """
    return judge_all([summary], [profile])


def judge_all(summaries: Sequence[TrialSummary], profiles: Sequence[Profile]) -> list[Verdict]:
    """Every trial against every profile: by trial, then profile, then requirement."""
    implied = [profile.implied for profile in profiles]
    verdicts = []
    for summary in summaries:
        for profile, on_schedule in zip(profiles, implied, strict=True):
            verdicts += [judge_one(summary, profile.name, each) for each in profile.requirements]
            if on_schedule is not None:
                kept = _outcome(summary, on_schedule)[0]
                if any(isinstance(end, float) and end > 1 for end in (kept.value, kept.low, kept.high)):
                    verdicts.append(judge_one(summary, profile.name, on_schedule))
    return verdicts


def overall(verdicts: Sequence[Verdict]) -> list[Overall]:
    """The verdicts of each trial against each profile as one word, in the order given.

    fail if any requirement fails, else unknown if any is, else inconclusive if any is, else pass; what is
    wanted alone does not count.
    """
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.trial, verdict.profile), []).append(verdict)
    return [
        Overall(trial, profile, next((word for word in WORDS if word in _words(group)), "pass"), tuple(group))
        for (trial, profile), group in groups.items()
    ]


def _words(verdicts: Sequence[Verdict]) -> set[Word]:
    """What was given, without what is wanted alone."""
    return {verdict.verdict for verdict in verdicts if not verdict.wanted}


def exit_code(verdicts: Sequence[Verdict], summaries: Sequence[TrialSummary], strict: bool) -> int:
    """The exit code that a judged experiment deserves: 5 before 3 before 4 before 0.

    5: a trial failed, or lacks sessions because some failed, or is of a variant that was asked for by name
    and that the device does not take; what the others came to stands, but the comparison that was asked
    for is not all there. 3: a requirement is not met. 4, only under `strict`: one is inconclusive or
    unknown. What is wanted alone does not count. A variant that was not asked for by name and that the
    device does not take is no failure.
    """
    lacking = (
        summary.requested
        if summary.status == "unsupported"
        else summary.status == "failed" or (summary.status == "partial" and summary.failures)
        for summary in summaries
    )
    if any(lacking):
        return EXIT_TRIALS_FAILED
    words = _words(verdicts)
    undecided = EXIT_UNDECIDED if strict and words & {"inconclusive", "unknown"} else EXIT_OK
    return EXIT_NOT_MET if "fail" in words else undecided


def is_settled(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> bool:
    """Whether further sessions of the same kind leave a verdict as it is, as surely as `certainty` says.

    Settled is a pass and a fail; what is unknown, because no session brings what is missing; and what is
    inconclusive for a reason that stays, such as a meter that sees part of the board, unless that meter
    may yet fail the limit. What declared power decides is settled where no meter can. What was published
    settles nothing: a session may show otherwise.
    """
    if summary.published:
        return False
    figure, word, _, _ = _judged(summary, requirement, certainty)
    if figure.declared:
        return figure.lasting
    if word != "inconclusive" or figure.lasting:
        return True
    limit = math.inf if isinstance(requirement.limit, tuple) else requirement.limit
    return figure.ceiling is not None and figure.ceiling <= limit


def judge_one(summary: TrialSummary, profile: str, requirement: Requirement) -> Verdict:
    """One trial against one requirement of the profile of that name; what is asked alike is judged once."""
    figure, word, margin, reason = _outcome(summary, requirement)
    asked = {
        name: getattr(requirement, name)
        for name in ("quantity", "statistic", "limit", "unit", "averaging_s", "wanted")
    }
    known = {name: getattr(figure, name) for name in ("value", "low", "high", "scope", "declared", "bound")}
    about: dict[str, Any] = {"trial": summary.key, "profile": profile, "requirement": requirement.name}
    return Verdict(**about, **asked, **known, verdict=word, margin=margin, reason=reason)


def _outcome(summary: TrialSummary, requirement: Requirement) -> tuple[Figure, Word, float | None, str]:
    question = (requirement.limit, *requirement.question)
    return summary.once(question, lambda: _judged(summary, requirement))


def _judged(
    summary: TrialSummary, requirement: Requirement, certainty: Certainty = STATED
) -> tuple[Figure, Word, float | None, str]:
    """The one way from a figure to its verdict: reports, stopping rules and other limits all take it."""
    figure = _unmeasured(summary, requirement)
    figure = figure or figure_of(summary, requirement, certainty).in_unit(requirement.scale)
    margin = _margin(figure, requirement)
    word = _word(figure, requirement, margin)
    return figure, word, margin, _reason(word, figure, requirement)


_UNMEASURED = {
    "failed": "the trial failed",
    "unsupported": "the target does not support it",
    "not_run": "it was not measured",
}


def _unmeasured(summary: TrialSummary, requirement: Requirement) -> Figure | None:
    """A trial without a finished session has no verdict, not even on its declared mass; but on the share of
    failed sessions it has.

    Nor has one that was emulated: no requirement is about an emulator.
    """
    if summary.emulated:
        return Figure(reason=EMULATED)
    why = _UNMEASURED.get(summary.status)
    if why is None or (requirement.metric.share_of == "session" and summary.failed_sessions):
        return None
    return Figure(reason=f"{why}: {summary.reason}" if summary.reason else why)


def _word(figure: Figure, requirement: Requirement, margin: float | None) -> Word:
    if figure.value is None and not figure.bound:
        return "inconclusive" if figure.undecided else "unknown"
    limit = requirement.limit
    if figure.exact or isinstance(limit, tuple):
        return "pass" if margin is not None and margin >= 0 else "fail"
    best, worst = (figure.high, figure.low) if requirement.at_least else (figure.low, figure.high)
    # An open bound leaves its own number out: what lies above 5 W misses a limit of 5 W.
    if best is not None and best == limit and figure.bound == ("below" if requirement.at_least else "above"):
        return "fail"
    misses = best is not None and (best < limit if requirement.at_least else best > limit)
    meets = worst is not None and (worst >= limit if requirement.at_least else worst <= limit)
    return "fail" if misses else "pass" if meets else "inconclusive"


def _margin(figure: Figure, requirement: Requirement) -> float | None:
    """What is left to the limit, negative where it is missed; of a body, the least over its sides.

    A body may be turned: its longest side is compared with the longest that is allowed.
    """
    value, limit = figure.value, requirement.limit
    if value is None:
        return None
    if isinstance(value, tuple) and isinstance(limit, tuple):
        return min(allowed - side for allowed, side in zip(sorted(limit), sorted(value), strict=True))
    if isinstance(value, tuple) or isinstance(limit, tuple):
        return None
    return value - limit if requirement.at_least else limit - value


def _reason(word: Word, figure: Figure, requirement: Requirement) -> str:
    if word == "unknown" or (word == "inconclusive" and figure.reason):
        return figure.reason
    note = f"; {figure.note}" if figure.note else ""
    if word == "inconclusive":
        return f"the limit is inside the 95 % interval{note}"
    verb = "meets" if word == "pass" else "misses"
    return f"{figure.what} {verb} the limit{note}"
