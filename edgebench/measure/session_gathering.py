"""What one session has given so far, and the tables and figures of its record that follow from it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from edgebench.errors import SessionError
from edgebench.measure.session_samples import SessionSamples
from edgebench.store import tables
from edgebench.store.measurement_checks import require_valid_pass, require_valid_window
from edgebench.store.records import GoldenCheck, SessionTables
from edgebench.vocabulary.passes import Pass, Window
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.session_facts import SessionFacts
from edgebench.vocabulary.values import Scores

SCARCE_MEMORY_BYTES = 64 << 20
"""Available memory below which a session's figures come with a warning."""

LEAST_SUSTAINED = 0.5
"""The share of the time asked for that steady passes go on at least; the last may end a while before it."""


@dataclass
class Gathered:
    """What has arrived so far; whatever ends the session, this much is kept."""

    passes: list[Pass] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    samples: SessionSamples = field(default_factory=SessionSamples)
    facts: SessionFacts | None = None
    checks: list[GoldenCheck] = field(default_factory=list)  # one a worker
    image_scores: list[Scores] = field(default_factory=list)  # likewise
    stage: str = "start"  # which the session has reached, in the words of SessionError
    device_s: float = 0.0  # time that belongs to the device and not to the harness
    steady_s: float = 0.0  # within the steady passes or windows of all workers


def take_in(measurement: Pass | Window, gathered: Gathered, scene_patches: int, workers: int) -> None:
    """Keep a pass or a window; SessionError for one beside the other kind, or that cannot be.

    What came before it is kept, whatever is wrong with it.
    """
    if (gathered.windows and isinstance(measurement, Pass)) or (
        gathered.passes and isinstance(measurement, Window)
    ):
        raise SessionError(
            "the device gave both passes and windows",
            status="protocol_error",
            stage="measure",
            why="a session is timed by one of them",
        )
    if isinstance(measurement, Window):
        require_valid_window(measurement, scene_patches, gathered.windows[-1] if gathered.windows else None)
        gathered.windows.append(measurement)
        gathered.device_s += measurement.duration_ns / 1e9
        gathered.steady_s += measurement.duration_ns / 1e9 if measurement.phase == "steady" else 0.0
        return
    first = gathered.passes[0] if gathered.passes else measurement
    require_valid_pass(measurement, first.stages, workers)
    if measurement.scores is not None and len(measurement.scores) > scene_patches:
        raise SessionError(
            f"pass {measurement.index} from the device is invalid",
            status="protocol_error",
            stage="measure",
            why=f"scores of {len(measurement.scores)} patches of a scene of {scene_patches}",
        )
    if measurement.due_ns is not None and gathered.passes:
        # The pause before a paced pass is the schedule's, not the harness's.
        gathered.device_s += max(0, measurement.due_ns - gathered.passes[-1].end_ns) / 1e9
    gathered.passes.append(measurement)
    gathered.device_s += measurement.image_ns / 1e9
    gathered.steady_s += measurement.image_ns / 1e9 if measurement.phase == "steady" else 0.0


def require_as_planned(gathered: Gathered, plan: MeasurePlan) -> None:
    """SessionError where there is no steady pass or window, or none of the pace or length that was planned.

    Figures that are recorded as paced or sustained and are not would be taken for what they are not.
    """
    measurements: list[Pass | Window] = [*gathered.passes, *gathered.windows]
    steady = [timed for timed in measurements if timed.phase == "steady"]
    if not steady:
        raise SessionError("the device gave no steady pass", status="protocol_error", stage="measure")
    if plan.period_s is not None and any(
        isinstance(timed, Window) or timed.due_ns is None for timed in steady
    ):
        raise SessionError(
            f"the device did not pace what it measured by {plan.period_s:g} s",
            status="protocol_error",
            stage="measure",
            why="its steady passes do not say when each was due",
            fix="leave --period out; its backend can refuse it beforehand (check_plan)",
        )
    steady_s = (max(timed.end_ns for timed in steady) - min(timed.start_ns for timed in steady)) / 1e9
    lasted_s = steady_s + (plan.period_s or 0.0)  # the last pass's period belongs to it
    if plan.sustained_s is not None and lasted_s < LEAST_SUSTAINED * plan.sustained_s:
        raise SessionError(
            f"the device measured for {steady_s:.3g} s, and {plan.sustained_s:g} s were asked for",
            status="protocol_error",
            stage="measure",
            why="its session took no notice of how long steady passes go on",
            fix="leave --sustained out; its backend can refuse it beforehand (check_plan)",
        )


