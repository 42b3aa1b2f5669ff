"""One metric of two trials: is B better than A, worse, or the same?

A metric of which sessions have values is compared by `stats.compare`; power and energy where meters of one
scope took both sides, and never as declared. Accuracy is compared image by image where both trials predicted
the very same set, with McNemar's exact test and the paired interval. What is one exact number a trial, such
as the size of a file, is compared as that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from edgebench.judge.accuracy import Predictions, drop_of
from edgebench.judge.columns import missing_reasons
from edgebench.judge.metric import BYTE_UNITS, BySession, Metric
from edgebench.judge.power import headline_rails
from edgebench.judge.trial_summary import UNKNOWN_SCOPE, Accuracy, FailedSessions, PowerFigure, TrialSummary
from edgebench.records.stored import ImagesRecord, SceneRecord, SessionRecord
from edgebench.stats import compare as session_compare
from edgebench.stats.compare import (
    ALPHA,
    GATE_SESSIONS,
    MINIMUM_EFFECT,
    fisher,
    mcnemar,
    sessions_to_decide,
    share_difference,
)
from edgebench.stats.intervals import MIN_SESSIONS, session_medians, trial_median
from edgebench.stats.warnings import CONTAMINATION, DISTURBANCES

# What a comparison of two trials by one metric says, and what it takes of each.


Word = Literal["better", "worse", "same", "undecided", "not compared"]

MINIMUM_POINTS = 1.0
"""The smallest difference of two shares that counts, in points: hundredths of the images."""


@dataclass(frozen=True)
class Threshold:
    """What counts as a difference.

    Attributes:
        minimum_effect: of a ratio, as a share: 0.03 is 3 % more or less.
        minimum_points: of a share, such as accuracy, in points.
        alpha: in so many calls on results that are alike some comparison may say better or worse.
        include_contaminated: whether a gate decides by sessions that were disturbed, too.
    """

    minimum_effect: float = MINIMUM_EFFECT
    """The smallest ratio that counts, as a share. Source: command line."""
    minimum_points: float = MINIMUM_POINTS
    """The smallest difference of shares that counts. Unit: points. Source: command line."""
    alpha: float = ALPHA
    """In so many calls on results that are alike some comparison may say better or worse. Source: fit."""
    include_contaminated: bool = False
    """Whether a gate decides by sessions that were disturbed, too. Source: command line."""


@dataclass(frozen=True)
class MetricComparison:
    """B against A by one metric.

    Attributes:
        metric: its name.
        unit: of `a` and `b`, the metric's base unit.
        word: of B; `not compared` where a side has no figure or the two are not of the same thing.
        a, b: the figures: means of session medians, shares, or exact numbers; None where missing.
        scale: whether `difference` is B over A, or B less A in points (hundredths).
        difference: with the ends of its interval at 1 - alpha, `low` and `high`; None where there is none.
        test: Welch, McNemar or Fisher; empty where nothing was tested.
        p: of that test alone; `adjusted_p` among all comparisons of the call (Holm).
        a_n, b_n: how many sessions or images there are; of an exact number 1.
        of: what they are, in the plural; empty for an exact number.
        sessions_needed: how many sessions a side would decide it; None where that is not known.
        identical: whether both sides are the very same sessions.
        reason: why it was not compared, or is undecided.
        note: what else a reader should know.
        gate: why a gate (`--fail-on regression`) decides nothing by it; empty where it does.
        warnings: what disturbed the sessions of a side, such as `B: interference: ...`.
    """

    metric: str
    """Its name in the catalogue of metrics. Source: fit."""
    unit: str
    """Of a and b. Source: fit."""
    word: Word
    """What B is, in the metric's better direction. Source: fit."""
    a: float | None = None
    """The baseline's figure, in unit; null where missing. Source: sessions."""
    b: float | None = None
    """The other's. Source: sessions."""
    scale: Literal["ratio", "points"] = "ratio"
    """Whether difference is b over a, or b less a in points, hundredths. Source: fit."""
    difference: float | None = None
    """As scale says; null where there is none. Source: fit."""
    low: float | None = None
    """Lower end of the interval of difference at 1 - alpha; null without one. Source: fit."""
    high: float | None = None
    """Upper end of the interval of difference at 1 - alpha; null without one. Source: fit."""
    test: Literal["Welch", "McNemar", "Fisher", ""] = ""
    """The test; empty where nothing was tested. Source: fit."""
    p: float | None = None
    """Of that test alone, two-sided. Source: fit."""
    adjusted_p: float | None = None
    """Among all tests of the call, by Holm. Source: fit."""
    a_n: int = 0
    """Sessions or images of the baseline. Source: sessions."""
    b_n: int = 0
    """Of the other. Source: sessions."""
    of: Literal["sessions", "images", "patches", ""] = ""
    """What a_n and b_n count; empty for an exact number. Source: fit."""
    sessions_needed: int | None = None
    """Sessions a side that would decide it; null where that is not known. Source: fit."""
    identical: bool = False
    """Whether both are the very same sessions. Source: fit."""
    reason: str = ""
    """Why it is undecided or not compared. Source: fit."""
    note: str = ""
    """What else a reader should know. Source: fit."""
    gate: str = ""
    """Why --fail-on regression decides nothing by it; empty where it does. Source: fit."""
    warnings: tuple[str, ...] = ()
    """What disturbed the sessions of a side, which is named first. Source: sessions."""


