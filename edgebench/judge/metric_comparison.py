"""A metric of two trials: is B better than A, worse, or the same?

A metric with values by session is compared by `stats.compare`; power and energy by meters of one scope, never
as declared. Accuracy is compared image by image where both trials predicted the same set, with McNemar's
exact test and the paired interval. One exact number a trial, such as the size of a file, is not tested.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from pydantic import ConfigDict
from pydantic.json_schema import SkipJsonSchema

from edgebench.judge.accuracy import Predictions, drop_of, predictions_of
from edgebench.judge.columns import missing_reasons
from edgebench.judge.metric import BYTE_UNITS, ByCount, ByImages, ByRail, BySession, Exactly, Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.power import headline_rails
from edgebench.judge.trial_summary import UNKNOWN_SCOPE, TrialSummary
from edgebench.records.stored import ImagesRecord, SceneRecord, SessionRecord, TrialRecord
from edgebench.results.load import StoredResults
from edgebench.results.revisions import planned_name
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
from edgebench.stats.intervals import MIN_SESSIONS, trial_median
from edgebench.stats.warnings import CONTAMINATION, DISTURBANCES

# What a comparison says. These are the documents of `edgebench compare --json`, too.


Word = Literal["better", "worse", "same", "undecided", "not compared"]

MINIMUM_POINTS = 1.0
"""The smallest difference of two shares that counts, in points: hundredths of the images."""


@dataclass(frozen=True)
class Threshold:
    """What counts as a difference."""

    minimum_effect: float = MINIMUM_EFFECT
    """The smallest ratio that counts, as a share: 0.03 is 3 % more or less. Source: command line."""
    minimum_points: float = MINIMUM_POINTS
    """The smallest difference of shares that counts. Unit: points. Source: command line."""
    alpha: float = ALPHA
    """Share of calls on alike results in which some comparison may say better or worse. Source: fit."""
    include_contaminated: bool = False
    """Whether a gate decides by sessions that were disturbed, too. Source: command line."""


@dataclass(frozen=True)
class MetricComparison:
    """B against A by one metric."""

    metric: str
    """Its name in the catalogue of metrics. Source: fit."""
    unit: str
    """Unit of a and b. Source: fit."""
    word: Word
    """What B is, in the metric's better direction. Source: fit."""
    a: float | None = None
    """The baseline's figure, in unit; null where missing. Source: sessions."""
    b: float | None = None
    """The other's. Source: sessions."""
    scale: Literal["ratio", "points"] = "ratio"
    """Whether difference is b over a, or b less a in points, hundredths. Source: fit."""
    difference: float | None = None
    """As scale says; null where it is missing. Source: fit."""
    low: float | None = None
    """Lower end of the interval of difference at 1 - alpha; null without one. Source: fit."""
    high: float | None = None
    """Upper end of the interval of difference at 1 - alpha; null without one. Source: fit."""
    test: Literal["Welch", "McNemar", "Fisher", ""] = ""
    """The test; empty where nothing was tested. Source: fit."""
    p: float | None = None
    """p of that test alone, two-sided. Source: fit."""
    adjusted_p: float | None = None
    """Among all tests of the call, by Holm. Source: fit."""
    a_n: int = 0
    """Sessions or images of the baseline; of an exact number 1. Source: sessions."""
    b_n: int = 0
    """The same for the other. Source: sessions."""
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
    in_words: str = ""
    """The difference in words. Source: fit."""


@dataclass(frozen=True)
class TrialIdentity:
    """What two trials share that are compared, or are of one series; versions and hosts may differ."""

    target: str
    """Its target. Source: experiment.json."""
    variant: str
    """Its variant. Source: experiment.json."""
    batch: int
    """Images in one inference. Source: experiment.json."""
    concurrency: int
    """Inferences that the device has in flight. Source: experiment.json."""
    settings: dict[str, Any]
    """Those in which its target differs within a sweep. Source: experiment.json."""


