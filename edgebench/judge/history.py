"""A metric over all results of a folder: one series a trial that they share, with changes of its level."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import TypeAdapter
from pydantic_core import from_json

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.comparison import figure_of, session_values
from edgebench.judge.metric import SHARE_UNITS, ByArea, ByCount, ByImages, Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.pairing import TrialIdentity, conditions_of, trial_identity
from edgebench.judge.summarise import summarise_one
from edgebench.judge.trial_summary import TrialSummary
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

# The summaries that a run left in trial.json, for what looks at many results: no table is read for them.
#
# What only the tables have (the samples of meters, each request's latency) and the cautions are not in
# them.


_DERIVED = frozenset({"cautions", "request_ms_values", "power_curves", "figures_of_values"})


def stored_summary(folder: Path, key: str, sessions: Sequence[SessionRecord]) -> TrialSummary | None:
    """The summary of a trial as its run wrote it; None where it has other sessions, or is missing.

    That is so of a run that was killed, and where trial.json is damaged or of another version: the tables
    tell then (`edgebench.judge.summarise.summarise_one`).

    Args:
        folder: of the result.
        key: the trial's.
        sessions: those of the trial that are on disk, failed ones too.
    """
    adapter, names = _reader()
    try:
        data = read_bounded(trial_folder(folder, key) / TRIAL_FILE, folder) or b"null"
        document = from_json(data, allow_inf_nan=False)
        if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
            return None
        remove_checksum(document, data)
        summary = adapter.validate_python({name: document[name] for name in names & document.keys()})
    except (StoredResultError, ValueError):
        return None
    counted = summary.failed_sessions
    ok = 0 if counted is None else counted.n - counted.k
    is_of_these = summary.key == key and ok == sum(session.status == "ok" for session in sessions)
    return summary if is_of_these else None


@cache
def _reader() -> tuple[TypeAdapter[TrialSummary], frozenset[str]]:
    """What validates a summary, and the fields that trial.json keeps of it."""
    names = frozenset(field.name for field in dataclasses.fields(TrialSummary) if field.init)
    return TypeAdapter(TrialSummary), names - _DERIVED


NOTHING_REACHES = 1e15
"""In seconds, watts or bytes: a summary on disk may say anything."""


@dataclass(frozen=True)
class HistoryPoint:
    """One result of a series."""

    result: str
    """The folder's name. Source: results."""
    begun_utc: str | None
    """When it began, ISO 8601; null where that is not known. Source: experiment.json."""
    trial: str
    """Key of the trial. Source: experiment.json."""
    value: float
    """What the trial came to, in the series' unit. Source: sessions."""
    low: float | None
    """Lower end of its interval; null without one. Source: sessions."""
    high: float | None
    """Upper end of its interval; null without one. Source: sessions."""
    session_values: tuple[float, ...]
    """One number a session, where the metric has them. Source: sessions."""
    to_previous: Comparison | None
    """Against the result before; null for the first. Source: fit."""
    to_baseline: Comparison | None
    """Against the baseline; null for itself. Source: fit."""
    facts: dict[str, str]
    """Versions, host and settings, as they are compared at a change. Source: sessions."""


@dataclass(frozen=True)
class LevelChange(ChangePoint):
    """A change of a series' level."""

    result: str
    """The first result after the change. Source: fit."""
    after_result: str
    """The last result before it. Source: fit."""
    word: Literal["better", "worse"]
    """Whether it is for the better. Source: fit."""
    differences: tuple[str, ...]
    """What else differs there. Source: sessions."""


@dataclass(frozen=True)
class TrialSeries(TrialIdentity):
    """A trial over the results that have it."""

    metric: str
    """What is followed: its name in the catalogue of metrics. Source: command line."""
    unit: str
    """Unit of values and levels. Source: fit."""
    better: str
    """The metric's better direction. Source: fit."""
    scope: str
    """What the meter covers; empty for a metric without one. Source: session.json."""
    scene: str
    """What was timed. Source: experiment.json."""
    results: tuple[HistoryPoint, ...]
    """Those that have the trial, oldest first. Source: results."""
    changes: tuple[LevelChange, ...] = ()
    """Changes of the level, oldest first. Source: fit."""
    change_reason: str = ""
    """Why no change was looked for; empty where it was. Source: fit."""

    @property
    def is_share(self) -> bool:
        """Whether its values are shares, whose changes are in points."""
        return METRICS[self.metric].units is SHARE_UNITS


