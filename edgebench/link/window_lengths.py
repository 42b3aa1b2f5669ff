"""How many inferences a window holds, by what one of them takes (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class WindowLengths:
    """Bounds of a window, as MLPerf Tiny's runner keeps them: at least 10 s and 10 inferences, at most 25 s.

    Attributes:
        least_s, most_s: of a window, in seconds of the device's clock.
        aim_s: what the number of inferences is computed for: a tenth more than the least.
        least_inferences: of a window, unless they took longer than `most_s`.
        most_inferences: of a window, whatever a clock says that stands still.
        warm_up_s: how long the warm-up before a window takes at most.
    """

    least_s: float = 10.0
    aim_s: float = 11.0
    most_s: float = 25.0
    least_inferences: int = 10
    most_inferences: int = 1_000_000
    warm_up_s: float = 2.5

    def inferences(self, inference_s: float) -> int:
        """Of a window; where one takes more than `most_s`, a single one."""
        wanted = max(self.least_inferences, math.ceil(self.aim_s / inference_s))
        return max(1, min(wanted, math.floor(self.most_s / inference_s), self.most_inferences))

    def warm_ups(self, inference_s: float, floor: int) -> int:
        """Inferences before a window: as many as are asked for, as far as there is time."""
        return min(floor, math.floor(self.warm_up_s / inference_s))

    def window_s(self, inference_s: float) -> float:
        """How long a window is then."""
        return self.inferences(inference_s) * inference_s


USUAL = WindowLengths()
"""What every session has; tests have shorter ones."""
