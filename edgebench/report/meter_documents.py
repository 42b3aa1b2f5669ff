"""The documents of `edgebench meters`: what each meter is, what a check saw of it, what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from edgebench import registry
from edgebench.store.described import Described, Descriptions
from edgebench.vocabulary.probe import ProbeInfo


@dataclass(frozen=True)
class Rail:
    """The figures of one power or energy channel; each that is missing is None."""

    channel: str
    total: bool
    mean_w: float | None
    peak_w: float | None
    energy_j: float | None
    rate_hz: float
    effective_hz: float | None
    longest_gap_s: float | None
    samples: int
    reason: str


@dataclass(frozen=True)
class Meter:
    """A meter, and whether it can be read."""

    meter: str
    description: str
    place: str
    rate_hz: float | None
    readable: bool
    reason: str
    fix: str
    port: str
    permission: str
    held_by: tuple[str, ...]


@dataclass(frozen=True)
class CheckedMeter(Meter):
    """A meter that was listened to for a moment."""

    scope: str
    averaging_ms: float | None
    resolution: str
    channels: tuple[str, ...]
    absent: Mapping[str, str]
    rejected: int
    rejected_first: tuple[str, ...]
    rails: tuple[Rail, ...]


@dataclass(frozen=True)
class RecordedMeter:
    """What one meter said while it was recorded."""

    meter: str
    scope: str
    duration_s: float
    rejected: int
    rails: tuple[Rail, ...]


def of_unchecked(
    name: str, access: Mapping[str, Any], *, readable: bool, reason: str = "", fix: str = ""
) -> dict[str, Any]:
    """The fields of `Meter`, of one that was opened for a moment, or cannot be read.

    Args:
        name: KIND[:ADDRESS].
        access: `port`, `permission` and `held_by`.
        readable: whether it could be opened.
        reason: why not.
        fix: what helps.
    """
    return asdict(Meter(**_meter(name), readable=readable, reason=reason, fix=fix, **access))


def of_checked(
    name: str, access: Mapping[str, Any], info: ProbeInfo, rails: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The fields of `CheckedMeter`, of what it says of itself and the figures of its rails."""
    checked = CheckedMeter(
        **(_meter(name) | {"rate_hz": info.rate_hz}),
        readable=True,
        reason="",
        fix="",
        **access,
        scope=info.scope,
        averaging_ms=info.averaging_ms,
        resolution=info.resolution,
        channels=tuple(channel.name for channel in info.channels),
        absent=dict(info.absent),
        rejected=info.rejected,
        rejected_first=tuple(info.rejected_first),
        rails=_rails(rails),
    )
    return asdict(checked)


def of_recorded(
    name: str, info: ProbeInfo, duration_s: float, rails: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The fields of `RecordedMeter`."""
    return asdict(RecordedMeter(name, info.scope, duration_s, info.rejected, _rails(rails)))


def _meter(name: str) -> dict[str, Any]:
    kind = name.partition(":")[0]
    return {
        "meter": name,
        "description": registry.probe_description(kind),
        "place": str(getattr(registry.probe_module(kind), "PLACE", "")),
        "rate_hz": registry.rate_hz(kind),
    }


def _rails(rails: Sequence[Mapping[str, Any]]) -> tuple[Rail, ...]:
    return tuple(Rail(**rail) for rail in rails)


_NAME = Described("The meter, KIND[:ADDRESS].", "command line")
_SCOPE = Described("What it measures: chip, module, board, usb or wall.", "probe")
_REJECTED = Described("Readings that could not be parsed or were out of their channel's range.", "probe")
_RAILS = Described("One entry a power or energy channel.", "probe")
_METER = {
    "meter": _NAME,
    "description": Described("What it is, in a line.", "probe"),
    "place": Described("Where it samples: board, or host for one that is plugged in here.", "probe"),
    "rate_hz": Described("Its stated rate; null where only its address decides.", "probe", "Hz"),
    "readable": Described("Whether it can be read there.", "probe"),
    "reason": Described("Why not; empty where it can be.", "probe"),
    "fix": Described("What helps; empty where it can be read.", "probe"),
    "port": Described(
        "What it is read from: a node, a file, a program or a library; empty where that is not known.",
        "probe",
    ),
    "permission": Described("Mode, owner and group of that, as crw-rw---- root:dialout; or empty.", "probe"),
    "held_by": Described(
        "Other processes that have a device's node open; those that this user sees.", "probe"
    ),
}
DESCRIPTIONS: Descriptions = {
    "Rail": {
        "channel": Described("The rail's name, or that of their sum.", "probe"),
        "total": Described("Whether it is all that the board or module draws.", "probe"),
        "mean_w": Described("Mean power, by the trapezoid rule; null with its reason.", "samples", "W"),
        "peak_w": Described("The highest sample.", "samples", "W"),
        "energy_j": Described("Energy from the first sample to the last.", "samples", "J"),
        "rate_hz": Described("The probe's stated rate.", "probe", "Hz"),
        "effective_hz": Described("Samples a second, as they came.", "samples", "Hz"),
        "longest_gap_s": Described("The longest time between two samples.", "samples", "s"),
        "samples": Described("How many samples there are.", "samples"),
        "reason": Described("Why there is no mean; empty where there is one.", "samples"),
    },
    "Meter": _METER,
    "CheckedMeter": {
        **_METER,
        "scope": _SCOPE,
        "averaging_ms": Described(
            "The time before its stamp that a reading is the mean over; null where nobody knows it.",
            "probe",
            "ms",
        ),
        "resolution": Described("What a reading is exact to, in words.", "probe"),
        "channels": Described("All that it samples, by name.", "probe"),
        "absent": Described(
            "What it looked for in vain, and why.",
            "probe",
            shape={"type": "object", "additionalProperties": {"type": "string"}},
        ),
        "rejected": _REJECTED,
        "rejected_first": Described("The first of them, verbatim.", "probe"),
        "rails": _RAILS,
    },
    "RecordedMeter": {
        "meter": _NAME,
        "scope": _SCOPE,
        "duration_s": Described("From the first sample to the last.", "samples", "s"),
        "rejected": _REJECTED,
        "rails": _RAILS,
    },
}
