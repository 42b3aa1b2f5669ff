"""The document of `edgebench history --json`: a series a trial, its results oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from edgebench.fit.history import HistoryPoint, LevelChange, TrialSeries
from edgebench.report.json_values import SCHEMA_VERSION, clean
from edgebench.stats.compare import ALPHA, Comparison
from edgebench.store.described import Described, Descriptions
from edgebench.store.result_listing import UnreadableResult


@dataclass(frozen=True)
class AgainstResult:
    """A result against another of its series."""

    word: str
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    reason: str


@dataclass(frozen=True)
class ResultInSeries:
    """One result of a series."""

    result: str
    begun_utc: str | None
    trial: str
    value: float | None
    low: float | None
    high: float | None
    session_values: tuple[float, ...]
    to_previous: AgainstResult | None
    to_baseline: AgainstResult | None
    facts: dict[str, str]


@dataclass(frozen=True)
class ChangeInSeries:
    """A change of a series' level."""

    result: str
    after_result: str
    word: str
    before: float | None
    after: float | None
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    differences: tuple[str, ...]


@dataclass(frozen=True)
class Series:
    """A trial over the results that have it."""

    metric: str
    unit: str
    better: str
    target: str
    variant: str
    batch: int
    concurrency: int
    settings: dict[str, Any]
    scope: str
    scene: str
    results: tuple[ResultInSeries, ...]
    changes: tuple[ChangeInSeries, ...]
    change_reason: str


@dataclass(frozen=True)
class LeftOut:
    """A folder that was passed over."""

    result: str
    reason: str


@dataclass(frozen=True)
class HistoryDocument:
    """The whole of it, without the version of its layout."""

    alpha: float
    minimum_effect: float
    series: tuple[Series, ...]
    left_out: tuple[LeftOut, ...]


def history_document(
    series: Sequence[TrialSeries], left_out: Sequence[UnreadableResult], minimum_effect: float
) -> dict[str, Any]:
    """Plain data as `history.schema.json` describes it, in the metric's base unit."""
    document = HistoryDocument(
        alpha=ALPHA,
        minimum_effect=minimum_effect,
        series=tuple(_series(each) for each in series),
        left_out=tuple(LeftOut(each.path.name, each.reason) for each in left_out),
    )
    cleaned: dict[str, Any] = clean({"schema_version": SCHEMA_VERSION, **asdict(document)})
    return cleaned


def _series(series: TrialSeries) -> Series:
    return Series(
        metric=series.metric.name,
        unit=series.metric.unit,
        better=series.metric.better,
        target=series.target,
        variant=series.variant,
        batch=series.batch,
        concurrency=series.concurrency,
        settings=dict(series.settings),
        scope=series.scope,
        scene=series.scene,
        results=tuple(_point(point) for point in series.points),
        changes=tuple(_change(change) for change in series.changes),
        change_reason=series.change_reason,
    )


def _point(point: HistoryPoint) -> ResultInSeries:
    return ResultInSeries(
        result=point.result,
        begun_utc=point.begun_utc or None,
        trial=point.key,
        value=point.figure.value,
        low=point.figure.low,
        high=point.figure.high,
        session_values=point.figure.session_values,
        to_previous=_comparison(point.to_previous),
        to_baseline=_comparison(point.to_baseline),
        facts=dict(point.facts),
    )


def _comparison(comparison: Comparison | None) -> AgainstResult | None:
    if comparison is None:
        return None
    return AgainstResult(
        comparison.word,
        comparison.ratio,
        comparison.low,
        comparison.high,
        comparison.p,
        comparison.reason,
    )


def _change(change: LevelChange) -> ChangeInSeries:
    figures = asdict(change.point)
    del figures["at"]
    return ChangeInSeries(
        result=change.first_after,
        after_result=change.last_before,
        word=change.word,
        differences=change.differences,
        **figures,
    )


_END = "of the ratio's interval at 1 - alpha; null without one."

DESCRIPTIONS: Descriptions = {
    "HistoryDocument": {
        "alpha": Described("In so many series without a change, one is found all the same.", "command line"),
        "minimum_effect": Described("The smallest change that counts, as a share.", "command line"),
        "series": Described("One a trial: of one target, variant, batch, settings, scope and scene.", "fit"),
        "left_out": Described("Folders that cannot be read.", "results"),
    },
    "LeftOut": {
        "result": Described("The folder's name.", "results"),
        "reason": Described("Why it is left out.", "results"),
    },
    "Series": {
        "metric": Described("What is followed: its name in the catalogue of metrics.", "command line"),
        "unit": Described("Of values and levels.", "fit"),
        "better": Described("The metric's better direction.", "fit"),
        "target": Described("Of the trials.", "experiment.json"),
        "variant": Described("Of the trials.", "experiment.json"),
        "batch": Described("Images in one inference.", "experiment.json"),
        "concurrency": Described("Inferences that the device has in flight.", "experiment.json"),
        "settings": Described("Those in which its target differs within a sweep.", "experiment.json"),
        "scope": Described("What the meter covers; empty for a metric without one.", "session.json"),
        "scene": Described("What was timed.", "experiment.json"),
        "results": Described("Those that have the trial, oldest first.", "results"),
        "changes": Described("Changes of the level, oldest first.", "fit"),
        "change_reason": Described("Why no change was looked for; empty where it was.", "fit"),
    },
    "ResultInSeries": {
        "result": Described("The folder's name.", "results"),
        "begun_utc": Described("When it began, ISO 8601; null where that is not known.", "experiment.json"),
        "trial": Described("Key of the trial.", "experiment.json"),
        "value": Described("What the trial came to, in the series' unit.", "sessions"),
        "low": Described("Lower end of its interval; null without one.", "sessions"),
        "high": Described("Upper end of its interval; null without one.", "sessions"),
        "session_values": Described("One number a session, where the metric has them.", "sessions"),
        "to_previous": Described("Against the result before; null for the first.", "fit"),
        "to_baseline": Described("Against the baseline; null for itself.", "fit"),
        "facts": Described("Versions, host and settings, as they are compared at a change.", "sessions"),
    },
    "AgainstResult": {
        "word": Described("same, better, worse or undecided.", "fit"),
        "ratio": Described("This result over the other.", "fit"),
        "low": Described(f"Lower end {_END}", "fit"),
        "high": Described(f"Upper end {_END}", "fit"),
        "p": Described("Of the test, two-sided; null without one.", "fit"),
        "reason": Described("Why a figure is missing; empty where none is.", "fit"),
    },
    "ChangeInSeries": {
        "result": Described("The first result after the change.", "fit"),
        "after_result": Described("The last result before it.", "fit"),
        "word": Described("Whether it is for the better.", "fit"),
        "before": Described("Level before, in the series' unit.", "fit"),
        "after": Described("Level after.", "fit"),
        "ratio": Described("After over before.", "fit"),
        "low": Described(f"Lower end {_END}", "fit"),
        "high": Described(f"Upper end {_END}", "fit"),
        "p": Described("Share of the orders of the tested part that look as much like a change.", "fit"),
        "differences": Described("What else differs there.", "sessions"),
    },
}
