"""Comparison of results with a baseline: pairs of trials, each by metrics, and the facts that differ.

In at most alpha of calls on results that are alike some comparison says better or worse: p is adjusted by
Holm over all comparisons of a call. Twenty comparisons at 5 % each would find a difference in 64 % of calls.

Metrics with one value per session are compared by `stats.compare`; power and energy by meters of one scope,
never as declared. Accuracy is compared image by image where both trials predicted one set, with McNemar's
exact test and the paired interval. Exact numbers, such as the size of a file, are not tested.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.accuracy import matched_counts
from edgebench.judge.comparisons.pairing import (
    ComparedTrial,
    Pairing,
    SetName,
    paired,
    recorded_facts,
    require_targets,
    targets_against,
)
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS, choose_metric, compared_metrics
from edgebench.judge.metrics.accuracy import OVERLAPPING
from edgebench.judge.trial import UNKNOWN_SCOPE, Estimate, Rail, Trial
from edgebench.judge.trials import trials_of
from edgebench.records.stored import SceneRecord
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported, exported_path
from edgebench.stats.auc import difference as area_difference
from edgebench.stats.compare import (
    ALPHA,
    GATE_SESSIONS,
    MINIMUM_EFFECT,
    compare,
    fisher,
    mcnemar,
    paired_difference,
    sessions_to_decide,
    share_difference,
)
from edgebench.stats.intervals import MIN_SESSIONS, holm, trial_median
from edgebench.stats.warnings import CONTAMINATION, DISTURBANCES
from edgebench.suggest import short

# Parts of a comparison, which are also the documents of `edgebench compare --json`.

Word = Literal["better", "worse", "same", "undecided", "not compared"]
Counted = Literal["sessions", "images", "patches", ""]

MINIMUM_POINTS = 1.0
"""Smallest difference of two shares that counts, in points: hundredths of the images."""


@dataclass(frozen=True)
class Threshold:
    """Smallest differences that count, and the risk of a wrong word."""

    minimum_effect: float = MINIMUM_EFFECT
    """Smallest ratio that counts, as a share: 0.03 is 3 % more or less. Source: command line."""
    minimum_points: float = MINIMUM_POINTS
    """Smallest difference of shares that counts. Unit: points. Source: command line."""
    alpha: float = ALPHA
    """Share of calls on alike results in which some comparison may say better or worse. Source: fit."""
    include_contaminated: bool = False
    """True if a gate also decides by disturbed sessions. Source: command line."""


@dataclass(frozen=True)
class MetricComparison:
    """B against A by one metric."""

    metric: str
    """Name in the catalogue of metrics. Source: fit."""
    unit: str
    """Unit of a and b. Source: fit."""
    word: Word
    """Outcome for B, in the metric's better direction. Source: fit."""
    a: float | None = None
    """Value of the baseline, in unit; null where missing. Source: sessions."""
    b: float | None = None
    """Value of the other, in unit; null where missing. Source: sessions."""
    scale: Literal["ratio", "points"] = "ratio"
    """Scale of the difference: ratio is b over a, points is b less a in hundredths. Source: fit."""
    difference: float | None = None
    """Difference on the scale; null where it is missing. Source: fit."""
    low: float | None = None
    """Lower end of the interval of difference at 1 - alpha; null without one. Source: fit."""
    high: float | None = None
    """Upper end of the interval of difference at 1 - alpha; null without one. Source: fit."""
    test: Literal["Welch", "McNemar", "Fisher", "MOVER", ""] = ""
    """Test; empty where nothing was tested. Source: fit."""
    p: float | None = None
    """Two-sided p of that test by itself. Source: fit."""
    adjusted_p: float | None = None
    """p among all tests of the call, by Holm. Source: fit."""
    a_n: int | None = None
    """Sessions or images of the baseline; 1 for an exact number, null where it is not compared. Source:
    sessions."""
    b_n: int | None = None
    """Sessions or images of the other; 1 for an exact number, null where it is not compared. Source:
    sessions."""
    counted: Counted = ""
    """Things that a_n and b_n count; empty for an exact number, and where it is not compared. Source: fit."""
    sessions_needed: int | None = None
    """Sessions a side that would decide it; null where that is not known. Source: fit."""
    identical: bool = False
    """True if both sides are the same sessions. Source: fit."""
    reason: str = ""
    """Cause why it is undecided or not compared. Source: fit."""
    note: str = ""
    """Further facts about the comparison. Source: fit."""
    gate: str = ""
    """Cause why --fail-on regression decides nothing by it; empty where it does. Source: fit."""
    warnings: tuple[str, ...] = ()
    """Disturbances of the sessions, each with its side in front. Source: sessions."""
    in_words: str = ""
    """Difference in words; filled in the document. Source: fit."""


