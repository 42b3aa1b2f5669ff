"""What the verdicts of a profile come to, in the sentences that a reader wants first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.fit.metrics import METRICS
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import Overall
from edgebench.report import tables, verdict_groups, words

_MEASURED_WITH = {
    "accuracy": "--images FOLDER",
    "accuracy_drop": "--images FOLDER and the fp32 variant",
    "deadline_misses": "--period SECONDS",
    "mass_g": "--board NAME",
    "size_mm": "--board NAME",
}
"""What brings a figure that is not known, where something does; a meter brings power and energy."""


def sentences(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> list[str]:
    """Which trials satisfy a profile, else the nearest and what it lacks; then what would settle the rest.

    Args:
        summaries: of all trials.
        verdicts: of one profile.
    """
    names = tables.trial_names(summaries)
    wholes = list(verdict_groups.wholes(verdicts).values())
    trials = {summary.key: summary for summary in summaries}
    passed = [trials[whole.trial] for whole in wholes if whole.verdict == "pass"]
    if passed:
        return [_satisfied(passed, len(wholes), names)]
    measured = {verdict.trial for verdict in verdict_groups.of_measured(verdicts, summaries)}
    candidates = [whole for whole in wholes if whole.trial in measured]
    if not candidates:
        return [f"{_none('was measured')}: {words.counted(len(wholes), 'trial')} without a session."]
    undecided = [whole for whole in candidates if whole.verdict != "fail"]
    if not undecided:
        nearest = min(candidates, key=_distance)
        misses = words.listed([_miss(verdict) for verdict in _of_word(nearest, "fail")])
        who = "The one trial" if len(wholes) == 1 else names[nearest.trial]
        start = "" if len(wholes) == 1 else f"{_none('satisfies it')}. The nearest is "
        return [f"{start}{who}{' misses' if len(wholes) == 1 else ': it misses'} {misses}."]
    first = min(undecided, key=lambda whole: _latency(trials[whole.trial]))
    open_ones = [each for each in _needed(first) if each.verdict in ("unknown", "inconclusive")]
    which = words.listed([f"{words.plain(each.quantity, 40)} ({each.verdict})" for each in open_ones])
    failing = sum(whole.verdict == "fail" for whole in wholes)
    count = f"{len(wholes) - failing} of {words.counted(len(wholes), 'trial')} cannot be decided"
    count += f" and {failing} {'fails' if failing == 1 else 'fail'}" if failing else ""
    text = f"{_none('is shown to satisfy it')}: {count}. Of {names[first.trial]}"
    text += f"{', the quickest of these,' if len(undecided) > 1 else ''} it is open in {which}."
    settling = _settling(trials[first.trial], open_ones)
    return [text, settling] if settling else [text]


def _none(what: str) -> str:
    return f"No trial {what}"


def _satisfied(passed: Sequence[TrialSummary], of: int, names: Mapping[str, str]) -> str:
    quickest = min(passed, key=_latency)
    latency = quickest.latency
    how_quick = "" if latency is None else f" ({quickest.latency_quantity} {words.interval(latency)} s)"
    weighed = [summary for summary in passed if summary.mass_g is not None]
    lightest = min(weighed, key=lambda summary: (summary.mass_g or 0.0, _latency(summary)), default=None)
    light = "" if lightest is None else f"{words.number(lightest.mass_g or 0.0)} g"
    if len(passed) == 1:
        mass = f"{how_quick[:-1]}, {light})" if how_quick and light else how_quick
        only = "alone " if of > 1 else ""
        return f"{names[quickest.key]} {only}satisfies it{mass}."
    who = f"All {of} trials satisfy" if len(passed) == of else f"{len(passed)} of {of} trials satisfy"
    text = f"{who} it. The quickest is {names[quickest.key]}{how_quick}"
    if lightest is None:
        return f"{text}."
    if lightest.mass_g == quickest.mass_g:
        return f"{text}; none of them is lighter ({light})."
    return f"{text}, the lightest {names[lightest.key]} ({light})."


def _latency(summary: TrialSummary) -> float:
    return float("inf") if summary.latency is None else summary.latency.median


def _needed(whole: Overall) -> list[Verdict]:
    return [verdict for verdict in whole.verdicts if not verdict.wanted]


def _of_word(whole: Overall, word: str) -> list[Verdict]:
    return [verdict for verdict in _needed(whole) if verdict.verdict == word]


def _distance(whole: Overall) -> tuple[int, float]:
    """How many requirements are missed, then the furthest miss as a share of its limit."""
    missed = _of_word(whole, "fail")
    return len(missed), max((_share(verdict) for verdict in missed), default=0.0)


def _share(verdict: Verdict) -> float:
    """How far a limit is missed, as a share of it; of a bound, at least so far.

    A temperature's share is of what it is above absolute zero: there is none of one in °C.
    """
    limit = max(verdict.limit) if isinstance(verdict.limit, Sequence) else verdict.limit
    whole = limit - _above(verdict.quantity)
    if verdict.margin is not None:
        return -verdict.margin / whole
    ends = [abs(end - limit) / whole for end in (verdict.low, verdict.high) if end is not None]
    return min(ends, default=float("inf"))


def _above(quantity: str) -> float:
    metric = METRICS.get(quantity)
    return 0.0 if metric is None else metric.above


def _miss(verdict: Verdict) -> str:
    """`image_s median ≤ 4.42 s by 0.680 s (15.4 %)`; what was published as a bound is shown as that."""
    if verdict.margin is None:
        return f"{words.limit(verdict)} ({words.span(verdict)})"
    has_share = not isinstance(verdict.limit, Sequence) and _above(verdict.quantity) == 0
    share = "" if not has_share else f" ({words.percent(_share(verdict))} of it)"
    return f"{words.limit(verdict)} by {words.number(-verdict.margin)}{words.margin_unit(verdict)}{share}"


def _settling(trial: TrialSummary, verdicts: Sequence[Verdict]) -> str:
    """With which options the unknown figures would be there; empty where none is known to bring them."""
    if trial.published:
        return ""
    ways: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.verdict == "unknown" and (way := _brought_by(verdict.quantity)):
            ways.setdefault(way, []).append(words.plain(verdict.quantity, 40))
    told = [f"{words.listed(quantities)} by {way}" for way, quantities in ways.items()]
    return f"What would settle it: {'; '.join(told)}." if told else ""


def _brought_by(quantity: str) -> str:
    metric = METRICS.get(quantity)
    if metric is not None and (metric.is_power or "J" in metric.units):
        return "--meter KIND"
    return _MEASURED_WITH.get(quantity, "")
