"""The document of `edgebench compare --json`: everything that a program needs of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from edgebench.fit.compared_metric import MetricComparison, Threshold, Word
from edgebench.fit.environment_difference import Difference
from edgebench.fit.pairing import Unpaired
from edgebench.fit.result_comparison import ComparedPair, ComparedResult, ResultsComparison
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import comparison_words
from edgebench.report.json_values import SCHEMA_VERSION, clean
from edgebench.store.described import Described, Descriptions
from edgebench.store.load import StoredResults
from edgebench.store.redaction import exported_path


@dataclass(frozen=True)
class ComparedTrial:
    """Which trial it is."""

    key: str
    target: str
    variant: str
    batch: int
    concurrency: int
    settings: dict[str, Any]
    mark: str


@dataclass(frozen=True)
class PartnerlessTrial(ComparedTrial):
    """One without a partner."""

    reason: str


@dataclass(frozen=True)
class Compared(MetricComparison):
    """One metric of a pair, in words too."""

    in_words: str = ""


@dataclass(frozen=True)
class Pair:
    """Two trials."""

    a: ComparedTrial
    b: ComparedTrial
    comparisons: tuple[Compared, ...]


@dataclass(frozen=True)
class ResultName:
    """A result, and when it was measured with what."""

    name: str
    path: str
    created_utc: str
    edgebench_version: str


@dataclass(frozen=True)
class Against(ResultName):
    """A result against the baseline."""

    across: dict[str, str]
    differences: tuple[Difference, ...]
    pairs: tuple[Pair, ...]
    only_baseline: tuple[PartnerlessTrial, ...]
    only_this: tuple[PartnerlessTrial, ...]


@dataclass(frozen=True)
class Counts:
    """How many comparisons come to each word."""

    better: int
    worse: int
    same: int
    undecided: int
    not_compared: int


@dataclass(frozen=True)
class ComparisonDocument:
    """The whole of it, without the version of its layout."""

    baseline: ResultName
    metrics: tuple[str, ...]
    threshold: Threshold
    tests: int
    counts: Counts
    regressed: bool
    undecided: bool
    results: tuple[Against, ...]


def comparison_document(comparison: ResultsComparison) -> dict[str, Any]:
    """The comparison as plain data, as `comparison.schema.json` describes it."""
    document = ComparisonDocument(
        baseline=ResultName(**_name(comparison.baseline, comparison.baseline_results)),
        metrics=comparison.metrics,
        threshold=comparison.threshold,
        tests=comparison.tests,
        counts=Counts(*(comparison.count(word) for word in get_args(Word))),
        regressed=comparison.regressed,
        undecided=comparison.undecided,
        results=tuple(_against(result, comparison.threshold) for result in comparison.results),
    )
    plain: dict[str, Any] = clean({"schema_version": SCHEMA_VERSION, **asdict(document)})
    return plain


def _against(result: ComparedResult, threshold: Threshold) -> Against:
    return Against(
        **_name(result.name, result.results),
        across=dict(result.across),
        differences=result.differences,
        pairs=tuple(_pair(pair, threshold) for pair in result.pairs),
        only_baseline=_partnerless(result.only_baseline),
        only_this=_partnerless(result.only_this),
    )


def _name(name: str, results: StoredResults) -> dict[str, str]:
    record = results.experiment
    return {
        "name": name,
        "path": exported_path(Path(results.path), record),
        "created_utc": record.created_utc,
        "edgebench_version": record.edgebench_version,
    }


def _pair(pair: ComparedPair, threshold: Threshold) -> Pair:
    return Pair(
        ComparedTrial(**_trial(pair.a)),
        ComparedTrial(**_trial(pair.b)),
        tuple(
            Compared(**asdict(item), in_words=comparison_words.change(item, threshold))
            for item in pair.comparisons
        ),
    )


def _partnerless(trials: Sequence[Unpaired]) -> tuple[PartnerlessTrial, ...]:
    return tuple(PartnerlessTrial(**_trial(each.trial), reason=each.reason) for each in trials)


def _trial(trial: TrialSummary) -> dict[str, Any]:
    names = ("key", "target", "variant", "batch", "concurrency", "settings", "mark")
    return {name: getattr(trial, name) for name in names}


_NAME = {
    "name": Described("What it is called here: its folder's name.", "command line"),
    "path": Described("The result folder.", "command line"),
    "created_utc": Described("When it was begun, ISO 8601.", "experiment.json"),
    "edgebench_version": Described("Version of EdgeBench that measured it.", "experiment.json"),
}
_TRIAL = {
    "key": Described("Key of the trial.", "experiment.json"),
    "target": Described("Its target.", "experiment.json"),
    "variant": Described("Its variant.", "experiment.json"),
    "batch": Described("Images in one inference.", "experiment.json"),
    "concurrency": Described("Inferences that the device has in flight.", "experiment.json"),
    "settings": Described("Those in which its target differs within a sweep.", "experiment.json"),
    "mark": Described("What has to stand beside its figures.", "fit"),
}
_END = "of the interval of difference at 1 - alpha; null without one."

DESCRIPTIONS: Descriptions = {
    "ComparisonDocument": {
        "baseline": Described("What the others are compared with, A.", "command line"),
        "metrics": Described("Those that are compared of any pair.", "command line"),
        "threshold": Described("What counts as different.", "command line"),
        "tests": Described("Comparisons that were tested, for which p is adjusted.", "fit"),
        "counts": Described("How many comparisons come to each word.", "fit"),
        "regressed": Described("Whether anything is worse: what --fail-on regression asks.", "fit"),
        "undecided": Described(
            "Whether anything of the baseline is undecided, is not compared though the baseline has a "
            "figure, or has no partner: what --strict asks.",
            "fit",
        ),
        "results": Described("The results that are compared with the baseline, each as B.", "fit"),
    },
    "ResultName": _NAME,
    "Against": {
        **_NAME,
        "across": Described(
            "By target of the baseline the target that it is compared with, where their names differ.",
            "command line",
        ),
        "differences": Described("What differs beside the figures.", "fit"),
        "pairs": Described("The trials that both have.", "fit"),
        "only_baseline": Described("Trials of the baseline without a partner.", "fit"),
        "only_this": Described("Its own trials without a partner.", "fit"),
    },
    "Counts": {
        "better": Described("Better than the baseline.", "fit"),
        "worse": Described("Worse.", "fit"),
        "same": Described("The same.", "fit"),
        "undecided": Described("Undecided.", "fit"),
        "not_compared": Described("Without a figure on a side, or of different things.", "fit"),
    },
    "Threshold": {
        "minimum_effect": Described("The smallest ratio that counts, as a share.", "command line"),
        "minimum_points": Described(
            "The smallest difference of shares that counts.", "command line", unit="points"
        ),
        "alpha": Described(
            "In so many calls on results that are alike some comparison may say better or worse.", "fit"
        ),
    },
    "Difference": {
        "subject": Described("What it is a fact of: a target's name, model, scene, experiment.", "fit"),
        "fact": Described("Its name.", "fit"),
        "a": Described("What the baseline says; empty for nothing.", "sessions"),
        "b": Described("What this result says; empty for nothing.", "sessions"),
    },
    "Pair": {
        "a": Described("The baseline's trial.", "experiment.json"),
        "b": Described("Its counterpart.", "experiment.json"),
        "comparisons": Described("One entry a metric.", "fit"),
    },
    "ComparedTrial": _TRIAL,
    "PartnerlessTrial": {**_TRIAL, "reason": Described("Why it has no partner.", "fit")},
    "Compared": {
        "metric": Described("Its name in the catalogue of metrics.", "fit"),
        "unit": Described("Of a and b.", "fit"),
        "word": Described("What B is, in the metric's better direction.", "fit"),
        "a": Described("The baseline's figure, in unit; null where missing.", "sessions", always=True),
        "b": Described("The other's.", "sessions", always=True),
        "scale": Described(
            "Whether difference is b over a, or b less a in points, hundredths.", "fit", always=True
        ),
        "difference": Described("As scale says; null where there is none.", "fit", always=True),
        "low": Described(f"Lower end {_END}", "fit", always=True),
        "high": Described(f"Upper end {_END}", "fit", always=True),
        "test": Described("The test; empty where nothing was tested.", "fit", always=True),
        "p": Described("Of that test alone, two-sided.", "fit", always=True),
        "adjusted_p": Described("Among all tests of the call, by Holm.", "fit", always=True),
        "a_n": Described("Sessions or images of the baseline.", "sessions", always=True),
        "b_n": Described("Of the other.", "sessions", always=True),
        "of": Described("What a_n and b_n count; empty for an exact number.", "fit", always=True),
        "sessions_needed": Described(
            "Sessions a side that would decide it; null where that is not known.", "fit", always=True
        ),
        "identical": Described("Whether both are the very same sessions.", "fit", always=True),
        "reason": Described("Why it is undecided or not compared.", "fit", always=True),
        "note": Described("What else a reader should know.", "fit", always=True),
        "in_words": Described("The difference in words.", "fit", always=True),
    },
}
