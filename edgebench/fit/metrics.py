"""The catalogue of metrics: what a trial comes to, each metric described once.

Requirements, the CSV's columns, the tables, the `--json` document with its reasons and the schemas'
descriptions iterate over it. A new metric is one entry here, of what `edgebench.fit.metric` describes, and
what computes it, where no figure of `TrialSummary` holds it yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from edgebench.fit.metric import (
    BYTE_UNITS,
    ENERGY_UNITS,
    LENGTH_UNITS,
    MASS_UNITS,
    MILLISECOND_UNITS,
    POWER_UNITS,
    SHARE_UNITS,
    TIME_UNITS,
    Metric,
    Sampled,
    Shown,
    Stated,
)

if TYPE_CHECKING:  # statistics take long to import, and requirements are read without them
    from edgebench.fit.trial_summary import PowerFigure, TrialSummary

SAME_AS_FP32 = "same as fp32"  # heads the column of `agreement` wherever there is one


def _columns(name: str, *of: str) -> dict[str, str]:
    return {f"{name}_{part}": part for part in of}


def _cold(name: str) -> Callable[[TrialSummary], float | None]:
    return lambda trial: trial.cold.get(name)


def _primary(name: str) -> Callable[[TrialSummary], float | None]:
    """A field of the meter and rail that a board's power is judged by."""

    def value(trial: TrialSummary) -> float | None:
        rail: PowerFigure | None = next((rail for rail in trial.power or () if rail.primary), None)
        return None if rail is None else getattr(rail, name)

    return value


def _by_session(name: str) -> Callable[[TrialSummary], Sequence[Sequence[float]]]:
    """A field of one value a session as values by session."""
    return lambda trial: [[float(value)] for value in getattr(trial, name)]


def _missed_share(trial: TrialSummary) -> float | None:
    return trial.paced.misses / trial.paced.passes if trial.paced and trial.paced.passes else None


def _was_measured(trial: TrialSummary) -> bool:
    return trial.latency is not None or trial.emulated


def _no_session_said(trial: TrialSummary) -> str:
    return "the session did not say" if _was_measured(trial) else ""


def _no_scene_accuracy(trial: TrialSummary) -> str:
    return "" if not _was_measured(trial) else "the scene has no labels in the artifact's classes"


def _no_agreement(trial: TrialSummary) -> str:
    is_fp32 = trial.precision == "fp32"
    return "this is the fp32 variant" if is_fp32 else "there is no fp32 variant to compare with"


def _no_pace(trial: TrialSummary) -> str:
    return trial.untimed_reason or ("" if trial.image_s is None else "the passes were not paced (--period)")


def _no_requests(trial: TrialSummary) -> str:
    if trial.untimed_reason or not _was_measured(trial):
        return trial.untimed_reason
    return "" if trial.concurrency > 1 else "one request at a time: its latency is the stage infer"


_INTERVAL = ("median", "low", "high", "sessions", "n")
_SHARE = ("k", "n", "low", "high")

