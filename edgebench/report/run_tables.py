"""What the report says of paced and sustained runs in words and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from edgebench.judge.cautions import LIMIT_SENSOR, QUANTITIES, Observed, observe
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import TrialSummary
from edgebench.records.stored import ExperimentRecord, TrialRecord
from edgebench.report import tables, words
from edgebench.report.blocks import Column, Table, of_figures
from edgebench.report.metric_text import meter_text, metric_text
from edgebench.report.words import percent
from edgebench.results.load import StoredResults
from edgebench.stats.intervals import MIN_SESSIONS
from edgebench.stats.shape import unseen_mode_share


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
        of_figures("trial", "a scene every [s]", "passes", "deadline misses", "worst lateness [s]"),
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
            *of_figures("trial", "first quarter [s]", "last quarter [s]", "ratio", "slope [s/h]"),
            Column("heat"),
            Column("because", long=True),
        ),
        tuple(
            (
                names[summary.key],
                metric_text(summary.sustained.first_quarter_s, "number"),
                metric_text(summary.sustained.last_quarter_s, "number"),
                metric_text(summary.sustained.ratio, "number"),
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


# What telemetry saw beside the sessions, as one row a trial: clocks, temperature, load, memory, waiting.


_FIGURES = (
    "fastest clock, MHz", "hottest zone, °C", "load", "memory left", "involuntary context switches a second",
    "waiting for a core", "stolen",
)  # fmt: skip
_COLUMNS = (*of_figures("trial", *_FIGURES), Column("throttled", long=True))
SHOWN = QUANTITIES | {"load", "memory"}
"""What a probe may sample that this table shows, whichever probe it is."""


def telemetry(results: StoredResults, names: Mapping[str, str]) -> Table:
    """Lowest to highest over all sessions of a trial; the last four over their steady passes, the worst."""
    rows = []
    samples = results.probes
    samples = samples[samples["quantity"].isin(SHOWN) & np.isfinite(samples["value"])]
    by_trial = dict(list(samples.groupby("trial", observed=True)))
    for trial in results.experiment.trials:
        frame = by_trial.get(trial.key)
        if frame is not None and len(frame):
            ok = [session for session in results.session_records(trial.key) if session.status == "ok"]
            rows.append((names.get(trial.key, trial.key), *_cells(frame, observe(ok, frame))))
    return Table(
        "telemetry",
        _COLUMNS,
        tuple(rows),
        caption="sampled at a low rate during every session; - where the board does not report it",
    )


def _cells(frame: pd.DataFrame, seen: tuple[Observed, ...]) -> tuple[str, ...]:
    left = frame.loc[frame["quantity"] == "memory", "value"]
    zones = frame[frame["quantity"] == "temperature"]
    rate, waiting, stolen = (
        max((value for value in values if value is not None), default=None)
        for values in (
            [session.involuntary_per_s for session in seen],
            [session.waiting_share for session in seen],
            [session.stolen_share for session in seen],
        )
    )
    throttling = dict.fromkeys(text for session in seen for text in session.throttled)
    return (
        _range(_highest(frame[frame["quantity"] == "clock"]), 0),
        _range(_highest(zones[~zones["channel"].astype(str).str.contains(LIMIT_SENSOR)]), 1),
        _range(frame.loc[frame["quantity"] == "load", "value"], 2),
        words.size(int(left.min())) if len(left) else words.MISSING,
        words.MISSING if rate is None else f"{rate:.0f}",
        words.MISSING if waiting is None else words.percent(waiting),
        words.MISSING if stolen is None else words.percent(stolen),
        ", ".join(throttling) or _not_throttled(seen),
    )


def _not_throttled(seen: tuple[Observed, ...]) -> str:
    """That no session was throttled, as far as samples of their steady passes tell."""
    watched = sum(session.watched for session in seen)
    if not watched:
        return words.MISSING
    return "no" if watched == len(seen) else f"no, as far as {watched} of {len(seen)} sessions tell"


def _highest(frame: pd.DataFrame) -> pd.Series:
    """The highest value of each moment, as cores and zones differ; of several probes, the highest one's."""
    moments = frame.groupby(["probe", "session", "t_ns"], observed=True)["value"].max()
    probes = [moment for _, moment in moments.groupby(level="probe", observed=True)]
    return max(probes, key=lambda series: float(series.max()), default=moments)


def _range(values: pd.Series, places: int) -> str:
    if not len(values):
        return words.MISSING
    low, high = f"{values.min():.{places}f}", f"{values.max():.{places}f}"
    return low if low == high else f"{low} to {high}"


# How a report says what its figures are: the metrics, then what they are made with.


_DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "median",
        "the mean over the sessions of each session's median over its steady passes: of image_s, of infer_s, "
        "of request_ms and of every stage. What is taken once a session (loading, memory) is the mean over "
        "the sessions. patchify, preprocess and infer sum to nearly image_s where they do not overlap; "
        "medians do not add up exactly. A device's own stage lies within infer.",
    ),
    (
        "interval",
        "95 %, Student's t over the medians of the sessions, as a factor on the value: it never reaches "
        "below zero, and its upper side is the longer one, which is what ± gives; where it is "
        "wide both ends stand in brackets. A "
        "session is a fresh process with the model loaded anew, so the interval covers what differs between "
        "starts, not only between passes; on firmware that stays on its board nothing starts anew, and it "
        "covers what differs between sessions alone. Where "
        "sessions could end their own measuring (--target-ci, --decide) t is taken at 97.5 %, so that it "
        "still covers 95 %.",
    ),
    (
        "accuracy",
        "k right of n labelled images, predicted by the very artifact that was timed, with the Wilson "
        "interval at 95 %. Images are turned upright by their orientation tag and resized to the model's "
        "input on the host, bilinearly and before anything is timed; patches of the scene that have another "
        "size are resized on the device, by the nearest pixel, within the timed patchify.",
    ),
    (
        "scope",
        "what a meter covers: chip, module, board, usb (all that a board or stick draws through its USB "
        "port) or wall (its power supply too). Power and energy are compared within one scope alone.",
    ),
    (
        "verdict",
        "pass when the whole interval meets the limit, fail when the whole interval misses it, inconclusive "
        "when the data cannot tell, unknown when the figure is missing. A margin is what is left to the "
        "limit; it is negative where the limit is missed. A requirement is about image_s unless it names "
        "another metric, and no table mixes image_s with infer_s. What others published is marked so; of it "
        "k of n and a bound in words alone can pass or fail a limit.",
    ),
)


def definitions() -> list[tuple[str, str]]:
    """How the figures of a report are defined: the metrics, then what they are made with."""
    defined = {name for name, _ in _DEFINITIONS}
    metrics = [(metric.name, metric.sentence) for metric in METRICS.values() if metric.name not in defined]
    return [*metrics, *_DEFINITIONS]


# How the figures of power and energy are to be read: sentences for the report, where a meter was.


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


# What few sessions cannot show, whatever their figures look like.


SELDOM = 0.05
"""What stays unseen in less of all results than an interval misses is not worth a sentence."""


def unseen_modes(summaries: Sequence[TrialSummary]) -> str:
    """One sentence on the fewest sessions of a result; empty where many were measured, or no interval is."""
    counts = [summary.latency.sessions for summary in summaries if summary.latency is not None]
    fewest = min((count for count in counts if count >= MIN_SESSIONS), default=0)
    if not fewest or unseen_mode_share(fewest) < SELDOM:
        return ""
    return (
        f"What {fewest} sessions cannot show: were 3 of 10 starts slower, all {fewest} would be alike in "
        f"{percent(unseen_mode_share(fewest), 0)} of such results."
    )
