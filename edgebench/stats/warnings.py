"""Warnings about figures: an enumeration, rendered in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Flag(Enum):
    """Each kind of doubt, with the sentence that says it; braces are filled from the warning's facts."""

    NOT_STEADY = "warm-up ended at its cap before the latency was steady in {share} sessions"
    OUTLIERS = "{share} steady {unit} are outliers (modified z-score above 14.8); none was removed"
    FEW_SESSIONS = "{count} of the {of} sessions that an interval needs: no interval"
    THERMAL_SUSPECTED = (
        "thermal: suspected in {share} sessions; the last quarter took up to {worst:.2f} times the first"
        "{warmth}"
    )
    THERMAL_SHORT = (
        "thermal: suspected over the {of} sessions together; "
        "their {unit} became {ratio:.0%} slower from the first to the last{warmth}"
    )
    THROTTLED = "throttled: {what}, as the board reports, in {share} sessions"
    CLOCK_DROP = "{what} fell by up to {worst:.0%} over the steady passes in {share} sessions{warmth}"
    INTERFERENCE = "interference: other work competed for the worker's cores in {share} sessions; {what}"
    DEADLINES_MISSED = (
        "{share} paced passes were not done when the next had to start; the worst was {worst:.3f} s late"
    )
    CHANCE = (
        "accuracy cannot be distinguished from chance: {share} right, guessing {what} gives {ratio:.1%}; "
        "check how pixels become numbers (--input-scale, --input-mean) and the order of --labels"
    )
    BELOW_CHANCE = (
        "accuracy is below chance: {share} right, guessing {what} gives {ratio:.1%}; "
        "check how pixels become numbers (--input-scale, --input-mean) and the order of --labels"
    )
    STAMPS_SHORT = (
        "the stamps account for {ratio:.0%} of the time that the device was waited for in {share} sessions: "
        "nothing that follows from them passes a limit; check the clock that its runner or firmware stamps by"
    )
    GOLDEN_MISMATCH = "outputs differ from the golden scores in {share} sessions, which were ended"
    GOLDEN_ABSENT = "the outputs of {share} sessions were not checked against golden patches"
    EXTRAPOLATED = "extrapolated: {share} {unit} covered {what}"
    UNTIMED_STAGES = "{what}"
    EMULATED = "emulated in {share} sessions: times, power and verdicts do not apply"
    SKEWED = (
        "the medians of the {of} sessions are skewed, with a tail {what}: "
        "the interval covers less than it claims"
    )
    MULTIMODAL = (
        "the medians of the {of} sessions fall into groups, {what}: the interval covers less than it claims"
    )
    RESEMBLING = (
        "the medians of {what} of the {of} sessions resemble the one before them: "
        "the interval is {ratio:.2g} times as wide as that of independent sessions"
    )
    BUILDS_DIFFER = (
        "the sessions loaded {count} different builds of the artifact: figures of two builds may differ"
    )
    SEVERAL_WORKERS = (
        "{count} workers shared the device: each has figures of its own, under workers; they are not pooled"
    )
    IDLE_DRIFT = (
        "idle power after the passes differed from that before them by up to {worst:.3g} W in {share} "
        "sessions, more than the spread of the samples explains: net energy is above the mean of both"
    )
    METER_ABSENT = "no power: {what} (in {share} sessions)"
    PROBE_LOST = "{what} (in {share} sessions): what it did not sample is missing"
    READINGS_REJECTED = "{what} (in {share} sessions); they are not used"
    BOARD_UNCONFIRMED = "not confirmed: {what}"
    POWER_CONTRADICTED = "{what}"
    SAID = "{what} (in {share} sessions)"  # by the device or its runtime


_TEXTS = (
    Flag.UNTIMED_STAGES,
    Flag.METER_ABSENT,
    Flag.PROBE_LOST,
    Flag.READINGS_REJECTED,
    Flag.BOARD_UNCONFIRMED,
    Flag.POWER_CONTRADICTED,
    Flag.SAID,
)  # sentences of their own, not one with other figures

CONTAMINATION = (Flag.INTERFERENCE, Flag.THROTTLED, Flag.CLOCK_DROP)
"""Recorded by the device: times and power are those of a machine that was slowed down."""

DISTURBANCES = (*CONTAMINATION, Flag.THERMAL_SUSPECTED, Flag.THERMAL_SHORT)
"""Contamination, and what is only suspected from the times themselves."""


