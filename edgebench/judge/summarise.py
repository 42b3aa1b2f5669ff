"""A trial summed up from its finished sessions: the figures that verdicts and reports are made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from edgebench.judge.accuracy import (
    Predictions,
    accuracy_of,
    against_fp32,
    predictions_of,
    scored_of,
)
from edgebench.judge.cautions import (
    board_doubts,
    cautions,
    observe,
    other_machine,
    shares_accounted,
    sustained_of,
)
from edgebench.judge.columns import document_fields
from edgebench.judge.latency import (
    REQUEST_COLUMNS,
    SteadyPasses,
    SteadyRequests,
    images_together,
    steady_passes,
    steady_requests,
    steady_windows,
    without_images,
)
from edgebench.judge.metrics.sharing import with_slowdowns
from edgebench.judge.power import of_all_workers, power_figures, power_reason, steady_times
from edgebench.judge.power_limits import with_power_doubts
from edgebench.judge.stopping import rule_of, with_end
from edgebench.judge.trial_summary import (
    EMULATED,
    Accuracy,
    FailedSessions,
    Paced,
    RocArea,
    Sharing,
    Throughput,
    TrialSummary,
    WorkerSummary,
    mark_of,
    planned_fields,
    timed_with,
    times_images,
)
from edgebench.records.stored import ExperimentRecord, SessionRecord, TrialRecord, WorkerPlan
from edgebench.records.target import Target
from edgebench.results.layout import SCHEMA_VERSION
from edgebench.results.listing import failure_text, status_of
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported_target
from edgebench.results.revisions import continuation
from edgebench.results.rows import Rows
from edgebench.stats.auc import Floats, area_of
from edgebench.stats.compare import wilson
from edgebench.stats.interval import Interval, tick_bounds
from edgebench.stats.intervals import MIN_SESSIONS, session_interval, session_medians, trial_median
from edgebench.stats.percentiles import misses


def failed_sessions(records: Sequence[SessionRecord]) -> FailedSessions | None:
    """How many sessions failed of those that came to an end by themselves; None where none did."""
    n = sum(record.status != "interrupted" for record in records)
    k = n - sum(record.status == "ok" for record in records)
    return FailedSessions(k, n, *wilson(k, n)) if n else None


def failure_sentence(record: SessionRecord) -> str:
    """Which session ended early, how, and what ended it."""
    stage = f" in {record.failure.stage}: {failure_text(record)}" if record.failure else ""
    return f"session {record.n:03}: {record.status}{stage}"


def _number(worker: Mapping[str, Any]) -> int:
    number = worker.get("worker")
    return number if isinstance(number, int) else 0


def _figures(workers: Sequence[Mapping[str, Any]], group: str, name: str) -> list[float]:
    """A figure of one worker, by session; those that were not recorded are left out."""
    values = [figures.get(name) for worker in workers if isinstance(figures := worker.get(group), Mapping)]
    return [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]


def _mean(values: Sequence[float]) -> float | None:
    return trial_median([[value] for value in values]) if values else None


COLD = ("import_s", "load_s", "first_inference_s", "first_pass_s")


def summarise(results: StoredResults) -> list[TrialSummary]:
    """One summary a planned trial, in the plan's order.

    Latency, memory, cold figures and power come from the sessions that ended well; those that failed are
    listed in `failures`. StoredResultError where a stored table is damaged.
    """
    experiment = results.experiment
    passes, windows, probes = map(results.rows_of_trials, ("passes", "windows", "probes"))
    # The scores are most of it and are not needed.
    predicted = results.rows_of_trials("predictions", ["worker", "set", "index", "label", "predicted"])
    rule = rule_of(experiment)
    parts = [
        _Part(
            experiment,
            rule.confidence,
            trial,
            results.session_records(trial.key),
            passes(trial.key),
            windows(trial.key),
            partial(probes, trial.key),
            predicted(trial.key),
            partial(scored_of, results, trial.key),
            partial(results.rows, "batches", REQUEST_COLUMNS, [trial.key]),
        )
        for trial in experiment.trials
    ]
    # Samples of meters are numpy's work, outside the interpreter's lock.
    is_metered = any(record.probes for part in parts for record in part.records)
    with ThreadPoolExecutor(2 if is_metered else 1) as pool:
        unended = with_slowdowns(with_power_doubts(list(pool.map(_Part.summary, parts))))
    # What contradicts a declared figure contradicts it in a disturbed session, too.
    calm = with_slowdowns([summary.undisturbed or summary for summary in unended])
    unended = [
        replace(summary, undisturbed=summary.undisturbed and replace(rest, power_doubts=summary.power_doubts))
        for summary, rest in zip(unended, calm, strict=True)
    ]
    summaries = [
        with_end(summary, part.records, rule, results.run)
        for summary, part in zip(unended, parts, strict=True)
    ]
    images = {part.trial.key: part.predictions("images") for part in parts}
    return against_fp32(summaries, experiment, images)


def summarise_one(results: StoredResults, key: str) -> TrialSummary:
    """The summary of one trial alone, without its agreement with another and its drop below it; reads no
    other trial but, of one with several workers, those of their variants alone.

    ValueError when it is no trial of the experiment, StoredResultError as `summarise`.
    """
    experiment = results.experiment
    wanted = next((trial for trial in experiment.trials if trial.key == key), None)
    if wanted is None:
        raise ValueError(f"not a trial of this experiment: {key[:100]!r}")
    alone = {worker.alone for worker in wanted.workers}
    trials = wanted, *(trial for trial in experiment.trials if trial.key in alone)
    return summarise(StoredResults(results.path, experiment.model_copy(update={"trials": trials})))[0]


_INTERNAL = (
    "cautions", "request_ms_values", "cold_values", "power_curves", "figures_of_values", "interfered",
    "undisturbed",
)  # fmt: skip


def trial_json(summary: TrialSummary) -> dict[str, Any]:
    """A summary as plain data, as trial.json keeps it: `schema_version`, the summary's fields and the metrics
    that are computed from them, with its cautions as sentences: `warnings`, and `said`.
    """
    fields = asdict(replace(summary, cautions=(), request_ms_values=(), power_curves=(), undisturbed=None))
    for name in _INTERNAL:
        del fields[name]
    return {
        "schema_version": SCHEMA_VERSION,
        **fields,
        **{name: value for name, value in document_fields(summary).items() if name not in fields},
        "warnings": summary.warnings,
        "said": summary.said,
    }


def paced_of(steady: SteadyPasses, period_s: float | None) -> Paced | None:
    """Deadlines of a trial's paced passes over all sessions; None where it was not paced or measured."""
    late_s = [late for session in steady.lateness_s for late in session]
    worst_s = max(late_s, default=None)
    if period_s is None or worst_s is None:
        return None
    by_session = tuple((misses(session), len(session)) for session in steady.lateness_s if session)
    return Paced(period_s, len(late_s), misses(late_s), worst_s, by_session)


