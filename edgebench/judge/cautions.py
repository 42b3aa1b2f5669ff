"""Cautions for the reader of a trial's estimates: heat, disturbance, few sessions, failing meters."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

import numpy as np

from edgebench.judge.latency import SteadyPasses, omission
from edgebench.judge.trial import Minute, Sustained
from edgebench.records.board_facts import BoardFacts, contradiction, unconfirmed
from edgebench.records.session import probe_name
from edgebench.records.stored import SessionRecord
from edgebench.records.target import BOARD_FIGURES, Target
from edgebench.results.meters import reasons_by_probe, recorded_name
from edgebench.results.rows import Rows
from edgebench.stats.clock import falls_short
from edgebench.stats.compare import wilson
from edgebench.stats.intervals import MIN_SESSIONS, outliers, session_medians, widening
from edgebench.stats.percentiles import minute_medians, misses
from edgebench.stats.power import IdleDrift
from edgebench.stats.shape import RATIO_LIMIT, Heat, heat, rise_together, shape_of
from edgebench.stats.warnings import (
    CLOCK_DROP_LIMIT,
    INVOLUNTARY_LIMIT_PER_S,
    OTHERS_LIMIT,
    STEAL_LIMIT,
    WAITING_LIMIT,
    Caution,
    Flag,
    Interference,
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

# Telemetry of the board's state in the steady window of each session of a trial.

QUANTITIES = frozenset({"clock", "temperature", "throttle", "context_switches", "time"})
"""Quantities of a board's state, whichever probe samples them."""

LIMIT_SENSOR = "PMIC"
"""Part of the name of a Jetson's channel that is a limit, 100 degrees at all times, and no sensor."""

CLOCKS = {"cpu": "the processor's clock", "gpu": "the GPU's clock"}
"""Clocks by the first word of their channel's name: cpu_clock_max, gpu_clock."""


@dataclass(frozen=True)
class Column:
    """Samples of one channel of one probe in one session: `t_ns` int64 [n], `values` float64 [n]."""

    channel: str
    quantity: str
    unit: str
    t_ns: Stamps
    values: Values


