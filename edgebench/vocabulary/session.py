"""What a session is asked to do: how it measures, and its settings beside the artifact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from edgebench.vocabulary.load_bursts import LoadBursts
from edgebench.vocabulary.pictures import ImageSet, Scene
from edgebench.vocabulary.probe import TakeSamples
from edgebench.vocabulary.target import Launch
from edgebench.vocabulary.values import Json, Report, ignore_patch_time, ignore_progress


@dataclass(frozen=True)
class MeasurePlan:
    """How one session measures: first pass (cold), adaptive warm-up in batches, steady passes.

    Attributes:
        passes: steady passes, where `sustained_s` does not say how long they go on.
        period_s: a steady pass every so many seconds, as a camera delivers; None for back to back.
        sustained_s: steady passes for so long, on the device's clock, instead of a number of them.
        least_s: where a meter samples, steady passes go on until the time within them, or at a period that of
            their cycles, comes to so much on the device's clock as well; None: nothing has to last. No part
            of a trial's key. A session that takes no notice of it measures all the same, and has no energy
            where that is too short for the meter.
        images: what is predicted after the passes; None where accuracy is not wanted, or was taken by an
            earlier session. A device has room for them before its first pass.
        patches: how many patches of the scene are measured, each by a window at least; None: all of them.
    """

    scene: Scene
    passes: int
    warmup_floor: int = 10
    warmup_cap: int = 300
    period_s: float | None = None
    sustained_s: float | None = None
    least_s: float | None = None
    images: ImageSet | None = None
    patches: int | None = None


@dataclass(frozen=True)
class SessionSettings:
    """What one session needs to know beside the artifact."""

    batch: int
    options: Mapping[str, Json]
    launch: Launch
    meters: tuple[str, ...] = ()
    idle_s: float = 0.0  # each idle window, before the measuring and after it, where there is a meter
    host_metering: bool = False  # whether a meter samples on the host beside it, for which it idles likewise
    bursts: LoadBursts | None = None  # by which the lag of meters on the host is told; None: none are wanted
    monitors: tuple[str, ...] = ()  # probes that say nothing about power: no idle window, not in the key
    number: int = 0  # which session of its trial it is
    preferred_meters: tuple[str, ...] = ()  # of these one more meter, the first that the device can read
    workers: int = 1  # processes that measure side by side, each with the artifact loaded
    report: Report = field(
        default=ignore_progress, compare=False, repr=False
    )  # for stages that are not in sight
    # Called with the seconds that a golden patch took: all that is known before the first pass.
    patch_took: Callable[[float], None] = field(default=ignore_patch_time, compare=False, repr=False)
    # Takes what the session's probes sample as it comes; what it is not called with is in `probe_chunks()`.
    take_samples: TakeSamples | None = field(default=None, compare=False, repr=False)
