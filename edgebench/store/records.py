"""The records on disk, version 1: what an experiment and a session say of themselves.

Layout of an experiment's folder::

    experiment.json                       the plan, the command, the host; later only revisions are added
    run.json                              how the last run of it ended; absent in older results
    scene.jpg                             the scene, small, for reports
    images.json                           which file each image was; absent in older results
    trials/<key>/trial.json               derived from the sessions, can be made again
    trials/<key>/sessions/<n>/            n = 000, 001, ...; renamed into place when the session ends
        session.json  passes.parquet  batches.parquet  windows.parquet  probes.parquet  predictions.parquet

Every `*_ns` column is on the device's monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from edgebench.stage_names import STAGE_NAME
from edgebench.vocabulary.built_artifact import BuiltArtifact
from edgebench.vocabulary.declared_conditions import DeclaredBoot, DeclaredTemperature
from edgebench.vocabulary.declared_power import DeclaredPower
from edgebench.vocabulary.load_bursts import BurstTimes
from edgebench.vocabulary.target import BoardFigure

SCHEMA_VERSION = 1
SessionStatus = Literal[
    "ok",
    "crash",
    "timeout",
    "out_of_memory",
    "lost_connection",
    "disk_full",
    "protocol_error",
    "load_failed",
    "golden_mismatch",
    "error",
    "interrupted",
]
RunEnd = Literal["complete", "time", "interrupted"]
Ns = Annotated[int, Field(gt=-(2**62), lt=2**62)]
StageName = Annotated[str, Field(pattern=f"^{STAGE_NAME}$")]
"""A moment in ns; the difference of two is still a whole number of 64 bits."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class SceneRecord(_Record):
    """Which picture was timed."""

    name: str
    sha256: str
    height: int = Field(gt=0)
    width: int = Field(gt=0)
    patch: int = Field(gt=0)
    rows: int = Field(gt=0)
    columns: int = Field(gt=0)
    labels: tuple[int, ...] | None = None
    class_names: tuple[str, ...] = ()
    patch_width: int | None = Field(default=None, gt=0)  # None: as `patch`, which is the height
    stride: int | None = Field(default=None, gt=0)  # None: side by side
    kind: Literal["picture", "samples"] = "picture"  # samples: `height` of them, for a model without picture

    @property
    def patches(self) -> int:
        """Patches, or samples, in a pass."""
        return self.rows * self.columns

    @property
    def image_bytes(self) -> int | None:
        """Of the whole picture as RGB; None for samples."""
        return None if self.kind == "samples" else self.width * self.height * 3

    @property
    def covered(self) -> float | None:
        """The share of the picture's pixels that lie in at least one patch, 0..1; None for samples.

        Where patches end before the picture does, the rest is not looked at; a stride above their edge
        leaves gaps.
        """
        if self.kind == "samples":
            return None
        across = self.patch_width or self.patch
        down, right = self.stride or self.patch, self.stride or across
        height = self.patch + (self.rows - 1) * min(down, self.patch)
        width = across + (self.columns - 1) * min(right, across)
        return height * width / (self.height * self.width)


class ImagesRecord(_Record):
    """Which images accuracy was taken on."""

    name: str
    sha256: str
    n: int = Field(ge=0)
    labelled: bool
    class_names: tuple[str, ...] = ()
    overlapping: bool = False


class BoardRecord(_Record):
    """A machine that a target was declared to be (the contract's DeclaredBoard)."""

    title: str
    models: tuple[str, ...] = ()


class TargetRecord(_Record):
    """A target as declared (the contract's Target, as plain data)."""

    name: str
    device: str
    options: dict[str, Any] = {}
    launch: dict[str, Any] = {}
    power_mode: str | None = None
    set_power_mode: bool = False
    meters: tuple[str, ...] = ()
    preferred_meters: tuple[str, ...] = ()
    mass_g: float | None = None
    size_mm: tuple[float, float, float] | None = None
    declared_power: tuple[DeclaredPower, ...] = ()  # of the target as a whole, at most one of each kind
    boot_s: DeclaredBoot | None = None
    temperature_c: DeclaredTemperature | None = None
    body: str = ""  # what it is made of, and where its boards' figures are from
    boards: tuple[BoardRecord, ...] = ()  # the machines among what it is made of
    from_boards: tuple[BoardFigure, ...] = ()  # which figures are the boards', not its own
    settings: dict[str, Any] = {}  # those in which it differs from the others of its sweep
    host: str | None = None  # kept here alone: no report and no export shows it
    port: str | None = None  # kept here alone, as `host` is
    places: tuple[str, ...] = ()  # options whose values are kept here alone, as `host` is
    revision_of: str | None = None  # the planned target, where its device has become another one since
    identity: dict[str, str] = {}  # of a revision: what its device was found to be
    differences: tuple[str, ...] = ()  # of a revision: each as `kernel was A, is B`, as when it was begun


