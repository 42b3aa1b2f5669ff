"""Results against a baseline: trials in pairs, each pair by each metric, and what else differs.

Over all comparisons of one call the words better and worse are wrong in at most alpha of calls on
results that are alike: p is adjusted by Holm. Twenty comparisons at 5 % each would find a difference in 64 %
of all calls.

A metric with values by session is compared by `stats.compare`; power and energy by meters of one scope, never
as declared. Accuracy is compared image by image where both trials predicted the same set, with McNemar's
exact test and the paired interval. One exact number a trial, such as the size of a file, is not tested.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.accuracy import drop_of
from edgebench.judge.columns import missing_reasons
from edgebench.judge.metric import BYTE_UNITS, ByArea, ByCount, ByImages, ByRail, BySession, Exactly, Metric
from edgebench.judge.metrics import METRICS, choose_metric, compared_metrics
from edgebench.judge.pairing import (
    ComparedTrial,
    Pairing,
    Unpaired,
    conditions_of,
    paired,
    require_targets,
    targets_against,
)
from edgebench.judge.power import headline_rails
from edgebench.judge.summarise import summarise
from edgebench.judge.trial_summary import UNKNOWN_SCOPE, TrialSummary
from edgebench.records.stored import SceneRecord
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported, exported_path
from edgebench.stats import compare as session_compare
from edgebench.stats.auc import difference as area_difference
from edgebench.stats.compare import (
    ALPHA,
    GATE_SESSIONS,
    MINIMUM_EFFECT,
    fisher,
    mcnemar,
    sessions_to_decide,
    share_difference,
)
from edgebench.stats.intervals import MIN_SESSIONS, holm, trial_median
from edgebench.stats.warnings import CONTAMINATION, DISTURBANCES
from edgebench.suggest import short

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
    test: Literal["Welch", "McNemar", "Fisher", "MOVER", ""] = ""
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
class Pair:
    """Two trials."""

    a: ComparedTrial
    """The baseline's trial. Source: experiment.json."""
    b: ComparedTrial
    """Its counterpart. Source: experiment.json."""
    comparisons: tuple[MetricComparison, ...]
    """One entry a metric. Source: fit."""


@dataclass(frozen=True)
class Difference:
    """One fact that two results do not share."""

    subject: str
    """What it is a fact of: a target's name, scene, images, experiment or host. Source: fit."""
    fact: str
    """Its name. Source: fit."""
    a: str
    """What the baseline says; empty for nothing. Source: sessions."""
    b: str
    """What this result says; empty for nothing. Source: sessions."""


@dataclass(frozen=True)
class NamedResult:
    """A result, and when it was measured with what."""

    name: str
    """What it is called here: its folder's name. Source: command line."""
    path: str
    """The result folder. Source: command line."""
    created_utc: str
    """When it was begun, ISO 8601. Source: experiment.json."""
    edgebench_version: str
    """Version of EdgeBench that measured it. Source: experiment.json."""


@dataclass(frozen=True)
class ComparedResult(NamedResult):
    """A result against the baseline."""

    across: dict[str, str]
    """By target of the baseline the target that it is compared with, where their names differ. Source:
    command line."""
    differences: tuple[Difference, ...]
    """What differs besides the figures. Source: fit."""
    pairs: tuple[Pair, ...]
    """The trials that both have. Source: fit."""
    only_baseline: tuple[Unpaired, ...]
    """Trials of the baseline without a partner. Source: fit."""
    only_this: tuple[Unpaired, ...]
    """Its own trials without a partner. Source: fit."""


@dataclass(frozen=True)
class ResultsComparison:
    """Results against a baseline: trials in pairs, each by metrics, and what else differs."""

    baseline: NamedResult
    """What the others are compared with, A. Source: command line."""
    metrics: tuple[str, ...]
    """Those that are compared of any pair. Source: command line."""
    threshold: Threshold
    """What counts as different. Source: command line."""
    tests: int
    """Comparisons that were tested, for which p is adjusted. Source: fit."""
    counts: dict[str, int]
    """How many comparisons have each word: better, worse, same, undecided, not_compared. Source: fit."""
    regressed: bool
    """Whether anything by which a gate decides is worse: what --fail-on regression asks. Source: fit."""
    undecided: bool
    """Whether anything of the baseline is undecided, by itself or by a gate, is not compared though the
    baseline has a figure, or has no partner: what --strict asks. Source: fit."""
    results: tuple[ComparedResult, ...]
    """The results that are compared with the baseline, each as B. Source: fit."""

    @property
    def comparisons(self) -> list[MetricComparison]:
        """All of them."""
        return [item for result in self.results for pair in result.pairs for item in pair.comparisons]


