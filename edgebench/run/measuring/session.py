"""One session of one trial, from a fresh process to all that the store keeps of it."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edgebench.contract import Device, Session
from edgebench.errors import EdgeBenchError, SessionError
from edgebench.interruption import held_interrupt
from edgebench.link.failures import Explain, unexplained
from edgebench.link.host_lag import bursts_for, response_of, settle_s
from edgebench.link.host_probes import HostProbes
from edgebench.prepare.samples import anomaly_scores
from edgebench.records.model import Golden, OutputTolerance
from edgebench.records.session import MeasurePlan, Pass, SessionFacts, Window
from edgebench.records.stored import Failure, GoldenCheck, SessionStatus, SessionTables
from edgebench.records.values import Json, Scores
from edgebench.results.tables import require_finite_scores
from edgebench.results.writing import as_stored_result_error
from edgebench.run.forecast import SessionTimes
from edgebench.run.measuring.progress import SessionLatency
from edgebench.run.measuring.session_record import (
    Gathered,
    Job,
    Measured,
    SessionSamples,
    bare_record,
    failure_of,
    protocol_error,
    require_as_planned,
    session_record,
    session_tables_of,
    take_in,
)
from edgebench.session_stages import BUILD, IDLE, IMAGES, SENDING
from edgebench.stats.clock import ClockFit

# One session as it goes on: its stage, the time left, and its times once it has ended.


SLACK_S = 0.1
"""How long before the next paced pass there is still time to say that one has ended."""


class SessionWatch:
    """Follows a session by the stages that it reports and the passes that arrive.

    Args:
        plan: of the session.
        expected_s: seconds of such a session; infinite if not known.
        moved: called whenever there is something new, with whether a stage begins; never from a timed region.
        clock: seconds on a clock that never steps.
        target: the name of what is measured.
        builds: whether the device first builds what it loads, unless that lies there from before.
        windows: whether the device gives windows of one patch instead of passes.
    """

    def __init__(
        self,
        plan: MeasurePlan,
        expected_s: float = math.inf,
        moved: Callable[..., None] = lambda *, begins: None,
        clock: Callable[[], float] = time.perf_counter,
        target: str = "the board",
        *,
        builds: bool = False,
        windows: bool = False,
    ) -> None:
        self.builds = builds
        self.text = ""
        self.once_s = self.images_s = 0.0
        self._plan = plan
        self._expected_s = expected_s
        self._moved = moved
        self._clock = clock
        self._began_s = self._stage_began_s = clock()
        self._target = target
        self._windows = windows
        self._stage = ""
        self._steady_s: dict[int, list[float]] = {}  # seconds per scene, by worker

    # --- events of the session ---

    def report(self, stage: str, done: int, steps: int) -> None:
        """A stage begins or goes on: one of STAGES, or one in which files are sent.

        BUILD may be followed by what is being built.
        """
        name, _, detail = stage.partition(": ") if stage.startswith(BUILD) else (stage, "", "")
        begins = name != self._stage
        if begins:
            self._change_to(name)
        if name == BUILD:
            name = f"building on {self._target}: {detail or 'starting'}"
        unit = "window" if self._windows else "pass"
        self.text = _words(name.replace("first pass", f"first {unit}"), done, steps, unit)
        self._moved(begins=begins)

    def arrived(self, measurement: Pass | Window) -> None:
        """Take in a pass, the warm-up's batches, or a window; only steady ones move the text."""
        if measurement.phase != "steady":
            return
        worker = 0 if isinstance(measurement, Window) else measurement.worker
        scene_s = _scene_s(measurement, self._plan.scene.patches)
        self._steady_s.setdefault(worker, []).append(scene_s)
        if worker:
            return  # the others are as far, give or take a pass
        done = len(self._steady_s[0])
        unit = "window" if isinstance(measurement, Window) else "pass"
        if self._plan.sustained_s is None:
            passes = self._plan.passes
            if isinstance(measurement, Pass):
                passes = _expected_passes(statistics.fmean(self._steady_s[0]), self._plan)
            self.text = _words("passes", done, passes, unit, "about " * (passes > self._plan.passes))
        else:
            self.text = f"{unit} {done + 1}"
        lateness_ns = None if isinstance(measurement, Window) else measurement.lateness_ns
        # Nothing may delay a paced pass that is due already.
        if lateness_ns is None or lateness_ns < -SLACK_S * 1e9:
            self._moved(begins=False)

    # --- what is known by now ---

    @property
    def left_s(self) -> float:
        """Expected seconds of the session less the time that has passed; infinite if not known."""
        return max(0.0, self._expected_s - (self._clock() - self._began_s - self.once_s))

    @property
    def share(self) -> float:
        """Share of the session that is done, from 0 to 1; 0 while its duration is unknown."""
        if not 0.0 < self._expected_s < math.inf:
            return 0.0
        return 1.0 - min(self.left_s / self._expected_s, 1.0)

    @property
    def latency(self) -> SessionLatency | None:
        """Median of its steady passes or windows; None before the first."""
        medians_s = [statistics.median(values) for values in self._steady_s.values()]
        if not medians_s:
            return None
        quantity: Literal["image_s", "infer_s"] = "infer_s" if self._windows else "image_s"
        return SessionLatency(quantity, max(medians_s), len(medians_s))

    def times(self, took_s: float) -> SessionTimes:
        """Times of the session, which has just ended after `took_s` seconds."""
        session_s = max(0.0, took_s - self.once_s)
        accuracy_s = None if self._plan.images is None else session_s
        return SessionTimes(max(0.0, session_s - self.images_s), accuracy_s)

    def _change_to(self, stage: str) -> None:
        now_s = self._clock()
        if self._stage.startswith(SENDING) or self._stage == BUILD:
            self.once_s += now_s - self._stage_began_s
        if self._stage == IMAGES:
            self.images_s += now_s - self._stage_began_s
        self._stage_began_s = now_s
        self._stage = stage


