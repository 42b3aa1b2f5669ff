"""Verdicts: one requirement against one trial, decided by the ends of an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from edgebench.judge.core.trial import Estimate
from edgebench.judge.requirement import Requirement

Word = Literal["pass", "fail", "inconclusive", "unknown"]
WORDS: tuple[Word, ...] = ("fail", "unknown", "inconclusive", "pass")
"""Words by rank: the first of these that any requirement got is the whole profile's."""

StepKind = Literal["measure", "declare", "more sessions", "more images", "longer sessions", "resume", "relax"]


class NextStep(NamedTuple):
    """One action that would settle or change a verdict."""

    kind: StepKind
    arguments: tuple[str, ...] = ()
    """Arguments of a command, such as ("--sessions", "9")."""
    limit: float | None = None
    """Of relax: the nearest limit that the trial passes, in base units."""
    reason: str = ""


@dataclass(frozen=True)
class Verdict:
    """One requirement against one trial, in base units.

    Attributes:
        trial: key of the trial.
        profile: name of the profile.
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
