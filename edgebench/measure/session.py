"""One session of one trial, from a fresh process to all that the store keeps of it."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from edgebench.contract import Device, Session
from edgebench.errors import (
    EdgeBenchError,
    SessionError,
)
from edgebench.link.host_lag import bursts_for
from edgebench.link.host_probes import HostProbes
from edgebench.link.session_faults import Explain, unexplained
from edgebench.measure import golden
from edgebench.measure.session_gathering import (
    Gathered,
    require_as_planned,
    session_tables_of,
    take_in,
    timed_on_device,
)
from edgebench.measure.session_job import Job, Measured
from edgebench.measure.session_record import bare_record, session_failure, session_record, unknown_fault
from edgebench.measure.session_samples import SessionSamples
from edgebench.measure.session_watch import SessionWatch
from edgebench.measure.signals import held_interrupt
from edgebench.plan.estimate import Shape
from edgebench.session_stages import BUILD
from edgebench.stats.clock import ClockFit
from edgebench.store.file_writing import as_stored_result_error
from edgebench.store.records import Failure, SessionStatus, SessionTables
from edgebench.vocabulary.passes import Pass, Window
from edgebench.vocabulary.session_facts import SessionFacts
from edgebench.vocabulary.values import Scores

NO_METER = ""
"""Among the reasons of meters: why there is none at all."""
SPARE_MEASUREMENTS = 100
"""Passes or windows beside the steady ones and the warm-up's that are still taken for a device's own way."""
SPARE_TIMES = 10
"""How many times what it has to last a worker's steady part may go on: workers wait for the slowest."""


def measure_session(
    device: Device,
    job: Job,
    describe: dict[str, Any],
    watch: SessionWatch | None = None,
    explain: Explain = unexplained,
    host_probes: HostProbes | None = None,
    folder: Path | None = None,
) -> Measured:
    """Run one session; a failure or Ctrl-C becomes the record's status, with all that was measured.

    Args:
        device: that is measured.
        job: what the session is asked to do.
        describe: the device's facts.
        watch: follows how far it is.
        explain: the backend's words for a failure.
        host_probes: what samples on this machine.
        folder: where its samples go as they come, on the disk of the results; None for a temporary one, which
            lasts as long as what is returned.

    StoredResultError where the disk does not take the samples.
    """
    watch = watch or SessionWatch(Shape(job.plan.scene.patches, job.plan.passes))
    host_probes = host_probes or HostProbes()
    samples = SessionSamples(folder)
    metering = host_probes.begin_session((*job.host_meters, *job.host_monitors), samples.of_host)
    settings = replace(
        job.settings,
        report=watch.report,
        patch_took=watch.patch_took,
        take_samples=samples.take,
        host_metering=metering,
        bursts=bursts_for(host_probes.state().probes),
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
            watch.report(BUILD if watch.shape.builds else "load", 0, 0)
            with device.session(job.artifact, settings) as session:
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
                    _add_host_samples(gathered, job, host_probes)
            finally:
                # Also for a session that ended early, or is interrupted while it waits for the host's probes;
                # it may itself find that the device sent nonsense. Samples of an hour take it a minute, which
                # no second Ctrl-C is to cut short.
                with held_interrupt():
                    measured_tables = session_tables_of(gathered, job.plan)
    except SessionError as error:
        status, failure = session_failure(error, explain)
    except KeyboardInterrupt:
        status = "interrupted"
        failure = Failure(what="interrupted by the user", stage=gathered.stage)
    except EdgeBenchError:
        raise
    except Exception as error:
        status, failure = "error", unknown_fault(error, gathered.stage)
    duration_s = time.perf_counter() - clock_s
    try:
        record = session_record(job, gathered, describe, status, failure, started, duration_s)
    except Exception as error:
        # What was measured is sound; what the device, or its backend, says of it is no record.
        record = bare_record(job, unknown_fault(error, "stop"), started, duration_s)
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


def _drive(session: Session, job: Job, gathered: Gathered, watch: SessionWatch) -> None:
    """Golden check, passes, accuracy: in this order, each kept as soon as it is there."""
    gathered.stage = "golden"
    scores = session.golden()
    for worker_scores in _by_worker(scores, job):
        gathered.checks.append(golden.compare(worker_scores, job.artifact.golden, job.settings.options))
    for check in gathered.checks:
        golden.require(check)
    gathered.stage = "measure"
    # Ctrl-C between two passes leaves the generator suspended: unless it is closed here, the facts are asked
    # for before the clock's last edge is taken and the probes have given their last samples.
    with closing(_closable(session.measure(job.plan))) as measurements:
        for count, measurement in enumerate(measurements, 1):
            _require_due(count, gathered, job)
            take_in(measurement, gathered, job.plan.scene.patches, job.settings.workers)
            gathered.samples.take_all(session.probe_chunks())
            if isinstance(measurement, Window) or measurement.worker == 0:
                watch.arrived(measurement)  # the others are as far, give or take a pass
    require_as_planned(gathered, job.plan)
    if job.plan.images is not None:
        gathered.stage = "predict"
        with timed_on_device(gathered):
            gathered.image_scores = _by_worker(session.predict(job.plan.images), job)


def _require_due(count: int, gathered: Gathered, job: Job) -> None:
    """SessionError for more passes or windows than any device gives that was asked for so many steady ones.

    A sustained session has no number of them, nor has one that has to last until it has lasted long enough.
    """
    plan, workers = job.plan, job.settings.workers
    most = workers * (plan.passes + plan.warmup_cap + SPARE_MEASUREMENTS)
    has_lasted = gathered.steady_s >= workers * SPARE_TIMES * (plan.least_s or 0.0)
    if plan.sustained_s is None and count > most and has_lasted:
        raise SessionError(
            "the device goes on measuring without end",
            status="protocol_error",
            stage="measure",
            why=f"it gave more than {most} passes or windows, and {plan.passes} steady ones were asked for",
        )


def _by_worker(scores: Scores, job: Job) -> list[Scores]:
    """Scores that the workers gave one after the other, as one array each; SessionError for a part of one."""
    workers = job.settings.workers
    if len(scores) % workers:
        raise SessionError(
            f"the device gave {len(scores)} rows of scores for {workers} workers",
            status="protocol_error",
            stage="predict",
        )
    return np.split(scores, workers)


def _closable(measurements: Iterator[Pass | Window]) -> Generator[Pass | Window, None, None]:
    """Closes what it takes from, where that can be closed: a session may give its passes by any iterator."""
    yield from measurements
