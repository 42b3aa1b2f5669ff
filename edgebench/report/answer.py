"""The decision of a profile, and what would change it, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgebench.judge.answers import Answers, ExcludedBy, Front
from edgebench.judge.decision import Decision, Limit, Nearest, RelaxedLimit, ToMeasure, is_level
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import notes, words
from edgebench.report.blocks import Standing
from edgebench.report.notes import Trials
from edgebench.report.tables import trial_names


@dataclass(frozen=True)
class Answer:
    """The decision of one profile, or of several that have the same.

    Attributes:
        titles: of the profiles.
        word: as of a standing: the best of the trials'.
        before: the first sentence up to the profile, such as `4 of 9 variants satisfy`.
        after: what follows the profile in it; empty where it ends with the profile.
        more: the sentences behind it: the best trials, then those that are undecided or fail.
    """

    titles: tuple[str, ...]
    word: str
    before: str
    after: str
    more: tuple[str, ...]

    @property
    def title(self) -> str:
        """`DISCO, Arctic region and Greenland`."""
        return words.together(self.titles)

    def text(self, profile: str = "") -> str:
        """All sentences; `profile` names it. Default: a pronoun."""
        pronoun = "them" if len(self.titles) > 1 else "it"
        first = " ".join(filter(None, [self.before, profile or pronoun, self.after]))
        return " ".join([f"{first}.", *self.more])


def answer_of(
    decision: Decision,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    standings: Mapping[tuple[str, str], Standing],
    title: str = "",
) -> Answer:
    """The decision in words, what holds first.

    Args:
        decision: of one profile.
        summaries: of all trials that were judged.
        verdicts: on them, by that profile and by others.
        standings: by trial and profile.
        title: of the profile. Default: its name.
    """
    names = trial_names(summaries)
    ordered = sorted(summaries, key=lambda each: each.latency.median if each.latency else math.inf)
    shown = {each.key: each for each in ordered if (each.key, decision.profile) in standings}
    by_word = words.grouped((standings[key, decision.profile].word, key) for key in shown)
    word = next((word for word in words.STANDINGS if word in by_word), "unknown")
    best = by_word.get("pass") or by_word.get("so far") or []
    after = "in everything measured so far" if word == "so far" else ""
    more: list[str] = []
    if best:
        before = f"{_counted(best, shown, names)} {'satisfies' if len(best) == 1 else 'satisfy'}"
        more += _best([shown[key] for key in best], names)
        if word == "pass" and (others := by_word.get("so far")):
            verb = "satisfies" if len(others) == 1 else "satisfy"
            more.append(f"{words.several([names[key] for key in others])} {verb} everything measured so far.")
    elif decision.outcome == "unmeasured":
        before, after = "No variant was measured for", ""
    elif word == "fail":
        before = "No variant satisfies"
        more += _nearest_miss(decision, names, verdicts)
    elif word == "unknown" and "fail" not in by_word:
        before = "Nothing is known about the requirements of"
    else:
        before = "No variant is shown to satisfy"
    deciding = {key: standings[key, decision.profile].decided_by for key in shown}
    for lead, keys in (
        ("Undecided:", by_word.get("inconclusive")),
        ("Not satisfied by", by_word.get("fail") if word != "fail" else None),
    ):
        if keys:
            reasons = words.grouped(
                (each.name if (each := deciding[key]) else "", names[key]) for key in keys
            )
            parts = [
                f"{f'all {len(shown)}' if len(of) == len(shown) > 1 else words.several(of)} ({reason})"
                for reason, of in reasons.items()
            ]
            more.append(f"{lead} {'; '.join(parts)}.")
    return Answer((title or words.plain(decision.profile, 80),), word, before, after, tuple(more))


def shared_answers(answers: Iterable[Answer]) -> list[Answer]:
    """The answers; profiles that have the same share one."""
    titles = words.grouped((replace(answer, titles=()), answer.titles[0]) for answer in answers)
    return [replace(answer, titles=tuple(of)) for answer, of in titles.items()]


def _counted(keys: Sequence[str], shown: Mapping[str, TrialSummary], names: Mapping[str, str]) -> str:
    """`4 of 9 variants`, `All 9 variants`; the name of a single trial."""
    if len(shown) == 1:
        return names[keys[0]]
    noun = "variants" if len({trial.variant for trial in shown.values()}) == len(shown) else "trials"
    if len(keys) < len(shown):
        return f"{len(keys)} of {len(shown)} {noun}"
    return f"Both {noun}" if len(shown) == 2 else f"All {len(shown)} {noun}"


def _best(trials: Sequence[TrialSummary], names: Mapping[str, str]) -> list[str]:
    """The fastest, the most accurate and the lightest of some trials, each where there is one."""
    sentences = []
    latencies = words.alike_timed([trial for trial in trials if trial.latency is not None])
    if latencies:
        fastest, *others = sorted(latencies, key=lambda trial: trial.latency.median if trial.latency else 0.0)
        assert fastest.latency is not None
        what = "per image" if fastest.latency_quantity == "image_s" else "inference per image"
        text = f"{words.number(fastest.latency.median)} s {what}"
        known = [trial for trial in others if trial.latency and trial.latency.low is not None]
        if level := [names[trial.key] for trial in known if is_level(trial, fastest)]:
            text += f", within the interval of {words.several(level)}"
        sentences.append(f"Fastest: {names[fastest.key]}, {text}.")
    labelled = [trial for trial in trials if trial.accuracy is not None and trial.accuracy.n]
    if labelled:
        accuracies = {trial.key: trial.accuracy.k / trial.accuracy.n for trial in labelled if trial.accuracy}
        most = max(accuracies.values())
        leaders = [names[key] for key, share in accuracies.items() if share == most]
        if len(leaders) < len(labelled) or len(trials) == 1:
            sentences.append(f"Most accurate: {words.several(leaders)}, {words.percent(most)}.")
    masses = {trial.key: trial.mass_g for trial in trials if trial.mass_g is not None}
    if len(set(masses.values())) > 1:
        least = min(masses.values())
        lightest = [names[key] for key, mass_g in masses.items() if mass_g == least]
        sentences.append(f"Lightest: {words.several(lightest)}, {words.number(least)} g.")
    return sentences


def _nearest_miss(decision: Decision, names: Mapping[str, str], verdicts: Sequence[Verdict]) -> list[str]:
    """`Nearest: 0.25 int8, which misses latency per image ≤ 4.42 s by 0.680 s (15.4 % of it).`."""
    if decision.trial is None:
        return []
    misses = [
        _miss(verdict)
        for verdict in verdicts
        if (verdict.trial, verdict.profile) == (decision.trial, decision.profile)
        and verdict.verdict == "fail"
        and not verdict.wanted
    ]
    return [f"Nearest: {names[decision.trial]}, which misses {words.listed(misses)}."] if misses else []


def _miss(verdict: Verdict) -> str:
    """`latency per image ≤ 4.42 s by 0.680 s (15.4 % of it)`; a bound alone is shown as that."""
    if verdict.margin is None:
        return f"{words.limit(verdict)} ({words.judged(verdict)})"
    share = ""
    if not isinstance(verdict.limit, Sequence):
        share = f" ({words.percent(-verdict.margin / verdict.limit)} of it)"
    return f"{words.limit(verdict)} by {words.number(-verdict.margin)}{words.margin_unit(verdict)}{share}"


def settling_sentences(decisions: Sequence[Decision], trials: Trials) -> list[str]:
    """Sentences on what settles each open requirement: `disco-realtime, peak power: --meter KIND`."""
    profiles = words.grouped(
        (
            (words.judged_quantity(entry.quantity, entry.statistic), entry.by, trials.several(entry.trials)),
            decision.profile,
        )
        for decision in decisions
        for entry in decision.open
        if entry.by
    )
    quantities = words.grouped(
        ((tuple(names), by, who), quantity) for (quantity, by, who), names in profiles.items()
    )
    total = len(decisions)
    return [
        f"{_profiles(names, total)}, {words.listed(of)}: {by} ({who})"
        for (names, by, who), of in quantities.items()
    ]


def _profiles(names: Sequence[str], total: int) -> str:
    """The names of some of `total` profiles; `all profiles` from three on."""
    if len(names) == total > 2:
        return "all profiles"
    return words.listed([words.plain(name, 80) for name in names])


# The nearest yes in sentences, for the terminal and for pages.


def nearest_sentences(entries: Sequence[Nearest], summaries: Sequence[TrialSummary]) -> list[str]:
    """One sentence a target; profiles for which it says the same share it.

    `nano, disco-realtime: 0.5 int8 would pass with latency per image ≤ 5.13 s ...`.
    """
    names = words.labels(summaries)
    profiles: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        group = [summary for summary in summaries if summary.swept_target == entry.target]
        about = (words.plain(entry.target, 60), _what_passes(entry, Trials.of(group, _swept(group, names))))
        profiles.setdefault(about, []).append(entry.profile)
    total = len({entry.profile for entry in entries})
    return [f"{target}, {_profiles(names, total)}: {text}" for (target, text), names in profiles.items()]


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
        return f"no other limit lets {name} (the nearest) pass: {lacks}"
    who = "it" if len(unmissed) == 1 else f"{name} (the nearest)"
    return f"{_misses_none(unmissed, trials)}: {who} lacks {lacks}"


def _misses_none(keys: Sequence[str], trials: Trials) -> str:
    misses, is_ = ("misses", "is") if len(keys) == 1 else ("miss", "are")
    return f"{trials.several(keys)} {misses} no limit but {is_} undecided"


def _relaxed(limit: RelaxedLimit) -> str:
    """`latency per image ≤ 5.13 s in place of 4.42 s (16 % more)`."""
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
    """`energy per image and peak power (no meter)`; "" for nothing."""
    by_reason = words.grouped(
        (words.plain(lack.reason), words.judged_quantity(lack.quantity, lack.statistic, None))
        for lack in lacks
    )
    return words.listed([f"{words.listed(names)} ({reason})" for reason, names in by_reason.items()])


# Pareto fronts in sentences, for the terminal and for pages.


def pareto_sentences(fronts: Sequence[Front], summaries: Sequence[TrialSummary]) -> list[str]:
    """One sentence a front; profiles whose fronts are the same share it. None of a single trial.

    `disco-realtime over latency per image and accuracy: on the front 0.25 int8; dominated 0.25 fp32`.
    """
    trials = Trials.of(summaries, trial_names(summaries))
    total = len(fronts)
    profiles = words.grouped(
        (_stands(front, trials), front.profile)
        for front in fronts
        if len(front.trials) + len({lack.trial for lack in front.lacking}) > 1
    )
    return [
        f"{_profiles(names, total)} {text}" if any(names) else f"{text[0].upper()}{text[1:]}"
        for text, names in profiles.items()
    ]


def _stands(front: Front, trials: Trials) -> str:
    axes = [words.judged_quantity(axis.quantity, axis.statistic, axis.averaging_s) for axis in front.axes]
    by_standing = words.grouped((str(trial.standing), trial.trial) for trial in front.trials)
    overlaps = dict.fromkeys(words.judged_quantity(name) for trial in front.trials for name in trial.overlaps)
    where = f"with overlapping intervals of {words.listed(list(overlaps))}"
    texts = {
        "front": "on the front",
        "overlapping": f"behind it by value, but {where},",
        "dominated": "dominated",
    }
    parts = [
        f"{text} {trials.several(by_standing[each])}" for each, text in texts.items() if each in by_standing
    ]
    lacks = [(of.trial, f"no {words.judged_quantity(of.quantity)}: {of.reason}") for of in front.lacking]
    parts += [note.line for note in notes.shared(lacks, trials, ranges=True)]
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
"""Longest sentence, whatever the names in it."""


def paragraphs(answers: Answers, summaries: Sequence[TrialSummary]) -> list[tuple[str, list[str]]]:
    """Heading and sentences of those that say something; `summaries` are the trials that were judged."""
    trials = Trials.of(summaries, trial_names(summaries))
    every = [
        ("What would pass", nearest_sentences(answers.nearest, summaries)),
        ("What would settle open verdicts", settling_sentences(answers.decisions, trials)),
        ("Pareto front", pareto_sentences(answers.pareto, summaries)),
        ("What excludes targets", exclusion_sentences(answers.excluded_by)),
    ]
    return [
        (heading, [words.plain(sentence, MOST_CHARACTERS) for sentence in sentences])
        for heading, sentences in every
        if sentences
    ]