def _expected_passes(pass_s: float, plan: MeasurePlan) -> int:
    """Number of steady passes of a session whose passes take so many seconds each."""
    cycle_s = max(pass_s, plan.period_s or 0.0)
    if not plan.least_s or cycle_s <= 0:
        return plan.passes
    return max(plan.passes, math.ceil(plan.least_s / cycle_s))


def _scene_s(measurement: Pass | Window, patches: int) -> float:
    """Seconds for a scene of `patches`, by a pass over all or some of them, or by a window."""
    if isinstance(measurement, Window):
        return measurement.scene_ns(patches) / 1e9
    covered = patches if measurement.scores is None else max(1, len(measurement.scores))
    return measurement.image_ns / 1e9 * patches / covered


def _words(stage: str, done: int, steps: int, unit: str = "pass", about: str = "") -> str:
    """A stage as a user reads it; of passes, windows and images, the one in hand."""
    if stage == "passes":
        return f"{unit} {min(done + 1, steps)} of {about}{steps}" if steps else f"{unit} {done + 1}"
    suffix = " MB" if stage.startswith(SENDING) else " s" if stage.startswith(IDLE) else ""
    return f"{stage} {done} of {steps}{suffix}" if steps else stage


# Outputs are checked before anything is timed: a device's golden scores against the artifact's.


NO_NUMBER = 1e9
"""Difference of a score that is no finite number."""


