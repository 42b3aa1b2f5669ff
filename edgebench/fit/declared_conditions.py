"""What was declared of a target's boot and temperatures, as a limit is held against it.

Nothing here measures them. A boot time that is declared as a maximum passes a limit that it does not exceed,
and fails none, since it may never be reached; a typical one above the limit fails it, and passes none. A
range of temperatures is a bound of its maker's, and passes or fails.
"""

from __future__ import annotations

from edgebench.fit.figure import Certainty, Figure
from edgebench.fit.metric import Question
from edgebench.fit.metrics import NO_BOOT, NO_TEMPERATURE
from edgebench.fit.trial_summary import TrialSummary


def boot_figure(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    """The declared boot time, in s."""
    boot = summary.boot_s
    if boot is None:
        return Figure(reason=NO_BOOT)
    is_maximum = boot.kind == "maximum"
    open_reason = "may never be reached: it can pass this limit, never fail it"
    if not is_maximum:
        open_reason = "bounds no single boot: it can fail this limit, never pass it"
    return Figure(
        boot.seconds,
        low=None if is_maximum else boot.seconds,
        high=boot.seconds if is_maximum else None,
        reason=f"the {boot} {open_reason}",
        what=f"the {boot}",
        note=summary.board_doubts.get("boot_s", ""),
        declared=boot.kind,
        lasting=True,
    )


def temperature_figure(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    """The end of the declared range that is asked for, in °C."""
    stated = summary.temperature_c
    if stated is None:
        return Figure(reason=NO_TEMPERATURE)
    return Figure(
        stated.low_c if question.statistic == "lowest" else stated.high_c,
        exact=True,
        what=f"the {stated}",
        note=summary.board_doubts.get("temperature_c", ""),
        declared="range",
        lasting=True,
    )
