"""The decision of a profile, and what would change it, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.decision import Decision, is_level, latency_s
from edgebench.judge.verdicts.front import Front
from edgebench.judge.verdicts.next_steps import passing_limit, relative_change, sides_of
from edgebench.judge.verdicts.verdict import Limit, Verdict
from edgebench.report import notes, words
from edgebench.report.matrix import Cells
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
    trials: Sequence[Trial],
    verdicts: Sequence[Verdict],
    cells: Cells,
    title: str = "",
) -> Answer:
    """Decision in words, the best trials first.

    Args:
        decision: decision of one profile.
        trials: all trials that were judged.
        verdicts: verdicts on them, by that profile and by others.
        cells: cells of the matrix by trial and profile.
        title: title of the profile. Default: its name.
    """
    names = trial_names(trials)
    ordered = sorted(trials, key=latency_s)
    shown = {trial.key: trial for trial in ordered if (trial.key, decision.profile) in cells}
    by_word = words.grouped((cells[key, decision.profile].word, key) for key in shown)
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
        before = "No variant was measured for"
    elif word == "fail":
        before = "No variant satisfies"
        more += _nearest_miss(decision, names, verdicts)
    elif word == "unknown" and "fail" not in by_word:
        before = "Nothing is known about the requirements of"
    else:
        before = "No variant is shown to satisfy"
    deciding = {key: cells[key, decision.profile].decided_by for key in shown}
    for lead, keys in (
        ("Undecided:", by_word.get("inconclusive")),
        ("Not satisfied by", by_word.get("fail") if word != "fail" else None),
    ):
        if keys:
            reasons = words.grouped(
                (requirement.name if (requirement := deciding[key]) else "", names[key]) for key in keys
            )
            every = "both" if len(shown) == 2 else f"all {len(shown)}"
            parts = [
                f"{every if len(some) == len(shown) > 1 else words.several(some)} ({reason})"
                for reason, some in reasons.items()
            ]
            more.append(f"{lead} {'; '.join(parts)}.")
    return Answer((title or words.plain(decision.profile, 80),), word, before, after, tuple(more))


def shared_answers(answers: Iterable[Answer]) -> list[Answer]:
    """The answers; profiles that have the same share one."""
    titles = words.grouped((replace(answer, titles=()), answer.titles[0]) for answer in answers)
    return [replace(answer, titles=tuple(titles_alike)) for answer, titles_alike in titles.items()]


def _counted(keys: Sequence[str], shown: Mapping[str, Trial], names: Mapping[str, str]) -> str:
    """`4 of 9 variants`, `All 9 variants`; the name of a single trial."""
    if len(shown) == 1:
        return names[keys[0]]
    noun = "variants" if len({trial.variant for trial in shown.values()}) == len(shown) else "trials"
    if len(keys) < len(shown):
        return f"{len(keys)} of {len(shown)} {noun}"
    return f"Both {noun}" if len(shown) == 2 else f"All {len(shown)} {noun}"


def _best(trials: Sequence[Trial], names: Mapping[str, str]) -> list[str]:
    """Fastest, most accurate and lightest of some trials, as far as there is one."""
    sentences = []
    latencies = words.alike_timed([trial for trial in trials if trial.latency is not None])
    if latencies:
        fastest, *others = sorted(latencies, key=latency_s)
        noun = "per image" if fastest.latency_metric == "image_s" else "inference per image"
        text = f"{words.number(latency_s(fastest))} s {noun}"
        bounded = [trial for trial in others if trial.latency and trial.latency.low is not None]
        if tied := [names[trial.key] for trial in bounded if is_level(trial, fastest)]:
            text += f", within the interval of {words.several(tied)}"
        sentences.append(f"Fastest: {names[fastest.key]}, {text}.")
    for lead, metric, sign in (("Most accurate", "accuracy", -1), ("Lightest", "mass_g", 1)):
        estimates = [(names[trial.key], trial.estimate(metric).value) for trial in trials]
        by_value = words.grouped((value, name) for name, value in estimates if value is not None)
        if len(by_value) > 1 or (by_value and len(trials) == 1 and metric == "accuracy"):
            best = min(by_value, key=lambda value: sign * value)
            text = words.percent(best) if metric == "accuracy" else f"{words.number(best)} g"
            sentences.append(f"{lead}: {words.several(by_value[best])}, {text}.")
    return sentences


def _nearest_miss(decision: Decision, names: Mapping[str, str], verdicts: Sequence[Verdict]) -> list[str]:
    """`Nearest: 0.25 int8, which misses latency per image ≤ 4.42 s by 0.680 s (15.4 % of it).`."""
    if decision.trial is None:
        return []
    misses = [
        _miss(verdict)
        for verdict in verdicts
        if (verdict.trial, verdict.profile) == (decision.trial, decision.profile)
        and verdict.word == "fail"
        and not verdict.requirement.wanted
    ]
    return [f"Nearest: {names[decision.trial]}, which misses {words.listed(misses)}."] if misses else []


def _miss(verdict: Verdict) -> str:
    """`latency per image ≤ 4.42 s by 0.680 s (15.4 % of it)`; a bound alone is shown as that."""
    requirement, formula = verdict.requirement, words.limit(verdict.requirement)
    if verdict.margin is None:
        return f"{formula} ({words.judged(verdict)})"
    missed = words.number(-verdict.margin / requirement.scale)
    share = "" if requirement.metric.is_size else f" ({words.percent(-verdict.margin / verdict.limit)} of it)"
    return f"{formula} by {missed}{words.margin_unit(verdict)}{share}"


def settling_sentences(decisions: Sequence[Decision], trials: Trials) -> list[str]:
    """Sentences on steps that settle open requirements: `disco-realtime, peak power: --meter KIND`."""
    profiles = words.grouped(
        (
            (
                words.judged_quantity(entry.metric, entry.statistic),
                words.listed([words.next_step(step) for step in settling], "or"),
                trials.several(entry.trials),
            ),
            decision.profile,
        )
        for decision in decisions
        for entry in decision.open
        if (settling := [step for step in entry.next_steps if step.kind != "relax"])
    )
    metrics = words.grouped(
        ((tuple(names), steps, who), metric) for (metric, steps, who), names in profiles.items()
    )
    total = len(decisions)
    return [
        f"{_profiles(names, total)}, {words.listed(group)}: {steps} ({who})"
        for (names, steps, who), group in metrics.items()
    ]


def _profiles(names: Sequence[str], total: int) -> str:
    """The names of some of `total` profiles; `all profiles` from three on."""
    if len(names) == total > 2:
        return "all profiles"
    return words.listed([words.plain(name, 80) for name in names])


# Pareto fronts in sentences, for the terminal and for pages.


def pareto_sentences(fronts: Sequence[Front], trials: Sequence[Trial]) -> list[str]:
    """One sentence a front; profiles whose fronts are the same share it. A front of one trial has none.

    `disco-realtime over latency per image and accuracy: on the front 0.25 int8; dominated 0.25 fp32`.
    """
    named = Trials.of(trials)
    total = len(fronts)
    profiles = words.grouped(
        (_stands(front, named), front.profile)
        for front in fronts
        if len(front.trials) + len({lack.trial for lack in front.lacking}) > 1
    )
    return [
        f"{_profiles(names, total)} {text}" if any(names) else f"{text[0].upper()}{text[1:]}"
        for text, names in profiles.items()
    ]


def _stands(front: Front, trials: Trials) -> str:
    axes = [words.judged_quantity(axis.metric, axis.statistic, axis.averaging_s) for axis in front.axes]
    by_standing = words.grouped((str(trial.standing), trial.trial) for trial in front.trials)
    overlaps = dict.fromkeys(words.judged_quantity(name) for trial in front.trials for name in trial.overlaps)
    where = f"with overlapping intervals of {words.listed(list(overlaps))}"
    texts = {
        "front": "on the front",
        "overlapping": f"behind it by value, but {where},",
        "dominated": "dominated",
    }
    parts = [
        f"{text} {trials.several(by_standing[name])}" for name, text in texts.items() if name in by_standing
    ]
    lacks = [
        (lack.trial, f"no {words.judged_quantity(lack.metric)}: {lack.reason}") for lack in front.lacking
    ]
    parts += [note.line for note in notes.shared(lacks, trials, ranges=True)]
    return f"over {words.listed(axes)}: {'; '.join(parts)}"


# Limits at which the best trial passes, in sentences.


def passing_sentences(trials: Sequence[Trial], verdicts: Sequence[Verdict]) -> list[str]:
    """One sentence per requirement that no trial passes, with the nearest limit that one would.

    `disco-realtime: latency per image ≤ 5.13 s in place of 4.42 s (16 % more), with 0.5 int8`. Profiles with
    the same sentence share it.
    """
    names, by_key = trial_names(trials), {trial.key: trial for trial in trials}
    groups = words.grouped(
        ((verdict.profile, verdict.requirement.name), verdict)
        for verdict in verdicts
        if verdict.trial in by_key and not verdict.requirement.wanted
    )
    profiles: dict[str, list[str]] = {}
    for (profile, _), group in groups.items():
        if all(verdict.word != "pass" for verdict in group):
            limits = {
                verdict.trial: to
                for verdict in group
                if verdict.word != "unknown"
                and (to := passing_limit(by_key[verdict.trial], verdict.requirement)) is not None
            }
            if limits:
                profiles.setdefault(_nearest_limit(group[0].requirement, limits, names), []).append(profile)
    total = len({verdict.profile for verdict in verdicts})
    return [f"{_profiles(names, total)}: {text}" for text, names in profiles.items()]


def _nearest_limit(requirement: Requirement, limits: Mapping[str, Limit], names: Mapping[str, str]) -> str:
    """`latency per image ≤ 5.13 s in place of 4.42 s (16 % more), with 0.5 int8`."""
    changes = {key: relative_change(requirement, limit) for key, limit in limits.items()}
    key = min(changes, key=lambda trial: changes[trial])
    # Rounded to the side that passes.
    is_up, sign = not requirement.at_least, "≥" if requirement.at_least else "≤"
    unit = words.spaced(requirement.unit)
    news = [side / requirement.scale for side in sides_of(limits[key])]
    to = " x ".join(words.outward(side, words.decimals(side), up=is_up) for side in news)
    share = words.percent(changes[key], 0 if changes[key] >= 0.1 else 2)
    difference = f"{share} {'more' if is_up else 'less'}"
    place = f"in place of {words.quantity(requirement.limit)}{unit} ({difference})"
    return f"{words.subject(requirement)} {sign} {to}{unit} {place}, with {names[key]}"


# Sentences of a judged result beyond its verdicts, in short paragraphs: terminal, page and Markdown.


MOST_CHARACTERS = 4000
"""Longest sentence, whatever the names in it."""


def paragraphs(
    decisions: Sequence[Decision],
    fronts: Sequence[Front],
    trials: Sequence[Trial],
    verdicts: Sequence[Verdict],
) -> list[tuple[str, list[str]]]:
    """Headings and sentences of those paragraphs that have any."""
    every = [
        ("What would pass", passing_sentences(trials, verdicts)),
        ("What would settle open verdicts", settling_sentences(decisions, Trials.of(trials))),
        ("Pareto front", pareto_sentences(fronts, trials)),
    ]
    return [
        (heading, [words.plain(sentence, MOST_CHARACTERS) for sentence in sentences])
        for heading, sentences in every
        if sentences
    ]
