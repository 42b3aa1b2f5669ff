"""The records on disk, version 2: what an experiment and a session say of themselves.

Layout of an experiment's folder::

    experiment.json                       the plan, the command, the host; later only revisions are added
    run.json                              how the last run of it ended; absent until one has
    scene.jpg                             the scene, small, for reports
    images.json                           which file each image was; absent where images are no files
    trials/<key>/trial.json               derived from the sessions, can be made again
    trials/<key>/sessions/<n>/            n = 000, 001, ...; renamed into place when the session ends
        session.json  passes.parquet  batches.parquet  windows.parquet  probes.parquet  predictions.parquet

Every `*_ns` column is on the device's monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from edgebench.records.described import Keys, Private
from edgebench.records.model import BuiltArtifact, State
from edgebench.records.session import (
    BurstTimes,
    ClockMatch,
    ColdFigures,
    MemoryFigures,
    SessionWindows,
    Share,
    WarmUp,
)
from edgebench.records.session import Moment as Ns
from edgebench.records.target import Target
from edgebench.records.values import PictureReading, Task
from edgebench.session_stages import STAGE_NAME
from edgebench.stats.clock import ClockFit
from edgebench.stats.interval import Count

if TYPE_CHECKING:
    import pandas as pd  # which takes long to import

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
TrialStatus = Literal["done", "partial", "failed", "unsupported", "not_run"]
StageName = Annotated[str, Field(pattern=f"^{STAGE_NAME}$")]


class MovedClock(TypedDict):
    """How a test moved the device's clock."""

    offset_ns: int
    """Added to the clock. Unit: ns. Source: worker."""
    drift_ppm: float
    """By how much faster the clock ran. Unit: ppm. Source: worker."""


class Wait(TypedDict):
    """How long a device was waited for; medians over the steady passes or windows."""

    stamped_ns: Count
    """From start to end, by the device's stamps. Unit: ns. Source: device clock."""
    waited_ns: Count
    """From the request to the answer, by the device's agent; without one by the host. Unit: ns. Source:
    host."""


class Clock(TypedDict, total=False):
    """Device clock against host clock."""

    start: ClockMatch
    """At the start. Source: round trips."""
    end: ClockMatch
    """At the end. Source: round trips."""
    fit: ClockFit
    """A line through all round trips, at the edges and between passes: device = host + offset_ns + drift_ppm
    * 1e-6 * (host - reference_ns). Absent where there were none. Source: round trips."""
    test_clock: MovedClock
    """By how much a test moved the device's clock (EDGEBENCH_TEST_CLOCK): no figure was measured. Absent
    where none did. Source: worker."""
    wait: Wait
    """Stamps against the time that the device alone had a pass or window in hand, each the median over the
    session's steady ones. Absent where the latter is not known. Source: host."""


