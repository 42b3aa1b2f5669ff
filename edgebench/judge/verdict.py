"""Requirement by requirement: pass, fail, inconclusive or unknown, with the margin and the reason.

A verdict comes from an interval: pass when all of it meets the limit, fail when all of it misses it,
inconclusive when the limit is inside or there is no interval, unknown when there is no figure. A bound is
an interval with one end, which is open where it leaves its own number out (above 5 W).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from edgebench.errors import EXIT_NOT_MET, EXIT_OK, EXIT_TRIALS_FAILED, EXIT_UNDECIDED
from edgebench.judge.estimates import STATED, over_workers
from edgebench.judge.figure import Certainty, Figure
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


_UNMEASURED = {
    "failed": "the trial failed",
    "unsupported": "the target does not support it",
    "not_run": "it was not measured",
}


def figure_of(summary: TrialSummary, requirement: Requirement, certainty: Certainty = STATED) -> Figure:
    """The figure in its base unit, with its reason where it or a bound of it is missing.

    A trial without a finished session has none, not even its declared mass, but it has a share of failed
    sessions; one that was emulated has none: no requirement is about an emulator. What follows from stamps
    that are too short is a lower bound alone: it fails a limit and passes none.
    """
    metric = requirement.metric
    judged, unmeasured = metric.judged, _UNMEASURED.get(summary.status, "")
    if metric.share_of == "session" and summary.failed_sessions:
        unmeasured = ""
    is_shared = summary.sharing is not None and requirement.statistic == "median"
    slowest = over_workers(summary.workers, metric.name, certainty) if is_shared else None
    slowest = slowest and slowest.no_narrower(summary.ticks.get(metric.name, 0.0))
    reasons = (
        (summary.emulated, EMULATED),
        (unmeasured, f"{unmeasured}: {summary.reason}" if summary.reason else unmeasured),
        (metric.of_machine, summary.other_machine),
        (slowest is None and not (metric.of_board or metric.is_power or metric.together), summary.unpooled),
    )
    if missing := next((reason for holds, reason in reasons if holds and reason), ""):
        return Figure(reason=missing)
    if summary.published and not (isinstance(judged, Stated) and metric.value(summary) is not None):
        return published_figure(summary, requirement)
    assert judged is not None, f"{metric.name} has statistics and nothing that judges them"
    figure = slowest or judged(summary, requirement, certainty)
    if slowest is None and metric.part and isinstance(judged, Sampled) and not judged.values(summary):
        figure = _of_its_part(figure, summary, requirement, certainty)
    if not summary.stamp_doubt or not metric.of_stamps or figure.value is None:
        return figure
    reason = "; ".join(filter(None, (summary.stamp_doubt, figure.reason)))
    return replace(figure, high=None, reason=reason, lasting=True)


def _of_its_part(
    whole: Figure, summary: TrialSummary, requirement: Requirement, certainty: Certainty
) -> Figure:
    """For a metric that was not timed: above the limit where the one that is part of it is already."""
    name, part_name = requirement.quantity, requirement.metric.part
    part = figure_of(summary, requirement.model_copy(update={"quantity": part_name}), certainty)
    if part.low is None or part.low <= requirement.base_limit:
        return whole
    reason = f"; {whole.reason}" if whole.reason else ""
    is_part = f"which is a part of {name} and at least {part.low:.4g} s,"
    what = f"{part_name} {requirement.statistic}, {is_part}"
    return Figure(low=part.low, bound="above", what=what, note=f"{name} itself is not known{reason}")


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
    alike: dict[Any, Requirement] = {}  # by question, whose hash takes long, the first that asks it
    asked = []
    for profile in profiles:
        for place, each in enumerate(profile.judged):
            question = id(alike.setdefault((each.limit, *each.question), each))
            asked.append((profile.name, each, question, place < len(profile.requirements)))
    verdicts = []
    for summary in summaries:
        answers = {id(each): judgement(summary, each) for each in alike.values()}
        for name, each, question, is_stated in asked:
            load = answers[question].figure
            ends = () if is_stated else (load.value, load.low, load.high)
            # That its schedule is kept, which a profile need not state, counts where it may not be.
            if is_stated or any(isinstance(end, float) and end > 1 for end in ends):
                verdicts.append(_verdict(summary, name, each, answers[question]))
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
        Overall(trial, profile, min(_words(group), key=WORDS.index, default="pass"), tuple(group))
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


# One requirement against one trial. Verdicts, stopping rules, other limits and decisions start from it.


@dataclass(frozen=True)
class Judgement:
    """What a figure means for a limit.

    Attributes:
        figure: in the requirement's unit.
        word: whether the figure meets the limit.
        margin: what is left to the limit, negative where it is missed; None without a value.
        reason: why, in words.
    """

    figure: Figure
    word: Word
    margin: float | None
    reason: str


def judgement(
    summary: TrialSummary,
    requirement: Requirement,
    certainty: Certainty = STATED,
    limit: float | tuple[float, ...] | None = None,
) -> Judgement:
    """One trial against one requirement; questions that are alike, of whatever name, are judged once.

    Args:
        summary: of the trial.
        requirement: that it is judged by.
        certainty: how sure the bounds have to be.
        limit: in place of the requirement's, in its unit.
    """
    asked = requirement.limit if limit is None else limit
    question = (asked, certainty, *requirement.question)
    return summary.once(question, lambda: _judged(summary, requirement, certainty, asked))


def _judged(summary: TrialSummary, requirement: Requirement, certainty: Certainty, limit: Any) -> Judgement:
    if limit != requirement.limit:
        requirement = requirement.model_copy(update={"limit": limit})
    figure = figure_of(summary, requirement, certainty).in_unit(requirement.scale)
    margin = _margin(figure, requirement)
    word = _word(figure, requirement, margin)
    judged = Judgement(figure, word, margin, _reason(word, figure))
    is_excusable = requirement.metric.suffers_from_others and not figure.declared
    if word != "fail" or not summary.interfered[0] or not is_excusable:
        return judged
    return _without_interference(summary, requirement, certainty, judged)


def _without_interference(
    summary: TrialSummary, requirement: Requirement, certainty: Certainty, failed: Judgement
) -> Judgement:
    """The verdict of the sessions that no other program disturbed, in place of a fail of all sessions.

    Fewer than MIN_SESSIONS of them leave the limit undecided. Throttling and falling clocks are the device's
    own and excuse nothing.
    """
    disturbed, sessions = summary.interfered
    others = f"{disturbed} of {sessions} sessions, which other programs disturbed"
    if summary.undisturbed is None:
        few = f"it misses the limit with {others}: {sessions - disturbed} without them are too few to decide"
        figure = replace(failed.figure, lasting=False, reason=few)
        return Judgement(figure, "inconclusive", failed.margin, few)
    judged = judgement(summary.undisturbed, requirement, certainty)
    return replace(judged, reason=f"without {others}: {judged.reason}")


def _verdict(summary: TrialSummary, profile: str, requirement: Requirement, judged: Judgement) -> Verdict:
    figure = judged.figure
    return Verdict(
        summary.key,
        profile,
        requirement.name,
        requirement.quantity,
        requirement.statistic,
        requirement.limit,
        requirement.unit,
        figure.value,
        figure.low,
        figure.high,
        judged.word,
        judged.margin,
        judged.reason,
        requirement.averaging_s,
        figure.scope,
        figure.declared,
        requirement.wanted,
        figure.bound,
    )


def is_settled(
    summary: TrialSummary, requirement: Requirement, certainty: Certainty, least_margin: float = 0.0
) -> bool:
    """Whether further sessions of the same kind leave a verdict as it is, as surely as `certainty` says.

    Settled is a pass and a fail; what is unknown, because no session brings what is missing; and what is
    inconclusive for a reason that stays, such as a meter that sees part of the board, unless that meter
    may yet fail the limit. What declared power decides is settled where no meter can. What was published
    settles nothing: a session may show otherwise.

    Args:
        summary: of the trial.
        requirement: whose verdict it is.
        certainty: how sure the bounds have to be.
        least_margin: a verdict that rests on sessions is settled only with a margin above this share of its
            limit. None is needed of what is taken once a trial, nor of a maximum that is above its limit.
    """
    judged = judgement(summary, requirement, certainty)
    figure = judged.figure
    if summary.published or figure.declared:
        return figure.lasting and not summary.published
    if judged.word == "unknown" or (judged.word == "inconclusive" and figure.lasting):
        return True
    metric, limit = requirement.metric, requirement.limit
    if figure.exact or isinstance(limit, tuple):
        return True
    is_once = figure.lasting and not (metric.of_stamps or metric.is_power)
    is_exceeded = judged.word == "fail" and requirement.statistic == "max"
    if least_margin and not (is_once or is_exceeded):
        numbers = (figure.value, figure.low, figure.high)
        known = next((number for number in numbers if isinstance(number, int | float)), limit)
        if abs(known - limit) <= least_margin * limit:
            return False
    return judged.word != "inconclusive" or (figure.ceiling is not None and figure.ceiling <= limit)


def _word(figure: Figure, requirement: Requirement, margin: float | None) -> Word:
    if figure.value is None and not figure.bound:
        return "inconclusive" if figure.undecided else "unknown"
    limit = requirement.limit
    if figure.exact or isinstance(limit, tuple):
        return "pass" if margin is not None and margin >= 0 else "fail"
    sign, best, worst, open_end = 1, figure.low, figure.high, "above"
    if requirement.at_least:
        sign, best, worst, open_end = -1, figure.high, figure.low, "below"
    # An open bound leaves its own number out: what is above 5 W misses a limit of 5 W.
    if best is not None and (sign * best > sign * limit or (best == limit and figure.bound == open_end)):
        return "fail"
    return "pass" if worst is not None and sign * worst <= sign * limit else "inconclusive"


def _margin(figure: Figure, requirement: Requirement) -> float | None:
    """What is left to the limit, negative where it is missed; of a body, the least over its sides.

    A body may be turned: its longest side is compared with the longest that is allowed.
    """
    value, limit = figure.value, requirement.limit
    if isinstance(value, tuple) and isinstance(limit, tuple):
        return min(allowed - side for allowed, side in zip(sorted(limit), sorted(value), strict=True))
    if value is None or isinstance(value, tuple) or isinstance(limit, tuple):
        return None
    return value - limit if requirement.at_least else limit - value


def _reason(word: Word, figure: Figure) -> str:
    if word == "unknown" or (word == "inconclusive" and figure.reason):
        return figure.reason
    note = f"; {figure.note}" if figure.note else ""
    if word == "inconclusive":
        return f"the limit is inside the 95 % interval{note}"
    return f"{figure.what} {'meets' if word == 'pass' else 'misses'} the limit{note}"
