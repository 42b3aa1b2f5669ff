"""What a reader should know of one trial before trusting its figures."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from edgebench.judge.core.trial import Minute, Sustained
from edgebench.judge.latency import SteadyPasses, omission
from edgebench.records.board_facts import BoardFacts, contradiction, unconfirmed
from edgebench.records.session import probe_name
from edgebench.records.stored import SessionRecord
from edgebench.records.target import BOARD_FIGURES, Target
from edgebench.results.meters import reasons_by_probe, recorded_name
from edgebench.results.rows import Rows
from edgebench.stats import percentiles as deadlines
from edgebench.stats.clock import falls_short
from edgebench.stats.compare import wilson
from edgebench.stats.intervals import MIN_SESSIONS, outliers, session_medians, widening
from edgebench.stats.percentiles import minute_medians
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

# What probes saw of the board's state in the steady window of each session of a trial.

QUANTITIES = frozenset({"clock", "temperature", "throttle", "context_switches", "time"})
"""What a probe may sample of a board's state: whichever probe does, its samples are looked at."""

LIMIT_SENSOR = "PMIC"
"""In the name of a Jetson's channel that is a limit, 100 degrees at all times, and no sensor."""

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
    """One session's steady window; a field that the board does not give stays None, or empty.

    Attributes:
        throttled: what the board said of throttling, such as `under-voltage`.
        clock_drop: by which share the fastest clock of a probe fell from the first quarter to the last.
        clock: the channel of that clock.
        hottest_c: the highest temperature of any sensor.
        involuntary_per_s: involuntary context switches a second of the worker's threads.
        waiting_share: the share of their time that they waited for one.
        stolen_share: the share of their cores' time that a hypervisor gave to others.
        others_cores: how many cores' worth of other work went on on their cores.
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
        """Whether the clock fell by more than 5 %."""
        return (self.clock_drop or 0.0) > CLOCK_DROP_LIMIT

    @property
    def interfered(self) -> bool:
        """Whether something else wanted the worker's cores.

        Another process: the worker was put off them often, or half a core's worth of other work went on,
        and it had to wait, where that is known. Or another machine on the same processor.
        """
        others = (self.involuntary_per_s or 0.0) > INVOLUNTARY_LIMIT_PER_S
        if self.waiting_share is not None:
            others = others or (self.others_cores or 0.0) > OTHERS_LIMIT
            others = others and self.waiting_share > WAITING_LIMIT
        return others or (self.stolen_share or 0.0) > STEAL_LIMIT


def hottest(observed: Sequence[Observed]) -> float | None:
    """The highest temperature of the sessions in degrees Celsius; None where no sensor tells."""
    return _most(session.hottest_c for session in observed)


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def observe(records: Sequence[SessionRecord], probes: Rows) -> tuple[Observed, ...]:
    """One Observed a record, in order; where several probes saw the same, the worst of it.

    Args:
        records: sessions of one trial.
        probes: the trial's rows of `probes` (see store.records.PROBE_COLUMNS, with `session`).
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
    totals = {
        recorded_name(info): {
            str(channel.get("name"))
            for channel in channels
            if isinstance(channel, Mapping) and channel.get("total") is True
        }
        for info in record.probes
        if isinstance(channels := info.get("channels"), list | tuple)
    }
    observed = _worst(
        [_by_one_probe(of_probe, totals.get(probe, set()), steady) for probe, of_probe in columns.items()]
    )
    # Of several only work that is none of theirs tells of others.
    several = len(record.workers) > 1
    return replace(observed, involuntary_per_s=None, several=True) if several else observed


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
        several=False,
        **{name: _most(getattr(observed, name) for observed in seen) for name in INTERFERING},
    )


INTERFERING = ("involuntary_per_s", "waiting_share", "stolen_share", "others_cores")
"""What else wants the worker's cores; of several probes and sessions the most."""


# What paced and sustained sessions come to: deadlines missed, a median a minute, signs of heat.


HOUR_S = 3600.0


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
    found = {caution.flag: caution for caution in _telemetry_cautions(observed)}
    if drop := found.get(Flag.CLOCK_DROP):
        yield (
            f"{drop.what} dropped by up to {drop.ratio:.0%}, more than {CLOCK_DROP_LIMIT:.0%}, "
            f"in {drop.count} of {drop.of} sessions"
        )
    if throttled := found.get(Flag.THROTTLED):
        sessions = f"{throttled.count} of {throttled.of} sessions"
        yield f"the board reported throttling ({throttled.what}) in {sessions}"


