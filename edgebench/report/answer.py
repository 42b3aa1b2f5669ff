"""The decision of a profile, in the sentences that a reader wants first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgebench.judge.answers import Answers, ExcludedBy, Front
from edgebench.judge.decision import Decision, Limit, Nearest, Open, RelaxedLimit, ToMeasure
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import notes, tables, words
from edgebench.report.notes import Trials
from edgebench.report.tables import trial_names

_NAMED = 3  # trials that the headline names one by one


@dataclass(frozen=True)
class Answer:
    """What stands first of a profile.

    Attributes:
        headline: which trials satisfy it, else what is open, else the nearest miss.
        settling: with what each open requirement would be settled, a clause each; empty where none is open.
    """

    headline: str
    settling: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """The headline, then what would settle what is open."""
        return [self.headline, *([f"To settle: {'; '.join(self.settling)}."] if self.settling else [])]


def answer_of(decision: Decision, summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> Answer:
    """The decision in words.

    Args:
        decision: of one profile.
        summaries: of all trials that were judged.
        verdicts: of them, by that profile and by others.
    """
    names = tables.trial_names(summaries)
    trials = {summary.key: summary for summary in summaries}
    ours = [verdict for verdict in verdicts if verdict.profile == decision.profile]
    settling: tuple[str, ...] = ()
    if decision.outcome == "unmeasured":
        return Answer(
            f"No trial was measured: {words.counted(decision.trials, 'trial')} without a session.", ()
        )
    if decision.outcome == "satisfied":
        text = _satisfied(decision, trials, names)
    elif decision.outcome == "missed":
        text = _missed(decision, names, ours)
    else:
        text = _undecided(decision, trials, names, ours)
        judged = {verdict.trial for verdict in ours}
        settling = _settling(
            decision.open, Trials.of([each for each in summaries if each.key in judged], names)
        )
    return Answer(text + _overloaded(decision, names), settling)


def _overloaded(decision: Decision, names: Mapping[str, str]) -> str:
    """` Overloaded: 1.0 fp32 (load 2.36), for more work comes in each cycle than it gets through.`."""
    if not decision.overloaded:
        return ""
    loads = _named([f"{names[each.trial]} (load {words.number(each.load)})" for each in decision.overloaded])
    return f" Overloaded: {loads}, for more work comes in each cycle of the schedule than is done in it."


def _satisfied(decision: Decision, trials: Mapping[str, TrialSummary], names: Mapping[str, str]) -> str:
    assert decision.trial is not None
    quickest, passed, lightest = trials[decision.trial], decision.passing, decision.lightest
    light = f"{words.number(trials[lightest[0]].mass_g or 0.0)} g" if lightest else ""
    if len(passed) == 1:
        only = "alone " if decision.trials > 1 else ""
        return f"{names[quickest.key]} {only}satisfies it{_in_brackets(_how_quick(quickest), light)}."
    who = (
        f"All {decision.trials}" if len(passed) == decision.trials else f"{len(passed)} of {decision.trials}"
    )
    text = (
        f"{who} trials satisfy it. The quickest is {names[quickest.key]}{_in_brackets(_how_quick(quickest))}"
    )
    if decision.level:
        text += f", not told apart from {_named([names[key] for key in decision.level])} by its interval"
    if quickest.key in lightest:
        return f"{text}; none of them is lighter ({light})."
    verb = "is" if len(lightest) == 1 else "are"
    named = _named([names[key] for key in lightest])
    return f"{text}; the lightest {verb} {named} ({light})." if lightest else f"{text}."


def _in_brackets(*texts: str) -> str:
    return f" ({', '.join(filter(None, texts))})" if any(texts) else ""


def _how_quick(trial: TrialSummary) -> str:
    return "" if trial.latency is None else f"{trial.latency_quantity} {words.interval(trial.latency)} s"


def _named(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return words.listed(list(names) if more <= 0 else [*names[:_NAMED], f"{more} more"])


def _missed(decision: Decision, names: Mapping[str, str], verdicts: Sequence[Verdict]) -> str:
    """`No trial satisfies it. The nearest is 0.25 int8: it misses image_s median ≤ 4.42 s by 1.56 s ...`."""
    if decision.trial is None:
        count = "the one trial misses" if decision.trials == 1 else f"all {decision.trials} miss"
        return f"No trial satisfies it: {count} a requirement."
    misses = words.listed(
        [
            _miss(verdict)
            for verdict in verdicts
            if verdict.trial == decision.trial and verdict.verdict == "fail" and not verdict.wanted
        ]
    )
    if decision.trials == 1:
        return f"The one trial misses {misses}."
    return f"No trial satisfies it. The nearest is {names[decision.trial]}: it misses {misses}."


def _miss(verdict: Verdict) -> str:
    """`image_s median ≤ 4.42 s by 0.680 s (15.4 %)`; what is known as a bound alone is shown as that."""
    if verdict.margin is None:
        return f"{words.limit(verdict)} ({words.judged(verdict)})"
    share = ""
    if not isinstance(verdict.limit, Sequence):
        share = f" ({words.percent(-verdict.margin / verdict.limit)} of it)"
    return f"{words.limit(verdict)} by {words.number(-verdict.margin)}{words.margin_unit(verdict)}{share}"


def _undecided(
    decision: Decision,
    trials: Mapping[str, TrialSummary],
    names: Mapping[str, str],
    verdicts: Sequence[Verdict],
) -> str:
    assert decision.trial is not None
    lacking = words.listed(
        [
            f"{words.plain(verdict.quantity, 40)} ({verdict.verdict})"
            for verdict in verdicts
            if verdict.trial == decision.trial
            and not verdict.wanted
            and verdict.verdict in ("unknown", "inconclusive")
        ]
    )
    who = names[decision.trial] + _in_brackets(_how_quick(trials[decision.trial]))
    if decision.trials == 1:
        return f"It is open whether {who} satisfies it: {lacking}."
    failing, open_count = decision.failing, decision.trials - decision.failing
    fails = f" and {failing} {'fails' if failing == 1 else 'fail'}" if failing else ""
    nearest = f"Open of {who}: " if open_count == 1 else f"The nearest of these is {who}, open in "
    count = f"{open_count} of {words.counted(decision.trials, 'trial')} cannot be decided{fails}"
    return f"No trial is shown to satisfy it: {count}. {nearest}{lacking}."


def _settling(entries: Sequence[Open], trials: Trials) -> tuple[str, ...]:
    """`power_peak_w by --meter KIND`; with the trials where it is not open of all that are.

    Requirements that the same would settle of the same trials stand together, and all of them where nothing
    else would settle any.
    """
    ways = {entry.by for entry in entries}
    if len(ways) == 1 and "" not in ways:
        quantities_of_all = dict.fromkeys(words.plain(entry.quantity, 40) for entry in entries)
        return (f"{words.listed(list(quantities_of_all))} by {entries[0].by}",)
    quantities = words.grouped(
        ((entry.by, entry.trials), words.plain(entry.quantity, 40)) for entry in entries if entry.by
    )
    undecided = {key for entry in entries for key in entry.trials}
    return tuple(
        f"{words.listed(list(dict.fromkeys(what)))} by {by}"
        + ("" if set(keys) == undecided else f" (of {trials.several(keys)})")
        for (by, keys), what in quantities.items()
    )


# The nearest yes in sentences, for the terminal and for pages.


def nearest_sentences(entries: Sequence[Nearest], summaries: Sequence[TrialSummary]) -> list[str]:
    """One sentence a target; profiles for which it says the same share it.

    `nano, disco-realtime: 0.5 int8 would pass with image_s median ≤ 5.13 s in place of 4.42 s (16 % more)`.
    """
    names = words.labels(summaries)
    profiles: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        group = [summary for summary in summaries if summary.swept_target == entry.target]
        about = (words.plain(entry.target, 60), _what_passes(entry, Trials.of(group, _swept(group, names))))
        profiles.setdefault(about, []).append(words.plain(entry.profile, 80))
    return [f"{target}, {words.listed(named)}: {text}" for (target, text), named in profiles.items()]


def _swept(group: Sequence[TrialSummary], names: dict[str, str]) -> dict[str, str]:
    """The trials' names, with the settings of their sweep where they have any."""
    return {
        summary.key: " ".join(
            [
                names[summary.key],
                *(words.plain(f"{name}={value}", 40) for name, value in summary.settings.items()),
            ]
        )
        if summary.settings
        else names[summary.key]
        for summary in group
    }