class SettingValue(TypedDict, total=False):
    """A setting of a run."""

    value: Any
    """The resolved value. Source: configuration."""
    origin: str
    """Flag, --quick, environment, file or default; what is not used is marked so. Source: configuration."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class SceneRecord(_Record):
    """Which picture was timed."""

    name: str
    """What it is called. Source: plan."""
    sha256: str
    """SHA-256 of its raw pixels, in hex. Source: plan."""
    height: int = Field(gt=0)
    """Height. Unit: pixel. Source: plan."""
    width: int = Field(gt=0)
    """Width. Unit: pixel. Source: plan."""
    patch: int = Field(gt=0)
    """Height of a patch, and its width where there is no patch_width. Unit: pixel. Source: plan."""
    rows: int = Field(gt=0)
    """Whole patches from top to bottom. Source: plan."""
    columns: int = Field(gt=0)
    """Whole patches from left to right. Source: plan."""
    labels: tuple[int, ...] | None = None
    """One class a patch, row by row, as an index into class_names; null where unknown. Source: plan."""
    class_names: tuple[str, ...] = ()
    """The classes that the labels index. Source: plan."""
    patch_width: int | None = Field(default=None, gt=0)
    """Width of a patch that is not square; null for a square one. Unit: pixel. Source: plan."""
    stride: int | None = Field(default=None, gt=0)
    """Distance from one patch to the next, both ways; null where they lie side by side. Unit: pixel. Source:
    plan."""
    kind: Literal["picture", "samples"] = "picture"
    """picture; or samples, for a model that takes no picture: height and rows are then their number, and a
    patch is one sample. Source: plan."""
    cropped: float | None = Field(default=None, gt=0, le=1)
    """The share of a larger picture's pixels that it is, such as the middle of the shipped scene for a model
    of small inputs; null for a whole picture. Source: plan."""
    channels: int = 3
    """3: RGB; 1: grey. Source: the model's input."""

    @property
    def patches(self) -> int:
        """Patches, or samples, in a pass."""
        return self.rows * self.columns

    @property
    def image_bytes(self) -> int | None:
        """Of the whole picture as RGB or grey; None for samples."""
        return None if self.kind == "samples" else self.width * self.height * self.channels

    @property
    def covered(self) -> float | None:
        """The share of the picture's pixels that lie in at least one patch, 0..1; None for samples.

        Where patches end before the picture does, the rest is not looked at; a stride above their edge
        leaves gaps. Of a cropped picture it is the share of the larger one.
        """
        if self.kind == "samples":
            return None
        across = self.patch_width or self.patch
        down, right = self.stride or self.patch, self.stride or across
        height = self.patch + (self.rows - 1) * min(down, self.patch)
        width = across + (self.columns - 1) * min(right, across)
        return height * width / (self.height * self.width) * (self.cropped or 1.0)


class ImagesRecord(_Record):
    """Which images accuracy was taken on."""

    name: str
    """What the set is called. Source: plan."""
    sha256: str
    """SHA-256 of its pixels, in hex. Source: plan."""
    n: int = Field(ge=0)
    """How many images. Source: plan."""
    labelled: bool
    """Whether each has a class. Source: plan."""
    class_names: tuple[str, ...] = ()
    """The classes that the labels index. Source: plan."""
    overlapping: bool = False
    """Whether crops share pixels, which makes intervals a little too narrow. Source: plan."""
    labels_by: str = ""
    """How labels became classes: by name or number; empty if they are the names. Source: plan."""
    label_offset: int = 0
    """What was added to labels that are class numbers. Source: --label-offset."""
    reading: PictureReading | None = None
    """How picture files became its pixels; null for samples and for the shipped sets. Source: plan."""
    unreadable: int = Field(default=0, ge=0)
    """Pictures that could not be read and were left out (--skip-unreadable); the warnings name the first.
    Source: plan."""
    task: Task = "classes"
    """What scores are: of classes; a reconstruction, whose mean squared error shows an anomaly; or one that
    is higher for an anomaly. Predictions of the latter two hold that one number. Source: plan."""


class WorkerPlan(_Record):
    """One of several workers of a trial: the variant that it measures."""

    variant: str
    """Model and precision. Source: plan."""
    depth_multiplier: float | None
    """Width of the network; null for a model of one width. Source: plan."""
    precision: str
    """fp32, fp16 or int8; mixed for a file of several. Source: plan."""
    artifact_bytes: Count | None = None
    """Size of the file that the runtime loads. Unit: byte. Source: the artifact."""
    artifact_sha256: str | None = None
    """SHA-256 of that file, in hex. Source: the artifact."""
    class_names: tuple[str, ...] = ()
    """What the artifact's outputs stand for. Source: the artifact."""
    alone: str = Field(pattern=r"^[0-9a-f]{16}$")
    """Key of the trial of this variant alone, in the same rounds. Source: plan."""


