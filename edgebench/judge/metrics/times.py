"""Times of a pass, a request, a stage and a session's start; instructions of an emulated device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import TIME_UNITS, Metric, Option, Reading, Sampled, once_per_session
from edgebench.judge.trial import EMULATED, Estimate, Values

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded

LATENCY_STATISTICS = ("median", "p90", "p99", "max")


def _no_request(recorded: Recorded) -> str:
    is_single = recorded.was_measured and recorded.trial.concurrency == 1
    single = "one request at a time: its latency is the stage infer" if is_single else ""
    untimed = "no finished session holds the time of a request"
    return recorded.untimed_reason or recorded.unpooled_reason or single or untimed


def _no_start(recorded: Recorded) -> str:
    if recorded.is_emulated:
        return EMULATED
    if recorded.was_measured and (not recorded.steady().image_s or recorded.untimed_stages):
        return "its firmware is resident: no process is started"
    return "no finished session says how long a start took that found nothing made before"


def _no_load(recorded: Recorded) -> str:
    unmade = "no finished session says how long a load took that found nothing made before"
    return EMULATED if recorded.is_emulated else unmade


def _load_s(recorded: Recorded, worker: int | None) -> Values:
    if worker is None:
        return once_per_session(recorded.cold("load_s"))
    return once_per_session(() if recorded.is_emulated else recorded.worker_numbers(worker, "cold", "load_s"))


def _in_flight(recorded: Recorded, worker: int | None) -> Estimate:
    requests = recorded.requests(worker)
    if requests.mean_in_flight is None:
        return Estimate(reason=_no_request(recorded))
    return Estimate(requests.mean_in_flight, sessions=requests.in_flight, n=len(requests.in_flight))


def _stages(recorded: Recorded, worker: int | None) -> Iterable[Reading]:
    stages = recorded.steady(worker).stages_ms
    reason = recorded.untimed_reason or recorded.measured_reason("its device has no such stage")
    readings = [Reading(Estimate(milliseconds), stage=stage) for stage, milliseconds in stages.items()]
    return readings or [Reading(Estimate(reason=reason))]


def _instructions(recorded: Recorded, worker: int | None) -> Estimate:
    from edgebench.stats.intervals import trial_median

    counts = recorded.steady().instructions
    if not recorded.is_emulated:
        return Estimate(reason=recorded.measured_reason("they are counted where a device is emulated"))
    if any(counts):
        return Estimate(trial_median(counts), n=sum(map(len, counts)))
    reasons = (record.instructions_reason for record in recorded.ok if record.emulated)
    return Estimate(reason=next(filter(None, reasons), "the emulator did not count them"))


def _cold(name: str, sentence: str, heading: str, **fields: Any) -> Metric:
    """Metric of a time that a session takes once, without an interval."""

    def read(recorded: Recorded, worker: int | None) -> Iterable[Reading]:
        from edgebench.stats.intervals import trial_median

        times = recorded.cold(name)
        if not times:
            unrecorded = "no finished session recorded it" if recorded.ok else ""
            return [Reading(Estimate(reason=EMULATED if recorded.is_emulated else unrecorded))]
        values = once_per_session(times)
        return [Reading(Estimate(trial_median(values), sessions=times, n=len(times)), values)]

    return Metric(
        name,
        sentence,
        TIME_UNITS,
        "session.json",
        ("median",),
        read,
        tables=("start",),
        heading=heading,
        **fields,
    )


METRICS = (
    Metric(
        "image_s",
        "Seconds from the scene in the device's memory to the last score: patchify, preprocess, infer.",
        TIME_UNITS,
        source="sessions",
        statistics=LATENCY_STATISTICS,
        read=Sampled(
            "passes",
            lambda recorded, worker: recorded.steady(worker).image_s,
            lambda recorded: recorded.untimed_reason or "no finished session holds a steady pass",
        ),
        by_worker=True,
        label="Latency per image",
        options=(Option(reason='quantity = "infer_s" in the profile: its device times inference alone'),),
        option_of="profile",
        tables=("matrix",),
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
        statistics=LATENCY_STATISTICS,
        read=Sampled(
            "passes",
            lambda recorded, worker: recorded.steady(worker).infer_s,
            lambda recorded: (
                recorded.untimed_reason or "no finished session holds a time of a stage called infer"
            ),
        ),
        by_worker=True,
        label="Inference time per image",
        options=(Option(reason="a runner that times a stage called infer"),),
        tables=("matrix", "trials", "latency"),
        belongs_to="pass",
        usual="speed",
    ),
    Metric(
        "request_ms",
        "Milliseconds from a request's submission to its completion, where several are in flight; a request "
        "is a batch. Its median is the mean over sessions of each session's median.",
        {"ms": 1.0, "s": 1e3},
        source="batches.parquet",
        statistics=LATENCY_STATISTICS,
        read=Sampled("requests", lambda recorded, worker: recorded.requests(worker).latency_ms, _no_request),
        by_worker=True,
        label="Latency per request",
        options=(Option(("--set", "requests=N"), "on a device with a queue"),),
        tables=("matrix", "latency"),
        belongs_to="pass",
    ),
    Metric(
        "in_flight",
        "Mean number of requests in flight while any is: the sum of their times over infer_s.",
        {"1": 1.0},
        source="batches.parquet",
        statistics=("median",),
        read=_in_flight,
        by_worker=True,
        label="Requests in flight",
        tables=("latency",),
        compared="",
    ),
    Metric(
        "stages_ms",
        "Time of each stage per patch, mean over sessions of each session's median over its steady passes.",
        {"ms": 1.0},
        source="passes.parquet",
        statistics=("median",),
        read=_stages,
        by_worker=True,
        label="Stages per patch",
        tables=("latency",),
        heading="{stage}, ms per patch",
        compared="",
    ),
    _cold("import_s", "Import of the runtime, mean over sessions.", "Import, ms"),
    Metric(
        "load_s",
        "Load of the artifact, mean over sessions.",
        TIME_UNITS,
        source="session.json",
        statistics=("median", "max"),
        read=Sampled("sessions", _load_s, _no_load),
        by_worker=True,
        options=(Option(("--sessions", "N"), "on a device that loads in each session"),),
        tables=("start",),
        heading="Load, ms",
    ),
    _cold("first_inference_s", "First inference after the load, mean over sessions.", "First inference, ms"),
    _cold(
        "first_pass_s", "First pass over the scene, mean over sessions.", "First pass, ms", belongs_to="pass"
    ),
    Metric(
        "start_s",
        "Seconds from just before the worker's process is started to the scores of its first batch: start of "
        "the process, import, load and that batch; nothing that the harness does in between, such as its "
        "requests' way, further golden patches and idle windows.",
        TIME_UNITS,
        source="session.json",
        statistics=("median", "max"),
        read=Sampled(
            "sessions", lambda recorded, worker: once_per_session(recorded.cold("start_s")), _no_start
        ),
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
        tables=("matrix",),
        compared="exact",
        usual="speed",
    ),
)
