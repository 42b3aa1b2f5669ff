"""What probes saw of the board's state in the steady window of each session of a trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from edgebench.judge.latency import SteadyPasses
from edgebench.judge.power import recorded_name
from edgebench.judge.trial_summary import Minute, Paced, Sustained
from edgebench.records.stored import SessionRecord
from edgebench.stats import percentiles as deadlines
from edgebench.stats.percentiles import minute_medians
from edgebench.stats.shape import RATIO_LIMIT, Heat, heat
from edgebench.stats.warnings import (
    CLOCK_DROP_LIMIT,
    INVOLUNTARY_LIMIT_PER_S,
    OTHERS_LIMIT,
    STEAL_LIMIT,
    WAITING_LIMIT,
    Stamps,
    Values,
    around,
    clock_drop,
    others_cores,
    rate_per_s,
    stolen_share,
    throttle_events,
    throttle_flags,
    waiting_share,
    within,
)

QUANTITIES = frozenset({"clock", "temperature", "throttle", "context_switches", "time"})
"""What a probe may sample of a board's state: whichever probe does, its samples are looked at."""

LIMIT_SENSOR = "PMIC"
"""In the name of a Jetson's sensor that is none: its 100 degrees at all times are a limit."""

CLOCKS = {"cpu": "the processor's clock", "gpu": "the GPU's clock"}
"""By how the name of a clock's channel begins: cpu_clock_max, gpu_clock."""


@dataclass(frozen=True)
class Column:
    """One channel of one probe in one session, as sampled: `t_ns` int64 [n], `values` float64 [n]."""

    channel: str
    quantity: str
    unit: str
    t_ns: Stamps
    values: Values


@dataclass(frozen=True)
class Observed:
    """One session's steady window; a field is None, or empty, where the board does not tell.

    Attributes:
        throttled: what the board said of throttling, such as `under-voltage`.
        clock_drop: by which share the fastest clock of a probe fell from the first quarter to the last.
        clock: the channel of that clock.
        hottest_c: the highest temperature of any sensor.
        involuntary_per_s: involuntary context switches a second of the worker's threads.
        waiting_share: the share of their time that they waited for one.
        stolen_share: the share of their cores' time that a hypervisor gave to others.
        others_cores: how many cores' worth of other work went on on their cores.
        watched: whether a sample of the window tells of throttling: without one there may have been some.
    """

    throttled: tuple[str, ...] = ()
    clock_drop: float | None = None
    clock: str = ""
    hottest_c: float | None = None
    involuntary_per_s: float | None = None
    waiting_share: float | None = None
    stolen_share: float | None = None
    others_cores: float | None = None
    watched: bool = False

    @property
    def dropped(self) -> bool:
        """Whether the clock fell by more than 5 %."""
        return self.clock_drop is not None and self.clock_drop > CLOCK_DROP_LIMIT

    @property
    def interfered(self) -> bool:
        """Whether something else wanted the worker's cores.

        Another process: the worker was put off them often, or half a core's worth of other work went on,
        and it had to wait, where that is known. Or another machine on the same processor.
        """
        others = _above(self.involuntary_per_s, INVOLUNTARY_LIMIT_PER_S)
        if self.waiting_share is not None:
            others = others or _above(self.others_cores, OTHERS_LIMIT)
            others = others and self.waiting_share > WAITING_LIMIT
        return others or _above(self.stolen_share, STEAL_LIMIT)


@dataclass(frozen=True)
class ClockDrops:
    """What the sessions have in common whose clock fell: how many, the worst, and whose clocks in words."""

    count: int
    worst: float
    clocks: str

    @classmethod
    def of(cls, observed: Sequence[Observed]) -> ClockDrops | None:
        """None where no clock fell by more than 5 %."""
        dropped = [session for session in observed if session.dropped]
        if not dropped:
            return None
        channels = {session.clock for session in dropped}
        clocks = {CLOCKS.get(name.partition("_")[0], f"the clock {name}".strip()) for name in channels}
        worst = max(session.clock_drop or 0.0 for session in dropped)
        return cls(len(dropped), worst, " and ".join(sorted(clocks)))


def hottest(observed: Sequence[Observed]) -> float | None:
    """The highest temperature of the sessions in degrees Celsius; None where no sensor tells."""
    return _most(session.hottest_c for session in observed)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _above(value: float | None, limit: float) -> bool:
    return value is not None and value > limit


