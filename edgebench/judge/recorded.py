"""Stored sessions of a trial, and the parts of them that metrics read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.accuracy import (
    Predictions,
    among_highest,
    confusion_of,
    predictions_of,
    scored_of,
)
from edgebench.judge.cautions import Observed, board_doubts, observe, shares_accounted
from edgebench.judge.latency import (
    REQUEST_COLUMNS,
    SteadyPasses,
    SteadyRequests,
    images_together,
    omission_sentence,
    steady_passes,
    steady_requests,
    steady_windows,
    times_images,
    without_images,
)
from edgebench.judge.steady_time import SteadyTime, steady_times
from edgebench.judge.trial import EMULATED, UNPOOLED, Cached, Confusion
from edgebench.records.stored import (
    ExperimentRecord,
    ImagesRecord,
    SceneRecord,
    SessionRecord,
    TrialRecord,
    WorkerPlan,
)
from edgebench.records.target import Target
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported_target
from edgebench.results.rows import Rows
from edgebench.stats.auc import Floats
from edgebench.stats.intervals import MIN_SESSIONS


@dataclass(frozen=True, eq=False)
class Recorded(Cached):
    """Stored sessions and tables of one trial. Samples, scores and batches are read when needed.

    Attributes:
        sessions: records of all its sessions, failed ones too.
        confidence: confidence of its intervals.
        results: folder that it was read from.
        siblings: all trials of the experiment by key, this one among them.
    """

    experiment: ExperimentRecord
    trial: TrialRecord
    sessions: Sequence[SessionRecord]
    confidence: float
    results: StoredResults
    passes: Rows
    windows: Rows
    predicted: Rows
    read_probes: Callable[[], Rows]
    siblings: Mapping[str, Recorded] = field(repr=False)
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    # Sessions.

    @cached_property
    def ok(self) -> list[SessionRecord]:
        """Sessions that ended well."""
        return [record for record in self.sessions if record.status == "ok"]

    @cached_property
    def numbers(self) -> list[int]:
        """Numbers of the sessions that ended well."""
        return [record.n for record in self.ok]

    @cached_property
    def is_emulated(self) -> bool:
        """True if a finished session was emulated."""
        return any(record.emulated for record in self.ok)

    @cached_property
    def probes(self) -> Rows:
        """Samples of its probes, kept until `release_samples`."""
        return self.read_probes()

    def release_samples(self) -> None:
        """Forget the samples: rails and telemetry that were computed of them stay."""
        self.__dict__.pop("probes", None)

    @cached_property
    def observed(self) -> tuple[Observed, ...]:
        """Telemetry of each finished session."""
        return observe(self.ok, self.probes)

    @cached_property
    def calm(self) -> list[SessionRecord]:
        """Finished sessions that no other program disturbed."""
        pairs = zip(self.ok, self.observed, strict=True)
        return [record for record, seen in pairs if not seen.interfered]

    @property
    def has_undisturbed(self) -> bool:
        """True if some sessions were disturbed, and enough were not."""
        return MIN_SESSIONS <= len(self.calm) < len(self.ok)

    # Plan and target.

    @cached_property
    def scene(self) -> SceneRecord:
        """Scene of its passes."""
        return self.experiment.scene_of(self.trial)

    @cached_property
    def target(self) -> Target | None:
        """Target of the trial; None where the experiment does not have it."""
        targets = self.experiment.targets
        return next((target for target in targets if target.name == self.trial.target), None)

    @cached_property
    def shown_target(self) -> Target | None:
        """Target without private fields."""
        return exported_target(self.target) if self.target else None

    @cached_property
    def board_doubts(self) -> dict[str, str]:
        """Causes why a declared number may be another machine's, by metric."""
        return board_doubts(self.target, self.ok)

    # Workers.

    @cached_property
    def workers(self) -> tuple[int, ...]:
        """Numbers of the workers of its finished sessions; 0 of a lone one that nothing names."""
        recorded = {worker_number(worker) for record in self.ok for worker in record.workers}
        in_tables = {
            int(number)
            for table in (self.passes, self.windows)
            for number in np.unique(table.whole("worker")[np.isin(table.whole("session"), self.numbers)])
        }
        return tuple(sorted(recorded | in_tables | {0}))

    @property
    def is_shared(self) -> bool:
        """True if several workers shared the device."""
        return len(self.workers) > 1

    @property
    def several_workers(self) -> tuple[int, ...]:
        """Numbers of its workers; empty of a lone one, whose estimates are the trial's."""
        return self.workers if self.is_shared else ()

    def plan_of(self, worker: int | None) -> WorkerPlan | None:
        """Variant that a worker loads; None where the trial's own is."""
        plans = self.trial.workers
        return plans[worker] if worker is not None and 0 <= worker < len(plans) else None

    def class_names(self, worker: int | None = None) -> tuple[str, ...]:
        """Classes of the artifact of the trial, or of a worker."""
        plan = self.plan_of(worker)
        return plan.class_names if plan else self.trial.class_names

    def rows_of(self, rows: Rows, worker: int | None) -> Rows:
        """Rows of a worker; without a number those of a lone one."""
        if worker is None:
            return rows.take(slice(0)) if self.is_shared else rows
        return rows.take(rows.whole("worker") == worker)

    def entries(self, worker: int) -> list[Mapping[str, Any]]:
        """Records of a worker in the finished sessions."""
        return [entry for record in self.ok for entry in record.workers if worker_number(entry) == worker]

    # Passes, windows and requests.

    @cached_property
    def untimed_stages(self) -> tuple[str, ...]:
        """Stages of an image that the passes of one of its finished sessions do not hold."""
        return tuple(dict.fromkeys(stage for record in self.ok for stage in record.untimed_stages))

    def steady(self, worker: int | None = None) -> SteadyPasses:
        """Steady passes, or windows, of a lone worker or a numbered one; without seconds where emulated."""
        return self.once(("steady", worker), lambda: self._steady_of(worker))

    def _steady_of(self, worker: int | None) -> SteadyPasses:
        patches = self.scene.patches
        steady = steady_passes(self.rows_of(self.passes, worker), self.numbers, patches)
        if not steady.image_s:
            windows = steady_windows(self.rows_of(self.windows, worker), self.numbers, patches)
            steady = windows if windows.infer_s else steady
        counts = [record.measured_patches for record in self.ok if record.measured_patches is not None]
        if counts and steady.measured_patches is not None:
            # The rows of a device that scales up by itself are of the whole scene.
            fewest = min(steady.measured_patches, *counts)
            count = max(steady.extrapolated, steady.count if min(counts) < patches else 0)
            scaled = patches / fewest if steady.unit == "passes" else 1.0
            share = max(steady.clock_share, scaled)
            steady = replace(steady, measured_patches=fewest, extrapolated=count, clock_share=share)
        if steady.unit == "passes" and not times_images(self.untimed_stages):
            steady = without_images(steady)
        if self.is_emulated:
            measured, instructions = steady.measured_patches, steady.instructions
            return SteadyPasses(measured_patches=measured, unit=steady.unit, instructions=instructions)
        return steady

    @cached_property
    def measured_patches(self) -> int | None:
        """Fewest patches of the scene that a steady pass covered; None without a pass."""
        workers = self.several_workers or (None,)
        counts = [self.steady(worker).measured_patches for worker in workers]
        return min((count for count in counts if count is not None), default=None)

    def ticks(self, worker: int | None = None) -> dict[str, float]:
        """One tick of the coarsest session's clock, by metric in its unit; 0 where none is known.

        Of several workers together that of the one whose passes are scaled up most.
        """
        tick_s = max((record.tick_ns or 0 for record in self.ok), default=0) / 1e9
        workers = self.several_workers if worker is None and self.is_shared else (worker,)
        image_s = tick_s * max(self.steady(number).clock_share for number in workers)
        per_session = dict.fromkeys(("load_s", "start_s"), tick_s)
        return {"image_s": image_s, "infer_s": image_s, "request_ms": 1e3 * tick_s, **per_session}

    def requests(self, worker: int | None = None) -> SteadyRequests:
        """Requests of a lone worker, or of a numbered one, where the device has several in flight."""
        is_queued = self.trial.concurrency > 1 and self.ok and not self.is_emulated
        if not is_queued or (worker is None and self.is_shared):
            return SteadyRequests()
        batches = self.results.rows("batches", REQUEST_COLUMNS, [self.trial.key])
        batches, passes = self.rows_of(batches, worker), self.rows_of(self.passes, worker)
        return steady_requests(batches, passes, self.numbers, self.trial.key, self.trial.concurrency)

    @cached_property
    def steady_times(self) -> dict[int, SteadyTime]:
        """Steady time of each finished session, with its images; of several workers that when all ran."""
        steady = self.steady()
        rows = self.windows if steady.unit == "windows" else self.passes
        rows = rows if self.experiment.period_s is not None else self.rows_of(rows, None)
        times = steady_times(self.ok, rows, steady.images)
        if not self.is_shared:
            return times
        common_ns = {number: (time.start_ns, time.end_ns) for number, time in times.items()}
        images = images_together(self.passes, common_ns, self.scene.patches)
        return {number: replace(time, images=images[number]) for number, time in times.items()}

    # Session records.

    def cold(self, name: str) -> tuple[float, ...]:
        """Time that is taken once a session, of the sessions that have it; empty where emulated."""
        times = (record.cold.get(name) for record in self.ok if not self.is_emulated)
        return tuple(value for value in times if value is not None and math.isfinite(value))

    def worker_numbers(self, worker: int, group: str, name: str) -> tuple[float, ...]:
        """Number in a group of a worker's records, such as its peak memory, of the sessions that have it."""
        groups = (entry.get(group) for entry in self.entries(worker))
        numbers = (values.get(name) for values in groups if isinstance(values, Mapping))
        return tuple(
            float(number) for number in numbers if isinstance(number, int | float) and math.isfinite(number)
        )

    @property
    def stamp_doubt(self) -> str:
        """Cause why its stamps are too short to pass a limit; empty where they account for the time."""
        if not (short := shares_accounted(self.ok)):
            return ""
        return (
            f"the stamps of {len(short)} of {len(self.ok)} sessions account for {min(short):.0%} or more of "
            "the time that the device was waited for: the true times are longer"
        )

    # Reasons of missing numbers.

    @property
    def unpooled_reason(self) -> str:
        """Reason why a trial of several workers has no estimate of its own; empty for a lone worker."""
        count = len(self.several_workers)
        return f"{count} workers shared the device, and their figures are {UNPOOLED}" if count else ""

    @property
    def untimed_reason(self) -> str:
        """Reason why a measured trial has no `image_s`; empty where its sessions alone say so."""
        if self.is_emulated:
            return EMULATED
        steady = self.steady()
        if steady.image_s or not steady.infer_s:
            return ""
        if not self.untimed_stages:
            return "measured in windows of one resident patch: no pass over the scene was timed"
        return f"the device times inference alone, without {omission_sentence(self.untimed_stages)}"

    @property
    def was_measured(self) -> bool:
        """True if the trial has a latency, or was emulated."""
        return bool(self.steady().latency_s) or self.is_emulated

    def measured_reason(self, reason: str) -> str:
        """Reason why a measured trial lacks a number; empty, for its status, where it was not measured."""
        return reason if self.was_measured else self.unpooled_reason

    # Predictions.

    @property
    def tested(self) -> ImagesRecord | None:
        """Images that it was tested with; None without any."""
        return self.experiment.images_of(self.trial)

    @property
    def detects_anomalies(self) -> bool:
        """True if it was tested as an anomaly detector."""
        return self.tested is not None and self.tested.task != "classes"

    def predictions(self, images: str, worker: int | None = None) -> Predictions | None:
        """Predictions of "images" or "scene" by a lone worker, or by a numbered one; None without any."""
        return self.once(("predictions", images, worker), lambda: self._predictions(images, worker))

    def _predictions(self, images: str, worker: int | None) -> Predictions | None:
        if images == "images" and self.detects_anomalies:
            return None
        source = self.tested if images == "images" else self.scene
        labelled_as, rows = source.class_names if source else (), self.rows_of(self.predicted, worker)
        return predictions_of(rows, images, self.numbers, labelled_as, self.class_names(worker))

    def confusion(self, images: Literal["images", "scene"], worker: int | None = None) -> Confusion | None:
        """Counts of the labelled set by class; None without usable labels and predictions."""
        return self.once(("confusion", images, worker), lambda: self._confusion(images, worker))

    def _confusion(self, images: Literal["images", "scene"], worker: int | None) -> Confusion | None:
        predictions = self.predictions(images, worker)
        is_tested = images == "scene" or (self.tested and not self.trial.accuracy_reason)
        if predictions is None or not is_tested:
            return None
        return confusion_of(predictions, self.class_names(worker), images, worker)

    def among_highest(self, count: int, worker: int | None = None) -> NDArray[np.bool_] | None:
        """Labelled images whose label is among the highest scores, read from disk; None without scores."""
        columns = ["worker", "set", "index", "label", "predicted", "scores"]
        rows = self.rows_of(self.results.rows("predictions", columns, [self.trial.key]), worker)
        labelled_as = self.tested.class_names if self.tested else ()
        return among_highest(rows, self.numbers, labelled_as, self.class_names(worker), count)

    @cached_property
    def anomaly_scores(self) -> tuple[Floats, Floats] | None:
        """Scores of normal and anomalous samples of a lone anomaly detector; None without both."""
        is_judged = self.detects_anomalies and not self.is_shared
        return scored_of(self.results, self.trial.key, self.numbers) if is_judged else None