@dataclass(frozen=True)
class TrialSide:
    """A trial with what else of its result a comparison takes.

    Attributes:
        summary: its figures.
        records: its sessions that ended well.
        scene: what it was timed with.
        images: what its accuracy was taken on; None where there is nothing.
        period_s: between its passes; None where they followed each other.
        artifact_sha256: of the file that was placed; None where it is not known.
        predictions: gives those of `images` or `scene`.
    """

    summary: TrialSummary
    records: Sequence[SessionRecord]
    scene: SceneRecord
    images: ImagesRecord | None
    period_s: float | None
    artifact_sha256: str | None
    predictions: Callable[[Literal["images", "scene"]], Predictions | None]


def figure_of(metric: Metric, trial: TrialSummary) -> float | None:
    """The number that a metric's value comes to; None where it is missing or has several."""
    value = metric.value(trial)
    if hasattr(value, "median"):
        value = value.median
    elif hasattr(value, "k"):
        value = value.k / value.n if value.n else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def missing_figure(metric: Metric, a: TrialSide, b: TrialSide) -> str:
    """Why there is nothing to compare, side by side."""
    reasons = {
        name: missing_reasons(side.summary).get(metric.json_place)
        or metric.missing(side.summary)
        or f"no finished session has a value of {metric.name}"
        for name, side in (("A", a), ("B", b))
    }
    absent = [name for name, side in (("A", a), ("B", b)) if metric.value(side.summary) is None]
    if len(absent) != 1 and reasons["A"] == reasons["B"]:
        return f"neither has it: {reasons['A']}"
    return "; ".join(f"{name} has none: {reasons[name]}" for name in absent or reasons)


# Two trials compared by the values of their sessions, or by one exact number each.


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
        return replace(blank, reason=missing_figure(metric, a, b))
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
        lacking = ", ".join(
            f"{name} has {len(each)} and lacks {MIN_SESSIONS - len(each)}"
            for name, each in (("A", of_a), ("B", of_b))
            if len(each) < MIN_SESSIONS
        )
        reason = f"a comparison takes {MIN_SESSIONS} sessions a side: {lacking}"
        return replace(compared, reason=reason, sessions_needed=MIN_SESSIONS)
    if outcome.word != "undecided":
        return compared
    needed = sessions_to_decide(of_a, of_b, minimum_effect=threshold.minimum_effect, alpha=threshold.alpha)
    return replace(compared, reason="the sessions differ by too much to tell", sessions_needed=needed)


def gated(
    item: MetricComparison, metric: Metric, a: TrialSide, b: TrialSide, threshold: Threshold
) -> MetricComparison:
    """With what disturbed the sessions of a side, and why a gate decides nothing by it.

    Only what sessions are compared by is concerned. A load on the machine does not change how many bytes
    are used.
    """
    if item.of != "sessions" or item.scale != "ratio" or item.identical:
        return item
    disturbed = [
        (side, caution)
        for side, trial in (("A", a), ("B", b))
        for caution in trial.summary.cautions
        if caution.flag in DISTURBANCES and metric.units is not BYTE_UNITS
    ]
    contaminated = [
        f"{side} has {caution.flag.name.lower().replace('_', ' ')}"
        for side, caution in disturbed
        if caution.flag in CONTAMINATION and not threshold.include_contaminated
    ]
    fewest = min(item.a_n, item.b_n)
    reasons = (
        [f"a gate takes {GATE_SESSIONS} sessions a side, not {fewest}"] if fewest < GATE_SESSIONS else []
    )
    reasons += [f"contaminated: {', '.join(contaminated)}"] if contaminated else []
    warnings = tuple(f"{side}: {caution.sentence()}" for side, caution in disturbed)
    return replace(item, gate="; ".join(reasons), warnings=warnings)


