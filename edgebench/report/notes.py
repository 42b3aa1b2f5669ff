"""Notes that several trials share: the sentence, the trials, and each trial's own words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from edgebench.judge.trial import Trial
from edgebench.records.values import SESSIONS_LIMIT
from edgebench.report import words
from edgebench.report.renderers.blocks import Note
from edgebench.report.tables import trial_names
from edgebench.stats.forecast import sessions_for, spread_between
from edgebench.stats.intervals import MIN_SESSIONS, session_medians
from edgebench.stats.warnings import Caution, Flag, sentence_of
from edgebench.texts import share_text

T = TypeVar("T")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_NAMED = 4  # trials that are named one by one; of more, some are


@dataclass(frozen=True)
class Trials:
    """Names of the trials of a page.

    Attributes:
        names: short names by key.
        targets: the targets' names by key.
    """

    names: Mapping[str, str]
    targets: Mapping[str, str]

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> Trials:
        """Names of these trials, by key."""
        return cls(trial_names(trials), {trial.key: words.plain(trial.target, 60) for trial in trials})

    @property
    def everyone(self) -> str:
        """All trials in words, as from `several`."""
        return self.several(list(self.names))

    def several(self, keys: Sequence[str]) -> str:
        """`0.25 int8`, `all 9 trials`, `all 3 trials of nano`, `12 of 18 trials (a, b, c and 9 more)`."""
        return self.named(keys)[0]

    def named(self, keys: Sequence[str]) -> tuple[str, bool]:
        """Trials in words as from `several`, and whether the words leave some of them unnamed."""
        names = [self.names[key] for key in keys]
        others = [name for key, name in self.names.items() if key not in keys]
        if len(keys) < 2:
            return "".join(names), False
        if not others:
            return _all_of(len(keys)), False
        targets = list(dict.fromkeys(self.targets[key] for key in keys))
        is_complete = sum(target in targets for target in self.targets.values()) == len(keys)
        if is_complete and len(targets) <= min(_NAMED, len(keys) - 1):
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


def kind_of(text: str) -> str:
    """Sentence without its numbers: the same for sentences that differ in them alone."""
    return _NUMBER.sub("0", text)


def shared(statements: Iterable[tuple[str, str]], trials: Trials, *, ranges: bool = False) -> list[Note]:
    """Note per sentence, in order of first appearance; `statements` are (key of a trial, sentence) pairs.

    With `ranges`, sentences that differ only in their numbers are one note: `a window of 0.6 to 0.9 s`.
    """
    return _grouped(
        [(key, text) for key, text in statements if text],
        trials,
        kind=kind_of if ranges else str,
        own=str,
        together=_with_ranges,
    )


def _with_ranges(texts: Sequence[str]) -> str:
    """First of some sentences with the range of each number in which they differ."""
    numbers = iter(zip(*map(_NUMBER.findall, texts), strict=True))

    def span(_: re.Match[str]) -> str:
        ordered = sorted(next(numbers), key=float)
        low, high = ordered[0], ordered[-1]
        return low if float(low) == float(high) else f"{low} to {high}"

    return _NUMBER.sub(span, texts[0])


def failures(statements: Iterable[tuple[str, str]], trials: Trials) -> list[Note]:
    """Note per cause; `statements` are (key of a trial, `session 001: cause`) pairs."""

    def cause(text: str) -> str:
        return text.partition(": ")[2] or text

    return _grouped(statements, trials, kind=cause, own=str, together=lambda texts: cause(texts[0]))


def cautions(trials: Iterable[Trial], names: Trials, flags: Collection[Flag] = tuple(Flag)) -> list[Note]:
    """Note per kind of caution with one of the flags, however the numbers of the trials differ."""
    return _grouped(
        [(trial.key, caution) for trial in trials for caution in trial.cautions if caution.flag in flags],
        names,
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
    notes = []
    for group in words.grouped((kind(item), (key, item)) for key, item in statements).values():
        text = words.plain(together([item for _, item in group]))
        own_texts = [(trials.names[key], words.plain(own(item))) for key, item in group]
        keys = list(dict.fromkeys(key for key, _ in group))
        who, is_unnamed = trials.named(keys)
        if len(group) == 1:
            notes.append(Note(own_texts[0][1], who))
        elif any(own_text != text for _, own_text in own_texts):
            notes.append(Note(text, who, tuple(own_texts)))
        else:
            unnamed = ((words.listed([trials.names[key] for key in keys]), ""),) if is_unnamed else ()
            notes.append(Note(text, who, unnamed))
    return notes


# Sessions that would narrow the intervals of a run further.


NARROW = 0.01
"""Half-width that a run's intervals are compared with, as a share of the value."""


def sessions_sentence(trials: Sequence[Trial]) -> str:
    """Half-widths of the latencies' intervals, and the sessions that bring them to `NARROW`.

    Empty if no interval is wider, or no trial has enough sessions.
    """
    half_widths: list[float] = []
    sessions = 0.0
    for trial in trials:
        half_width = trial.latency.half_width if trial.latency is not None else None
        medians = session_medians(trial.latency_values)
        if half_width is not None and half_width > NARROW and len(medians) >= MIN_SESSIONS:
            half_widths.append(half_width)
            needed = sessions_for(spread_between(medians), NARROW)
            sessions = max(sessions, math.inf if needed is None else needed, len(medians) + 1)
    if not half_widths:
        return ""
    name = words.latency_words(trials)
    some = "" if len(half_widths) == len(trials) else f" of {len(half_widths)} of {len(trials)} trials"
    count = f"About {sessions:.0f}" if sessions <= SESSIONS_LIMIT else f"More than {SESSIONS_LIMIT:,}"
    return (
        f"{name[0].upper()}{name[1:]}{some} is uncertain by up to {words.percent(max(half_widths))}. "
        f"{count} sessions would reach {share_text(NARROW)}."
    )
