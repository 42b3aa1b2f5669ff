"""History of a metric over the results of a folder: one series per trial, with changes of its level."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic_core import from_json

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.comparisons.pairing import TrialIdentity, recorded_facts, trial_identity
from edgebench.judge.document import trial_from_document
from edgebench.judge.metric import SHARE_UNITS, Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import Trial
from edgebench.judge.trials import trial_with_key
from edgebench.records.stored import ExperimentRecord, SessionRecord, TrialRecord
from edgebench.results.layout import SCHEMA_VERSION, TRIAL_FILE, trial_folder
from edgebench.results.listing import ListedResult, StoredResult, UnreadableResult
from edgebench.results.load import StoredResults
from edgebench.results.record_reading import read_bounded, remove_checksum
from edgebench.results.redaction import exported
from edgebench.results.revisions import differences, swept_name
from edgebench.stats.change_point import ChangePoint, change_points, change_reason
from edgebench.stats.compare import MINIMUM_EFFECT, Comparison, Word, compare
from edgebench.suggest import choose, short


def stored_trial(folder: Path, key: str, sessions: Sequence[SessionRecord]) -> Trial | None:
    """Trial as its run wrote it to trial.json, without values per pass; no table is read.

    None if the file is missing or damaged, or has other sessions or another version, as after a run that was
    killed: `edgebench.judge.trials.trial_with_key` then reads the tables.

    Args:
        folder: folder of the result.
        key: key of the trial.
        sessions: its sessions on disk, failed ones too.
    """
    try:
        data = read_bounded(trial_folder(folder, key) / TRIAL_FILE, folder) or b"null"
        document = from_json(data, allow_inf_nan=False)
        if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
            return None
        remove_checksum(document, data)
        trial = trial_from_document(document)
    except (StoredResultError, ValueError):
        return None
    failed = trial.estimate("failed_sessions")
    ok = failed.n - round(failed.n * (failed.value or 0.0))
    is_of_these = trial.key == key and ok == sum(session.status == "ok" for session in sessions)
    return trial if is_of_these else None


NOTHING_REACHES = 1e15
"""Upper limit of credible values in seconds, watts or bytes: a file on disk may hold any number."""


@dataclass(frozen=True)
class HistoryPoint:
    """One result of a series."""

    result: str
    """Name of its folder. Source: results."""
    begun_utc: str | None
    """Start of its run, ISO 8601; null where that is not known. Source: experiment.json."""
    trial: str
    """Key of the trial. Source: experiment.json."""
    value: float
    """Value of the trial, in the series' unit. Source: sessions."""
    low: float | None
    """Lower end of its interval; null without one. Source: sessions."""
    high: float | None
    """Upper end of its interval; null without one. Source: sessions."""
    session_values: tuple[float, ...]
    """One value per session, where the metric has them. Source: sessions."""
    to_previous: Comparison | None
    """Comparison with the result before; null for the first. Source: fit."""
    to_baseline: Comparison | None
    """Comparison with the baseline; null for itself. Source: fit."""
    facts: dict[str, str]
    """Versions, host and settings, which are compared at a change. Source: sessions."""
    tick: float = field(default=0.0, repr=False)
    """Internal: tick of the clock that timed it, in the series' unit."""


@dataclass(frozen=True)
class LevelChange(ChangePoint):
    """Change of a series' level."""

    result: str
    """First result after the change. Source: fit."""
    after_result: str
    """Last result before it. Source: fit."""
    word: Literal["better", "worse"]
    """Direction of the change. Source: fit."""
    differences: tuple[str, ...]
    """Other recorded facts that changed there. Source: sessions."""