def _shared_sessions(a: TrialSide, b: TrialSide) -> str:
    """That some sessions are in both results, so that they are not independent."""
    theirs = {tuple(sorted(record.tables.items())) for record in b.records if record.tables}
    shared = sum(tuple(sorted(record.tables.items())) in theirs for record in a.records)
    return f"{shared} of the sessions {'is' if shared == 1 else 'are'} in both results" if shared else ""


def by_rails(
    blank: MetricComparison, metric: Metric, a: TrialSide, b: TrialSide, threshold: Threshold
) -> MetricComparison:
    """By the sessions of one meter a side that see the same part of the board; neither is declared."""
    sides = [
        [rail for rail in headline_rails(side.summary.power or ()) if getattr(rail, metric.rail_sessions)]
        for side in (a, b)
    ]
    if not all(sides):
        return replace(blank, reason=_why_unmetered(metric, a, b) or missing_figure(metric, a, b))
    rails = _of_one_scope(*sides)
    if rails is None:
        scopes = [" and ".join(dict.fromkeys(rail.scope or UNKNOWN_SCOPE for rail in side)) for side in sides]
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
    if blank.a is None or blank.b is None:
        return replace(blank, reason=missing_figure(metric, a, b))
    if blank.a <= 0 or blank.b <= 0:
        return replace(blank, reason="a figure is not above 0, and a ratio says nothing of it")
    ratio = blank.b / blank.a
    word: Word = "same"
    if not math.isclose(ratio, 1) and abs(ratio - 1) >= threshold.minimum_effect:
        word = "better" if (ratio < 1) == (metric.better == "lower") else "worse"
    return replace(
        blank,
        word=word,
        difference=ratio,
        low=ratio,
        high=ratio,
        a_n=1,
        b_n=1,
        note="exact, nothing to test",
    )


# Two trials compared by shares: of the images that are right, of the sessions that failed.


def by_images(
    blank: MetricComparison, metric: Metric, a: TrialSide, b: TrialSide, threshold: Threshold
) -> MetricComparison:
    """Image by image where both predicted one set; else as two shares, where the sets are of one kind."""
    set_name: Literal["images", "scene"] = "scene" if metric.compared == "scene" else "images"
    of_a, of_b = metric.value(a.summary), metric.value(b.summary)
    if not isinstance(of_a, Accuracy) or not isinstance(of_b, Accuracy):
        return replace(blank, reason=missing_figure(metric, a, b))
    of: Literal["images", "patches"] = "images" if set_name == "images" else "patches"
    counted = replace(blank, scale="points", a_n=of_a.n, b_n=of_b.n, of=of)
    overlap = "; overlapping crops make its interval a little too narrow" if of_a.overlapping else ""
    sets = [side.images if set_name == "images" else side.scene for side in (a, b)]
    is_same_set = sets[0] is not None and sets[1] is not None and sets[0].sha256 == sets[1].sha256
    mine, theirs = (side.predictions(set_name) if is_same_set else None for side in (a, b))
    drop = drop_of(mine, theirs) if mine is not None and theirs is not None else None
    if mine is not None and theirs is not None and drop is not None:  # of A below B
        # One file that gave both and agrees throughout: nothing is left to chance then.
        same_file = a.artifact_sha256 is not None and a.artifact_sha256 == b.artifact_sha256
        if same_file and np.array_equal(mine.predicted, theirs.predicted):
            note = "the same file predicts the same of each image"
            return replace(counted, word="same", difference=0.0, low=0.0, high=0.0, note=note)
        right, wrong = drop.only_fp32_right, drop.only_this_right
        p = mcnemar(wrong, right)
        outcome = replace(counted, difference=drop.points, low=drop.low, high=drop.high, p=p, test="McNemar")
        note = f"right on {right} that A is wrong on, wrong on {wrong} that A is right on{overlap}"
        return _by_points(outcome, metric, threshold, note=note)
    if sorted(of_a.class_names) != sorted(of_b.class_names):
        return replace(counted, reason="the images have other classes")
    note = "not of the same images: the sets may differ in how hard they are"
    if is_same_set:
        note = "predictions of both sides cannot be matched image by image"
    return _by_points(_of_shares(counted, of_a, of_b), metric, threshold, note=f"{note}{overlap}")


def _of_shares(
    blank: MetricComparison, of_a: Accuracy | FailedSessions, of_b: Accuracy | FailedSessions
) -> MetricComparison:
    """Two shares of different things, tested against each other."""
    a, b = (of_a.k, of_a.n), (of_b.k, of_b.n)
    difference, low, high = (100 * share for share in share_difference(a, b))
    return replace(
        blank,
        scale="points",
        difference=difference,
        low=low,
        high=high,
        p=fisher(a, b),
        test="Fisher",
        a_n=of_a.n,
        b_n=of_b.n,
    )


