"""The trials as CSV: one row a trial, units in the headings, empty where a figure is missing."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report import verdict_groups, words
from edgebench.report.json_values import clean

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_csv(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> str:
    """One row a trial; full precision; for every profile its overall verdict, then each requirement's."""
    wholes = verdict_groups.wholes(verdicts)
    words_of: dict[str, dict[str, str]] = {}  # by heading, then by trial
    for verdict in verdicts:
        overall = words_of.setdefault(f"verdict:{verdict.profile}", {})
        overall[verdict.trial] = wholes[verdict.trial, verdict.profile].verdict
        single = words_of.setdefault(f"verdict:{verdict.profile}:{verdict.requirement}", {})
        single[verdict.trial] = verdict.verdict
    stages = list(dict.fromkeys(stage for one in summaries for stage in one.stages_ms))
    rows = [
        _row(one, stages) | {heading: by_trial.get(one.key) for heading, by_trial in words_of.items()}
        for one in summaries
    ]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    headings = list(rows[0]) if rows else ["key"]
    writer.writerow([_cell(heading) for heading in headings])
    writer.writerows([[_cell(row[heading]) for heading in headings] for row in rows])
    return buffer.getvalue()


def _row(one: TrialSummary, stages: Sequence[str]) -> dict[str, Any]:
    primary = next((figure for figure in one.power or () if figure.primary), None)
    row: dict[str, Any] = {
        "key": one.key,
        "target": one.target,
        "variant": one.variant,
        "depth_multiplier": one.depth_multiplier,
        "precision": one.precision,
        "batch": one.batch,
        "timed": one.timed,
        "scene_covered": one.scene_covered,
        "mark": one.mark,
        "assumed": "; ".join(one.assumed),
        "status": one.status,
        "reason": one.reason,
    }
    for name, figure in (("image_s", one.image_s), ("infer_s", one.infer_s)):
        for field in ("median", "low", "high", "sessions", "n"):
            row[f"{name}_{field}"] = None if figure is None else getattr(figure, field)
    row |= {f"{stage}_ms": one.stages_ms.get(stage) for stage in stages}
    row |= {name: one.cold.get(name) for name in ("import_s", "load_s", "first_inference_s", "first_pass_s")}
    for field in ("k", "n", "low", "high"):
        row[f"accuracy_{field}"] = None if one.accuracy is None else getattr(one.accuracy, field)
    for field in ("mean_w", "peak_w", "energy_j", "net_energy_j"):
        row[field] = None if primary is None else getattr(primary, field)
    sizes = {"memory_bytes": one.memory_bytes, "artifact_bytes": one.artifact_bytes}
    return row | sizes | {"warnings": "; ".join(one.warnings)}


def _cell(value: Any) -> Any:
    """A value as a cell; text that a spreadsheet would run as a formula gets an apostrophe."""
    if not isinstance(value, str):
        return clean(value)
    text = words.plain(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