def worker_number(worker: Mapping[str, Any]) -> int:
    """Number of a worker's record; 0 where it has none."""
    number = worker.get("worker")
    return number if isinstance(number, int) else 0


def recorded_trials(results: StoredResults, confidence: float) -> dict[str, Recorded]:
    """Stored sessions of every planned trial by key, in the plan's order."""
    experiment = results.experiment
    passes, windows, probes = map(results.rows_of_trials, ("passes", "windows", "probes"))
    # Scores are most of the table and are read where a metric needs them.
    predicted = results.rows_of_trials("predictions", ["worker", "set", "index", "label", "predicted"])
    trials: dict[str, Recorded] = {}
    for trial in experiment.trials:
        sessions, probes_of_trial = results.session_records(trial.key), partial(probes, trial.key)
        tables = (passes(trial.key), windows(trial.key), predicted(trial.key), probes_of_trial)
        trials[trial.key] = Recorded(experiment, trial, sessions, confidence, results, *tables, trials)
    return trials


def undisturbed_trials(trials: Mapping[str, Recorded]) -> dict[str, Recorded]:
    """The same trials without the sessions that other programs disturbed, where enough are left."""
    calm: dict[str, Recorded] = {}
    for key, recorded in trials.items():
        sessions = recorded.calm if recorded.has_undisturbed else recorded.sessions
        calm[key] = replace(recorded, sessions=sessions, siblings=calm, cache={})
    return calm
