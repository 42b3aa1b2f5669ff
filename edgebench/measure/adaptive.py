"""What ends the sessions of a run early: a trial that has been measured enough, and the run's time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from edgebench.fit.summarise import summarise_one
from edgebench.store.experiment import ExperimentStore
from edgebench.store.load import StoredResults

Settled = Callable[[str], bool]
"""By a trial's key: whether a rule that was asked for ends it with the sessions that are on disk."""


def never(key: str) -> bool:
    """Where no rule was asked for, the number of sessions alone ends a trial."""
    return False


def settled_on_disk(store: ExperimentStore) -> Settled:
    """Judged anew from the store each time: a resumed experiment ends where the uninterrupted one would."""

    def settled(key: str) -> bool:
        ended = summarise_one(StoredResults(store.path, store.record), key).ended
        return ended is not None and ended.by == "rule"

    return settled


@dataclass
class TimeBudget:
    """How long a run may go on; no session starts once it is over.

    Args:
        limit_s: seconds from the moment that this is made; None for no limit.
        clock: seconds on a clock that never steps.
    """

    limit_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    _start_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._start_s = self.clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds since it was made."""
        return self.clock() - self._start_s

    @property
    def left_s(self) -> float:
        """Seconds until it is used up; infinite without a limit."""
        return math.inf if self.limit_s is None else max(0.0, self.limit_s - self.elapsed_s)

    @property
    def over(self) -> bool:
        """Whether the time is used up."""
        return self.limit_s is not None and self.elapsed_s >= self.limit_s