@dataclass(frozen=True)
class Pair:
    """Two trials with their comparisons."""

    a: ComparedTrial
    """Trial of the baseline. Source: experiment.json."""
    b: ComparedTrial
    """Its counterpart. Source: experiment.json."""
    comparisons: tuple[MetricComparison, ...]
    """One entry per metric. Source: fit."""


@dataclass(frozen=True)
class Difference:
    """One fact in which two results differ."""

    subject: str
    """Subject of the fact: a target's name, scene, images, experiment or host. Source: fit."""
    fact: str
    """Name of the fact. Source: fit."""
    a: str
    """Text of the baseline; empty without one. Source: sessions."""
    b: str
    """Text of this result; empty without one. Source: sessions."""


@dataclass(frozen=True)
class NamedResult:
    """Result with its name, start and version."""

    name: str
    """Name of its folder. Source: command line."""
    path: str
    """Result folder. Source: command line."""
    created_utc: str
    """Start of its run, ISO 8601. Source: experiment.json."""
    edgebench_version: str
    """Version of EdgeBench that measured it. Source: experiment.json."""


@dataclass(frozen=True)
class ComparedResult(NamedResult):
    """Result that is compared with the baseline."""

    across: dict[str, str]
    """Target that is compared with a target of the baseline, where their names differ. Source: command
    line."""
    differences: tuple[Difference, ...]
    """Other facts in which the two differ. Source: fit."""
    pairs: tuple[Pair, ...]
    """Trials that both have. Source: fit."""
    only_baseline: tuple[ComparedTrial, ...]
    """Trials of the baseline without a partner. Source: fit."""
    only_this: tuple[ComparedTrial, ...]
    """Its own trials without a partner. Source: fit."""


@dataclass(frozen=True)
class ResultsComparison:
    """Comparison of results with a baseline."""

    baseline: NamedResult
    """Result that the others are compared with, A. Source: command line."""
    metrics: tuple[str, ...]
    """Metrics that are compared for any pair. Source: command line."""
    threshold: Threshold
    """Smallest differences that count. Source: command line."""
    tests: int
    """Comparisons that were tested, for which p is adjusted. Source: fit."""
    counts: dict[str, int]
    """Number of comparisons by word: better, worse, same, undecided, not_compared. Source: fit."""
    regressed: bool
    """True if a comparison that counts at a gate is worse: the condition of --fail-on regression. Source:
    fit."""
    undecided: bool
    """True if a comparison is undecided, by itself or by a gate, or is not compared though the baseline has
    a value, or a trial of the baseline has no partner: the condition of --strict. Source: fit."""
    results: tuple[ComparedResult, ...]
    """Results that are compared with the baseline, each as B. Source: fit."""

    @property
    def comparisons(self) -> list[MetricComparison]:
        """Comparisons of all pairs of all results."""
        return [item for result in self.results for pair in result.pairs for item in pair.comparisons]