def metrics_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of metrics, each text with one or several after commas; UsageError for one that none has."""
    known = compared_metrics()
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            unlike = f"results are not compared by {name}" if name in METRICS else ""
            what = unlike or f"unknown metric {short(name)}"
            raise UsageError(f"--metric: {what}", fix=choose_metric(name, known))
    return tuple(dict.fromkeys(names))


def compare_results(
    results: Sequence[StoredResults],
    *,
    metrics: Sequence[str] = (),
    against: Sequence[str] = (),
    threshold: Threshold | None = None,
) -> ResultsComparison:
    """The results after the first against the first.

    Args:
        results: at least two, as `edgebench.load` gives them; the first is the baseline.
        metrics: names of the catalogue (`metrics_of`); by default the latency, and accuracy and energy where
            both sides have them.
        against: `TARGET_A=TARGET_B`, where targets have other names.
        threshold: what counts as a difference; 3 %, 1 point and 5 % by default.

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
    called = _distinct_names([each.path for each in results])
    trials = [[ComparedTrial.of(summary, each) for summary in summarise(each)] for each in results]
    for name, of_result in zip(called, trials, strict=True):
        if not any(trial.summary.status in ("done", "partial") for trial in of_result):
            raise StoredResultError(
                f"{name} has no finished session",
                why=next((trial.summary.reason for trial in of_result if trial.summary.reason), ""),
                fix="measure it first: go on with its command and --resume",
            )
    baseline, *others = trials
    require_targets(targets, baseline, [trial for of_result in others for trial in of_result])
    pairings = [paired(baseline, of_result, targets) for of_result in others]
    for name, of_result, pairing in zip(called[1:], others, pairings, strict=True):
        if not pairing.pairs:
            held = [
                f"{who} has {_some({trial.variant for trial in whose})}"
                f" on {_some({trial.target for trial in whose})}"
                for who, whose in ((called[0], baseline), (name, of_result))
            ]
            raise UsageError(
                f"{called[0]} and {name} have no trial in common",
                why="; ".join(held),
                fix="trials are paired by target, variant, batch and settings; "
                "where targets have other names, say which belong together: --pair TARGET_A=TARGET_B",
            )
    unadjusted = [
        [
            compare_metric(METRICS[metric], a, b, threshold)
            for metric in chosen or usual_metrics(a.summary, b.summary)
        ]
        for pairing in pairings
        for a, b in pairing.pairs
    ]
    tested = [item.p for items in unadjusted for item in items if item.p is not None]
    adjusted = iter(holm(tested).tolist())
    by_pair = iter(
        [tuple(_among_all(item, adjusted, len(tested), threshold) for item in items) for items in unadjusted]
    )
    named, *named_others = map(_named, called, results)
    compared = tuple(
        ComparedResult(
            **named_other,
            across=pairing.across,
            differences=tuple(_differences(pairing)),
            pairs=tuple(Pair(a, b, next(by_pair)) for a, b in pairing.pairs),
            only_baseline=pairing.only_baseline,
            only_this=pairing.only_this,
        )
        for named_other, pairing in zip(named_others, pairings, strict=True)
    )
    items = [item for each in compared for pair in each.pairs for item in pair.comparisons]
    counts = Counter(item.word for item in items)
    is_open = any(
        item.word == "undecided" or item.gate or (item.word == "not compared" and item.a is not None)
        for item in items
    )
    return ResultsComparison(
        baseline=NamedResult(**named),
        metrics=tuple(dict.fromkeys(item.metric for item in items)),
        threshold=threshold,
        tests=len(tested),
        counts={word.replace(" ", "_"): counts[word] for word in get_args(Word)},
        regressed=any(item.word == "worse" and not item.gate for item in items),
        undecided=is_open or any(each.only_baseline for each in compared),
        results=compared,
    )


