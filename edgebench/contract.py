"""What backends, devices and sessions promise each other and the harness (see docs in CONTRIBUTING.md).

The harness knows a device only through these types. Two families implement them: the agent's (any board
with a Python, `edgebench.link`) and, later, the serial line's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_validator

from edgebench.errors import EdgeBenchError, UnavailableError
from edgebench.models.artifact import Artifact
from edgebench.models.cache import Cache
from edgebench.models.source import SHIPPED, ModelSource
from edgebench.models.variant import Variant

Json = Any
"""A value that JSON can carry."""

Progress = Callable[[str], None]
"""Called with one short line about what is being done; never from a timed region."""

Prepared = Artifact | EdgeBenchError
"""What became of a request for an artifact: UnsupportedError where the device does not take the variant, any
other error where it could not be made. The trial has the reason, and the other trials go on."""

Report = Callable[[str, int, int], None]
"""Called with a stage of a session that begins or goes on, and how many of how many of its steps are done (0
of 0 where none are counted); never from a timed region."""

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Launch:
    """How a worker process is started; part of the settings and of a trial's key."""

    python: str | None = None  # None: the interpreter that runs the harness
    env: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()  # for instance ("nice", "-n", "-5")
    affinity: tuple[int, ...] = ()  # CPU numbers; empty: wherever the system puts it


@dataclass(frozen=True)
class DeclaredBoard:
    """A machine that a target was declared to be, so that what it says of itself can be held against it.

    Attributes:
        title: what it is called by its maker.
        models: what its device tree or DMI calls it, without a revision; empty where no source tells.
    """

    title: str
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """What is measured, as it was declared: a backend with its options, meters and body."""

    name: str
    device: str
    options: Mapping[str, Json] = field(default_factory=dict)  # validated by the backend's options model
    launch: Launch = field(default_factory=Launch)
    power_mode: str | None = None
    meters: tuple[str, ...] = ()  # KIND[:ADDRESS], as asked for
    mass_g: float | None = None
    size_mm: tuple[float, float, float] | None = None
    host: str | None = None  # user@board[:port], reached by SSH; None: this machine
    body: str = ""  # where mass and size are from, where they were not declared
    boards: tuple[DeclaredBoard, ...] = ()  # the machines among what it is made of
    from_boards: tuple[Literal["mass_g", "size_mm"], ...] = ()  # which figures are the boards', not its own


class BackendOptions(BaseModel):
    """Base of every backend's options model: `--set key=value` pairs, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _hyphens(cls, given: Any) -> Any:
        """`allow-cpu` is `allow_cpu`: people write either."""
        if not isinstance(given, Mapping):
            return given
        return {str(name).replace("-", "_"): value for name, value in given.items()}


@dataclass(frozen=True)
class PrepareRequest:
    """What a backend needs to make one variant's artifact."""

    variant: Variant
    batch: int
    options: Mapping[str, Json]
    board: Mapping[str, Json] | None = None  # what is known of the board, or nothing
    source: ModelSource = SHIPPED  # whose variant it is


@dataclass(frozen=True)
class Finding:
    """One line of `edgebench doctor`."""

    level: Literal["ok", "warning", "error"]
    subject: str
    message: str
    fix: str = ""


@dataclass(frozen=True)
class Body:
    """One thing that a target is made of, and what its maker says it weighs and measures.

    Attributes:
        title: what it is called by its maker.
        mass_g, size_mm: None where no source was at hand.
        source: of the figures.
        models: what its device tree or DMI calls it, without a revision; empty where no source tells.
        plugged_in: a stick or card, whose host is a body of its own.
    """

    title: str
    mass_g: float | None
    size_mm: tuple[float, float, float] | None
    source: str
    models: tuple[str, ...] = ()
    plugged_in: bool = False