def _by_points(
    outcome: MetricComparison, metric: Metric, threshold: Threshold, *, note: str
) -> MetricComparison:
    """With its word: different where it is significant and large enough, the same where that is excluded."""
    assert outcome.difference is not None and outcome.low is not None and outcome.high is not None
    word: Word = "undecided"
    if (outcome.p or 0.0) < threshold.alpha and abs(outcome.difference) >= threshold.minimum_points:
        word = "better" if (outcome.difference > 0) == (metric.better == "higher") else "worse"
    elif -threshold.minimum_points < outcome.low and outcome.high < threshold.minimum_points:
        word = "same"
    of_each = f"{outcome.a_n}" if outcome.a_n == outcome.b_n else f"{outcome.a_n} and {outcome.b_n}"
    reason = f"{of_each} {outcome.of} are too few to tell" if word == "undecided" else ""
    return replace(outcome, word=word, reason=reason, note=note)


def by_failures(
    blank: MetricComparison, metric: Metric, a: TrialSide, b: TrialSide, threshold: Threshold
) -> MetricComparison:
    """By how many of the sessions failed that came to an end by themselves."""
    of_a, of_b = a.summary.failed_sessions, b.summary.failed_sessions
    if of_a is None or of_b is None:
        return replace(blank, reason=missing_figure(metric, a, b))
    return _by_points(replace(_of_shares(blank, of_a, of_b), of="sessions"), metric, threshold, note="")


def compare_metric(metric: Metric, a: TrialSide, b: TrialSide, threshold: Threshold) -> MetricComparison:
    """B against A, for itself: `adjusted_p` is not known yet."""
    figure_a, figure_b = (figure_of(metric, side.summary) for side in (a, b))
    blank = MetricComparison(metric.name, metric.unit, "not compared", figure_a, figure_b)
    if reason := _unlike(metric, a, b):
        return replace(blank, reason=reason)
    compared = metric.comparison
    if isinstance(compared, BySession):
        values = [session_medians(compared.values(side.summary)) for side in (a, b)]
        outcome = by_sessions(blank, metric, a, b, values, threshold)
    else:
        assert compared is not None, f"results are not compared by {metric.name}"
        outcome = _WAYS[compared](blank, metric, a, b, threshold)
    measured = compared != "exact" and outcome.word != "not compared"
    # The records hold the hashes of what was measured.
    if measured and a.records and list(a.records) == list(b.records):
        nothing = 1.0 if outcome.scale == "ratio" else 0.0
        outcome = replace(
            outcome,
            word="same",
            difference=nothing,
            low=nothing,
            high=nothing,
            test="",
            p=None,
            sessions_needed=None,
            identical=True,
            reason="",
            note="the very same sessions",
        )
    return gated(outcome, metric, a, b, threshold)


_WAYS = {
    "rails": by_rails,
    "images": by_images,
    "scene": by_images,
    "failures": by_failures,
    "exact": exactly,
}


def _unlike(metric: Metric, a: TrialSide, b: TrialSide) -> str:
    """Why the figures of two trials are not of the same thing; empty where they are."""
    if metric.of_a_pass and (reason := _unlike_passes(a.scene, b.scene)):
        return reason
    if metric.name == "image_s" and a.summary.untimed_stages != b.summary.untimed_stages:
        lacks = [
            f"{name} is without {' and '.join(side.summary.untimed_stages)}"
            for name, side in (("A", a), ("B", b))
            if side.summary.untimed_stages and metric.value(side.summary) is not None
        ]
        if lacks:
            return f"image_s of {', of '.join(lacks)}"
    if metric.rail and a.period_s != b.period_s:
        periods = [
            "back to back" if side.period_s is None else f"every {side.period_s:g} s" for side in (a, b)
        ]
        return f"A was measured {periods[0]}, B {periods[1]}: power and energy hold the pauses"
    return ""


def _unlike_passes(a: SceneRecord, b: SceneRecord) -> str:
    """Why a pass over the one scene is not one over the other."""
    passes = [
        (scene.kind, scene.rows, scene.columns, scene.patch, scene.patch_width or scene.patch)
        for scene in (a, b)
    ]
    sizes = [(scene.height, scene.width, scene.stride) for scene in (a, b)]
    if passes[0] == passes[1] and sizes[0] == sizes[1]:
        return ""
    texts = [
        f"{scene.patches} patches of {scene.patch_width or scene.patch} x {scene.patch} "
        f"in {scene.width} x {scene.height} pixels"
        if scene.kind == "picture"
        else f"{scene.patches} samples"
        for scene in (a, b)
    ]
    return f"a pass of A is {texts[0]}, of B {texts[1]}"