def observe(records: Sequence[SessionRecord], probes: pd.DataFrame) -> tuple[Observed, ...]:
    """One Observed a record, in order; where several probes saw the same, the worst of it.

    Args:
        records: sessions of one trial.
        probes: the trial's rows of `probes` (see store.records.PROBE_COLUMNS, with `session`).
    """
    rows = probes[probes["quantity"].isin(QUANTITIES)]
    columns: dict[Any, dict[str, list[Column]]] = {}
    for key, frame in rows.groupby(["session", "probe", "channel"], observed=True):
        session, probe, channel = key
        quantity, unit = (str(frame[name].iloc[0]) for name in ("quantity", "unit"))
        t_ns, values = frame["t_ns"].to_numpy(np.int64), frame["value"].to_numpy(np.float64)
        column = Column(str(channel), quantity, unit, t_ns, values)
        columns.setdefault(session, {}).setdefault(str(probe), []).append(column)
    return tuple(_observed(record, columns.get(record.n, {})) for record in records)


def _observed(record: SessionRecord, columns: Mapping[str, Sequence[Column]]) -> Observed:
    steady = record.windows_ns.get("steady")
    if steady is None:
        return Observed()
    totals = {
        recorded_name(info): {
            str(channel.get("name"))
            for channel in channels
            if isinstance(channel, Mapping) and channel.get("total") is True
        }
        for info in record.probes
        if isinstance(channels := info.get("channels"), list | tuple)
    }
    return _worst(
        [_by_one_probe(of_probe, totals.get(probe, set()), steady) for probe, of_probe in columns.items()]
    )


def _by_one_probe(columns: Sequence[Column], totals: Set[str], steady: tuple[int, int]) -> Observed:
    def of(quantity: str, unit: str) -> list[Column]:
        return [column for column in columns if (column.quantity, column.unit) == (quantity, unit)]

    def counter(quantity: str, channel: str) -> tuple[Stamps, Values]:
        named = (column for column in columns if (column.quantity, column.channel) == (quantity, channel))
        return next((around(column.t_ns, column.values, *steady) for column in named), _NOTHING)

    def within_steady(column: Column) -> Values:
        return within(column.t_ns, column.values, *steady)[1]

    bits = [within_steady(column) for column in of("throttle", "bits")]
    states = [within_steady(column) for column in of("throttle", "state")]
    events = [around(column.t_ns, column.values, *steady)[1] for column in of("throttle", "events")]
    flags = [flag for values in bits for flag in throttle_flags(values)]
    if any(throttle_events(counts) for counts in events):
        flags.append("throttle events counted")
    if any((values > 0).any() for values in states):
        flags.append("a cooling device slowed the processor")
    # Those alone that the probe marks as the ones that count, where it does.
    clocks = [column for column in columns if column.quantity == "clock"]
    clocks = [column for column in clocks if column.channel in totals] or clocks
    sensors = [column for column in of("temperature", "C") if LIMIT_SENSOR not in column.channel]
    busy_at, busy = counter("time", "cores_busy")
    running = counter("time", "worker_running")[1]
    return Observed(
        throttled=tuple(dict.fromkeys(flags)),
        clock_drop=clock_drop(within(*_fastest(clocks), *steady)[1]),
        clock=clocks[0].channel if clocks else "",
        hottest_c=_most(float(values.max()) for values in map(within_steady, sensors) if values.size),
        involuntary_per_s=rate_per_s(*counter("context_switches", "involuntary_switches")),
        waiting_share=waiting_share(running, counter("time", "worker_waiting")[1]),
        stolen_share=stolen_share(busy_at, busy, counter("time", "cores_stolen")[1]),
        others_cores=others_cores(busy_at, busy, running),
        watched=any(values.size for values in (*bits, *states)) or any(counts.size > 1 for counts in events),
    )


_NOTHING: tuple[Stamps, Values] = (np.empty(0, np.int64), np.empty(0))


def _fastest(clocks: Sequence[Column]) -> tuple[Stamps, Values]:
    """At each stamp the fastest of several clocks."""
    if not clocks:
        return _NOTHING
    t_ns = np.concatenate([column.t_ns for column in clocks])
    values = np.concatenate(
        [np.where(np.isfinite(column.values), column.values, -np.inf) for column in clocks]
    )
    stamps, at = np.unique(t_ns, return_inverse=True)
    fastest = np.full(stamps.shape, -np.inf)
    np.maximum.at(fastest, at, values)
    return stamps, fastest