class Backend(ABC):
    """The host side of one device family, found by the entry-point group `edgebench.backends`."""

    name: ClassVar[str]
    description: ClassVar[str]  # one line
    precisions: ClassVar[tuple[str, ...]]
    precision_reasons: ClassVar[Mapping[str, str]] = {}  # why it takes others not, where that is worth a word
    options_model: ClassVar[type[BackendOptions]]
    for_tests: ClassVar[bool] = False  # usable by name, not listed by `edgebench devices`
    takes_host: ClassVar[bool] = False  # whether its device can be reached by SSH
    monitors: ClassVar[tuple[str, ...]] = ("telemetry:1",)  # beside every session, unless turned off
    own_clock: ClassVar[bool] = False  # whether its time is not real time: nobody waits for its pauses

    @abstractmethod
    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """Everything that decides the artifact, hashed into the trial's key; makes nothing, is quick."""

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """What has to be installed before this can be prepared, on one line; None: nothing. Makes nothing.

        Asked before anything that takes long is done.
        """
        return None

    @abstractmethod
    def prepare(
        self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress
    ) -> Sequence[Prepared]:
        """One outcome a request, in order. Many at once, because converters are slow to start."""

    @abstractmethod
    def open(self, target: Target) -> Device:
        """Connect to the device; UnavailableError or NoPermissionError when that cannot be done."""

    @abstractmethod
    def check(self, target: Target) -> list[Finding]:
        """What `doctor` says about this device, each problem with its fix."""

    @abstractmethod
    def runner_files(self) -> tuple[Path, ...]:
        """What travels to the board: the runner, then the files that it takes in (see runner_contract.py)."""

    def offers(self, options: Mapping[str, Json]) -> tuple[Variant, ...] | None:
        """The only variants that there are under these options; None: every depth at each precision."""
        return None

    def bodies(self) -> Mapping[str, Body]:
        """The boards of this family by name, for `--board`; hosts that they are plugged into are known."""
        return {}

    def pictures(self, options: Mapping[str, Json], cache: Cache) -> Pictures | None:
        """Its own scene and images, for a run on it alone that is given none; None: the shipped ones."""
        return None

    def check_plan(  # noqa: B027  # most devices take whatever they are given
        self, target: Target, plan: MeasurePlan, images: ImageSet | None, sessions: int
    ) -> None:
        """UsageError, with what to ask for instead, where the target cannot be measured so; quick."""


@dataclass(frozen=True)
class Scene:
    """The picture that is timed, as raw pixels on disk; or samples, for a model that takes no picture.

    `path` is a `.npy` of uint8 [height, width, 3] (RGB), in C order. It is cut into patches of `patch` rows
    and `patch_width` columns (as many where None), `stride` pixels apart both ways (side by side where None).

    Samples lie in a `.npz` with one array [n, ...] an input, named by its place: `height` is n, and a
    "patch" is one of them.
    """

    path: Path
    sha256: str
    height: int
    width: int
    patch: int = 224
    labels: tuple[int, ...] | None = None  # one class index a patch, row by row, where known
    class_names: tuple[str, ...] = ()  # of the labels
    name: str = "scene"
    patch_width: int | None = None
    stride: int | None = None
    kind: Literal["picture", "samples"] = "picture"

    @property
    def rows(self) -> int:
        """Whole patches from top to bottom; what is left over is not classified."""
        return (self.height - self.patch) // (self.stride or self.patch) + 1

    @property
    def columns(self) -> int:
        """Whole patches from left to right."""
        across = self.patch_width or self.patch
        return (self.width - across) // (self.stride or across) + 1

    @property
    def grid(self) -> dict[str, int]:
        """How it is cut, as plain data; a square patch beside the next is said by `patch` alone."""
        said = {"patch": self.patch, "patch_width": self.patch_width, "stride": self.stride}
        return {name: value for name, value in said.items() if value is not None}

    @property
    def patches(self) -> int:
        """Patches in one pass: 400 for 4512 x 4512."""
        return self.rows * self.columns


@dataclass(frozen=True)
class ImageSet:
    """Labelled (or unlabelled) patches that accuracy is taken on.

    `path` is a `.npy` of uint8 [n, height, width, 3], 224 x 224 for the shipped family; labels index
    `class_names`.
    """

    name: str
    path: Path
    sha256: str
    n: int
    labels: tuple[int, ...] | None
    class_names: tuple[str, ...]
    overlapping: bool = False  # crops that share pixels: intervals are a little too narrow
    notes: tuple[str, ...] = ()  # what a user should know of it, such as files that were passed by


@dataclass(frozen=True)
class Pictures:
    """What a device is measured on; `images` None where no accuracy is taken."""

    scene: Scene
    images: ImageSet | None


@dataclass(frozen=True)
class MeasurePlan:
    """How one session measures: first pass (cold), adaptive warm-up in batches, steady passes.

    Attributes:
        passes: steady passes, where `sustained_s` does not say how long they go on.
        period_s: a steady pass every so many seconds, as a camera delivers; None for back to back.
        sustained_s: steady passes for so long, on the device's clock, instead of a number of them.
        images: what is predicted after the passes; None where accuracy is not wanted, or was taken by an
            earlier session. A device has room for them before its first pass.
    """

    scene: Scene
    passes: int
    warmup_floor: int = 10
    warmup_cap: int = 300
    period_s: float | None = None
    sustained_s: float | None = None
    images: ImageSet | None = None


def unreported(stage: str, done: int, steps: int) -> None:
    """Nobody watches."""


def unheard(patch_s: float) -> None:
    """Nobody asks how long a patch takes."""


@dataclass(frozen=True)
class SessionSettings:
    """What one session needs to know beside the artifact."""

    batch: int
    options: Mapping[str, Json]
    launch: Launch
    meters: tuple[str, ...] = ()
    idle_s: float = 0.0  # idle window before the measuring, sampled where there is a meter
    monitors: tuple[str, ...] = ()  # probes that say nothing about power: no idle window, not in the key
    number: int = 0  # which session of its trial it is
    report: Report = field(default=unreported, compare=False, repr=False)  # for stages that are not in sight
    # Called with the seconds that a golden patch took: all that is known before the first pass.
    patch_took: Callable[[float], None] = field(default=unheard, compare=False, repr=False)


