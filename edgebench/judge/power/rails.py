"""Power and energy of a trial: one rail per channel of its meters, over the steady times of its sessions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.steady_time import SteadyTime
from edgebench.judge.trial import EMULATED, UNKNOWN_SCOPE, Estimate, Rail, Scope
from edgebench.records.session import LIVE_SAMPLES, UNKNOWN_REACH_S
from edgebench.records.stored import SessionRecord
from edgebench.records.target import DeclaredPower
from edgebench.results.meters import (
    FALLS,
    UNITS,
    Channel,
    channels_of,
    lag_note,
    lag_reach_s,
    meters_reason,
    reasons_by_probe,
    recorded_name,
    recorded_number,
    unrelated_reason,
    watts_of,
)
from edgebench.results.rows import Rows, by_number
from edgebench.stats.intervals import CONFIDENCE, interval_reason, resemblance
from edgebench.stats.percentiles import least_n
from edgebench.stats.power import (
    CHECK_WIRING,
    EDGE_PERIODS,
    FEW_READINGS,
    IdleDrift,
    ImageEnergy,
    Margin,
    WindowPower,
    covers_its_period,
    energy_per_image,
    idle_drift,
    idle_power,
    idle_window,
    not_connected_reason,
    not_positive_reason,
    of_unknown_lag,
    passes_in_step,
    passes_power,
    phase_half_width,
    unsettled_doubt,
    widened_interval,
)
from edgebench.stats.power_curve import NO_SAMPLES, power_curve
from edgebench.texts import joined

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded

WIDE_SCOPES: tuple[Scope, ...] = ("board", "usb", "wall")
"""Scopes that hold all that a board draws, the closest to it first."""

SCOPES: tuple[Scope, ...] = (*WIDE_SCOPES, "module", "chip")
"""Order in which meters represent a board: those of all of it, then of parts; any other comes last."""

STUCK_READINGS = 10
"""Readings before the work, and from then on, whose equality is no chance."""

MOST_UNSETTLED = 0.75
"""Share of the idle windows that may hold load of the work, from which on there is no net energy."""

LEAST_DOUBT = 0.01
"""From this share of net energy on its doubt is reported."""


# Rails of a trial.


def scope_of(stated: object) -> Scope:
    """Scope that a meter states, where it is one of SCOPES."""
    return next((scope for scope in SCOPES if scope == stated), UNKNOWN_SCOPE)


def scope_rank(scope: str) -> int:
    """Place of a scope among SCOPES."""
    return next((place for place, name in enumerate(SCOPES) if name == scope), len(SCOPES))


@dataclass(frozen=True)
class RailPower:
    """Rail with its estimates.

    Attributes:
        estimates: by metric, at its default statistic; `power_p99_w` is that of all samples.
        idle_drifts: drifts of the sessions that were sampled before and after their work.
    """

    rail: Rail
    estimates: Mapping[str, Estimate]
    idle_drifts: tuple[IdleDrift, ...] = ()

    @property
    def rank(self) -> tuple[bool, int, bool, float]:
        """Rank among rails of a board: by SCOPES, then the total, then the one that carries most."""
        peak_w, mean_w = (self.estimates[name].value for name in ("power_peak_w", "power_mean_w"))
        return peak_w is None, scope_rank(self.rail.scope), not self.rail.total, -(mean_w or peak_w or 0.0)


def power_of(recorded: Recorded) -> tuple[RailPower, ...]:
    """Rails of a trial with their estimates by rank; empty without a meter and of an emulated device."""
    return recorded.once("power", lambda: _power_of(recorded))


def _power_of(recorded: Recorded) -> tuple[RailPower, ...]:

    if recorded.is_emulated:
        return ()
    rails = power_of_sessions(recorded.ok, lambda: recorded.probes, recorded.steady_times)
    if not recorded.is_shared:
        return rails
    # Energy is that of an image of any worker, over the time when all ran, and none's own.
    unpooled = dict.fromkeys(("energy_j", "net_energy_j"), Estimate(reason=recorded.unpooled_reason))
    shared = [
        {**power.estimates, **unpooled, "together_energy_j": power.estimates["energy_j"]} for power in rails
    ]
    return tuple(replace(power, estimates=own) for power, own in zip(rails, shared, strict=True))


def rails_of(recorded: Recorded) -> tuple[Rail, ...]:
    """Rails of a trial, by rank: the first represents the board, and the first of a meter that meter."""
    return tuple(power.rail for power in power_of(recorded))


def idle_drifts_of(recorded: Recorded) -> tuple[IdleDrift, ...]:
    """Idle drifts of the rail that represents the board, of every session that has one."""
    return next((power.idle_drifts for power in power_of(recorded)), ())


def power_reason(recorded: Recorded) -> str:
    """Reason why a trial has no rail; empty for its status, where no session ended well."""
    if recorded.is_emulated:
        return EMULATED
    missing = "the meter gave nothing" if recorded.target and recorded.target.meters else "no meter"
    return meters_reason(recorded.ok) or (missing if recorded.ok else "")


def power_doubts(recorded: Recorded) -> Mapping[str, str]:
    """Contradictions of declared power by "power.maximum" and "power.typical", as sentences.

    A maximum is contradicted by any trial of the target; a typical power by the trial's own meters, since a
    load may draw less than its maker's.
    """
    declared = recorded.shown_target.declared_power if recorded.shown_target else ()
    doubts = {}
    for power in declared:
        trials = [recorded]
        if power.kind == "maximum":
            siblings = recorded.siblings.values()
            trials = [trial for trial in siblings if trial.trial.target == recorded.trial.target]
        contradictions = (contradiction(power, rail) for trial in trials for rail in power_of(trial))
        if doubt := next(filter(None, contradictions), ""):
            doubts[f"power.{power.kind}"] = doubt
    return doubts


def contradiction(power: DeclaredPower, metered: RailPower) -> str:
    """Sentence that a rail contradicts declared power; empty where it does not."""
    rail, peak_w = metered.rail, metered.estimates["power_peak_w"].value
    if peak_w is None:
        return ""
    saw = "saw"
    contradicts = peak_w > power.watts
    if power.kind == "typical":
        saw = "saw no more than"
        contradicts = peak_w < power.watts and rail.scope in WIDE_SCOPES and not rail.uncovered
    meter = f"{rail.meter.removesuffix(':')} ({rail.channel}, {rail.scope})"
    return f"the {power} decides nothing: {meter} {saw} {peak_w:.3g} W" if contradicts else ""


def power_of_sessions(
    records: Sequence[SessionRecord], probes: Callable[[], Rows], times: Mapping[int, SteadyTime]
) -> tuple[RailPower, ...]:
    """Rails of finished sessions with their estimates, by rank; empty where no session had a meter.

    Means, idle power and energy are means over the sessions, the peak is the highest of all, with intervals
    by `stats.power`; the rate is the lowest that a session's samples came at.

    Args:
        records: a trial's finished sessions.
        probes: function that gives the trial's rows of `probes`; called where there is a meter.
        times: steady time of each session, and its images.
    """
    channels = list(dict.fromkeys(channel for record in records for channel in channels_of(record)))
    if not channels:
        return ()
    by_session = by_number(probes(), "session")
    # The test for drift is corrected for the number of sessions (Bonferroni).
    confidence = 1 - (1 - CONFIDENCE) / len(records)
    rails = []
    names: Counter[str] = Counter()
    for channel in channels:
        sessions = [
            session_power(channel, record, by_session.get(record.n), times.get(record.n), confidence)
            for record in records
            if channel in channels_of(record)
        ]
        # A meter of another device tells nothing, in no session.
        if falls := next((power.unrelated for power in sessions if power.unrelated.startswith(FALLS)), ""):
            energy = ImageEnergy(reason=falls)
            sessions = [
                replace(power, window=_void(power.window, falls), idle=None, idle_drift=None, energy=energy)
                for power in sessions
            ]
        name = f"{channel.meter.removesuffix(':')} {channel.name}"
        names[name] += 1
        # Sessions may state another rate or unit of a channel.
        name += f" ({names[name]})" if names[name] > 1 else ""
        rails.append(_rail_power(name, channel, sessions, lag_note(records, channel.meter)))
    return tuple(sorted(rails, key=lambda power: power.rank))


def _rail_power(name: str, channel: Channel, sessions: Sequence[SessionPower], lag: str) -> RailPower:
    windows = [session.window for session in sessions]
    measured = [window for window in windows if window.mean_w is not None]
    energies = [session.energy for session in sessions if session.energy.gross_j is not None]
    nets = [energy for energy in energies if energy.net_j is not None]
    means = _present(window.mean_w for window in measured)
    peaks = _present(window.peak_w for window in windows)

    def reason_of(own: Callable[[SessionPower], str]) -> str:
        """Sentences on the sessions' numbers, each once; `own` gives those of the power or of the energy."""
        sentences = [
            sentence
            for session in sessions
            for sentence in dict.fromkeys((own(session), session.window.note, session.stuck))
        ]
        return joined(*_counted(sentences, len(sessions)), lag if means else "", resemblance(means))

    power_text = reason_of(lambda session: session.window.reason)
    energy_text = reason_of(lambda session: session.energy.reason)
    uncovered = [
        session.window.reason or session.unread
        for session in sessions
        if session.window.mean_w is None or session.unread
    ]
    missed = "; ".join(texts[0] for texts in _alike(uncovered))
    lag_s = max((window.lag_s for window in measured), default=0.0)
    averaging_ms = [session.averaging_ms for session in sessions if session.window.samples]
    drifts = tuple(session.idle_drift for session in sessions if session.idle_drift is not None)
    rail = Rail(
        name,
        channel.meter,
        channel.name,
        scope_of(channel.scope),
        total=channel.total,
        rate_hz=channel.rate_hz,
        effective_hz=min(_present(window.effective_hz for window in windows), default=None),
        longest_gap_s=max(_present(window.longest_gap_s for window in windows), default=None),
        averaging_ms=None if None in averaging_ms else min(_present(averaging_ms), default=None),
        window_s=min((window.window_s for window in windows if window.window_s > 0), default=None),
        samples=sum(window.samples for window in windows),
        rejected=sum(session.rejected for session in sessions),
        uncovered=f"{len(uncovered)} of {len(sessions)} sessions: {missed}" if uncovered else "",
        unknown_lag_s=lag_s or None,
        idle_drift_w=_mean([drift.drift_w for drift in drifts]),
        pauses=max((window.pauses for window in measured), default=0.0),
        reason=energy_text,
        curves=tuple(window.curve for window in windows),
    )

    def estimate(
        value: float | None,
        ends: tuple[float | None, float | None] = (None, None),
        by_session: Sequence[float] = (),
        missing: str = power_text,
        without_ends: str = power_text,
    ) -> Estimate:
        """Estimate with the reason why it has no value, or no interval."""
        if value is None:
            return Estimate(reason=missing or "it gave nothing", basis=rail.scope)
        reason = without_ends or interval_reason(len(sessions)) if None in ends else ""
        return Estimate(value, *ends, tuple(by_session), rail.samples, rail.scope, reason)

    margins_w = [(w.mean_margin_w, w.lag_margin_w.plus(w.pauses_margin_w)) for w in measured]
    gross_j = [energy.gross_j for energy in energies if energy.gross_j is not None]
    net_j = [energy.net_j for energy in nets if energy.net_j is not None]
    # The edges of idle windows are not known either where the lag is not.
    unlagged = [] if lag_s else nets
    around = [float(w.curve.around.watts.max()) for w in measured if w.curve.around is not None]
    peak_w = max(peaks, default=None)
    watts = np.concatenate([window.curve.watts for window in windows])
    p99_w = float(np.quantile(watts, 0.99, overwrite_input=True)) if len(watts) >= least_n(0.99) else None
    few_samples = f"it takes {least_n(0.99)} samples"
    idle_w = _present(session.idle.mean_w for session in sessions if session.idle)
    energy_ends = _bounds(gross_j, [(energy.gross_margin_j, energy.gross_doubt_j) for energy in energies])
    net_ends = _bounds(
        net_j if unlagged else [], [(energy.net_margin_j, energy.net_doubt_j) for energy in unlagged]
    )
    return RailPower(
        rail,
        {
            "power_mean_w": estimate(_mean(means), _bounds(means, margins_w), means),
            "power_peak_w": estimate(peak_w, (peak_w, max(peaks + around) if lag_s else peak_w)),
            "power_p99_w": estimate(p99_w, missing=few_samples if len(watts) else power_text),
            "power_idle_w": estimate(_mean(idle_w), missing=energy_text, without_ends=energy_text),
            "energy_j": estimate(_mean(gross_j), energy_ends, gross_j, missing=energy_text),
            "net_energy_j": estimate(
                _mean(net_j), net_ends, net_j, missing=energy_text, without_ends=energy_text
            ),
        },
        drifts,
    )


