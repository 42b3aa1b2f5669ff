"""What a reader should know before trusting a figure: an enumeration, rendered in one place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Flag(Enum):
    """Each kind of doubt, with the sentence that says it; braces are filled from the warning's facts."""

    NOT_STEADY = "warm-up ended at its cap before the latency was steady in {count} of {of} sessions"
    OUTLIERS = "{count} of {of} steady passes are outliers (modified z-score above 14.8); none was removed"
    FEW_SESSIONS = "{count} of the {of} sessions that an interval takes: none is given"
    THERMAL_SUSPECTED = (
        "thermal: suspected in {count} of {of} sessions; "
        "the last quarter took up to {ratio:.2f} times the first"
    )
    THERMAL_SHORT = (
        "thermal: suspected over the {of} sessions together; "
        "their passes became {ratio:.0%} slower from the first to the last"
    )
    THROTTLED = "throttled: {what}, by the board's own word, in {count} of {of} sessions"
    CLOCK_DROP = (
        "the processor's clock fell by up to {ratio:.0%} over the steady passes in {count} of {of} sessions"
    )
    INTERFERENCE = (
        "interference: something else wanted the worker's cores in {count} of {of} sessions; {what}"
    )
    DEADLINES_MISSED = (
        "{count} of {of} paced passes were not done when the next was due; the worst was {ratio:.3f} s late"
    )
    CHANCE = (
        "accuracy is no better than chance: {count} of {of} right, and guessing {what} gives {ratio:.1%}; "
        "check how pixels become numbers (--input-scale, --input-mean) and the order of --labels"
    )
    GOLDEN_MISMATCH = "outputs differ from the golden scores in {count} of {of} sessions, which were ended"
    GOLDEN_ABSENT = "the outputs of {count} of {of} sessions were not checked against golden patches"
    EXTRAPOLATED = "extrapolated: {count} of {of} passes covered fewer patches than the image has"
    SKEWED = (
        "the medians of the {of} sessions are skewed, with a tail {what}: "
        "the interval covers less than it claims"
    )
    MULTIMODAL = (
        "the medians of the {of} sessions fall into groups, {what}: the interval covers less than it claims"
    )
    BOARD_UNCONFIRMED = "not confirmed: {what}"


@dataclass(frozen=True)
class Caution:
    """One flag with the numbers that belong to it."""

    flag: Flag
    count: int = 0
    of: int = 0
    ratio: float = 0.0
    what: str = ""

    def sentence(self) -> str:
        """The flag in words, one line without a full stop."""
        return self.flag.value.format(**vars(self))
