"""A Jetson's power rails: their channels, and which of them, or which sum, is the module's total.

The total by board: Nano POM_5V_IN; TX1, TX2, Xavier NX, Orin NX and Orin Nano VDD_IN; Thor VIN; AGX Xavier
the sum of its six rails; AGX Orin the sum of VDD_GPU_SOC, VDD_CPU_CV and VIN_SYS_5V0 (the last alone is not
the total). Rails of another board have no total: none is guessed at.
"""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

SCOPE = "module"
NOT_CONNECTED = "NC"
SUM_NAME = "total"
GPU_CLOCK = "gpu_clock"
GPU_LOAD = "gpu_load"
TEMPERATURE = "temperature."
INPUTS = ("POM_5V_IN", "VDD_IN", "VIN")
SUMMED = (
    ("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"),  # AGX Xavier
    ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"),  # AGX Orin
)
# A little below zero is the offset of a shunt's amplifier; no module draws a kilowatt.
RANGE_W = [-1.0, 1000.0]
RANGE_C = [-100.0, 200.0]


class Total(NamedTuple):
    """The channel with all that the module draws, and the rails whose sum it is."""

    channel: str
    rails: Tuple[str, ...]


def is_taken(rail: str) -> bool:
    """Whether a rail has the name of another channel, which no board's has."""
    return rail in (SUM_NAME, GPU_CLOCK, GPU_LOAD) or rail.startswith(TEMPERATURE)


def total_of(rails: Iterable[str]) -> Optional[Total]:
    """The total of these rails by the board's rule; None where no rule knows them."""
    known = set(rails)
    for name in INPUTS:
        if name in known:
            return Total(name, (name,))
    for names in SUMMED:
        if known.issuperset(names):
            return Total(SUM_NAME, names)
    return None


def power_channels(rails: List[str]) -> Tuple[List[Dict[str, Any]], Dict[str, str]]:
    """The channels of these rails and of their sum, and what is absent of them, with the reason."""
    total = total_of(rails)
    names = list(rails)
    if total is not None and total.channel not in names:
        names.append(total.channel)
    channels = []
    for name in names:
        channel: Dict[str, Any] = {"name": name, "quantity": "power", "unit": "W", "range": RANGE_W}
        if total is not None and name == total.channel:
            channel["total"] = True
        channels.append(channel)
    if total is not None:
        return channels, {}
    return channels, {"total": "no rule says what the total of {} is".format(", ".join(rails))}


def with_total(watts: Dict[str, float], total: Optional[Total]) -> Dict[str, float]:
    """The power of each rail in W, and that of their sum where `total_of` has one for them."""
    sample = dict(watts)
    if total is not None and total.channel not in watts:
        sample[total.channel] = sum([watts[name] for name in total.rails])
    return sample


def gpu_clock_channel() -> Dict[str, Any]:
    """Of a probe's clocks the one that counts."""
    return {"name": GPU_CLOCK, "quantity": "clock", "unit": "MHz", "total": True}


def temperature_channel(name: str) -> Dict[str, Any]:
    """The channel of a sensor's temperature; its name begins with TEMPERATURE."""
    return {"name": name, "quantity": "temperature", "unit": "C", "range": RANGE_C}