class TrialRecord(_Record):
    """One trial of the plan; `inputs` is what was hashed into `key`, less the names of users in paths."""

    key: str = Field(pattern=r"^[0-9a-f]{16}$")
    """Hash of everything that decides the trial's result: the first 16 hex digits of the SHA-256 of `inputs`.
    Source: plan."""
    target: str
    """Name of the target. Source: plan."""
    variant: str
    """Model and precision, such as mobilenet_v1-0.25-int8. Source: plan."""
    depth_multiplier: float | None
    """Width of the network; null for a model of one width. Source: plan."""
    precision: str
    """fp32, fp16 or int8; mixed for a file of several. Source: plan."""
    batch: int = Field(ge=1)
    """Patches in one call of the runtime. Source: plan."""
    status: Literal["planned", "unsupported", "failed"] = "planned"
    """Whether it is measured: unsupported where the device does not take it, failed where it could not be
    prepared. Source: preparation."""
    reason: Annotated[str, Private("texts")] = ""
    """Why it is not measured; empty when it is. Source: preparation."""
    requested: bool = False
    """Whether the command asked by name for this variant, which the device does not take; the exit code is
    then 5. Source: preparation."""
    class_names: tuple[str, ...] = ()
    """What the artifact's outputs stand for. Source: the artifact."""
    artifact_bytes: Count | None = None
    """Size of the file that the runtime loads. Unit: byte. Source: the artifact."""
    artifact_sha256: str | None = None
    """SHA-256 of that file, in hex. Source: the artifact."""
    inputs: Annotated[dict[str, Any], Private("inputs")] = {}
    """What was hashed into the key. Source: plan."""
    scene: SceneRecord | None = None
    """What this trial is timed with; null for the experiment's scene. Source: plan."""
    images: ImagesRecord | None = None
    """The images of this trial; null for the experiment's, or for none where images_reason says why. Source:
    plan."""
    images_reason: str = ""
    """Why this trial has no images; empty when it has. Source: plan."""
    accuracy_reason: str = ""
    """Why accuracy means nothing for this model, such as random weights; empty when it does. Source: the
    artifact."""
    assumed: tuple[str, ...] = ()
    """What was assumed of the model's input, because neither its file nor the user says it, such as how
    pixels become numbers; empty where nothing was. Source: the artifact."""
    state: State = "none"
    """Treatment of what the model carries from one inference to the next: `none` where nothing is carried;
    `reset` before each inference, or `kept` (--keep-state); `partly` reset, and `resources`, which cannot be
    reset. Source: the artifact."""
    mark: str = ""
    """What stands beside every figure of this trial, such as that it was measured on the processor; empty for
    most. Source: the artifact."""
    companions: dict[str, str] = {}
    """Files that travel with the artifact, such as weights or calibration: SHA-256 by name. Source: the
    artifact."""
    provenance: Annotated[dict[str, Any], Private("paths")] = {}
    """How the artifact was made: weights, recipe, tools, calibration, and what a compiler said of it.
    Source: the artifact."""
    passes: int | None = Field(default=None, ge=1)
    """Steady passes, or windows, planned a session of this trial; null for the experiment's. Source: plan."""
    share: Share | None = None
    """How several workers share the device's cores: naive, without limits, or cores, each pinned to an equal
    part; null for one worker. Source: plan."""
    workers: tuple[WorkerPlan, ...] = ()
    """Several workers by their number, the first of this trial's variant; empty for one. Source: plan."""

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
    """One `edgebench run`: its plan, its command and the machine it was started on. Written once, before the
    first session.

    Revisions of its targets are added at its end.
    """

    schema_version: Literal[3] = 3
    """Version of this document's layout; a reader refuses every other one. Source: EdgeBench."""
    id: str = Field(pattern="^[0-9a-f]{32}$")
    """Random id. Copies, archives and imports of the experiment keep it. Source: EdgeBench."""
    name: str
    """What the experiment is called. Source: command line."""
    created_utc: str
    """When the plan stood: ISO 8601, UTC, whole seconds. Unit: UTC. Source: host clock."""
    edgebench_version: str
    """Version that wrote it. Source: EdgeBench."""
    command: Annotated[tuple[str, ...], Private("command")]
    """The command line, argument by argument. Source: command line."""
    config: Annotated[dict[str, Annotated[dict[str, Any], Keys(SettingValue)]], Private("config")] = {}
    """Each setting with its value and where it came from. Source: configuration."""
    seed: int
    """Seed of the sessions' order, and of the choice of images. Source: configuration."""
    sessions: int = Field(ge=1)
    """Sessions planned a trial; the most of them where a rule ends a trial. Source: configuration."""
    passes: int = Field(ge=1)
    """Steady passes, or windows, planned a session. Source: configuration."""
    target_ci: float | None = Field(default=None, gt=0, lt=1)
    """Half-width of image_s' 95 % interval at which a trial ends, as a share of its value (--target-ci); null
    where it was not asked for. `sessions` is then the most. Source: configuration."""
    decide: bool = False
    """Whether a trial ends when every verdict of `profiles` on it is settled (--decide). `sessions` is then
    the most. Source: configuration."""
    min_sessions: int = Field(default=3, ge=1)
    """Sessions before which no rule ends a trial. Source: EdgeBench."""
    max_time_s: float | None = Field(default=None, gt=0)
    """No session of the run that began it was to start after so much measuring (--max-time); null without a
    limit. Unit: s. Source: configuration."""
    period_s: float | None = Field(default=None, gt=0)
    """Seconds between two steady passes (paced mode); null for back to back. Unit: s. Source:
    configuration."""
    sustained_s: float | None = Field(default=None, gt=0)
    """How long the steady passes of a session go on (sustained mode), instead of a number of them; null for a
    number. Unit: s. Source: configuration."""
    scene: SceneRecord
    """The picture that is timed. Source: the scene's file."""
    images: ImagesRecord | None = None
    """The images that accuracy is taken on; null when there are none. Source: the images' folder."""
    images_reason: str = ""
    """Why there are no images; empty when there are. Source: plan."""
    targets: tuple[Target, ...]
    """What is measured. Source: configuration."""
    trials: tuple[TrialRecord, ...]
    """The plan. Source: plan."""
    profiles: Annotated[tuple[dict[str, Any], ...], Private("paths")] = ()
    """The profiles that the result is judged by, complete. Source: profile files."""
    host: dict[str, Any] = {}
    """The machine that ran the harness: system, kernel, processor, memory, versions of packages. Source:
    host."""
    preflight: Annotated[tuple[dict[str, Any], ...], Private("texts")] = ()
    """What `edgebench doctor` found at the start: target (whose it is, in words), targets (the names of all
    that share it), level, subject, message, fix. Source: doctor."""
    warnings: Annotated[tuple[str, ...], Private("texts")] = ()
    """What a reader should mind, one sentence each. Source: plan."""

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
    """The last run of an experiment: how it ended.

    `ended` is None while it goes on, where it was killed, and where `faults` say what ended it.
    """

    schema_version: Literal[3] = 3
    """Version of this document's layout; a reader refuses every other one. Source: EdgeBench."""
    started_utc: str
    """When its measuring began: ISO 8601, UTC, whole seconds. Unit: UTC. Source: host clock."""
    ended: RunEnd | None = None
    """How it ended: nothing was left to measure, its time was over, or it was interrupted; null while it goes
    on, where it was killed, and where it has faults. Source: the harness."""
    elapsed_s: float | None = Field(default=None, ge=0)
    """How long it measured, preparation not included; null while it goes on. Unit: s. Source: host's
    monotonic clock."""
    max_time_s: float | None = Field(default=None, gt=0)
    """No session started after so much measuring (--max-time); null without a limit. Unit: s. Source:
    configuration."""
    sessions: int = Field(default=0, ge=0)
    """Sessions that it measured, failed ones too. Source: the harness."""
    settled: tuple[str, ...] | None = None
    """Keys of the trials that a rule (--target-ci, --decide) ended; null while it goes on, and where it was
    killed. Source: the harness."""
    faults: Annotated[tuple[str, ...], Private("texts")] = ()
    """Tracebacks of the errors that ended the measuring on one host each and that EdgeBench does not know,
    for whoever mends them. Source: the harness."""
    verdicts: dict[str, dict[str, int]] | None = None
    """How the run's profiles judged its trials at its end: profile -> pass, fail, inconclusive or unknown ->
    how many trials; null while it goes on, and where it was killed. Source: fit."""