@dataclass(frozen=True)
class Interference:
    """Largest share of the worker's cores that other work took; 0 if negligible.

    Attributes:
        stolen_share: the share of their time that a hypervisor gave to others.
        others_cores: how many cores' worth of other processes' work went on on them.
        involuntary_per_s: the worker's involuntary context switches a second.
        waiting_share: the share of its time that the worker waited for one.
    """

    stolen_share: float = 0.0
    others_cores: float = 0.0
    involuntary_per_s: float = 0.0
    waiting_share: float = 0.0

    @classmethod
    def worst(cls, several: Sequence[Interference]) -> Interference:
        """The greatest of each figure."""
        return cls(*(max(getattr(each, figure.name) for each in several) for figure in fields(cls)))

    def __str__(self) -> str:
        parts = []
        if self.stolen_share:
            parts.append(f"the hypervisor gave up to {self.stolen_share:.0%} of their time to others")
        if self.others_cores:
            parts.append(f"other processes kept up to {self.others_cores:.1f} of them busy")
        if self.involuntary_per_s or self.waiting_share:
            waits = f", and waited for a core up to {self.waiting_share:.0%} of its time"
            parts.append(
                f"the worker had up to {self.involuntary_per_s:.0f} involuntary context switches a second"
                + (waits if self.waiting_share else "")
            )
        return "; ".join(parts)


@dataclass(frozen=True)
class Caution:
    """One flag with the facts that belong to it: how often of how many, by how much, and what was seen.

    `celsius` is the highest temperature of the sessions, where a sensor tells and heat is what is doubted.
    """

    flag: Flag
    count: int = 0
    of: int = 0
    ratio: float = 0.0
    what: str | Interference = ""
    unit: str = "passes"  # or windows: what is counted in each session
    celsius: float | None = None

    @property
    def kind(self) -> tuple[Flag, str]:
        """Identity of a caution, whatever its numbers are."""
        return self.flag, str(self.what) if self.flag in _TEXTS else ""

    def sentence(self) -> str:
        """The flag in words, one line without a full stop."""
        return sentence_of([self])


def sentence_of(cautions: Sequence[Caution]) -> str:
    """One sentence for cautions of one kind, such as several trials': numbers that differ become ranges."""
    if cautions[0].flag is Flag.SAID and all(caution.count == caution.of for caution in cautions):
        return _details_text([caution.what for caution in cautions])
    ratios = [caution.ratio for caution in cautions]
    celsius = [caution.celsius for caution in cautions if caution.celsius is not None]
    return cautions[0].flag.value.format(
        share=_share(cautions),
        count=_Range([caution.count for caution in cautions]),
        of=_Range([caution.of for caution in cautions]),
        ratio=_Range(ratios),
        worst=max(ratios),
        unit=" or ".join(dict.fromkeys(caution.unit for caution in cautions)),
        what=_details_text([caution.what for caution in cautions]),
        warmth=f", at up to {max(celsius):.0f} °C" if celsius else "",
    )


class _Range:
    """Numbers that are formatted as one, `5`, or as the least and the greatest, `1 to 5`."""

    def __init__(self, values: Sequence[float]) -> None:
        self._ends = min(values), max(values)

    def __format__(self, spec: str) -> str:
        low, high = (format(end, spec) for end in self._ends)
        return low if low == high else f"{low} to {high}"


def _share(cautions: Sequence[Caution]) -> str:
    """`2 of 5`, `1 to 4 of 5`; `all` where it is all of them, and they are not equally many."""
    of = _Range([caution.of for caution in cautions])
    always = all(caution.count == caution.of for caution in cautions)
    if always and len({caution.of for caution in cautions}) > 1:
        return "all"
    return f"{_Range([caution.count for caution in cautions])} of {of}"


def _details_text(details: Sequence[str | Interference]) -> str:
    """Details of several cautions: the worst interference, or the first of many texts."""
    interference = [detail for detail in details if isinstance(detail, Interference)]
    if interference:
        return str(Interference.worst(interference))
    texts = list(dict.fromkeys(map(str, details)))
    return " or ".join(texts) if len(texts) < 3 else f"{texts[0]} (or another, of {len(texts)})"


# What telemetry says of one window of a session: throttled, slowed down, or interrupted by others.


CLOCK_DROP_LIMIT = 0.05
"""A clock that is lower by more than this share at the window's end than at its start has dropped."""

INVOLUNTARY_LIMIT_PER_S = 50.0
"""Involuntary context switches: a lone worker has a few; one that shares its core, one a time slice."""

WAITING_LIMIT = 0.05
"""Share of its time that a worker waits for a core; where it is known, switches alone are no interference."""

STEAL_LIMIT = 0.05
"""Share of the time in which the worker's cores had work that a hypervisor gave to others."""

OTHERS_LIMIT = 0.5
"""Cores that other processes kept busy: at half of one, somebody else is at work."""

MIN_VALUES = 8
MIN_RATE_S = 1.0

