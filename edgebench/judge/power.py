"""What the meters say of one trial: a figure a meter and rail over the steady windows of its sessions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.judge.trial_summary import PowerFigure
from edgebench.records.session import LIVE_SAMPLES, UNKNOWN_REACH_S, probe_name
from edgebench.records.stored import PACED_COLUMNS, SessionRecord
from edgebench.results.rows import Rows, by_number
from edgebench.stats.burst_lag import BY_CHANCE, SEARCH_PERIODS, SEARCH_S
from edgebench.stats.intervals import CONFIDENCE, resemblance
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
from edgebench.stats.power_curve import NO_SAMPLES, PowerCurve, power_curve

# The probes of a session's record by name, and why they gave nothing, or nothing more.


def recorded_name(info: Mapping[str, Any]) -> str:
    """`kind:address` of one of a record's `probes`, whatever stands there."""
    return f"{info.get('kind')}:{info.get('address')}"


def reasons_by_probe(record: SessionRecord) -> dict[str, str]:
    """By `kind:address`, what a record has by the words that each meter and monitor was asked for with."""
    reasons = record.probe_reasons | record.monitor_reasons
    return {probe_name(asked): reason for asked, reason in reasons.items()}


# The power and energy channels of a record's meters, what they cover, and their samples in W.


UNITS = {"power": {"W": 1.0, "mW": 1e-3, "uW": 1e-6}, "energy": {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6}}

WIDE_SCOPES = ("board", "usb", "wall")
"""Scopes that hold all that a board draws, the closest to it first."""

SCOPES = (*WIDE_SCOPES, "module", "chip")
"""The order in which meters represent a board: those of all of it, then of parts; any other comes last."""

MOST_RECORDED = 1e9
"""A meter's rate in Hz, time in ms or count that reaches it is damage: stamps count a billion a second."""

MOST_READING = 1e15
"""In W or J: a sample beyond it measured nothing, and sums of such samples have no value."""


@dataclass(frozen=True)
class Rail:
    """A power or energy channel of a meter, as a session's record has it."""

    meter: str
    channel: str
    quantity: str
    unit: str
    scope: str
    rate_hz: float
    total: bool = field(compare=False)  # sessions' records of one rail may differ in it


def rails_of(record: SessionRecord) -> list[Rail]:
    """The power and energy channels of a session's probes; what is no probe is passed over."""
    rails = []
    for info in record.probes:
        channels = info.get("channels")
        for channel in channels if isinstance(channels, list | tuple) else ():
            if isinstance(channel, Mapping) and str(channel.get("quantity")) in UNITS:
                meter = recorded_name(info)
                scope, rate_hz = str(info.get("scope", "")), recorded_number(info.get("rate_hz"))
                name, quantity, unit = (str(channel.get(key, "")) for key in ("name", "quantity", "unit"))
                total = channel.get("total") is True
                rails.append(Rail(meter, name, quantity, unit, scope, rate_hz, total))
    return rails


def recorded_number(value: Any) -> float:
    """A number of a record between 0 and MOST_RECORDED, or 0 for anything else."""
    # A whole number of a file has any number of digits.
    if isinstance(value, int | float) and 0 < value < MOST_RECORDED:
        return float(value)
    return 0.0


def scope_rank(scope: str) -> int:
    """The place of a scope among SCOPES."""
    return SCOPES.index(scope) if scope in SCOPES else len(SCOPES)