class ImagePathsRecord(_Record):
    """Which file each image was that accuracy is taken on. Absent where the images are no files."""

    schema_version: Literal[3] = 3
    """Version of this document's layout; a reader refuses every other one. Source: EdgeBench."""
    sets: Annotated[dict[str, tuple[str, ...]], Private("paths")]
    """By the SHA-256 of a set's pixels, as the images of experiment.json and of its trials have it: the path
    of each image, by its index, as the folder or the CSV file of the images names it. Source: the images'
    folder."""


class GoldenCheck(_Record):
    """How the outputs compared with the artifact's golden scores."""

    max_abs_diff: float
    """Largest difference of a score; 1e9 for a score that is no number. Source: device outputs."""
    tolerance: float
    """Largest difference that is accepted. Source: the artifact."""
    top1_equal: Count
    """Golden patches with the same class as the reference. Source: device outputs."""
    n: Count
    """Golden patches. Source: the artifact."""
    reference: str
    """What computed the golden scores; empty where nothing does: then the device's scores were compared with
    those that it gave a second time. Source: the artifact."""
    unchecked: Count = 0
    """Outputs of which only shape and finite values were checked, because two kernels of the reference's
    runtime differ by more than a quarter of their range. Source: the artifact."""


class Failure(_Record):
    """Why a session has no measurement."""

    what: Annotated[str, Private("texts")]
    """What went wrong. Source: host."""
    why: Annotated[str, Private("texts")] = ""
    """The cause, where known. Source: host."""
    fix: Annotated[str, Private("texts")] = ""
    """What to do about it, where known. Source: host."""
    stage: str
    """Where: start, load, golden, scene, measure, predict or stop. Source: host."""
    signal: str | None = None
    """The signal that ended the worker, such as SIGSEGV. Source: operating system."""
    stderr_tail: Annotated[str, Private("texts")] = ""
    """Last lines of what the worker wrote to stderr; the traceback where the session ended in an error that
    EdgeBench does not know. Source: worker."""