@contextmanager
def timed_on_device(gathered: Gathered) -> Iterator[None]:
    """Count the time of what is within as the device's, not the harness's."""
    start_s = time.perf_counter()
    try:
        yield
    finally:
        gathered.device_s += time.perf_counter() - start_s


@dataclass(frozen=True)
class _SceneScores:
    """Scores float32 [n, classes] that a worker gave n patches of the scene, and which these are."""

    worker: int
    patches: Sequence[int]
    scores: Scores


def _scene_scores(gathered: Gathered) -> list[_SceneScores]:
    """Of each worker its last pass's: every pass classifies the same scene; of windows, each patch's last."""
    last = {
        scene_pass.worker: scene_pass.scores
        for scene_pass in gathered.passes
        if scene_pass.scores is not None
    }
    if last:
        return [_SceneScores(worker, range(len(scores)), scores) for worker, scores in sorted(last.items())]
    by_patch = {window.patch: window.scores for window in gathered.windows if window.scores is not None}
    if not by_patch:
        return []
    patches = sorted(by_patch)
    return [_SceneScores(0, patches, np.stack([by_patch[patch] for patch in patches]))]


def prediction_counts(gathered: Gathered) -> dict[str, int]:
    """How many predictions of each set there are, of all workers."""
    sets = {"scene": [part.scores for part in _scene_scores(gathered)], "images": gathered.image_scores}
    return {name: sum(len(scores) for scores in parts) for name, parts in sets.items() if parts}


def worker_records(gathered: Gathered) -> tuple[dict[str, Any], ...]:
    """What the record has of the workers: of several, what each alone can say."""
    facts = gathered.facts.workers if gathered.facts else ()
    if not facts:
        return ({"worker": 0},)
    checks = dict(enumerate(gathered.checks))
    return tuple(
        {**asdict(worker), "golden": check.model_dump() if (check := checks.get(worker.worker)) else None}
        for worker in facts
    )


def session_tables_of(gathered: Gathered, plan: MeasurePlan) -> SessionTables:
    """The tables of a session; SessionError where the device sent nonsense."""
    session_tables = SessionTables()
    if gathered.passes:
        session_tables.passes, session_tables.batches = tables.pass_rows(gathered.passes)
    if gathered.windows:
        session_tables.windows = tables.window_rows(gathered.windows, plan.scene.patches)
    session_tables.probes = gathered.samples.table(gathered.facts.probes if gathered.facts else ())
    labels = plan.scene.labels
    predictions = [
        tables.prediction_rows("scene", part.scores, labels, part.worker, patches=part.patches)
        for part in _scene_scores(gathered)
    ]
    if plan.images is not None:
        predictions += [
            tables.prediction_rows("images", scores, plan.images.labels, worker)
            for worker, scores in enumerate(gathered.image_scores)
        ]
    if predictions:
        session_tables.predictions = tables.concat(predictions)
    return session_tables


def memory_warnings(describe: Mapping[str, Any], lowest_sampled_bytes: float) -> list[str]:
    """That the device had little memory left, before the session or at any sample of it."""
    before = describe.get("memory_available_bytes")
    lowest = min(lowest_sampled_bytes, float(before) if isinstance(before, int) else math.inf)
    if lowest >= SCARCE_MEMORY_BYTES:
        return []
    return [
        f"less than {SCARCE_MEMORY_BYTES >> 20} MiB of the device's memory were available: it may have "
        "swapped, or read the model and the runtime from its disk again"
    ]
