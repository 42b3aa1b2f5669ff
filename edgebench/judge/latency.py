"""Steady passes or windows of one trial as seconds by session, and the stages a patch."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edgebench.errors import StoredResultError
from edgebench.records.stored import PACED_COLUMNS
from edgebench.results.layout import session_folder
from edgebench.results.rows import Rows, union_ns
from edgebench.stats.intervals import trial_median
from edgebench.texts import listed

Values = tuple[tuple[float, ...], ...]
"""By session, in time order."""

_NO_STAGES = {"start_ns", "end_ns", "image_ns", *PACED_COLUMNS}


@dataclass(frozen=True)
class SteadyPasses:
    """Steady passes or windows of a trial's finished sessions; sessions without any are left out.

    Attributes:
        image_s, infer_s: seconds of a whole image, by session and in time order; `infer_s` may be empty, and
            of windows `image_s` is.
        at_s: when each pass started, seconds since its session's first.
        images: images that each session got through, by session number.
        stages_ms: milliseconds a patch of each stage, the mean over the sessions of each session's median.
        extrapolated: passes that covered fewer patches than the scene has, scaled up to it.
        lateness_s: of paced passes, by session: the end against the deadline; empty where not paced.
        measured_patches: the fewest patches of the scene that one of them covered; of windows, which are on
            one patch each, those of a session together. None without any.
        unit: what they are, in the plural.
        scene_patches: that the scene has.
        clock_share: most ticks of the clock in one time of an image: the scene's patches over those of the
            pass, or over the inferences of the window.
        instructions: of an inference, by session, of the windows in which an emulator counted them.
    """

    image_s: Values = ()
    infer_s: Values = ()
    at_s: Values = ()
    images: dict[int, float] = field(default_factory=dict)
    stages_ms: dict[str, float] = field(default_factory=dict)
    extrapolated: int = 0
    lateness_s: Values = ()
    measured_patches: int | None = None
    unit: Literal["passes", "windows"] = "passes"
    instructions: Values = ()
    scene_patches: int | None = None
    clock_share: float = 1.0

    @property
    def quantity(self) -> Literal["image_s", "infer_s"]:
        """Metric that represents the latency: windows, and some passes, time the runtime alone."""
        is_untimed_image = self.unit == "windows" or (not self.image_s and bool(self.infer_s))
        return "infer_s" if is_untimed_image else "image_s"

    @property
    def latency_s(self) -> Values:
        """Seconds of a whole image by session: `image_s`, or `infer_s` without it."""
        return self.infer_s if self.quantity == "infer_s" else self.image_s

    @property
    def count(self) -> int:
        """Steady passes or windows over all sessions."""
        return sum(len(values) for values in self.latency_s)


def steady_passes(passes: Rows, sessions: Sequence[int], scene_patches: int) -> SteadyPasses:
    """Steady passes of `sessions` among a trial's rows of `passes` (see records.stored.PASS_COLUMNS)."""
    table, at_s, rows = _steady(passes.take(passes.whole("patches") > 0), sessions)
    share = scene_patches / table.floats("patches")
    image_s, infer_s = (table.floats(name) / 1e9 * share for name in ("image_ns", "infer_ns"))
    is_paced = set(PACED_COLUMNS) <= set(table)
    late_s = table.floats("lateness_ns") / 1e9 if is_paced else np.empty(0)
    stages = [name for name in table if name.endswith("_ns") and name not in _NO_STAGES]
    stages_ms = {}
    # Their order in time is that of the columns; infer comes last, wherever its column stands.
    for stage in sorted(stages, key=lambda column: column == "infer_ns"):
        values = table.floats(stage) / 1e6 * share / scene_patches
        taken = np.isfinite(values)
        if taken.any():
            stages_ms[stage.removesuffix("_ns")] = trial_median([values[own & taken] for _, own in rows])
    inferred = [(number, own) for number, own in rows if np.isfinite(infer_s[own]).all()]
    return SteadyPasses(
        image_s=_split(image_s, rows),
        infer_s=_split(infer_s, inferred),
        at_s=_split(at_s, rows),
        images={number: float((1 / share[own]).sum()) for number, own in rows},
        stages_ms=stages_ms,
        extrapolated=int((share > 1).sum()),
        lateness_s=_split(late_s, rows) if is_paced else (),
        measured_patches=int(table.whole("patches").min()) if table.count else None,
        scene_patches=scene_patches,
        clock_share=float(share.max(initial=1.0)),
    )


