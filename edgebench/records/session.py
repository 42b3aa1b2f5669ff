"""A session: what it is asked to do, what it times and samples, and what it knows of itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from edgebench.records.model import Artifact, BuiltArtifact
from edgebench.records.target import Launch
from edgebench.records.values import ImageSet, Json, Report, Scene, Scores
from edgebench.stats.interval import Count

# The bursts of load by which lag and response of a meter are told: how long they and their pauses are.


LEAST_BURST_S, MOST_BURST_S = 1.0, 10.0

BURST_PERIODS = 6
"""Readings of the slowest meter in a burst, as long as MOST_BURST_S allows."""

PAUSES = (0.53, 1.13, 0.71)
"""Before each burst, in bursts: so unequal that the pattern resembles itself at one lag alone, and of no
common measure, so that the edges come at different times between two readings."""


@dataclass(frozen=True)
class LoadBursts:
    """Bursts of equal length, with an idle pause before each."""

    burst_s: float
    pauses_s: tuple[float, ...]

    @property
    def total_s(self) -> float:
        """Time from the first pause's start to the last burst's end, on a device that infers fast enough."""
        return self.burst_s * len(self.pauses_s) + sum(self.pauses_s)


Ns = Annotated[int, Field(ge=0, lt=1 << 62)]


@dataclass(frozen=True)
class BurstTimes:
    """Times of a device's bursts of load, in ns of its clock.

    Attributes:
        from_ns: since when it idled before the first.
        bursts_ns: start and end of each.
    """

    from_ns: Ns
    """Since when the device idled before the first. Unit: ns, device clock. Source: device clock."""
    bursts_ns: tuple[tuple[Ns, Ns], ...]
    """Start and end of each; it idled in between. Unit: ns, device clock. Source: device clock."""

    @property
    def total_s(self) -> float:
        """Time from the first pause's start to the last burst's end."""
        return (self.bursts_ns[-1][1] - self.from_ns) / 1e9


def load_bursts(slowest_hz: float | None) -> LoadBursts:
    """Bursts that a meter sees.

    Args:
        slowest_hz: of several meters the lowest rate; None where it is not known, for the shortest bursts.
    """
    burst_s = LEAST_BURST_S
    if slowest_hz is not None and slowest_hz > 0:
        burst_s = min(max(burst_s, BURST_PERIODS / slowest_hz), MOST_BURST_S)
    return LoadBursts(burst_s, tuple(pause * burst_s for pause in PAUSES))


# What is sampled beside a session: a probe, its channels, and its samples.


LIVE_SAMPLES = "live samples"
"""Among what a probe lacks, where its samples are played from a recording (see probes/host/playback.py)."""

UNKNOWN_REACH_S = 1.0
"""How long load stays in the readings of a meter of which that is not known: of those that are, the slowest
averages 422 ms and holds each reading as long (the INA3221 under the driver of JetPack 4)."""


@dataclass(frozen=True)
class Channel:
    """One column of a probe: what it is and in which unit, such as power in W."""

    name: Annotated[str, Field(max_length=200)]
    quantity: Annotated[str, Field(max_length=50)]
    unit: Annotated[str, Field(max_length=20)]
    total: bool = False  # the rail that all others of its probe are part of: the headline
    range: tuple[float, float] | None = None  # lowest and highest; a value outside was rejected


METER_QUANTITIES = ("power", "energy")
"""What a meter's channels are of: any other channel says nothing about power."""


def headline_channels(
    channels: Iterable[Channel], quantities: Collection[str] = METER_QUANTITIES
) -> list[Channel]:
    """Channels that stand for a meter as a whole: the one that all others are part of; without one, all.

    Args:
        channels: of a meter.
        quantities: of which one of these counts.
    """
    counting = [channel for channel in channels if channel.quantity in quantities]
    totals = [channel for channel in counting if channel.total]
    return totals[:1] or counting


def probe_name(name: str) -> str:
    """`kind:address` of a probe as it was asked for: `rapl` and `rapl:` are the same probe."""
    kind, _, address = name.partition(":")
    return f"{kind}:{address}"


@dataclass(frozen=True)
class MeterLag:
    """Delay of a meter's stamps on the host behind the load that its readings are of.

    Attributes:
        lag_ms: by the load bursts of the session; None with the reason.
        bound_ms: by how much that may be off.
        applied: whether it was taken off the stamps: it is more than its bound and the clock's together.
        reason: why there is none.
        correlation: the highest that its readings have with the load bursts, or the lowest if a falling
            power explains these better; None where too few came.
    """

    lag_ms: float | None = None
    bound_ms: float | None = None
    applied: bool = False
    reason: str = ""
    correlation: float | None = None

    @property
    def applied_ns(self) -> int:
        """Correction that was taken off the stamps."""
        return round(self.lag_ms * 1e6) if self.applied and self.lag_ms is not None else 0