class TrialRecord(_Record):
    """One trial of the plan; `inputs` is what was hashed into `key`, less the names of users in paths."""

    key: str = Field(pattern=r"^[0-9a-f]{16}$")
    target: str
    variant: str
    depth_multiplier: float | None
    precision: str
    batch: int = Field(ge=1)
    status: Literal["planned", "unsupported", "failed"] = "planned"  # failed: it could not be prepared
    reason: str = ""  # why it is not planned
    requested: bool = False  # unsupported, although the command asked for it by name
    class_names: tuple[str, ...] = ()
    artifact_bytes: int | None = None
    artifact_sha256: str | None = None
    inputs: dict[str, Any] = {}
    scene: SceneRecord | None = None  # None: the experiment's
    images: ImagesRecord | None = None  # None: the experiment's, or none where `images_reason` says why
    images_reason: str = ""
    accuracy_reason: str = ""  # why accuracy means nothing for this model
    assumed: tuple[str, ...] = ()  # of its input, because neither the file nor the user says it
    mark: str = ""  # what stands beside every figure of it, such as "on the CPU"
    companions: dict[str, str] = {}  # files that travel with the artifact: name -> SHA-256
    provenance: dict[str, Any] = {}  # of the artifact: weights, recipe, tools, what a compiler said
    passes: int | None = Field(default=None, ge=1)  # steady passes, or windows; None: the experiment's

    @property
    def concurrency(self) -> int:
        """Inferences that the device has in flight, by the settings that the key hashes."""
        settings = self.inputs.get("settings")
        recorded = settings.get("concurrency") if isinstance(settings, dict) else None
        return recorded if isinstance(recorded, int) and recorded >= 1 else 1

    @property
    def patches(self) -> int | None:
        """How many patches of the scene are measured; None where its passes go through all."""
        settings = self.inputs.get("settings")
        recorded = settings.get("patches") if isinstance(settings, dict) else None
        return recorded if isinstance(recorded, int) and recorded >= 1 else None


class ExperimentRecord(_Record):
    """experiment.json: written when the plan stands; revisions of its targets are added at its end."""

    schema_version: Literal[1] = 1
    name: str
    created_utc: str  # ISO 8601, whole seconds, Z
    edgebench_version: str
    command: tuple[str, ...]
    config: dict[str, dict[str, Any]] = {}  # setting -> {value, origin}
    seed: int
    sessions: int = Field(ge=1)
    passes: int = Field(ge=1)
    target_ci: float | None = Field(default=None, gt=0, lt=1)  # a trial ends at this share of image_s
    decide: bool = False  # a trial ends when every verdict of `profiles` on it is settled
    min_sessions: int = Field(default=3, ge=1)  # no rule ends a trial before; `sessions` is the most
    max_time_s: float | None = Field(default=None, gt=0)  # what the run that began it was given
    period_s: float | None = Field(default=None, gt=0)  # between two steady passes; None: back to back
    sustained_s: float | None = Field(default=None, gt=0)  # of steady passes a session, instead of `passes`
    scene: SceneRecord
    images: ImagesRecord | None = None
    images_reason: str = ""  # why there are none
    targets: tuple[TargetRecord, ...]
    trials: tuple[TrialRecord, ...]
    profiles: tuple[dict[str, Any], ...] = ()  # resolved profiles, as `fit` judges them
    host: dict[str, Any] = {}
    preflight: tuple[dict[str, Any], ...] = ()  # doctor's findings at the start
    warnings: tuple[str, ...] = ()

    @property
    def least_sessions(self) -> int | None:
        """Sessions before which no rule ends a trial; None where no rule was asked for."""
        return self.min_sessions if self.target_ci is not None or self.decide else None

    def scene_of(self, trial: TrialRecord) -> SceneRecord:
        """What a trial is timed with."""
        return trial.scene or self.scene

    def images_of(self, trial: TrialRecord) -> ImagesRecord | None:
        """What a trial's accuracy is taken on; None where there is nothing."""
        return trial.images or (None if trial.images_reason else self.images)


class RunRecord(_Record):
    """run.json: the last run of an experiment.

    `ended` is None while it goes on, where it was killed, and where `faults` say what ended it.
    """

    schema_version: Literal[1] = 1
    started_utc: str  # ISO 8601, whole seconds, Z
    ended: RunEnd | None = None
    elapsed_s: float | None = Field(default=None, ge=0)  # of measuring, preparation not included
    max_time_s: float | None = Field(default=None, gt=0)  # no session started after so much of it
    sessions: int = Field(default=0, ge=0)  # measured in this run, failed ones too
    settled: tuple[str, ...] | None = None  # keys of the trials that a rule ended; None where not recorded
    faults: tuple[str, ...] = ()  # tracebacks of errors that ended the measuring on one host each
    verdicts: dict[str, dict[str, int]] | None = None  # profile -> verdict -> trials; None where not recorded