@dataclass(frozen=True)
class _Part:
    """All that is on disk of one trial; its samples and batches, which are many, are read when needed."""

    experiment: ExperimentRecord
    confidence: float
    trial: TrialRecord
    records: Sequence[SessionRecord]
    passes: Rows
    windows: Rows
    read_probes: Callable[[], Rows]
    predicted: Rows
    read_scored: Callable[[Sequence[int]], tuple[Floats, Floats] | None]
    read_batches: Callable[[], Rows]

    @cached_property
    def ok(self) -> list[SessionRecord]:
        return [record for record in self.records if record.status == "ok"]

    @cached_property
    def emulated(self) -> bool:
        """Whether no device carried out one of its finished sessions."""
        return any(record.emulated for record in self.ok)

    def summary(self) -> TrialSummary:
        """Everything but the agreement and the accuracy drop, which take another trial."""
        trial, ok = self.trial, self.ok
        scene = self.experiment.scene_of(trial)
        steady, emulated = self._steady(), self.emulated
        of_each = [self._steady(worker) for worker in self.workers] if self.several else [steady]
        ticks = self._ticks(max(of_each, key=lambda each: each.clock_share))
        counts = [each.measured_patches for each in of_each if each.measured_patches is not None]
        measured_patches = min(counts, default=None)
        extrapolated = not emulated and min(counts, default=scene.patches) < scene.patches
        probes = self.read_probes()
        requests, observed = self._requests(), observe(ok, probes)
        calm = [record for record, seen in zip(ok, observed, strict=True) if not seen.interfered]
        status, reason = status_of(trial, self.records, self.experiment.sessions)
        if status in ("partial", "not_run") and (later := continuation(self.experiment, trial.target)):
            reason += f"; {later}"
        target = next(
            (candidate for candidate in self.experiment.targets if candidate.name == trial.target), None
        )
        shown = exported_target(target) if target else None
        doubts = board_doubts(target, ok)
        rows = self.windows if steady.unit == "windows" else self.passes
        is_paced = self.experiment.period_s is not None
        rows = rows if is_paced else self._of_worker(rows, None)
        times = steady_times(ok, rows, steady.images)
        together = {}
        if self.several:
            common_ns = {
                n: (int(time.spans_ns[0, 0]), int(time.spans_ns[-1, 1])) for n, time in times.items()
            }
            together = images_together(self.passes, common_ns, scene.patches)
            times = {n: replace(time, images=together.get(n, (0.0,))[0]) for n, time in times.items()}
        power = None if emulated else power_figures(ok, probes, times)
        if power and self.several:
            power = replace(power, figures=of_all_workers(power.figures))
        images = self.predictions("images")
        on_scene = self.predictions("scene")
        accuracy, area = self._accuracy(images, trial.class_names), self._area()
        built = next((record.built for record in ok if record.built), None)
        cold = {
            name: tuple(
                value
                for record in ok
                if (value := record.cold.get(name)) is not None and math.isfinite(value) and not emulated
            )
            for name in (*COLD, "start_s")
        }
        starts_s = cold.pop("start_s")
        memory = [int(peak) for record in ok if (peak := record.memory.get("peak_bytes")) is not None]
        return TrialSummary(
            **planned_fields(trial),
            status=status,
            reason=reason,
            image_s=self._interval(steady.image_s, ticks["image_s"]),
            infer_s=self._interval(steady.infer_s, ticks["infer_s"]),
            ticks=ticks if ticks["load_s"] else {},
            stages_ms=steady.stages_ms,
            cold={name: _mean(values) for name, values in cold.items()},
            accuracy=accuracy,
            accuracy_reason=""
            if accuracy
            else "an anomaly detector is judged by auc"
            if self.detects
            else self._accuracy_reason(images, reason),
            auc=area,
            auc_reason="" if area else self._area_reason(reason),
            scene_accuracy=accuracy_of(on_scene, trial.class_names, overlapping=False) if on_scene else None,
            agreement=None,
            power=power.figures if power else None,
            power_reason=EMULATED
            if emulated
            else self._power_reason(bool(power), reason, target.meters if target else ()),
            memory_bytes=round(_mean(memory) or 0) if memory else None,
            artifact_bytes=built.bytes if built else trial.artifact_bytes,
            mass_g=target.mass_g if target else None,
            size_mm=target.size_mm if target else None,
            board_doubts=doubts,
            body=target.body if target else "",
            other_machine=other_machine(target, ok),
            declared_power=shown.declared_power if shown else (),
            declared_sources=dict(shown.declared_sources) if shown else {},
            boot_s=shown.boot_s if shown else None,
            image_bytes=scene.image_bytes,
            update_bytes=trial.artifact_bytes,
            update_companions=tuple(trial.companions),
            image_s_values=steady.image_s,
            infer_s_values=steady.infer_s,
            request_ms=requests.latency,
            in_flight=requests.mean_in_flight,
            request_ms_values=requests.latency_ms,
            power_curves=power.curves if power else (),
            cold_values=cold,
            load_s_values=cold["load_s"],
            start_s=self._interval([[start_s] for start_s in starts_s], ticks["start_s"]),
            start_s_values=starts_s,
            memory_bytes_values=tuple(memory),
            workers=tuple(self._of_one(worker) for worker in self.workers)
            if self.several
            else next((record.workers for record in reversed(ok)), ()),
            sharing=self._sharing(together, target) if self.several else None,
            paced=paced_of(steady, self.experiment.period_s),
            sustained=sustained_of(steady, self.experiment.sustained_s, observed),
            interval_confidence=self.confidence,
            interfered=(len(ok) - len(calm), len(ok)),
            undisturbed=replace(replace(self, records=calm).summary(), status="done", reason="")
            if MIN_SESSIONS <= len(calm) < len(ok)
            else None,
            cautions=cautions(
                self.records,
                steady,
                observed,
                (accuracy.k, accuracy.n, len(accuracy.class_names)) if accuracy else None,
                doubts,
                len(self.workers),
                power.idle_drifts if power else (),
            ),
            timed=timed_with(scene),
            mark=mark_of(trial, ok, self.untimed_stages, extrapolated=extrapolated),
            built=built,
            scene_covered=scene.covered,
            settings=dict(shown.settings) if shown else {},
            measured_patches=measured_patches,
            untimed_stages=self.untimed_stages,
            extrapolated=extrapolated,
            emulated=emulated,
            instructions=trial_median(steady.instructions) if any(steady.instructions) else None,
            instructions_reason=self._instructions_reason(steady) if emulated else "",
            failed_sessions=failed_sessions(self.records),
            stamp_doubt=self._stamp_doubt(),
            failures=tuple(
                failure_sentence(record)
                for record in self.records
                if record.status not in ("ok", "interrupted")
            ),
        )

    def _steady(self, worker: int | None = None) -> SteadyPasses:
        """The steady passes, else the windows; without seconds where it was emulated.

        Those of several workers are none's: each, named by `worker`, is summed up on its own.
        """
        ok, patches = self.ok, self.experiment.scene_of(self.trial).patches
        sessions = [record.n for record in ok]
        steady = steady_passes(self._of_worker(self.passes, worker), sessions, patches)
        if not steady.image_s:
            windows = steady_windows(self._of_worker(self.windows, worker), sessions, patches)
            steady = windows if windows.infer_s else steady
        patch_counts = [record.measured_patches for record in ok if record.measured_patches is not None]
        if patch_counts and steady.measured_patches is not None:
            # A device that has scaled up by itself says so; its rows tell of the whole scene.
            fewest = min(steady.measured_patches, *patch_counts)
            count = max(steady.extrapolated, steady.count if min(patch_counts) < patches else 0)
            scaled = patches / fewest if steady.unit == "passes" else 1.0
            share = max(steady.clock_share, scaled)
            steady = replace(steady, measured_patches=fewest, extrapolated=count, clock_share=share)
        if steady.unit == "passes" and not times_images(self.untimed_stages):
            steady = without_images(steady)
        if self.emulated:  # nothing of it is a device's time
            patches_measured, counts = steady.measured_patches, steady.instructions
            return SteadyPasses(measured_patches=patches_measured, unit=steady.unit, instructions=counts)
        return steady

    def _requests(self, worker: int | None = None) -> SteadyRequests:
        """Those of a lone worker, or of the one that is named, where the device has several in flight."""
        is_queued = self.trial.concurrency > 1 and self.ok and not self.emulated
        if not is_queued or (worker is None and self.several):
            return SteadyRequests()
        return steady_requests(
            self._of_worker(self.read_batches(), worker),
            self._of_worker(self.passes, worker),
            [record.n for record in self.ok],
            self.trial.key,
            self.trial.concurrency,
        )

    def _of_worker(self, rows: Rows, worker: int | None) -> Rows:
        """The rows of a worker; without a name those of a lone one."""
        if worker is None:
            return rows.take(slice(0)) if self.several else rows
        return rows.take(rows.whole("worker") == worker)

    @cached_property
    def untimed_stages(self) -> tuple[str, ...]:
        """Stages of an image that the passes of one of its finished sessions do not hold."""
        return tuple(dict.fromkeys(stage for record in self.ok for stage in record.untimed_stages))

    @cached_property
    def workers(self) -> tuple[int, ...]:
        """The numbers of those that its finished sessions had; 0 of a lone one that nothing names."""
        recorded = {_number(worker) for record in self.ok for worker in record.workers}
        sessions = [record.n for record in self.ok]
        timed = {
            int(number)
            for table in (self.passes, self.windows)
            for number in np.unique(table.whole("worker")[np.isin(table.whole("session"), sessions)])
        }
        return tuple(sorted(recorded | timed | {0}))

    @property
    def several(self) -> bool:
        """Whether several workers shared the device."""
        return len(self.workers) > 1

    def _sharing(self, together: Mapping[int, tuple[float, float]], target: Target | None) -> Sharing:
        """The figures of all workers together; their slowdowns take other trials."""
        changed = ", ".join(target.differences) if target and target.revision_of else ""
        images_per_s = () if self.emulated else tuple(count / s for count, s in together.values() if count)
        peaks = [_figures(record.workers, "memory", "peak_bytes") for record in self.ok]
        whole = tuple(int(sum(each)) for each in peaks if len(each) == len(self.workers))
        rate = self._interval([[each] for each in images_per_s])
        return Sharing(
            share=self.trial.share or "",
            images_per_s=Throughput(**vars(rate)) if rate else None,
            together_bytes=round(_mean(whole) or 0) if whole else None,
            slowdown_reason=f"the device changed ({changed})" if changed else "",
            images_per_s_values=images_per_s,
            together_bytes_values=whole,
        )

    def _plan(self, worker: int) -> WorkerPlan | None:
        """What a worker loads; None where the trial's record does not say, as of one variant for all."""
        plans = self.trial.workers
        return plans[worker] if 0 <= worker < len(plans) else None

    def predictions(self, set_name: str, worker: int | None = None) -> Predictions | None:
        """The predictions of `images` or `scene`: of a lone worker, or of the one that is named."""
        if (worker is None and self.several) or (set_name == "images" and self.detects):
            return None
        rows = self.predicted if worker is None else self._of_worker(self.predicted, worker)
        experiment, trial = self.experiment, self.trial
        source = experiment.images_of(trial) if set_name == "images" else experiment.scene_of(trial)
        names = source.class_names if source else ()
        plan = None if worker is None else self._plan(worker)
        classes = plan.class_names if plan else trial.class_names
        return predictions_of(rows, set_name, [each.n for each in self.ok], names, classes)

    def _accuracy(self, images: Predictions | None, classes: Sequence[str]) -> Accuracy | None:
        tested = self.experiment.images_of(self.trial)
        if images is None or tested is None or self.trial.accuracy_reason:
            return None
        return accuracy_of(images, classes, overlapping=tested.overlapping)

    @property
    def detects(self) -> bool:
        """Whether it was tested as an anomaly detector."""
        tested = self.experiment.images_of(self.trial)
        return tested is not None and tested.task != "classes"

    def _area(self) -> RocArea | None:
        is_judged = self.detects and not self.several
        scored = self.read_scored([each.n for each in self.ok]) if is_judged else None
        return scored and RocArea(*area_of(*scored), len(scored[0]), len(scored[1]))

    def _area_reason(self, reason: str) -> str:
        return self._accuracy_reason(None, reason) if self.detects else TrialSummary.auc_reason

    def _of_one(self, worker: int) -> dict[str, Any]:
        """The figures of one of several workers as plain data.

        They are never pooled: what one of them took depends on what the others did meanwhile, and the median
        over all of their passes would be the latency of none.
        """
        steady, plan = self._steady(worker), self._plan(worker)
        requests = self._requests(worker)
        entries = [entry for each in self.ok for entry in each.workers if _number(entry) == worker]
        cores = next((entry.get("cores") for entry in reversed(entries)), None)
        figures = WorkerSummary(
            trial=self.trial.key,
            target=self.trial.target,
            worker=worker,
            variant=(plan or self.trial).variant,
            alone=plan.alone if plan else "",
            cores=tuple(core for core in cores if isinstance(core, int)) if isinstance(cores, list) else (),
            image_s=self._interval(steady.image_s, self._ticks(steady)["image_s"]),
            infer_s=self._interval(steady.infer_s, self._ticks(steady)["infer_s"]),
            request_ms=requests.latency,
            in_flight=requests.mean_in_flight,
            stages_ms=steady.stages_ms,
            load_s=None if self.emulated else _mean(_figures(entries, "cold", "load_s")),
            memory_bytes=_mean(_figures(entries, "memory", "peak_bytes")),
            accuracy=self._accuracy(self.predictions("images", worker), (plan or self.trial).class_names),
            warnings=tuple(caution.sentence() for caution in cautions((), steady)),
            medians_s=tuple(session_medians(steady.latency_s)),
        )
        return asdict(figures)

    def _interval(self, values: Sequence[Sequence[float]], tick: float = 0.0) -> Interval | None:
        if not values:
            return None
        interval = session_interval(values, self.confidence)
        low, high = tick_bounds(interval.median, interval.low, interval.high, tick)
        return replace(interval, low=low, high=high)

    def _ticks(self, steady: SteadyPasses) -> dict[str, float]:
        """One tick of the coarsest session's clock, by metric in its unit; 0 where none is known."""
        tick_s = max((record.tick_ns or 0 for record in self.ok), default=0) / 1e9
        image_s = tick_s * steady.clock_share
        once = dict.fromkeys(("load_s", "start_s"), tick_s)
        return {"image_s": image_s, "infer_s": image_s, "request_ms": 1e3 * tick_s, **once}

    def _accuracy_reason(self, images: Predictions | None, reason: str) -> str:
        trial, experiment = self.trial, self.experiment
        reasons = (
            (trial.accuracy_reason, trial.accuracy_reason),
            (
                experiment.images_of(trial) is None,
                trial.images_reason or experiment.images_reason or "no images were given",
            ),
            (images is not None, images.reason if images else ""),
            (self.several, f"{len(self.workers)} workers predicted them: each has an accuracy of its own"),
            (self.ok, "no finished session has predicted the images"),
        )
        return next((why for holds, why in reasons if holds), reason)

    def _stamp_doubt(self) -> str:
        """Why no limit is passed by its stamps; empty where they account for the time."""
        return (
            f"the stamps of {len(short)} of {len(self.ok)} sessions account for {min(short):.0%} or more of "
            "the time that the device was waited for: the true times are longer"
            if (short := shares_accounted(self.ok))
            else ""
        )

    def _instructions_reason(self, steady: SteadyPasses) -> str:
        """Why an emulated trial has no instructions; empty where it has."""
        if any(steady.instructions):
            return ""
        reasons = (record.instructions_reason for record in self.ok if record.emulated)
        return next(filter(None, reasons), "the emulator did not count them")

    def _power_reason(self, has_power: bool, reason: str, meters: Sequence[str]) -> str:
        meters_reason = power_reason(self.ok)
        if has_power or meters_reason or not self.ok:
            return meters_reason or ("" if has_power else reason)
        return "the meter gave nothing" if meters else "no meter"
