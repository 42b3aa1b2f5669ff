"""How far the sessions of a trial lie apart: as last measured here, else an assumption that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgebench.cache.objects import Cache, canonical_hash
from edgebench.stats.forecast import Forecast, forecast_anew, sessions_for
from edgebench.stats.intervals import MIN_SESSIONS, session_medians

ASSUMED = 0.02
"""Standard deviation between sessions, as a share of image_s, where none was measured: 1 to 2 % on a quiet
machine, 5 % and more on a shared one."""

_KIND = "session-spread"


@dataclass(frozen=True)
class Spread:
    """Standard deviation between sessions, as a share of the value, and how many showed it; 0: assumed."""

    share: float = ASSUMED
    sessions: int = 0

    @property
    def measured(self) -> bool:
        """Whether sessions on this machine showed it."""
        return self.sessions > 0

    def forecast(self, sessions: int, target: float, confidence: float) -> Forecast:
        """Whether so many sessions bring the interval to plus or minus `target`, and how many would.

        An assumed spread is taken as it is.
        """
        if self.measured and sessions >= MIN_SESSIONS:
            return forecast_anew(self.share, self.sessions, sessions, target, confidence)
        needed = sessions_for(self.share, target, confidence)
        enough = needed is not None and needed <= sessions
        return Forecast("yes" if enough else "no", needed, None)


def spread_of(values_by_session: Sequence[Sequence[float]]) -> Spread | None:
    """What a trial's sessions show; None of fewer than MIN_SESSIONS."""
    medians = np.asarray(session_medians(values_by_session), dtype=np.float64)
    if medians.size < MIN_SESSIONS or medians.mean() <= 0:
        return None
    return Spread(float(medians.std(ddof=1) / medians.mean()), int(medians.size))


def note_spread(cache: Cache, inputs: Mapping[str, object], spread: Spread) -> None:
    """Remember what was measured for the next forecast."""
    cache.remember(_KIND, canonical_hash(inputs), {"share": spread.share, "sessions": spread.sessions})


def known_spread(cache: Cache, inputs: Mapping[str, object]) -> Spread:
    """What the sessions of this trial showed when it was last measured here, else the assumption."""
    noted = cache.recipe(_KIND, canonical_hash(inputs)) or {}
    share, sessions = noted.get("share"), noted.get("sessions")
    if not isinstance(share, int | float) or not 0 <= share < 100:
        return Spread()
    if not isinstance(sessions, int) or not MIN_SESSIONS <= sessions <= 100_000:
        return Spread()
    return Spread(float(share), sessions)