class SessionRecord(_Record):
    """One fresh process's go at a trial, finished or failed. Its tables are in its folder: see the schema
    `tables`.
    """

    schema_version: Literal[3] = 3
    """Version of this document's layout; a reader refuses every other one. Source: EdgeBench."""
    trial: str
    """Key of its trial. Source: plan."""
    n: int = Field(ge=0)
    """Number of the session within its trial; also its folder's name. Source: plan."""
    round: int = Field(ge=0)
    """Round of the experiment in which it ran. Source: plan."""
    status: SessionStatus
    """How it ended. Source: host."""
    started_utc: str
    """When it began: ISO 8601, UTC. Unit: UTC. Source: host clock."""
    duration_s: float
    """Wall time of the whole session, harness included. Unit: s. Source: host's monotonic clock."""
    harness_s: float | None = None
    """Of it, what was neither load, warm-up, measuring, accuracy nor idle windows. Unit: s. Source: host's
    monotonic clock."""
    failure: Failure | None = None
    """Why there is no measurement; null when there is. Source: host."""
    golden: GoldenCheck | None = None
    """The device's outputs against the artifact's golden scores; null when it did not get so far. Source:
    host."""
    cold: Annotated[dict[str, float | None], Keys(ColdFigures)] = {}
    """What happens once a session; null where it was not reached. Source: device clock."""
    built: BuiltArtifact | None = None
    """What the device made of the artifact on the board, and loaded; null where it loads the artifact itself.
    Source: agent."""
    warmup: Annotated[dict[str, Any], Keys(WarmUp)] = {}
    """The adaptive warm-up after the first pass. Source: worker."""
    memory: Annotated[dict[str, int | None], Keys(MemoryFigures)] = {}
    """Resident memory of the worker process. Source: operating system of the device."""
    runtime: Annotated[dict[str, Any], Private("runtime")] = {}
    """What the runner says of its runtime: name, version, threads, kernels; placement, how many operations
    each provider or delegate carries out; absent, the reason for each entry that is null. Source: runner."""
    device: Annotated[dict[str, Any], Private("facts")] = {}
    """The board's facts: model, processor, memory, system, governor and clocks; null where not to be had.
    Source: device."""
    clock: Annotated[dict[str, dict[str, int | float | None]], Keys(Clock)] = {}
    """Device clock against host clock: at the session's edges, and over the whole of it. Source: round
    trips."""
    tick_ns: int | None = Field(default=None, ge=1)
    """Smallest step of the clock of its stamps; null where it is not known. Unit: ns. Source: device."""
    probes: Annotated[tuple[dict[str, Any], ...], Private("probes")] = ()
    """What was sampled beside the session: kind, address, rate_hz, resolution, scope, channels, averaging_ms
    (the time that a reading is the mean over; null where it is not known), and what was absent, with the
    reason; place (board or host), and of a probe on the host clock_bound_ns, by how much its stamps may be
    off the device's clock (ns), and of a meter there lag: lag_ms, how much later its stamps are than the
    load that its readings are of, bound_ms, by how much that may be off (both ms), whether it was applied,
    taken off the stamps, the reason where none is known, and correlation, the highest of its readings with
    the load bursts, or the lowest if a falling power explains these better; of a meter whose session ran
    load bursts response: reach_ms, how long before its stamp load is in a reading at most, because the
    meter averages and holds readings, ahead_ms, likewise after its stamp (both ms), the reason where that
    is not known, and correlation where lag has none; rejected, how many readings could not be parsed or
    were out of their channel's range, and rejected_first, the first of them, verbatim. Source: probes."""
    probe_reasons: Annotated[dict[str, str], Private("texts")] = {}
    """Why a meter gave nothing, or no more from some moment on, by kind:address; under "" why there was no
    meter at all. Source: probes."""
    monitor_reasons: Annotated[dict[str, str], Private("texts")] = {}
    """Why a monitor, such as telemetry, gave nothing, or no more from some moment on, by kind:address.
    Source: probes."""
    windows_ns: Annotated[dict[str, tuple[Ns, Ns] | None], Keys(SessionWindows)] = {}
    """Start and end of the windows that power is taken over. Source: device clock."""
    load_bursts: BurstTimes | None = None
    """When the device ran golden patches in bursts, between its warm-up and its steady passes, by which lag
    and response of meters are measured; null where it ran none. Source: device clock."""
    predicted: dict[str, Count] = {}
    """How many predictions of `scene` and `images` lie beside it. Source: worker."""
    tables: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]] = {}
    """SHA-256 of each Parquet file beside it, in hex, by the table's name. Source: the store."""
    workers: tuple[dict[str, Any], ...] = ({"worker": 0},)
    """The workers of the session. Each of several has its variant, artifact_sha256, cores (numbers of those
    that it was pinned to; empty where it was not), cold, warmup, memory and golden. Source: workers."""
    measured_patches: int | None = Field(default=None, ge=1)
    """How many patches of the scene it measured, as its device says it; null: as many as its passes or
    windows hold. Unit: patch. Source: the session."""
    untimed_stages: tuple[StageName, ...] = ()
    """Stages of an image that its passes do not hold, because the host does them before, such as patchify;
    where preprocess is among them, its passes tell of inference alone. Source: the session."""
    emulated: bool = False
    """Whether no device carried it out: its stamps are then no device's time, and no figure in seconds is
    made of them. Source: the session."""
    own_time: bool = False
    """Whether its stamps are of a time of its own, as a replay's: not measured. Source: the session."""
    instructions_reason: str = ""
    """Of an emulated session, why its windows have no instructions; empty where they have. Source: the
    session."""
    warnings: Annotated[tuple[str, ...], Private("texts")] = ()
    """What a reader should mind, one sentence each. Source: host."""


