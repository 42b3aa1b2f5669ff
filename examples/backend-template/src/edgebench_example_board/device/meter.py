"""Made-up watts, as an example of a meter: 1 W, and up to 2 W more as the processor is busy.

NOT A MEASUREMENT OF POWER. How busy the processor is comes from /proc/stat and is real; the watts are made up
from it. Python 3.6 syntax and the standard library alone: this file travels to the board.
"""

import time
from typing import Any, Dict, Iterator, List, Tuple

PLACE = "board"  # "host" where it is plugged into the machine that EdgeBench runs on
STAT = "/proc/stat"
RATE_HZ = 20.0
CHUNK_S = 0.5
IDLE_W = 1.0
BUSY_W = 2.0

Chunk = Tuple[List[int], Dict[str, List[float]]]


class MeterMissing(Exception):
    """There is no such meter; the reason and the fix reach the record of the session."""

    denied = False  # True where it is there and may not be read

    def __init__(self, reason: str, fix: str) -> None:
        super(MeterMissing, self).__init__(reason)
        self.reason = reason
        self.fix = fix


class Meter:
    """A value for every sampling interval, stamped at the interval's end."""

    def __init__(self, address: str, path: str) -> None:
        self._path = path
        self._running = True
        self._last = _busy_and_all(path)
        self._last_w = IDLE_W
        self.info: Dict[str, Any] = {
            "kind": "example-board-meter",
            "address": address,
            "rate_hz": RATE_HZ,
            "averaging_ms": 1e3 / RATE_HZ,  # what a reading is the mean over; None where that is not known
            "resolution": "made up: 1 W and 2 W more when the processor is busy",
            "scope": "chip",  # chip, module, board, usb or wall; a chip can fail a limit and never pass it
            "channels": [{"name": "made_up", "quantity": "power", "unit": "W"}],
        }

    def start(self) -> None:
        """The first sample follows one interval later."""
        self._last = _busy_and_all(self._path)

    def stop(self) -> None:
        """End the iteration after one more sample; called from a signal handler."""
        self._running = False

    def __iter__(self) -> Iterator[Chunk]:
        while self._running:
            stamps: List[int] = []
            watts: List[float] = []
            while self._running and len(stamps) < CHUNK_S * RATE_HZ:
                time.sleep(1 / RATE_HZ)
                watts.append(self._sample())
                # The board's monotonic clock, as the worker's stamps; Python 3.6 has no monotonic_ns.
                stamps.append(int(time.monotonic() * 1e9))
            yield stamps, {"made_up": watts}

    def _sample(self) -> float:
        busy, total = _busy_and_all(self._path)
        ticks = total - self._last[1]
        if ticks > 0:  # the kernel counts in hundredths of a second: an interval may be too short to see
            self._last_w = IDLE_W + BUSY_W * (busy - self._last[0]) / ticks
            self._last = (busy, total)
        return self._last_w


def open_probe(address: str) -> Meter:
    """The meter of `example-board-meter`, or `example-board-meter:/another/stat`."""
    path = address or STAT
    try:
        return Meter(address, path)
    except (OSError, ValueError, IndexError) as error:
        raise MeterMissing(
            "{} cannot be read: {}".format(path, error), "leave the address out, on a system with /proc"
        ) from None


def _busy_and_all(path: str) -> Tuple[int, int]:
    """Ticks in which a core was busy, and all of them, since the start (proc(5), the line `cpu`)."""
    with open(path) as file:
        words = file.readline().split()
    if words[0] != "cpu":
        raise ValueError("it does not begin with the line cpu")
    ticks = [int(word) for word in words[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
