"""What is sampled beside a session: a probe, its channels, and its samples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

LIVE_SAMPLES = "live samples"
"""Among what a probe lacks, where its samples are played from a recording (see probes/host/playback.py)."""


@dataclass(frozen=True)
class Channel:
    """One column of a probe: what it is and in which unit, such as power in W."""

    name: str
    quantity: str
    unit: str
    total: bool = False  # the rail that all others of its probe are part of: the headline
    range: tuple[float, float] | None = None  # lowest and highest; a value outside was rejected


METER_QUANTITIES = ("power", "energy")
"""What a meter's channels are of: any other channel says nothing about power."""


def headline_channels(
    channels: Iterable[Channel], quantities: Collection[str] = METER_QUANTITIES
) -> list[Channel]:
    """What stands for a meter as a whole: the channel that all others are part of; without one, all of them.

    Args:
        channels: of a meter.
        quantities: of which one of these counts.
    """
    counting = [channel for channel in channels if channel.quantity in quantities]
    totals = [channel for channel in counting if channel.total]
    return totals[:1] or counting


def probe_name(name: str) -> str:
    """`kind:address` of a probe as it was asked for: `rapl` and `rapl:` are the same probe."""
    kind, _, address = name.partition(":")
    return f"{kind}:{address}"


@dataclass(frozen=True)
class MeterLag:
    """How much later the stamps of a meter on the host are than the load that its readings are of.

    Attributes:
        lag_ms: by the load bursts of the session; None with the reason.
        bound_ms: by how much that may be off.
        applied: whether it was taken off the stamps: it is more than its bound and the clock's together.
        reason: why there is none.
    """

    lag_ms: float | None = None
    bound_ms: float | None = None
    applied: bool = False
    reason: str = ""

    @property
    def applied_ns(self) -> int:
        """What was taken off the stamps."""
        return round(self.lag_ms * 1e6) if self.applied and self.lag_ms is not None else 0


@dataclass(frozen=True)
class ProbeInfo:
    """What a probe says of itself; a meter is a probe with a power or energy channel."""

    kind: str
    address: str
    rate_hz: float
    resolution: str
    scope: str  # chip, module, board, usb or wall; "" for a monitor
    channels: tuple[Channel, ...]
    absent: Mapping[str, str] = field(default_factory=dict)  # what it looked for in vain, and why
    place: str = "board"  # where it samples: board or host
    rejected: int = 0  # readings that it could not parse, or that were out of their channel's range
    rejected_first: tuple[str, ...] = ()  # the first of them, verbatim
    clock_bound_ns: int | None = None  # of one on the host: how far its stamps may be off the device's clock
    averaging_ms: float | None = None  # before its stamp, that a reading is the mean over; None: not known
    lag: MeterLag | None = None  # of a meter on the host

    @property
    def name(self) -> str:
        """`kind:address`."""
        return f"{self.kind}:{self.address}"

    @property
    def is_meter(self) -> bool:
        """Whether it can say anything about power."""
        return any(channel.quantity in METER_QUANTITIES for channel in self.channels)

    @property
    def is_played(self) -> bool:
        """Whether its samples were taken at another time: nothing that runs now is in them."""
        return LIVE_SAMPLES in self.absent


@dataclass(frozen=True)
class ProbeChunk:
    """Samples of one probe: stamps int64 [n] on the device's clock, one float64 [n] a channel."""

    probe: str  # "kind:address"
    stamps_ns: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]


TakeSamples = Callable[[ProbeChunk], None]
"""Called with each chunk of samples as it comes; never fails, never waits for longer than a disk does."""
