"""A meter of 100 kHz into the Parquet file of a session, with all its processes on one core."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq

from benchmarks.device import fast_meter
from benchmarks.row import Row
from edgebench import registry
from edgebench.link.host_probes import HostProbes
from edgebench.run.measuring.session_record import SessionSamples
from edgebench.stats.clock import ClockFit

NAME = "fast:"
SECONDS = 60.0
MOST_OF_A_CORE = 0.5


def rows() -> list[Row]:
    """The share of a core that sampler, agent and host take together, and the samples that are missing."""
    with tempfile.TemporaryDirectory() as folder, one_core():
        cpu_s, lost, details = _sampled(Path(folder))
    named = f"{fast_meter.RATE_HZ / 1000:.0f} kHz into Parquet on one core for {SECONDS:.0f} s"
    return [
        Row(f"{named}: share of the core", cpu_s / SECONDS, "cores", MOST_OF_A_CORE, None, details),
        Row(f"{named}: samples lost", float(lost), "samples", 0.0, None, details),
    ]


@contextmanager
def one_core() -> Iterator[None]:
    """One core for this process and for what it starts in the block."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _sampled(folder: Path) -> tuple[float, int, dict[str, Any]]:
    probes = HostProbes()
    began_cpu_s = _cpu_s()
    samples = SessionSamples(folder)
    with mock.patch.object(registry, "probe_module", return_value=fast_meter):
        probes.begin_session([NAME], samples.of_host)
    try:
        from_ns = time.monotonic_ns()
        time.sleep(SECONDS)
        to_ns = time.monotonic_ns()
        fit = ClockFit((from_ns + to_ns) // 2, 0, None, None, 1, from_ns, to_ns, 0, 2)
        of_host = probes.end_session(fit)
        heard_cpu_s = time.process_time()
        samples.add_host_samples(of_host.chunks)
        table = samples.table(of_host.probes)
        written_s = time.process_time() - heard_cpu_s
    finally:
        probes.close()
    cpu_s = _cpu_s() - began_cpu_s
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert table is not None, of_host.reasons
    file = pq.read_table(table.path, columns=["t_ns", "value"])
    t_ns, numbers = file["t_ns"].to_numpy(), file["value"].to_numpy()
    # Every stamp is that of its number: the meter began at the same moment by all of them.
    assert len(np.unique(t_ns - numbers.astype(np.int64) * fast_meter.STEP_NS)) == 1
    produced = (to_ns - from_ns) // fast_meter.STEP_NS
    steps = np.diff(numbers)
    late = {float(numbers[at]) / fast_meter.RATE_HZ: float(steps[at]) for at in np.flatnonzero(steps > 1)}
    lost = max(0, produced - len(numbers), int(numbers[-1] - numbers[0]) + 1 - len(numbers))
    size = table.path.stat().st_size
    return cpu_s, lost, {
        "samples": len(numbers),
        "file_bytes": size,
        "cpu_s": cpu_s,
        "cpu_s_of_the_table": written_s,
        "host_peak_mib": peak_mib,
        "lost_at_s": late,
    }  # fmt: skip


def _cpu_s() -> float:
    """Of this process and of those that it has seen end."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