@dataclass(frozen=True)
class ComparedTrial(TrialIdentity):
    """A trial of a result that is compared."""

    __pydantic_config__ = ConfigDict(arbitrary_types_allowed=True)  # for what is in no document

    key: str
    """Key of the trial. Source: experiment.json."""
    mark: str
    """The mark that its figures must carry. Source: fit."""
    summary: SkipJsonSchema[TrialSummary] = field(repr=False)
    """Internal: its figures."""
    results: SkipJsonSchema[StoredResults] = field(repr=False)
    """Internal: the result that holds it."""

    @classmethod
    def of(cls, summary: TrialSummary, results: StoredResults) -> Self:
        """The trial of a summary."""
        names = ("target", "variant", "batch", "concurrency", "settings", "key", "mark")
        planned = {name: getattr(summary, name) for name in names}
        return cls(**planned, summary=summary, results=results)

    @property
    def planned(self) -> str:
        """The target of the plan that its target is, or is a revision of."""
        names = {target.name: planned_name(target) for target in self.results.experiment.targets}
        return names.get(self.target, self.target)

    @cached_property
    def trial(self) -> TrialRecord:
        """What was planned."""
        return next(trial for trial in self.results.experiment.trials if trial.key == self.key)

    @cached_property
    def sessions(self) -> list[SessionRecord]:
        """Those that ended well."""
        return [record for record in self.results.session_records(self.key) if record.status == "ok"]

    @property
    def scene(self) -> SceneRecord:
        """What it was timed with."""
        return self.results.experiment.scene_of(self.trial)

    @property
    def images(self) -> ImagesRecord | None:
        """What its accuracy was taken on; None where there is nothing."""
        return self.results.experiment.images_of(self.trial)

    def predictions(self, set_name: Literal["images", "scene"]) -> Predictions | None:
        """Those of a lone worker; reads them from disk."""
        source = self.images if set_name == "images" else self.scene
        columns = ["worker", "set", "index", "label", "predicted"]
        rows = self.results.rows("predictions", columns, [self.key])
        if len(set(rows.whole("worker").tolist())) > 1:
            return None
        numbers = [record.n for record in self.sessions]
        labels = source.class_names if source else ()
        return predictions_of(rows, set_name, numbers, labels, self.trial.class_names)


def trial_identity(trial: TrialSummary | TrialIdentity, target: str) -> Hashable:
    """A trial's identity as one value; `target` is its name without the settings of a sweep."""
    settings = json.dumps(trial.settings, sort_keys=True, default=str)
    return target, settings, trial.variant, trial.batch, trial.concurrency


# A pair by one metric. Each way to compare fills in a blank that has the two figures.


SPEEDS = ("image_s", "infer_s", "instructions")
"""The first of these that both sides have is compared where no metric is named."""

ALSO = ("accuracy", "energy_j")
"""Compared with the latency where no metric is named and both sides have them."""


def usual_metrics(a: TrialSummary, b: TrialSummary) -> list[str]:
    """The latency that both have, of emulated trials their instructions, and of the others what both have."""
    both = [
        name for name in (*SPEEDS, *ALSO) if all(METRICS[name].value(trial) is not None for trial in (a, b))
    ]
    fallback = a.latency_quantity or b.latency_quantity or "image_s"
    speed = next((name for name in both if name in SPEEDS), fallback)
    return [speed, *(name for name in both if name in ALSO)]


def figure_of(metric: Metric, trial: TrialSummary) -> float | None:
    """A metric's value as one number; None where it is missing or has several."""
    value = metric.value(trial)
    if hasattr(value, "median"):
        value = value.median
    elif hasattr(value, "k"):
        value = value.k / value.n if value.n else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def session_values(metric: Metric, trial: TrialSummary) -> Sequence[float]:
    """One number a session, of power as the primary meter and rail see it; empty without values."""
    kind = metric.comparison
    return kind.by_session(trial) if isinstance(kind, BySession | ByRail) else ()


