"""Verdicts grouped for reading: what holds for one trial, and what many trials share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from edgebench.fit.types import TrialSummary, Verdict
from edgebench.fit.verdict import WORDS, Overall, Word, overall
from edgebench.report import words

LATENCY = ("image_s", "infer_s")


def profiles(verdicts: Sequence[Verdict]) -> list[str]:
    """The profiles' names in the order in which they were judged."""
    return list(dict.fromkeys(verdict.profile for verdict in verdicts))


def wholes(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], Overall]:
    """Each trial against each profile as a whole, by both."""
    return {(one.trial, one.profile): one for one in overall(verdicts)}


@dataclass(frozen=True)
class Shared:
    """One requirement with one verdict, and for how many trials it holds.

    Attributes:
        requirement: as a formula, `power_peak_w max ≤ 5 W`.
        word: the verdict.
        profiles: the profiles that state this very requirement, in order.
        trials: keys of the trials with this verdict.
        of: how many trials were judged against it.
        reason: what the reasons of all these trials have in common, else the commonest.
        margins: least and greatest margin, where there are any.
        unit: of the margins.
    """

    requirement: str
    word: Word
    profiles: tuple[str, ...]
    trials: tuple[str, ...]
    of: int
    reason: str
    margins: tuple[float, float] | None
    unit: str

    def sentence(self) -> str:
        """The group in one sentence, for below a table."""
        count = len(self.trials)
        everyone = {1: "the one trial", 2: "both trials"}.get(self.of, f"all {self.of} trials")
        which = everyone if count == self.of else f"{count} of {self.of} trials"
        text = f"{self.requirement}: {self.word} for {which}"
        if self.margins is not None:
            low, high = (words.signed(margin) for margin in self.margins)
            text += f", margin {low}{self.unit}" + (f" to {high}{self.unit}" if low != high else "")
        return f"{text}: {self.reason}" if self.reason else text


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
    margins = [verdict.margin for verdict in group if verdict.margin is not None]
    return Shared(
        requirement=requirement,
        word=word,
        profiles=tuple(dict.fromkeys(verdict.profile for verdict in group)),
        trials=tuple(dict.fromkeys(verdict.trial for verdict in group)),
        of=of,
        reason=_in_common([words.plain(verdict.reason) for verdict in group if verdict.reason]),
        margins=(min(margins), max(margins)) if margins else None,
        unit=words.unit(group[0]),
    )


def _in_common(reasons: Sequence[str]) -> str:
    """The clauses, apart by semicolons, that all reasons hold; the commonest reason where there is none."""
    counts = Counter(reasons)
    if len(counts) < 2:
        return next(iter(counts), "")
    first, *others = (reason.split("; ") for reason in counts)
    same = [clause for clause in first if all(clause in other for other in others)]
    if same:
        return "; ".join(same)
    return f"{counts.most_common(1)[0][0]} (and {words.counted(len(counts) - 1, 'other reason')})"


def of_measured(verdicts: Sequence[Verdict], summaries: Sequence[TrialSummary]) -> list[Verdict]:
    """The verdicts on trials that have a session; the others have one reason for every requirement."""
    measured = {one.key for one in summaries if one.status in ("done", "partial")}
    return [verdict for verdict in verdicts if verdict.trial in measured]