_ENTRIES = (
    Metric(
        "image_s",
        "Seconds from the scene in the device's memory to the last score: patchify, preprocess, infer.",
        attrgetter("image_s"),
        TIME_UNITS,
        source="sessions",
        statistics=("median", "p90", "p99", "max"),
        judged=Sampled(
            attrgetter("image_s_values"), "passes", absent="no finished session holds a steady pass"
        ),
        missing=attrgetter("untimed_reason"),
        csv=_columns("image_s", *_INTERVAL),
        shown=(Shown("latency", "", "interval"), Shown("terminal", "image_s [s]", "interval")),
    ),
    Metric(
        "infer_s",
        "Seconds in which the runtime works on the scene's patches: the union of the inference intervals "
        "where they overlap; of windows their duration over their inferences, times the scene's patches.",
        attrgetter("infer_s"),
        TIME_UNITS,
        source="sessions",
        statistics=("median", "p90", "p99", "max"),
        judged=Sampled(
            attrgetter("infer_s_values"),
            "passes",
            absent="no finished session holds a time of a stage called infer",
        ),
        missing=attrgetter("untimed_reason"),
        csv=_columns("infer_s", *_INTERVAL),
        shown=(
            Shown("latency", "the runtime alone", "interval"),
            Shown("terminal", "infer_s [s]", "interval"),
        ),
    ),
    Metric(
        "request_ms",
        "Milliseconds from a request's submission to its completion, where several are in flight; a request "
        "is a batch. Its median is the mean over sessions of each session's median.",
        attrgetter("request_ms"),
        MILLISECOND_UNITS,
        source="batches.parquet",
        statistics=("median", "p90", "p99", "max"),
        judged=Sampled(
            attrgetter("request_ms_values"),
            "requests",
            absent="no finished session holds the time of a request",
        ),
        missing=_no_requests,
        csv=_columns("request_ms", "median", "p99"),
        shown=(
            Shown("terminal", "request [ms]", "median and p99", where_present=True),
            Shown("requests", "median [ms]", "median"),
            Shown("requests", "p99 [ms]", "p99"),
        ),
    ),
    Metric(
        "in_flight",
        "Mean number of requests in flight while any is: the sum of their times over infer_s.",
        attrgetter("in_flight"),
        {"1": 1.0},
        source="batches.parquet",
        missing=_no_requests,
        shown=(Shown("requests", "in flight", "number"),),
    ),
    Metric(
        "stages_ms",
        "Time of each stage a patch, mean over sessions of each session's median over its steady passes.",
        attrgetter("stages_ms"),
        {"ms": 1.0},
        source="passes.parquet",
        csv={"{key}_ms": ""},
        keyed=True,
        shown=(Shown("stages", "{key} [ms]", "number"),),
    ),
    Metric(
        "import_s",
        "Import of the runtime, mean over sessions.",
        _cold("import_s"),
        TIME_UNITS,
        source="session.json",
        json_field="cold",
        shown=(Shown("cold", "import [ms]", "milliseconds"),),
    ),
    Metric(
        "load_s",
        "Load of the artifact, mean over sessions.",
        _cold("load_s"),
        TIME_UNITS,
        source="session.json",
        statistics=("median", "max"),
        judged=Sampled(
            _by_session("load_s_values"),
            "sessions",
            absent="no finished session says how long a load took that found nothing made before",
        ),
        json_field="cold",
        shown=(Shown("cold", "load [ms]", "milliseconds"),),
    ),
    Metric(
        "first_inference_s",
        "First inference after the load, mean over sessions.",
        _cold("first_inference_s"),
        TIME_UNITS,
        source="session.json",
        json_field="cold",
        shown=(Shown("cold", "first inference [ms]", "milliseconds"),),
    ),
    Metric(
        "first_pass_s",
        "First pass over the scene, mean over sessions.",
        _cold("first_pass_s"),
        TIME_UNITS,
        source="session.json",
        json_field="cold",
        shown=(Shown("cold", "first pass [ms]", "milliseconds"),),
    ),
    Metric(
        "accuracy",
        "Right ones of the labelled images, predicted by the very artifact that was timed.",
        attrgetter("accuracy"),
        SHARE_UNITS,
        source="sessions",
        better="higher",
        statistics=("share",),
        judged="accuracy",
        missing=attrgetter("accuracy_reason"),
        csv=_columns("accuracy", *_SHARE),
        share_of="image",
        shown=(
            Shown("terminal", "right of n", "right of n"),
            Shown("accuracy", "right of n", "right of n"),
            Shown("accuracy", "top-1", "share"),
            Shown("accuracy", "95 % interval (Wilson)", "Wilson interval"),
        ),
    ),
    Metric(
        "scene_accuracy",
        "Right ones of the scene's own patches.",
        attrgetter("scene_accuracy"),
        SHARE_UNITS,
        source="sessions",
        better="higher",
        missing=_no_scene_accuracy,
        csv={},
        shown=(Shown("accuracy", "scene's patches", "right of n"),),
    ),
    Metric(
        "agreement",
        "How often it predicts what the fp32 variant of its depth predicts on the same target.",
        attrgetter("agreement"),
        SHARE_UNITS,
        source="sessions",
        better="higher",
        missing=_no_agreement,
        csv={},
        shown=(
            Shown("terminal", SAME_AS_FP32, "share"),
            Shown("accuracy", SAME_AS_FP32, "right of n"),
            Shown("accuracy", "McNemar p", "p"),
        ),
    ),
    Metric(
        "power_mean_w",
        "Mean power over the steady windows, as the primary meter and rail see it.",
        _primary("mean_w"),
        POWER_UNITS,
        source="probes.parquet",
        statistics=("median",),
        judged="mean power",
        missing=attrgetter("power_reason"),
        json_field="power",
        csv={"mean_w": ""},
        is_power=True,
        shown=(Shown("power", "mean [W]", "number"),),
        rail="mean_w",
    ),
    Metric(
        "power_peak_w",
        "Highest power over the steady windows, as the primary meter and rail see it.",
        _primary("peak_w"),
        POWER_UNITS,
        source="probes.parquet",
        statistics=("max",),
        judged="peak power",
        json_field="power",
        csv={"peak_w": ""},
        is_power=True,
        shown=(Shown("power", "peak [W]", "number"),),
        rail="peak_w",
    ),
    Metric(
        "power_idle_w",
        "Mean power of the idle window, as the primary meter and rail see it.",
        _primary("idle_w"),
        POWER_UNITS,
        source="probes.parquet",
        json_field="power",
        csv={},
        is_power=True,
        shown=(Shown("power", "idle [W]", "number"),),
        rail="idle_w",
    ),
    Metric(
        "energy_j",
        "Energy of an image, idle power included.",
        _primary("energy_j"),
        ENERGY_UNITS,
        source="probes.parquet",
        statistics=("median",),
        judged="energy",
        json_field="power",
        shown=(Shown("power", "energy [J]", "number"),),
        rail="energy_j",
    ),
    Metric(
        "net_energy_j",
        "Energy of an image above that of the idle device.",
        _primary("net_energy_j"),
        ENERGY_UNITS,
        source="probes.parquet",
        json_field="power",
        shown=(Shown("power", "net of idle [J]", "number"),),
        rail="net_energy_j",
    ),
    Metric(
        "memory_bytes",
        "Peak resident memory of the worker, mean over sessions.",
        attrgetter("memory_bytes"),
        BYTE_UNITS,
        source="session.json",
        statistics=("median", "max"),
        judged=Sampled(
            _by_session("memory_bytes_values"),
            "sessions",
            absent="no finished session says how much memory it took",
        ),
        missing=_no_session_said,
        shown=(
            Shown("terminal", "memory", "bytes"),
            Shown("memory", "peak memory of the worker", "bytes"),
        ),
    ),
    Metric(
        "artifact_bytes",
        "Size of the file that the runtime loads: of what was built on the board, where it builds.",
        attrgetter("artifact_bytes"),
        BYTE_UNITS,
        source="experiment.json",
        statistics=("recorded",),
        judged=Stated("the artifact's size", absent="the artifact's size was not recorded"),
        missing=_no_session_said,
        shown=(Shown("memory", "artifact", "bytes"),),
    ),
    Metric(
        "deadline_misses",
        "Share of the paced passes that were not done when the next was due.",
        _missed_share,
        SHARE_UNITS,
        source="passes.parquet",
        statistics=("share",),
        judged="deadlines",
        missing=_no_pace,
        json_field="paced",
        csv={},
        share_of="paced pass",
    ),
    Metric(
        "mass_g",
        "Declared mass.",
        attrgetter("mass_g"),
        MASS_UNITS,
        source="the target's description",
        statistics=("declared",),
        judged=Stated("the declared mass", absent="the target's description gives no mass", doubted=True),
        missing=lambda trial: "the target's description gives no mass",
        csv={},
    ),
    Metric(
        "size_mm",
        "Declared outer dimensions.",
        attrgetter("size_mm"),
        LENGTH_UNITS,
        source="the target's description",
        statistics=("declared",),
        judged=Stated(
            "the declared size, turned to fit,",
            absent="the target's description gives no size",
            doubted=True,
        ),
        missing=lambda trial: "the target's description gives no size",
        csv={},
        is_size=True,
    ),
)

METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ENTRIES}
"""Every metric by name, in the order of the CSV's columns."""


def required_metrics() -> dict[str, Metric]:
    """Those that a requirement may be about, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.statistics}


def shown_in(table: str, trials: Sequence[TrialSummary] = ()) -> list[tuple[Metric, Shown]]:
    """The columns of a table of the report on these trials, or its tables of their own."""
    return [
        (metric, shown)
        for metric in METRICS.values()
        for shown in metric.shown
        if shown.table == table
        and not (shown.where_present and all(metric.value(trial) is None for trial in trials))
    ]
