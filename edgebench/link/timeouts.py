"""How long each stage of a session may take before it counts as hung; generous, because boards are slow."""

from __future__ import annotations

import os
from dataclasses import dataclass

from edgebench.errors import UsageError

ENVIRONMENT = "EDGEBENCH_STAGE_TIMEOUT_S"


@dataclass(frozen=True)
class Timeouts:
    """Seconds for one request of each stage: a pass, not a session; a few hundred predictions, not all."""

    connect: float = 60.0
    start: float = 60.0
    load: float = 900.0
    golden: float = 600.0
    scene: float = 300.0
    measure: float = 1800.0
    predict: float = 1800.0
    stop: float = 10.0
    interrupt: float = 30.0  # for the pass in hand after Ctrl-C
    probe: float = 10.0

    @classmethod
    def from_environment(cls) -> Timeouts:
        """The defaults, with `$EDGEBENCH_STAGE_TIMEOUT_S` for each stage of a session where that is set."""
        text = os.environ.get(ENVIRONMENT)
        if not text:
            return cls()
        try:
            limit = float(text)
        except ValueError:
            limit = 0.0
        if not 0.0 < limit < float("inf"):
            raise UsageError(f"{ENVIRONMENT}={text!r} is not a time", fix="give seconds above 0, such as 120")
        return cls(load=limit, golden=limit, scene=limit, measure=limit, predict=limit)
