"""The catalogue's times: of a pass, of a request, of a stage, and of what happens once a session."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING

from edgebench.fit.metric import (
    MILLISECOND_UNITS,
    TIME_UNITS,
    BySession,
    Metric,
    Sampled,
    Shown,
    by_session,
    csv_columns,
    was_measured,
)

if TYPE_CHECKING:
    from edgebench.fit.trial_summary import TrialSummary

_INTERVAL = ("median", "low", "high", "sessions", "n")


def _cold(name: str) -> Callable[[TrialSummary], float | None]:
    return lambda trial: trial.cold.get(name)


def _of_each_session(name: str) -> BySession:
    return BySession(lambda trial: [[value] for value in trial.cold_values.get(name, ())])


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
    Metric(
        "import_s",
        "Import of the runtime, mean over sessions.",
        _cold("import_s"),
        TIME_UNITS,
        source="session.json",
        compared=_of_each_session("import_s"),
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
        brought_by="--sessions N on a device that loads anew in each",
        judged=Sampled(
            by_session("load_s_values"),
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
        compared=_of_each_session("first_inference_s"),
        json_field="cold",
        shown=(Shown("cold", "first inference [ms]", "milliseconds"),),
    ),
    Metric(
        "first_pass_s",
        "First pass over the scene, mean over sessions.",
        _cold("first_pass_s"),
        TIME_UNITS,
        source="session.json",
        compared=_of_each_session("first_pass_s"),
        of_a_pass=True,
        json_field="cold",
        shown=(Shown("cold", "first pass [ms]", "milliseconds"),),
    ),
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