def _named(name: str, results: StoredResults) -> dict[str, str]:
    """The fields of a result under the name that it has here."""
    record = results.experiment
    path = exported_path(Path(results.path), record)
    dated = {"created_utc": record.created_utc, "edgebench_version": record.edgebench_version}
    return {"name": name, "path": path, **dated}


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """The folders' own names, with the folder above where they are alike."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) == len({path.resolve() for path in paths}):
        return names
    return [str(Path(path.resolve().parent.name) / path.resolve().name) for path in paths]


def _some(several: set[str]) -> str:
    names = sorted(several)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _among_all(
    item: MetricComparison, adjusted: Iterator[float], tests: int, threshold: Threshold
) -> MetricComparison:
    """With the next adjusted p; a difference that is significant by itself alone is undecided."""
    if item.p is None:
        return item
    item = replace(item, adjusted_p=next(adjusted))
    if item.word not in ("better", "worse") or (item.adjusted_p or 0.0) < threshold.alpha:
        return item
    reason = f"by itself it would be {item.word}, among {tests} comparisons it may be chance: "
    reason += "take more sessions, or compare fewer metrics"
    return replace(item, word="undecided", reason=reason)


def _differences(pairing: Pairing) -> Iterator[Difference]:
    """What the two results say differently of the trials that are compared."""
    sides = []
    for side in (0, 1):
        trials = [pair[side] for pair in pairing.pairs]
        names = [a.target if a.target == b.target else f"{a.target} and {b.target}" for a, b in pairing.pairs]
        targets = {trial.key: name for trial, name in zip(trials, names, strict=True)}
        results = trials[0].results
        sides.append(conditions_of(results, exported(results.experiment), targets))
    for subject, fact in dict.fromkeys([*sides[0], *sides[1]]):
        a, b = (conditions.get((subject, fact), "") for conditions in sides)
        if a != b:
            yield Difference(subject, fact, a, b)


# A pair by one metric. Each way to compare fills in a blank that has the two figures.


def usual_metrics(a: TrialSummary, b: TrialSummary) -> list[str]:
    """The first speed that both have, else a latency that one of them has, and what else is usual."""
    both = [each for each in METRICS.values() if each.usual and None not in (each.value(a), each.value(b))]
    fallback = a.latency_quantity or b.latency_quantity or "image_s"
    speed = next((each.name for each in both if each.usual == "speed"), fallback)
    return [speed, *(each.name for each in both if each.usual == "also")]


def figure_of(metric: Metric, trial: TrialSummary) -> float | None:
    """A metric's value as one number; None where it is missing or has several."""
    value = metric.value(trial)
    if hasattr(value, "median"):
        value = value.median
    elif hasattr(value, "k"):
        value = value.k / value.n if value.n else None
    else:
        value = next((getattr(value, name) for name in ("area", "points") if hasattr(value, name)), value)
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
        case ByArea():
            item = ways.by_areas()
        case ByCount():
            item = ways.by_shares(blank)
        case Exactly():
            return ways.exactly()
        case _:
            item = ways.by_sessions([session_values(metric, side.summary) for side in (a, b)])
    # The records hold the hashes of what was measured.
    if item.word != "not compared" and a.sessions and a.sessions == b.sessions:
        nothing = 1.0 if item.scale == "ratio" else 0.0
        equal = replace(blank, word="same", difference=nothing, low=nothing, high=nothing, identical=True)
        sides = {name: getattr(item, name) for name in ("a", "b", "scale", "a_n", "b_n", "of")}
        return replace(equal, note="the very same sessions", **sides)
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
    if metric.part and a.summary.untimed_stages != b.summary.untimed_stages:
        lacks = [
            f"{name} is without {' and '.join(side.summary.untimed_stages)}"
            for name, side in (("A", a), ("B", b))
            if side.summary.untimed_stages and metric.value(side.summary) is not None
        ]
        if lacks:
            return f"{metric.name} of {', of '.join(lacks)}"
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
        ticks = [side.summary.ticks.get(self.metric.name, 0.0) for side in (self.a, self.b)]
        share, lower_is_better = ticks[0] / mean_a + ticks[1] / mean_b, self.metric.better == "lower"
        outcome = session_compare.compare(of_a, of_b, lower_is_better=lower_is_better, ticks=share, **rule)
        reason, needed = outcome.reason, MIN_SESSIONS if outcome.p is None else None
        if outcome.p is not None and outcome.word == "undecided":
            reason = "the sessions differ by too much to tell"
            needed = sessions_to_decide(of_a, of_b, **rule)
            if share > self.threshold.minimum_effect:
                reason, needed = f"ticks of the clocks are {share:.2g} of the times: too coarse to tell", None
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
        meters = [[f"{rail.meter} ({rail.channel})" for rail in pair] for pair in of_one_scope]
        best = next((at for at, (of_a, of_b) in enumerate(meters) if of_a == of_b), 0)
        mine, theirs = of_one_scope[best]
        item = self.by_sessions([getattr(rail, field) for rail in (mine, theirs)])
        alike = len(set(meters[best])) == 1
        seen = f"by meters of the {mine.scope}" + ("" if alike else f", {' and '.join(meters[best])}")
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
        equal = replace(self.blank, word=word, difference=ratio, low=ratio, high=ratio)
        return replace(equal, a_n=1, b_n=1, note="exact, nothing to test")

    def by_images(self, set_name: Literal["images", "scene"]) -> MetricComparison:
        """Image by image where both predicted one set; else as two shares, where the sets are of one kind."""
        of_a, of_b = self.metric.value(self.a.summary), self.metric.value(self.b.summary)
        if of_a is None or of_b is None:
            return replace(self.blank, reason=self.missing_figure())
        of: Literal["images", "patches"] = "images" if set_name == "images" else "patches"
        counted = replace(self.blank, scale="points", a_n=of_a.n, b_n=of_b.n, of=of)
        overlap = "; overlapping crops make its interval a little too narrow" if of_a.overlapping else ""
        is_same_set = self.predicted_one_set(set_name)
        mine, theirs = (side.predictions(set_name) if is_same_set else None for side in (self.a, self.b))
        drop = drop_of(mine, theirs) if mine is not None and theirs is not None else None
        if mine is not None and theirs is not None and drop is not None:  # of A below B
            # One file that gave both and agrees throughout: nothing is left to chance then.
            files = [side.trial.artifact_sha256 for side in (self.a, self.b)]
            is_same_file = files[0] is not None and files[0] == files[1]
            has_same_labels = np.array_equal(mine.label, theirs.label)
            if is_same_file and has_same_labels and np.array_equal(mine.predicted, theirs.predicted):
                note = "the same file predicts the same of each image"
                return replace(counted, word="same", difference=0.0, low=0.0, high=0.0, note=note)
            right, wrong = drop.only_fp32_right, drop.only_this_right
            note = f"right on {right} that A is wrong on, wrong on {wrong} that A is right on{overlap}"
            note += "" if has_same_labels else "; the labels of the images differ"
            tested = (drop.points, drop.low, drop.high), mcnemar(wrong, right)
            return self.by_points(replace(counted, test="McNemar", note=note), *tested)
        if sorted(of_a.class_names) != sorted(of_b.class_names):
            return replace(counted, reason="the images have other classes")
        note = "not of the same images: the sets may differ in how hard they are"
        if is_same_set:
            note = "predictions of both sides cannot be matched image by image"
        return self.by_shares(replace(counted, note=f"{note}{overlap}"))

    def predicted_one_set(self, set_name: Literal["images", "scene"]) -> bool:
        """Whether both predicted the same images or scene."""
        sets = [side.images if set_name == "images" else side.scene for side in (self.a, self.b)]
        return sets[0] is not None and sets[1] is not None and sets[0].sha256 == sets[1].sha256

    def by_areas(self) -> MetricComparison:
        """By the scores of both: sample by sample where they are of one set."""
        of_a, of_b = self.a.scored(), self.b.scored()
        if of_a is None or of_b is None:
            return replace(self.blank, reason=self.missing_figure())
        paired = self.predicted_one_set("images") and list(map(len, of_a)) == list(map(len, of_b))
        delta, p = area_difference(of_a, of_b, paired=paired)
        counted = replace(
            self.blank,
            scale="points",
            a_n=sum(map(len, of_a)),
            b_n=sum(map(len, of_b)),
            of="images",
            test="MOVER",
            note="" if paired else "not of the same samples: the sets may differ in how hard they are",
        )
        return self.by_points(counted, (100 * delta.area, 100 * delta.low, 100 * delta.high), p)

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
