"""What holds for several trials, said once: the sentence, the trials, and each trial's own words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from edgebench.judge.decision import settled_by
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.judge.verdict import WORDS, Overall, Word, overall
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
    groups = words.grouped((kind(item), (key, item)) for key, item in statements)
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


# Verdicts grouped for reading: what holds for one trial, and what many trials share.


def profiles(verdicts: Sequence[Verdict]) -> list[str]:
    """The profiles' names in the order in which they were judged."""
    return list(dict.fromkeys(verdict.profile for verdict in verdicts))


def by_target(summaries: Iterable[TrialSummary]) -> dict[str, list[TrialSummary]]:
    """The trials of each target, in order."""
    return words.grouped((summary.target, summary) for summary in summaries)


def requirements(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """Each requirement of one profile by its name, in the profile's order, with a verdict that states it."""
    stated = words.grouped((verdict.requirement, verdict) for verdict in verdicts)
    return {name: first for name, (first, *_) in stated.items()}


def wholes(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], Overall]:
    """Each trial against each profile as a whole, by both."""
    return {(whole.trial, whole.profile): whole for whole in overall(verdicts)}


@dataclass(frozen=True)
class Shared:
    """One requirement with one verdict, and for how many trials it holds.

    Attributes:
        requirement: as a formula, `power_peak_w max over 1 s ≤ 5 W`.
        word: the verdict.
        profiles: the profiles that state this very requirement, in order.
        trials: keys of the trials with this verdict.
        of: how many trials were judged against it.
        reason: what the reasons of all these trials have in common, else the commonest.
        margins: least and greatest margin, where there are any.
        unit: of the margins.
        basis: of power and energy, what the meters cover, or `declared maximum`; verdicts of another basis
            are a group of their own.
        declared: whether declared power was judged, and no meter's.
        by: what would settle it of all these trials, or of most; empty where nothing has to.
    """

    requirement: str
    word: Word
    profiles: tuple[str, ...]
    trials: tuple[str, ...]
    of: int
    reason: str
    margins: tuple[float, float] | None
    unit: str
    basis: str
    declared: bool
    by: str = ""

    @property
    def which(self) -> str:
        """`for all 9 trials`, `for 4 of 9 trials`."""
        count = len(self.trials)
        everyone = {1: "the one trial", 2: "both trials"}.get(self.of, f"all {self.of} trials")
        return f"for {everyone if count == self.of else f'{count} of {self.of} trials'}"

    @property
    def margin(self) -> str:
        """`margin +1.50 W to +1.70 W (board)`; empty where there is none."""
        if self.margins is None:
            return ""
        low, high = (words.signed(margin) for margin in self.margins)
        basis = f" ({self.basis})" if self.basis else ""
        return f"margin {low}{self.unit}" + (f" to {high}{self.unit}" if low != high else "") + basis

    def sentence(self) -> str:
        """The group in one sentence, for below a table."""
        text = f"{self.requirement}: {self.word} {self.which}"
        if self.margin:
            text += f", {self.margin}"
        text = f"{text}: {self.reason}" if self.reason else text
        return f"{text}; to settle: {self.by}" if self.by else text


def shared_verdicts(verdicts: Sequence[Verdict], summaries: Iterable[TrialSummary] = ()) -> list[Shared]:
    """Every requirement with every verdict it got, each once, however many trials and profiles share it.

    Power and energy of different scopes are different figures: their margins are in no common range.
    `summaries` are those of the trials; without one it is not said what would settle its verdict.
    """
    trials = {summary.key: summary for summary in summaries}
    judged = words.grouped((words.limit(verdict), verdict.trial) for verdict in verdicts)
    groups = words.grouped(
        ((words.limit(verdict), verdict.verdict, words.basis(verdict)), verdict) for verdict in verdicts
    )
    return [
        _shared(requirement, word, basis, group, len(set(judged[requirement])), trials)
        for (requirement, word, basis), group in sorted(
            groups.items(), key=lambda item: (list(judged).index(item[0][0]), WORDS.index(item[0][1]))
        )
    ]


def _shared(
    requirement: str,
    word: Word,
    basis: str,
    group: Sequence[Verdict],
    of: int,
    trials: Mapping[str, TrialSummary],
) -> Shared:
    ways = Counter(settled_by(trials[verdict.trial], verdict) for verdict in group if verdict.trial in trials)
    margins = [verdict.margin for verdict in group if verdict.margin is not None]
    return Shared(
        requirement=requirement,
        word=word,
        profiles=tuple(dict.fromkeys(verdict.profile for verdict in group)),
        trials=tuple(dict.fromkeys(verdict.trial for verdict in group)),
        of=of,
        reason=_in_common(word, [words.plain(verdict.reason) for verdict in group if verdict.reason]),
        margins=(min(margins), max(margins)) if margins else None,
        unit=words.margin_unit(group[0]),
        basis=basis,
        declared=bool(group[0].declared),
        by=next((way for way, _ in ways.most_common(1)), ""),
    )


def _in_common(word: Word, reasons: Sequence[str]) -> str:
    """The clauses, apart by semicolons, that all reasons hold; the commonest reason where there is none.

    What a pass or a fail rests on stands before its caveats, and is never cut to them: where it differs in
    a figure alone, the figure is left out.
    """
    counts = Counter(reasons)
    if len(counts) < 2:
        return next(iter(counts), "")
    first, *others = (reason.split("; ") for reason in counts)
    same = [clause for clause in first if all(clause in other for other in others)]
    if word in ("pass", "fail") and first[0] not in same and same:
        same.insert(0, _alike([first[0], *(other[0] for other in others)]))
    if same:
        return "; ".join(same)
    return f"{counts.most_common(1)[0][0]} (and {words.counted(len(counts) - 1, 'other reason')})"


def _alike(clauses: Sequence[str]) -> str:
    """The words that clauses begin and end with alike, around an ellipsis."""
    split = [clause.split(" ") for clause in clauses]
    shortest = min(map(len, split))
    begin = next((n for n in range(shortest) if len({clause[n] for clause in split}) > 1), shortest)
    room = shortest - begin
    end = next((n for n in range(room) if len({clause[-1 - n] for clause in split}) > 1), room)
    first = split[0]
    return " ".join([*first[:begin], "…", *first[len(first) - end :]])


def of_measured(verdicts: Sequence[Verdict], summaries: Sequence[TrialSummary]) -> list[Verdict]:
    """The verdicts on trials that have a session; the others have one reason for every requirement."""
    measured = {summary.key for summary in summaries if summary.status in ("done", "partial")}
    return [verdict for verdict in verdicts if verdict.trial in measured]