def compare_metric(
    metric: Metric, a: ComparedTrial, b: ComparedTrial, threshold: Threshold
) -> MetricComparison:
    """B against A, for itself: `adjusted_p` is not known yet."""
    figure_a, figure_b = (figure_of(metric, side.summary) for side in (a, b))
    blank = MetricComparison(metric.name, metric.unit, "not compared", figure_a, figure_b)
    if reason := _unlike(metric, a, b):
        return replace(blank, reason=reason)
    ways = _Ways(blank, metric, a, b, threshold)
    match metric.comparison:
        case ByRail(field):
            item = ways.by_rails(field)
        case ByImages(of):
            item = ways.by_images(of)
        case ByCount():
            item = ways.by_shares(blank)
        case Exactly():
            return ways.exactly()
        case _:
            item = ways.by_sessions([session_values(metric, side.summary) for side in (a, b)])
    # The records hold the hashes of what was measured.
    if item.word != "not compared" and a.sessions and a.sessions == b.sessions:
        nothing = 1.0 if item.scale == "ratio" else 0.0
        return replace(
            MetricComparison(metric.name, metric.unit, "same", item.a, item.b, item.scale),
            difference=nothing,
            low=nothing,
            high=nothing,
            a_n=item.a_n,
            b_n=item.b_n,
            of=item.of,
            identical=True,
            note="the very same sessions",
        )
    if item.of != "sessions" or item.scale != "ratio":
        return item
    # A load on the machine does not change how many bytes are used.
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
    open_ = [f"a gate takes {GATE_SESSIONS} sessions a side, not {fewest}"] * (fewest < GATE_SESSIONS)
    open_ += [f"contaminated: {', '.join(contaminated)}"] if contaminated else []
    warnings = tuple(f"{side}: {caution.sentence()}" for side, caution in disturbed)
    return replace(item, gate="; ".join(open_), warnings=warnings)


def _unlike(metric: Metric, a: ComparedTrial, b: ComparedTrial) -> str:
    """Why the figures of two trials are not of the same thing; empty where they are."""
    if metric.of_a_pass and _pass_of(a.scene) != _pass_of(b.scene):
        texts = [
            f"{scene.patches} patches of {scene.patch_width or scene.patch} x {scene.patch} "
            f"in {scene.width} x {scene.height} pixels"
            if scene.kind == "picture"
            else f"{scene.patches} samples"
            for scene in (a.scene, b.scene)
        ]
        return f"a pass of A is {texts[0]}, of B {texts[1]}"
    if metric.name == "image_s" and a.summary.untimed_stages != b.summary.untimed_stages:
        lacks = [
            f"{name} is without {' and '.join(side.summary.untimed_stages)}"
            for name, side in (("A", a), ("B", b))
            if side.summary.untimed_stages and metric.value(side.summary) is not None
        ]
        if lacks:
            return f"image_s of {', of '.join(lacks)}"
    periods = [side.results.experiment.period_s for side in (a, b)]
    if metric.rail and periods[0] != periods[1]:
        paces = ["back to back" if period is None else f"every {period:g} s" for period in periods]
        return f"A was measured {paces[0]}, B {paces[1]}: power and energy hold the pauses"
    return ""


def _pass_of(scene: SceneRecord) -> Hashable:
    """What two scenes share if a pass over each is the same work."""
    size = scene.height, scene.width, scene.rows, scene.columns
    return scene.kind, size, scene.patch, scene.patch_width or scene.patch, scene.stride


