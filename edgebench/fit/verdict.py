"""Requirement by requirement: pass, fail, inconclusive or unknown, with the margin and the reason.

A verdict comes from an interval: pass when all of it meets the limit, fail when all of it misses it,
inconclusive when the limit lies inside or there is no interval, unknown when there is no figure. A bound is
an interval with one end, which is open where it leaves its own number out (above 5 W).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edgebench.errors import EXIT_NOT_MET, EXIT_OK, EXIT_TRIALS_FAILED, EXIT_UNDECIDED
from edgebench.fit.figure import Certainty, Figure
from edgebench.fit.figures import figure_of
from edgebench.fit.profile import Profile
from edgebench.fit.requirement import Requirement
from edgebench.fit.trial_summary import EMULATED, TrialSummary, Verdict

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


def judge(summary: TrialSummary, profile: Profile) -> list[Verdict]:
    """One verdict a requirement, in the profile's order."""
    return [judge_one(summary, profile.name, requirement) for requirement in profile.requirements]


def judge_all(summaries: Sequence[TrialSummary], profiles: Sequence[Profile]) -> list[Verdict]:
    """Every trial against every profile: by trial, then profile, then requirement."""
    return [verdict for summary in summaries for profile in profiles for verdict in judge(summary, profile)]


def overall(verdicts: Sequence[Verdict]) -> list[Overall]:
    """The verdicts of each trial against each profile as one word, in the order given.

    fail if any requirement fails, else unknown if any is, else inconclusive if any is, else pass; what is
    wanted alone does not count.
    """
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.trial, verdict.profile), []).append(verdict)
    return [
        Overall(
            trial,
            profile,
            _worst([verdict for verdict in group if not verdict.wanted]),
            tuple(group),
        )
        for (trial, profile), group in groups.items()
    ]


def _worst(verdicts: Sequence[Verdict]) -> Word:
    given = {verdict.verdict for verdict in verdicts}
    return next((word for word in WORDS if word in given), "pass")


def exit_code(verdicts: Sequence[Verdict], summaries: Sequence[TrialSummary], strict: bool) -> int:
    """The exit code that a judged experiment deserves: 5 before 3 before 4 before 0.

    5: a trial failed, or lacks sessions because some failed, or is of a variant that was asked for by name
    and that the device does not take; what the others came to stands, but the comparison that was asked
    for is not all there. 3: a requirement is not met. 4, only under `strict`: one is inconclusive or
    unknown. What is wanted alone does not count. A variant that nobody named and that the device does not
    take is no failure.
    """
    if any(_lacks_what_was_asked(summary) for summary in summaries):
        return EXIT_TRIALS_FAILED
    words = {verdict.verdict for verdict in verdicts if not verdict.wanted}
    if "fail" in words:
        return EXIT_NOT_MET
    if strict and words & {"inconclusive", "unknown"}:
        return EXIT_UNDECIDED
    return EXIT_OK


def _lacks_what_was_asked(summary: TrialSummary) -> bool:
    if summary.status == "unsupported":
        return summary.requested
    return summary.status == "failed" or (summary.status == "partial" and bool(summary.failures))


def is_settled(summary: TrialSummary, requirement: Requirement, certainty: Certainty) -> bool:
    """Whether further sessions of the same kind leave a verdict as it is, as surely as `certainty` says.

    Settled is a pass and a fail; what is unknown, because no session brings what is missing; and what is
    inconclusive for a reason that stays, such as a meter that sees part of the board, unless that meter
    may yet fail the limit. What declared power decides is settled where no meter can. What was published
    settles nothing: a session may show otherwise.
    """
    if summary.published:
        return False
    figure = figure_of(summary, requirement, certainty).in_unit(requirement.scale)
    if figure.declared:
        return figure.lasting
    if _word(figure, requirement) != "inconclusive" or figure.lasting:
        return True
    limit = requirement.limit
    return figure.ceiling is not None and not isinstance(limit, tuple) and figure.ceiling <= limit


def judge_one(summary: TrialSummary, profile: str, requirement: Requirement) -> Verdict:
    """One trial against one requirement of the profile of that name."""
    figure = _unmeasured(summary, requirement) or figure_of(summary, requirement).in_unit(requirement.scale)
    word = _word(figure, requirement)
    return Verdict(
        trial=summary.key,
        profile=profile,
        requirement=requirement.name,
        quantity=requirement.quantity,
        statistic=requirement.statistic,
        limit=requirement.limit,
        unit=requirement.unit,
        value=figure.value,
        low=figure.low,
        high=figure.high,
        verdict=word,
        margin=_margin(figure, requirement),
        reason=_reason(word, figure, requirement),
        averaging_s=requirement.averaging_s,
        scope=figure.scope,
        declared=figure.declared,
        wanted=requirement.wanted,
        bound=figure.bound,
    )


def _unmeasured(summary: TrialSummary, requirement: Requirement) -> Figure | None:
    """Nothing can be said of a trial without a finished session, not even of its declared mass; but that its
    sessions failed.

    Nor of one that was emulated: no requirement is about an emulator.
    """
    if summary.emulated:
        return Figure(reason=EMULATED)
    words = {
        "failed": "the trial failed",
        "unsupported": "the target does not support it",
        "not_run": "it was not measured",
    }
    if summary.status not in words or (requirement.metric.judged == "failures" and summary.failed_sessions):
        return None
    return Figure(
        reason=f"{words[summary.status]}: {summary.reason}" if summary.reason else words[summary.status]
    )


def _word(figure: Figure, requirement: Requirement) -> Word:
    if figure.value is None and not figure.bound:
        return "inconclusive" if figure.undecided else "unknown"
    limit = requirement.limit
    if figure.exact or isinstance(limit, tuple):
        margin = _margin(figure, requirement)
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

    A body may be turned: its longest side is held against the longest that is allowed.
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
        return f"the limit lies inside the 95 % interval{note}"
    verb = "meets" if word == "pass" else "misses"
    return f"{figure.what} {verb} the limit{note}"