def _bounds(
    values: Sequence[float], margins: Sequence[tuple[Margin | None, Margin]]
) -> tuple[float | None, float | None]:
    """Interval of a mean over sessions, each with its margin and with the doubt that all share."""
    low, high = widened_interval(values, [margin for margin, _ in margins])
    if not margins:
        return low, high
    below, above = (
        math.fsum(side) / len(margins) for side in zip(*(doubt for _, doubt in margins), strict=True)
    )
    return None if low is None else low - below, None if high is None else high + above


def _counted(sentences: Sequence[str], sessions: int) -> list[str]:
    """Each sentence once, with the number of sessions that have it where not all do."""
    counted = []
    for texts in _alike(sentences):
        total = "" if len(texts) == sessions else f" of {sessions}"
        if len(set(texts)) > 1:
            counted.append(f"{texts[0]} (in the first of {len(texts)} such sessions{total})")
        else:
            counted.append(f"{texts[0]} (in {len(texts)}{total} sessions)" if total else texts[0])
    return counted


_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def _alike(sentences: Sequence[str]) -> list[list[str]]:
    """Sentences in groups whose members differ in their numbers alone, in order."""
    alike: dict[str, list[str]] = {}
    for sentence in filter(None, sentences):
        alike.setdefault(_NUMBER.sub("#", sentence), []).append(sentence)
    return list(alike.values())


