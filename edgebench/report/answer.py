"""The decision of a profile, in the sentences that a reader wants first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgebench.fit.decision import Decision, Open
from edgebench.fit.metrics import METRICS
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report import tables, words
from edgebench.report.notes import Trials

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
    if decision.outcome == "satisfied":
        return Answer(_satisfied(decision, trials, names), ())
    if decision.outcome == "unmeasured":
        count = words.counted(decision.trials, "trial")
        return Answer(f"No trial was measured: {count} without a session.", ())
    if decision.outcome == "missed":
        return Answer(_missed(decision, names, ours), ())
    judged = Trials.of([trial for key, trial in trials.items() if any(v.trial == key for v in ours)], names)
    return Answer(_undecided(decision, trials, names, ours), _settling(decision.open, judged))


def _satisfied(decision: Decision, trials: Mapping[str, TrialSummary], names: Mapping[str, str]) -> str:
    assert decision.trial is not None
    quickest = trials[decision.trial]
    passed, lightest = decision.passing, decision.lightest
    how_quick = _how_quick(quickest)
    light = f"{words.number(trials[lightest[0]].mass_g or 0.0)} g" if lightest else ""
    if len(passed) == 1:
        figures = ", ".join(filter(None, (how_quick, light)))
        only = "alone " if decision.trials > 1 else ""
        return f"{names[quickest.key]} {only}satisfies it{f' ({figures})' if figures else ''}."
    everyone = len(passed) == decision.trials
    who = f"All {decision.trials}" if everyone else f"{len(passed)} of {decision.trials}"
    text = f"{who} trials satisfy it. The quickest is {names[quickest.key]}"
    text += f" ({how_quick})" if how_quick else ""
    if decision.level:
        others = [names[key] for key in decision.level]
        text += f", not told apart from {_named(others)} by its interval"
    if not lightest:
        return f"{text}."
    if quickest.key in lightest:
        return f"{text}; none of them is lighter ({light})."
    lightest_names = [names[key] for key in lightest]
    verb = "is" if len(lightest) == 1 else "are"
    return f"{text}; the lightest {verb} {_named(lightest_names)} ({light})."


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
    """`image_s median ≤ 4.42 s by 0.680 s (15.4 %)`; what is known as a bound alone is shown as that.

    A temperature has no share of its limit: there is none of one in °C.
    """
    if verdict.margin is None:
        return f"{words.limit(verdict)} ({words.span(verdict)})"
    metric = METRICS.get(verdict.quantity)
    has_share = not isinstance(verdict.limit, Sequence) and (metric is None or metric.above == 0)
    share = ""
    if has_share and not isinstance(verdict.limit, Sequence):
        share = f" ({words.percent(-verdict.margin / verdict.limit)} of it)"
    return f"{words.limit(verdict)} by {words.number(-verdict.margin)}{words.margin_unit(verdict)}{share}"


def _undecided(
    decision: Decision,
    trials: Mapping[str, TrialSummary],
    names: Mapping[str, str],
    verdicts: Sequence[Verdict],
) -> str:
    assert decision.trial is not None
    open_count = decision.trials - decision.failing
    first = trials[decision.trial]
    lacking = [
        f"{words.plain(verdict.quantity, 40)} ({verdict.verdict})"
        for verdict in verdicts
        if verdict.trial == first.key
        and not verdict.wanted
        and verdict.verdict in ("unknown", "inconclusive")
    ]
    how_quick = _how_quick(first)
    who = f"{names[first.key]}{f' ({how_quick})' if how_quick else ''}"
    if decision.trials == 1:
        return f"It is open whether {who} satisfies it: {words.listed(lacking)}."
    failing = decision.failing
    count = f"{open_count} of {words.counted(decision.trials, 'trial')} cannot be decided"
    count += f" and {failing} {'fails' if failing == 1 else 'fail'}" if failing else ""
    only = "Open" if open_count == 1 else "The nearest of these"
    verb = "of" if open_count == 1 else "is"
    return (
        f"No trial is shown to satisfy it: {count}. {only} {verb} {who}"
        f"{': ' if open_count == 1 else ', open in '}{words.listed(lacking)}."
    )


def _settling(entries: Sequence[Open], trials: Trials) -> tuple[str, ...]:
    """`power_peak_w by --meter KIND`; with the trials where it is not open of all that are.

    Requirements that the same would settle of the same trials stand together, and all of them where nothing
    else would settle any.
    """
    ways = {entry.by for entry in entries}
    if len(ways) == 1 and "" not in ways:
        quantities_of_all = dict.fromkeys(words.plain(entry.quantity, 40) for entry in entries)
        return (f"{words.listed(list(quantities_of_all))} by {entries[0].by}",)
    quantities: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for entry in entries:
        if entry.by:
            quantities.setdefault((entry.by, entry.trials), []).append(words.plain(entry.quantity, 40))
    undecided = {key for entry in entries for key in entry.trials}
    return tuple(
        f"{words.listed(list(dict.fromkeys(what)))} by {by}"
        + ("" if set(keys) == undecided else f" (of {trials.several(keys)})")
        for (by, keys), what in quantities.items()
    )