@dataclass(frozen=True)
class _Ways:
    """The ways to compare B with A, each of which fills in the blank comparison."""

    blank: MetricComparison
    metric: Metric
    a: ComparedTrial
    b: ComparedTrial
    threshold: Threshold

    def missing_figure(self) -> str:
        """Why there is nothing to compare, side by side."""
        reasons = {
            side: (trial.primary_rail.reason if self.metric.rail and trial.primary_rail else "")
            or missing_reasons(trial).get(self.metric.json_place)
            or self.metric.missing(trial)
            or f"no finished session has a value of {self.metric.name}"
            for side, trial in (("A", self.a.summary), ("B", self.b.summary))
        }
        absent = [
            side for side, trial in (("A", self.a), ("B", self.b)) if self.metric.value(trial.summary) is None
        ]
        if len(absent) != 1 and reasons["A"] == reasons["B"]:
            return f"neither has it: {reasons['A']}"
        return "; ".join(f"{name} has none: {reasons[name]}" for name in absent or reasons)

    def by_sessions(self, values: Sequence[Sequence[float]]) -> MetricComparison:
        """By one value a session and side, of any unit."""
        of_a, of_b = values
        if not of_a or not of_b:
            return replace(self.blank, reason=self.missing_figure())
        mean_a, mean_b = (trial_median([[value] for value in side]) for side in (of_a, of_b))
        counted = replace(self.blank, a=mean_a, b=mean_b, a_n=len(of_a), b_n=len(of_b), of="sessions")
        if min(*of_a, *of_b) <= 0:
            return replace(counted, reason="a session's value is not above 0, and a ratio says nothing of it")
        rule = {"minimum_effect": self.threshold.minimum_effect, "alpha": self.threshold.alpha}
        outcome = session_compare.compare(of_a, of_b, lower_is_better=self.metric.better == "lower", **rule)
        reason, needed = outcome.reason, MIN_SESSIONS if outcome.p is None else None
        if outcome.p is not None and outcome.word == "undecided":
            reason = "the sessions differ by too much to tell"
            needed = sessions_to_decide(of_a, of_b, **rule)
        theirs = {tuple(sorted(record.tables.items())) for record in self.b.sessions if record.tables}
        shared = sum(tuple(sorted(record.tables.items())) in theirs for record in self.a.sessions)
        are = "is" if shared == 1 else "are"  # sessions of both results are not independent
        return replace(
            counted,
            word=outcome.word,
            difference=outcome.ratio,
            low=outcome.low,
            high=outcome.high,
            p=outcome.p,
            test="" if outcome.p is None else "Welch",
            reason=reason,
            sessions_needed=needed,
            note=f"{shared} of the sessions {are} in both results" if shared else "",
        )

    def by_rails(self, field: str) -> MetricComparison:
        """By the sessions of one meter a side that see the same part of the board; neither is declared."""
        sides = [
            [rail for rail in headline_rails(side.summary.power or ()) if getattr(rail, field)]
            for side in (self.a, self.b)
        ]
        if not all(sides):
            return replace(self.blank, reason=self.missing_figure())
        of_one_scope = [
            (mine, theirs)
            for mine in sides[0]
            for theirs in sides[1]
            if mine.scope == theirs.scope and mine.scope not in ("", UNKNOWN_SCOPE)
        ]
        if not of_one_scope:
            scopes = [
                " and ".join(dict.fromkeys(rail.scope or UNKNOWN_SCOPE for rail in side)) for side in sides
            ]
            reason = f"no meters of one scope: A was measured at the {scopes[0]}, B at the {scopes[1]}"
            return replace(self.blank, reason=reason)
        # Those of one meter and channel before others, else in A's order.
        mine, theirs = min(
            of_one_scope,
            key=lambda pair: (pair[0].meter, pair[0].channel) != (pair[1].meter, pair[1].channel),
        )
        values = [getattr(rail, field) for rail in (mine, theirs)]
        item = self.by_sessions(values)
        seen = f"by meters of the {mine.scope}"
        if (mine.meter, mine.channel) != (theirs.meter, theirs.channel):
            seen += f", {mine.meter} ({mine.channel}) and {theirs.meter} ({theirs.channel})"
        return replace(item, note="; ".join(filter(None, (seen, item.note))))

    def exactly(self) -> MetricComparison:
        """Two numbers without any scatter: nothing is tested, and the difference is what it is."""
        if self.blank.a is None or self.blank.b is None:
            return replace(self.blank, reason=self.missing_figure())
        if self.blank.a <= 0 or self.blank.b <= 0:
            return replace(self.blank, reason="a figure is not above 0, and a ratio says nothing of it")
        ratio = self.blank.b / self.blank.a
        word: Word = "same"
        if not math.isclose(ratio, 1) and abs(ratio - 1) >= self.threshold.minimum_effect:
            word = "better" if (ratio < 1) == (self.metric.better == "lower") else "worse"
        note = "exact, nothing to test"
        return replace(
            self.blank, word=word, difference=ratio, low=ratio, high=ratio, a_n=1, b_n=1, note=note
        )

    def by_images(self, set_name: Literal["images", "scene"]) -> MetricComparison:
        """Image by image where both predicted one set; else as two shares, where the sets are of one kind."""
        of_a, of_b = self.metric.value(self.a.summary), self.metric.value(self.b.summary)
        if of_a is None or of_b is None:
            return replace(self.blank, reason=self.missing_figure())
        of: Literal["images", "patches"] = "images" if set_name == "images" else "patches"
        counted = replace(self.blank, scale="points", a_n=of_a.n, b_n=of_b.n, of=of)
        overlap = "; overlapping crops make its interval a little too narrow" if of_a.overlapping else ""
        sets = [side.images if set_name == "images" else side.scene for side in (self.a, self.b)]
        is_same_set = sets[0] is not None and sets[1] is not None and sets[0].sha256 == sets[1].sha256
        mine, theirs = (side.predictions(set_name) if is_same_set else None for side in (self.a, self.b))
        drop = drop_of(mine, theirs) if mine is not None and theirs is not None else None
        if mine is not None and theirs is not None and drop is not None:  # of A below B
            # One file that gave both and agrees throughout: nothing is left to chance then.
            files = [side.trial.artifact_sha256 for side in (self.a, self.b)]
            if (
                files[0] is not None
                and files[0] == files[1]
                and np.array_equal(mine.predicted, theirs.predicted)
            ):
                note = "the same file predicts the same of each image"
                return replace(counted, word="same", difference=0.0, low=0.0, high=0.0, note=note)
            right, wrong = drop.only_fp32_right, drop.only_this_right
            note = f"right on {right} that A is wrong on, wrong on {wrong} that A is right on{overlap}"
            tested = (drop.points, drop.low, drop.high), mcnemar(wrong, right)
            return self.by_points(replace(counted, test="McNemar", note=note), *tested)
        if sorted(of_a.class_names) != sorted(of_b.class_names):
            return replace(counted, reason="the images have other classes")
        note = "not of the same images: the sets may differ in how hard they are"
        if is_same_set:
            note = "predictions of both sides cannot be matched image by image"
        return self.by_shares(replace(counted, note=f"{note}{overlap}"))

    def by_shares(self, counted: MetricComparison) -> MetricComparison:
        """Two shares of different things, such as the sessions that failed, tested against each other."""
        of_a, of_b = self.metric.value(self.a.summary), self.metric.value(self.b.summary)
        if of_a is None or of_b is None:
            return replace(counted, reason=self.missing_figure())
        counts = (of_a.k, of_a.n), (of_b.k, of_b.n)
        difference, low, high = (100 * share for share in share_difference(*counts))
        tested = replace(
            counted, scale="points", a_n=of_a.n, b_n=of_b.n, of=counted.of or "sessions", test="Fisher"
        )
        return self.by_points(tested, (difference, low, high), fisher(*counts))

    def by_points(
        self, counted: MetricComparison, points: tuple[float, float, float], p: float
    ) -> MetricComparison:
        """With its word: different where significant and large enough, the same where that is excluded."""
        difference, low, high = points
        outcome = replace(counted, difference=difference, low=low, high=high, p=p)
        if p < self.threshold.alpha and abs(difference) >= self.threshold.minimum_points:
            is_better = (difference > 0) == (self.metric.better == "higher")
            return replace(outcome, word="better" if is_better else "worse")
        if -self.threshold.minimum_points < low and high < self.threshold.minimum_points:
            return replace(outcome, word="same")
        of_each = f"{counted.a_n}" if counted.a_n == counted.b_n else f"{counted.a_n} and {counted.b_n}"
        return replace(outcome, word="undecided", reason=f"{of_each} {counted.of} are too few to tell")