def metrics_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of metrics, from texts with one or several behind commas.

    Raises:
        UsageError: a name is unknown, or results are not compared by it.
    """
    choices = compared_metrics()
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    for name in names:
        if name not in choices:
            is_known = name in METRICS
            problem = f"results are not compared by {name}" if is_known else f"unknown metric {short(name)}"
            raise UsageError(f"--metric: {problem}", fix=choose_metric(name, choices))
    return tuple(dict.fromkeys(names))


def compare_results(
    results: Sequence[StoredResults],
    *,
    metrics: Sequence[str] = (),
    against: Sequence[str] = (),
    threshold: Threshold | None = None,
) -> ResultsComparison:
    """Compare the results after the first with the first.

    Args:
        results: at least two, as `edgebench.load` gives them; the first is the baseline.
        metrics: names of the catalogue (`metrics_of`). Default: the latency, and accuracy and energy where a
            side has them.
        against: texts `TARGET_A=TARGET_B`, where targets have other names.
        threshold: smallest differences that count. Default: 3 %, 1 point and 5 %.

    Raises:
        UsageError: fewer than two results, an unknown metric or target, or a result without a trial in
            common with the baseline.
        StoredResultError: a result has no finished session, or a stored table is damaged.
    """
    if len(results) < 2:
        raise UsageError("a comparison takes two results or more", fix="name a baseline and what is compared")
    threshold = threshold or Threshold()
    chosen = metrics_of(metrics)
    targets = targets_against(against)
    names = _distinct_names([stored.path for stored in results])
    trials = [[ComparedTrial.of(trial, stored) for trial in trials_of(stored)] for stored in results]
    for name, measured in zip(names, trials, strict=True):
        if not any(compared.trial.has_estimates for compared in measured):
            raise StoredResultError(
                f"{name} has no finished session",
                why=next((compared.trial.reason for compared in measured if compared.trial.reason), ""),
                fix="measure it first: go on with its command and --resume",
            )
    baseline, *others = trials
    require_targets(targets, baseline, [trial for measured in others for trial in measured])
    pairings = [paired(baseline, measured, targets) for measured in others]
    for name, measured, pairing in zip(names[1:], others, pairings, strict=True):
        if not pairing.pairs:
            raise UsageError(
                f"{names[0]} and {name} have no trial in common",
                why=f"{names[0]} has {_contents(baseline)}; {name} has {_contents(measured)}",
                fix="trials are paired by target, variant, batch and settings; "
                "where targets have other names, say which belong together: --pair TARGET_A=TARGET_B",
            )
    unadjusted = [
        [_compared(a, b, chosen or usual_metrics(a.trial, b.trial), threshold) for a, b in pairing.pairs]
        for pairing in pairings
    ]
    items = _adjusted(
        [item for pairs in unadjusted for pair in pairs for item in pair.comparisons], threshold
    )
    rest = iter(items)
    compared = tuple(
        ComparedResult(
            **vars(_named(name, stored)),
            across=pairing.across,
            differences=tuple(_differences(pairing)),
            pairs=tuple(
                replace(pair, comparisons=tuple(islice(rest, len(pair.comparisons)))) for pair in pairs
            ),
            only_baseline=pairing.only_baseline,
            only_this=pairing.only_this,
        )
        for name, stored, pairing, pairs in zip(names[1:], results[1:], pairings, unadjusted, strict=True)
    )
    counts = Counter(item.word for item in items)
    is_open = any(
        item.word == "undecided" or item.gate or (item.word == "not compared" and item.a is not None)
        for item in items
    )
    return ResultsComparison(
        baseline=_named(names[0], results[0]),
        metrics=tuple(dict.fromkeys(item.metric for item in items)),
        threshold=threshold,
        tests=sum(item.p is not None for item in items),
        counts={word.replace(" ", "_"): counts[word] for word in get_args(Word)},
        regressed=any(item.word == "worse" and not item.gate for item in items),
        undecided=is_open or any(result.only_baseline for result in compared),
        results=compared,
    )


def _named(name: str, results: StoredResults) -> NamedResult:
    record = results.experiment
    path = exported_path(Path(results.path), record)
    return NamedResult(name, path, record.created_utc, record.edgebench_version)


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """Names of the folders, with the folder above where they are alike."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) == len({path.resolve() for path in paths}):
        return names
    return [str(Path(path.resolve().parent.name) / path.resolve().name) for path in paths]


def _contents(trials: Sequence[ComparedTrial]) -> str:
    """First four trials by variant and target, and the number of others."""
    names = sorted({f"{trial.variant} on {trial.target}" for trial in trials})
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _compared(a: ComparedTrial, b: ComparedTrial, metrics: Sequence[str], threshold: Threshold) -> Pair:
    """Pair with its comparisons, before their p are adjusted."""
    items = (_MetricOfPair(METRICS[name], a, b, threshold).comparison() for name in metrics)
    return Pair(a, b, tuple(items))


