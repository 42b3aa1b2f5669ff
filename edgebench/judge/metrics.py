"""The catalogue of metrics: what a trial comes to, each metric described once.

Requirements, the CSV's columns, the tables, the `--json` document with its reasons and the schemas'
descriptions iterate over it. A new metric is one entry here, in `time_metrics` or in `power_metrics`, of what
`edgebench.judge.metric` describes, and what computes it, where no figure of `TrialSummary` holds it yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from edgebench.judge.metric import (
    BYTE_UNITS,
    IMAGE_UNITS,
    LENGTH_UNITS,
    MASS_UNITS,
    MILLISECOND_UNITS,
    POINT_UNITS,
    SHARE_UNITS,
    TIME_UNITS,
    BySession,
    Metric,
    Sampled,
    Shown,
    Stated,
    by_session,
    csv_columns,
    was_measured,
)
from edgebench.judge.power_metrics import POWER_METRICS

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import TrialSummary


# The catalogue's times: of a pass, of a request, of a stage, and of what happens once a session.


_INTERVAL = ("median", "low", "high", "sessions", "n")


def _cold(name: str, sentence: str, heading: str, statistics: tuple[str, ...] = (), **fields: Any) -> Metric:
    """What is taken once a session, as the mean over sessions."""
    if not statistics:
        fields["compared"] = BySession(lambda trial: [[value] for value in trial.cold_values.get(name, ())])
    return Metric(
        name,
        f"{sentence}, mean over sessions.",
        lambda trial: trial.cold.get(name),
        TIME_UNITS,
        source="session.json",
        statistics=statistics,
        json_field="cold",
        shown=(Shown("cold", f"{heading} [ms]", "milliseconds"),),
        **fields,
    )


def _no_requests(trial: TrialSummary) -> str:
    if trial.untimed_reason or not was_measured(trial):
        return trial.untimed_reason
    return "" if trial.concurrency > 1 else "one request at a time: its latency is the stage infer"


def _no_start(trial: TrialSummary) -> str:
    if trial.emulated or not was_measured(trial):
        return trial.untimed_reason
    if trial.image_s is None or trial.untimed_stages:  # in windows, or of patches that the host cut
        return "its firmware is resident: no process is started"
    return "no finished session says how long a start took that found nothing made before"


TIME_METRICS = (
    Metric(
        "image_s",
        "Seconds from the scene in the device's memory to the last score: patchify, preprocess, infer.",
        attrgetter("image_s"),
        TIME_UNITS,
        source="sessions",
        statistics=("median", "p90", "p99", "max"),
        brought_by='quantity = "infer_s" in the profile: its device times inference alone',
        judged=Sampled(
            attrgetter("image_s_values"), "passes", absent="no finished session holds a steady pass"
        ),
        missing=attrgetter("untimed_reason"),
        of_a_pass=True,
        csv=csv_columns("image_s", *_INTERVAL),
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
        brought_by="a runner that times a stage called infer",
        judged=Sampled(
            attrgetter("infer_s_values"),
            "passes",
            absent="no finished session holds a time of a stage called infer",
        ),
        missing=attrgetter("untimed_reason"),
        of_a_pass=True,
        csv=csv_columns("infer_s", *_INTERVAL),
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
        brought_by="--set requests=N on a device with a queue",
        judged=Sampled(
            attrgetter("request_ms_values"),
            "requests",
            absent="no finished session holds the time of a request",
        ),
        missing=_no_requests,
        csv=csv_columns("request_ms", "median", "p99", "n", "reason"),
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
    _cold("import_s", "Import of the runtime", "import"),
    _cold(
        "load_s",
        "Load of the artifact",
        "load",
        ("median", "max"),
        brought_by="--sessions N on a device that loads anew in each",
        judged=Sampled(
            by_session("load_s_values"),
            "sessions",
            absent="no finished session says how long a load took that found nothing made before",
        ),
    ),
    _cold("first_inference_s", "First inference after the load", "first inference"),
    _cold("first_pass_s", "First pass over the scene", "first pass", of_a_pass=True),
    Metric(
        "start_s",
        "Seconds from just before the worker's process is started to the scores of its first batch: start of "
        "the process, import, load and that batch; nothing that the harness does in between, such as its "
        "requests' way, further golden patches and idle windows.",
        attrgetter("start_s"),
        TIME_UNITS,
        source="session.json",
        statistics=("median", "max"),
        brought_by="--sessions N on a device that starts a process",
        judged=Sampled(by_session("start_s_values"), "sessions", absent="no finished session has a start_s"),
        missing=_no_start,
        csv=csv_columns("start_s", *_INTERVAL),
        shown=(Shown("cold", "start [s]", "interval"),),
    ),
)
"""In the order of the CSV's columns."""


NO_BOOT = "the target's description gives no boot time"
SAME_AS_FP32 = "same as fp32"  # heads the column of `agreement` wherever there is one
_SHARE = ("k", "n", "low", "high")
_DISCORDANT = ("only_this_right", "only_fp32_right")