@dataclass(frozen=True)
class MeterResponse:
    """Time that the readings of a meter are of, by the load bursts of the session.

    Attributes:
        reach_ms: how long before its stamp load is in a reading at most, by averaging and holding; None with
            the reason.
        ahead_ms: likewise after its stamp.
        reason: why neither is known.
        correlation: of the readings with the bursts, as MeterLag has it; None where the lag has it.
    """

    reach_ms: float | None = None
    ahead_ms: float = 0.0
    reason: str = ""
    correlation: float | None = None


@dataclass(frozen=True)
class ProbeInfo:
    """Properties that a probe states of itself; a meter is a probe with a power or energy channel."""

    kind: str
    address: str
    rate_hz: float
    resolution: str
    scope: str  # chip, module, board, usb or wall; "" for a monitor
    channels: tuple[Channel, ...]
    absent: Mapping[str, str] = field(default_factory=dict)  # what it looked for in vain, and why
    place: str = "board"  # where it samples: board or host
    rejected: int = 0  # readings that it could not parse, or that were out of their channel's range
    rejected_first: tuple[str, ...] = ()  # the first of them, verbatim
    clock_bound_ns: int | None = None  # of one on the host: how far its stamps may be off the device's clock
    averaging_ms: float | None = None  # before its stamp, that a reading is the mean over; None: not known
    lag: MeterLag | None = None  # of a meter on the host
    response: MeterResponse | None = None  # of a meter, where the session ran load bursts

    @property
    def name(self) -> str:
        """`kind:address`."""
        return f"{self.kind}:{self.address}"

    @property
    def is_meter(self) -> bool:
        """Return True if it can say anything about power."""
        return any(channel.quantity in METER_QUANTITIES for channel in self.channels)

    @property
    def is_played(self) -> bool:
        """Return True if its samples were taken at another time: nothing that runs now is in them."""
        return LIVE_SAMPLES in self.absent


@dataclass(frozen=True)
class ProbeChunk:
    """Samples of one probe: stamps int64 [n] on the device's clock, one float64 [n] a channel."""

    probe: str  # "kind:address"
    stamps_ns: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]


TakeSamples = Callable[[ProbeChunk], None]
"""Called with each chunk of samples as it comes; never fails, never waits for longer than a disk does."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Start and duration of steady passes, from the command line to the device.

    Attributes:
        period_s: a steady pass every so many seconds, as a camera delivers; None for back to back.
        sustained_s: steady passes for so long, on the device's clock, instead of a number of them.
    """

    period_s: float | None = None
    sustained_s: float | None = None

    def pace_fields(self) -> dict[str, Any]:
        """The fields of the pace alone, for another object that has it."""
        return {field.name: getattr(self, field.name) for field in fields(Pace)}


@dataclass(frozen=True)
class MeasurePlan(Pace):
    """Plan of one session: first pass (cold), adaptive warm-up in batches, steady passes.

    Attributes:
        passes: steady passes, where `sustained_s` does not say how long they go on.
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
    least_s: float | None = None
    images: ImageSet | None = None
    patches: int | None = None


Share = Literal["naive", "cores"]
"""How several workers share a device's cores: without limits, or each pinned to an equal part of them."""


@dataclass(frozen=True)
class SessionSettings:
    """Settings of one session beside the artifact."""

    batch: int
    options: Mapping[str, Json]
    launch: Launch
    meters: tuple[str, ...] = ()
    idle_s: float = 0.0  # each idle window, before the measuring and after it, where there is a meter
    host_metering: bool = False  # whether a meter samples on the host beside it, for which it idles likewise
    bursts: LoadBursts | None = None  # for meters on the host; None: these want none
    settle_s: float = 0.0  # before each idle window, until load has left the readings of meters on the host
    monitors: tuple[str, ...] = ()  # probes that say nothing about power: no idle window, not in the key
    number: int = 0  # which session of its trial it is
    preferred_meters: tuple[str, ...] = ()  # of these one more meter, the first that the device can read
    others: tuple[Artifact, ...] = ()  # each loaded by one more worker, which measures at the same time
    share: Share | None = None  # how several workers share the device's cores
    report: Report = field(
        default=lambda stage, done, steps: None, compare=False, repr=False
    )  # for stages that are not in sight
    # Takes what the session's probes sample as it comes; what it is not called with is in `probe_chunks()`.
    take_samples: TakeSamples | None = field(default=None, compare=False, repr=False)

    @property
    def workers(self) -> int:
        """Processes that measure at the same time."""
        return 1 + len(self.others)


# What a session knows of itself: cold figures, memory, runtime, clock, probes, warnings.