def _adjusted(items: Sequence[MetricComparison], threshold: Threshold) -> list[MetricComparison]:
    """Comparisons with p adjusted among all tests; significant by itself alone is undecided."""
    tested = [item.p for item in items if item.p is not None]
    by_holm = iter(holm(tested).tolist())
    adjusted = []
    for item in items:
        p = None if item.p is None else next(by_holm)
        if item.word in ("better", "worse") and p is not None and p >= threshold.alpha:
            reason = (
                f"by itself it would be {item.word}, among {len(tested)} comparisons it may be chance: "
                "take more sessions, or compare fewer metrics"
            )
            item = replace(item, word="undecided", reason=reason)
        adjusted.append(replace(item, adjusted_p=p))
    return adjusted


def _differences(pairing: Pairing) -> Iterator[Difference]:
    """Recorded facts of the compared trials that differ."""
    names = [a.target if a.target == b.target else f"{a.target} and {b.target}" for a, b in pairing.pairs]
    sides = []
    for trials in zip(*pairing.pairs, strict=True):
        targets = {trial.key: name for trial, name in zip(trials, names, strict=True)}
        results = trials[0].results
        sides.append(recorded_facts(results, exported(results.experiment), targets))
    for subject, fact in dict.fromkeys([*sides[0], *sides[1]]):
        a, b = (facts.get((subject, fact), "") for facts in sides)
        if a != b:
            yield Difference(subject, fact, a, b)


def usual_metrics(a: Trial, b: Trial) -> list[str]:
    """Metrics that a pair is compared by where none is named.

    The first speed that both have, else the latency of one of them; then accuracy, energy and others that are
    usual and that a side has: where one side lacks it, the comparison says why.
    """

    def sides(metric: Metric) -> int:
        """Number of the two sides that have a value."""
        return sum(trial.estimate(metric.name).value is not None for trial in (a, b))

    usual = {name: metric for name, metric in METRICS.items() if metric.usual}
    speeds = (name for name, metric in usual.items() if metric.usual == "speed" and sides(metric) == 2)
    speed = next(speeds, a.latency_metric or b.latency_metric or "image_s")
    return [speed, *(name for name, metric in usual.items() if metric.usual == "also" and sides(metric))]


# One pair by one metric.