def _worst(seen: Sequence[Observed]) -> Observed:
    falling = max(
        seen, key=lambda one: -np.inf if one.clock_drop is None else one.clock_drop, default=Observed()
    )
    return Observed(
        throttled=tuple(dict.fromkeys(flag for observed in seen for flag in observed.throttled)),
        clock_drop=falling.clock_drop,
        clock=falling.clock,
        hottest_c=hottest(seen),
        watched=any(observed.watched for observed in seen),
        **{name: _most(getattr(observed, name) for observed in seen) for name in INTERFERING},
    )


INTERFERING = ("involuntary_per_s", "waiting_share", "stolen_share", "others_cores")
"""What else wants the worker's cores; of several probes and sessions the most."""


# What paced and sustained sessions come to: deadlines missed, a median a minute, signs of heat.


HOUR_S = 3600.0


def paced_of(steady: SteadyPasses, period_s: float | None) -> Paced | None:
    """The deadlines of a trial's paced passes over all sessions; None where it was not paced or measured."""
    late_s = [late for session in steady.lateness_s for late in session]
    worst_s = max(late_s, default=None)
    if period_s is None or worst_s is None:
        return None
    by_session = tuple((deadlines.misses(session), len(session)) for session in steady.lateness_s if session)
    return Paced(period_s, len(late_s), deadlines.misses(late_s), worst_s, by_session)


def sustained_of(
    steady: SteadyPasses, sustained_s: float | None, observed: Sequence[Observed] = ()
) -> Sustained | None:
    """How a trial's latency moved over its sustained sessions; None where they were not or have no passes.

    Every figure is the mean over sessions of the session's own; heat is suspected as soon as one of the
    tests says so in one session.

    Args:
        steady: the steady passes or windows of the trial's finished sessions.
        sustained_s: for how long they went on; None for a number of passes.
        observed: what telemetry saw in the finished sessions.
    """
    if sustained_s is None or not steady.latency_s:
        return None
    series = list(zip(steady.at_s, steady.latency_s, strict=True))
    trends = [trend for at_s, scene_s in series if (trend := heat(at_s, scene_s)) is not None]
    first_s = fmean(trend.first for trend in trends) if trends else None
    last_s = fmean(trend.last for trend in trends) if trends else None
    because = [*_by_latency(trends, len(series)), *_by_telemetry(observed)]
    if because and (celsius := hottest(observed)) is not None:
        because.append(f"the hottest sensor read up to {celsius:.0f} °C")
    medians = [minute_medians(at_s, scene_s) for at_s, scene_s in series]
    minutes = []
    for minute in sorted({minute for session in medians for minute in session}):
        there = [session[minute] for session in medians if minute in session]
        minutes.append(Minute(minute, fmean(median_s for median_s, _ in there), sum(n for _, n in there)))
    return Sustained(
        minutes=tuple(minutes),
        first_quarter_s=first_s,
        last_quarter_s=last_s,
        ratio=last_s / first_s if first_s and last_s else None,
        slope_per_hour=fmean(trend.slope_per_s for trend in trends) * HOUR_S if trends else None,
        suspected=bool(because),
        because=tuple(because),
    )


def _by_latency(trends: Sequence[Heat], of: int) -> Iterator[str]:
    if slower := [trend.ratio for trend in trends if trend.slower]:
        yield (
            f"the last quarter took up to {max(slower):.2f} times the first, "
            f"more than {RATIO_LIMIT:g}, in {len(slower)} of {of} sessions"
        )
    if rising := [trend.rise for trend in trends if trend.rising]:
        yield (
            f"latency rose by up to {max(rising):.1%} over the session (Theil-Sen) "
            f"in {len(rising)} of {of} sessions"
        )


def _by_telemetry(observed: Sequence[Observed]) -> Iterator[str]:
    of = len(observed)
    if drops := ClockDrops.of(observed):
        yield (
            f"{drops.clocks} dropped by up to {drops.worst:.0%}, more than {CLOCK_DROP_LIMIT:.0%}, "
            f"in {drops.count} of {of} sessions"
        )
    if throttled := [session.throttled for session in observed if session.throttled]:
        what = ", ".join(dict.fromkeys(word for words in throttled for word in words))
        yield f"the board reported throttling ({what}) in {len(throttled)} of {of} sessions"
