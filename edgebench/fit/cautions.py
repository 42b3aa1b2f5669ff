"""What a reader should know of one trial before trusting its figures."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from edgebench.fit.declared_body import board_caution
from edgebench.fit.latency import SteadyPasses
from edgebench.fit.probe_reasons import reasons_by_probe
from edgebench.fit.telemetry_summary import Observed
from edgebench.fit.trial_summary import Accuracy
from edgebench.stats import deadlines
from edgebench.stats.heat import heat, rise_together
from edgebench.stats.intervals import MIN_SESSIONS, session_medians
from edgebench.stats.outliers import outliers
from edgebench.stats.shape import shape_of
from edgebench.stats.telemetry_window import INVOLUNTARY_LIMIT_PER_S, OTHERS_LIMIT, STEAL_LIMIT, WAITING_LIMIT
from edgebench.stats.warnings import Caution, Flag, Interference
from edgebench.store.records import SessionRecord


def cautions(
    records: Sequence[SessionRecord],
    steady: SteadyPasses,
    observed: Sequence[Observed] = (),
    accuracy: Accuracy | None = None,
    board_doubts: Mapping[str, str] | None = None,
    workers: int = 1,
) -> tuple[Caution, ...]:
    """The warnings of a trial: those of its figures, then what its sessions said themselves.

    Args:
        records: all its sessions, failed ones too.
        steady: the steady passes of its finished sessions.
        observed: what telemetry saw in its finished sessions.
        accuracy: of its artifact; None where there is none.
        board_doubts: by figure, why it may be another machine's (`edgebench.fit.declared_body`).
        workers: how many shared the device; `steady` has the passes of a lone one.
    """
    ok = [record for record in records if record.status == "ok"]
    found: list[Caution] = []
    if workers > 1:
        found.append(Caution(Flag.SEVERAL_WORKERS, count=workers))
    if 0 < len(steady.latency_s) < MIN_SESSIONS:
        found.append(Caution(Flag.FEW_SESSIONS, count=len(steady.latency_s), of=MIN_SESSIONS))
    if count := sum(record.warmup.get("steady") is False for record in ok):
        found.append(Caution(Flag.NOT_STEADY, count=count, of=len(ok)))
    if count := _outliers(steady):
        found.append(Caution(Flag.OUTLIERS, count=count, of=steady.count, unit=steady.unit))
    found += _shaped(steady)
    found += _thermal(steady)
    found += _observed(observed)
    found += _lost_probes(ok)
    found += _rejected_readings(ok)
    found += _missed(steady)
    found += _guessing(accuracy)
    if count := sum(record.status == "golden_mismatch" for record in records):
        found.append(Caution(Flag.GOLDEN_MISMATCH, count=count, of=len(records)))
    if count := sum(record.golden is None for record in ok):
        found.append(Caution(Flag.GOLDEN_ABSENT, count=count, of=len(ok)))
    if (builds := len({record.built.sha256 for record in ok if record.built})) > 1:
        found.append(Caution(Flag.BUILDS_DIFFER, count=builds, of=len(ok)))
    if steady.extrapolated:
        found.append(Caution(Flag.EXTRAPOLATED, count=steady.extrapolated, of=steady.count, unit=steady.unit))
    if count := sum(record.emulated for record in ok):
        found.append(Caution(Flag.EMULATED, count=count, of=len(ok)))
    if body := board_caution(board_doubts or {}):
        found.append(body)
    return (*found, *_said_by_sessions(records))


def _said_by_sessions(records: Sequence[SessionRecord]) -> list[Caution]:
    """What the device or its runtime had to say to a reader, and in how many sessions."""
    said = Counter(text for record in records for text in dict.fromkeys(record.warnings))
    return [Caution(Flag.SAID, count, len(records), what=text) for text, count in said.items()]


def _outliers(steady: SteadyPasses) -> int:
    """Passes far from their own session's median: what whole sessions differ by is not a pass's doing.

    The deviations of all sessions are judged at once: a session of a few passes has no spread to speak of.
    """
    sessions = [np.asarray(values) for values in steady.latency_s if values]
    away = [values / median - 1 for values in sessions if (median := float(np.median(values))) > 0]
    return int(outliers(np.concatenate(away)).sum()) if away else 0


def _thermal(steady: SteadyPasses) -> list[Caution]:
    judged = [heat(at_s, image_s) for at_s, image_s in zip(steady.at_s, steady.latency_s, strict=True)]
    hot = [one for one in judged if one is not None and one.suspected]
    if not hot:
        rise = rise_together(steady.at_s, steady.latency_s)
        return (
            []
            if rise is None
            else [Caution(Flag.THERMAL_SHORT, of=len(judged), ratio=rise, unit=steady.unit)]
        )
    ratio = max(one.ratio for one in hot)
    return [Caution(Flag.THERMAL_SUSPECTED, count=len(hot), of=len(judged), ratio=ratio)]


def _observed(observed: Sequence[Observed]) -> list[Caution]:
    found = []
    of = len(observed)
    if throttled := [one.throttled for one in observed if one.throttled]:
        what = ", ".join(dict.fromkeys(word for words in throttled for word in words))
        found.append(Caution(Flag.THROTTLED, count=len(throttled), of=of, what=what))
    if drops := [one.clock_drop for one in observed if one.dropped and one.clock_drop is not None]:
        found.append(Caution(Flag.CLOCK_DROP, count=len(drops), of=of, ratio=max(drops)))
    if interfered := [one for one in observed if one.interfered]:
        found.append(Caution(Flag.INTERFERENCE, count=len(interfered), of=of, what=_worst(interfered)))
    return found


def _worst(interfered: Sequence[Observed]) -> Interference:
    """What was taken from the worker at the worst, by whom; nothing of what stays within its limit."""
    rate = max(one.involuntary_per_s or 0.0 for one in interfered)
    waited = max(one.waiting_share or 0.0 for one in interfered)
    others = max(one.others_cores or 0.0 for one in interfered)
    stolen = max(one.stolen_share or 0.0 for one in interfered)
    put_off = rate > INVOLUNTARY_LIMIT_PER_S or waited > WAITING_LIMIT
    return Interference(
        stolen_share=stolen if stolen > STEAL_LIMIT else 0.0,
        others_cores=others if others > OTHERS_LIMIT else 0.0,
        involuntary_per_s=rate if put_off else 0.0,
        waiting_share=waited if put_off else 0.0,
    )


def _lost_probes(records: Sequence[SessionRecord]) -> list[Caution]:
    """Which meters and monitors announced themselves and then failed or ended, and in how many sessions."""
    lost = Counter(
        reason
        for record in records
        for reason in dict.fromkeys(
            reason
            for probe, reason in reasons_by_probe(record).items()
            if probe in {f"{info.get('kind')}:{info.get('address')}" for info in record.probes}
        )
    )
    return [Caution(Flag.PROBE_LOST, count, len(records), what=what) for what, count in lost.items()]


def _rejected_readings(records: Sequence[SessionRecord]) -> list[Caution]:
    """Which probes gave readings that were rejected, how many over all sessions, and the first of them."""
    counts: Counter[str] = Counter()
    sessions: Counter[str] = Counter()
    first: dict[str, str] = {}
    for record in records:
        for info in record.probes:
            count, verbatim = info.get("rejected"), info.get("rejected_first")
            if not isinstance(count, int) or count < 1:
                continue
            probe = f"{info.get('kind')}:{info.get('address')}"
            counts[probe] += count
            sessions[probe] += 1
            if isinstance(verbatim, list | tuple) and verbatim:
                first.setdefault(probe, str(verbatim[0]))
    return [
        Caution(
            Flag.READINGS_REJECTED,
            sessions[probe],
            len(records),
            what=f"{probe}: {count} readings were rejected"
            + (f", the first was {first[probe]!r}" if probe in first else ""),
        )
        for probe, count in counts.items()
    ]


def _shaped(steady: SteadyPasses) -> list[Caution]:
    """Whether the sessions' medians look like draws from one symmetric bell, which the interval assumes."""
    medians = session_medians(steady.latency_s)
    shape = shape_of(medians)
    found = []
    of = f" of {steady.quantity}" if steady.unit == "windows" else ""
    if shape.skewed:
        far = max(medians) if shape.tail == "above" else min(medians)
        middle = statistics.median(medians)
        what = f"{shape.tail}: from {middle:.3g} s{of} in the middle to {far:.3g} s"
        found.append(Caution(Flag.SKEWED, of=len(medians), what=what))
    if shape.multimodal:
        parts = [f"{len(group)} around {statistics.fmean(group):.3g} s{of}" for group in shape.groups]
        found.append(Caution(Flag.MULTIMODAL, of=len(medians), what=" and ".join(parts)))
    return found


def _missed(steady: SteadyPasses) -> list[Caution]:
    late_s = [late for session in steady.lateness_s for late in session]
    count = deadlines.misses(late_s)
    if not count:
        return []
    return [Caution(Flag.DEADLINES_MISSED, count=count, of=len(late_s), ratio=max(late_s))]


def _guessing(accuracy: Accuracy | None) -> list[Caution]:
    """Whether a model that guesses could have been as often right, or would have been more often."""
    classes = 0 if accuracy is None else len(accuracy.class_names)
    if accuracy is None or classes < 2 or accuracy.low > 1 / classes:
        return []
    what = f"1 of {classes} classes"
    flag = Flag.BELOW_CHANCE if accuracy.high < 1 / classes else Flag.CHANCE
    return [Caution(flag, count=accuracy.k, of=accuracy.n, ratio=1 / classes, what=what)]