def _what_passes(entry: Nearest, trials: Trials) -> str:
    if entry.passing:
        return f"passes with {trials.several(entry.passing)}"
    if entry.trial is None:
        return "nothing passes"
    name, lacks = trials.names[entry.trial], _to_measure(entry.measure)
    unmissed = [undecided.trial for undecided in entry.undecided]
    if entry.relax:
        text = f"{name} would pass with {words.listed([_relaxed(limit) for limit in entry.relax])}"
        text += f", and with what it lacks: {lacks}" if lacks else ""
        return f"{text}; {_misses_none(unmissed, trials)}" if unmissed else text
    if entry.trial not in unmissed:
        return f"no limit lets {name}, the nearest, pass: {lacks}"
    who = "it" if len(unmissed) == 1 else f"{name}, the nearest,"
    return f"{_misses_none(unmissed, trials)}: {who} lacks {lacks}"


def _misses_none(keys: Sequence[str], trials: Trials) -> str:
    misses, is_not = ("misses", "is not") if len(keys) == 1 else ("miss", "are not")
    return f"{trials.several(keys)} {misses} no limit and {is_not} shown to pass"


def _relaxed(limit: RelaxedLimit) -> str:
    """`image_s median ≤ 5.13 s in place of 4.42 s (16 % more)`."""
    at_least = METRICS[limit.quantity].at_least
    unit = "" if limit.unit in ("", "1") else f" {words.plain(limit.unit, 16)}"
    quantity = words.judged_quantity(limit.quantity, limit.statistic, limit.averaging_s)
    way = "less" if at_least else "more"
    difference = f"{words.percent(limit.share, 0 if limit.share >= 0.1 else 2)} {way}"
    return (
        f"{quantity} {'≥' if at_least else '≤'} {_outward(limit.to, at_least)}{unit} in place of "
        f"{words.quantity(limit.limit)}{unit} ({difference})"
    )


