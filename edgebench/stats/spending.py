"""How much error each look may spend when a trial is judged after every session and stops once decided.

Looking several times at 95 % is wrong far more often than in 5 %. The total error is therefore divided over
the looks: Lan and DeMets' spending with Pocock's function, alpha(t) = alpha * ln(1 + (e - 1) t), where t is
the share of the sessions that are there (Lan and DeMets, "Discrete sequential boundaries for clinical
trials", 1983). Each look may be wrong by its own increment, tested with the interval of that many
sessions, so that the sum (the union bound) holds whatever the looks share and however few they are.
"""

from __future__ import annotations

import math

from edgebench.stats.intervals import MIN_SESSIONS

SPENDING_NAME = "Lan-DeMets, Pocock-type"
ALPHA = 0.01
"""At most this share of trials is decided wrongly, over all looks."""

STOPPING_CONFIDENCE = 0.975
"""At what confidence the interval of a trial is taken that ends by what its sessions show.

It ends at a moment when they happen to lie close together, or far from a limit, so an interval at 95 % covers
only 90 to 95 % then. Taken at 97.5 %, to end a trial by its width and to show, it covers at least 94 %: found
by simulation of normal sessions whose spread is half to five times the target, with up to 30 sessions.
"""


def spent(share: float, alpha: float = ALPHA) -> float:
    """The error that may have been spent once that share of the sessions is there; 0 at 0, alpha at 1."""
    if not (0 <= share <= 1 and 0 < alpha < 0.5):
        raise ValueError("the share lies from 0 to 1, alpha between 0 and a half")
    return alpha * math.log1p((math.e - 1) * share)


def look_confidence(look: int, looks: int, alpha: float = ALPHA) -> float:
    """The two-sided confidence that the interval of one look must have.

    A decision is wrong on one side only (a limit that is met cannot be met by mistake), so an increment d of
    the error is the two-sided interval at 1 - 2 d.

    Args:
        look: 1 for the first, which is at MIN_SESSIONS sessions; one more session a look.
        looks: how many there are when no decision falls: the most sessions less MIN_SESSIONS, plus 1.
        alpha: the share of trials that may be decided wrongly.

    Raises ValueError unless 1 <= look <= looks.
    """
    if not 1 <= look <= looks:
        raise ValueError(f"look {look} of {looks} does not exist")
    before = MIN_SESSIONS - 1
    most = looks + before
    earlier = spent((look - 1 + before) / most, alpha) if look > 1 else 0.0
    return 1.0 - 2.0 * (spent((look + before) / most, alpha) - earlier)