def compare(scores: Scores, golden: Golden, options: Mapping[str, Any]) -> GoldenCheck:
    """Compare `scores` float32 [g, classes] with the golden ones, output by output.

    The tolerance is 0 where one of the target's options is named in `golden.exact_with`. The class is
    compared on the n patches whose two best classes are further apart than the tolerance.
    """
    reference = np.asarray(golden.scores, dtype=np.float64)
    if scores.shape != reference.shape:
        raise SessionError(
            f"the device's scores have shape {list(scores.shape)}, the artifact's {list(reference.shape)}",
            status="golden_mismatch",
            stage="golden",
        )
    settings = {f"{name}={value}" for name, value in options.items()}
    is_exact = bool(settings & set(golden.exact_with))
    outputs = golden.outputs or (OutputTolerance(scores=reference.shape[1], tolerance=golden.tolerance),)
    difference = np.abs(scores.astype(np.float64) - reference)
    # A score that is not a number is as far away as can be.
    difference = np.nan_to_num(difference, nan=NO_NUMBER, posinf=NO_NUMBER)
    found: list[tuple[float, float]] = []
    start = unchecked = 0
    for output in outputs:
        columns = slice(start, start := start + output.scores)
        if output.tolerance is None:
            unchecked += 1
            found.append((0.0 if np.isfinite(scores[:, columns]).all() else NO_NUMBER, 0.0))
        else:
            furthest = float(difference[:, columns].max(initial=0.0))
            found.append((furthest, 0.0 if is_exact else output.tolerance))
    # The output with the largest excess stands for all.
    largest, tolerance = max(found, key=lambda pair: pair[0] - pair[1])
    # Of one row of scores: two classes nearer to each other than the tolerance may change places.
    has_classes = len(outputs) == 1 and not unchecked
    ordered = np.sort(reference, axis=1)
    clear = np.diff(ordered[:, -2:], axis=1).sum(axis=1) > tolerance
    clear &= has_classes
    equal = scores.argmax(axis=1) == reference.argmax(axis=1)
    return GoldenCheck(
        max_abs_diff=largest,
        tolerance=tolerance,
        top1_equal=int((equal & clear).sum()),
        n=int(clear.sum()),
        reference=golden.reference,
        unchecked=unchecked,
    )


def compare_twice(check: GoldenCheck, first: Scores, second: Scores) -> GoldenCheck:
    """The check of scores without a reference, with how far they are from those that came a second time."""
    if check.max_abs_diff > check.tolerance or first.shape != second.shape:
        return check.model_copy(update={"max_abs_diff": NO_NUMBER})
    difference = np.nan_to_num(np.abs(first - second), nan=NO_NUMBER, posinf=NO_NUMBER)
    return check.model_copy(update={"max_abs_diff": float(difference.max(initial=0.0))})


def require(check: GoldenCheck) -> None:
    """SessionError (`golden_mismatch`) when a device computes something else."""
    if check.max_abs_diff <= check.tolerance and check.top1_equal == check.n:
        return
    raise SessionError(
        "the device computes something else than the artifact's golden scores",
        status="golden_mismatch",
        stage="golden",
        why=(
            f"largest difference {check.max_abs_diff:.4g} (allowed {check.tolerance:.4g}), "
            f"same class on {check.top1_equal} of {check.n} clear patches; "
            f"reference: {check.reference or 'its own scores, a second time'}"
        ),
        fix="check the runtime's version and options; `edgebench models prepare` makes the artifact again",
    )


NO_METER = ""
"""Key among the reasons of meters: why there is no meter at all."""
SPARE_MEASUREMENTS = 100
"""Passes or windows besides the steady ones and the warm-up's that are still taken for a device's own way."""
SPARE_TIMES = 10
"""How many times what it has to last a worker's steady part may go on: workers wait for the slowest."""


