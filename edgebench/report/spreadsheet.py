"""The trials as CSV: one row a trial, units in the headings, empty where a figure is missing."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from edgebench.fit.metric import OF_MISSIONS
from edgebench.fit.metrics import METRICS
from edgebench.fit.trial_columns import trial_columns
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report import verdict_groups, words
from edgebench.report.json_values import clean

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_csv(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> str:
    """One row a trial; full precision; for every profile its overall verdict, then each requirement's.

    Where declared power was judged, a column behind the requirement's says which kind; where a bound was, one
    says which; behind one that is wanted alone a column says so.
    """
    wholes = verdict_groups.wholes(verdicts)
    words_of: dict[str, dict[str, str]] = {}  # by heading, then by trial
    for verdict in verdicts:
        overall = words_of.setdefault(f"verdict:{verdict.profile}", {})
        overall[verdict.trial] = wholes[verdict.trial, verdict.profile].verdict
        heading = f"verdict:{verdict.profile}:{verdict.requirement}"
        words_of.setdefault(heading, {})[verdict.trial] = verdict.verdict
        if verdict.wanted:
            words_of.setdefault(f"{heading}:wanted", {})[verdict.trial] = "wanted"
        if verdict.declared:
            words_of.setdefault(f"{heading}:declared", {})[verdict.trial] = verdict.declared
        if verdict.bound:
            words_of.setdefault(f"{heading}:bound", {})[verdict.trial] = _bound(verdict)
    columns = trial_columns(summaries)
    of_profiles = _figures_of_profiles(verdicts)
    rows = [
        {column.heading: column.value(summary) for column in columns}
        | {heading: by_trial.get(summary.key) for heading, by_trial in of_profiles.items()}
        | {heading: by_trial.get(summary.key) for heading, by_trial in words_of.items()}
        for summary in summaries
    ]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    headings = list(rows[0]) if rows else ["key"]
    writer.writerow([safe_cell(heading) for heading in headings])
    writer.writerows([[safe_cell(row[heading]) for heading in headings] for row in rows])
    return buffer.getvalue()


def _figures_of_profiles(verdicts: Sequence[Verdict]) -> dict[str, dict[str, float]]:
    """Figures that a trial has under a profile alone, such as storage_bytes: by heading, then by trial.

    In the metric's base unit; `:low` and `:high` are the ends of a figure that has them.
    """
    figures: dict[str, dict[str, float]] = {}
    for verdict in verdicts:
        metric = METRICS.get(verdict.quantity)
        if metric is None or metric.judged not in (*OF_MISSIONS, "update"):
            continue
        heading = f"{metric.name}:{verdict.profile}"
        for end, value in (("", verdict.value), (":low", verdict.low), (":high", verdict.high)):
            if isinstance(value, float | int):
                figures.setdefault(f"{heading}{end}", {})[verdict.trial] = value * metric.units[verdict.unit]
    return figures


def _bound(verdict: Verdict) -> str:
    """`above 5 W`, with every digit."""
    end = verdict.high if verdict.low is None else verdict.low
    return f"{verdict.bound} {end:.15g}{words.unit(verdict)}"


def safe_cell(value: Any) -> Any:
    """A value as a cell; text that a spreadsheet would run as a formula gets an apostrophe."""
    if not isinstance(value, str):
        return clean(value)
    text = words.plain(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
