"""Two trials compared by the values of their sessions, or by one exact number each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from edgebench.fit.compared_metric import (
    MetricComparison,
    Threshold,
    TrialSide,
    Word,
    missing_figure,
    with_figures,
)
from edgebench.fit.metric import Metric
from edgebench.fit.power_summary import headline_rails
from edgebench.fit.trial_summary import UNKNOWN_SCOPE, PowerFigure
from edgebench.stats import compare as session_compare
from edgebench.stats.compare import sessions_to_decide
from edgebench.stats.intervals import MIN_SESSIONS, trial_median


def by_sessions(
    blank: MetricComparison,
    metric: Metric,
    a: TrialSide,
    b: TrialSide,
    values: Sequence[Sequence[float]],
    threshold: Threshold,
) -> MetricComparison:
    """By one value a session and side, `values`, of any unit, which may be none."""
    of_a, of_b = values
    if not of_a or not of_b:
        return replace(with_figures(blank, metric, a, b), reason=missing_figure(metric, a, b))
    counted = replace(
        blank,
        a=trial_median([[value] for value in of_a]),
        b=trial_median([[value] for value in of_b]),
        a_n=len(of_a),
        b_n=len(of_b),
        of="sessions",
    )
    if min(*of_a, *of_b) <= 0:
        return replace(counted, reason="a session's value is not above 0, and a ratio says nothing of it")
    outcome = session_compare.compare(
        of_a,
        of_b,
        lower_is_better=metric.better == "lower",
        minimum_effect=threshold.minimum_effect,
        alpha=threshold.alpha,
    )
    compared = replace(
        counted,
        word=outcome.word,
        difference=outcome.ratio,
        low=outcome.low,
        high=outcome.high,
        p=outcome.p,
        test="Welch" if outcome.p is not None else "",
        note=_shared_sessions(a, b),
    )
    if outcome.p is None:
        return replace(compared, reason=_too_few(len(of_a), len(of_b)), sessions_needed=MIN_SESSIONS)
    if outcome.word != "undecided":
        return compared
    needed = sessions_to_decide(of_a, of_b, minimum_effect=threshold.minimum_effect, alpha=threshold.alpha)
    return replace(compared, reason=_UNDECIDED, sessions_needed=needed)


_UNDECIDED = "the sessions differ by too much to tell"


def _too_few(a: int, b: int) -> str:
    """Why so few sessions decide nothing, and how many more would."""
    lacking = [
        f"{name} has {count} and lacks {MIN_SESSIONS - count}"
        for name, count in (("A", a), ("B", b))
        if count < MIN_SESSIONS
    ]
    return f"a comparison takes {MIN_SESSIONS} sessions a side: {', '.join(lacking)}"


def _shared_sessions(a: TrialSide, b: TrialSide) -> str:
    """That some sessions are in both results, so that they are not independent."""
    theirs = {tuple(sorted(record.tables.items())) for record in b.records if record.tables}
    shared = sum(tuple(sorted(record.tables.items())) in theirs for record in a.records)
    return f"{shared} of the sessions {'is' if shared == 1 else 'are'} in both results" if shared else ""


def by_rails(
    blank: MetricComparison, metric: Metric, a: TrialSide, b: TrialSide, threshold: Threshold
) -> MetricComparison:
    """By the sessions of one meter a side that see the same part of the board; neither is declared."""
    blank = with_figures(blank, metric, a, b)
    sides = [
        [rail for rail in headline_rails(side.summary.power or ()) if getattr(rail, metric.rail_sessions)]
        for side in (a, b)
    ]
    if not all(sides):
        return replace(blank, reason=_why_unmetered(metric, a, b) or missing_figure(metric, a, b))
    rails = _of_one_scope(*sides)
    if rails is None:
        scopes = [" and ".join(dict.fromkeys(_scope(rail) for rail in side)) for side in sides]
        reason = f"no meters of one scope: A was measured at the {scopes[0]}, B at the {scopes[1]}"
        return replace(blank, reason=reason)
    values = [getattr(rail, metric.rail_sessions) for rail in rails]
    outcome = by_sessions(blank, metric, a, b, values, threshold)
    mine, theirs = rails
    seen = f"by meters of the {mine.scope}"
    if (mine.meter, mine.channel) != (theirs.meter, theirs.channel):
        seen += f", {mine.meter} ({mine.channel}) and {theirs.meter} ({theirs.channel})"
    return replace(outcome, note="; ".join(note for note in (seen, outcome.note) if note))


def _why_unmetered(metric: Metric, a: TrialSide, b: TrialSide) -> str:
    """Why a meter that was there gave no figure, side by side; empty where there was none."""
    reasons = []
    for name, side in (("A", a), ("B", b)):
        rail = side.summary.primary_rail
        if rail is not None and getattr(rail, metric.rail) is None and rail.reason:
            reasons.append(f"{name} has none: {rail.reason}")
        elif rail is None:
            reasons.append(f"{name} has none: {side.summary.power_reason or 'no meter was asked for'}")
    return "; ".join(reasons) if any(side.summary.power for side in (a, b)) else ""


def _scope(rail: PowerFigure) -> str:
    return rail.scope or UNKNOWN_SCOPE


def _of_one_scope(
    a: Sequence[PowerFigure], b: Sequence[PowerFigure]
) -> tuple[PowerFigure, PowerFigure] | None:
    """The first rails in A's order that see the same part; of one meter and channel where there are such."""
    known = [
        (mine, theirs)
        for mine in a
        for theirs in b
        if mine.scope == theirs.scope and mine.scope not in ("", UNKNOWN_SCOPE)
    ]
    same = [pair for pair in known if (pair[0].meter, pair[0].channel) == (pair[1].meter, pair[1].channel)]
    return next(iter([*same, *known]), None)


def exactly(
    blank: MetricComparison, metric: Metric, a: TrialSide, b: TrialSide, threshold: Threshold
) -> MetricComparison:
    """Two numbers without any scatter: nothing is tested, and the difference is what it is."""
    outcome = with_figures(blank, metric, a, b)
    if outcome.a is None or outcome.b is None:
        return replace(outcome, reason=missing_figure(metric, a, b))
    if outcome.a <= 0 or outcome.b <= 0:
        return replace(outcome, reason="a figure is not above 0, and a ratio says nothing of it")
    ratio = outcome.b / outcome.a
    word: Word = "same"
    if not math.isclose(ratio, 1) and abs(ratio - 1) >= threshold.minimum_effect:
        word = "better" if (ratio < 1) == (metric.better == "lower") else "worse"
    return replace(
        outcome,
        word=word,
        difference=ratio,
        low=ratio,
        high=ratio,
        a_n=1,
        b_n=1,
        note="exact, nothing to test",
    )
