"""How the figures of power and energy are to be read: sentences for the report, where a meter was."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.report.power_scopes import meter_text

_METERS = 4  # whose averaging times are named


def reading_notes(summaries: Sequence[TrialSummary]) -> list[str]:
    """What scope, rate, averaging, mean, peak and net energy are; nothing where no trial had a meter."""
    rails = [rail for summary in summaries for rail in summary.power or ()]
    if not rails:
        return []
    if any(summary.paced for summary in summaries):
        within = "of whole periods, the pauses of --period included"
    else:
        within = "within the steady passes, without what lies between them"
    averaged = list(
        dict.fromkeys(
            f"{words.number(rail.averaging_ms)} ms for {meter_text(rail)}"
            for rail in rails
            if rail.averaging_ms is not None
        )
    )
    reading = "Each reading counts as the power at its moment"
    if averaged:
        more = f" and {len(averaged) - _METERS} more" if len(averaged) > _METERS else ""
        reading = f"A reading is the mean over the time before it: {', '.join(averaged[:_METERS])}{more}"
    return [
        f"Mean power and energy an image are {within}; peak and p99 are of all readings from the first pass "
        "to the last, and a peak between two readings is not seen. Net of idle is the energy an image less "
        "what the idle device draws in the same time. Intervals are at 95 %.",
        "A meter sees its scope and nothing beyond it (chip, module, board, all that comes through USB, or "
        f"the wall with its power supply), so that only figures of one scope compare. {reading}; "
        "rate is how many a second came, in the session with the fewest; gap is the longest time without.",
    ]
