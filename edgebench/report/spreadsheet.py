"""The trials as CSV: one row a trial, units in the headings, empty where a figure is missing."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from edgebench.fit.metric import Metric
from edgebench.fit.metrics import METRICS
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.plan.sweeps import whole_settings_text
from edgebench.report import verdict_groups, words
from edgebench.report.json_values import clean

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


_IDENTITY = (
    "key", "target", "variant", "depth_multiplier", "precision", "batch", "concurrency", "settings", "timed",
    "scene_covered", "mark", "measured_patches", "untimed_stages", "extrapolated", "emulated", "assumed",
    "status", "reason",
)  # fmt: skip


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
    rows = [
        row | {heading: by_trial.get(row["key"]) for heading, by_trial in words_of.items()}
        for row in trial_rows(summaries)
    ]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    headings = list(rows[0]) if rows else ["key"]
    writer.writerow([_cell(heading) for heading in headings])
    writer.writerows([[_cell(row[heading]) for heading in headings] for row in rows])
    return buffer.getvalue()


def trial_rows(summaries: Sequence[TrialSummary]) -> list[dict[str, Any]]:
    """Each trial's values by column, all with the same columns: what it is, its figures, its warnings."""
    columns = [column for metric in METRICS.values() for column in _columns(metric, summaries)]
    return [
        {name: getattr(summary, name) for name in _IDENTITY}
        | {heading: value_of(summary) for heading, value_of in columns}
        | {"warnings": summary.warnings}
        for summary in summaries
    ]


def _columns(
    metric: Metric, summaries: Sequence[TrialSummary]
) -> Iterator[tuple[str, Callable[[TrialSummary], Any]]]:
    """Each heading of a metric with what gives a trial's cell; one a key where its values are mappings."""
    for heading, part in metric.csv_fields.items():
        if metric.keyed:
            for key in dict.fromkeys(key for summary in summaries for key in metric.value(summary) or {}):
                yield heading.format(key=key), partial(_item, metric, key)
        else:
            yield heading, partial(_part, metric, part)


def _item(metric: Metric, key: str, summary: TrialSummary) -> Any:
    return (metric.value(summary) or {}).get(key)


def _part(metric: Metric, part: str, summary: TrialSummary) -> Any:
    value = metric.value(summary) if not (part and metric.rail) else summary.primary_rail
    return value if value is None or not part else getattr(value, part)


def _bound(verdict: Verdict) -> str:
    """`above 5 W`, with every digit."""
    end = verdict.high if verdict.low is None else verdict.low
    return f"{verdict.bound} {end:.15g}{words.unit(verdict)}"


def _cell(value: Any) -> Any:
    """A value as a cell; text that a spreadsheet would run as a formula gets an apostrophe."""
    if isinstance(value, tuple):
        value = "; ".join(map(str, value))
    if isinstance(value, Mapping):
        value = whole_settings_text(value)
    if not isinstance(value, str):
        return clean(value)
    text = words.plain(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