def steady_windows(windows: Rows, sessions: Sequence[int], scene_patches: int) -> SteadyPasses:
    """Steady windows of `sessions` among a trial's rows of `windows` (see records.stored.WINDOW_COLUMNS).

    A window's `infer_s` is its duration, divided by its inferences, times the scene's patches.
    """
    table, at_s, rows = _steady(windows, sessions)
    inferences, patches = table.floats("inferences"), table.whole("patch")
    patch_s = (table.whole("end_ns") - table.whole("start_ns")) / 1e9 / inferences
    return SteadyPasses(
        infer_s=_split(patch_s * scene_patches, rows),
        at_s=_split(at_s, rows),
        images={number: float(inferences[own].sum()) / scene_patches for number, own in rows},
        stages_ms={"infer": trial_median([1e3 * patch_s[own] for _, own in rows])} if rows else {},
        extrapolated=table.count if scene_patches > 1 else 0,
        measured_patches=min((len(set(patches[own])) for _, own in rows), default=None),
        unit="windows",
        scene_patches=scene_patches,
        clock_share=float((scene_patches / inferences).max(initial=0.0)),
        instructions=_split(table.floats("instructions") / inferences, rows),
    )


def _steady(rows: Rows, sessions: Sequence[int]) -> tuple[Rows, Any, list[tuple[int, Any]]]:
    """Steady rows in time order, start of each in s since its session's first, and a mask per session."""
    usable = rows.equal("phase", "steady") & np.isin(rows.whole("session"), sessions)
    table = rows.take(usable).ordered("session", "start_ns")
    numbers, first, place = np.unique(table.whole("session"), return_index=True, return_inverse=True)
    start_ns = table.whole("start_ns")
    at_s = (start_ns - start_ns[first[place]]) / 1e9
    return table, at_s, [(int(number), place == index) for index, number in enumerate(numbers)]


def _split(values: Any, rows: Sequence[tuple[int, Any]]) -> Values:
    """Finite numbers by session."""
    return tuple(tuple(values[own & np.isfinite(values)].tolist()) for _, own in rows)


def without_images(steady: SteadyPasses) -> SteadyPasses:
    """Passes with times of inference alone; empty where a session lacks these."""
    if len(steady.infer_s) < len(steady.image_s):
        return replace(steady, image_s=(), infer_s=(), at_s=(), stages_ms={})
    return replace(steady, image_s=())


# Stages of an image that a device's passes lack because the host does them beforehand.


_BESIDES = frozenset({"patchify"})
"""Stages without which a time is still told as image_s, with the omission stated."""

_DONE_BEFORE = {"patchify": "cut", "preprocess": "prepared"}


def times_images(untimed: Iterable[str]) -> bool:
    """True if passes without these stages are told as `image_s`; else they time the runtime alone."""
    return set(untimed) <= _BESIDES


def omission(untimed: Sequence[str]) -> str:
    """Stages that an `image_s` lacks, and why; empty where it lacks none."""
    return f"image_s without {omission_sentence(untimed)}" if untimed else ""


def omission_sentence(untimed: Sequence[str]) -> str:
    """Untimed stages and the device's input, in words."""
    done = [_DONE_BEFORE.get(stage, f"through {stage}") for stage in untimed]
    sent = "patches" if times_images(untimed) else "inputs"
    return f"{listed(untimed)}: the device is sent {sent} that were {listed(done)} on the host"


# Several workers: the images that all of them finished in the time when all ran.


