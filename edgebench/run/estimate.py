"""How long a session takes, stage by stage, by what its trial is known to cost (pure)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from edgebench.agent.timed import HALF
from edgebench.records.session import Pace
from edgebench.session_stages import SessionStage


@dataclass(frozen=True)
class Span:
    """Seconds from the least to the most that something takes; the most is infinite where it is not known."""

    least_s: float = 0.0
    most_s: float = 0.0

    @classmethod
    def exactly(cls, seconds: float) -> Span:
        """So much, and no doubt about it."""
        return cls(seconds, seconds)

    @property
    def known(self) -> bool:
        """Whether there is a most."""
        return math.isfinite(self.most_s)

    def __add__(self, other: Span) -> Span:
        return Span(self.least_s + other.least_s, self.most_s + other.most_s)

    def times(self, factor: float) -> Span:
        """So often, or such a share of it."""
        return Span(self.least_s * factor, self.most_s * factor) if factor else Span()

    def at_most(self, limit_s: float) -> Span:
        """Ended by a limit."""
        return Span(min(self.least_s, limit_s), min(self.most_s, limit_s))


def longest(spans: list[Span]) -> Span:
    """Of what goes on side by side."""
    return Span(
        max((span.least_s for span in spans), default=0.0), max((span.most_s for span in spans), default=0.0)
    )


@dataclass(frozen=True)
class Cost:
    """What sessions of one trial take, in real time.

    Attributes:
        patch_s: one patch of a pass; 0 on a device with a clock of its own.
        overhead_s: a session's time outside its idle windows, load bursts, passes, warm-up and images.
        warmup_batches: beyond the first pass; None where no warm-up has ended yet.
        build_s: what building on the board took; None where that is not known.
        measured: of this very trial's passes; else it is scaled from another trial of the same target, or is
            what the golden patches of the session in hand took.
    """

    patch_s: float
    overhead_s: float
    warmup_batches: int | None = None
    measured: bool = True
    build_s: float | None = None


StageSeconds = Callable[[float | None], Mapping[SessionStage, tuple[float, float]]]
"""By what a patch takes, where that is known: least and most seconds of stages (Backend.stage_seconds)."""


@dataclass(frozen=True)
class Shape(Pace):
    """What a session of one trial consists of.

    Attributes:
        patches: of the scene.
        some: of them, that a pass goes through; None: all.
        images: that accuracy is taken on in this session; 0 for none.
        idle_s: each of its two idle windows, with the time to settle before it.
        bursts_s: bursts of load by which lag and response of meters are told.
        warmup_floor, warmup_cap: batches, those of the first pass included.
        least_s: what the steady passes last at least, their own time or, at a period, their cycles.
        own_clock: whether the device's time is not real time: nobody waits for a period or idle windows.
        device_stages: what the device's backend says of its stages.
        builds: whether the device makes first what it loads, unless that lies there from before.
        windows: whether what is called passes here are windows of one patch.
    """

    patches: int
    passes: int
    batch: int = 1
    images: int = 0
    idle_s: float = 0.0
    least_s: float | None = None
    warmup_floor: int = 10
    warmup_cap: int = 300
    own_clock: bool = False
    bursts_s: float = 0.0
    device_stages: StageSeconds = field(default=lambda patch_s: {}, compare=False)
    builds: bool = False
    windows: bool = False
    some: int | None = None

    @property
    def pass_patches(self) -> int:
        """That a pass goes through."""
        return self.patches if self.some is None else self.some


def stages_s(cost: Cost | None, shape: Shape) -> dict[SessionStage, Span]:
    """What each stage of a session takes; without a cost, what its plan alone says."""
    waits = not shape.own_clock
    patch = Span(0.0, math.inf) if cost is None else Span.exactly(cost.patch_s)
    scan = patch.times(shape.pass_patches)
    batches = _warmup_batches(cost, shape)
    build_s = None if cost is None else cost.build_s
    idle = Span.exactly(shape.idle_s if waits else 0.0)
    stages: dict[SessionStage, Span] = {
        "build": Span(0.0, math.inf if build_s is None else build_s) if shape.builds else Span(),
        "load": Span(0.0, math.inf) if cost is None else Span.exactly(cost.overhead_s),
        "idle window": idle,
        "first pass": scan,
        "warm-up": Span(
            patch.times(shape.batch * batches[0]).least_s, patch.times(shape.batch * batches[1]).most_s
        ),
        "load bursts": Span.exactly(shape.bursts_s if waits else 0.0),
        "passes": _passes_s(scan, shape, waits),
        "idle window after": idle,
        "images": patch.times(shape.images),
    }
    for stage, (least_s, most_s) in shape.device_stages(None if cost is None else cost.patch_s).items():
        if stage != "images" or shape.images:
            stages[stage] = Span(least_s, most_s)
    return stages


def session_s(cost: Cost | None, shape: Shape) -> Span:
    """What a whole session takes."""
    return sum(stages_s(cost, shape).values(), Span())


def steady_passes(pass_s: float, shape: Shape) -> int:
    """How many steady passes a session has whose passes are counted, where one takes so many seconds."""
    cycle_s = max(pass_s, shape.period_s or 0.0)
    if not shape.least_s or cycle_s <= 0:
        return shape.passes
    return max(shape.passes, math.ceil(shape.least_s / cycle_s))


def cost_of_session(shape: Shape, *, scene_s: float, warmup_batches: int, took_s: float) -> Cost:
    """What a session showed.

    Args:
        shape: of this session.
        scene_s: its median time for the scene, `image_s` or of windows `infer_s`, on the device's clock.
        warmup_batches: beyond the first pass.
        took_s: all of it in real time, less what no further session has to do again, such as a build.
    """
    shape = replace(shape, builds=False)
    if shape.own_clock:
        return Cost(0.0, took_s, warmup_batches)
    parts = Cost(scene_s / shape.patches, 0.0, warmup_batches)
    return replace(parts, overhead_s=max(0.0, took_s - session_s(parts, shape).most_s))


def _warmup_batches(cost: Cost | None, shape: Shape) -> tuple[int, int]:
    """The least and the most batches that the warm-up may have to add to those of the first pass."""
    if cost is not None and cost.warmup_batches is not None:
        return cost.warmup_batches, cost.warmup_batches
    there = math.ceil(shape.pass_patches / shape.batch)
    # It is judged on two halves: there are never fewer, whatever the floor.
    floor = min(max(shape.warmup_floor, 2 * HALF), shape.warmup_cap)
    return max(0, floor - there), max(0, shape.warmup_cap - there)


def _passes_s(scan: Span, shape: Shape, waits: bool) -> Span:
    """The steady passes: a paced one takes its period, or longer where the device is too slow for it.

    Sustained ones take as long as they were told to, or as the one that is longer than that. All go on, pass
    by pass, for as long as a meter takes.
    """
    period_s = (shape.period_s or 0.0) if waits else 0.0
    each = Span(max(scan.least_s, period_s), max(scan.most_s, period_s))
    if shape.sustained_s is None:
        asked = each.times(shape.passes)
    else:
        sustained_s = shape.sustained_s if waits else 0.0
        asked = Span(max(sustained_s, each.least_s), max(sustained_s, each.most_s))
    least_s = (shape.least_s or 0.0) if waits else 0.0
    return Span(
        _lasting_s(asked.least_s, each.least_s, least_s), _lasting_s(asked.most_s, each.most_s, least_s)
    )


def _lasting_s(asked_s: float, pass_s: float, least_s: float) -> float:
    """Passes that take so long in all, and further ones until they have lasted long enough."""
    if asked_s >= least_s:
        return asked_s
    return math.ceil(least_s / pass_s) * pass_s if pass_s > 0 else least_s
