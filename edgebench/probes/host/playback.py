"""What was recorded once, sampled again: its first sample is at the moment at which sampling begins."""

import time
from typing import Any, Dict, Optional, Sequence

from ..basics import ProbeMissing, now_ns
from .sampling import HostMeter, Samples

MOST_RATE_HZ = 1e5
LOOKED_AT = 10000
NOT_LIVE = {"live samples": "they are played: the figures are those of the recording, not of what runs now"}
FIX_OVER = "record for longer than the sessions take"


class PlayedMeter(HostMeter):
    """Gives recorded samples at the pace at which they were recorded, each once its moment has come.

    Args:
        info: what it says of itself.
        t_ns: stamps, which rise; only their distances count.
        values: by channel one value a stamp.
    """

    def __init__(self, info: Dict[str, Any], t_ns: Sequence[int], values: Dict[str, Sequence[float]]) -> None:
        super(PlayedMeter, self).__init__(info)
        self._t_ns = t_ns
        self._values = values
        self._next = 0
        self._began_ns: Optional[int] = None

    def start(self) -> None:
        """Its first sample is now."""
        self._began_ns = now_ns()

    def _take(self, samples: Samples, end_s: float) -> None:
        if self._began_ns is None:
            self.start()
        assert self._began_ns is not None
        shift_ns = self._began_ns - self._t_ns[0]
        moment_ns = now_ns()
        while self._next < len(self._t_ns) and self._t_ns[self._next] + shift_ns <= moment_ns:
            row = {name: column[self._next] for name, column in self._values.items()}
            samples.add(self._t_ns[self._next] + shift_ns, row)
            self._next += 1
        if self._next == len(self._t_ns):
            length_s = (self._t_ns[-1] - self._t_ns[0]) / 1e9
            raise ProbeMissing("what was recorded is over after {:.6g} s".format(length_s), FIX_OVER)
        due_s = time.monotonic() + (self._t_ns[self._next] + shift_ns - now_ns()) / 1e9
        self._wait(min(due_s, end_s))


def typical_rate_hz(t_ns: Sequence[int]) -> float:
    """Samples a second by the median of their first distances; stamps rise and are two or more."""
    t_ns = t_ns[:LOOKED_AT]
    distances = sorted(after - before for before, after in zip(t_ns, t_ns[1:]))
    return min(MOST_RATE_HZ, 1e9 / distances[len(distances) // 2])
