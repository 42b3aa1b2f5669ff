"""Results against a baseline: their trials paired, each pair by each metric, and what differs beside.

Of all comparisons of one call together the words better and worse are wrong in at most alpha of calls on
results that are alike: p is adjusted by Holm (`stats.multiple`). Twenty comparisons at 5 % each would find
a difference in 64 % of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from edgebench.errors import EXIT_NOT_MET, EXIT_OK, EXIT_UNDECIDED, StoredResultError, UsageError
from edgebench.fit.accuracy import Predictions, predictions_of
from edgebench.fit.compared_metric import (
    MetricComparison,
    Threshold,
    TrialSide,
    Word,
    has_figure,
)
from edgebench.fit.environment_difference import Difference, environment_differences
from edgebench.fit.metric_comparison import compare_metric
from edgebench.fit.metrics import METRICS, compared_metrics
from edgebench.fit.pairing import Pairing, TrialPair, Unpaired, paired, require_targets, targets_against
from edgebench.fit.summarise import summarise
from edgebench.fit.trial_summary import TrialSummary
from edgebench.stats.multiple import holm
from edgebench.store.load import StoredResults
from edgebench.suggest import choose, short

SPEEDS = ("image_s", "infer_s", "instructions")
"""Of these the first that both sides have is compared where no metric is named."""

ALSO = ("accuracy", "energy_j")
"""Compared beside the latency where no metric is named and both sides have them."""


@dataclass(frozen=True)
class ComparedPair:
    """A trial of the baseline and its counterpart, metric by metric."""

    a: TrialSummary
    b: TrialSummary
    comparisons: tuple[MetricComparison, ...]


@dataclass(frozen=True)
class ComparedResult:
    """One result against the baseline.

    Attributes:
        name: as the user called it, or its folder's.
        results: as it was read.
        differences: what the two differ in beside their figures.
        pairs: the trials that both have, in the baseline's order.
        only_baseline, only_this: trials without a partner.
        across: which of the baseline's targets stands against which of its own, where their names differ.
    """

    name: str
    results: StoredResults
    differences: tuple[Difference, ...]
    pairs: tuple[ComparedPair, ...]
    only_baseline: tuple[Unpaired, ...]
    only_this: tuple[Unpaired, ...]
    across: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ResultsComparison:
    """Results against the first of them.

    Attributes:
        baseline: its name.
        baseline_results: as it was read.
        metrics: those that were compared.
        threshold: what counts as a difference.
        tests: how many comparisons p was adjusted for.
        results: the others, in the order given.
    """

    baseline: str
    baseline_results: StoredResults
    metrics: tuple[str, ...]
    threshold: Threshold
    tests: int
    results: tuple[ComparedResult, ...]

    @property
    def comparisons(self) -> list[MetricComparison]:
        """All of them."""
        return [item for result in self.results for pair in result.pairs for item in pair.comparisons]

    def count(self, word: Word) -> int:
        """How many comparisons come to that word."""
        return sum(comparison.word == word for comparison in self.comparisons)

    @property
    def regressed(self) -> bool:
        """Whether anything is worse than in the baseline."""
        return self.count("worse") > 0

    @property
    def undecided(self) -> bool:
        """Whether something of the baseline is left open: undecided, without figure or without partner."""
        return any(
            comparison.word == "undecided" or (comparison.word == "not compared" and comparison.a is not None)
            for comparison in self.comparisons
        ) or any(result.only_baseline for result in self.results)


def metrics_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of metrics, each text with one or several after commas; UsageError for one that none has."""
    known = compared_metrics()
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    for name in names:
        if name in METRICS and name not in known:
            raise UsageError(
                f"--metric: results are not compared by {name}",
                why="it is no figure with a session's values, a share of images or an exact number",
                fix=f"known: {', '.join(known)}",
            )
        if name not in known:
            raise UsageError(f"--metric: unknown metric {short(name)}", fix=choose(name, known))
    return tuple(dict.fromkeys(names))


def compare_results(
    results: Sequence[StoredResults],
    *,
    names: Sequence[str] = (),
    metrics: Sequence[str] = (),
    against: Sequence[str] = (),
    threshold: Threshold | None = None,
) -> ResultsComparison:
    """The results after the first against the first.

    Args:
        results: at least two, as `edgebench.load` gives them; the first is the baseline.
        names: what to call them; their folders' names by default.
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
    pairs_of_targets = targets_against(against)
    called = list(names) or distinct_names([each.path for each in results])
    summaries = [summarise(each) for each in results]
    for name, each in zip(called, summaries, strict=True):
        _require_sessions(name, each)
    require_targets(pairs_of_targets, summaries[0], [trial for each in summaries[1:] for trial in each])
    compared = []
    for at in range(1, len(results)):
        pairing = paired(
            summaries[0], summaries[at], (results[0].experiment, results[at].experiment), pairs_of_targets
        )
        if not pairing.pairs:
            raise _nothing_in_common(called[0], summaries[0], called[at], summaries[at])
        compared.append(_compared(called[at], results[0], results[at], pairing, chosen, threshold))
    tests, adjusted = _adjusted(compared, threshold.alpha)
    shown = dict.fromkeys(
        item.metric for each in adjusted for pair in each.pairs for item in pair.comparisons
    )
    return ResultsComparison(called[0], results[0], tuple(shown), threshold, tests, tuple(adjusted))


def exit_code(comparison: ResultsComparison, *, fail_on_regression: bool, strict: bool) -> int:
    """What a command ends with: 3 where something is worse, 4 where something is open and that was asked."""
    if fail_on_regression and comparison.regressed:
        return EXIT_NOT_MET
    return EXIT_UNDECIDED if strict and comparison.undecided else EXIT_OK


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """The folders' own names, with the folder above where they are alike."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) == len({path.resolve() for path in paths}):
        return names
    return [str(Path(path.resolve().parent.name) / path.resolve().name) for path in paths]