# What is declared of a target's boards, and whether the machine that was measured bears it out.


WITHOUT_HOST = "its boards are sticks or cards alone, and the host that they are plugged into is not counted"
REPLAY = "replay"
"""The device whose figures were measured elsewhere, or written down."""


def board_doubts(target: Target | None, records: Sequence[SessionRecord]) -> dict[str, str]:
    """By declared figure (`BoardFigure`): why it may be another machine's, or a part's alone.

    Empty where nothing speaks against it.

    Args:
        target: as it was declared; its own figures are not doubted, those of its boards are.
        records: of finished sessions, which say what the machine calls itself.
    """
    if target is None or not records:
        return {}
    if target.from_boards and not target.boards:
        return dict.fromkeys(target.from_boards, WITHOUT_HOST)
    boards = target.boards
    models = dict.fromkeys(BoardFacts.of(record.device).board for record in records)
    doubt = next((doubt for model in models if (doubt := unconfirmed(boards, model))), "")
    return dict.fromkeys(target.from_boards, f"the machine was {doubt}") if doubt else {}


def other_machine(target: Target | None, records: Sequence[SessionRecord]) -> str:
    """Why times and power are another machine's than the declared board's; "" where nothing contradicts it.

    Args:
        target: as it was declared. A replay measures nothing on its machine, which contradicts no board.
        records: of finished sessions, which say what the machine is.
    """
    if target is None or target.device == REPLAY:
        return ""
    boards = target.boards
    found = (contradiction(boards, BoardFacts.of(record.device)) for record in records)
    return next((text for text in found if text), "")


def cautions(
    records: Sequence[SessionRecord],
    steady: SteadyPasses,
    observed: Sequence[Observed] = (),
    right: tuple[int, int, int] | None = None,
    board_doubts: Mapping[str, str] | None = None,
    workers: int = 1,
    idle_drifts: Sequence[IdleDrift] = (),
) -> tuple[Caution, ...]:
    """The warnings of a trial: those of its figures, then what its sessions said themselves.

    Args:
        records: all its sessions, failed ones too.
        steady: the steady passes of its finished sessions.
        observed: what telemetry saw in its finished sessions.
        right: images that its artifact predicted right, labelled images and classes; None without labels.
        board_doubts: by figure, why it may be another machine's (`edgebench.judge.cautions`).
        workers: how many shared the device; `steady` has the passes of a lone one.
        idle_drifts: of the primary rail, of the finished sessions that were sampled idle twice.
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
        *_counted(
            Flag.DEADLINES_MISSED, deadlines.misses(late_s), len(late_s), ratio=max(late_s, default=0.0)
        ),
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
        *_counted(
            Flag.UNTIMED_STAGES,
            len(untimed),
            len(ok),
            what=omissions,
        ),
        *_counted(Flag.EMULATED, sum(record.emulated for record in ok), len(ok)),
        *(Caution(Flag.BOARD_UNCONFIRMED, what=f"{doubted}; {doubt}") for doubt in list(doubts.values())[:1]),
        # What the device or its runtime had to say to a reader, and in how many sessions.
        *_by_text(Flag.SAID, len(records), (record.warnings for record in records)),
    )


def _counted(flag: Flag, count: int, of: int = 0, **figures: Any) -> list[Caution]:
    """The warning, where it counts any."""
    return [Caution(flag, count=count, of=of, **figures)] if count else []


def _by_text(flag: Flag, of: int, texts: Iterable[Iterable[str]]) -> list[Caution]:
    """A warning for each text, with the number of sessions that have it; each counts it once."""
    sessions = Counter(text for of_session in texts for text in dict.fromkeys(of_session))
    return [Caution(flag, count, of, what=text) for text, count in sessions.items()]


def shares_accounted(records: Sequence[SessionRecord]) -> list[float]:
    """By session whose stamps fall short of the wait for its passes: the share that they account for."""
    waits = [
        (wait.get("stamped_ns"), wait.get("waited_ns")) for r in records if (wait := r.clock.get("wait"))
    ]
    return [
        stamped_ns / waited_ns
        for stamped_ns, waited_ns in waits
        if stamped_ns is not None and waited_ns is not None and falls_short(stamped_ns, waited_ns)
    ]


def _outlier_count(steady: SteadyPasses) -> int:
    """Passes far from their own session's median: what whole sessions differ by is not a pass's doing.

    The deviations of all sessions are judged at once: a session of a few passes has no spread to speak of.
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
    of = len(observed)
    throttled = [session.throttled for session in observed if session.throttled]
    flags = ", ".join(dict.fromkeys(word for words in throttled for word in words))
    dropped = [session for session in observed if session.dropped]
    names = {session.clock for session in dropped}
    clocks = {CLOCKS.get(name.partition("_")[0], f"the clock {name}".strip()) for name in names}
    interfered = [session for session in observed if session.interfered]
    return [
        *_counted(Flag.THROTTLED, len(throttled), of, what=flags),
        *_counted(
            Flag.CLOCK_DROP,
            len(dropped),
            of,
            ratio=_most(session.clock_drop for session in dropped),
            what=" and ".join(sorted(clocks)),
            celsius=hottest(observed),
        ),
        *_counted(Flag.INTERFERENCE, len(interfered), of, what=_worst_interference(interfered)),
    ]