@dataclass(frozen=True)
class LocalDevice:
    """A device that this process has open, whose sessions it measures.

    Args:
        device: that is measured.
        explain: its backend's words for a failure.
        host_probes: what samples on this machine; they outlive the device.
    """

    device: Device
    explain: Explain = unexplained
    host_probes: HostProbes = field(default_factory=HostProbes)

    @property
    def placement_cost(self) -> str:
        """Cost of placing an artifact: cheap, slow or manual."""
        return self.device.placement_cost

    def describe(self) -> dict[str, Json]:
        """The board's facts, asked for again each time."""
        return self.device.describe()

    def close(self) -> None:
        """End everything that was started on the device."""
        self.device.close()

    def measure(self, job: Job, watch: SessionWatch | None = None, folder: Path | None = None) -> Measured:
        """Run one session; a failure or Ctrl-C becomes the record's status, with all that was measured.

        Args:
            job: what the session is asked to do.
            watch: follows how far it is.
            folder: where its samples go as they come, on the disk of the results; None for a temporary one,
                which lasts as long as what is returned.

        StoredResultError where the disk does not take the samples.
        """
        facts = self.describe()
        watch = watch or SessionWatch(job.plan)
        samples = SessionSamples(folder)
        metering = self.host_probes.begin_session((*job.host_meters, *job.host_monitors), samples.of_host)
        probes = self.host_probes.state().probes
        settings = replace(
            job.settings,
            report=watch.report,
            take_samples=samples.take,
            host_metering=metering,
            bursts=bursts_for(probes),
            settle_s=settle_s(probes),
        )
        started = datetime.now(UTC)
        clock_s = time.perf_counter()
        gathered = Gathered(samples=samples)
        measured_tables = SessionTables()
        status: SessionStatus = "ok"
        failure: Failure | None = None
        session: Session | None = None
        try:
            try:
                watch.report(BUILD if watch.builds else "load", 0, 0)
                with self.device.session(job.artifact, settings) as session:
                    try:
                        _drive(session, job, gathered, watch)
                    finally:
                        gathered.facts = session.facts()
                        gathered.samples.take_all(session.probe_chunks())
            finally:
                if session is not None:
                    # Which of its processes outlive it is known when it has ended.
                    ended = session.facts()
                    gathered.facts = replace(gathered.facts or ended, warnings=ended.warnings)
                try:
                    if session is not None:
                        _add_host_samples(gathered, job, self.host_probes)
                        _add_responses(gathered)
                finally:
                    # Also for a session that ended early, or is interrupted while it waits for the host's
                    # probes; it may itself find that the device sent nonsense. Samples of an hour take it a
                    # minute, which no second Ctrl-C is to cut short.
                    with held_interrupt():
                        measured_tables = session_tables_of(gathered, job.plan)
        except (KeyboardInterrupt, Exception) as error:
            if isinstance(error, EdgeBenchError) and not isinstance(error, SessionError):
                raise
            status, failure = failure_of(error, gathered.stage, self.explain)
        duration_s = time.perf_counter() - clock_s
        try:
            record = session_record(job, gathered, facts, status, failure, started, duration_s)
        except Exception as error:
            # What was measured is sound; what the device, or its backend, says of it is no record.
            record = bare_record(job, failure_of(error, "stop")[1], started, duration_s)
        return Measured(record, measured_tables, status == "interrupted", samples)


def _add_host_samples(gathered: Gathered, job: Job, host_probes: HostProbes) -> None:
    """Put what the host's probes sampled to what the session's own did."""
    asked = (*job.host_meters, *job.host_monitors)
    if not asked:
        return
    facts = gathered.facts or SessionFacts()
    fit = facts.clock.get("fit")
    with as_stored_result_error(gathered.samples.folder):
        samples = host_probes.end_session(None if fit is None else ClockFit(**fit), facts.load_bursts)
    gathered.samples.add_host_samples(samples.chunks)
    meters = {
        name: why for name, why in facts.probe_reasons.items() if name != NO_METER or not job.host_meters
    }
    monitors = dict(facts.monitor_reasons)
    for name, reason in samples.reasons.items():
        (monitors if name in job.host_monitors else meters)[name] = reason
    gathered.facts = replace(
        facts, probes=(*facts.probes, *samples.probes), probe_reasons=meters, monitor_reasons=monitors
    )


