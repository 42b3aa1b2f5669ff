"""Coverage of the interval of net energy where a meter averages and holds its readings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa

from edgebench.judge.power.rails import power_of_sessions
from edgebench.judge.steady_time import SteadyTime
from edgebench.judge.trial import Estimate
from edgebench.link.host_lag import response_of, settle_s
from edgebench.records.session import BurstTimes, Channel, ProbeChunk, ProbeInfo, load_bursts
from edgebench.records.stored import SessionRecord
from edgebench.results.rows import rows_of
from proofs.power_bursts import cases_of
from proofs.power_loads import Bursts, Floats, Generator, Steps
from proofs.power_meters import START_NS
from proofs.topic import Row, Size, Topic, percent

LEAST, LEAST_STATED = 0.93, 0.9
IDLE_S, WORK_S, STEADY_S = 2.0, 3.0, 60.0
IMAGES = 60.0
NOISE = 0.005
WORK = Bursts(0.01, 0.5, 0.1)
CLAIM = (
    "Where net energy is stated, the interval holds the truth in at least 93 %, and where the response is "
    "measured it is stated in 90 %. A reading is the mean of some time before it is ready, off by 0.5 %, and "
    "is held until the next one; it is read at 50 Hz. Work of 5 W over 1 W in bursts of about 5 ms follows "
    "an idle window of 2 s and comes before another one; the idle device draws 0.4 to 1 W. `measured`: load "
    "bursts tell how long load stays in the readings, and the device idles for a while before each window. "
    "`unknown`: neither; the windows meet the work. `bias` is by how much the middle net energy is off. 60 s "
    "of work; trials of K sessions."
)


@dataclass(frozen=True)
class Holding:
    """A meter that averages and holds, both in s; 0 for a moment, and for none."""

    averaging_s: float
    hold_s: float
    rate_hz: float = 50.0

    @property
    def info(self) -> ProbeInfo:
        """Properties that the meter states: nothing of how it averages."""
        return ProbeInfo("holding", "", self.rate_hz, "", "board", (Channel("in", "power", "W", total=True),))

    def read(self, generator: Generator, load: Steps, until_s: float) -> tuple[Floats, Floats]:
        """Read the meter: times in s from 0, and readings in W."""
        at_s = np.arange(generator.uniform(0, 1 / self.rate_hz), until_s, 1 / self.rate_hz)
        ready_s = at_s
        if self.hold_s:
            phase_s = generator.uniform(0, self.hold_s)
            ready_s = np.floor((at_s - phase_s) / self.hold_s) * self.hold_s + phase_s
        ready_s, which = np.unique(ready_s, return_inverse=True)
        over_s = max(self.averaging_s, 1e-6)
        watts = (load.energy(ready_s) - load.energy(ready_s - over_s)) / over_s
        return at_s, (watts * (1 + NOISE * generator.standard_normal(len(watts))))[which]


JETPACK4 = Holding(0.422, 0.422), "422 ms, held as long"
CASES = (
    (*JETPACK4, True, 1),
    (*JETPACK4, True, 5),
    (*JETPACK4, False, 1),
    (*JETPACK4, False, 5),
    (Holding(0.422, 0.0), "422 ms, not held", True, 3),
    (Holding(0.1, 0.1), "100 ms, held as long", True, 3),
    (Holding(0.1, 0.1), "100 ms, held as long", False, 3),
    (Holding(0.02, 0.0), "all of its period", True, 3),
    (Holding(0.02, 0.0), "all of its period", False, 3),
)
"""A meter, in words, whether its response is measured, and a number of sessions."""


def holding(size: Size) -> Topic:
    """A row a meter, a number of sessions, and whether its response is measured."""
    rows = []
    for place, (meter, words, measured, sessions) in enumerate(CASES):
        generator = np.random.default_rng((65, place))
        count = max(40, cases_of(size) // (4 * sessions))
        cases = [_trial(generator, meter, measured, sessions) for _ in range(count)]
        words += f", {'measured' if measured else 'unknown'}, K = {sessions}"
        rows.append(_row(cases, words, LEAST_STATED if measured else 0.0))
    columns = ("case", "stated, %", "covered, %", "bias, %")
    return Topic("holding", "Net energy by meters that average and hold", CLAIM, columns, tuple(rows))


def _row(cases: list[tuple[Estimate, float]], words: str, least_stated: float) -> Row:
    stated = [
        (net.value / truth_j - 1, net.low <= truth_j <= net.high)
        for net, truth_j in cases
        if net.value is not None and net.low is not None and net.high is not None
    ]
    if not stated:
        return Row((words, percent(0.0), "", ""), not least_stated)
    biases, covered = zip(*stated, strict=True)
    share = float(np.mean(covered))
    slack = 2 * np.sqrt(LEAST * (1 - LEAST) / len(stated))
    cells = (words, percent(len(stated) / len(cases)), percent(share), f"{100 * np.median(biases):.2f}")
    return Row(cells, share >= LEAST - slack and len(stated) >= least_stated * len(cases))


def _trial(generator: Generator, meter: Holding, measured: bool, sessions: int) -> tuple[Estimate, float]:
    """Stated energy of a trial, and the truth in J an image."""
    records, frames, times = [], [], {}
    idle_w = generator.uniform(0.4, 1.0)
    for n in range(sessions):
        record, frame, times[n] = _session(generator, meter, measured, idle_w, n)
        records.append(record)
        frames.append(frame)
    rows = rows_of(pa.Table.from_pandas(pd.concat(frames, ignore_index=True)))
    [power] = power_of_sessions(records, lambda: rows, times)
    return power.estimates["net_energy_j"], (WORK.mean_w - idle_w) * STEADY_S / IMAGES


def _session(
    generator: Generator, meter: Holding, measured: bool, idle_w: float, n: int
) -> tuple[SessionRecord, pd.DataFrame, SteadyTime]:
    """Work, idle window, work, load bursts, steady passes, idle window: its record and its samples."""
    info = meter.info
    pause_s = settle_s([info]) if measured else 0.0
    plan = load_bursts(info.rate_hz)
    lengths_s = [WORK_S, pause_s + IDLE_S, WORK_S]
    if measured:
        lengths_s += [length_s for each_s in plan.pauses_s for length_s in (each_s, plan.burst_s)]
        lengths_s[-1] += STEADY_S
    else:
        lengths_s[-1] += STEADY_S
    edges_s = np.cumsum([0.0, *lengths_s, pause_s + IDLE_S])
    load = _load(generator, edges_s, idle_w)
    at_s, watts = meter.read(generator, load, float(edges_s[-1]))
    stamps_ns = _ns(at_s)
    times = None
    if measured:
        starts_s = edges_s[4:10:2]
        bursts_ns = tuple(
            (int(start_ns), int(end_ns))
            for start_ns, end_ns in zip(_ns(starts_s), _ns(starts_s + plan.burst_s), strict=True)
        )
        times = BurstTimes(int(_ns(edges_s[3:4])[0]), bursts_ns)
    response = response_of(info, [ProbeChunk("holding:", stamps_ns, {"in": watts})], times)
    steady_s = edges_s[-2] - STEADY_S
    begin, idle, steady, end, after, last = (
        int(ns)
        for ns in _ns(
            np.array(
                [edges_s[1], edges_s[2] - IDLE_S, steady_s, edges_s[-2], edges_s[-1] - IDLE_S, edges_s[-1]]
            )
        )
    )
    windows_ns = {
        "idle": (idle, int(_ns(edges_s[2:3])[0])),
        "steady": (steady, end),
        "idle_after": (after, last),
        "settling": (begin, idle) if measured else None,
    }
    probe = asdict(info) | {"response": None if response is None else asdict(response)}
    record = SessionRecord.model_construct(n=n, probes=(probe,), windows_ns=windows_ns)
    frame = pd.DataFrame(
        {"session": n, "t_ns": stamps_ns, "value": watts, "probe": "holding:", "channel": "in"}
    )
    return record, frame, SteadyTime(np.array([[steady, end]]), IMAGES)


def _load(generator: Generator, edges_s: Floats, idle_w: float) -> Steps:
    """Work and idling in turn, from work on: bursts, and a level."""
    edges, levels = [np.array([-10.0])], []
    for place, (start_s, end_s) in enumerate(pairwise(edges_s.tolist())):
        if place % 2:
            edges.append(np.array([end_s]))
            levels.append(np.array([idle_w]))
            continue
        work = WORK.draw(generator, end_s - start_s)
        inner = work.edges[(work.edges > 0) & (work.edges < end_s - start_s)]
        edges.append(np.append(start_s + inner, end_s))
        levels.append(work.watts(np.append(0.0, inner)))
    return Steps(np.concatenate(edges), np.concatenate(levels), WORK.mean_w)


def _ns(at_s: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Moments in s as stamps."""
    return START_NS + np.rint(np.asarray(at_s) * 1e9).astype(np.int64)