Moment = Annotated[int, Field(gt=-(2**62), lt=2**62)]
"""A moment in ns; the difference of two is still a whole number of 64 bits."""


@dataclass(frozen=True)
class ColdFigures:
    """Times of steps that happen once a session, in seconds; None where it was not reached.

    `start_s` is from just before the worker's process is started to the scores of its first batch: start of
    the interpreter and of the worker, import of the runtime, load of the artifact, and that batch from
    patchify on. What the harness does in between is no part of it: the way of its requests, the comparison
    of hashes, further golden patches, idle windows. None where a device's program is always there, where the
    load found what an earlier session had made, and where the runner brings a time of its own.
    """

    import_s: float | None = None
    """Import of the runtime. Unit: s. Source: device clock."""
    load_s: float | None = None
    """Load of the artifact; null where an earlier session had made most of it, such as a compiled model in a
    cache. Unit: s. Source: device clock."""
    first_inference_s: float | None = None
    """First inference after the load. Unit: s. Source: device clock."""
    first_pass_s: float | None = None
    """First pass over the scene. Unit: s. Source: device clock."""
    start_s: float | None = None
    """From just before the worker's process is started to the scores of its first batch: start, import, load
    and that batch, and nothing that the harness does in between. Null where an earlier session had made
    most of the load, and where no process is started. Unit: s. Source: device clock."""


@dataclass(frozen=True)
class WarmUp:
    """The adaptive warm-up; None where a figure is not known."""

    batches: Count | None = None
    """Batches until the times were steady. Source: worker."""
    steady: bool | None = None
    """Whether they were, before the cap. Source: worker."""


@dataclass(frozen=True)
class MemoryFigures:
    """Memory of the worker process, in bytes; None where it was not reached, or the device does not tell."""

    after_load_bytes: Count | None = None
    """After the artifact was loaded. Unit: byte. Source: operating system of the device."""
    peak_bytes: Count | None = None
    """Peak up to the last pass. Unit: byte. Source: operating system of the device."""


@dataclass(frozen=True)
class ClockMatch:
    """Host clock against device clock: device = host + offset, known to within bound."""

    offset_ns: int
    """Device clock minus host clock. Unit: ns. Source: round trips."""
    bound_ns: Count
    """By how much the offset is known. Unit: ns. Source: round trips."""


@dataclass(frozen=True)
class SessionWindows:
    """Start and end of each, ns of the stamps; None: there is none."""

    idle: tuple[Moment, Moment] | None = None
    """The idle device, before the first pass. Unit: ns, device clock. Source: device clock."""
    steady: tuple[Moment, Moment] | None = None
    """First steady pass to last; of several workers the time when all of them ran. Unit: ns, device clock.
    Source: device clock."""
    idle_after: tuple[Moment, Moment] | None = None
    """The idle device again, after the last steady pass and its pause. Unit: ns, device clock. Source: device
    clock."""
    settling: tuple[Moment, Moment] | None = None
    """The idle device before the window idle, while earlier load leaves the meters' readings. Unit: ns,
    device clock. Source: device clock."""


@dataclass(frozen=True)
class WorkerFacts:
    """Facts of one of several workers; SessionFacts has the same of a lone one.

    Attributes:
        variant, artifact_sha256: that it has loaded.
        cores: that it was pinned to; empty where it was not.
    """

    worker: int
    variant: str = ""
    artifact_sha256: str = ""
    cores: tuple[int, ...] = ()
    cold: ColdFigures = field(default_factory=ColdFigures)
    warmup: WarmUp | None = None
    memory: MemoryFigures = field(default_factory=MemoryFigures)