def _add_responses(gathered: Gathered) -> None:
    """Put to each meter how long load stays in its readings."""
    facts = gathered.facts or SessionFacts()
    with as_stored_result_error(gathered.samples.folder):
        probes = tuple(
            replace(info, response=response_of(info, gathered.samples.chunks(info.name), facts.load_bursts))
            for info in facts.probes
        )
    gathered.facts = replace(facts, probes=probes)


def _drive(session: Session, job: Job, gathered: Gathered, watch: SessionWatch) -> None:
    """Golden check, passes, accuracy: in this order, each kept as soon as it is there."""
    gathered.stage = "golden"
    scores = session.golden()
    artifacts = (job.artifact, *job.settings.others)
    rows = [len(artifact.golden.scores) for artifact in artifacts]
    first = again = _by_worker(scores, rows, "golden")
    if not all(artifact.golden.reference for artifact in artifacts):
        again = _by_worker(session.golden(), rows, "golden")
    for artifact, once, twice in zip(artifacts, first, again, strict=True):
        check = compare(once, artifact.golden, job.settings.options)
        gathered.checks.append(check if check.reference else compare_twice(check, once, twice))
    for check in gathered.checks:
        require(check)
    gathered.stage = "measure"
    # Ctrl-C between two passes leaves the generator suspended: unless it is closed here, the facts are asked
    # for before the clock's last edge is taken and the probes have given their last samples.
    with closing(_closable(session.measure(job.plan))) as measurements:
        counts = Counter(dict.fromkeys(range(job.settings.workers), 0))
        for measurement in measurements:
            counts[0 if isinstance(measurement, Window) else measurement.worker] += 1
            _require_due(min(counts.values()), gathered, job)
            take_in(measurement, gathered, job.plan.scene.patches, job.settings.workers)
            gathered.samples.take_all(session.probe_chunks())
            watch.arrived(measurement)
    require_as_planned(gathered, job.plan)
    if job.plan.images is not None:
        gathered.stage = "predict"
        watch.report(IMAGES, 0, job.plan.images.n)
        start_s = time.perf_counter()
        try:
            scores = session.predict(job.plan.images)
        finally:
            gathered.device_s += time.perf_counter() - start_s
            watch.report("stopping", 0, 0)
        require_finite_scores(scores, "predict", "the images")
        gathered.image_scores = [
            anomaly_scores(job.plan.images, worker_scores, artifact.tensors)
            for artifact, worker_scores in zip(
                artifacts, _by_worker(scores, [job.plan.images.n] * len(artifacts), "predict"), strict=True
            )
        ]


def _require_due(count: int, gathered: Gathered, job: Job) -> None:
    """SessionError for more passes or windows than any device gives for the steady ones that were asked for.

    A sustained session has no number of them, nor has one that has to last until it has lasted long enough.
    Several workers go on until the last has its own: the one with the fewest counts.
    """
    plan, workers = job.plan, job.settings.workers
    most = plan.passes + plan.warmup_cap + SPARE_MEASUREMENTS
    has_lasted = gathered.steady_s >= workers * SPARE_TIMES * (plan.least_s or 0.0)
    if plan.sustained_s is None and count > most and has_lasted:
        raise protocol_error(
            "the device goes on measuring without end",
            f"it gave more than {most} passes or windows, and {plan.passes} steady ones were asked for",
        )


def _by_worker(scores: Scores, counts: Sequence[int], stage: str) -> list[Scores]:
    """Scores that several workers gave one after the other, one array each; SessionError for a part of one.

    `counts` are the rows of each. Those of a lone worker are left to whoever compares them.
    """
    if len(counts) == 1:
        return [scores]
    if len(scores) != sum(counts):
        raise protocol_error(
            f"the device gave {len(scores)} rows of scores, {sum(counts)} were due", stage=stage
        )
    return np.split(scores, np.cumsum(counts)[:-1])


def _closable(measurements: Iterator[Pass | Window]) -> Generator[Pass | Window, None, None]:
    """Closes what it takes from, where that can be closed: a session may give its passes by any iterator."""
    yield from measurements