def _missed_share(trial: TrialSummary) -> float | None:
    return trial.paced.misses / trial.paced.passes if trial.paced and trial.paced.passes else None


def _where_measured(reason: str) -> Callable[[TrialSummary], str]:
    """Why a trial lacks a figure, where that is not that it was not measured."""
    return lambda trial: reason if was_measured(trial) else ""


_NO_SESSION_SAID = _where_measured("the session did not say")


def _no_instructions(trial: TrialSummary) -> str:
    if trial.emulated:
        return trial.instructions_reason
    return "they are counted where a device is emulated" if was_measured(trial) else ""


def _no_agreement(trial: TrialSummary) -> str:
    is_fp32 = trial.precision == "fp32"
    return "this is the fp32 variant" if is_fp32 else "there is no fp32 variant to compare with"


def _no_pace(trial: TrialSummary) -> str:
    return trial.untimed_reason or ("" if trial.image_s is None else "the passes were not paced (--period)")


_INSTRUCTIONS = Metric(
    "instructions",
    "Instructions that an emulated device executes in an inference, by its emulator's count: mean over "
    "sessions of each session's median over its steady windows. No time follows from them.",
    attrgetter("instructions"),
    {"instruction": 1.0},
    source="windows.parquet",
    compared="exact",
    missing=_no_instructions,
    shown=(
        Shown("terminal", "instructions an inference", "count", where_present=True),
        Shown("instructions", "an inference", "count"),
    ),
)

_ACCURACY = (
    Metric(
        "accuracy",
        "Right ones of the labelled images, predicted by the very artifact that was timed.",
        attrgetter("accuracy"),
        SHARE_UNITS,
        source="sessions",
        better="higher",
        statistics=("share",),
        brought_by="--images DIR|CSV",
        judged="accuracy",
        compared="images",
        missing=attrgetter("accuracy_reason"),
        csv=csv_columns("accuracy", *_SHARE, "overlapping"),
        share_of="image",
        shown=(
            Shown("terminal", "right of n", "right of n"),
            Shown("accuracy", "right of n", "right of n"),
            Shown("accuracy", "top-1", "share"),
            Shown("accuracy", "95 % interval (Wilson)", "Wilson interval"),
        ),
    ),
    Metric(
        "accuracy_drop",
        "Points of accuracy (hundredths of the images) below the fp32 variant of its depth on the same "
        "target, over the same images, with Tango's paired interval; below 0 where it is right more often. "
        "Of an fp32 variant it is 0.",
        attrgetter("accuracy_drop"),
        POINT_UNITS,
        source="sessions",
        statistics=("difference",),
        brought_by="--images DIR|CSV and --precision fp32 beside the others",
        judged="accuracy drop",
        missing=attrgetter("accuracy_drop_reason"),
        csv=csv_columns("accuracy_drop", "points", "low", "high", "n", *_DISCORDANT),
        share_of="image",
        shown=(Shown("accuracy", "points below fp32", "points"),),
    ),
    Metric(
        "scene_accuracy",
        "Right ones of the scene's own patches.",
        attrgetter("scene_accuracy"),
        SHARE_UNITS,
        source="sessions",
        better="higher",
        compared="scene",
        missing=_where_measured("the scene has no labels in the artifact's classes"),
        csv=csv_columns("scene_accuracy", *_SHARE),
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
        csv=csv_columns("agreement", "k", "n", *_DISCORDANT, "mcnemar_p"),
        shown=(
            Shown("terminal", SAME_AS_FP32, "share"),
            Shown("accuracy", SAME_AS_FP32, "right of n"),
            Shown("accuracy", "McNemar p", "p"),
        ),
    ),
)

_RELIABILITY = Metric(
    "failed_sessions",
    "Share of the sessions that failed: that crashed, hung, computed something else or lost their "
    "connection. Interrupted ones are not counted, neither as failed nor as sound.",
    attrgetter("failed_sessions"),
    SHARE_UNITS,
    source="sessions",
    statistics=("share",),
    brought_by="--sessions N",
    judged="failures",
    compared="failures",
    missing=lambda trial: "no session has come to an end by itself",
    csv=csv_columns("failed_sessions", *_SHARE),
    share_of="session",
    shown=(Shown("cold", "failed sessions", "k of n"),),
)


def _of_schedule(
    name: str,
    sentence: str,
    units: Mapping[str, float],
    statistics: tuple[str, ...] = ("simulated",),
    judged: Literal["load", "mission"] = "mission",
    share_of: str = "",
) -> Metric:
    """What a schedule makes of the latencies: a trial has it under a profile alone."""
    return Metric(
        name,
        sentence,
        attrgetter("image_s"),
        units,
        source="passes.parquet",
        statistics=statistics,
        brought_by="a [schedule] in the profile",
        judged=judged,
        json_field="image_s",
        csv={},
        share_of=share_of,
    )


