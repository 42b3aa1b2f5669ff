"""What a requirement may be about: the quantities, their statistics and their units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TIME_UNITS = {"s": 1.0, "ms": 1e-3}
POWER_UNITS = {"W": 1.0, "mW": 1e-3}
ENERGY_UNITS = {"J": 1.0, "mJ": 1e-3}
SHARE_UNITS = {"1": 1.0, "%": 0.01}
BYTE_UNITS = {"bytes": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}


@dataclass(frozen=True)
class Quantity:
    """One figure that can be required.

    Attributes:
        statistics: those that may be asked for, the default first. `declared` is what the target's
            description says, `share` is k of n, `recorded` is a single number.
        units: unit -> how many of the base unit it is, the base unit (that of the figures) first.
        at_least: whether more is better.
        share_of: what a share is of, in the singular; empty for what is no share.
    """

    statistics: tuple[str, ...]
    units: Mapping[str, float]
    at_least: bool = False
    is_power: bool = False
    is_size: bool = False
    share_of: str = ""


QUANTITIES: Mapping[str, Quantity] = {
    "image_s": Quantity(("median", "p90", "p99", "max"), TIME_UNITS),
    "infer_s": Quantity(("median", "p90", "p99", "max"), TIME_UNITS),
    "load_s": Quantity(("median", "max"), TIME_UNITS),
    "power_peak_w": Quantity(("max",), POWER_UNITS, is_power=True),
    "power_mean_w": Quantity(("median",), POWER_UNITS, is_power=True),
    "energy_j": Quantity(("median",), ENERGY_UNITS),
    "accuracy": Quantity(("share",), SHARE_UNITS, at_least=True, share_of="image"),
    "deadline_misses": Quantity(("share",), SHARE_UNITS, share_of="paced pass"),
    "memory_bytes": Quantity(("median", "max"), BYTE_UNITS),
    "artifact_bytes": Quantity(("recorded",), BYTE_UNITS),
    "mass_g": Quantity(("declared",), {"g": 1.0, "kg": 1e3}),
    "size_mm": Quantity(("declared",), {"mm": 1.0, "cm": 10.0}, is_size=True),
}

PERCENTILES: Mapping[str, float] = {"p90": 0.9, "p99": 0.99}
