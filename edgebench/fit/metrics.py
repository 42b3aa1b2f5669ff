"""The catalogue of metrics: what a trial comes to, each metric described once.

Requirements, the CSV's columns, the tables, the `--json` document with its reasons and the schemas'
descriptions iterate over it. A new metric is one entry here, in `time_metrics` or in `power_metrics`, of what
`edgebench.fit.metric` describes, and what computes it, where no figure of `TrialSummary` holds it yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from edgebench.fit.metric import (
    ABSOLUTE_ZERO_C,
    BYTE_UNITS,
    LENGTH_UNITS,
    MASS_UNITS,
    POINT_UNITS,
    SHARE_UNITS,
    TEMPERATURE_UNITS,
    TIME_UNITS,
    Metric,
    Sampled,
    Shown,
    Stated,
    by_session,
    csv_columns,
    was_measured,
)
from edgebench.fit.power_metrics import POWER_METRICS
from edgebench.fit.time_metrics import TIME_METRICS

if TYPE_CHECKING:  # statistics take long to import, and requirements are read without them
    from edgebench.fit.trial_summary import TrialSummary

NO_BOOT = "the target's description gives no boot time"
NO_TEMPERATURE = "the target's description gives no temperature range"
SAME_AS_FP32 = "same as fp32"  # heads the column of `agreement` wherever there is one
_SHARE = ("k", "n", "low", "high")
_DISCORDANT = ("only_this_right", "only_fp32_right")


def _missed_share(trial: TrialSummary) -> float | None:
    return trial.paced.misses / trial.paced.passes if trial.paced and trial.paced.passes else None


def _no_session_said(trial: TrialSummary) -> str:
    return "the session did not say" if was_measured(trial) else ""


def _no_memory(trial: TrialSummary) -> str:
    return "no finished session says how much memory it took" if was_measured(trial) else ""


def _no_instructions(trial: TrialSummary) -> str:
    if trial.emulated:
        return trial.instructions_reason
    return "they are counted where a device is emulated" if was_measured(trial) else ""


def _no_scene_accuracy(trial: TrialSummary) -> str:
    return "" if not was_measured(trial) else "the scene has no labels in the artifact's classes"


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
        missing=_no_scene_accuracy,
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
        missing=_no_memory,
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
        "temperature_c",
        "Declared range of ambient temperatures at which it works.",
        attrgetter("temperature_c"),
        TEMPERATURE_UNITS,
        source="the target's description",
        statistics=("lowest", "highest"),
        brought_by="--declared temperature_c:LOW..HIGH:SOURCE",
        judged="temperature",
        missing=lambda trial: NO_TEMPERATURE,
        csv={
            "temperature_low_c": "low_c",
            "temperature_high_c": "high_c",
            "temperature_source": "source",
        },
        ends=("lowest", "highest"),
        above=ABSOLUTE_ZERO_C,
    ),
    Metric(
        "storage_bytes",
        "Pictures that are not done at once, the most of a cycle of the profile's schedule: their pixels.",
        attrgetter("image_bytes"),
        BYTE_UNITS,
        source="experiment.json",
        statistics=("simulated",),
        brought_by="a [schedule] in the profile",
        judged="storage",
        missing=lambda trial: "its samples have no pixels",
        json_field="image_bytes",
        csv={"image_bytes": ""},
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
        missing=_no_session_said,
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