def followed_metrics() -> tuple[str, ...]:
    """The metrics that a history can be of: what results are compared by, and all measured power."""
    return tuple(
        name
        for name, metric in METRICS.items()
        if (metric.rail or not isinstance(metric.comparison, ByCount | None))
        and not metric.of_schedule
        and "declared" not in metric.statistics
    )


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
    """The series of the trials that are wanted, by target and variant as the newest result has them.

    Args:
        results: newest first.
        metric: its name; None for image_s, or infer_s of a trial without it.
        wanted: which trials.
        last: the most results that are taken, the newest that have a wanted trial with a figure.
        baseline: name of the result that all others are compared with; None, or where a series lacks it, for
            its oldest.
        minimum_effect: the smallest change that counts, as a share.
        left_out: called with each result that turns out to be damaged, which is then left out; None:
            StoredResultError for the first.

    Raises:
        UsageError: the metric is not followed.
    """
    if metric is not None and metric not in (known := followed_metrics()):
        raise UsageError(f"there is no metric {short(metric)}", fix=choose(metric, known))
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
    result: StoredResult, metric: str | None, wanted: Callable[[TrialRecord], bool]
) -> Iterator[tuple[Hashable, TrialSeries]]:
    """The trials of a result that have a figure, each as a series, behind what two of one series share."""
    experiment = result.experiment
    stored, shown = StoredResults(result.path, experiment), exported(experiment)
    targets = {target.name: swept_name(target) for target in experiment.targets}
    for trial in experiment.trials:
        if trial.status != "planned" or not wanted(trial):
            continue
        sessions = stored.session_records(trial.key)
        if not any(session.status == "ok" for session in sessions):
            continue
        summary = stored_summary(result.path, trial.key, sessions) or summarise_one(stored, trial.key)
        of = METRICS[metric or summary.latency_quantity or "image_s"]
        if (figure := followed(of, summary, experiment, trial)) is None:
            continue
        values = session_values(of, summary)
        # A revision of a target comes after it, and is what the device has become.
        target = targets.get(trial.target, trial.target)
        conditions = conditions_of(stored, shown, {trial.key: target})
        point = HistoryPoint(
            result=result.path.name,
            begun_utc=result.begun_utc or None,
            trial=trial.key,
            value=figure.value,
            low=figure.low,
            high=figure.high,
            session_values=tuple(values) if all(0 < each < NOTHING_REACHES for each in values) else (),
            to_previous=None,
            to_baseline=None,
            facts={
                fact if subject == "experiment" else f"{subject} {fact}": text
                for (subject, fact), text in conditions.items()
            },
        )
        yield (
            (trial_identity(summary, target), of.name, figure.of_what),
            TrialSeries(
                metric=of.name,
                unit=of.unit,
                better=of.better,
                target=summary.swept_target,
                variant=trial.variant,
                batch=trial.batch,
                concurrency=trial.concurrency,
                settings=summary.settings,
                scope=figure.scope,
                scene=experiment.scene_of(trial).name,
                results=(point,),
            ),
        )


class Followed(NamedTuple):
    """A trial's figure in a series.

    Attributes:
        value: above 0, with the ends of its interval, where it has them.
        scope: what the meter covers; empty for a metric without one.
        of_what: what two trials of a series share, besides identity and metric.
    """

    value: float
    low: float | None
    high: float | None
    scope: str
    of_what: tuple[Hashable, ...]


def followed(
    metric: Metric, summary: TrialSummary, experiment: ExperimentRecord, trial: TrialRecord
) -> Followed | None:
    """The figure by which a history follows a trial; None where it has none."""
    figure = _figure(metric, summary)
    if figure is None:
        return None
    scene, rail = experiment.scene_of(trial), summary.primary_rail
    # Power and energy of a board are not those of its chip.
    scope = rail.scope if metric.rail and rail is not None else ""
    of_images = metric.comparison in (ByImages("images"), ByArea())
    images = experiment.images_of(trial) if of_images else None
    # What else a comparison would list as different makes another series.
    return Followed(*figure, scope, (scope, scene.sha256, trial.patches, images and images.sha256))


def _figure(metric: Metric, trial: TrialSummary) -> tuple[float, float | None, float | None] | None:
    """A metric of a trial with the ends of its interval; None where it is missing, or not above 0."""
    value = figure_of(metric, trial)
    if value is None or not 0 < value < NOTHING_REACHES:
        return None
    low, high = (getattr(metric.value(trial), end, None) for end in ("low", "high"))
    if low is None or high is None or not 0 <= low <= value <= high < NOTHING_REACHES:
        return value, None, None
    return value, low, high


def _series(members: Sequence[TrialSeries], baseline: str | None, minimum_effect: float) -> TrialSeries:
    """The series of one trial in several results, oldest first."""
    newest = members[-1]
    lower_is_better = newest.better == "lower"
    points = [point for member in members for point in member.results]
    reference = next((point for point in points if point.result == baseline), points[0])

    def against(point: HistoryPoint, other: HistoryPoint) -> Comparison | None:
        if point is other:
            return None
        sides = other.session_values, point.session_values
        if all(sides):
            return compare(*sides, lower_is_better=lower_is_better, minimum_effect=minimum_effect)
        ratio = point.value / other.value
        word: Word = "same" if ratio == 1 else "undecided"
        reason = "it has no value a session that a test could be made of"
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
    """The targets that results have, each once, without the settings of a sweep."""
    return list(dict.fromkeys(target for result in results for target in result.indexed.overview.targets))