def _outward(limit: Limit, at_least: bool) -> str:
    """A limit in a few digits, never rounded to where the trial would not pass it."""
    if isinstance(limit, tuple):
        return " x ".join(_outward(side, at_least) for side in limit)
    return words.outward(limit, words.decimals(limit), up=not at_least)


def _to_measure(lacks: Sequence[ToMeasure]) -> str:
    """`energy_j median and power_peak_w max (no meter was asked for)`; "" for nothing."""
    by_reason = words.grouped(
        (words.plain(lack.reason), words.judged_quantity(lack.quantity, lack.statistic, None))
        for lack in lacks
    )
    return words.listed([f"{words.listed(names)} ({reason})" for reason, names in by_reason.items()])


# Pareto fronts in sentences, for the terminal and for pages.


def pareto_sentences(fronts: Sequence[Front], summaries: Sequence[TrialSummary]) -> list[str]:
    """One sentence a front; profiles whose fronts are the same share it. None of a single trial.

    `disco-realtime over image_s median and accuracy: on the front 0.25 int8; dominated 0.25 fp32`.
    """
    trials = Trials.of(summaries, trial_names(summaries))
    profiles = words.grouped(
        (_stands(front, trials), words.plain(front.profile, 80))
        for front in fronts
        if len(front.trials) + len({lack.trial for lack in front.lacking}) > 1
    )
    return [
        f"{words.listed(names)} {text}" if any(names) else f"{text[0].upper()}{text[1:]}"
        for text, names in profiles.items()
    ]


def _stands(front: Front, trials: Trials) -> str:
    axes = [words.judged_quantity(axis.quantity, axis.statistic, axis.averaging_s) for axis in front.axes]
    parts = []
    by_standing = words.grouped((trial.standing, trial.trial) for trial in front.trials)
    overlaps = dict.fromkeys(words.plain(name, 40) for trial in front.trials for name in trial.overlaps)
    if ahead := by_standing.get("front"):
        parts.append(f"on the front {trials.several(ahead)}")
    if behind := by_standing.get("overlapping"):
        parts.append(
            f"behind it by value, but with overlapping intervals of {words.listed(list(overlaps))}, "
            f"{trials.several(behind)}"
        )
    if dominated := by_standing.get("dominated"):
        parts.append(f"dominated {trials.several(dominated)}")
    lacks = [(lack.trial, f"no {words.plain(lack.quantity, 40)}: {lack.reason}") for lack in front.lacking]
    parts += [note.line for note in notes.shared(lacks, trials)]
    return f"over {words.listed(axes)}: {'; '.join(parts)}"


# Which requirements exclude targets, in sentences, for the terminal and for pages.


def exclusion_sentences(rows: Sequence[ExcludedBy]) -> list[str]:
    """One sentence a target that a requirement excludes; profiles for which it says the same share it.

    `nano is excluded from disco-realtime by peak power: all 9 trials fail it`.
    """
    excluding = words.grouped(
        (
            (words.plain(entry.target, 60), words.plain(row.requirement, 64), entry.trials),
            words.plain(row.profile, 80),
        )
        for row in rows
        for entry in row.targets
        if entry.excluded
    )
    return [
        f"{target} is excluded from {words.listed(profiles)} by {requirement}: "
        + {1: "its one trial fails it", 2: "both trials fail it"}.get(trials, f"all {trials} trials fail it")
        for (target, requirement, trials), profiles in excluding.items()
    ]


# What a judged result says beyond its verdicts, in short paragraphs: terminal, page and Markdown.


MOST_CHARACTERS = 4000
"""Of a sentence, whatever the names in it."""


def paragraphs(answers: Answers, summaries: Sequence[TrialSummary]) -> list[tuple[str, list[str]]]:
    """Heading and sentences of those that say something; `summaries` are the trials that were judged."""
    every = [
        ("What would pass", nearest_sentences(answers.nearest, summaries)),
        ("Pareto front", pareto_sentences(answers.pareto, summaries)),
        ("What excludes targets", exclusion_sentences(answers.excluded_by)),
    ]
    return [
        (heading, [words.plain(sentence, MOST_CHARACTERS) for sentence in sentences])
        for heading, sentences in every
        if sentences
    ]
