"""Several workers of one session: how far their starts lie apart, and what they cost where none computes."""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks.pairs import abba
from benchmarks.row import Row
from edgebench import registry
from edgebench.contract import Device
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, Pass, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import Variant
from edgebench.stats.compare import slowest
from edgebench.testing.backend_kit import scene_of

BAR_SKEW_MS = 0.5
BAR_PERCENT = 5.0
SESSIONS = 10
ASLEEP_US = 50_000
"""Of each patch: what patchify and preprocess of two workers take of two cores is little next to it."""


def rows(cache: Cache, pairs: int) -> list[Row]:
    """The median skew of the common start, and how far the interval of together / alone extends from 1.00.

    Ten sessions a side in ABBA order, whatever the number of pairs; the second bar is missed, too, where the
    interval does not contain 1.00.
    """
    backend = registry.backend("toy")
    options = backend.options_model.model_validate({"delay_us": ASLEEP_US}).model_dump(mode="json")
    (artifact,) = backend.prepare([PrepareRequest(Variant(0.25, "int8"), 1, options)], cache, print)
    assert isinstance(artifact, Artifact), artifact
    alone, together = SessionSettings(1, options, Launch()), []
    skews_ms: list[float] = []
    shared = SessionSettings(1, options, Launch(), others=(artifact,), share="naive")
    plan = MeasurePlan(scene_of(artifact, cache), 3)
    device = backend.open(Target(name="toy", device="toy", options=options))

    def take_together() -> float:
        passes = _passes(device, artifact, shared, plan)
        starts = [min(each.start_ns for each in passes if each.worker == worker) for worker in (0, 1)]
        skews_ms.append(abs(starts[0] - starts[1]) / 1e6)
        medians = [_median_s(passes, worker) for worker in (0, 1)]
        together.append(medians)
        return max(medians)

    try:
        paired = abba(lambda: _median_s(_passes(device, artifact, alone, plan)), take_together, SESSIONS)
    finally:
        device.close()
    side = np.array(paired.a)
    _, ratio = slowest([side, side], list(np.array(together).T))
    low, high = float(ratio.low), float(ratio.high)
    extent = 100 * max(1 - low, high - 1) if low <= 1 <= high else 100.0
    details = {"ratio": float(ratio.ratio), "low": low, "high": high, "alone_s": paired.a}
    same = 100 * abs(statistics.median(paired.same_ratios) - 1)
    return [
        Row(
            "median skew of the common start of two workers",
            statistics.median(skews_ms),
            "ms",
            BAR_SKEW_MS,
            None,
            {"skews_ms": skews_ms},
        ),
        Row(
            "two workers that sleep against one: interval around 1.00",
            extent,
            "%",
            BAR_PERCENT,
            same,
            details,
        ),
    ]


def _passes(device: Device, artifact: Artifact, settings: SessionSettings, plan: MeasurePlan) -> list[Pass]:
    """The passes after the warm-up."""
    with device.session(artifact, settings) as session:
        session.golden()
        taken = [each for each in session.measure(plan) if isinstance(each, Pass)]
    return [each for each in taken if each.phase in ("steady", "outside")]


def _median_s(passes: list[Pass], worker: int = 0) -> float:
    mine = [each.image_ns for each in passes if each.worker == worker and each.phase == "steady"]
    return statistics.median(mine) / 1e9