Int16 = Annotated[int, "int16"]
Int32 = Annotated[int, "int32"]
Int64 = Annotated[int, "int64"]
Float = Annotated[float, "double"]
Word = Annotated[str, "dictionary<string>"]
Floats = Annotated[list[float], "list<float>"]
"""What a column of a Parquet table holds; the second part is the name of its Arrow type."""


class PassRow:
    """One row a pass of the scene; the warm-up's batches are one row of phase `warmup`."""

    worker: Int16
    """Worker of the session; 0 of a lone one."""
    pass_: Int32
    """Number of the pass in its session; 0 is the first, cold one."""
    phase: Word
    """first (cold), warmup (batches, one row in passes), steady, or outside: not wholly within the time when
    all workers of the session ran."""
    start_ns: Int64
    """Before the first batch's patchify. Unit: ns."""
    end_ns: Int64
    """After the last score. Unit: ns."""
    image_ns: Int64
    """end_ns - start_ns: patchify, preprocess, infer, and what happens between them. Unit: ns."""
    infer_ns: Int64
    """Union of the infer intervals: each moment counted once where they overlap. Unit: ns."""
    patches: Int32
    """Patches in it, padding not counted. Unit: patch."""


class PacedPassRow:
    """What passes of a paced session have after the stages; empty but for its steady passes."""

    due_ns: Int64
    """When a paced pass had to start; empty in other passes. Only in paced sessions. Unit: ns."""
    lateness_ns: Int64
    """end_ns minus the moment at which the next pass had to start: above 0 for a deadline miss. Only in paced
    sessions. Unit: ns."""


