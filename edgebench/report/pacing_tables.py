"""What the report says of paced and sustained runs in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import tables, words
from edgebench.report.tables import Column, Table
from edgebench.store.records import ExperimentRecord, TrialRecord


def steady_part(record: ExperimentRecord) -> str:
    """What the steady part of each session was: `3 steady passes`, or how long and how often."""
    often = "" if record.period_s is None else f", one every {record.period_s:g} s"
    if record.sustained_s is None:
        counts = [_steady_count(record, trial) for trial in record.trials] or [_counted_passes(record.passes)]
        return f"{' or '.join(dict.fromkeys(counts))}{often}"
    minutes = record.sustained_s / 60
    return f"{minutes:g} {'minute' if minutes == 1 else 'minutes'} of steady passes{often}"


def _steady_count(record: ExperimentRecord, trial: TrialRecord) -> str:
    """How many a session of a trial has, and over how many patches where that is not the whole scene."""
    passes = trial.passes or record.passes
    if trial.patches is None:
        return _counted_passes(passes)
    noun = "pass or window" if passes == 1 else "passes or windows"
    return f"{passes} steady {noun} over {trial.patches} of {record.scene_of(trial).patches} patches"


def _counted_passes(passes: int) -> str:
    return f"{passes} steady {'pass' if passes == 1 else 'passes'}"


def most_sessions(record: ExperimentRecord) -> str:
    """How many sessions a trial was to have: `5 sessions`, `at most 30 sessions` where a rule ends it."""
    most = "at most " if record.target_ci is not None or record.decide else ""
    return f"{most}{words.counted(record.sessions, 'session')}"


def paced_table(summaries: Sequence[TrialSummary]) -> Table:
    """Deadlines of paced passes; no rows where none was paced."""
    names = tables.trial_names(summaries)
    return Table(
        "paced",
        (
            Column("trial"),
            Column("a scene every [s]", figures=True),
            Column("passes", figures=True),
            Column("deadline misses", figures=True),
            Column("worst lateness [s]", figures=True),
        ),
        tuple(
            (
                names[summary.key],
                words.number(summary.paced.period_s),
                str(summary.paced.passes),
                str(summary.paced.misses),
                words.signed(summary.paced.worst_lateness_s),
            )
            for summary in summaries
            if summary.paced is not None
        ),
        caption="a miss is a pass that was not done when the next was due; lateness below 0 is time to spare "
        "(the device keeps the period itself: a stall of this machine or of the link misses none)",
    )


def sustained_table(summaries: Sequence[TrialSummary]) -> Table:
    """First against last quarter of sustained sessions; no rows where none was sustained."""
    names = tables.trial_names(summaries)
    shown = [summary for summary in summaries if summary.sustained is not None]
    return Table(
        "sustained",
        (
            Column("trial"),
            Column("first quarter [s]", figures=True),
            Column("last quarter [s]", figures=True),
            Column("ratio", figures=True),
            Column("slope [s/h]", figures=True),
            Column("heat"),
            Column("because", long=True),
        ),
        tuple(
            (
                names[summary.key],
                _or_missing(summary.sustained.first_quarter_s),
                _or_missing(summary.sustained.last_quarter_s),
                _or_missing(summary.sustained.ratio),
                words.MISSING
                if summary.sustained.slope_per_hour is None
                else words.signed(summary.sustained.slope_per_hour),
                "suspected" if summary.sustained.suspected else "not seen",
                words.plain("; ".join(summary.sustained.because)),
            )
            for summary in shown
            if summary.sustained is not None
        ),
        caption=f"medians of {words.latency_names(shown)} over the first and the last quarter of the "
        "steady passes; means over the sessions",
    )


def _or_missing(value: float | None) -> str:
    return words.MISSING if value is None else words.number(value)
