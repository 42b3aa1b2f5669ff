"""What backends, devices and sessions promise each other and the harness (see docs in CONTRIBUTING.md).

The harness knows a device only through these types. Two families implement them: the agent's (any board
with a Python, `edgebench.link`) and devices without one, such as those at a serial line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from edgebench.errors import SessionError, UnavailableError
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, Prepared, PrepareRequest, SourceKind
from edgebench.records.session import MeasurePlan, Pass, ProbeChunk, SessionFacts, SessionSettings, Window
from edgebench.records.target import Target
from edgebench.records.values import Finding, ImageSet, Json, Pictures, Progress, Scores, Variant
from edgebench.session_stages import SessionStage

PathText = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""An option that is a path, or a name that may be one."""


class BackendOptions(BaseModel):
    """Base of every backend's options model: `--set key=value` pairs, unknown keys refused.

    Attributes:
        not_in_key: options that decide no result, such as whether the board is flashed before: a trial's key
            leaves them out, and they have one value a run.
        places: options that say where the board is, such as its address: kept out of keys likewise, and as a
            host is, out of everything but experiment.json's targets.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    not_in_key: ClassVar[frozenset[str]] = frozenset()
    places: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _hyphens(cls, options: Any) -> Any:
        """`allow-cpu` is `allow_cpu`: people write either."""
        if not isinstance(options, Mapping):
            return options
        return {str(name).replace("-", "_"): value for name, value in options.items()}


class Backend(ABC):
    """The host side of one device family, found by the entry-point group `edgebench.backends`."""

    name: ClassVar[str]
    description: ClassVar[str]  # one line
    precisions: ClassVar[tuple[str, ...]]
    precision_reasons: ClassVar[Mapping[str, str]] = {}  # why it refuses others, where that needs explaining
    default_precisions: ClassVar[tuple[str, ...]] = ()  # of a run that names none; empty: all that it takes
    default_batch: ClassVar[int] = 1  # of a run that names none
    most_batch: ClassVar[int] = 1024  # patches in one inference; a larger batch is a usage error
    shares_device: ClassVar[bool] = False  # whether several workers can measure on its device at once
    gives_windows: ClassVar[bool] = False  # whether its sessions give windows of a patch each, and no passes
    default_passes: ClassVar[int] = 10  # steady passes, or windows, of a session where the run names none
    default_patches: ClassVar[int | None] = None  # of the scene; None: its passes go through all of them
    default_accuracy_images: ClassVar[int | None] = None  # where the run names no number; None: all
    options_model: ClassVar[type[BackendOptions]]
    for_tests: ClassVar[bool] = False  # usable by name, not listed by `edgebench devices`
    takes_host: ClassVar[bool] = False  # whether its device can be reached by SSH
    takes_port: ClassVar[bool] = False  # whether its device is at a port, such as a serial one
    monitors: ClassVar[tuple[str, ...]] = ("telemetry:1",)  # beside every session, unless turned off
    meters: ClassVar[tuple[str, ...]] = ()  # of a run that names none: the first that the board can read
    own_clock: ClassVar[bool] = (
        False  # its time is not real time: no waits for pauses, no lock of the machine
    )

    @abstractmethod
    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """Everything that decides the artifact, hashed into the trial's key; makes nothing, is quick."""

    def formats(self, options: Mapping[str, Json]) -> tuple[SourceKind, ...]:
        """The formats of users' models that it takes under these options (edgebench/prepare/formats.py).

        A run refuses every other file before anything is read. Default: none, families by name alone.
        """
        return ()

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

    def builds(self, options: Mapping[str, Json]) -> bool:
        """Whether its device makes, before a trial's first session, what it loads of what was prepared here.

        The runner then has `build` and `build_version` (see runner_contract.py).
        """
        return False

    def offers(self, options: Mapping[str, Json]) -> tuple[Variant, ...] | None:
        """The only variants that there are under these options; None: every depth at each precision."""
        return None

    def concurrency(self, options: Mapping[str, Json]) -> int:
        """How many inferences the device has in flight under these options; part of a trial's key."""
        return 1

    def pictures(self, options: Mapping[str, Json], cache: Cache) -> Pictures | None:
        """Pictures of a device that `offers` its variants, for runs that name none; None: the usual ones."""
        return None

    def explain(self, error: SessionError) -> SessionError | None:
        """A session's early end in words that know this device; None where there is nothing to add."""
        return None

    def stage_seconds(self, target: Target, plan: MeasurePlan) -> Mapping[SessionStage, tuple[float, float]]:
        """The least and the most seconds of stages of a session that are known before it is measured.

        A device behind a slow line states how long `images` take to send, and one that gives windows how long
        `passes` last; with `passes` it states every stage that takes time, apart from meters. Quick.

        Args:
            target: what is measured.
            plan: of one session.
        """
        return {}

    def check_plan(  # noqa: B027  # most devices take whatever they are given
        self, target: Target, plan: MeasurePlan, images: ImageSet | None, sessions: int
    ) -> None:
        """UsageError, with what to ask for instead, where the target cannot be measured so; quick."""


class Session(Protocol):
    """One fresh process's go at a trial, from load to stop."""

    def golden(self) -> Scores:
        """Scores float32 [golden, classes] of the artifact's golden patches, by the real loop.

        Of several workers (`SessionSettings.workers`) [workers x golden, classes], worker by worker.
        """

    def measure(self, plan: MeasurePlan) -> Iterator[Pass | Window]:
        """The first pass, the warm-up's batches as one Pass, then the steady passes; or windows alike.

        A session gives passes or windows, not both. Windows are counted as passes are: the first one, those
        of the warm-up if there is any, then `plan.passes` steady ones, or with a meter more of them, until
        they have lasted `plan.least_s`. Where the backend has `default_patches`, `plan.patches` says how many
        patches of the scene are measured.

        Several workers run their passes at the same time; each pass says whose it is.

        One that has a `close()`, as generators have, is closed before `facts()` by whoever stops early: only
        then are probes and clock at their end.
        """

    def predict(self, images: ImageSet) -> Scores:
        """Scores float32 [n, classes] of every image, on the runtime that was timed.

        Of several workers [workers x n, classes], worker by worker.
        """

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """What the probes have sampled so far and not yet given; never blocks.

        A session may give it to `SessionSettings.take_samples` instead, as it comes.
        """

    def facts(self) -> SessionFacts:
        """What the session knows of itself by now; works at any time, also after its end."""


class Device(Protocol):
    """An open connection to one target."""

    placement_cost: Literal["cheap", "slow", "manual"]

    def describe(self) -> dict[str, Json]:
        """The board's facts: model, processor, memory, OS, Python, governor and clocks, as found."""

    def session(self, artifact: Artifact, settings: SessionSettings) -> AbstractContextManager[Session]:
        """A fresh process with the artifact loaded; SessionError for whatever ends it early."""

    def close(self) -> None:
        """End everything that was started on the device; safe to call twice."""
