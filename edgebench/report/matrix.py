"""Trials with their figures and their standing against each profile, for every form of a report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgebench.judge.decision import settled_by
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import notes, tables, words
from edgebench.report.blocks import Column, Judgement, Matrix, Row, Standing
from edgebench.report.metric_text import metric_text, scope_text, value_of

MOST_ROWS = 24
"""Rows that are seen at once, some of every target; the others are folded."""


def matrix_of(
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    titles: Mapping[str, str],
    standings: Mapping[tuple[str, str], Standing],
) -> Matrix:
    """One row a trial: first those that fail the fewest profiles, then the quickest.

    Args:
        summaries: of the trials.
        verdicts: on them, which say what each profile requires.
        titles: of the profiles, by name.
        standings: by trial and profile, as `standings_of` gives them.
    """
    names = tables.trial_names(summaries)
    columns = _figures(summaries, verdicts)
    figures = zip(*(texts for _, texts in columns), strict=True) if columns else [()] * len(summaries)
    rows = {
        summary.key: Row(
            names[summary.key],
            tuple(texts),
            tuple(standings.get((summary.key, profile)) for profile in titles),
        )
        for summary, texts in zip(summaries, figures, strict=True)
    }

    def order(summary: TrialSummary) -> tuple[float, ...]:
        fails = sum(bool(each and each.word == "fail") for each in rows[summary.key].standings)
        latency_s = math.inf if summary.latency is None else summary.latency.median
        return summary.status not in ("done", "partial"), fails, latency_s

    ordered = sorted(summaries, key=order)
    rank: Counter[str] = Counter()
    places = []
    for place, summary in enumerate(ordered):
        rank[summary.target] += 1
        places.append((rank[summary.target], place))
    seen = {place for _, place in sorted(places)[:MOST_ROWS]}
    return Matrix(
        tuple(column for column, _ in columns),
        tuple(
            Column(words.plain(title, 60), about=_required(profile, verdicts))
            for profile, title in titles.items()
        ),
        tuple(rows[each.key] for place, each in enumerate(ordered) if place in seen),
        tuple(rows[each.key] for place, each in enumerate(ordered) if place not in seen),
    )


def _required(profile: str, verdicts: Sequence[Verdict]) -> str:
    """What a profile requires, as the explanation of its column."""
    limits = (words.limit(verdict) for verdict in verdicts if verdict.profile == profile)
    return ", ".join(dict.fromkeys(limits))


def _figures(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]
) -> list[tuple[Column, Sequence[str]]]:
    """The columns of figures: those of every matrix, then what the profiles limit and trials differ in."""
    columns = [
        _with_scope(metric, column, texts, summaries)
        for metric, column, texts in tables.metric_columns("matrix", summaries)
        if not _is_inside(metric, summaries)
    ]
    shown = {metric.name for metric, *_ in tables.metric_columns("matrix", summaries)}
    for name in dict.fromkeys(verdict.quantity for verdict in verdicts):
        metric = METRICS.get(name)
        if metric is None or name in shown or metric.of_schedule or metric.is_size:
            continue
        form = metric.shown[0].form if metric.shown else "number"
        heading = metric.shown[0].heading if metric.shown else "{label}"
        texts = [metric_text(value_of(metric, summary), form) for summary in summaries]
        if len(set(texts)) > 1:
            heading = heading.replace("{label}", metric.titled)
            columns.append((Column(heading, figures=True, about=metric.sentence), texts))
    return columns


def _is_inside(metric: Metric, summaries: Sequence[TrialSummary]) -> bool:
    """Whether every trial with this figure has the one that it is a part of."""
    wholes = [each for each in METRICS.values() if each.part == metric.name]
    return any(
        all(whole.value(summary) is not None for summary in summaries if metric.value(summary) is not None)
        for whole in wholes
    )


def _with_scope(
    metric: Metric, column: Column, texts: Sequence[str], summaries: Sequence[TrialSummary]
) -> tuple[Column, Sequence[str]]:
    """Of power and energy: what the meters cover, in the heading where all cover the same."""
    if not metric.rail:
        return column, texts
    scopes = ["" if each.primary_rail is None else scope_text(each.primary_rail) for each in summaries]
    if len(set(filter(None, scopes))) < 2:
        scope = next(filter(None, scopes), "")
        about = f"{metric.sentence} The meter covers: {scope}. Only figures of one scope compare."
        return replace(column, heading=f"{column.heading} ({scope})", about=about), texts
    return column, [
        f"{text} ({scope})" if scope and text != words.MISSING else text
        for text, scope in zip(texts, scopes, strict=True)
    ]


def standings_of(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]
) -> dict[tuple[str, str], Standing]:
    """Each trial against each profile, by both."""
    trials = {summary.key: summary for summary in summaries}
    return {
        (trial, profile): _standing(trials[trial], whole.verdicts)
        for (trial, profile), whole in notes.wholes(verdicts).items()
        if trial in trials
    }


def _standing(trial: TrialSummary, verdicts: Sequence[Verdict]) -> Standing:
    judgements = [_judgement(trial, verdict) for verdict in verdicts]
    required = [
        (verdict, judgement)
        for verdict, judgement in zip(verdicts, judgements, strict=True)
        if not verdict.wanted
    ]
    by_word = words.grouped((str(verdict.verdict), (verdict, judgement)) for verdict, judgement in required)
    decided_by = None
    if "fail" in by_word:
        word = "fail"
        decided_by = max(by_word[word], key=lambda pair: _missed_by(pair[0]))[1]
    elif "inconclusive" in by_word:
        word, decided_by = "inconclusive", by_word["inconclusive"][0][1]
    elif "unknown" not in by_word:
        word = "pass"
    else:
        word = "so far" if "pass" in by_word else "unknown"
    return Standing(word, decided_by, tuple(judgements))


def _missed_by(verdict: Verdict) -> tuple[bool, float]:
    """A miss as a multiple of the limit, the most for a bound; the load of a schedule repeats a latency's."""
    is_own = verdict.quantity != "load"
    if verdict.margin is None or isinstance(verdict.limit, Sequence):
        return is_own, math.inf if verdict.margin is None else -verdict.margin
    return is_own, -verdict.margin / (abs(verdict.limit) or 1.0)


def _judgement(trial: TrialSummary, verdict: Verdict) -> Judgement:
    value, excess = words.judged(verdict) if verdict.declared else words.value(verdict), ""
    margin = "" if verdict.margin is None else words.margin(verdict)
    if verdict.declared:
        margin += f" (declared {verdict.declared})"
    if verdict.verdict == "inconclusive":
        ends = (verdict.low, verdict.high)
        excess = "" if None in ends else words.estimate(None, *ends, words.unit(verdict))
    elif verdict.verdict == "fail":
        excess = words.judged(verdict)
        excess = words.distance(verdict) or excess
    is_measured = trial.status in ("done", "partial")
    by = settled_by(trial, verdict) if is_measured and verdict.verdict in ("inconclusive", "unknown") else ""
    return Judgement(
        verdict.verdict,
        words.plain(verdict.requirement, 40),
        words.limit(verdict),
        "" if value == words.MISSING else value,
        margin,
        excess,
        "; ".join(filter(None, [words.plain(verdict.reason), f"to settle: {by}" if by else ""])),
    )
