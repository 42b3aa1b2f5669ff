"""Times of a pass, a request, a stage and a session's start; instructions of an emulated device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import MILLISECOND_UNITS, TIME_UNITS, Metric, Option, Reading, Sampled
from edgebench.judge.trial import EMULATED, Estimate, Values

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded


def _no_request(recorded: Recorded) -> str:
    is_single = recorded.was_measured and recorded.trial.concurrency == 1
    single = "one request at a time: its latency is the stage infer" if is_single else ""
    return recorded.untimed_reason or recorded.unpooled_reason or single or _NO_REQUEST


_NO_REQUEST = "no finished session holds the time of a request"


def _no_start(recorded: Recorded) -> str:
    if recorded.is_emulated:
        return EMULATED
    steady = recorded.steady()
    if recorded.was_measured and (not steady.image_s or recorded.untimed_stages):
        return "its firmware is resident: no process is started"
    return "no finished session says how long a start took that found nothing made before"


def _load_s(recorded: Recorded, worker: int | None) -> Values:
    from edgebench.judge.recorded import once_per_session

    if worker is None:
        return once_per_session(recorded.cold("load_s"))
    return once_per_session(() if recorded.is_emulated else recorded.worker_numbers(worker, "cold", "load_s"))


def _in_flight(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    for worker in (None, *recorded.several_workers):
        requests = recorded.requests(worker)
        mean = requests.mean_in_flight
        if mean is None:
            yield metric.missing(_no_request(recorded), worker)
        else:
            sessions = tuple(requests.in_flight)
            yield Reading(metric.key(worker), Estimate(mean, sessions=sessions, n=len(sessions)))


def _stages(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    for worker in (None, *recorded.several_workers):
        stages = recorded.steady(worker).stages_ms
        for stage, milliseconds in stages.items():
            yield Reading(metric.key(worker, stage=stage), Estimate(milliseconds))
        if not stages:
            reason = recorded.untimed_reason or recorded.measured_reason("its device has no such stage")
            yield metric.missing(reason, worker)


def _cold(name: str) -> Any:
    def read(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
        from edgebench.judge.recorded import once_per_session
        from edgebench.stats.intervals import trial_median

        times = recorded.cold(name)
        if not times:
            unrecorded = "no finished session recorded it" if recorded.ok else ""
            reason = EMULATED if recorded.is_emulated else unrecorded
            yield metric.missing(reason)
            return
        values = once_per_session(times)
        estimate = Estimate(trial_median(values), sessions=times, n=len(times))
        yield Reading(metric.key(), estimate, values)

    return read


def _instructions(recorded: Recorded, metric: Metric) -> Iterable[Reading]:
    from edgebench.stats.intervals import trial_median

    counts = recorded.steady().instructions
    if recorded.is_emulated and any(counts):
        yield Reading(metric.key(), Estimate(trial_median(counts), n=sum(map(len, counts))))
        return
    reasons = (record.instructions_reason for record in recorded.ok if record.emulated)
    uncounted = next(filter(None, reasons), "the emulator did not count them")
    elsewhere = recorded.measured_reason("they are counted where a device is emulated")
    yield metric.missing(uncounted if recorded.is_emulated else elsewhere)


_image = Sampled(
    "passes",
    lambda recorded, worker: recorded.steady(worker).image_s,
    lambda recorded: recorded.untimed_reason or "no finished session holds a steady pass",
)
_infer = Sampled(
    "passes",
    lambda recorded, worker: recorded.steady(worker).infer_s,
    lambda recorded: (
        EMULATED if recorded.is_emulated else "no finished session holds a time of a stage called infer"
    ),
)
_request = Sampled("requests", lambda recorded, worker: recorded.requests(worker).latency_ms, _no_request)
_load = Sampled(
    "sessions",
    _load_s,
    lambda recorded: (
        EMULATED
        if recorded.is_emulated
        else "no finished session says how long a load took that found nothing made before"
    ),
)


def _start_s(recorded: Recorded, worker: int | None) -> Values:
    from edgebench.judge.recorded import once_per_session

    return once_per_session(recorded.cold("start_s"))


_start = Sampled("sessions", _start_s, _no_start, by_worker=False)

METRICS = (
    Metric(
        "image_s",
        "Seconds from the scene in the device's memory to the last score: patchify, preprocess, infer.",
        TIME_UNITS,
        source="sessions",
        statistics=("median", "p90", "p99", "max"),
        read=_image.read,
        estimates=_image.estimates,
        label="Latency per image",
        options=(Option(reason='quantity = "infer_s" in the profile: its device times inference alone'),),
        option_of="profile",
        tables=("matrix",),
        where_present=True,
        part="infer_s",
        belongs_to="pass",
        usual="speed",
    ),
    Metric(
        "infer_s",
        "Seconds in which the runtime works on the scene's patches: the union of the inference intervals "
        "where they overlap; of windows their duration over their inferences, times the scene's patches.",
        TIME_UNITS,
        source="sessions",
        statistics=("median", "p90", "p99", "max"),
        read=_infer.read,
        estimates=_infer.estimates,
        label="Inference time per image",
        options=(Option(reason="a runner that times a stage called infer"),),
        tables=("matrix", "trials", "latency"),
        where_present=True,
        belongs_to="pass",
        usual="speed",
    ),
    Metric(
        "request_ms",
        "Milliseconds from a request's submission to its completion, where several are in flight; a request "
        "is a batch. Its median is the mean over sessions of each session's median.",
        MILLISECOND_UNITS,
        source="batches.parquet",
        statistics=("median", "p90", "p99", "max"),
        read=_request.read,
        estimates=_request.estimates,
        label="Latency per request",
        options=(Option(("--set", "requests=N"), "on a device with a queue"),),
        tables=("matrix", "latency"),
        where_present=True,
        belongs_to="pass",
    ),
    Metric(
        "in_flight",
        "Mean number of requests in flight while any is: the sum of their times over infer_s.",
        {"1": 1.0},
        source="batches.parquet",
        statistics=("median",),
        read=_in_flight,
        label="Requests in flight",
        required=False,
        tables=("latency",),
        where_present=True,
        compared="",
    ),
    Metric(
        "stages_ms",
        "Time of each stage per patch, mean over sessions of each session's median over its steady passes.",
        {"ms": 1.0},
        source="passes.parquet",
        statistics=("median",),
        read=_stages,
        label="Stages per patch",
        required=False,
        tables=("latency",),
        heading="{stage}, ms per patch",
        compared="",
    ),
    Metric(
        "import_s",
        "Import of the runtime, mean over sessions.",
        TIME_UNITS,
        source="session.json",
        statistics=("median",),
        read=_cold("import_s"),
        label="Import",
        required=False,
        tables=("start",),
        heading="Import, ms",
    ),
    Metric(
        "load_s",
        "Load of the artifact, mean over sessions.",
        TIME_UNITS,
        source="session.json",
        statistics=("median", "max"),
        read=_load.read,
        estimates=_load.estimates,
        label="Load",
        options=(Option(("--sessions", "N"), "on a device that loads in each session"),),
        tables=("start",),
        heading="Load, ms",
    ),
    Metric(
        "first_inference_s",
        "First inference after the load, mean over sessions.",
        TIME_UNITS,
        source="session.json",
        statistics=("median",),
        read=_cold("first_inference_s"),
        label="First inference",
        required=False,
        tables=("start",),
        heading="First inference, ms",
    ),
    Metric(
        "first_pass_s",
        "First pass over the scene, mean over sessions.",
        TIME_UNITS,
        source="session.json",
        statistics=("median",),
        read=_cold("first_pass_s"),
        label="First pass",
        required=False,
        tables=("start",),
        heading="First pass, ms",
        belongs_to="pass",
    ),
    Metric(
        "start_s",
        "Seconds from just before the worker's process is started to the scores of its first batch: start of "
        "the process, import, load and that batch; nothing that the harness does in between, such as its "
        "requests' way, further golden patches and idle windows.",
        TIME_UNITS,
        source="session.json",
        statistics=("median", "max"),
        read=_start.read,
        estimates=_start.estimates,
        label="Start",
        options=(Option(("--sessions", "N"), "on a device that starts a process"),),
        tables=("trials", "start"),
    ),
    Metric(
        "instructions",
        "Instructions that an emulated device executes in an inference, by its emulator's count: mean over "
        "sessions of each session's median over its steady windows. No time follows from them.",
        {"instruction": 1.0},
        source="windows.parquet",
        statistics=("median",),
        read=_instructions,
        label="Instructions per inference",
        required=False,
        tables=("matrix",),
        where_present=True,
        compared="exact",
        usual="speed",
    ),
)