@dataclass(frozen=True)
class Observed:
    """Telemetry of one session's steady window; a field that the board does not give is None, or empty.

    Attributes:
        throttled: throttling that the board reported, such as `under-voltage`.
        clock_drop: fall of the fastest clock of a probe from the first quarter to the last, as a share.
        clock: channel of that clock.
        hottest_c: highest temperature of any sensor.
        involuntary_per_s: involuntary context switches per second of the worker's threads.
        waiting_share: share of their time that the threads waited for a core.
        stolen_share: share of their cores' time that a hypervisor gave to others.
        others_cores: other work on their cores, in cores.
        watched: whether the window has a sample of throttling: without one there may have been some.
        several: whether workers shared the device: they put each other off their cores, and wait for them.
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
    several: bool = False

    @property
    def dropped(self) -> bool:
        """True if the clock fell by more than 5 %."""
        return (self.clock_drop or 0.0) > CLOCK_DROP_LIMIT

    @property
    def interfered(self) -> bool:
        """True if another process or another machine wanted the worker's cores.

        Another process: the worker was put off them often, or half a core's worth of other work went on,
        and it had to wait, where that is known.
        """
        others = (self.involuntary_per_s or 0.0) > INVOLUNTARY_LIMIT_PER_S
        if self.waiting_share is not None:
            others = others or (self.others_cores or 0.0) > OTHERS_LIMIT
            others = others and self.waiting_share > WAITING_LIMIT
        return others or (self.stolen_share or 0.0) > STEAL_LIMIT


def hottest(observed: Sequence[Observed]) -> float | None:
    """Highest temperature of the sessions in degrees Celsius; None without a sensor."""
    return _highest(session.hottest_c for session in observed)


def _highest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def observe(records: Sequence[SessionRecord], probes: Rows) -> tuple[Observed, ...]:
    """Telemetry of each record, in order; of several probes the worst values.

    Args:
        records: sessions of one trial.
        probes: the trial's rows of `probes` (see records.stored.PROBE_COLUMNS, with `session`).
    """
    rows = probes.take(probes.having("quantity", QUANTITIES.__contains__))
    rows = rows.ordered("session", "probe", "channel")
    session, t_ns, values = rows.whole("session"), rows.whole("t_ns"), rows.floats("value")
    columns: dict[int, dict[str, list[Column]]] = {}
    for first, last in rows.spans("session", "probe", "channel"):
        channel, quantity, unit = (rows.word(name, first) for name in ("channel", "quantity", "unit"))
        column = Column(channel, quantity, unit, t_ns[first:last], values[first:last])
        probes_of = columns.setdefault(int(session[first]), {})
        probes_of.setdefault(rows.word("probe", first), []).append(column)
    return tuple(_observed(record, columns.get(record.n, {})) for record in records)


def _observed(record: SessionRecord, columns: Mapping[str, Sequence[Column]]) -> Observed:
    steady = record.windows_ns.get("steady")
    if steady is None or record.emulated:  # nothing of an emulator is a time that could be disturbed
        return Observed()
    totals: dict[str, set[str]] = {probe: set() for probe in columns}
    for info in record.probes:
        channels = info.get("channels")
        for channel in channels if isinstance(channels, list | tuple) else ():
            if isinstance(channel, Mapping) and channel.get("total") is True:
                totals.setdefault(recorded_name(info), set()).add(str(channel.get("name")))
    observed = _worst([_by_one_probe(of_probe, totals[probe], steady) for probe, of_probe in columns.items()])
    # Several workers put each other off their cores.
    several = len(record.workers) > 1
    return replace(observed, involuntary_per_s=None, several=True) if several else observed


def _by_one_probe(columns: Sequence[Column], totals: Set[str], steady: tuple[int, int]) -> Observed:
    def sampled(quantity: str, unit: str) -> list[Column]:
        return [column for column in columns if (column.quantity, column.unit) == (quantity, unit)]

    def counter(quantity: str, channel: str) -> tuple[Stamps, Values]:
        named = (column for column in columns if (column.quantity, column.channel) == (quantity, channel))
        return next((around(column.t_ns, column.values, *steady) for column in named), _NOTHING)

    def within_steady(column: Column) -> Values:
        return within(column.t_ns, column.values, *steady)[1]

    bits = [within_steady(column) for column in sampled("throttle", "bits")]
    states = [within_steady(column) for column in sampled("throttle", "state")]
    events = [around(column.t_ns, column.values, *steady)[1] for column in sampled("throttle", "events")]
    flags = [flag for values in bits for flag in throttle_flags(values)]
    if any(throttle_events(counts) for counts in events):
        flags.append("throttle events counted")
    if any((values > 0).any() for values in states):
        flags.append("a cooling device slowed the processor")
    # Clocks that the probe marks as totals count alone.
    clocks = [column for column in columns if column.quantity == "clock"]
    clocks = [column for column in clocks if column.channel in totals] or clocks
    sensors = [column for column in sampled("temperature", "C") if LIMIT_SENSOR not in column.channel]
    busy_at, busy = counter("time", "cores_busy")
    running = counter("time", "worker_running")[1]
    return Observed(
        throttled=tuple(dict.fromkeys(flags)),
        clock_drop=clock_drop(within(*_fastest(clocks), *steady)[1]),
        clock=clocks[0].channel if clocks else "",
        hottest_c=_highest(float(values.max()) for values in map(within_steady, sensors) if values.size),
        involuntary_per_s=rate_per_s(*counter("context_switches", "involuntary_switches")),
        waiting_share=waiting_share(running, counter("time", "worker_waiting")[1]),
        stolen_share=stolen_share(busy_at, busy, counter("time", "cores_stolen")[1]),
        others_cores=others_cores(busy_at, busy, running),
        watched=any(values.size for values in (*bits, *states)) or any(counts.size > 1 for counts in events),
    )


_NOTHING: tuple[Stamps, Values] = (np.empty(0, np.int64), np.empty(0))


def _fastest(clocks: Sequence[Column]) -> tuple[Stamps, Values]:
    """Fastest of several clocks at each stamp."""
    if not clocks:
        return _NOTHING
    t_ns = np.concatenate([column.t_ns for column in clocks])
    values = np.concatenate(
        [np.where(np.isfinite(column.values), column.values, -np.inf) for column in clocks]
    )
    stamps, places = np.unique(t_ns, return_inverse=True)
    fastest = np.full(stamps.shape, -np.inf)
    np.maximum.at(fastest, places, values)
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
        several=False,
        **{name: _highest(getattr(observed, name) for observed in seen) for name in INTERFERING},
    )


INTERFERING = ("involuntary_per_s", "waiting_share", "stolen_share", "others_cores")
"""Fields of disturbance by others; of several probes and sessions the highest counts."""


# Sustained sessions: a median per minute, and signs of heat.


HOUR_S = 3600.0


def sustained_of(
    steady: SteadyPasses, sustained_s: float | None, observed: Sequence[Observed] = ()
) -> Sustained | None:
    """Latency over a trial's sustained sessions; None where they were not sustained or have no passes.

    Numbers are means over the sessions. Heat is suspected as soon as one test finds it in one session.

    Args:
        steady: steady passes or windows of the trial's finished sessions.
        sustained_s: time that they went on; None for a number of passes.
        observed: telemetry of the finished sessions.
    """
    if sustained_s is None or not steady.latency_s:
        return None
    series = list(zip(steady.at_s, steady.latency_s, strict=True))
    trends = [trend for at_s, scene_s in series if (trend := heat(at_s, scene_s)) is not None]
    first_s = fmean(trend.first for trend in trends) if trends else None
    last_s = fmean(trend.last for trend in trends) if trends else None
    slowing = (Flag.THROTTLED, Flag.CLOCK_DROP)
    slowed = (caution for caution in _telemetry_cautions(observed) if caution.flag in slowing)
    because = [
        *_by_latency(trends, len(series)),
        *(replace(caution, celsius=None).sentence() for caution in slowed),
    ]
    if because and (celsius := hottest(observed)) is not None:
        because.append(f"the hottest sensor read up to {celsius:.0f} °C")
    medians = [minute_medians(at_s, scene_s) for at_s, scene_s in series]
    minutes: dict[int, list[tuple[float, int]]] = {}
    for minute, measured in itertools.chain.from_iterable(session.items() for session in medians):
        minutes.setdefault(minute, []).append(measured)
    return Sustained(
        minutes=tuple(
            Minute(minute, fmean(median_s for median_s, _ in measured), sum(n for _, n in measured))
            for minute, measured in sorted(minutes.items())
        ),
        first_quarter_s=first_s,
        last_quarter_s=last_s,
        ratio=last_s / first_s if first_s and last_s else None,
        slope_per_hour=fmean(trend.slope_per_s for trend in trends) * HOUR_S if trends else None,
        suspected=bool(because),
        because=tuple(because),
    )


def _by_latency(trends: Sequence[Heat], sessions: int) -> Iterator[str]:
    if slower := [trend.ratio for trend in trends if trend.slower]:
        yield (
            f"the last quarter took up to {max(slower):.2f} times the first, "
            f"more than {RATIO_LIMIT:g}, in {len(slower)} of {sessions} sessions"
        )
    if rising := [trend.rise for trend in trends if trend.rising]:
        yield (
            f"latency rose by up to {max(rising):.1%} over the session (Theil-Sen) "
            f"in {len(rising)} of {sessions} sessions"
        )


# Declared boards, and contradictions of the machine that was measured.


WITHOUT_HOST = "its boards are sticks or cards alone, and the host that they are plugged into is not counted"
REPLAY = "replay"
"""Device whose numbers were measured elsewhere, or written down."""


def board_doubts(target: Target | None, records: Sequence[SessionRecord]) -> dict[str, str]:
    """Doubts by declared number (`BoardFigure`) of the boards: another machine's, or a part's alone.

    Args:
        target: declared target; its own numbers are not doubted.
        records: records of finished sessions, with the names that the machine gives itself.
    """
    if target is None or not records:
        return {}
    if target.from_boards and not target.boards:
        return dict.fromkeys(target.from_boards, WITHOUT_HOST)
    boards = target.boards
    models = dict.fromkeys(BoardFacts.of(record.device).board for record in records)
    doubt = next(filter(None, (unconfirmed(boards, model) for model in models)), "")
    return dict.fromkeys(target.from_boards, f"the machine was {doubt}") if doubt else {}


def other_machine(target: Target | None, records: Sequence[SessionRecord]) -> str:
    """Contradiction between the declared boards and the machine that was measured; empty without one.

    Args:
        target: declared target. A replay measures nothing on its machine, which contradicts no board.
        records: records of finished sessions, with facts about the machine.
    """
    if target is None or target.device == REPLAY:
        return ""
    boards = target.boards
    contradictions = (contradiction(boards, BoardFacts.of(record.device)) for record in records)
    return next(filter(None, contradictions), "")


def cautions(
    records: Sequence[SessionRecord],
    steady: SteadyPasses,
    observed: Sequence[Observed] = (),
    right: tuple[int, int, int] | None = None,
    board_doubts: Mapping[str, str] | None = None,
    workers: int = 1,
    idle_drifts: Sequence[IdleDrift] = (),
) -> tuple[Caution, ...]:
    """Cautions on a trial: those on its estimates, then the warnings of its sessions.

    Args:
        records: all its sessions, failed ones too.
        steady: steady passes of its finished sessions.
        observed: telemetry of its finished sessions.
        right: images that its artifact predicted right, labelled images and classes; None without labels.
        board_doubts: doubts by declared number, as from `board_doubts`.
        workers: number of workers that shared the device; `steady` has the passes of a lone one.
        idle_drifts: drifts of the rail that represents the board, of sessions that were sampled idle twice.
    """
    ok = [record for record in records if record.status == "ok"]
    few = 0 < len(steady.latency_s) < MIN_SESSIONS
    short = shares_accounted(ok)
    builds = len({record.built.sha256 for record in ok if record.built})
    untimed = [record.untimed_stages for record in ok if record.untimed_stages and steady.image_s]
    drifts_w = [abs(drift.drift_w) for drift in idle_drifts if drift.unexplained]
    late_s = [late for session in steady.lateness_s for late in session]
    omissions = " or ".join(dict.fromkeys(map(omission, untimed)))
    doubts = board_doubts or {}
    doubted = " and ".join(BOARD_FIGURES[name] for name in doubts)
    return (
        *_counted(Flag.SEVERAL_WORKERS, workers if workers > 1 else 0),
        *_counted(Flag.FEW_SESSIONS, len(steady.latency_s) if few else 0, MIN_SESSIONS),
        *_counted(Flag.NOT_STEADY, sum(record.warmup.get("steady") is False for record in ok), len(ok)),
        *_counted(Flag.OUTLIERS, _outlier_count(steady), steady.count, unit=steady.unit),
        *_shape_cautions(steady),
        *_thermal_cautions(steady, hottest(observed)),
        *_telemetry_cautions(observed),
        *_probe_cautions(ok),
        *_counted(Flag.IDLE_DRIFT, len(drifts_w), len(idle_drifts), ratio=max(drifts_w, default=0.0)),
        *_counted(Flag.DEADLINES_MISSED, misses(late_s), len(late_s), ratio=max(late_s, default=0.0)),
        *_chance_cautions(right),
        *_counted(Flag.STAMPS_SHORT, len(short), len(ok), ratio=min(short, default=0.0)),
        *_counted(
            Flag.GOLDEN_MISMATCH, sum(record.status == "golden_mismatch" for record in records), len(records)
        ),
        *_counted(Flag.GOLDEN_ABSENT, sum(record.golden is None for record in ok), len(ok)),
        *_counted(Flag.BUILDS_DIFFER, builds if builds > 1 else 0, len(ok)),
        *_counted(
            Flag.EXTRAPOLATED,
            steady.extrapolated,
            steady.count,
            unit=steady.unit,
            what=f"{steady.measured_patches} of {steady.scene_patches} patches",
        ),
        *_counted(Flag.UNTIMED_STAGES, len(untimed), len(ok), what=omissions),
        *_counted(Flag.EMULATED, sum(record.emulated for record in ok), len(ok)),
        *(Caution(Flag.BOARD_UNCONFIRMED, what=f"{doubted}; {doubt}") for doubt in list(doubts.values())[:1]),
        *_by_text(Flag.SAID, len(records), (record.warnings for record in records)),
    )


def _counted(flag: Flag, count: int, total: int = 0, **fields: Any) -> list[Caution]:
    """Caution with a count; none for 0."""
    return [Caution(flag, count=count, of=total, **fields)] if count else []


def _by_text(flag: Flag, total: int, texts: Iterable[Iterable[str]]) -> list[Caution]:
    """Caution per text, with the number of sessions that have it."""
    sessions = Counter(text for session in texts for text in dict.fromkeys(session))
    return [Caution(flag, count, total, what=text) for text, count in sessions.items()]


def shares_accounted(records: Sequence[SessionRecord]) -> list[float]:
    """Shares of the wait that stamps account for, of the sessions whose stamps fall short of it."""
    waits = [
        (wait.get("stamped_ns"), wait.get("waited_ns")) for r in records if (wait := r.clock.get("wait"))
    ]
    return [
        stamped_ns / waited_ns
        for stamped_ns, waited_ns in waits
        if stamped_ns is not None and waited_ns is not None and falls_short(stamped_ns, waited_ns)
    ]


def _outlier_count(steady: SteadyPasses) -> int:
    """Number of passes far from their own session's median.

    The deviations of all sessions are judged at once, since a session of a few passes has no spread.
    """
    sessions = [np.asarray(values) for values in steady.latency_s if values]
    relative = [values / median - 1 for values in sessions if (median := float(np.median(values))) > 0]
    return int(outliers(np.concatenate(relative)).sum()) if relative else 0


def _thermal_cautions(steady: SteadyPasses, celsius: float | None) -> list[Caution]:
    trends = [heat(at_s, image_s) for at_s, image_s in zip(steady.at_s, steady.latency_s, strict=True)]
    ratios = [trend.ratio for trend in trends if trend is not None and trend.suspected]
    common: dict[str, Any] = {"of": len(trends), "celsius": celsius}
    if ratios:
        return [Caution(Flag.THERMAL_SUSPECTED, count=len(ratios), ratio=max(ratios), **common)]
    rise = rise_together(steady.at_s, steady.latency_s)
    return [] if rise is None else [Caution(Flag.THERMAL_SHORT, ratio=rise, unit=steady.unit, **common)]


def _telemetry_cautions(observed: Sequence[Observed]) -> list[Caution]:
    total = len(observed)
    throttled = [session.throttled for session in observed if session.throttled]
    flags = ", ".join(dict.fromkeys(itertools.chain.from_iterable(throttled)))
    dropped = [session for session in observed if session.dropped]
    names = {session.clock for session in dropped}
    clocks = {CLOCKS.get(name.partition("_")[0], f"the clock {name}".strip()) for name in names}
    interfered = [session for session in observed if session.interfered]
    return [
        *_counted(Flag.THROTTLED, len(throttled), total, what=flags),
        *_counted(
            Flag.CLOCK_DROP,
            len(dropped),
            total,
            ratio=_highest(session.clock_drop for session in dropped),
            what=" and ".join(sorted(clocks)),
            celsius=hottest(observed),
        ),
        *_counted(Flag.INTERFERENCE, len(interfered), total, what=_worst_interference(interfered)),
    ]


def _worst_interference(interfered: Sequence[Observed]) -> Interference:
    """Worst of the sessions, without numbers that stay within their limit."""
    rate, waited, stolen, others = (
        _highest(getattr(session, name) for session in interfered) or 0.0 for name in INTERFERING
    )
    put_off = rate > INVOLUNTARY_LIMIT_PER_S or waited > WAITING_LIMIT
    put_off = put_off and not any(session.several for session in interfered)
    return Interference(
        stolen_share=stolen if stolen > STEAL_LIMIT else 0.0,
        others_cores=others if others > OTHERS_LIMIT else 0.0,
        involuntary_per_s=rate if put_off else 0.0,
        waiting_share=waited if put_off else 0.0,
    )


def _probe_cautions(records: Sequence[SessionRecord]) -> Iterator[Caution]:
    """Cautions on meters that could not be opened, probes that ended, and readings that were rejected."""
    total = len(records)
    opened = [{recorded_name(info) for info in record.probes} for record in records]
    sessions = list(zip(records, opened, strict=True))
    absent = (
        [
            reason
            for meter, reason in record.probe_reasons.items()
            if meter and probe_name(meter) not in probes
        ]
        for record, probes in sessions
    )
    yield from _by_text(Flag.METER_ABSENT, total, absent)
    lost = (
        [reason for probe, reason in reasons_by_probe(record).items() if probe in probes]
        for record, probes in sessions
    )
    yield from _by_text(Flag.PROBE_LOST, total, lost)
    rejected: dict[str, list[tuple[int, Any]]] = {}
    for info in (info for record in records for info in record.probes):
        count = info.get("rejected")
        if isinstance(count, int) and count >= 1:
            rejected.setdefault(recorded_name(info), []).append((count, info.get("rejected_first")))
    for probe, readings in rejected.items():
        text = f"{probe.rstrip(':')}: {sum(count for count, _ in readings)} readings were rejected"
        verbatim = [first[0] for _, first in readings if isinstance(first, list | tuple) and first]
        text += f", the first was {str(verbatim[0])!r}" if verbatim else ""
        yield Caution(Flag.READINGS_REJECTED, len(readings), total, what=text)


def _shape_cautions(steady: SteadyPasses) -> list[Caution]:
    """Cautions on medians of sessions that are no independent draws of a symmetric bell."""
    medians = session_medians(steady.latency_s)
    shape = shape_of(medians)
    warnings = []
    subject = f" of {steady.quantity}" if steady.quantity == "infer_s" else ""
    if shape.skewed:
        far = max(medians) if shape.tail == "above" else min(medians)
        middle = median(medians)
        text = f"{shape.tail}: from {middle:.3g} s{subject} in the middle to {far:.3g} s"
        warnings.append(Caution(Flag.SKEWED, of=len(medians), what=text))
    if shape.multimodal:
        parts = [f"{len(group)} around {fmean(group):.3g} s{subject}" for group in shape.groups]
        warnings.append(Caution(Flag.MULTIMODAL, of=len(medians), what=" and ".join(parts)))
    if medians and (wider := float(widening(np.array(medians)))) > 1:
        warnings.append(Caution(Flag.RESEMBLING, of=len(medians), ratio=wider, what=steady.quantity))
    return warnings


def _chance_cautions(right: tuple[int, int, int] | None) -> list[Caution]:
    """Caution on a model that is right as often as guesses, or less often."""
    k, n, classes = right or (0, 0, 0)
    if classes < 2:
        return []
    low, high = wilson(k, n)
    if low > 1 / classes:
        return []
    flag = Flag.BELOW_CHANCE if high < 1 / classes else Flag.CHANCE
    return [Caution(flag, count=k, of=n, ratio=1 / classes, what=f"1 of {classes} classes")]
