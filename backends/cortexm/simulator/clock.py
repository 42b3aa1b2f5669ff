"""The simulated board's clock: microseconds modulo 2^32, of the host's time or of a declared one."""

from __future__ import annotations

import time
from collections.abc import Callable

WRAP_US = 1 << 32


class SimulatedClock:
    """Starts when it is made.

    Args:
        start_us: what it shows at the start.
        inference_ms: the declared time of an inference. Windows then move the clock on by that much, without
            waiting; None: inferences take what they take.
        nanoseconds: the time that goes by, monotonic.
    """

    def __init__(
        self,
        start_us: int = 0,
        inference_ms: float | None = None,
        nanoseconds: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.inference_ms = inference_ms
        self._nanoseconds = nanoseconds
        self._start_us = start_us
        self.restart()

    @property
    def title(self) -> str:
        """What counts the time, as `profile` says it."""
        if self.inference_ms is None:
            return "the host's monotonic clock"
        return f"declared, {self.inference_ms:g} ms an inference"

    def restart(self) -> None:
        """Begin again at the start, as a reset does."""
        self._shift_ns = self._start_us * 1000 - self._nanoseconds()

    def now_us(self) -> int:
        """What it shows."""
        return self.lap_us(self._nanoseconds())

    def lap_us(self, at_ns: int) -> int:
        """What it showed at a moment of the host's."""
        return (at_ns + self._shift_ns) // 1000 % WRAP_US

    def declared_window(self, inferences: int) -> tuple[int, int]:
        """The laps of inferences that take as long as is declared; the clock then shows their end."""
        assert self.inference_ms is not None
        start_ns = self._nanoseconds()
        length_ns = round(inferences * self.inference_ms * 1e6)
        laps = self.lap_us(start_ns), self.lap_us(start_ns + length_ns)
        self._shift_ns += length_ns
        return laps
