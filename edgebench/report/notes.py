"""What holds for several trials, said once: the sentence, the trials, and each trial's own words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.stats.warnings import Caution, Flag, sentence_of

T = TypeVar("T")
_NAMED = 4  # trials that are named one by one; of more, some are


@dataclass(frozen=True)
class Note:
    """A sentence and the trials that it holds for.

    Attributes:
        text: the sentence; where the trials' figures differ, it has their range.
        who: the trials, counted and named as far as they fit; empty where it is of no trial.
        each: (names, own words) of all trials where `who` does not name them all or their words differ
            from the sentence; the words are empty where they are the sentence's.
    """

    text: str
    who: str = ""
    each: tuple[tuple[str, str], ...] = ()

    @property
    def line(self) -> str:
        """Trials and sentence."""
        return f"{self.who}: {self.text}" if self.who else self.text


@dataclass(frozen=True)
class Trials:
    """What the trials of a page are called.

    Attributes:
        names: short names by key.
        targets: the targets' names by key.
    """

    names: Mapping[str, str]
    targets: Mapping[str, str]

    @classmethod
    def of(cls, summaries: Sequence[TrialSummary], names: Mapping[str, str]) -> Trials:
        """Those of these summaries, under these names."""
        return cls(
            {summary.key: names[summary.key] for summary in summaries},
            {summary.key: words.plain(summary.target, 60) for summary in summaries},
        )

    def only(self, keys: Collection[str]) -> Trials:
        """Those of these keys."""
        names = {key: name for key, name in self.names.items() if key in keys}
        return Trials(names, {key: self.targets.get(key, "") for key in names})

    def several(self, keys: Sequence[str]) -> str:
        """`0.25 int8`, `all 9 trials`, `all 3 trials of nano`, `12 of 18 trials (a, b, c and 9 more)`."""
        return self._several(keys)[0]

    def unnamed(self, keys: Sequence[str]) -> bool:
        """Whether `several` leaves open which trials these are."""
        return self._several(keys)[1]

    def _several(self, keys: Sequence[str]) -> tuple[str, bool]:
        names = [self.names[key] for key in keys]
        others = [name for key, name in self.names.items() if key not in keys]
        if len(keys) < 2:
            return "".join(names), False
        if not others:
            return _all_of(len(keys)), False
        targets = list(dict.fromkeys(self.targets[key] for key in keys))
        whole = sum(target in targets for target in self.targets.values()) == len(keys)
        if whole and len(targets) <= min(_NAMED, len(keys) - 1):
            return f"{_all_of(len(keys))} of {words.listed(targets)}", False
        if len(keys) <= _NAMED:
            return words.listed(names), False
        counted = f"{len(keys)} of {len(self.names)} trials"
        if len(others) < _NAMED - 1:
            return f"{counted} (all but {words.listed(others)})", False
        shown = _NAMED - 1
        return f"{counted} ({', '.join(names[:shown])} and {len(names) - shown} more)", True


def _all_of(count: int) -> str:
    return "both trials" if count == 2 else f"all {count} trials"


def shared(statements: Iterable[tuple[str, str]], trials: Trials) -> list[Note]:
    """One note a sentence, in order of first appearance; `said` are (key of a trial, sentence) pairs."""
    statements = [(key, text) for key, text in statements if text]
    return _grouped(statements, trials, kind=str, own=str, together=lambda texts: texts[0])


def failures(statements: Iterable[tuple[str, str]], trials: Trials) -> list[Note]:
    """One note a cause; `said` are (key of a trial, `session 001: cause`) pairs."""

    def cause(text: str) -> str:
        return text.partition(": ")[2] or text

    return _grouped(statements, trials, kind=cause, own=str, together=lambda texts: cause(texts[0]))


def cautions(
    summaries: Iterable[TrialSummary], trials: Trials, flags: Collection[Flag] = tuple(Flag)
) -> list[Note]:
    """One note a kind of caution, however the numbers of the trials differ; of these flags."""
    return _grouped(
        [
            (summary.key, caution)
            for summary in summaries
            for caution in summary.cautions
            if caution.flag in flags
        ],
        trials,
        kind=lambda caution: caution.kind,
        own=Caution.sentence,
        together=sentence_of,
    )


def _grouped(
    statements: Iterable[tuple[str, T]],
    trials: Trials,
    *,
    kind: Callable[[T], Hashable],
    own: Callable[[T], str],
    together: Callable[[Sequence[T]], str],
) -> list[Note]:
    groups: dict[Hashable, list[tuple[str, T]]] = {}
    for key, item in statements:
        groups.setdefault(kind(item), []).append((key, item))
    return [
        _note(
            words.plain(together([item for _, item in group])),
            [(key, words.plain(own(item))) for key, item in group],
            trials,
        )
        for group in groups.values()
    ]


def _note(text: str, statements: Sequence[tuple[str, str]], trials: Trials) -> Note:
    keys = list(dict.fromkeys(key for key, _ in statements))
    who = trials.several(keys)
    if len(statements) == 1:
        return Note(statements[0][1], who)
    if any(own != text for _, own in statements):
        return Note(text, who, tuple((trials.names[key], own) for key, own in statements))
    if trials.unnamed(keys):
        return Note(text, who, ((words.listed([trials.names[key] for key in keys]), ""),))
    return Note(text, who)
