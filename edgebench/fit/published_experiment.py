"""The published figures as an experiment that can be judged: every trial of it is marked published."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edgebench.fit.judged_experiment import Judged
from edgebench.fit.profile import Profile, shipped_profiles
from edgebench.fit.published import PUBLISHED, Published
from edgebench.fit.reference import (
    BOUNDS,
    SCENE_PATCHES,
    FigureEntry,
    Reference,
    Source,
    TrialEntry,
    load_references,
    reference_folder,
)
from edgebench.fit.trial_marks import mark_of, timed_with
from edgebench.fit.trial_summary import Accuracy, TrialSummary
from edgebench.fit.verdict import judge_all
from edgebench.stats.interval import Interval
from edgebench.stats.proportion import wilson
from edgebench.store.load import StoredResults
from edgebench.store.records import ExperimentRecord, SceneRecord, TargetRecord, TrialRecord
from edgebench.version import __version__

_SIDE, _ROWS, _PATCH = 4512, 20, 224
_SCENE = SceneRecord(
    name="the study's picture",
    sha256="",
    height=_SIDE,
    width=_SIDE,
    patch=_PATCH,
    rows=_ROWS,
    columns=SCENE_PATCHES // _ROWS,
)


def judge_published(profiles: Sequence[Profile] | None = None, folder: Path | None = None) -> Judged:
    """The published figures of a folder, of those that come with EdgeBench without one, and their verdicts.

    Without `profiles` by all that are shipped. UsageError as `edgebench.fit.reference.load_references`.
    """
    folder = folder or reference_folder()
    references = load_references(folder)
    profiles = shipped_profiles() if profiles is None else list(profiles)
    entries = [(reference, trial) for reference in references for trial in reference.trials]
    summaries = [_summary(reference, trial) for reference, trial in entries]
    record = _experiment(references, profiles, [_trial(trial) for _, trial in entries])
    verdicts = judge_all(summaries, profiles)
    return Judged(StoredResults(folder, record), tuple(profiles), summaries, verdicts)


def _experiment(
    references: Sequence[Reference], profiles: Sequence[Profile], trials: Sequence[TrialRecord]
) -> ExperimentRecord:
    targets = {
        trial.target: TargetRecord(name=trial.target, device=PUBLISHED, body=trial.device)
        for reference in references
        for trial in reference.trials
    }
    return ExperimentRecord(
        name="reference",
        created_utc="",
        edgebench_version=__version__,
        command=("edgebench", "fit", "--reference"),
        seed=0,
        sessions=1,
        passes=1,
        scene=_SCENE,
        targets=tuple(targets.values()),
        trials=tuple(trials),
        profiles=tuple(profile.as_record() for profile in profiles),
        warnings=("every figure was published by others, as its source says; none was measured here",),
    )


def _key(entry: TrialEntry) -> str:
    return hashlib.sha256(json.dumps([PUBLISHED, *entry.identity]).encode()).hexdigest()[:16]


def _trial(entry: TrialEntry) -> TrialRecord:
    return TrialRecord(
        key=_key(entry),
        target=entry.target,
        variant=entry.variant,
        depth_multiplier=entry.depth_multiplier,
        precision=entry.precision,
        batch=entry.batch,
        inputs={"settings": {"concurrency": entry.concurrency}},
        mark=PUBLISHED,
    )


def _summary(reference: Reference, entry: TrialEntry) -> TrialSummary:
    figures = {
        figure.quantity: published(figure, reference.sources[figure.source]) for figure in entry.figures
    }
    patches = min((figure.patches or SCENE_PATCHES for figure in entry.figures), default=SCENE_PATCHES)
    extrapolated = patches < SCENE_PATCHES
    trial = _trial(entry)
    summary = TrialSummary(
        key=trial.key,
        target=entry.target,
        variant=entry.variant,
        depth_multiplier=entry.depth_multiplier,
        precision=entry.precision,
        batch=entry.batch,
        status="done",
        reason="",
        image_s=_time(figures.get("image_s")),
        infer_s=_time(figures.get("infer_s")),
        stages_ms={},
        cold={},
        accuracy=_accuracy(figures.get("accuracy")),
        accuracy_reason="",
        scene_accuracy=None,
        agreement=None,
        power=None,
        power_reason="no meter: what was published of power stands in the verdicts",
        memory_bytes=None,
        artifact_bytes=None,
        mass_g=None,
        size_mm=None,
        workers=({"worker": 0},),
        timed=timed_with(_SCENE),
        mark=mark_of(trial, (), (), extrapolated=extrapolated),
        scene_covered=_SCENE.covered,
        concurrency=entry.concurrency,
        measured_patches=patches if extrapolated else None,
        extrapolated=extrapolated,
        published=tuple(figures.values()),
    )
    return replace(summary, accuracy_reason="" if summary.accuracy else summary.unpublished("accuracy"))


def published(entry: FigureEntry, source: Source) -> Published:
    """A figure of a file, in its quantity's base unit; a time of some patches as that of the scene."""
    value, low, high = None, None, None
    scaled = SCENE_PATCHES / entry.patches if entry.patches else 1
    if entry.value is not None:
        value = entry.value * entry.scale * scaled
    elif entry.k is not None and entry.n is not None:
        value, (low, high) = entry.k / entry.n, wilson(entry.k, entry.n)
    elif entry.bound:
        end = getattr(entry, entry.bound) * entry.scale
        low, high = (end, None) if entry.bound in ("above", "at_least") else (None, end)
    return Published(
        quantity=entry.quantity,
        statistic=entry.metric.statistics[0],
        source=source.title,
        value=value,
        low=low,
        high=high,
        bound=BOUNDS[entry.bound] if entry.bound else "",
        k=entry.k,
        n=entry.n,
        words=entry.words,
        covers=entry.covers,
        scaled=scaled,
    )


def _time(figure: Published | None) -> Interval | None:
    """A time as the tables have it: of no session, and without an interval."""
    if figure is None or figure.value is None:
        return None
    return Interval(figure.value, None, None, sessions=0, n=0)


def _accuracy(figure: Published | None) -> Accuracy | None:
    if figure is None or figure.k is None or figure.n is None or figure.low is None or figure.high is None:
        return None
    return Accuracy(figure.k, figure.n, figure.low, figure.high)