@dataclass(frozen=True)
class TrialSeries(TrialIdentity):
    """Trial over the results that have it."""

    metric: str
    """Name of the followed metric in the catalogue. Source: command line."""
    unit: str
    """Unit of values and levels. Source: fit."""
    better: str
    """Better direction of the metric. Source: fit."""
    scope: str
    """Scope of the meter; empty for a metric without one. Source: session.json."""
    scene: str
    """Scene of the passes. Source: experiment.json."""
    results: tuple[HistoryPoint, ...]
    """Results that have the trial, oldest first. Source: results."""
    changes: tuple[LevelChange, ...] = ()
    """Changes of the level, oldest first. Source: fit."""
    change_reason: str = ""
    """Cause why no change was looked for; empty where it was. Source: fit."""

    @property
    def is_share(self) -> bool:
        """True if its values are shares, whose changes are in points."""
        return METRICS[self.metric].units is SHARE_UNITS


def followed_metrics() -> tuple[str, ...]:
    """Names of metrics that a history can follow: those that results are compared by, and metered power."""
    return tuple(
        name
        for name, metric in METRICS.items()
        if (metric.compared not in ("", "counts") or _is_metered(metric))
        and not metric.is_scheduled
        and "declared" not in metric.statistics
    )


def _is_metered(metric: Metric) -> bool:
    return metric.unit in ("W", "J")


def history(
    results: Sequence[StoredResult],
    *,
    metric: str | None = None,
    wanted: Callable[[TrialRecord], bool] = lambda trial: True,
    last: int | None = None,
    baseline: str | None = None,
    minimum_effect: float = MINIMUM_EFFECT,
    left_out: Callable[[UnreadableResult], object] | None = None,
) -> list[TrialSeries]:
    """Series of the wanted trials, in the order of the newest results.

    Args:
        results: results, newest first.
        metric: name of the metric. Default: image_s, or infer_s of trials without it.
        wanted: whether a planned trial is followed.
        last: greatest number of results: the newest that have a wanted trial with a value.
        baseline: name of the result that all others are compared with. Default, and where a series lacks it:
            its oldest.
        minimum_effect: smallest change that counts, as a share.
        left_out: called with each damaged result, which is left out. Default: the first raises
            StoredResultError.

    Raises:
        UsageError: the metric is not followed.
    """
    if metric is not None and metric not in (names := followed_metrics()):
        is_known = metric in METRICS
        problem = f"no history is kept of {metric}" if is_known else f"there is no metric {short(metric)}"
        raise UsageError(problem, fix=choose(metric, names))
    series: dict[Hashable, list[TrialSeries]] = {}
    taken = 0
    for result in results:
        if last is not None and taken >= last:
            break
        try:
            members = dict(_members(result, metric, wanted))
        except StoredResultError as error:
            if left_out is None:
                raise
            left_out(UnreadableResult.of(result.path, error))
            continue
        taken += bool(members)
        for identity, member in members.items():
            series.setdefault(identity, []).append(member)
    return [_series(members[::-1], baseline, minimum_effect) for members in series.values()]


def _members(
    result: StoredResult, metric_name: str | None, wanted: Callable[[TrialRecord], bool]
) -> Iterator[tuple[Hashable, TrialSeries]]:
    """Trials of a result that have a value: identity of their series, and the series of this result."""
    experiment = result.experiment
    stored, shown = StoredResults(result.path, experiment), exported(experiment)
    targets = {target.name: swept_name(target) for target in experiment.targets}
    for record in experiment.trials:
        if record.status != "planned" or not wanted(record):
            continue
        sessions = stored.session_records(record.key)
        if not any(session.status == "ok" for session in sessions):
            continue
        trial = stored_trial(result.path, record.key, sessions) or trial_with_key(stored, record.key)
        metric = METRICS[metric_name or trial.latency_metric or "image_s"]
        if (ends := followed_value(metric, trial)) is None:
            continue
        # A revision of a target comes after it, and shows the device as it is now.
        target = targets.get(record.target, record.target)
        facts = recorded_facts(stored, shown, {record.key: target})
        point = HistoryPoint(
            result.path.name,
            result.begun_utc or None,
            record.key,
            *ends,
            session_values=positive_sessions(metric, trial),
            to_previous=None,
            to_baseline=None,
            facts={
                name if subject == "experiment" else f"{subject} {name}": text
                for (subject, name), text in facts.items()
            },
            tick=trial.ticks.get(metric.name, 0.0),
        )
        yield (
            series_key(metric, trial, target, experiment, record),
            TrialSeries(
                target=trial.swept_target,
                variant=record.variant,
                batch=record.batch,
                concurrency=record.concurrency,
                settings=dict(trial.settings),
                metric=metric.name,
                unit=metric.unit,
                better=metric.better,
                scope=_scope(metric, trial),
                scene=experiment.scene_of(record).name,
                results=(point,),
            ),
        )


