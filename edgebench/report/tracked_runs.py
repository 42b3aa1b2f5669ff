"""A result as a tracking store takes it: a run a trial, with parameters, metrics and tags."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from edgebench.fit.trial_columns import Column, trial_columns
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report import tables, verdict_groups, words

PARAMETERS = (
    "key", "target", "variant", "depth_multiplier", "precision", "batch", "concurrency", "settings", "timed",
    "measured_patches", "untimed_stages",
)  # fmt: skip
"""Columns that say what was measured, and how; the other numbers are metrics, the other texts tags."""

BY_SESSION = ("image_s", "infer_s")
"""Figures whose sessions' medians are a metric of their own, a step a session."""

LONGEST_TEXT = 5000
"""What tracking stores take of a parameter or a tag: MLflow up to 6,000 characters of a parameter."""
_LONGEST_NAME = 200


@dataclass(frozen=True)
class TrackedRun:
    """One trial.

    Attributes:
        name: what reports call the trial.
        parameters, tags: texts by name, none of them empty.
        metrics: finite numbers by name: `edgebench.fit.trial_columns` says what each holds, with its unit.
        series: a number a session, in order, by name.
        measured: whether the trial has its figures.
    """

    name: str
    parameters: dict[str, str]
    metrics: dict[str, float]
    series: dict[str, tuple[float, ...]]
    tags: dict[str, str]
    measured: bool


def tracked_runs(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> list[TrackedRun]:
    """A run a trial. A figure that is missing is no metric."""
    columns = trial_columns(summaries)
    names = tables.trial_names(summaries)
    wholes = verdict_groups.wholes(verdicts)
    runs = []
    for summary in summaries:
        parameters, metrics, tags = _cells(columns, summary)
        tags |= {
            _name(f"verdict.{profile}"): whole.verdict
            for (trial, profile), whole in wholes.items()
            if trial == summary.key
        }
        tags |= {
            _name(f"verdict.{verdict.profile}.{verdict.requirement}"): verdict.verdict
            for verdict in verdicts
            if verdict.trial == summary.key
        }
        series = {
            f"{figure}_of_session": tuple(map(median, filter(None, getattr(summary, f"{figure}_values"))))
            for figure in BY_SESSION
        }
        runs.append(
            TrackedRun(
                name=words.plain(names[summary.key], 120),
                parameters=parameters,
                metrics=metrics,
                series={name: values for name, values in series.items() if values},
                tags=tags,
                measured=summary.status in ("done", "partial"),
            )
        )
    return runs


def _cells(
    columns: Sequence[Column], summary: TrialSummary
) -> tuple[dict[str, str], dict[str, float], dict[str, str]]:
    parameters: dict[str, str] = {}
    metrics: dict[str, float] = {}
    tags: dict[str, str] = {}
    for column in columns:
        value = column.value(summary)
        if value is None or value == "":
            continue
        name = _name(column.heading)
        if column.heading in PARAMETERS or column.heading.startswith("setting:"):
            parameters[name] = words.plain(value, LONGEST_TEXT)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if math.isfinite(value):
                metrics[name] = float(value)
        else:
            tags[name] = words.plain(value, LONGEST_TEXT)
    return parameters, metrics, tags


def _name(text: str) -> str:
    """A name with letters, digits, `_`, `-`, `.`, `/` and spaces alone, as every tracking store takes it."""
    return re.sub(r"[^A-Za-z0-9_\-. /]", "_", text.replace(":", ".")).strip("/. ")[:_LONGEST_NAME] or "_"
