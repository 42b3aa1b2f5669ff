"""The steady part of one session as the host follows it: when the next pass is due, when the last is done.

Paced passes are the device's own to start (agent/worker.py): the host only checks that it kept the schedule.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from edgebench.agent.frames import ProtocolError
from edgebench.records.session import MeasurePlan
from edgebench.session_stages import TIMEOUT, seconds_from
from edgebench.stats.power import MIN_PERIODS, PASS_READINGS

SHORT_SHARE = PASS_READINGS / MIN_PERIODS
"""A pass that takes less of what all have to last is too short for the meter that they have to last for.

It does not tell such passes from what is between them, which is then part of their energy, and of this time
(edgebench.stats.power.passes_power).
"""

SLACK_S = 60.0
"""How far the host's clock may be ahead of what the device says has passed, before that is not believed."""


class Schedule:
    """Follows the steady passes by their stamps on the device's clock.

    Args:
        plan: a number of passes, or for how long; perhaps a period, or a time that they last at least.
        host_s: the host's monotonic clock, which only bounds a device whose clock stands still.
    """

    def __init__(self, plan: MeasurePlan, host_s: Callable[[], float] = time.monotonic) -> None:
        self.period_ns = None if plan.period_s is None else max(1, round(plan.period_s * 1e9))
        self.next_due_ns: int | None = None
        self._passes = plan.passes
        self._sustained_s = plan.sustained_s
        self._least_s = plan.least_s or 0.0
        self._host_s = host_s
        self._began_ns: int | None = None
        self._reached_ns = 0
        self._passes_ns = 0  # the time within passes
        self._heard_s = host_s()  # when the pass before was taken in
        self._gone_s = 0.0  # by then, on the host's clock
        self._seen = 0

    @property
    def request(self) -> dict[str, int | None]:
        """What the device has to know to keep the period by itself."""
        sustained_ns = None if self._sustained_s is None else round(self._sustained_s * 1e9)
        return {
            "period_ns": self.period_ns,
            "passes": self._passes,
            "sustained_ns": sustained_ns,
            "least_ns": round(self._least_s * 1e9),
        }

    @property
    def over(self) -> bool:
        """Whether there are passes enough, or they went on for long enough; at least one is measured."""
        if self._lasted_ns < self._least_s * 1e9:
            return False
        if self._sustained_s is None:
            return self._seen >= self._passes
        return self._began_ns is not None and self._reached_ns - self._began_ns >= self._sustained_s * 1e9

    @property
    def _lasted_ns(self) -> int:
        """The time that a meter has for them: within the passes, or from the first to the last."""
        if self._began_ns is None:
            return 0
        short_ns = SHORT_SHARE * self._least_s * 1e9
        if self.period_ns is None and self._passes_ns >= self._seen * short_ns:
            return self._passes_ns
        return self._reached_ns - self._began_ns

    def take_in(
        self, start_ns: int, end_ns: int, due_ns: int | None, *, asked: bool = True
    ) -> tuple[int, int] | tuple[None, None]:
        """One more pass as the device stamped it; gives its due time and deadline where it is paced.

        `asked` is whether an unpaced one was asked for when the one before it had been taken in.

        ProtocolError for a pass that did not start at its due time, and for a clock that stands still.
        """
        self._seen += 1
        if self.period_ns is None:
            self._began_ns = start_ns if self._began_ns is None else self._began_ns
            self._require_moving_clock(start_ns)
            self._reached_ns = end_ns
            self._passes_ns += end_ns - start_ns
            heard_s = self._host_s()
            # One that the device started by itself may have waited on a link that stood still.
            self._gone_s += min(heard_s - self._heard_s, math.inf if asked else SLACK_S / 2)
            self._heard_s = heard_s
            return None, None
        if due_ns is None or due_ns > start_ns or due_ns != (self.next_due_ns or due_ns):
            raise ProtocolError(f"a paced pass due at {due_ns}, started at {start_ns}")
        deadline_ns = due_ns + self.period_ns
        self._began_ns = due_ns if self._began_ns is None else self._began_ns
        # The pause after a pass belongs to the time that a paced session goes on.
        self._reached_ns = max(end_ns, deadline_ns)
        # Each pass is a period on, so that a clock that stands still ends the schedule none the less.
        self.next_due_ns = deadline_ns
        return due_ns, deadline_ns

    def wait_s(self, now_ns: int) -> float:
        """For how long a device whose clock says `now_ns` waits for the next pass; 0 where it is due."""
        return 0.0 if self.next_due_ns is None else max(0, self.next_due_ns - now_ns) / 1e9

    def _require_moving_clock(self, start_ns: int) -> None:
        """Compare the start of a pass with when the one before it was there, on the host's clock."""
        if self._began_ns is None or self._seen == 1:
            return
        limit_s = max(self._sustained_s or 0.0, self._least_s)
        said_s = (start_ns - self._began_ns) / 1e9
        if limit_s and self._gone_s > 1.1 * max(limit_s, said_s) + SLACK_S:
            raise ProtocolError(f"its clock says that {said_s:.1f} s have passed in {self._gone_s:.1f} s")


# How long each stage of a session may take before it counts as hung; generous, because boards are slow.


LOCK_ENVIRONMENT = "EDGEBENCH_LOCK_WAIT_S"
RECONNECT_ENVIRONMENT = "EDGEBENCH_RECONNECT_S"


@dataclass(frozen=True)
class Timeouts:
    """Seconds for one request of each stage: a pass, not a session; a few hundred predictions, not all.

    Progress renews the time of a request; all predictions have as much as each few hundred of them may take.
    """

    connect: float = 60.0  # for an answer of the agent, and without any headway in what is sent to it
    start: float = 60.0
    build: float = 3600.0  # on the board, for a step of it or, where it does not say how far it is, all of it
    load: float = 900.0
    golden: float = 600.0
    scene: float = 300.0
    measure: float = 1800.0
    predict: float = 1800.0
    stop: float = 10.0
    interrupt: float = 30.0  # for the pass in hand after Ctrl-C
    probe: float = 10.0
    power_mode: float = 180.0  # setting it, or putting it back: some programs of 20 s at most each
    lock: float = 60.0  # while another harness measures on the board
    reconnect: float = 180.0  # until a board that was lost is back, as after a reboot

    @classmethod
    def from_environment(cls) -> Timeouts:
        """The defaults, unless the environment says otherwise.

        `$EDGEBENCH_STAGE_TIMEOUT_S` is for each stage of a session, `$EDGEBENCH_LOCK_WAIT_S` for a board that
        another harness holds, `$EDGEBENCH_RECONNECT_S` for one that was lost.
        """
        limits: dict[str, float] = {}
        if limit := seconds_from(TIMEOUT):
            limits = dict.fromkeys(("build", "load", "golden", "scene", "measure", "predict"), limit)
        for name, variable in (("lock", LOCK_ENVIRONMENT), ("reconnect", RECONNECT_ENVIRONMENT)):
            if seconds := seconds_from(variable):
                limits[name] = seconds
        return cls(**limits)