def positive_sessions(metric: Metric, trial: Trial) -> tuple[float, ...]:
    """One value per session that a ratio can be made of; empty where one is not above 0, or not credible."""
    if metric.compared not in ("sessions", "rails"):
        return ()
    values = trial.estimate(metric.name).sessions
    return values if all(0 < value < NOTHING_REACHES for value in values) else ()


def followed_value(metric: Metric, trial: Trial) -> tuple[float, float | None, float | None] | None:
    """Value above 0 with the ends of its interval; None where a history does not follow the trial."""
    estimate = trial.estimate(metric.name)
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None or not 0 < value < NOTHING_REACHES:
        return None
    is_interval = low is not None and high is not None and 0 <= low <= value <= high < NOTHING_REACHES
    return (value, low, high) if is_interval and not estimate.is_exact else (value, None, None)


def series_key(
    metric: Metric, trial: Trial, target: str, experiment: ExperimentRecord, record: TrialRecord
) -> Hashable:
    """Facts that the trials of one series share: what a comparison would list as different makes another.

    `target` is the name of its target without revision and settings.
    """
    is_of_images = metric.compared in ("images", "scores") and metric.share_of != "patch"
    images = experiment.images_of(record) if is_of_images else None
    scene = experiment.scene_of(record)
    work = scene.sha256, record.patches, images and images.sha256
    untimed = trial.scene.untimed_stages if metric.part else ()
    period_s = experiment.period_s if _is_metered(metric) else None
    return trial_identity(trial, target), metric.name, _scope(metric, trial), work, untimed, period_s


def _scope(metric: Metric, trial: Trial) -> str:
    """Scope of the meter, since power and energy of a board are not those of its chip."""
    return trial.rails[0].scope if _is_metered(metric) and trial.rails else ""


def _series(members: Sequence[TrialSeries], baseline: str | None, minimum_effect: float) -> TrialSeries:
    """Series of one trial in several results, oldest first."""
    newest = members[-1]
    lower_is_better = newest.better == "lower"
    points = [point for member in members for point in member.results]
    reference = next((point for point in points if point.result == baseline), points[0])

    def against(point: HistoryPoint, other: HistoryPoint) -> Comparison | None:
        if point is other:
            return None
        sides = other.session_values, point.session_values
        if all(sides):
            ticks = other.tick / other.value + point.tick / point.value
            return compare(
                *sides, lower_is_better=lower_is_better, minimum_effect=minimum_effect, ticks=ticks
            )
        ratio = point.value / other.value
        word: Word = "same" if ratio == 1 else "undecided"
        reason = "it has no values by session, which a test needs"
        return Comparison(word, ratio, None, None, None, reason=reason)

    def level_change(change: ChangePoint) -> LevelChange:
        before, after = points[change.at - 1], points[change.at]
        return LevelChange(
            **vars(change),
            result=after.result,
            after_result=before.result,
            word="better" if (change.ratio < 1) == lower_is_better else "worse",
            differences=differences(before.facts, after.facts),
        )

    return replace(
        newest,
        results=tuple(
            replace(point, to_previous=against(point, previous), to_baseline=against(point, reference))
            for previous, point in zip([points[0], *points], points, strict=False)
        ),
        changes=tuple(
            map(level_change, change_points([point.value for point in points], minimum_effect=minimum_effect))
        ),
        change_reason=change_reason(len(points)),
    )


def targets_of(results: Iterable[ListedResult]) -> list[str]:
    """Names of the targets of results, without the settings of a sweep."""
    return list(dict.fromkeys(target for result in results for target in result.indexed.overview.targets))
