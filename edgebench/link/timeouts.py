"""How long each stage of a session may take before it counts as hung; generous, because boards are slow."""

from __future__ import annotations

import os
from dataclasses import dataclass

from edgebench.errors import UsageError

ENVIRONMENT = "EDGEBENCH_STAGE_TIMEOUT_S"
LOCK_ENVIRONMENT = "EDGEBENCH_LOCK_WAIT_S"
RECONNECT_ENVIRONMENT = "EDGEBENCH_RECONNECT_S"


@dataclass(frozen=True)
class Timeouts:
    """Seconds for one request of each stage: a pass, not a session; a few hundred predictions, not all.

    Progress gives a request its time anew; all predictions have as much as each few hundred of them may take.
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
        if limit := _seconds(ENVIRONMENT):
            limits = dict.fromkeys(("build", "load", "golden", "scene", "measure", "predict"), limit)
        for name, variable in (("lock", LOCK_ENVIRONMENT), ("reconnect", RECONNECT_ENVIRONMENT)):
            if seconds := _seconds(variable):
                limits[name] = seconds
        return cls(**limits)


def _seconds(variable: str) -> float | None:
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise UsageError(f"{variable}={text!r} is not a time", fix="give seconds above 0, such as 120")
    return seconds