@dataclass(frozen=True)
class SessionFacts:
    """Facts of a session, for session.json.

    Attributes:
        cold: what happens once.
        warmup: None where the session did not reach it.
        memory: of the worker.
        workers: where there are several, each one's cold, warmup and memory; the session has none then,
            because no worker's stand for all.
        runtime: the runner's describe(), as plain data; figures are compared by its `name` and `version`.
        clock: as plain data: `start` and `end` (ClockMatch), `fit` (edgebench.stats.clock.ClockFit) and,
            where a test has moved the device's clock, `test_clock` {offset_ns, drift_ppm}. Empty where
            `own_time`.
        own_time: whether the stamps are of a time that is not the device's clock.
        tick_ns: the smallest step of the device's clock; None where it is not known.
        windows_ns: in which meters and monitors are read.
        load_bursts: by which the lag and the response of meters are told; None where it ran none.
        probes: those that were opened, as each describes itself.
        probe_reasons: by meter, why it gave nothing or no more; under "", why no meter was there at all.
        monitor_reasons: by monitor, likewise.
        measured_patches: of the scene, where its passes do not tell.
        untimed_stages: of an image, that its passes do not hold, because the host does them before, such as
            patchify; where preprocess is among them, the passes tell of inference alone.
        emulated: whether no device carried it out.
        instructions_reason: of an emulated one, why its windows do not say how many instructions they
            executed; empty where they do.
        built: what the device has made of the artifact on the board; None where it loads the artifact itself.
        stderr_tail: the end of what the worker wrote to stderr.
        warnings: what runtime, clock and processes left running have to say to a reader.
    """

    cold: ColdFigures = field(default_factory=ColdFigures)
    warmup: WarmUp | None = None
    memory: MemoryFigures = field(default_factory=MemoryFigures)
    workers: tuple[WorkerFacts, ...] = ()
    runtime: Mapping[str, Json] = field(default_factory=dict)
    clock: Mapping[str, Json] = field(default_factory=dict)
    own_time: bool = False
    tick_ns: int | None = None
    windows_ns: SessionWindows = field(default_factory=SessionWindows)
    load_bursts: BurstTimes | None = None
    probes: tuple[ProbeInfo, ...] = ()
    probe_reasons: Mapping[str, str] = field(default_factory=dict)
    monitor_reasons: Mapping[str, str] = field(default_factory=dict)
    measured_patches: int | None = None
    untimed_stages: tuple[str, ...] = ()
    emulated: bool = False
    instructions_reason: str = ""
    built: BuiltArtifact | None = None
    stderr_tail: str = ""
    warnings: tuple[str, ...] = ()


# What a session times: passes over the scene, or windows over a patch that stays; on the device's clock.


Phase: TypeAlias = Literal["first", "warmup", "steady", "outside"]


@dataclass(frozen=True)
class Pass:
    """One scene through the device, stamped on the device's monotonic clock.

    Attributes:
        index: 0 for the first (cold) pass, then counted on; steady passes follow it.
        phase: `first`, `warmup` (batches, not a whole pass) or `steady`; `outside` for a later pass that lies
            partly outside the time when all workers of the session ran.
        start_ns, end_ns: before the first batch's patchify, after the last score.
        stages: the stages' names in order, such as patchify, preprocess, infer.
        stamps_ns: int64 [batches, stages, 2], start and end of each stage of each batch.
        scores: float32 [patches, classes], row by row over the scene; None in warm-up.
        batch: patches in a batch; the last may be padded and its padding is not in `scores`.
        due_ns: when a paced pass should have started; the wait for it lies before `start_ns`.
        deadline_ns: when the next paced pass is due, by which this one should have ended.
        worker: which of a session's workers ran it.
        waited_ns: for how long the device alone had the pass in hand, by the clock of whoever asked for it;
            None where nobody knows, and where the stamps are of no real time.
    """

    index: int
    phase: Phase
    start_ns: int
    end_ns: int
    stages: tuple[str, ...]
    stamps_ns: NDArray[np.int64]
    scores: Scores | None
    batch: int
    due_ns: int | None = None
    deadline_ns: int | None = None
    worker: int = 0
    waited_ns: int | None = None

    @property
    def lateness_ns(self) -> int | None:
        """End against deadline: above 0 for a deadline miss, below when done in time; None when not paced.

        A device that paces itself has no lateness of the harness's or the link's in it.
        """
        return None if self.deadline_ns is None else self.end_ns - self.deadline_ns

    @property
    def image_ns(self) -> int:
        """The whole pass: patchify, preprocess, infer, and what lies between."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Window:
    """Many inferences of one resident patch between two stamps, where a pass is out of reach.

    A microcontroller behind a serial line has room for one patch, and to send it takes longer than to infer:
    it infers the same patch again and again, and its window is stamped before the first inference and after
    the last, on the device's monotonic clock.

    Attributes:
        index: 0 for the first (cold) window, then counted on.
        phase: `first`, `warmup` or `steady`.
        patch: which patch of the scene is resident, row by row from 0.
        inferences: how often it was inferred in the window, at least 1.
        start_ns, end_ns: before the first inference, after the last.
        scores: float32 [classes] of the patch; None where the device gives none in a window.
        instructions: that all of its inferences executed, where an emulator counts them; at least 1.
        waited_ns: for how long the device alone had its inferences in hand, as of a Pass.
    """

    index: int
    phase: Phase
    patch: int
    inferences: int
    start_ns: int
    end_ns: int
    scores: Scores | None = None
    instructions: int | None = None
    waited_ns: int | None = None

    @property
    def duration_ns(self) -> int:
        """All of its inferences."""
        return self.end_ns - self.start_ns

    def scene_ns(self, patches: int) -> float:
        """Time that the runtime needs for a scene of so many patches, by this window."""
        return self.duration_ns / self.inferences * patches