def _require_sessions(name: str, summaries: Sequence[TrialSummary]) -> None:
    if not any(trial.status in ("done", "partial") for trial in summaries):
        raise StoredResultError(
            f"{name} has no finished session",
            why=next((trial.reason for trial in summaries if trial.reason), ""),
            fix="measure it first: go on with its command and --resume",
        )


def _nothing_in_common(
    name_a: str, a: Sequence[TrialSummary], name_b: str, b: Sequence[TrialSummary]
) -> UsageError:
    def has(name: str, trials: Sequence[TrialSummary]) -> str:
        targets = sorted({trial.target for trial in trials})
        variants = sorted({trial.variant for trial in trials})
        return f"{name} has {_some(variants)} on {_some(targets)}"

    return UsageError(
        f"{name_a} and {name_b} have no trial in common",
        why=f"{has(name_a, a)}; {has(name_b, b)}",
        fix="trials are paired by target, variant, batch and settings; "
        "where targets have other names, say which belong together: --pair TARGET_A=TARGET_B",
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _compared(
    name: str,
    a: StoredResults,
    b: StoredResults,
    pairing: Pairing,
    metrics: Sequence[str],
    threshold: Threshold,
) -> ComparedResult:
    return ComparedResult(
        name=name,
        results=b,
        differences=environment_differences(a, b, pairing.pairs),
        pairs=tuple(_compared_pair(a, b, pair, metrics, threshold) for pair in pairing.pairs),
        only_baseline=pairing.only_a,
        only_this=pairing.only_b,
        across=pairing.across,
    )


def _compared_pair(
    a: StoredResults, b: StoredResults, pair: TrialPair, metrics: Sequence[str], threshold: Threshold
) -> ComparedPair:
    sides = _side(a, pair.a), _side(b, pair.b)
    chosen = metrics or usual_metrics(pair)
    return ComparedPair(
        pair.a, pair.b, tuple(compare_metric(METRICS[name], *sides, threshold) for name in chosen)
    )


def usual_metrics(pair: TrialPair) -> list[str]:
    """The latency that both have, of emulated trials their instructions, and of the others what both have."""
    both = [
        name
        for name in (*SPEEDS, *ALSO)
        if has_figure(METRICS[name], pair.a) and has_figure(METRICS[name], pair.b)
    ]
    speed = next((name for name in both if name in SPEEDS), None)
    fallback = pair.a.latency_quantity or pair.b.latency_quantity or "image_s"
    return [speed or fallback, *(name for name in both if name in ALSO)]


def _side(results: StoredResults, summary: TrialSummary) -> TrialSide:
    experiment = results.experiment
    trial = next(each for each in experiment.trials if each.key == summary.key)
    records = [record for record in results.session_records(trial.key) if record.status == "ok"]
    return TrialSide(
        summary=summary,
        records=records,
        scene=experiment.scene_of(trial),
        images=experiment.images_of(trial),
        period_s=experiment.period_s,
        artifact_sha256=trial.artifact_sha256,
        predictions=partial(_predictions, results, trial.key),
    )


def _predictions(
    results: StoredResults, key: str, set_name: Literal["images", "scene"]
) -> Predictions | None:
    """Those of a lone worker; reads them from disk."""
    experiment = results.experiment
    trial = next(each for each in experiment.trials if each.key == key)
    source = experiment.images_of(trial) if set_name == "images" else experiment.scene_of(trial)
    rows = results.table("predictions", ["worker", "set", "index", "label", "predicted"], [key])
    if rows["worker"].nunique() > 1:
        return None
    sessions = [record.n for record in results.session_records(key) if record.status == "ok"]
    names = source.class_names if source else ()
    return predictions_of(rows, set_name, sessions, names, trial.class_names)


def _adjusted(compared: Sequence[ComparedResult], alpha: float) -> tuple[int, list[ComparedResult]]:
    """How many comparisons were tested, and the results with p adjusted for all of them.

    What is different for itself alone, and not among all of them, is undecided.
    """
    tested = [
        item.p for each in compared for pair in each.pairs for item in pair.comparisons if item.p is not None
    ]
    adjusted = iter(holm(tested).tolist() if tested else ())

    def among_all(item: MetricComparison) -> MetricComparison:
        if item.p is None:
            return item
        item = replace(item, adjusted_p=next(adjusted))
        if item.word in ("better", "worse") and (item.adjusted_p or 0.0) >= alpha:
            reason = f"by itself it would be {item.word}, among {len(tested)} comparisons it may be chance: "
            reason += "take more sessions, or compare fewer metrics"
            return replace(item, word="undecided", reason=reason)
        return item

    results = [
        replace(
            each,
            pairs=tuple(
                replace(pair, comparisons=tuple(among_all(item) for item in pair.comparisons))
                for pair in each.pairs
            ),
        )
        for each in compared
    ]
    return len(tested), results