class ImagePathsRecord(_Record):
    """images.json: which file each of the images was that accuracy is taken on."""

    schema_version: Literal[1] = 1
    sets: dict[str, tuple[str, ...]]  # SHA-256 of a set's pixels -> the path of each image, by its index


class GoldenCheck(_Record):
    """How the outputs compared with the artifact's golden scores."""

    max_abs_diff: float
    tolerance: float
    top1_equal: int
    n: int
    reference: str


class Failure(_Record):
    """Why a session has no measurement."""

    what: str
    why: str = ""
    fix: str = ""  # what to do about it, where that is known
    stage: str
    signal: str | None = None
    stderr_tail: str = ""


class SessionRecord(_Record):
    """session.json: one session, finished or failed."""

    schema_version: Literal[1] = 1
    trial: str
    n: int = Field(ge=0)
    round: int = Field(ge=0)
    status: SessionStatus
    started_utc: str
    duration_s: float  # host's wall time of the whole session, harness included
    harness_s: float | None = None  # of it: not load, warm-up, measuring, accuracy or idle windows
    failure: Failure | None = None
    golden: GoldenCheck | None = None
    cold: dict[str, float | None] = {}  # import_s, load_s, first_inference_s, first_pass_s, start_s
    built: BuiltArtifact | None = None  # what was loaded, where the board makes it of the artifact
    warmup: dict[str, Any] = {}  # batches, steady
    memory: dict[str, int | None] = {}  # after_load_bytes, peak_bytes
    runtime: dict[str, Any] = {}
    device: dict[str, Any] = {}
    clock: dict[str, dict[str, int | float | None]] = {}  # start, end, fit (ClockFit), test_clock
    probes: tuple[dict[str, Any], ...] = ()
    probe_reasons: dict[str, str] = {}  # meter -> why it gave nothing (more); "" -> why none at all
    monitor_reasons: dict[str, str] = {}  # monitor, such as telemetry -> why it gave nothing (more)
    windows_ns: dict[str, tuple[Ns, Ns] | None] = {}  # idle, steady, idle_after
    load_bursts: BurstTimes | None = None  # by which the lag of meters on the host is told
    predicted: dict[str, int] = {}  # how many predictions of `scene` and `images` lie beside it
    tables: dict[str, str] = {}  # table -> SHA-256 of its Parquet file; the store fills it in
    workers: tuple[dict[str, Any], ...] = ({"worker": 0},)
    measured_patches: int | None = Field(default=None, ge=1)  # None: as many as its passes or windows tell
    untimed_stages: tuple[StageName, ...] = ()  # of an image, that its passes do not hold, such as patchify
    emulated: bool = False  # no device carried it out: its stamps are no device's time
    instructions_reason: str = ""  # of an emulated one: why its windows have no instructions
    warnings: tuple[str, ...] = ()


PASS_COLUMNS = ("worker", "pass", "phase", "start_ns", "end_ns", "image_ns", "infer_ns", "patches")
"""passes.parquet; then one `<stage>_ns` a stage (sums over the batches). One row a pass; the warm-up's
batches are one row of phase `warmup`. `infer_ns` is the union of the infer intervals."""

PACED_COLUMNS = ("due_ns", "lateness_ns")
"""passes.parquet of a paced session, after the stages; empty but for its steady passes. `lateness_ns` is the
pass's end against the moment at which the next is due: above 0 for a deadline miss."""

BATCH_COLUMNS = ("worker", "pass", "phase", "batch", "first_patch", "patches")
"""batches.parquet; then `<stage>_start_ns` and `<stage>_end_ns` a stage."""

WINDOW_COLUMNS = ("worker", "window", "phase", "patch", "inferences", "start_ns", "end_ns", "instructions")
"""windows.parquet, where a device gives windows and no passes: one row a window, in which one patch of the
scene was inferred so many times. A session has passes and batches, or windows. `instructions` is empty where
no emulator counts them."""

LATER_COLUMNS = {"windows": ("instructions",)}
"""By table, the columns that files of earlier versions lack; a reader finds them empty."""

PROBE_COLUMNS = ("probe", "channel", "quantity", "unit", "t_ns", "value")
"""probes.parquet, long form: one row a sample and channel."""

PREDICTION_COLUMNS = ("worker", "set", "index", "label", "predicted", "scores")
"""predictions.parquet: set is `scene` or `images`; label is -1 where unknown; scores a list of float32."""


@dataclass(frozen=True)
class TableFile:
    """A table that is a Parquet file already, on the disk of the results: the store moves it."""

    path: Path
    rows: int
    sha256: str


@dataclass
class SessionTables:
    """The Parquet side of a session; a table that is None is not written."""

    passes: pd.DataFrame | None = None
    batches: pd.DataFrame | None = None
    probes: pd.DataFrame | TableFile | None = None
    predictions: pd.DataFrame | None = None
    windows: pd.DataFrame | None = None
    extra: dict[str, pd.DataFrame] = field(default_factory=dict)
