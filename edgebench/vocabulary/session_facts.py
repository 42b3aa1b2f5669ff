"""What a session knows of itself: cold figures, memory, runtime, clock, probes, warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgebench.vocabulary.built_artifact import BuiltArtifact
from edgebench.vocabulary.load_bursts import BurstTimes
from edgebench.vocabulary.probe import ProbeInfo
from edgebench.vocabulary.values import Json


@dataclass(frozen=True)
class ColdFigures:
    """What happens once a session, in seconds; None where it was not reached.

    `start_s` is from just before the worker's process is started to the scores of its first batch: start of
    the interpreter and of the worker, import of the runtime, load of the artifact, and that batch from
    patchify on. What the harness does in between is no part of it: the way of its requests, the comparison
    of hashes, further golden patches, idle windows. None where a device's program is always there, where the
    load found what an earlier session had made, and where the runner brings a time of its own.
    """

    import_s: float | None = None
    load_s: float | None = None
    first_inference_s: float | None = None
    first_pass_s: float | None = None
    start_s: float | None = None


@dataclass(frozen=True)
class WarmUp:
    """How many batches the warm-up took, and whether they had become steady by its end."""

    batches: int
    steady: bool


@dataclass(frozen=True)
class MemoryFigures:
    """Of the worker process, in bytes; None where it was not reached, or the device does not tell."""

    after_load_bytes: int | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True)
class ClockMatch:
    """Host clock against device clock: device = host + offset, known to within bound."""

    offset_ns: int
    bound_ns: int


@dataclass(frozen=True)
class SessionWindows:
    """Start and end of each, ns of the stamps; None: there is none.

    Attributes:
        idle: the idle device, before the first pass.
        steady: from the first steady pass to the last.
        idle_after: the idle device again, after the last steady pass and its pause.
    """

    idle: tuple[int, int] | None = None
    steady: tuple[int, int] | None = None
    idle_after: tuple[int, int] | None = None


@dataclass(frozen=True)
class WorkerFacts:
    """What one of several workers knows of itself; as SessionFacts has it of a lone one."""

    worker: int
    cold: ColdFigures = field(default_factory=ColdFigures)
    warmup: WarmUp | None = None
    memory: MemoryFigures = field(default_factory=MemoryFigures)


@dataclass(frozen=True)
class SessionFacts:
    """What a session knows of itself, for session.json.

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
        windows_ns: in which meters and monitors are read.
        load_bursts: by which the lag of meters on the host is told; None where it ran none.
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

    @property
    def other_time(self) -> bool:
        """Whether its stamps are of no time that the host's could be held against."""
        return self.own_time or self.emulated
