"""Verdicts grouped for reading: what holds for one trial, and what many trials share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edgebench.fit.types import Verdict
from edgebench.report import words

Word = Literal["pass", "fail", "inconclusive", "unknown"]

LATENCY = ("image_s", "infer_s")
WORDS: tuple[Word, ...] = ("fail", "unknown", "inconclusive", "pass")
"""From what settles most to what settles least: the first one found is the whole profile's."""


def overall(verdicts: Sequence[Verdict]) -> Word:
    """One word for a trial against a profile: the weakest of its requirements' verdicts."""
    found = {verdict.verdict for verdict in verdicts}
    return next((word for word in WORDS if word in found), "unknown")


def profiles(verdicts: Sequence[Verdict]) -> list[str]:
    """The profiles' names in the order in which they were judged."""
    return list(dict.fromkeys(verdict.profile for verdict in verdicts))


def by_trial_and_profile(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], list[Verdict]]:
    """The verdicts of each trial against each profile, in order."""
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.trial, verdict.profile), []).append(verdict)
    return found


@dataclass(frozen=True)
class Shared:
    """One requirement with one verdict, and for how many trials it holds.

    Attributes:
        requirement: as a formula, `power_peak_w max ≤ 5 W`.
        word: the verdict.
        profiles: the profiles that state this very requirement, in order.
        trials: keys of the trials with this verdict.
        of: how many trials were judged against it.
        reasons: the different reasons, commonest first.
        margins: least and greatest margin, where there are any.
        unit: of the margins.
    """

    requirement: str
    word: Word
    profiles: tuple[str, ...]
    trials: tuple[str, ...]
    of: int
    reasons: tuple[str, ...]
    margins: tuple[float, float] | None
    unit: str

    def sentence(self) -> str:
        """The group in one sentence, for below a table."""
        count = len(self.trials)
        everyone = {1: "the one trial", 2: "both trials"}.get(self.of, f"all {self.of} trials")
        which = everyone if count == self.of else f"{count} of {self.of} trials"
        text = f"{self.requirement}: {self.word} for {which}"
        if len(self.reasons) == 1:
            return f"{text}: {self.reasons[0]}"
        if self.margins is not None:
            low, high = (words.signed(margin) for margin in self.margins)
            text += f", margin {low}{self.unit}" + (f" to {high}{self.unit}" if low != high else "")
        elif self.reasons:
            text += f": {self.reasons[0]} (and {words.counted(len(self.reasons) - 1, 'other reason')})"
        return text


def shared(verdicts: Sequence[Verdict]) -> list[Shared]:
    """Every requirement with every verdict it got, each once, however many trials and profiles share it."""
    judged: dict[str, set[str]] = {}
    groups: dict[tuple[str, Word], list[Verdict]] = {}
    for verdict in verdicts:
        requirement = words.limit(verdict)
        judged.setdefault(requirement, set()).add(verdict.trial)
        groups.setdefault((requirement, verdict.verdict), []).append(verdict)
    return [
        _shared(requirement, word, group, len(judged[requirement]))
        for (requirement, word), group in sorted(
            groups.items(), key=lambda item: (list(judged).index(item[0][0]), WORDS.index(item[0][1]))
        )
    ]


def _shared(requirement: str, word: Word, group: Sequence[Verdict], of: int) -> Shared:
    reasons: dict[str, int] = {}
    for verdict in group:
        if verdict.reason:
            text = words.plain(verdict.reason)
            reasons[text] = reasons.get(text, 0) + 1
    margins = [verdict.margin for verdict in group if verdict.margin is not None]
    return Shared(
        requirement=requirement,
        word=word,
        profiles=tuple(dict.fromkeys(verdict.profile for verdict in group)),
        trials=tuple(dict.fromkeys(verdict.trial for verdict in group)),
        of=of,
        reasons=tuple(sorted(reasons, key=lambda reason: -reasons[reason])),
        margins=(min(margins), max(margins)) if margins else None,
        unit=words.unit(group[0]),
    )
