"""What a reader should know of one trial before trusting its figures."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from edgebench.judge.latency import SteadyPasses
from edgebench.judge.power import reasons_by_probe, recorded_name
from edgebench.judge.telemetry import INTERFERING, ClockDrops, Observed, hottest
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
    few = 0 < len(steady.latency_s) < MIN_SESSIONS
    short = shares_accounted(ok)
    builds = len({record.built.sha256 for record in ok if record.built})
    untimed = [record.untimed_stages for record in ok if record.untimed_stages and steady.image_s]
    drifts_w = [abs(drift.drift_w) for drift in idle_drifts if drift.unexplained]
    late_s = [late for session in steady.lateness_s for late in session]
    omissions = " or ".join(dict.fromkeys(map(omission, untimed)))
    doubts = board_caution(board_doubts or {})
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
        *_chance_cautions(accuracy),
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
        *((doubts,) if doubts else ()),
        # What the device or its runtime had to say to a reader, and in how many sessions.
        *_by_text(Flag.SAID, len(records), (record.warnings for record in records)),
    )


def _counted(flag: Flag, count: int, of: int = 0, **figures: Any) -> list[Caution]:
    """The warning, where it counts any."""
    return [Caution(flag, count=count, of=of, **figures)] if count else []


def _by_text(flag: Flag, of: int, texts: Iterable[Iterable[str]]) -> list[Caution]:
    """A warning for each text, with the number of sessions that have it, each of which counts it once."""
    sessions = Counter(text for of_session in texts for text in dict.fromkeys(of_session))
    return [Caution(flag, count, of, what=text) for text, count in sessions.items()]


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
    of, drops = len(observed), ClockDrops.of(observed)
    throttled = [session.throttled for session in observed if session.throttled]
    what = ", ".join(dict.fromkeys(word for words in throttled for word in words))
    warnings = _counted(Flag.THROTTLED, len(throttled), of, what=what)
    if drops:
        celsius = hottest(observed)
        warnings.append(
            Caution(Flag.CLOCK_DROP, drops.count, of, ratio=drops.worst, what=drops.clocks, celsius=celsius)
        )
    if interfered := [session for session in observed if session.interfered]:
        worst = _worst_interference(interfered)
        warnings.append(Caution(Flag.INTERFERENCE, len(interfered), of, what=worst))
    return warnings


def _worst_interference(interfered: Sequence[Observed]) -> Interference:
    """What was taken from the worker at the worst, by whom; nothing of what stays within its limit."""
    rate, waited, stolen, others = (
        max(getattr(session, name) or 0.0 for session in interfered) for name in INTERFERING
    )
    put_off = rate > INVOLUNTARY_LIMIT_PER_S or waited > WAITING_LIMIT
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


def _chance_cautions(accuracy: Accuracy | None) -> list[Caution]:
    """Whether a model that guesses could have been as often right, or would have been more often."""
    classes = 0 if accuracy is None else len(accuracy.class_names)
    if accuracy is None or classes < 2 or accuracy.low > 1 / classes:
        return []
    what = f"1 of {classes} classes"
    flag = Flag.BELOW_CHANCE if accuracy.high < 1 / classes else Flag.CHANCE
    return [Caution(flag, count=accuracy.k, of=accuracy.n, ratio=1 / classes, what=what)]