FIRMWARE_BITS = {0: "under-voltage", 1: "clock capped", 2: "throttled", 3: "soft temperature limit"}
"""`get_throttled` of the Raspberry Pi's firmware: now; 16 bits higher: at some time since it started."""

Stamps = NDArray[np.int64]
Values = NDArray[np.float64]


def within(t_ns: Stamps, values: Values, start_ns: int, end_ns: int) -> tuple[Stamps, Values]:
    """The finite samples in [start_ns, end_ns], in the order of time."""
    inside = (t_ns >= start_ns) & (t_ns <= end_ns) & np.isfinite(values)
    order = np.argsort(t_ns[inside], kind="stable")
    return t_ns[inside][order], values[inside][order]


def around(t_ns: Stamps, counts: Values, start_ns: int, end_ns: int) -> tuple[Stamps, Values]:
    """A counter's finite samples over [start_ns, end_ns] and the nearest one on either side of it.

    A window shorter than a few sample periods has hardly a sample inside; a counter covers it from outside.
    """
    finite = np.isfinite(counts)
    order = np.argsort(t_ns[finite], kind="stable")
    stamps, values = t_ns[finite][order], counts[finite][order]
    first = max(0, int(np.searchsorted(stamps, start_ns, "right")) - 1)
    last = int(np.searchsorted(stamps, end_ns, "left")) + 1
    return stamps[first:last], values[first:last]


def clock_drop(mhz: Values) -> float | None:
    """Share by which the median clock of the last quarter is below that of the first; None below 8 samples.

    Args:
        mhz: samples in the order of time, any unit; negative results are clocks that rose.
    """
    if mhz.size < MIN_VALUES:
        return None
    quarter = mhz.size // 4
    first, last = float(np.median(mhz[:quarter])), float(np.median(mhz[-quarter:]))
    return 1.0 - last / first if first > 0 else None


def throttle_flags(values: Values) -> tuple[str, ...]:
    """Events in the window by the firmware's bits, in words; empty for none.

    A bit that says that something happened since the board started counts where it appears in the window.
    """
    flags = [int(value) for value in values if 0 <= value < 2**32]
    if not flags:
        return ()
    now = int(np.bitwise_or.reduce(np.array(flags, np.int64)))
    appeared = (flags[-1] & ~flags[0]) >> 16
    return tuple(words for bit, words in FIRMWARE_BITS.items() if (now | appeared) >> bit & 1)


def throttle_events(counts: Values) -> int:
    """Rise of a counter of throttle events in the window."""
    return max(0, int(counts[-1] - counts[0])) if counts.size > 1 else 0


def rate_per_s(t_ns: Stamps, counts: Values) -> float | None:
    """Rate of a counter, events per second; None over less than a second."""
    if counts.size < 2:
        return None
    window_s = float(t_ns[-1] - t_ns[0]) / 1e9
    return max(0.0, float(counts[-1] - counts[0])) / window_s if window_s >= MIN_RATE_S else None


def stolen_share(t_ns: Stamps, busy_ns: Values, stolen_ns: Values) -> float | None:
    """The share of the time in which cores had work that was stolen from them; None over less than a second.

    Both count in the kernel's clock ticks, usually 10 ms: over a second they are good to about 1 %.
    """
    if min(busy_ns.size, stolen_ns.size) < 2 or float(t_ns[-1] - t_ns[0]) / 1e9 < MIN_RATE_S:
        return None
    busy, stolen = (max(0.0, float(counter[-1] - counter[0])) for counter in (busy_ns, stolen_ns))
    return stolen / (busy + stolen) if busy + stolen > 0 else None


def others_cores(t_ns: Stamps, busy_ns: Values, running_ns: Values) -> float | None:
    """Work of others, in cores; None over less than a second.

    Args:
        t_ns: of both counters.
        busy_ns: how long the cores that the worker may use worked, for whomever.
        running_ns: how long the worker's threads ran.
    """
    if min(busy_ns.size, running_ns.size) < 2:
        return None
    window_ns = float(t_ns[-1] - t_ns[0])
    if window_ns / 1e9 < MIN_RATE_S:
        return None
    busy, ran = (max(0.0, float(counter[-1] - counter[0])) for counter in (busy_ns, running_ns))
    return max(0.0, busy - ran) / window_ns


def waiting_share(running_ns: Values, waiting_ns: Values) -> float | None:
    """The share of its time that the worker waited for a core, from two counters that rose together."""
    if min(running_ns.size, waiting_ns.size) < 2:
        return None
    ran, waited = (max(0.0, float(counter[-1] - counter[0])) for counter in (running_ns, waiting_ns))
    return waited / (ran + waited) if ran + waited > 0 else None