@dataclass(frozen=True)
class _MetricOfPair:
    """Two trials that are compared by one metric."""

    metric: Metric
    a: ComparedTrial
    b: ComparedTrial
    threshold: Threshold

    @property
    def estimates(self) -> tuple[Estimate, Estimate]:
        """Estimates of A and of B that represent the metric."""
        return self.a.trial.estimate(self.metric.name), self.b.trial.estimate(self.metric.name)

    @property
    def values(self) -> tuple[float, float] | None:
        """Values of both sides; None if one is missing."""
        a, b = (estimate.value for estimate in self.estimates)
        return None if a is None or b is None else (a, b)

    def result(self, word: Word = "not compared", **fields: Any) -> MetricComparison:
        """Comparison with these fields, and the two values unless the fields have others."""
        a, b = self.estimates
        fields = {"a": a.value, "b": b.value} | fields
        return MetricComparison(self.metric.name, self.metric.unit, word, **fields)

    def comparison(self) -> MetricComparison:
        """B against A by itself: without `adjusted_p`."""
        if reason := self._other_work():
            return self.result(reason=reason)
        match self.metric.compared:
            case "exact":
                return self._exactly()
            case "rails":
                item = self._by_rails()
            case "images":
                item = self._by_images()
            case "scores":
                item = self._by_scores()
            case "counts":
                item = self._by_counts("sessions")
            case _:
                a, b = self.estimates
                item = self._by_sessions(a.sessions, b.sessions)
        # The records hold the hashes of the tables.
        if item.word != "not compared" and self.a.sessions and self.a.sessions == self.b.sessions:
            nothing = 1.0 if item.scale == "ratio" else 0.0
            sides = {name: getattr(item, name) for name in ("a", "b", "scale", "a_n", "b_n", "counted")}
            ends = {"difference": nothing, "low": nothing, "high": nothing}
            return self.result("same", identical=True, note="the very same sessions", **ends, **sides)
        return self._gated(item) if item.counted == "sessions" and item.scale == "ratio" else item

    def _gated(self, item: MetricComparison) -> MetricComparison:
        """Comparison with the disturbances of its sessions, and the cause why a gate ignores it."""
        # A load on the machine leaves the bytes that are used as they are.
        disturbed = [
            (side, caution)
            for side, compared in (("A", self.a), ("B", self.b))
            for caution in compared.trial.cautions
            if caution.flag in DISTURBANCES and self.metric.unit != "bytes"
        ]
        contaminated = [
            f"{side} has {caution.flag.name.lower().replace('_', ' ')}"
            for side, caution in disturbed
            if caution.flag in CONTAMINATION and not self.threshold.include_contaminated
        ]
        fewest = min(item.a_n or 0, item.b_n or 0)
        causes = [
            f"a gate takes {GATE_SESSIONS} sessions a side, not {fewest}" if fewest < GATE_SESSIONS else "",
            f"contaminated: {', '.join(contaminated)}" if contaminated else "",
        ]
        warnings = tuple(f"{side}: {caution.sentence()}" for side, caution in disturbed)
        return replace(item, gate="; ".join(filter(None, causes)), warnings=warnings)

    def _other_work(self) -> str:
        """Cause why the two estimates are of different work; empty where they are of the same."""
        metric, a, b = self.metric, self.a, self.b
        is_of_passes = metric.belongs_to == "pass" or metric.unit in ("images/s", "J")
        if is_of_passes and _pass_of(a.scene) != _pass_of(b.scene):
            return f"a pass of A is {a.trial.scene.text}, of B {b.trial.scene.text}"
        untimed = [" and ".join(side.trial.scene.untimed_stages) for side in (a, b)]
        if metric.part and untimed[0] != untimed[1] and self.values is not None:
            lacking = [
                f"{side} is without {names}" for side, names in zip("AB", untimed, strict=True) if names
            ]
            return f"{metric.name} of {', of '.join(lacking)}"
        periods = [side.results.experiment.period_s for side in (a, b)]
        if metric.compared == "rails" and periods[0] != periods[1]:
            paces = ["back to back" if period is None else f"every {period:g} s" for period in periods]
            return f"A was measured {paces[0]}, B {paces[1]}: power and energy hold the pauses"
        return ""

    def _missing(self) -> MetricComparison:
        """Comparison that has nothing to compare, with the reason by side."""
        default = f"no finished session has a value of {self.metric.name}"
        sides = dict(zip("AB", self.estimates, strict=True))
        reasons = {side: estimate.reason or default for side, estimate in sides.items()}
        absent = [side for side, estimate in sides.items() if estimate.value is None] or list(sides)
        if len(absent) == 2 and reasons["A"] == reasons["B"]:
            return self.result(reason=f"neither has it: {reasons['A']}")
        return self.result(reason="; ".join(f"{side} has none: {reasons[side]}" for side in absent))

    def _by_sessions(self, a: Sequence[float], b: Sequence[float]) -> MetricComparison:
        """Comparison by one value per session and side, of any unit."""
        if not a or not b:
            return self._missing()
        mean_a, mean_b = (trial_median([[value] for value in side]) for side in (a, b))
        sides: dict[str, Any] = {"a_n": len(a), "b_n": len(b), "counted": "sessions"}
        sides |= {"a": mean_a, "b": mean_b}
        if min(*a, *b) <= 0:
            reason = "a session's value is not above 0, and a ratio says nothing of it"
            return self.result(reason=reason, **sides)
        rule = {"minimum_effect": self.threshold.minimum_effect, "alpha": self.threshold.alpha}
        tick_a, tick_b = (side.trial.ticks.get(self.metric.name, 0.0) for side in (self.a, self.b))
        share = tick_a / mean_a + tick_b / mean_b
        outcome = compare(a, b, lower_is_better=not self.metric.at_least, ticks=share, **rule)
        reason, needed = outcome.reason, MIN_SESSIONS if outcome.p is None else None
        if outcome.p is not None and outcome.word == "undecided":
            reason = "the sessions differ by too much to tell"
            needed = sessions_to_decide(a, b, **rule)
            if share > self.threshold.minimum_effect:
                reason, needed = f"ticks of the clocks are {share:.2g} of the times: too coarse to tell", None
        # Sessions of both results are not independent.
        tables_b = {tuple(sorted(record.tables.items())) for record in self.b.sessions if record.tables}
        shared = sum(tuple(sorted(record.tables.items())) in tables_b for record in self.a.sessions)
        note = f"{shared} of the sessions {'is' if shared == 1 else 'are'} in both results" if shared else ""
        sides |= {"difference": outcome.ratio, "low": outcome.low, "high": outcome.high, "p": outcome.p}
        test = "" if outcome.p is None else "Welch"
        return self.result(outcome.word, test=test, reason=reason, sessions_needed=needed, note=note, **sides)

    def _by_rails(self) -> MetricComparison:
        """Comparison by the sessions of one meter a side that see the same part of the board."""
        sides = [_meters_of(side.trial, self.metric) for side in (self.a, self.b)]
        if not all(sides):
            return self._missing()
        of_one_scope = [
            (mine, theirs)
            for mine, theirs in product(*sides)
            if mine[0].scope == theirs[0].scope != UNKNOWN_SCOPE
        ]
        if not of_one_scope:
            scopes = [" and ".join(dict.fromkeys(rail.scope for rail, _ in side)) for side in sides]
            reason = f"no meters of one scope: A was measured at the {scopes[0]}, B at the {scopes[1]}"
            return self.result(reason=reason)
        # Pairs of one meter and channel come first, else those in A's order.
        best = max(of_one_scope, key=lambda pair: pair[0][0].name == pair[1][0].name)
        (mine, estimate_a), (theirs, estimate_b) = best
        item = self._by_sessions(estimate_a.sessions, estimate_b.sessions)
        meters = "" if mine.name == theirs.name else f", {mine.name} and {theirs.name}"
        note = f"by meters of the {mine.scope}{meters}"
        return replace(item, note="; ".join(filter(None, (note, item.note))))

    def _exactly(self) -> MetricComparison:
        """Comparison of two numbers without uncertainty, which needs no test."""
        if self.values is None:
            return self._missing()
        a, b = self.values
        if a <= 0 or b <= 0:
            return self.result(reason="a value is not above 0, and a ratio says nothing of it")
        ratio = b / a
        is_same = math.isclose(ratio, 1) or abs(ratio - 1) < self.threshold.minimum_effect
        word: Word = "same" if is_same else "better" if (ratio > 1) == self.metric.at_least else "worse"
        ends = {"difference": ratio, "low": ratio, "high": ratio}
        return self.result(word, a_n=1, b_n=1, note="exact, nothing to test", **ends)

    def _by_images(self) -> MetricComparison:
        """Comparison image by image where both predicted one set; else of two shares, if classes agree."""
        if self.values is None:
            return self._missing()
        a, b = self.estimates
        set_name: SetName = "scene" if self.metric.share_of == "patch" else "images"
        counted: Counted = "patches" if set_name == "scene" else "images"
        sides: dict[str, Any] = {"a_n": a.n, "b_n": b.n, "counted": counted}
        overlap = f"; {OVERLAPPING}" if OVERLAPPING in a.notes else ""
        is_same_set = self._predicted_one_set(set_name)
        mine, theirs = (side.predictions(set_name) if is_same_set else None for side in (self.a, self.b))
        matched = matched_counts(mine, theirs) if mine is not None and theirs is not None else None
        if mine is not None and theirs is not None and matched is not None:
            only_a, only_b, n = matched
            # One file that gave both and agrees throughout leaves nothing to chance.
            files = [side.record.artifact_sha256 for side in (self.a, self.b)]
            is_same_file = files[0] is not None and files[0] == files[1]
            has_same_labels = np.array_equal(mine.label, theirs.label)
            if is_same_file and has_same_labels and np.array_equal(mine.predicted, theirs.predicted):
                note = "the same file predicts the same of each image"
                ends = {"difference": 0.0, "low": 0.0, "high": 0.0}
                return self.result("same", scale="points", note=note, **ends, **sides)
            note = f"right on {only_b} that A is wrong on, wrong on {only_a} that A is right on{overlap}"
            note += "" if has_same_labels else "; the labels of the images differ"
            points = paired_difference(only_b, only_a, n)
            return self._in_points(points, mcnemar(only_a, only_b), test="McNemar", note=note, **sides)
        if _classes_of(self.a.trial, set_name) != _classes_of(self.b.trial, set_name):
            return self.result(scale="points", reason="the images have other classes", **sides)
        note = "not of the same images: the sets may differ in how hard they are"
        if is_same_set:
            note = "predictions of both sides cannot be matched image by image"
        return self._by_counts(counted, f"{note}{overlap}")

    def _predicted_one_set(self, set_name: SetName) -> bool:
        """Tell if both predicted the same images or scene."""
        sets = [side.tested_set(set_name) for side in (self.a, self.b)]
        return sets[0] is not None and sets[1] is not None and sets[0].sha256 == sets[1].sha256

    def _by_scores(self) -> MetricComparison:
        """Comparison of areas under ROC curves, sample by sample where both scored one set."""
        scores_a, scores_b = self.a.scored(), self.b.scored()
        if self.values is None or scores_a is None or scores_b is None:
            return self._missing()
        is_paired = self._predicted_one_set("images") and list(map(len, scores_a)) == list(map(len, scores_b))
        delta, p = area_difference(scores_a, scores_b, paired=is_paired)
        note = "" if is_paired else "not of the same samples: the sets may differ in how hard they are"
        points = delta.area, delta.low, delta.high
        a_n, b_n = (sum(map(len, scores)) for scores in (scores_a, scores_b))
        return self._in_points(points, p, a_n=a_n, b_n=b_n, counted="images", test="MOVER", note=note)

    def _by_counts(self, counted: Counted, note: str = "") -> MetricComparison:
        """Comparison of two shares k of n, such as the sessions that failed."""
        if self.values is None:
            return self._missing()
        a, b = self.estimates
        counts = tuple(
            (round(value * estimate.n), estimate.n)
            for value, estimate in zip(self.values, self.estimates, strict=True)
        )
        sides = {"a_n": a.n, "b_n": b.n, "counted": counted, "test": "Fisher", "note": note}
        return self._in_points(share_difference(*counts), fisher(*counts), **sides)

    def _in_points(self, shares: tuple[float, float, float], p: float, **fields: Any) -> MetricComparison:
        """Comparison of two shares by their difference with its ends, b less a.

        Different is significant and large enough; the same is an interval that excludes such a difference.
        """
        difference, low, high = (100 * share for share in shares)
        item = self.result(
            "undecided", scale="points", difference=difference, low=low, high=high, p=p, **fields
        )
        least = self.threshold.minimum_points
        if p < self.threshold.alpha and abs(difference) >= least:
            return replace(item, word="better" if (difference > 0) == self.metric.at_least else "worse")
        if -least < low and high < least:
            return replace(item, word="same")
        n = f"{item.a_n}" if item.a_n == item.b_n else f"{item.a_n} and {item.b_n}"
        return replace(item, reason=f"{n} {item.counted} are too few to tell")


def _pass_of(scene: SceneRecord) -> Hashable:
    """Facts that two scenes share if a pass over each is the same work."""
    size = scene.height, scene.width, scene.rows, scene.columns
    return scene.kind, size, scene.patch, scene.patch_width or scene.patch, scene.stride


def _meters_of(trial: Trial, metric: Metric) -> list[tuple[Rail, Estimate]]:
    """Rail that represents each meter, with its estimate; the meter that represents the board first."""
    by_rail = {key.rail: estimate for key, estimate in trial.estimates_of(metric.name) if key.worker is None}
    first_rails: dict[str, Rail] = {}
    for rail in trial.rails:
        first_rails.setdefault(rail.meter, rail)
    return [
        (rail, by_rail[rail.name])
        for rail in first_rails.values()
        if rail.name in by_rail and by_rail[rail.name].sessions
    ]


def _classes_of(trial: Trial, set_name: SetName) -> list[str]:
    """Names of the classes of a labelled set, sorted."""
    own = (entry for entry in trial.confusions if entry.images == set_name and entry.worker is None)
    return next((sorted(confusion.classes) for confusion in own), [])
