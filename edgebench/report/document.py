"""The `--json` document, version 1: everything a program needs from an experiment, and nothing to parse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgebench.judge.answers import Answers
from edgebench.judge.columns import document_fields, missing_reasons
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report.missions import SEED, BriefMissions, mission_entry
from edgebench.report.words import SCHEMA_VERSION, as_json, clean
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported, exported_path

__all__ = ["SCHEMA_VERSION", "as_json", "clean", "document"]


def document(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    beyond: Answers | None = None,
    played: Sequence[BriefMissions] | None = None,
) -> dict[str, Any]:
    """The document that `--json` prints, as plain data that `json.dumps(allow_nan=False)` takes.

    Its fields are described in `result.schema.json`. A figure that is missing is null and `reasons` of
    its trial says why, under the figure's name. Decisions and missions are added where they are
    given.
    """
    plain: dict[str, Any] = clean(
        {
            "schema_version": SCHEMA_VERSION,
            "experiment": _experiment(results),
            "run": None if results.run is None else results.run.model_dump(mode="json"),
            "trials": [_trial(summary) for summary in summaries],
            "verdicts": verdicts,
            **({} if beyond is None else vars(beyond)),
            **({} if played is None else _missions(played)),
        }
    )
    return plain


def _missions(played: Sequence[BriefMissions]) -> dict[str, Any]:
    return {
        "missions": [
            {"days": brief.days, "seed": SEED, **mission_entry(mission)}
            for brief in played
            for mission in brief.missions
        ],
        "missions_reasons": {brief.profile: brief.reason for brief in played if brief.reason},
    }


def _experiment(results: StoredResults) -> dict[str, Any]:
    record = exported(results.experiment).model_dump(
        mode="json",
        exclude={"trials": True, "scene": {"labels"}, "targets": {"__all__": {"host", "port"}}},
    )
    return record | {"path": exported_path(results.path, results.experiment)}


def _trial(summary: TrialSummary) -> dict[str, Any]:
    return {
        **{name: getattr(summary, name) for name in IDENTITY},
        **document_fields(summary),
        **{name: getattr(summary, name) for name in CONDITIONS},
        "reasons": missing_reasons(summary),
    }


IDENTITY = (
    "key", "target", "variant", "depth_multiplier", "precision", "batch", "concurrency", "settings", "status",
)  # fmt: skip
"""The fields of a summary that say which trial it is; the metrics follow."""

CONDITIONS = (
    "power_reason", "workers", "sustained", "ended", "interval_confidence", "warnings", "failures", "timed",
    "mark", "measured_patches", "untimed_stages", "extrapolated", "emulated", "assumed", "scene_covered",
    "built", "published",
)  # fmt: skip
"""The fields of a summary that say under what conditions its metrics hold."""
