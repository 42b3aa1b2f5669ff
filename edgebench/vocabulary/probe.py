"""What is sampled beside a session: a probe, its channels, and its samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Channel:
    """One column of a probe: what it is and in which unit, such as power in W."""

    name: str
    quantity: str
    unit: str
    total: bool = False  # the rail that all others of its probe are part of: the headline
    range: tuple[float, float] | None = None  # lowest and highest; a value outside was rejected


def probe_name(name: str) -> str:
    """`kind:address` of a probe as it was asked for: `rapl` and `rapl:` are the same probe."""
    kind, _, address = name.partition(":")
    return f"{kind}:{address}"


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

    @property
    def is_meter(self) -> bool:
        """Whether it can say anything about power."""
        return any(channel.quantity in {"power", "energy"} for channel in self.channels)


@dataclass(frozen=True)
class ProbeChunk:
    """Samples of one probe: stamps int64 [n] on the device's clock, one float64 [n] a channel."""

    probe: str  # "kind:address"
    stamps_ns: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]
