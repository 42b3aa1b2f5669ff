"""Times: of a pass, of a request, of a stage, and of what happens once a session; and instructions."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import (
    MILLISECOND_UNITS,
    TIME_UNITS,
    BySession,
    Exactly,
    Metric,
    Sampled,
    Shown,
    by_session,
    was_measured,
    where_measured,
)

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import TrialSummary


def _cold(name: str, sentence: str, heading: str, statistics: tuple[str, ...] = (), **fields: Any) -> Metric:
    """What is taken once a session, as the mean over sessions."""
    if not statistics:
        fields["compared"] = BySession(lambda trial: [[value] for value in trial.cold_values.get(name, ())])
    return Metric(
        name,
        f"{sentence}, mean over sessions.",
        TIME_UNITS,
        read=lambda trial: trial.cold.get(name),
        label=heading,
        source="session.json",
        statistics=statistics,
        json_field="cold",
        missing=lambda trial: trial.untimed_reason if trial.emulated else "",
        shown=(Shown("start", f"{heading}, ms", "milliseconds"),),
        **fields,
    )


def _no_requests(trial: TrialSummary) -> str:
    is_single = was_measured(trial) and trial.concurrency == 1
    return trial.untimed_reason or (
        "one request at a time: its latency is the stage infer" if is_single else ""
    )


def _no_start(trial: TrialSummary) -> str:
    if trial.emulated or not was_measured(trial):
        return trial.untimed_reason
    if trial.image_s is None or trial.untimed_stages:  # in windows, or of patches that the host cut
        return "its firmware is resident: no process is started"
    return "no finished session says how long a start took that found nothing made before"


METRICS = (
    Metric(
        "image_s",
        "Seconds from the scene in the device's memory to the last score: patchify, preprocess, infer.",
        TIME_UNITS,
        label="Latency per image",
        source="sessions",
        statistics=("median", "p90", "p99", "max"),
        judged=Sampled(attrgetter("image_s_values"), "passes", "no finished session holds a steady pass"),
        part="infer_s",
        usual="speed",
        brought_by='quantity = "infer_s" in the profile: its device times inference alone',
        missing=attrgetter("untimed_reason"),
        of_a_pass=True,
        shown=(Shown("matrix", form="interval", where_present=True),),
    ),
    Metric(
        "infer_s",
        "Seconds in which the runtime works on the scene's patches: the union of the inference intervals "
        "where they overlap; of windows their duration over their inferences, times the scene's patches.",
        TIME_UNITS,
        label="Inference time per image",
        source="sessions",
        statistics=("median", "p90", "p99", "max"),
        judged=Sampled(
            attrgetter("infer_s_values"),
            "passes",
            "no finished session holds a time of a stage called infer",
        ),
        brought_by="a runner that times a stage called infer",
        usual="speed",
        missing=attrgetter("untimed_reason"),
        of_a_pass=True,
        shown=(
            Shown("matrix", form="interval", where_present=True),
            Shown("trials", "Inference time, s", "median"),
            Shown("latency", form="interval"),
        ),
    ),
    Metric(
        "request_ms",
        "Milliseconds from a request's submission to its completion, where several are in flight; a request "
        "is a batch. Its median is the mean over sessions of each session's median.",
        MILLISECOND_UNITS,
        label="Latency per request",
        source="batches.parquet",
        statistics=("median", "p90", "p99", "max"),
        judged=Sampled(
            attrgetter("request_ms_values"), "requests", "no finished session holds the time of a request"
        ),
        brought_by="--set requests=N on a device with a queue",
        missing=_no_requests,
        shown=(
            Shown("matrix", form="median", where_present=True),
            Shown("latency", "{label} (p99)", "p99", where_present=True),
        ),
    ),
    Metric(
        "in_flight",
        "Mean number of requests in flight while any is: the sum of their times over infer_s.",
        {"1": 1.0},
        label="Requests in flight",
        source="batches.parquet",
        missing=_no_requests,
        shown=(Shown("latency", where_present=True),),
    ),
    Metric(
        "stages_ms",
        "Time of each stage a patch, mean over sessions of each session's median over its steady passes.",
        {"ms": 1.0},
        label="Stages per patch",
        source="passes.parquet",
        csv={"{key}_ms": ""},
        keyed=True,
        missing=lambda trial: trial.untimed_reason or where_measured("its device has no such stage")(trial),
        shown=(Shown("latency", "{key}, ms per patch"),),
    ),
    _cold("import_s", "Import of the runtime", "Import"),
    _cold(
        "load_s",
        "Load of the artifact",
        "Load",
        ("median", "max"),
        judged=Sampled(
            by_session("load_s_values"),
            "sessions",
            "no finished session says how long a load took that found nothing made before",
        ),
        brought_by="--sessions N on a device that loads in each session",
    ),
    _cold("first_inference_s", "First inference after the load", "First inference"),
    _cold("first_pass_s", "First pass over the scene", "First pass", of_a_pass=True),
    Metric(
        "start_s",
        "Seconds from just before the worker's process is started to the scores of its first batch: start of "
        "the process, import, load and that batch; nothing that the harness does in between, such as its "
        "requests' way, further golden patches and idle windows.",
        TIME_UNITS,
        label="Start",
        source="session.json",
        statistics=("median", "max"),
        judged=Sampled(by_session("start_s_values"), "sessions", "no finished session has a start_s"),
        brought_by="--sessions N on a device that starts a process",
        missing=_no_start,
        shown=(Shown("trials", form="median"), Shown("start", form="interval")),
    ),
    Metric(
        "instructions",
        "Instructions that an emulated device executes in an inference, by its emulator's count: mean over "
        "sessions of each session's median over its steady windows. No time follows from them.",
        {"instruction": 1.0},
        label="Instructions per inference",
        source="windows.parquet",
        compared=Exactly(),
        usual="speed",
        missing=lambda trial: (
            trial.instructions_reason
            if trial.emulated
            else where_measured("they are counted where a device is emulated")(trial)
        ),
        shown=(Shown("matrix", form="count", where_present=True),),
    ),
)