def rail_watts(rail: Rail, rows: Rows | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Stamps int64 [n] in ns and power float64 [n] in W of a rail, out of the rows of a session's probes.

    None of an unknown unit, and without rows.
    """
    scale = UNITS[rail.quantity].get(rail.unit)
    if rows is None or scale is None:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    own = rows.equal("probe", rail.meter) & rows.equal("channel", rail.channel)
    return as_watts(rail.quantity, rows.whole("t_ns")[own], rows.floats("value")[own] * scale)


def as_watts(
    quantity: str, t_ns: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Stamps int64 [n] and power float64 [n] in W of a channel of power in W or of energy in J."""
    if len(values) and not (values.min() > -MOST_READING and values.max() < MOST_READING):
        values = np.where(np.abs(values) < MOST_READING, values, np.nan)
    if quantity == "power":
        return t_ns, values
    # A counter: the mean power of each interval, stamped at its end; not a number where it was set back. It
    # goes on counting through readings that are no number.
    counted = np.isfinite(values)
    t_ns, values = t_ns[counted], values[counted]
    order = np.argsort(t_ns, kind="stable")
    steps_s, steps_j = np.diff(t_ns[order]) / 1e9, np.diff(values[order])
    usable, watts = steps_s > 0, np.where(steps_j >= 0, steps_j, np.nan)
    return t_ns[order][1:][usable], watts[usable] / steps_s[usable]


# The time of a session that its power and energy are taken over, and the images that it got through.
#
# Back to back it is that of the steady passes, without the host's round trips between them. At a period it
# is that of whole cycles, each with the pause after its pass, the last one too where it was sampled.


@dataclass(frozen=True, eq=False)
class SteadyTime:
    """When a session's steady passes, windows or cycles were.

    Attributes:
        spans_ns: int64 [n, 2], start and end of each, in order and apart.
        images: how many images it got through in them.
        last_due_ns: of paced passes, when the last should begin; None of others.
        period_s: of paced passes; None of others.
        last_share: of the images, those of that last pass.
        starts_ns: int64 [passes], when each pass began, in order; empty where that is not known.
        pass_s: of paced passes how long one is without its pause; None of others.
    """

    spans_ns: NDArray[np.int64]
    images: float
    last_due_ns: int | None = None
    last_share: float = 0.0
    period_s: float | None = None
    starts_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    pass_s: float | None = None

    def seen_until(self, reach_ns: int) -> SteadyTime:
        """The same without its last cycle, where that one ends later and there are others."""
        ends_later = int(self.spans_ns[-1, 1]) > reach_ns
        if self.last_due_ns is None or not ends_later or self.last_due_ns <= int(self.spans_ns[0, 0]):
            return self
        spans_ns = np.array([[self.spans_ns[0, 0], self.last_due_ns]], np.int64)
        return replace(self, spans_ns=spans_ns, images=self.images * (1 - self.last_share), last_due_ns=None)


def steady_times(
    records: Sequence[SessionRecord], rows: Rows, images: Mapping[int, float]
) -> dict[int, SteadyTime]:
    """The time of each session's steady passes or windows, or else its steady window, by its number.

    Args:
        records: a trial's finished sessions.
        rows: the trial's `passes` or `windows`, of all workers; of several none but paced passes.
        images: how many images each session's steady part holds.
    """
    by_session = by_number(rows.take(rows.equal("phase", "steady")), "session")
    times = {}
    for record in records:
        part, window = by_session.get(record.n), record.windows_ns.get("steady")
        if part is not None:
            times[record.n] = _of_rows(part.ordered("start_ns"), images.get(record.n, 0.0))
        elif window is not None:
            times[record.n] = SteadyTime(np.array([window], np.int64), images.get(record.n, 0.0))
    return times


def _of_rows(rows: Rows, images: float) -> SteadyTime:
    spans_ns = np.stack([rows.whole("start_ns"), rows.whole("end_ns")], axis=1)
    if not set(PACED_COLUMNS) <= set(rows) or any(rows.missing(name).any() for name in PACED_COLUMNS):
        return SteadyTime(_united(spans_ns), images, starts_ns=spans_ns[:, 0])
    due_ns = rows.whole("due_ns")
    deadlines_ns = spans_ns[:, 1] - rows.whole("lateness_ns")
    over_ns = int(max(spans_ns[:, 1].max(), deadlines_ns.max()))
    last = due_ns == due_ns.max()
    starts_ns, patches = spans_ns[:, 0], rows.floats("patches")
    share = float(patches[last].sum() / patches.sum())
    if len(np.unique(rows.whole("worker"))) > 1:
        # All are due at one time. Passes of the first and the last cycle may be outside, and in no row here.
        starts_ns = np.unique(due_ns)
        share = float((over_ns - starts_ns[-1]) / (over_ns - starts_ns[0]))
    period_s = float(np.median(deadlines_ns - due_ns)) / 1e9
    return SteadyTime(
        np.array([[starts_ns[0], over_ns]], np.int64),
        images,
        int(due_ns.max()),
        share,
        period_s,
        starts_ns,
        float(np.median(spans_ns[:, 1] - spans_ns[:, 0])) / 1e9,
    )


def _united(spans_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Spans by their starts, with those that touch or overlap as one."""
    reach_ns = np.maximum.accumulate(spans_ns[:, 1])
    begins = np.concatenate(([True], spans_ns[1:, 0] > reach_ns[:-1]))
    ends = np.concatenate((np.flatnonzero(begins)[1:] - 1, [len(spans_ns) - 1]))
    return np.stack((spans_ns[begins, 0], reach_ns[ends]), axis=1)


# What a reader of power has to know of the lag of a meter on the host, and what an unknown one leaves open.
#
# A meter whose lag is not known may be as late, or as early, as the load bursts are searched for: by SEARCH_S
# and SEARCH_PERIODS of its own periods. The readings of one that is later still do not follow the bursts, and
# decide nothing. Its figures are as far off as those of the same windows, moved by up to that, differ from
# them (`stats.power.of_unknown_lag`).


def lag_note(records: Sequence[SessionRecord], meter: str) -> str:
    """That a lag was taken off a meter's stamps, or that none is known and why; "" where neither is so."""
    infos = [info for record in records for info in record.probes if recorded_name(info) == meter]
    lags = [lag for info in infos if isinstance(lag := info.get("lag"), Mapping)]
    known = [(lag, _number(lag.get("lag_ms"))) for lag in lags]
    applied_ms = [lag_ms for lag, lag_ms in known if lag.get("applied") is True and lag_ms is not None]
    unknown = [str(lag.get("reason") or "no reason is recorded") for lag, lag_ms in known if lag_ms is None]
    notes = []
    if applied_ms:
        # Three digits, and no power of ten from a second on.
        ends = dict.fromkeys(
            f"{lag_ms:.3g}" if abs(lag_ms) < 999.5 else f"{lag_ms:.0f}"
            for lag_ms in (min(applied_ms), max(applied_ms))
        )
        taken = f"a lag of {' to '.join(ends)} ms is taken off its stamps"
        notes.append(f"{taken} in {len(applied_ms)} of {len(lags)} sessions")
    if unknown:
        why = "; ".join(dict.fromkeys(unknown))
        notes.append(f"its lag is not known in {len(unknown)} of {len(lags)} sessions: {why}")
    return "; ".join(notes)


def lag_reach_s(info: Mapping[str, Any], effective_hz: float | None) -> float:
    """How late or early a meter's stamps may be in a session, in s; 0 where its lag is known or 0."""
    lag = info.get("lag")
    if not isinstance(lag, Mapping) or _number(lag.get("lag_ms")) is not None or not effective_hz:
        return 0.0
    return SEARCH_S + SEARCH_PERIODS / effective_hz


FALLS = "the meter does not measure this board: its readings fall under load"


def unrelated_reason(info: Mapping[str, Any]) -> str:
    """That a meter's readings do not follow the load bursts of a session; "" where they may."""
    found = (info.get("lag"), info.get("response"))  # of a meter of the host, of one of the board
    correlations = [_number(part.get("correlation")) for part in found if isinstance(part, Mapping)]
    correlation = next((each for each in correlations if each is not None), None)
    if correlation is None or correlation >= BY_CHANCE:
        return ""
    if correlation <= -BY_CHANCE:
        return f"{FALLS} (their correlation with the load bursts is {correlation:.2f}): {CHECK_WIRING}"
    return (
        f"its readings do not follow the load: their correlation with the load bursts is {correlation:.2f} "
        f"at most, and {BY_CHANCE:g} comes by chance: {CHECK_WIRING}"
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")

STUCK_READINGS = 10
"""From this many readings before the work and as many from then on one value for all is no chance."""

MOST_UNSETTLED = 0.75
"""From this share of the idle windows on that may hold load of the work, there is no net energy."""

LEAST_DOUBT = 0.01
"""From this share of net energy on its doubt is reported."""


@dataclass(frozen=True)
class PowerOfTrial:
    """The figures of a trial's meters and rails, and of each the samples of every session's steady time.

    `idle_drifts` are those of the primary rail, of every session that was sampled before and after its work.
    """

    figures: tuple[PowerFigure, ...]
    curves: tuple[tuple[PowerCurve, ...], ...]
    idle_drifts: tuple[IdleDrift, ...] = ()


@dataclass(frozen=True)
class SessionPower:
    """What one rail says of one session."""

    window: WindowPower
    idle: WindowPower | None
    idle_drift: IdleDrift | None
    energy: ImageEnergy
    averaging_ms: float | None = None
    rejected: int = 0
    unread: str = ""  # why its readings leave open what was drawn in the steady window
    stuck: str = ""  # that it said one and the same for all of it
    unrelated: str = ""  # that its readings do not follow the load


def power_figures(
    records: Sequence[SessionRecord], probes: Rows, times: Mapping[int, SteadyTime]
) -> PowerOfTrial | None:
    """One figure a meter and rail, the primary marked; None where no session had a meter.

    Means, idle power and energy are means over the sessions, the peak is the highest of all, with intervals
    by `stats.power_spread`; the rate is the lowest that a session's samples came at.

    Args:
        records: the trial's finished sessions.
        probes: the trial's rows of `probes` (see store.records.PROBE_COLUMNS).
        times: when each session's passes were, and its images.
    """
    rails = list(dict.fromkeys(rail for record in records for rail in rails_of(record)))
    if not rails:
        return None
    by_session = by_number(probes, "session")
    # That no session of a steady device is said to drift is as sure as that a single one of them is not.
    confidence = 1 - (1 - CONFIDENCE) / len(records)
    figures, curves, drifts = [], [], []
    for rail in rails:
        sessions = [
            session_power(rail, record, by_session.get(record.n), times.get(record.n), confidence)
            for record in records
            if rail in rails_of(record)
        ]
        # A meter of another device tells nothing, in no session.
        if falls := next((each.unrelated for each in sessions if each.unrelated.startswith(FALLS)), ""):
            energy = ImageEnergy(reason=falls)
            sessions = [
                replace(each, window=_void(each.window, falls), idle=None, idle_drift=None, energy=energy)
                for each in sessions
            ]
        figures.append(_rail_figure(rail, sessions, lag_note(records, rail.meter)))
        curves.append(tuple(session.window.curve for session in sessions))
        drifts.append(tuple(session.idle_drift for session in sessions if session.idle_drift is not None))
    first = min(range(len(rails)), key=lambda at: _rank(figures[at]))
    marked = tuple(replace(figure, primary=at == first) for at, figure in enumerate(figures))
    return PowerOfTrial(marked, tuple(curves), drifts[first])


def of_all_workers(figures: Sequence[PowerFigure]) -> tuple[PowerFigure, ...]:
    """The figures of a shared device: energy is that of an image of any worker, and none's own."""
    return tuple(
        replace(
            figure,
            together_energy_j=figure.energy_j,
            together_low_j=figure.energy_low_j,
            together_high_j=figure.energy_high_j,
            together_energy_j_sessions=figure.energy_j_sessions,
            energy_j_sessions=(),
            energy_j=None,
            energy_low_j=None,
            energy_high_j=None,
            net_energy_j=None,
            net_low_j=None,
            net_high_j=None,
        )
        for figure in figures
    )


def power_reason(records: Sequence[SessionRecord]) -> str:
    """Why a meter, or every meter, gave nothing, as the sessions say; empty where they say nothing."""
    reasons = {
        reason if not meter or reason.startswith(f"{meter}:") else f"{meter}: {reason}": None
        for record in records
        for meter, reason in record.probe_reasons.items()
    }
    return "; ".join(reasons)


def session_power(
    rail: Rail,
    record: SessionRecord,
    rows: Rows | None,
    time: SteadyTime | None,
    confidence: float = CONFIDENCE,
) -> SessionPower:
    """Power and energy of a rail over a session's steady time and its idle windows.

    Args:
        rail: one of the record's.
        record: a finished session.
        rows: those of the session's `probes`; None without any.
        time: when its passes were; None where that was not recorded.
        confidence: of the half-width of its idle drift.
    """
    if time is None or rail.unit not in UNITS[rail.quantity]:
        known = rail.unit in UNITS[rail.quantity]
        reason = "no steady window was recorded" if known else f"its unit {rail.unit!r} is not known"
        return SessionPower(WindowPower(reason=reason), None, None, ImageEnergy(reason=reason))
    info = next(info for info in record.probes if recorded_name(info) == rail.meter)
    averaging_ms = recorded_number(info.get("averaging_ms")) or None
    t_ns, watts = rail_watts(rail, rows)
    is_number = np.isfinite(watts)
    numbers = (t_ns, watts) if is_number.all() else (t_ns[is_number], watts[is_number])
    time = time.seen_until(_reach_ns(numbers[0]))
    start_ns, end_ns = int(time.spans_ns[0, 0]), int(time.spans_ns[-1, 1])
    stuck, absent = _stuck(*numbers, start_ns), info.get("absent")
    within = (t_ns >= start_ns) & (t_ns <= end_ns)
    lost = int((within & ~is_number).sum())
    unread = stuck
    if lost:
        # What was drawn then may be more than all that the meter could read.
        unread = f"{lost} of {int(within.sum())} readings there are no number or out of range"
    elif not stuck and isinstance(absent, Mapping) and LIVE_SAMPLES in absent:
        # It says nothing about what ran then.
        unread = "the samples were played from a recording, not taken then"
    averaging_s = averaging_ms / 1e3 if averaging_ms and rail.quantity == "power" else None
    reach = _Reach.of(info, averaging_s) if rail.quantity == "power" else _Reach(None, is_known=True)
    # Of stamps that are early a reading is of the time around it: as of one that ends later.
    curve = power_curve(numbers[0] + np.int64(round(reach.ahead_s * 1e9)), numbers[1])
    window = passes_power(curve, time.spans_ns, reach.reach_s)
    if time.period_s is not None and window.mean_w is not None:
        note = f"mean and energy are those of whole periods of {time.period_s:g} s, pauses included"
        window = replace(window, note=note)
    window, in_step = _by_phase(window, time, averaging_s)
    if window.reason and (why := reasons_by_probe(record).get(rail.meter)):
        window = replace(window, reason=f"{window.reason} ({why})")
    unrelated = unrelated_reason(info)
    zero = not_connected_reason(numbers[1]) if rail.total else ""
    window = _void(window, zero or not_positive_reason(window.curve.watts) or unrelated)
    windows_ns = record.windows_ns
    settling_ns = windows_ns.get("settling") or windows_ns.get("idle") or time.spans_ns[0]
    sides: dict[str, WindowPower] = {}
    idles = []
    for name, since_ns in (("idle", settling_ns[0]), ("idle_after", end_ns)):
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
    if rail.quantity == "energy" and window.effective_hz:
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
    """A window without its figures, where there is a reason why they are not those of a load."""
    if not reason or reason in window.reason:
        return window
    return replace(
        window,
        mean_w=None,
        peak_w=None,
        mean_margin_w=None,
        reason=_joined(window.reason, reason),
        note="",
        curve=NO_SAMPLES,
    )


@dataclass(frozen=True)
class _Reach:
    """How long before its stamp load is in a meter's reading; None where the reading before ends it.

    Attributes:
        ahead_s: how long after its stamp load may be in it; part of `reach_s`.
        is_known: whether it was measured, or is stated.
        reason: why the session's load bursts do not tell it; "" where none ran.
    """

    reach_s: float | None
    is_known: bool
    ahead_s: float = 0.0
    reason: str = ""

    @classmethod
    def of(cls, info: Mapping[str, Any], averaging_s: float | None) -> _Reach:
        """That which was measured, else that which the meter states."""
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
        """The energy with the doubt that this is not known; without net energy where it may be anything.

        `idles` are start and end of each idle window, and since when the device was idle.
        """
        if energy.net_j is None or window.effective_hz is None:
            return energy
        start_ns, end_ns = int(time.spans_ns[0, 0]), int(time.spans_ns[-1, 1])
        reach_ns = (UNKNOWN_REACH_S + 1 / window.effective_hz) * 1e9
        idle_ns = sum(last - first for first, last, _ in idles)
        unsettled_ns = sum(
            min(max(since + reach_ns - first, 0), last - first) for first, last, since in idles
        )
        pauses = 1 - float(np.diff(time.spans_ns).sum()) / (end_ns - start_ns)
        share = unsettled_ns / max(idle_ns, 1.0) + pauses
        why = "how long load stays in its readings is not known"
        if self.reason or share >= MOST_UNSETTLED:
            why += (
                f": {self.reason}"
                if self.reason
                else ", and it may be in most of those of idle windows and pauses"
            )
            return replace(energy, net_j=None, net_margin_j=None, reason=f"no net energy: {why}")
        doubt = unsettled_doubt(window, idle, share, reach_ns / (end_ns - start_ns))
        doubt_j = energy.net_doubt_j.plus(doubt.scaled(window.window_s / time.images))
        if max(doubt_j) > LEAST_DOUBT * abs(energy.net_j):
            energy = replace(energy, reason=f"{why}: net energy may be {doubt_j.above:.2g} J more")
        return replace(energy, net_doubt_j=doubt_j)


def _reach_ns(t_ns: NDArray[np.int64]) -> int:
    """How far samples speak: EDGE_PERIODS of theirs beyond the last; 0 without any."""
    if len(t_ns) < 2:
        return 0
    first, last = int(t_ns.min()), int(t_ns.max())
    return last + int(EDGE_PERIODS * (last - first) / (len(t_ns) - 1))


def _by_phase(window: WindowPower, time: SteadyTime, averaging_s: float | None) -> tuple[WindowPower, str]:
    """A window whose margin counts at which moments of the passes a meter of moments reads them.

    And why its readings leave open what was drawn: they are all of the same few moments; "" where not.
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
        return replace(window, mean_margin_w=None, note=_joined(window.note, unknown)), unknown
    if margin is None or time.period_s is None:
        return window, ""
    half_w = phase_half_width(window.curve, time.starts_ns)
    if half_w > max(margin):
        wider = (
            "the readings are of the same moments of every pass: the interval holds what may be "
            "drawn between them"
        )
        window = replace(window, note=_joined(window.note, wider))
    return replace(window, mean_margin_w=Margin(*(math.hypot(side, half_w) for side in margin))), ""


def _joined(*texts: str) -> str:
    return "; ".join(filter(None, texts))


def _stuck(t_ns: NDArray[np.int64], watts: NDArray[np.float64], start_ns: int) -> str:
    """That a meter said one and the same from before the work to its end; "" where it did not.

    A meter that hangs and repeats its last answer looks like this, and a board at work does not.
    """
    before = int((t_ns < start_ns).sum())
    if min(before, len(watts) - before) < STUCK_READINGS or watts.min() < watts.max():
        return ""
    return f"all {len(watts)} readings are {watts[0]:g} W, idle and at work alike: the meter may have hung"


def _rail_figure(rail: Rail, sessions: Sequence[SessionPower], lag: str) -> PowerFigure:
    windows = [session.window for session in sessions]
    measured = [window for window in windows if window.mean_w is not None]
    means = _present([window.mean_w for window in measured])
    peaks = _present([window.peak_w for window in windows])
    energies = [session.energy for session in sessions if session.energy.gross_j is not None]
    nets = [energy for energy in energies if energy.net_j is not None]
    gross, net = _present([each.gross_j for each in energies]), _present([each.net_j for each in nets])
    # What is to be known of a session's figures, each sentence once.
    reasons = [
        reason
        for session in sessions
        for reason in dict.fromkeys((session.energy.reason, session.window.note, session.stuck))
    ]
    uncovered = [
        session.window.reason or session.unread
        for session in sessions
        if session.window.mean_w is None or session.unread
    ]
    missed = "; ".join(texts[0] for texts in _alike(uncovered))
    lag_s = max((window.lag_s for window in measured), default=0.0)
    doubts_w = [window.lag_margin_w.plus(window.pauses_margin_w) for window in measured]
    mean_w = _bounds(means, list(zip([window.mean_margin_w for window in measured], doubts_w, strict=True)))
    energy_j = _bounds(gross, [(energy.gross_margin_j, energy.gross_doubt_j) for energy in energies])
    net_j = _bounds(net, [(energy.net_margin_j, energy.net_doubt_j) for energy in nets])
    if lag_s:  # of idle windows as well the edges are not known then
        net_j = None, None
    around = [window.curve.around for window in measured if window.curve.around is not None]
    averaging_ms = [session.averaging_ms for session in sessions if session.window.samples]
    watts = np.concatenate([window.curve.watts for window in windows])
    return PowerFigure(
        meter=rail.meter,
        channel=rail.channel,
        scope=rail.scope,
        primary=False,
        rate_hz=rail.rate_hz,
        samples=sum(window.samples for window in windows),
        mean_w=_mean(means),
        peak_w=max(peaks, default=None),
        idle_w=_mean(_present([session.idle.mean_w for session in sessions if session.idle])),
        idle_drift_w=_mean([session.idle_drift.drift_w for session in sessions if session.idle_drift]),
        energy_j=_mean(gross),
        net_energy_j=_mean(net),
        reason=_joined(*_counted(reasons, len(sessions)), lag if means else "", resemblance(means)),
        window_s=min((window.window_s for window in windows if window.window_s > 0), default=None),
        mean_w_sessions=tuple(means),
        energy_j_sessions=tuple(gross),
        uncovered=f"{len(uncovered)} of {len(sessions)} sessions: {missed}" if uncovered else "",
        p99_w=float(np.quantile(watts, 0.99, overwrite_input=True)) if len(watts) >= least_n(0.99) else None,
        mean_low_w=mean_w[0],
        mean_high_w=mean_w[1],
        energy_low_j=energy_j[0],
        energy_high_j=energy_j[1],
        net_low_j=net_j[0],
        net_high_j=net_j[1],
        effective_hz=min(_present([window.effective_hz for window in windows]), default=None),
        longest_gap_s=max(_present([window.longest_gap_s for window in windows]), default=None),
        averaging_ms=None if None in averaging_ms else min(_present(averaging_ms), default=None),
        total=rail.total,
        rejected=sum(session.rejected for session in sessions),
        unknown_lag_s=lag_s or None,
        pauses=max((window.pauses for window in measured), default=0.0),
        peak_high_w=max(*peaks, *(float(curve.watts.max()) for curve in around)) if lag_s else None,
    )


def _bounds(
    values: Sequence[float], margins: Sequence[tuple[Margin | None, Margin]]
) -> tuple[float | None, float | None]:
    """The interval of a mean over sessions, each with its margin and with what all are in doubt by alike."""
    low, high = widened_interval(values, [margin for margin, _ in margins])
    if not margins:
        return low, high
    below, above = (
        math.fsum(side) / len(margins) for side in zip(*(doubt for _, doubt in margins), strict=True)
    )
    return None if low is None else low - below, None if high is None else high + above


def _counted(reasons: Sequence[str], sessions: int) -> list[str]:
    """Each reason once, with how many of the sessions have it where not all do."""
    counted = []
    for texts in _alike(reasons):
        of = "" if len(texts) == sessions else f" of {sessions}"
        if len(set(texts)) > 1:
            counted.append(f"{texts[0]} (in the first of {len(texts)} such sessions{of})")
        else:
            counted.append(f"{texts[0]} (in {len(texts)}{of} sessions)" if of else texts[0])
    return counted


def _alike(reasons: Sequence[str]) -> list[list[str]]:
    """The reasons by what they say: in each list those that differ in their numbers alone, in order."""
    alike: dict[str, list[str]] = {}
    for reason in filter(None, reasons):
        alike.setdefault(_NUMBER.sub("#", reason), []).append(reason)
    return list(alike.values())


def _present(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def headline_rails(figures: Sequence[PowerFigure]) -> list[PowerFigure]:
    """The rail that represents each meter, the primary one first."""
    by_meter: dict[str, PowerFigure] = {}
    for figure in sorted(figures, key=lambda figure: (not figure.primary, _rank(figure))):
        by_meter.setdefault(figure.meter, figure)
    return list(by_meter.values())


def _rank(figure: PowerFigure) -> tuple[bool, int, bool, float]:
    """By the order of SCOPES, and of a scope's rails the total first, or else the one that carries most."""
    peak_missing = figure.peak_w is None
    return peak_missing, scope_rank(figure.scope), not figure.total, -(figure.mean_w or figure.peak_w or 0.0)