def images_together(
    passes: Rows, common_ns: Mapping[int, tuple[int, int]], scene_patches: int
) -> dict[int, float]:
    """Images that all workers finished in the common time, by session.

    A pass at an edge of that time counts with the share of it that is inside: one worker's pass ends with the
    common time, and without the others' shares half an image of each would be missing on average.

    Args:
        passes: the trial's rows of all workers.
        common_ns: by finished session, when all of them ran.
        scene_patches: that the scene has.
    """
    start_ns, end_ns = passes.whole("start_ns"), passes.whole("end_ns")
    images = passes.floats("patches") / scene_patches
    measured = passes.equal("phase", "steady") | passes.equal("phase", "outside")
    images_by_session = {}
    for number, (begun_ns, over_ns) in common_ns.items():
        own = measured & (passes.whole("session") == number) & (end_ns > start_ns)
        inside_ns = np.minimum(end_ns[own], over_ns) - np.maximum(start_ns[own], begun_ns)
        shares = np.maximum(inside_ns, 0) / (end_ns[own] - start_ns[own])
        images_by_session[number] = float((shares * images[own]).sum())
    return images_by_session


# A request's own latency, where a device has several in flight: from submission to completion.
#
# There `infer_s` counts overlapping requests once and is a throughput; how long a single request takes only
# `batches.parquet` has.


REQUEST_COLUMNS = ("worker", "phase", "infer_start_ns", "infer_end_ns")
"""Those of `batches` that the latency of requests takes; a batch is a request."""


@dataclass(frozen=True)
class SteadyRequests:
    """The requests of a trial's steady passes, by session; sessions without any are left out.

    Attributes:
        latency_ms: of each request in milliseconds, as compact arrays: there are as many as batches.
        in_flight: the mean number of requests in flight while any is: their times over `infer_s`.
    """

    latency_ms: tuple[Sequence[float], ...] = ()
    in_flight: tuple[float, ...] = ()

    @property
    def mean_in_flight(self) -> float | None:
        """Mean over the sessions; None without a request."""
        return trial_median([[mean] for mean in self.in_flight]) if self.in_flight else None


def steady_requests(
    batches: Rows, passes: Rows, sessions: Sequence[int], trial: str, concurrency: int
) -> SteadyRequests:
    """The requests of the steady passes of `sessions`; none where no stage is called infer.

    Args:
        batches: REQUEST_COLUMNS and `session` of one worker's batches.
        passes: the rows of its passes (see records.stored.PASS_COLUMNS).
        sessions: the numbers of those that count.
        trial: the key of their trial.
        concurrency: how many requests are in flight at most.

    Raises:
        StoredResultError: the requests of a session are not those that its passes were made of.
    """
    stamps = ("infer_start_ns", "infer_end_ns")
    if not set(stamps) <= set(batches):
        return SteadyRequests()
    is_steady, busy = passes.equal("phase", "steady"), passes.whole("infer_ns")
    counts = batches.equal("phase", "steady") & ~np.logical_or(*map(batches.missing, stamps))
    stamps_ns = np.stack([batches.whole(stamp) for stamp in stamps], axis=1)
    latency_ms, in_flight = [], []
    for number in sessions:
        intervals_ns = stamps_ns[counts & (batches.whole("session") == number)]
        busy_ns = int(busy[is_steady & (passes.whole("session") == number)].sum())
        if not len(intervals_ns):
            continue
        requests_ns = (intervals_ns[:, 1] - intervals_ns[:, 0]).astype(np.float64)
        # Passes of one worker follow each other: what their requests cover adds up.
        if not 0 < busy_ns == union_ns(intervals_ns) or requests_ns.sum() > concurrency * busy_ns:
            folder = session_folder(Path(), trial, number)
            raise StoredResultError(
                f"batches.parquet and passes.parquet of {folder} contradict each other",
                why=f"infer_ns of its steady passes is not the time that up to {concurrency} requests cover",
                fix=f"remove {folder} from the result, then run again with --resume to measure it again",
            )
        latency_ms.append(array("d", (requests_ns / 1e6).tobytes()))
        in_flight.append(float(requests_ns.sum()) / busy_ns)
    return SteadyRequests(tuple(latency_ms), tuple(in_flight))
