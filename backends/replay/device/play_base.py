"""What every replayed session has: its time, its stages and how it ends (device side, Python 3.6)."""

import abc
import math
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Optional, Tuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

START_NS = 10**12  # of a drawn session: a device that has been up for a while

Stamps = Tuple[int, int, int, int, int, int]
"""Patchify begins and ends, preprocess ends, infer begins and ends, all in ns; time on the device itself."""


class Canned(Exception):
    """What the script says of the end of a session, or that it has nothing more to say."""

    def __init__(self, words: str, session_status: str = "error") -> None:
        super(Canned, self).__init__(words)
        self.session_status = session_status


class Tape:
    """The time of a replay: each reading gives the next stamp that was laid out, or stands still."""

    def __init__(self) -> None:
        self.now = START_NS
        self.ahead: Deque[int] = deque()
        self.slept: Callable[[float], None] = self.advance

    def clock(self) -> int:
        """The next stamp that was laid out, else the time at which it stands."""
        if self.ahead:
            self.now = self.ahead.popleft()
        return self.now

    def advance(self, seconds: float) -> None:
        """Let so much time go by."""
        self.now += math.ceil(seconds * 1e9)


class Played(abc.ABC):
    """What recorded and drawn sessions share: the stage, the count of passes, and how it ends."""

    def __init__(self, fault: Optional[Dict[str, Any]]) -> None:
        self.fault = fault
        self.memory: Dict[str, Optional[int]] = {}
        self.load_ns = 0
        self.first_inference_ns = 0
        self.slots = 1
        self.stage = "load"
        self.passes = -1  # 0 for the first pass, 1 for the warm-up, then the steady ones
        self.inferred = False
        self.reached = 0  # by the batches outside the passes
        self.patches = 0
        self.predicted = 0  # patches of the stage in hand that have scores

    def due(self) -> bool:
        """Whether this is where the script ends the session."""
        fault = self.fault
        if fault is None or fault["stage"] != self.stage:
            return False
        return self.stage != "measure" or self.passes == fault["pass"]

    def begin(self, stage: str) -> None:
        """As the worker says it."""
        self.stage, self.predicted = stage, 0
        if stage == "measure":
            self.passes += 1

    def scene(self, patches: int) -> None:
        """The scene is there."""
        self.stage, self.patches = "scene", patches

    @abc.abstractmethod
    def stamps(self, index: int) -> Optional[Stamps]:
        """Of a batch of the run in hand; None where the script has no more."""

    @abc.abstractmethod
    def over(self, batches: int) -> int:
        """The run in hand had so many batches: when it ended."""

    @abc.abstractmethod
    def scores(self, first: int, seen: "NDArray[np.uint8]") -> "NDArray[np.float32]":
        """Of a batch whose first patch has this number within the stage."""

    def instant(self, index: int, now: int) -> Stamps:
        """A batch outside the passes takes no time, but for the session's first inference."""
        first = self.first_inference_ns if index == 0 and not self.inferred else 0
        self.inferred = True
        start = max(now, self.reached)
        self.reached = start + first
        return start, start, start, start, self.reached, 0