def _present(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


# One session.


@dataclass(frozen=True)
class SessionPower:
    """Power and energy of one rail in one session.

    Attributes:
        unread: cause why its readings leave open what was drawn in the steady window; else empty.
        stuck: sentence that all its readings are one value; else empty.
        unrelated: sentence that its readings do not follow the load; else empty.
    """

    window: WindowPower
    idle: WindowPower | None
    idle_drift: IdleDrift | None
    energy: ImageEnergy
    averaging_ms: float | None = None
    rejected: int = 0
    unread: str = ""
    stuck: str = ""
    unrelated: str = ""


def session_power(
    channel: Channel,
    record: SessionRecord,
    rows: Rows | None,
    time: SteadyTime | None,
    confidence: float = CONFIDENCE,
) -> SessionPower:
    """Power and energy of a channel over a session's steady time and its idle windows.

    Args:
        channel: one of the record's.
        record: a finished session.
        rows: the session's `probes`; None without any.
        time: time of its passes; None where that was not recorded.
        confidence: confidence of the half-width of its idle drift.
    """
    is_known = channel.unit in UNITS[channel.quantity]
    if time is None or not is_known:
        reason = "no steady window was recorded" if is_known else f"its unit {channel.unit!r} is not known"
        return SessionPower(WindowPower(reason=reason), None, None, ImageEnergy(reason=reason))
    info = next(info for info in record.probes if recorded_name(info) == channel.meter)
    averaging_ms = recorded_number(info.get("averaging_ms")) or None
    t_ns, watts = watts_of(channel, rows)
    is_number = np.isfinite(watts)
    numbers = (t_ns, watts) if is_number.all() else (t_ns[is_number], watts[is_number])
    time = time.seen_until(_reach_ns(numbers[0]))
    stuck = _stuck(*numbers, time.start_ns)
    unread = stuck or _unread(info, is_number[(t_ns >= time.start_ns) & (t_ns <= time.end_ns)])
    averaging_s = averaging_ms / 1e3 if averaging_ms and channel.quantity == "power" else None
    reach = _Reach.of_meter(info, averaging_s) if channel.quantity == "power" else _Reach(None, is_known=True)
    # If the meter stamps early, shift the window of the reading by the lag.
    curve = power_curve(numbers[0] + np.int64(round(reach.ahead_s * 1e9)), numbers[1])
    window = passes_power(curve, time.spans_ns, reach.reach_s)
    if time.period_s is not None and window.mean_w is not None:
        note = f"mean and energy are those of whole periods of {time.period_s:g} s, pauses included"
        window = replace(window, note=note)
    window, in_step = _by_phase(window, time, averaging_s)
    if window.reason and (why := reasons_by_probe(record).get(channel.meter)):
        window = replace(window, reason=f"{window.reason} ({why})")
    unrelated = unrelated_reason(info)
    zero = not_connected_reason(numbers[1]) if channel.total else ""
    window = _void(window, zero or not_positive_reason(window.curve.watts) or unrelated)
    windows_ns = record.windows_ns
    settling_ns = windows_ns.get("settling") or windows_ns.get("idle") or time.spans_ns[0]
    sides: dict[str, WindowPower] = {}
    idles = []
    for name, since_ns in (("idle", settling_ns[0]), ("idle_after", time.end_ns)):
        if span_ns := windows_ns.get(name):
            side = idle_window(curve, span_ns, reach.reach_s, since_ns)
            # An idle device seems to give power; what draws next to none may be read as 0.
            mean_w = side.mean_w or 0.0
            negative = f"its mean is {mean_w:.3g} W: {CHECK_WIRING}" if mean_w < 0 else ""
            sides[name] = _void(side, zero or negative or unrelated)
            idles.append((*span_ns, since_ns))
    idle = idle_power(list(sides.values()))
    if window.mean_w is not None and (lag_s := lag_reach_s(info, window.effective_hz)):
        window = of_unknown_lag(window, curve, time.spans_ns, lag_s)
    energy = energy_per_image(window, time.images, idle)
    if not reach.is_known and idle is not None:
        energy = reach.doubted(energy, window, idle, time, idles)
    if channel.quantity == "energy" and window.effective_hz:
        averaging_ms = 1e3 / window.effective_hz  # a counter says what was drawn since the reading before
    return SessionPower(
        window,
        idle,
        idle_drift(sides.get("idle"), sides.get("idle_after"), confidence),
        energy,
        averaging_ms,
        int(recorded_number(info.get("rejected"))),
        unread or in_step,
        stuck,
        unrelated,
    )


def _void(window: WindowPower, reason: str) -> WindowPower:
    """Window without its numbers, where a reason says that they are not those of a load."""
    if not reason or reason in window.reason:
        return window
    return replace(
        window,
        mean_w=None,
        peak_w=None,
        mean_margin_w=None,
        reason=joined(window.reason, reason),
        note="",
        curve=NO_SAMPLES,
    )


def _unread(info: Mapping[str, Any], within: NDArray[np.bool_]) -> str:
    """Cause why readings leave open what was drawn, of a meter and which of them are numbers; else empty."""
    if lost := int((~within).sum()):
        # The draw then may be more than all that the meter could read.
        return f"{lost} of {within.size} readings there are no number or out of range"
    absent = info.get("absent")
    if isinstance(absent, Mapping) and LIVE_SAMPLES in absent:
        # It says nothing about what ran then.
        return "the samples were played from a recording, not taken then"
    return ""


@dataclass(frozen=True)
class _Reach:
    """Memory of a meter in s: how long past load is in a reading. None if it ends at the previous reading.

    Attributes:
        ahead_s: time after its stamp whose load may be in it; part of `reach_s`.
        is_known: whether it was measured, or is stated.
        reason: cause why the session's load bursts do not tell it; empty where none ran.
    """

    reach_s: float | None
    is_known: bool
    ahead_s: float = 0.0
    reason: str = ""

    @classmethod
    def of_meter(cls, info: Mapping[str, Any], averaging_s: float | None) -> _Reach:
        """Measured reach, else that which the meter states."""
        response = info.get("response")
        response = response if isinstance(response, Mapping) else {}
        if reach_ms := recorded_number(response.get("reach_ms")):
            ahead_s = recorded_number(response.get("ahead_ms")) / 1e3
            return cls(reach_ms / 1e3 + ahead_s, True, ahead_s)
        return cls(averaging_s, averaging_s is not None, reason=str(response.get("reason") or ""))

    def doubted(
        self,
        energy: ImageEnergy,
        window: WindowPower,
        idle: WindowPower,
        time: SteadyTime,
        idles: Sequence[tuple[int, int, int]],
    ) -> ImageEnergy:
        """Energy with the doubt of an unknown reach; without net energy where it may be anything.

        `idles` are start and end of each idle window, and the moment since which the device was idle.
        """
        if energy.net_j is None or window.effective_hz is None:
            return energy
        steady_ns = time.end_ns - time.start_ns
        reach_ns = (UNKNOWN_REACH_S + 1 / window.effective_hz) * 1e9
        idle_ns = sum(last - first for first, last, _ in idles)
        unsettled_ns = sum(
            min(max(since + reach_ns - first, 0), last - first) for first, last, since in idles
        )
        pauses = 1 - float(np.diff(time.spans_ns).sum()) / steady_ns
        share = unsettled_ns / max(idle_ns, 1.0) + pauses
        why = "how long load stays in its readings is not known"
        if self.reason or share >= MOST_UNSETTLED:
            more = ", and it may be in most of those of idle windows and pauses"
            why += f": {self.reason}" if self.reason else more
            return replace(energy, net_j=None, net_margin_j=None, reason=f"no net energy: {why}")
        doubt = unsettled_doubt(window, idle, share, reach_ns / steady_ns)
        doubt_j = energy.net_doubt_j.plus(doubt.scaled(window.window_s / time.images))
        if max(doubt_j) > LEAST_DOUBT * abs(energy.net_j):
            energy = replace(energy, reason=f"{why}: net energy may be {doubt_j.above:.2g} J more")
        return replace(energy, net_doubt_j=doubt_j)


def _reach_ns(t_ns: NDArray[np.int64]) -> int:
    """Time until which samples speak: EDGE_PERIODS of theirs beyond the last; 0 without any."""
    if len(t_ns) < 2:
        return 0
    first, last = int(t_ns.min()), int(t_ns.max())
    return last + int(EDGE_PERIODS * (last - first) / (len(t_ns) - 1))


def _by_phase(window: WindowPower, time: SteadyTime, averaging_s: float | None) -> tuple[WindowPower, str]:
    """Window whose margin counts at which moments of the passes a meter of moments reads them.

    Returns:
        the window, and the cause why its readings leave open what was drawn: all are of the same few
        moments; else empty.
    """
    margin = window.mean_margin_w
    if window.effective_hz is None or covers_its_period(averaging_s, window.effective_hz):
        return window, ""
    in_step = passes_in_step(window.curve.t_ns, time.starts_ns)
    pass_readings = np.inf if time.pass_s is None else time.pass_s * window.effective_hz
    if in_step is not None and (
        in_step.places < FEW_READINGS or pass_readings * in_step.places < in_step.cycle
    ):
        # Their own spread bounds nothing then; how sessions differ, each with other moments, still does.
        unknown = (
            f"the passes begin in step with the readings, one in {in_step.cycle:.3g} of their periods: what "
            "is drawn between the moments that are read of every pass is not known"
        )
        return replace(window, mean_margin_w=None, note=joined(window.note, unknown)), unknown
    if margin is None or time.period_s is None:
        return window, ""
    half_w = phase_half_width(window.curve, time.starts_ns)
    if half_w > max(margin):
        wider = (
            "the readings are of the same moments of every pass: the interval holds what may be "
            "drawn between them"
        )
        window = replace(window, note=joined(window.note, wider))
    return replace(window, mean_margin_w=Margin(*(math.hypot(side, half_w) for side in margin))), ""


def _stuck(t_ns: NDArray[np.int64], watts: NDArray[np.float64], start_ns: int) -> str:
    """Sentence that a meter said one and the same from before the work to its end; else empty.

    A meter that hangs and repeats its last answer looks like this, and a board at work does not.
    """
    before = int((t_ns < start_ns).sum())
    if min(before, len(watts) - before) < STUCK_READINGS or watts.min() < watts.max():
        return ""
    return f"all {len(watts)} readings are {watts[0]:g} W, idle and at work alike: the meter may have hung"
