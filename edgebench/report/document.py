"""The `--json` document, version 1: everything a program needs from an experiment, and nothing to parse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from edgebench.fit.trial_summary import Accuracy, Agreement, PowerFigure, TrialSummary, Verdict
from edgebench.report.json_values import SCHEMA_VERSION, as_json, clean
from edgebench.stats.intervals import Interval
from edgebench.store.exported import exported
from edgebench.store.load import Results
from edgebench.store.redaction import Apart

__all__ = ["SCHEMA_VERSION", "as_json", "clean", "document", "reasons"]


def document(
    results: Results, summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    """The document that `--json` prints, as plain data that `json.dumps(allow_nan=False)` takes.

    Its fields are described in `result.schema.json`. A figure that is missing is null and `reasons` of
    its trial says why, under the figure's name.
    """
    made: dict[str, Any] = clean(
        {
            "schema_version": SCHEMA_VERSION,
            "experiment": _experiment(results),
            "run": None if results.run is None else results.run.model_dump(mode="json"),
            "trials": [_trial(summary) for summary in summaries],
            "verdicts": [_verdict(verdict) for verdict in verdicts],
        }
    )
    return made


def _experiment(results: Results) -> dict[str, Any]:
    record = exported(results.experiment).model_dump(
        mode="json",
        exclude={"trials": True, "scene": {"labels"}, "targets": {"__all__": {"host", "port"}}},
    )
    return record | {"path": Apart.of(one.host for one in results.experiment.targets).path(str(results.path))}


def _trial(summary: TrialSummary) -> dict[str, Any]:
    return {
        "key": summary.key,
        "target": summary.target,
        "variant": summary.variant,
        "depth_multiplier": summary.depth_multiplier,
        "precision": summary.precision,
        "batch": summary.batch,
        "status": summary.status,
        "image_s": _interval(summary.image_s),
        "infer_s": _interval(summary.infer_s),
        "stages_ms": summary.stages_ms,
        "cold": summary.cold,
        "accuracy": _accuracy(summary.accuracy),
        "scene_accuracy": _accuracy(summary.scene_accuracy),
        "agreement": _agreement(summary.agreement),
        "power": None if summary.power is None else [_power(figure) for figure in summary.power],
        "power_reason": summary.power_reason,
        "memory_bytes": summary.memory_bytes,
        "artifact_bytes": summary.artifact_bytes,
        "workers": summary.workers,
        "paced": None if summary.paced is None else asdict(summary.paced),
        "sustained": None if summary.sustained is None else asdict(summary.sustained),
        "ended": None if summary.ended is None else asdict(summary.ended),
        "interval_confidence": summary.interval_confidence,
        "warnings": summary.warnings,
        "failures": summary.failures,
        "timed": summary.timed,
        "mark": summary.mark,
        "assumed": summary.assumed,
        "scene_covered": summary.scene_covered,
        "reasons": reasons(summary),
    }


def reasons(summary: TrialSummary) -> dict[str, str]:
    """Why each missing figure of a trial is missing, by the figure's name."""
    found: dict[str, str] = {}
    unmeasured = summary.reason or {
        "unsupported": "the target does not take this variant",
        "not_run": "no session of this trial has run yet",
        "failed": "every session of this trial failed",
    }.get(summary.status, "no finished session holds it")
    for name, figure in (("image_s", summary.image_s), ("infer_s", summary.infer_s)):
        if figure is None:
            found[name] = unmeasured
        elif figure.low is None or figure.high is None:
            found[f"{name}.interval"] = f"too few sessions for an interval: {figure.sessions}"
    if summary.accuracy is None:
        found["accuracy"] = summary.accuracy_reason or unmeasured
    if summary.scene_accuracy is None:
        found["scene_accuracy"] = (
            "the scene has no labels in the artifact's classes" if summary.image_s is not None else unmeasured
        )
    if summary.scene_covered is None:
        found["scene_covered"] = "the model takes no picture and was timed with samples"
    if summary.agreement is None:
        found["agreement"] = (
            "this is the fp32 variant"
            if summary.precision == "fp32"
            else "there is no fp32 variant to compare with"
        )
    if summary.power is None:
        found["power"] = summary.power_reason or unmeasured
    for name, figure_bytes in (
        ("memory_bytes", summary.memory_bytes),
        ("artifact_bytes", summary.artifact_bytes),
    ):
        if figure_bytes is None:
            found[name] = unmeasured if summary.image_s is None else "the session did not say"
    return found


def _interval(figure: Interval | None) -> dict[str, Any] | None:
    return None if figure is None else asdict(figure)


def _accuracy(figure: Accuracy | None) -> dict[str, Any] | None:
    return None if figure is None else asdict(figure)


def _agreement(figure: Agreement | None) -> dict[str, Any] | None:
    return None if figure is None else asdict(figure)


def _power(figure: PowerFigure) -> dict[str, Any]:
    return asdict(figure)


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return asdict(verdict)