def _worst_interference(interfered: Sequence[Observed]) -> Interference:
    """What was taken from the worker at the worst, by whom; nothing of what stays within its limit."""
    rate, waited, stolen, others = (
        _most(getattr(session, name) for session in interfered) or 0.0 for name in INTERFERING
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
    """Which meters could not be opened, which probes failed or ended, and which readings were rejected."""
    of = len(records)
    opened = [{recorded_name(info) for info in record.probes} for record in records]
    sessions = list(zip(records, opened, strict=True))
    absent = Counter(
        reason
        for record, probes in sessions
        for meter, reason in record.probe_reasons.items()
        if meter and probe_name(meter) not in probes
    )
    yield from (Caution(Flag.METER_ABSENT, count, of, what=what) for what, count in absent.items())
    yield from _by_text(
        Flag.PROBE_LOST,
        of,
        (
            [reason for probe, reason in reasons_by_probe(record).items() if probe in probes]
            for record, probes in sessions
        ),
    )
    rejected: dict[str, list[tuple[int, Any]]] = {}
    for info in (info for record in records for info in record.probes):
        count = info.get("rejected")
        if isinstance(count, int) and count >= 1:
            rejected.setdefault(recorded_name(info), []).append((count, info.get("rejected_first")))
    for probe, readings in rejected.items():
        what = f"{probe.rstrip(':')}: {sum(count for count, _ in readings)} readings were rejected"
        verbatim = [first[0] for _, first in readings if isinstance(first, list | tuple) and first]
        what += f", the first was {str(verbatim[0])!r}" if verbatim else ""
        yield Caution(Flag.READINGS_REJECTED, len(readings), of, what=what)


def _shape_cautions(steady: SteadyPasses) -> list[Caution]:
    """Whether the sessions' medians look like independent draws of a symmetric bell, as intervals assume."""
    medians = session_medians(steady.latency_s)
    shape = shape_of(medians)
    warnings = []
    of = f" of {steady.quantity}" if steady.quantity == "infer_s" else ""
    if shape.skewed:
        far = max(medians) if shape.tail == "above" else min(medians)
        middle = statistics.median(medians)
        what = f"{shape.tail}: from {middle:.3g} s{of} in the middle to {far:.3g} s"
        warnings.append(Caution(Flag.SKEWED, of=len(medians), what=what))
    if shape.multimodal:
        parts = [f"{len(group)} around {statistics.fmean(group):.3g} s{of}" for group in shape.groups]
        warnings.append(Caution(Flag.MULTIMODAL, of=len(medians), what=" and ".join(parts)))
    if medians and (wider := float(widening(np.array(medians)))) > 1:
        warnings.append(Caution(Flag.RESEMBLING, of=len(medians), ratio=wider, what=steady.quantity))
    return warnings


def _chance_cautions(right: tuple[int, int, int] | None) -> list[Caution]:
    """Whether a model that guesses could have been as often right, or would have been more often."""
    k, n, classes = right or (0, 0, 0)
    if classes < 2:
        return []
    low, high = wilson(k, n)
    if low > 1 / classes:
        return []
    flag = Flag.BELOW_CHANCE if high < 1 / classes else Flag.CHANCE
    return [Caution(flag, count=k, of=n, ratio=1 / classes, what=f"1 of {classes} classes")]