@dataclass(frozen=True)
class Pass:
    """One scene through the device, stamped on the device's monotonic clock.

    Attributes:
        index: 0 for the first (cold) pass, then counted on; steady passes follow it.
        phase: `first`, `warmup` (batches, not a whole pass) or `steady`.
        start_ns, end_ns: before the first batch's patchify, after the last score.
        stages: the stages' names in order, such as patchify, preprocess, infer.
        stamps_ns: int64 [batches, stages, 2], start and end of each stage of each batch.
        scores: float32 [patches, classes], row by row over the scene; None in warm-up.
        batch: patches in a batch; the last may be padded and its padding is not in `scores`.
        due_ns: when a paced pass should have started; the wait for it lies before `start_ns`.
        deadline_ns: when the next paced pass is due, by which this one should have ended.
    """

    index: int
    phase: Literal["first", "warmup", "steady"]
    start_ns: int
    end_ns: int
    stages: tuple[str, ...]
    stamps_ns: NDArray[np.int64]
    scores: Scores | None
    batch: int
    due_ns: int | None = None
    deadline_ns: int | None = None

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
class Channel:
    """One column of a probe: what it is and in which unit, such as power in W."""

    name: str
    quantity: str
    unit: str


def probe_name(asked: str) -> str:
    """`kind:address` of a probe as it was asked for: `rapl` and `rapl:` are the same probe."""
    kind, _, address = asked.partition(":")
    return f"{kind}:{address}"


@dataclass(frozen=True)
class ProbeInfo:
    """What a probe says of itself; a meter is a probe with a power or energy channel."""

    kind: str
    address: str
    rate_hz: float
    resolution: str
    scope: str  # chip, module, board, usb or wall; "" for a monitor
    channels: tuple[Channel, ...]
    absent: Mapping[str, str] = field(default_factory=dict)  # what it looked for in vain, and why

    @property
    def is_meter(self) -> bool:
        """Whether it can say anything about power."""
        return any(channel.quantity in {"power", "energy"} for channel in self.channels)


@dataclass(frozen=True)
class ProbeChunk:
    """Samples of one probe: stamps int64 [n] on the device's clock, one float64 [n] a channel."""

    probe: str  # "kind:address"
    stamps_ns: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class ColdFigures:
    """What happens once a session, in seconds; None where it was not reached."""

    import_s: float | None = None
    load_s: float | None = None
    first_inference_s: float | None = None
    first_pass_s: float | None = None


@dataclass(frozen=True)
class ClockMatch:
    """Host clock against device clock: device = host + offset, known to within bound."""

    offset_ns: int
    bound_ns: int


class Session(Protocol):
    """One fresh process's go at a trial, from load to stop."""

    def golden(self) -> Scores:
        """Scores float32 [golden, classes] of the artifact's golden patches, by the real loop."""

    def measure(self, plan: MeasurePlan) -> Iterator[Pass]:
        """The first pass, the warm-up's batches as one Pass, then the steady passes.

        One that has a `close()`, as generators have, is closed before `facts()` by whoever stops early: only
        then are probes and clock at their end.
        """

    def predict(self, images: ImageSet) -> Scores:
        """Scores float32 [n, classes] of every image, on the runtime that was timed."""

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """What the probes have sampled so far and not yet given; never blocks."""

    def facts(self) -> dict[str, Json]:
        """What the session knows of itself, for session.json.

        Keys: `cold` (ColdFigures as a dict), `warmup` {batches, steady}, `memory`
        {after_load_bytes, peak_bytes}, `runtime` (the runner's describe()), `clock` {start, end} with
        {offset_ns, bound_ns}, {fit} (edgebench.stats.clock.ClockFit as a dict) and, where a test has moved
        the device's clock, {test_clock} {offset_ns, drift_ppm}, `probes` (list of
        ProbeInfo as dicts), `probe_reasons` {meter: why there is none}, `monitor_reasons` {monitor: why
        there is none}, `windows_ns` {idle: [start, end] or None, steady: [start, end] or None},
        `stderr_tail`, `warnings` (what the runtime has to say to a reader), `own_time` (whether the stamps
        are of a clock that is not the device's, and `clock` therefore empty).
        """


class Device(Protocol):
    """An open connection to one target."""

    placement_cost: Literal["cheap", "slow", "manual"]

    def describe(self) -> dict[str, Json]:
        """The board's facts: model, processor, memory, OS, Python, governor and clocks, as found."""

    def session(self, artifact: Artifact, settings: SessionSettings) -> AbstractContextManager[Session]:
        """A fresh process with the artifact loaded; SessionError for whatever ends it early."""

    def close(self) -> None:
        """End everything that was started on the device; safe to call twice."""