_SIZES_AND_DEADLINES = (
    Metric(
        "memory_bytes",
        "Peak resident memory of the worker, mean over sessions.",
        attrgetter("memory_bytes"),
        BYTE_UNITS,
        source="session.json",
        statistics=("median", "max"),
        brought_by="--sessions N on a device that tells its memory",
        judged=Sampled(
            by_session("memory_bytes_values"),
            "sessions",
            absent="no finished session says how much memory it took",
        ),
        missing=_where_measured("no finished session says how much memory it took"),
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
        brought_by="--sessions N: the first session of a run records it",
        judged=Stated("the artifact's size", absent="the artifact's size was not recorded"),
        compared="exact",
        missing=_NO_SESSION_SAID,
        shown=(Shown("memory", "artifact", "bytes"),),
    ),
    Metric(
        "deadline_misses",
        "Share of the paced passes that were not done when the next was due.",
        _missed_share,
        SHARE_UNITS,
        source="passes.parquet",
        statistics=("share",),
        brought_by="--period S",
        judged="deadlines",
        missing=_no_pace,
        json_field="paced",
        share_of="paced pass",
    ),
    Metric(
        "mass_g",
        "Declared mass.",
        attrgetter("mass_g"),
        MASS_UNITS,
        source="the target's description",
        statistics=("declared",),
        brought_by="--board NAME",
        judged=Stated("the declared mass", absent="the target's description gives no mass", doubted=True),
        compared="exact",
        missing=lambda trial: "the target's description gives no mass",
    ),
    Metric(
        "size_mm",
        "Declared outer dimensions.",
        attrgetter("size_mm"),
        LENGTH_UNITS,
        source="the target's description",
        statistics=("declared",),
        brought_by="--board NAME",
        judged=Stated(
            "the declared size, turned to fit,",
            absent="the target's description gives no size",
            doubted=True,
        ),
        missing=lambda trial: "the target's description gives no size",
        csv={"size_1_mm": "0", "size_2_mm": "1", "size_3_mm": "2"},
        is_size=True,
    ),
    Metric(
        "boot_s",
        "Declared time from power on until a program can be started: a maximum, which it never exceeds, or "
        "what is typical.",
        attrgetter("boot_s"),
        TIME_UNITS,
        source="the target's description",
        statistics=("declared",),
        brought_by="--declared boot_s:SECONDS:maximum:SOURCE",
        judged="boot",
        missing=lambda trial: NO_BOOT,
        csv={"boot_s": "seconds", "boot_kind": "kind", "boot_source": "source"},
    ),
    Metric(
        "storage_bytes",
        "Pictures that are not done at once, the most of a cycle of the profile's schedule: their pixels.",
        attrgetter("image_bytes"),
        BYTE_UNITS,
        source="experiment.json",
        statistics=("simulated",),
        brought_by="a [schedule] in the profile",
        judged="mission",
        missing=lambda trial: "its samples have no pixels",
        json_field="image_bytes",
        csv={"image_bytes": ""},
    ),
    _of_schedule(
        "load",
        "Work that comes in a cycle of the profile's schedule, as a share of the cycle: above 1 the device "
        "is overloaded. A profile with a schedule requires at most 1, whether or not it says so.",
        SHARE_UNITS,
        ("mean",),
        "load",
    ),
    _of_schedule(
        "backlog",
        "Images that are not done at once, the most of a cycle of the profile's schedule.",
        IMAGE_UNITS,
    ),
    _of_schedule(
        "age_s",
        "Age of a result under the profile's schedule, from an image's arrival on: the mean.",
        TIME_UNITS,
    ),
    _of_schedule(
        "missed_deadlines",
        "Share of the images without a result at the deadline of the profile's schedule.",
        SHARE_UNITS,
        share_of="image",
    ),
    Metric(
        "update_s",
        "Time in which the artifact reaches the device at the profile's uplink_bps. Where the device builds "
        "what it loads, the artifact is what it builds from.",
        attrgetter("update_bytes"),
        TIME_UNITS,
        source="experiment.json",
        statistics=("recorded",),
        brought_by="uplink_bps in the profile",
        judged="update",
        missing=_NO_SESSION_SAID,
        json_field="update_bytes",
        csv={"update_bytes": ""},
    ),
)

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        *TIME_METRICS,
        _INSTRUCTIONS,
        *_ACCURACY,
        *POWER_METRICS,
        _RELIABILITY,
        *_SIZES_AND_DEADLINES,
    )
}
"""Every metric by name, in the order of the CSV's columns."""


def required_metrics() -> dict[str, Metric]:
    """Those that a requirement may be about, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.statistics}


def compared_metrics() -> dict[str, Metric]:
    """Those by which two results are compared, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.comparison is not None}


def shown_in(table: str, trials: Sequence[TrialSummary] = ()) -> list[tuple[Metric, Shown]]:
    """The columns of a table of the report on these trials, or its tables of their own."""
    return [
        (metric, shown)
        for metric in METRICS.values()
        for shown in metric.shown
        if shown.table == table
        and not (shown.where_present and all(metric.value(trial) is None for trial in trials))
    ]
