"""A Jetson's power rails: their channels, and which of them, or which sum, is the module's total.

The total by board: Nano POM_5V_IN; TX1, TX2, Xavier NX, Orin NX and Orin Nano VDD_IN; Thor VIN; AGX Xavier
the sum of its six rails; AGX Orin the sum of VDD_GPU_SOC, VDD_CPU_CV and VIN_SYS_5V0 (the last alone is not
the total). Rails of any other board have no total.
"""

from typing import Any, Dict, List

SCOPE = "module"
NOT_CONNECTED = "NC"
SUM_NAME = "total"
GPU_CLOCK = "gpu_clock"
GPU_LOAD = "gpu_load"
TEMPERATURE = "temperature."
TOTALS = (
    ("POM_5V_IN",),
    ("VDD_IN",),
    ("VIN",),
    ("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"),  # AGX Xavier
    ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"),  # AGX Orin
)
"""The rails whose sum is all that a module draws, the first set that it has."""

# A little below zero is the offset of a shunt's amplifier; no module draws a kilowatt.
RANGE_W = [-1.0, 1000.0]
RANGE_C = [-100.0, 200.0]

GPU_CLOCK_CHANNEL = {"name": GPU_CLOCK, "quantity": "clock", "unit": "MHz", "total": True}
"""The clock that counts among a probe's clocks."""


def is_rail(name: str) -> bool:
    """Return True if a rail may have this name: no other channel's, and no memory's."""
    taken = (SUM_NAME, GPU_CLOCK, GPU_LOAD, "RAM", "SWAP", "IRAM")
    return name not in taken and not name.startswith(TEMPERATURE)


class Rails:
    """The rails of one board.

    Args:
        names: of the rails.

    Attributes:
        channels: one a rail, and one of their sum where the board's rule is a sum.
        absent: why there is no total; empty where there is one.
    """

    def __init__(self, names: List[str]) -> None:
        self.names = names
        self._summed = next((rails for rails in TOTALS if set(names).issuperset(rails)), ())
        self._total = self._summed[0] if len(self._summed) == 1 else SUM_NAME
        shown = names + [SUM_NAME] if len(self._summed) > 1 else names
        self.channels: List[Dict[str, Any]] = [
            {"name": name, "quantity": "power", "unit": "W", "range": RANGE_W} for name in shown
        ]
        for channel in self.channels:
            if self._summed and channel["name"] == self._total:
                channel["total"] = True
        words = "no rule says what the total of {} is"
        self.absent = {} if self._summed else {"total": words.format(", ".join(names))}

    def sample(self, watts: Dict[str, float]) -> Dict[str, float]:
        """The power of each rail in W, and that of their sum where it is a channel."""
        if len(self._summed) < 2:
            return watts
        return dict(watts, **{SUM_NAME: sum([watts[name] for name in self._summed])})


def temperature_channel(sensor: str) -> Dict[str, Any]:
    """The channel of a sensor's temperature."""
    return {"name": TEMPERATURE + sensor, "quantity": "temperature", "unit": "C", "range": RANGE_C}
