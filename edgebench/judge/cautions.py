"""What a reader should know of one trial before trusting its figures."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from edgebench.judge.latency import SteadyPasses
from edgebench.judge.power import reasons_by_probe, recorded_name
from edgebench.judge.telemetry import ClockDrops, Observed, hottest
from edgebench.judge.trial_summary import Accuracy, omission
from edgebench.link.board_facts import BoardFacts, contradiction, unconfirmed
from edgebench.records.session import probe_name
from edgebench.records.stored import SessionRecord
from edgebench.records.target import BOARD_FIGURES, Target
from edgebench.stats import percentiles as deadlines
from edgebench.stats.clock import falls_short
from edgebench.stats.intervals import MIN_SESSIONS, outliers, session_medians
from edgebench.stats.power import IdleDrift
from edgebench.stats.shape import heat, rise_together, shape_of
from edgebench.stats.warnings import (
    INVOLUNTARY_LIMIT_PER_S,
    OTHERS_LIMIT,
    STEAL_LIMIT,
    WAITING_LIMIT,
    Caution,
    Flag,
    Interference,
)

# What is declared of a target's boards, and whether the machine that was measured bears it out.


WITHOUT_HOST = "its boards are sticks or cards alone, and the host that they are plugged into is not counted"
REPLAY = "replay"
"""The device whose figures were measured elsewhere, or written down."""


def board_caution(doubts: Mapping[str, str]) -> Caution | None:
    """The warning of a trial with those doubts; None where there are none."""
    if not doubts:
        return None
    figures = " and ".join(BOARD_FIGURES[name] for name in doubts)
    return Caution(Flag.BOARD_UNCONFIRMED, what=f"{figures}; {next(iter(doubts.values()))}")


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
    accuracy: Accuracy | None = None,
    board_doubts: Mapping[str, str] | None = None,
    workers: int = 1,
    idle_drifts: Sequence[IdleDrift] = (),
) -> tuple[Caution, ...]:
    """The warnings of a trial: those of its figures, then what its sessions said themselves.

    Args:
        records: all its sessions, failed ones too.
        steady: the steady passes of its finished sessions.
        observed: what telemetry saw in its finished sessions.
        accuracy: of its artifact; None where there is none.
        board_doubts: by figure, why it may be another machine's (`edgebench.judge.cautions`).
        workers: how many shared the device; `steady` has the passes of a lone one.
        idle_drifts: of the primary rail, of the finished sessions that were sampled idle twice.
    """
    ok = [record for record in records if record.status == "ok"]
    warnings: list[Caution] = []
    if workers > 1:
        warnings.append(Caution(Flag.SEVERAL_WORKERS, count=workers))
    if 0 < len(steady.latency_s) < MIN_SESSIONS:
        warnings.append(Caution(Flag.FEW_SESSIONS, count=len(steady.latency_s), of=MIN_SESSIONS))
    if count := sum(record.warmup.get("steady") is False for record in ok):
        warnings.append(Caution(Flag.NOT_STEADY, count=count, of=len(ok)))
    if count := _outlier_count(steady):
        warnings.append(Caution(Flag.OUTLIERS, count=count, of=steady.count, unit=steady.unit))
    warnings += _shape_cautions(steady)
    warnings += _thermal_cautions(steady, hottest(observed))
    warnings += _telemetry_cautions(observed)
    warnings += _absent_meter_cautions(ok)
    warnings += _lost_probe_cautions(ok)
    warnings += _rejected_reading_cautions(ok)
    warnings += _idle_drift_cautions(idle_drifts)
    warnings += _deadline_cautions(steady)
    warnings += _chance_cautions(accuracy)
    if short := shares_accounted(ok):
        warnings.append(Caution(Flag.STAMPS_SHORT, count=len(short), of=len(ok), ratio=min(short)))
    if count := sum(record.status == "golden_mismatch" for record in records):
        warnings.append(Caution(Flag.GOLDEN_MISMATCH, count=count, of=len(records)))
    if count := sum(record.golden is None for record in ok):
        warnings.append(Caution(Flag.GOLDEN_ABSENT, count=count, of=len(ok)))
    if (builds := len({record.built.sha256 for record in ok if record.built})) > 1:
        warnings.append(Caution(Flag.BUILDS_DIFFER, count=builds, of=len(ok)))
    if steady.extrapolated:
        warnings.append(
            Caution(
                Flag.EXTRAPOLATED,
                count=steady.extrapolated,
                of=steady.count,
                unit=steady.unit,
                what=f"{steady.measured_patches} of {steady.scene_patches} patches",
            )
        )
    if untimed := [record.untimed_stages for record in ok if record.untimed_stages and steady.image_s]:
        what = " or ".join(dict.fromkeys(map(omission, untimed)))
        warnings.append(Caution(Flag.UNTIMED_STAGES, count=len(untimed), of=len(ok), what=what))
    if count := sum(record.emulated for record in ok):
        warnings.append(Caution(Flag.EMULATED, count=count, of=len(ok)))
    if body := board_caution(board_doubts or {}):
        warnings.append(body)
    return (*warnings, *_session_warnings(records))


def shares_accounted(records: Sequence[SessionRecord]) -> list[float]:
    """Of each session whose stamps fall short of the wait for its passes, the share that they account for."""
    waits = [
        (wait.get("stamped_ns"), wait.get("waited_ns")) for r in records if (wait := r.clock.get("wait"))
    ]
    return [
        stamped_ns / waited_ns
        for stamped_ns, waited_ns in waits
        if stamped_ns is not None and waited_ns is not None and falls_short(stamped_ns, waited_ns)
    ]


def _session_warnings(records: Sequence[SessionRecord]) -> list[Caution]:
    """What the device or its runtime had to say to a reader, and in how many sessions."""
    sessions_by_text = Counter(text for record in records for text in dict.fromkeys(record.warnings))
    return [Caution(Flag.SAID, count, len(records), what=text) for text, count in sessions_by_text.items()]


def _outlier_count(steady: SteadyPasses) -> int:
    """Passes far from their own session's median: what whole sessions differ by is not a pass's doing.

    The deviations of all sessions are judged at once: a session of a few passes has no spread to speak of.
    """
    sessions = [np.asarray(values) for values in steady.latency_s if values]
    relative = [values / median - 1 for values in sessions if (median := float(np.median(values))) > 0]
    return int(outliers(np.concatenate(relative)).sum()) if relative else 0


def _thermal_cautions(steady: SteadyPasses, celsius: float | None) -> list[Caution]:
    trends = [heat(at_s, image_s) for at_s, image_s in zip(steady.at_s, steady.latency_s, strict=True)]
    suspected = [trend for trend in trends if trend is not None and trend.suspected]
    if not suspected:
        rise = rise_together(steady.at_s, steady.latency_s)
        return (
            []
            if rise is None
            else [Caution(Flag.THERMAL_SHORT, of=len(trends), ratio=rise, unit=steady.unit, celsius=celsius)]
        )
    ratio = max(trend.ratio for trend in suspected)
    return [
        Caution(Flag.THERMAL_SUSPECTED, count=len(suspected), of=len(trends), ratio=ratio, celsius=celsius)
    ]


def _telemetry_cautions(observed: Sequence[Observed]) -> list[Caution]:
    warnings = []
    of = len(observed)
    if throttled := [session.throttled for session in observed if session.throttled]:
        what = ", ".join(dict.fromkeys(word for words in throttled for word in words))
        warnings.append(Caution(Flag.THROTTLED, count=len(throttled), of=of, what=what))
    if drops := ClockDrops.of(observed):
        warnings.append(
            Caution(
                Flag.CLOCK_DROP,
                count=drops.count,
                of=of,
                ratio=drops.worst,
                what=drops.clocks,
                celsius=hottest(observed),
            )
        )
    if interfered := [session for session in observed if session.interfered]:
        warnings.append(
            Caution(Flag.INTERFERENCE, count=len(interfered), of=of, what=_worst_interference(interfered))
        )
    return warnings


def _worst_interference(interfered: Sequence[Observed]) -> Interference:
    """What was taken from the worker at the worst, by whom; nothing of what stays within its limit."""
    rate = max(session.involuntary_per_s or 0.0 for session in interfered)
    waited = max(session.waiting_share or 0.0 for session in interfered)
    others = max(session.others_cores or 0.0 for session in interfered)
    stolen = max(session.stolen_share or 0.0 for session in interfered)
    put_off = rate > INVOLUNTARY_LIMIT_PER_S or waited > WAITING_LIMIT
    return Interference(
        stolen_share=stolen if stolen > STEAL_LIMIT else 0.0,
        others_cores=others if others > OTHERS_LIMIT else 0.0,
        involuntary_per_s=rate if put_off else 0.0,
        waiting_share=waited if put_off else 0.0,
    )


def _absent_meter_cautions(records: Sequence[SessionRecord]) -> list[Caution]:
    """Which meters were asked for and could not be opened, and in how many sessions."""
    absent = Counter(
        reason
        for record in records
        for meter, reason in record.probe_reasons.items()
        if meter and probe_name(meter) not in _opened(record)
    )
    return [Caution(Flag.METER_ABSENT, count, len(records), what=what) for what, count in absent.items()]


def _opened(record: SessionRecord) -> set[str]:
    """The probes that announced themselves, as `kind:address`."""
    return {recorded_name(info) for info in record.probes}


def _lost_probe_cautions(records: Sequence[SessionRecord]) -> list[Caution]:
    """Which meters and monitors announced themselves and then failed or ended, and in how many sessions."""
    lost = Counter(
        reason
        for record in records
        for reason in dict.fromkeys(
            reason for probe, reason in reasons_by_probe(record).items() if probe in _opened(record)
        )
    )
    return [Caution(Flag.PROBE_LOST, count, len(records), what=what) for what, count in lost.items()]


def _rejected_reading_cautions(records: Sequence[SessionRecord]) -> list[Caution]:
    """Which probes gave readings that were rejected, how many over all sessions, and the first of them."""
    counts: Counter[str] = Counter()
    sessions: Counter[str] = Counter()
    first: dict[str, str] = {}
    for record in records:
        for info in record.probes:
            count, verbatim = info.get("rejected"), info.get("rejected_first")
            if not isinstance(count, int) or count < 1:
                continue
            probe = recorded_name(info)
            counts[probe] += count
            sessions[probe] += 1
            if isinstance(verbatim, list | tuple) and verbatim:
                first.setdefault(probe, str(verbatim[0]))
    return [
        Caution(
            Flag.READINGS_REJECTED,
            sessions[probe],
            len(records),
            what=f"{probe.rstrip(':')}: {count} readings were rejected"
            + (f", the first was {first[probe]!r}" if probe in first else ""),
        )
        for probe, count in counts.items()
    ]


def _idle_drift_cautions(drifts: Sequence[IdleDrift]) -> list[Caution]:
    unexplained_w = [abs(drift.drift_w) for drift in drifts if drift.unexplained]
    if not unexplained_w:
        return []
    return [Caution(Flag.IDLE_DRIFT, count=len(unexplained_w), of=len(drifts), ratio=max(unexplained_w))]


def _shape_cautions(steady: SteadyPasses) -> list[Caution]:
    """Whether the sessions' medians look like draws from one symmetric bell, which the interval assumes."""
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
    return warnings


def _deadline_cautions(steady: SteadyPasses) -> list[Caution]:
    late_s = [late for session in steady.lateness_s for late in session]
    count = deadlines.misses(late_s)
    if not count:
        return []
    return [Caution(Flag.DEADLINES_MISSED, count=count, of=len(late_s), ratio=max(late_s))]


def _chance_cautions(accuracy: Accuracy | None) -> list[Caution]:
    """Whether a model that guesses could have been as often right, or would have been more often."""
    classes = 0 if accuracy is None else len(accuracy.class_names)
    if accuracy is None or classes < 2 or accuracy.low > 1 / classes:
        return []
    what = f"1 of {classes} classes"
    flag = Flag.BELOW_CHANCE if accuracy.high < 1 / classes else Flag.CHANCE
    return [Caution(flag, count=accuracy.k, of=accuracy.n, ratio=1 / classes, what=what)]