class PassStageRow:
    """What passes have of each stage."""

    stage_ns: Int64
    """Sum over the batches of that stage; infer has infer_ns instead. Unit: ns."""


class BatchRow:
    """One row a batch, warm-up included."""

    worker: Int16
    """Worker of the session; 0 of a lone one."""
    pass_: Int32
    """The pass that it belongs to."""
    phase: Word
    """first (cold), warmup (batches, one row in passes), steady, or outside: not wholly within the time when
    all workers of the session ran."""
    batch: Int32
    """Number of the batch in its pass."""
    first_patch: Int32
    """Its first patch, counted row by row over the scene."""
    patches: Int32
    """Patches in it, padding not counted. Unit: patch."""


class BatchStageRow:
    """What batches have of each stage."""

    stage_start_ns: Int64
    """Start of that stage; of infer, when the batch was submitted to the runtime. Unit: ns."""
    stage_end_ns: Int64
    """End of that stage; of infer, when the batch was complete, in whatever order batches are. Unit: ns."""


class WindowRow:
    """One row a window, in sessions of devices that give windows and no passes; absent elsewhere."""

    worker: Int16
    """Worker of the session; 0 of a lone one."""
    window: Int32
    """Number of the window in its session; 0 is the first, cold one."""
    phase: Word
    """first (cold), warmup or steady."""
    patch: Int32
    """The resident patch, counted row by row over the scene."""
    inferences: Int64
    """How often it was inferred in the window, at least 1."""
    start_ns: Int64
    """Before the first inference. Unit: ns."""
    end_ns: Int64
    """After the last inference. Unit: ns."""
    instructions: Int64
    """That all of its inferences executed, where an emulator counts them; else empty. Unit: instruction."""


class ProbeRow:
    """One row a sample and channel."""

    probe: Word
    """kind:address."""
    channel: Word
    """The channel, such as a rail."""
    quantity: Word
    """power, energy, temperature, ..."""
    unit: Word
    """Unit of value."""
    t_ns: Int64
    """When; the end of the interval for a mean. Unit: ns."""
    value: Float
    """The sample, in unit. Unit: see unit."""


class PredictionRow:
    """One row a patch and set."""

    worker: Int16
    """Worker of the session; 0 of a lone one."""
    set: Word
    """scene (the last pass) or images."""
    index: Int32
    """Which patch or image, from 0."""
    label: Int16
    """Its class; -1 where unknown."""
    predicted: Int16
    """Class of the highest score; -1 where a score is no number."""
    scores: Floats
    """One score a class, as the runtime gave them."""


def columns_of(row: type) -> tuple[str, ...]:
    """The columns that a row class declares; `pass_` is the column `pass`."""
    return tuple(name.rstrip("_") for name in row.__annotations__)


PASS_COLUMNS = columns_of(PassRow)
PACED_COLUMNS = columns_of(PacedPassRow)
BATCH_COLUMNS = columns_of(BatchRow)
WINDOW_COLUMNS = columns_of(WindowRow)
PROBE_COLUMNS = columns_of(ProbeRow)
PREDICTION_COLUMNS = columns_of(PredictionRow)


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
