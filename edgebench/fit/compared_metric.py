"""What a comparison of two trials by one metric says, and what it takes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edgebench.fit.accuracy import Predictions
from edgebench.fit.metric import Metric
from edgebench.fit.metrics import METRICS
from edgebench.fit.trial_metrics import missing_reasons
from edgebench.fit.trial_summary import TrialSummary
from edgebench.stats.compare import ALPHA, MINIMUM_EFFECT
from edgebench.store.records import ImagesRecord, SceneRecord, SessionRecord

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
    """

    minimum_effect: float = MINIMUM_EFFECT
    minimum_points: float = MINIMUM_POINTS
    alpha: float = ALPHA


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
    """

    metric: str
    unit: str
    word: Word
    a: float | None = None
    b: float | None = None
    scale: Literal["ratio", "points"] = "ratio"
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    test: Literal["Welch", "McNemar", "Fisher", ""] = ""
    p: float | None = None
    adjusted_p: float | None = None
    a_n: int = 0
    b_n: int = 0
    of: Literal["sessions", "images", "patches", ""] = ""
    sessions_needed: int | None = None
    identical: bool = False
    reason: str = ""
    note: str = ""

    @property
    def lower_is_better(self) -> bool:
        """Which way the catalogue says is better."""
        return METRICS[self.metric].better == "lower"


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


def has_figure(metric: Metric, trial: TrialSummary) -> bool:
    """Whether a trial has a figure of the metric."""
    return metric.value(trial) is not None


def with_figures(blank: MetricComparison, metric: Metric, a: TrialSide, b: TrialSide) -> MetricComparison:
    """With the figures of both sides, as far as they are single numbers."""
    return replace(blank, a=figure_of(metric, a.summary), b=figure_of(metric, b.summary))


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
    reasons = {}
    for name, side in (("A", a), ("B", b)):
        why = missing_reasons(side.summary).get(metric.json_place) or metric.missing(side.summary)
        reasons[name] = why or f"no finished session has a value of {metric.name}"
    absent = [name for name, side in (("A", a), ("B", b)) if not has_figure(metric, side.summary)]
    absent = absent or ["A", "B"]
    if len(absent) == 2 and reasons["A"] == reasons["B"]:
        return f"neither has it: {reasons['A']}"
    return "; ".join(f"{name} has none: {reasons[name]}" for name in absent)
