"""What a trial comes to: the figures that verdicts and reports are made from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from edgebench.judge.core.trial import Minute as Minute
from edgebench.judge.core.trial import Sustained as Sustained
from edgebench.judge.figure import Bound
from edgebench.records.model import BuiltArtifact, State
from edgebench.records.stored import SceneRecord, SessionRecord, TrialRecord, TrialStatus
from edgebench.records.target import DeclaredBoot, DeclaredPower
from edgebench.records.values import PowerKind
from edgebench.stats.interval import Count, Interval, Positive, Share
from edgebench.stats.warnings import Caution, Flag

T = TypeVar("T")

# A figure that somebody else published: what is known of it, and who says so.


PUBLISHED = "published"
"""The mark of a trial that was published, and not measured."""


@dataclass(frozen=True)
class Published:
    """One published figure of a trial, in its quantity's base unit."""

    quantity: str
    """What it is about, such as image_s. Source: published figures."""
    statistic: str
    """Which statistic of it. Source: published figures."""
    source: str
    """Who published it, and where. Source: published figures."""
    value: float | None = None
    """The number, in the quantity's base unit; null where none was published. Source: published figures."""
    low: float | None = None
    """Lower end of its interval, or of a bound; null where nothing bounds it below. Source: published
    figures."""
    high: float | None = None
    """Upper end of its interval, or of a bound; null where nothing bounds it above. Source: published
    figures."""
    bound: Bound | Literal[""] = ""
    """Side of the figure's one known end: above or at least low, below or at most high;
    empty where it is no bound. Source: published figures."""
    k: Count | None = None
    """Of a share: right ones; null for all else. Source: published figures."""
    n: Count | None = None
    """Of a share: of how many. Source: published figures."""
    words: str = ""
    """What the source says of it; empty where it says nothing. Source: published figures."""
    covers: str = ""
    """What the number is of, in words. Source: published figures."""
    scaled: float = 1.0
    """By how much the published number was multiplied, to be the whole scene's. Source: published figures."""

    @property
    def quote(self) -> str:
        """What the source says, and which it is: `"exceeds 5 W peak" (title)`."""
        return f'"{self.words}" ({self.source})' if self.words else self.source


# Stages of an image that a device's passes do not hold, because the host does them beforehand; in words.


_BESIDES = frozenset({"patchify"})
"""What an image's time may lack and still be told as image_s, with the omission said."""

_DONE_BEFORE = {"patchify": "cut", "preprocess": "prepared"}


def times_images(untimed: Sequence[str]) -> bool:
    """Whether passes without these stages are told as `image_s`; else they tell of the runtime alone."""
    return set(untimed) <= _BESIDES


def omission(untimed: Sequence[str]) -> str:
    """What an `image_s` without these stages lacks, and why; empty where it lacks nothing."""
    return f"image_s without {_sentence(untimed)}" if untimed else ""


def _sentence(untimed: Sequence[str]) -> str:
    done = [_DONE_BEFORE.get(stage, f"through {stage}") for stage in untimed]
    sent = "patches" if times_images(untimed) else "inputs"
    return f"{_listed(untimed)}: the device is sent {sent} that were {_listed(done)} on the host"


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


WHOLE = 0.9995
"""From this share of a scene on the rest, which a tenth of a percent does not show, is not spoken of."""

EMULATED = "emulated: times, power and verdicts do not apply"
"""Why a trial has no figure in seconds and no verdict."""

IN_WINDOWS = "measured in windows of one resident patch: no pass over the scene was timed"
"""Why a trial has `infer_s` and no `image_s`."""

UNKNOWN_SCOPE = "scope unknown"
"""Scope of a meter that does not say what it covers."""

Key = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


@dataclass(frozen=True)
class Accuracy:
    """k right of n, with the Wilson interval at 95 %, and what classes are taken for."""

    k: Count
    """Right ones. Source: predictions.parquet."""
    n: Count
    """Images with a label. Source: predictions.parquet."""
    low: float
    """Lower end of the Wilson interval at 95 %. Source: predictions.parquet."""
    high: float
    """Upper end of the Wilson interval. Source: predictions.parquet."""
    confusion: tuple[tuple[Count, ...], ...] = ()
    """Counts as [label][predicted], of at most 200 classes. Source: predictions.parquet."""
    class_names: tuple[str, ...] = ()
    """The classes in the order of the counts. Source: the artifact."""
    overlapping: bool = False
    """Whether crops share pixels, which makes the interval a little too narrow. Source: experiment.json."""
    worst_classes: tuple[tuple[Count, Count, Count], ...] = ()
    """Class, right ones and images of the ten classes with the lowest share of right ones. Source:
    predictions.parquet."""
    confusions: tuple[tuple[Count, Count, Count], ...] = ()
    """Label, prediction and images of the ten commonest confusions. Source: predictions.parquet."""


@dataclass(frozen=True)
class RocArea:
    """The area under the ROC curve of an anomaly detector, with its 95 % interval (`edgebench.stats.auc`)."""

    area: Share
    """Share of pairs in which the anomalous one scores higher; a tie is a half. Source: predictions.parquet.
    """
    low: Share
    """Lower end of the interval. Source: predictions.parquet."""
    high: Share
    """Upper end of the interval. Source: predictions.parquet."""
    normal: Positive
    """Normal samples, or groups of them. Source: predictions.parquet."""
    anomalous: Positive
    """Anomalous ones. Source: predictions.parquet."""


@dataclass(frozen=True)
class Agreement:
    """How often a variant predicts what the fp32 variant of its depth on the same target predicts."""

    k: Count
    """Same class. Source: predictions.parquet."""
    n: Count
    """Images compared. Source: predictions.parquet."""
    only_this_right: Count
    """Right here and wrong in fp32. Source: predictions.parquet."""
    only_fp32_right: Count
    """Wrong here and right in fp32. Source: predictions.parquet."""
    mcnemar_p: float | None
    """p of McNemar's exact test; null without labels. Source: predictions.parquet."""


@dataclass(frozen=True)
class AccuracyDrop:
    """Points of accuracy below the fp32 variant of its depth on the same target, over the same n images.

    `low` and `high` are the ends of the paired interval at 95 % (`edgebench.stats.compare`); below 0 where it
    is right more often than fp32.
    """

    points: float
    """Points below fp32; below 0 where it is right more often. Source: predictions.parquet."""
    low: float
    """Lower end of the paired interval at 95 %. Source: predictions.parquet."""
    high: float
    """Upper end of the paired interval. Source: predictions.parquet."""
    n: Count
    """Labelled images of both. Source: predictions.parquet."""
    only_this_right: Count
    """Right here and wrong in fp32. Source: predictions.parquet."""
    only_fp32_right: Count
    """Wrong here and right in fp32. Source: predictions.parquet."""


@dataclass(frozen=True)
class FailedSessions:
    """k of the n sessions that came to an end by themselves failed, with the Wilson interval at 95 %.

    A session that was interrupted is none of them: who interrupts it says nothing about the device.
    """

    k: Count
    """Sessions that failed. Source: session.json."""
    n: Count
    """Sessions that ended well or failed; interrupted ones are not counted. Source: session.json."""
    low: float
    """Lower end of the Wilson interval at 95 %. Source: session.json."""
    high: float
    """Upper end of the Wilson interval. Source: session.json."""


@dataclass(frozen=True)
class RequestLatency:
    """From a request's submission to its completion, in ms, over the steady passes; a request is a batch.

    `median` is the mean over sessions of each session's median; `p99` is of all requests, and None where
    they are too few, as `reason` then says.
    """

    median: float
    """Mean over sessions of each session's median. Unit: ms. Source: batches.parquet."""
    p99: float | None
    """99th percentile of all requests of the steady passes; null where they are too few. Unit: ms. Source:
    batches.parquet."""
    n: Count
    """Requests of the steady passes. Source: batches.parquet."""
    reason: str = ""
    """Why p99 is null; empty when it is not. Source: batches.parquet."""


@dataclass(frozen=True)
class PowerFigure:
    """One meter and rail over the steady windows; energy is an image's, gross and net of idle."""

    meter: str
    """kind:address. Source: session.json."""
    channel: str
    """The rail. Source: session.json."""
    scope: str
    """What it sees: chip, module, board, usb or wall. Source: session.json."""
    primary: bool
    """Whether requirements on power are judged by it. Source: sessions."""
    rate_hz: float
    """Nominal rate. Unit: Hz. Source: session.json."""
    samples: Count
    """Samples in the windows. Source: probes.parquet."""
    mean_w: float | None
    """Mean power within the steady passes, without what lies between them; at a period that of whole cycles,
    pauses included. Mean over the sessions. Unit: W. Source: probes.parquet, passes.parquet."""
    peak_w: float | None
    """Largest sample from the first steady pass to the last. Unit: W. Source: probes.parquet."""
    idle_w: float | None
    """Mean power of the idle device, before the first pass and after the last; where one of the two was not
    sampled, of the other. Mean over the sessions. Unit: W. Source: probes.parquet."""
    energy_j: float | None
    """Energy of an image: that within the steady passes, or at a period within whole cycles, by their images.
    It is the mean power times the mean time of an image there, while image_s is a median. Mean over the
    sessions. Unit: J. Source: probes.parquet, passes.parquet."""
    net_energy_j: float | None
    """Energy of an image above that of the idle device. Unit: J. Source: probes.parquet."""
    reason: str = ""
    """Why a figure above is null; that mean and energy hold the pauses between passes, because of a period or
    where these are too short for the meter. Source: sessions."""
    window_s: float | None = None
    """Time that the mean is over, of the session with the least. Unit: s. Source: passes.parquet."""
    mean_w_sessions: tuple[float, ...] = ()
    """Mean power by session. Unit: W. Source: probes.parquet."""
    energy_j_sessions: tuple[float, ...] = ()
    """Energy of an image by session. Unit: J. Source: probes.parquet."""
    uncovered: str = ""
    """Which sessions' steady windows its samples do not cover, or in which readings are no number or out of
    range, and why: it passes no limit then; else empty. Source: probes.parquet."""
    p99_w: float | None = None
    """99th percentile of all samples from the first steady pass to the last; null below 299. Unit: W. Source:
    probes.parquet."""
    mean_low_w: float | None = None
    """Lower end of the 95 % interval of mean_w: the wider of Student's t over the sessions (from 3 on) and of
    the samples' own spread (from 20 on); null without either. Unit: W. Source: probes.parquet."""
    mean_high_w: float | None = None
    """Upper end of the interval of mean_w. Unit: W. Source: probes.parquet."""
    energy_low_j: float | None = None
    """Lower end of the interval of energy_j, taken as that of mean_w. Unit: J. Source: probes.parquet."""
    energy_high_j: float | None = None
    """Upper end of the interval of energy_j. Unit: J. Source: probes.parquet."""
    net_low_j: float | None = None
    """Lower end of the interval of net_energy_j, taken likewise with the spread of the idle windows' samples.
    Unit: J. Source: probes.parquet."""
    net_high_j: float | None = None
    """Upper end of the interval of net_energy_j. Unit: J. Source: probes.parquet."""
    effective_hz: float | None = None
    """Samples a second that truly came within the steady window, of the session with the fewest. Unit: Hz.
    Source: probes.parquet."""
    longest_gap_s: float | None = None
    """Longest time within a session's steady window without a sample. Unit: s. Source: probes.parquet."""
    averaging_ms: float | None = None
    """Time that a reading is the mean over; of a counter that between two readings; null where it is not
    known. Unit: ms. Source: session.json."""
    total: bool = False
    """Whether all other rails of its meter are part of it. Source: session.json."""
    rejected: Count = 0
    """Readings of its meter that could not be parsed or were out of range, over the sessions. Unit: reading.
    Source: session.json."""
    idle_drift_w: float | None = None
    """Idle power after the last pass less that before the first; mean over the sessions that were sampled in
    both, null without any. Unit: W. Source: probes.parquet."""
    unknown_lag_s: float | None = None
    """How late or early its readings may be where its lag is not known; its bounds hold what that may move,
    and net_energy_j has none. Null where it is known. Unit: s. Source: session.json."""
    peak_high_w: float | None = None
    """Where its lag is not known: the largest sample of the steady windows and of so long a time around them.
    Unit: W. Source: probes.parquet."""
    pauses: Share = 0.0
    """Share of the time of mean_w that is pauses between passes, of the session with the most: no reading
    tells them from passes that are too short for the meter, and mean_high_w holds that they may have drawn
    nothing. Source: probes.parquet, passes.parquet."""
    together_energy_j: float | None = None
    """Of several workers: energy of the time when all ran, by the images that all finished in it. Mean over
    the sessions. Unit: J. Source: probes.parquet, passes.parquet."""
    together_low_j: float | None = None
    """Lower end of the interval of together_energy_j. Unit: J. Source: probes.parquet."""
    together_high_j: float | None = None
    """Upper end of the interval of together_energy_j. Unit: J. Source: probes.parquet."""
    together_energy_j_sessions: tuple[float, ...] = ()
    """together_energy_j by session. Unit: J. Source: probes.parquet."""


@dataclass(frozen=True)
class Paced:
    """Steady passes that began at their due times, over all sessions.

    `misses` were not done when the next had to start; `worst_lateness_s` is the greatest end against
    deadline, below 0 when every pass was in time. `by_session` has the misses and the passes of each session.
    """

    period_s: float
    """Seconds between two due times. Unit: s. Source: experiment.json."""
    passes: int
    """Paced passes over all sessions. Source: derived by fit."""
    misses: int
    """Passes that were not done when the next had to start. Source: derived by fit."""
    worst_lateness_s: float
    """The greatest end of a pass against the moment at which the next had to start; below 0 when every pass
    was in time. Unit: s. Source: derived by fit."""
    by_session: tuple[tuple[int, int], ...] = ()
    """Misses and passes of each session, in order; empty where nothing kept them. Source: derived by fit."""


ALONE = "one worker had the device: --workers N or --with VARIANT adds others"
"""Why a trial has no figures of several workers together."""


@dataclass(frozen=True)
class Slowdown(Interval):
    """A worker's session medians over those of its variant alone, in the same run with the same options.

    Of a trial it is its slowest worker's, with an interval that being selected does not bias
    (`edgebench.stats.compare.slowest`).
    """

    median: float
    """Mean of its session medians over the mean of those of its variant alone. Source: passes.parquet."""
    low: float | None
    """Lower end of the ratio's interval at 95 %; null below three sessions a side. Source:
    passes.parquet."""
    high: float | None
    """Upper end; of a trial the highest of all its workers. Source: passes.parquet."""
    worker: Count = 0
    """The worker's number. Source: session.json."""
    variant: str = ""
    """What it runs. Source: experiment.json."""


@dataclass(frozen=True)
class Throughput(Interval):
    """Images that all workers of a device finish a second."""

    median: float
    """Mean over the sessions of the images that all workers finished in the time when all ran, by that time;
    a pass at its edge counts with its share inside. Unit: images/s. Source: passes.parquet."""
    low: float | None
    """Lower end of its interval at 95 %; null when the sessions are too few. Unit: images/s. Source:
    passes.parquet."""
    high: float | None
    """Upper end. Unit: images/s. Source: passes.parquet."""


@dataclass(frozen=True)
class Sharing:
    """What several workers on one device cost each other, and their figures together."""

    share: str
    """How they share the cores: naive (without limits) or cores (each pinned to an equal part); empty where
    that was not kept. Source: experiment.json."""
    images_per_s: Throughput | None = None
    together_bytes: Count | None = None
    slowdown: Slowdown | None = None
    slowdown_reason: str = ""
    """Why slowdown is null; empty where it is not. Source: sessions."""
    images_per_s_values: tuple[float, ...] = ()
    """images_per_s, one value a session. Unit: images/s. Source: passes.parquet."""
    slowdown_values: tuple[float, ...] = ()
    """One value a session, whose mean is slowdown and whose scatter is that of the ratio. Source:
    passes.parquet."""
    together_bytes_values: tuple[int, ...] = ()
    """together_bytes, one value a session. Unit: byte. Source: session.json."""


@dataclass(frozen=True)
class WorkerSummary:
    """One of several workers that shared a device; nothing of it is pooled with the others."""

    trial: str
    """Key of its trial. Source: experiment.json."""
    target: str
    """Its target. Source: experiment.json."""
    worker: Count
    """Its number. Source: session.json."""
    variant: str
    """What it runs. Source: experiment.json."""
    alone: str
    """Key of the trial that measures its variant alone; empty without one. Source: experiment.json."""
    cores: tuple[Count, ...]
    """Numbers of the cores that it was pinned to; empty where it was not. Source: session.json."""
    image_s: Interval | None
    """Latency per image while all workers ran. Unit: s. Source: passes.parquet."""
    infer_s: Interval | None
    """Inference time per image while all workers ran. Unit: s. Source: passes.parquet."""
    request_ms: RequestLatency | None
    """Latency per request, where several are in flight. Unit: ms. Source: batches.parquet."""
    in_flight: float | None
    """Mean number of its requests in flight. Source: batches.parquet."""
    stages_ms: dict[str, float]
    """Time of each stage a patch. Unit: ms. Source: passes.parquet."""
    load_s: float | None
    """Load of the artifact, mean over sessions. Unit: s. Source: session.json."""
    memory_bytes: float | None
    """Peak resident memory, mean over sessions. Unit: byte. Source: session.json."""
    accuracy: Accuracy | None
    """Of its own artifact. Source: predictions.parquet."""
    warnings: tuple[str, ...]
    """What a reader should mind, one sentence each. Source: sessions."""
    medians_s: tuple[float, ...] = ()
    """Median latency of each session. Unit: s. Source: passes.parquet."""
    alone_medians_s: tuple[float, ...] = ()
    """Those of the trial of its variant alone. Unit: s. Source: passes.parquet."""
    slowdown: Slowdown | None = None
    """Its latency over that of its variant alone; null where that is not known. Source: passes.parquet."""
    slowdown_reason: str = ""
    """Why slowdown, or its interval, is null; empty where neither is. Source: sessions."""


EndedBy = Literal["sessions", "rule", "most", "time", "interrupted", "failures"]


@dataclass(frozen=True)
class Ended:
    """Why no further session of a trial was measured."""

    by: EndedBy
    """`sessions`: as many as planned; `rule`: a rule that was asked for was met; `most`: the most sessions
    were there first; `time`: the run's time was over; `interrupted`: the run was, or was killed;
    `failures`: its sessions failed again and again. Source: derived by fit."""
    sessions: Count
    """Sessions that ended well. Source: derived by fit."""
    half_width: float | None
    """Half-width of image_s' 95 % interval: its longer side as a share of the value; null below three
    sessions. Source: derived by fit."""
    unsettled: tuple[str, ...]
    """Requirements whose verdict is not settled, as profile: name; empty without --decide. Source: derived by
    fit."""
    text: str
    """The same in words. Source: derived by fit."""


@dataclass(frozen=True)
class TrialSummary:
    """One trial, summed up from its finished sessions.

    Attributes:
        power_curves: by entry of `power`, of each session the samples of its steady time, a PowerCurve.
    """

    key: Key
    """The trial's key. Source: experiment.json."""
    target: str
    """Name of the target. Source: experiment.json."""
    variant: str
    """Model and precision. Source: experiment.json."""
    depth_multiplier: float | None
    """Width of the network; null for a model of one width. Source: experiment.json."""
    precision: str
    """fp32, fp16 or int8; mixed for a file of several. Source: experiment.json."""
    batch: Positive
    """Patches in one call of the runtime. Source: experiment.json."""
    status: TrialStatus
    """done: the planned number of ok sessions, or published; partial: some; failed: none ok; unsupported: the
    device cannot take it; not_run: no session yet. Source: sessions."""
    reason: str
    """Why the status is not done; empty when it is. Source: sessions."""
    image_s: Interval | None = None
    infer_s: Interval | None = None
    stages_ms: dict[str, float] = field(default_factory=dict)  # a patch; means of sessions' medians
    cold: dict[str, float | None] = field(default_factory=dict)
    """Means over sessions of import_s, load_s, first_inference_s and first_pass_s. Unit: s. Source:
    session.json."""
    accuracy: Accuracy | None = None
    accuracy_reason: str = ""
    """Why accuracy is null; empty when it is not. Source: sessions."""
    auc: RocArea | None = None
    auc_reason: str = "an anomaly detector has it, by --inputs with labels"
    """Why auc is null; empty when it is not. Source: sessions."""
    scene_accuracy: Accuracy | None = None
    agreement: Agreement | None = None
    power: tuple[PowerFigure, ...] | None = None
    """One entry a meter and rail, one of them marked primary; null without a meter. Source: probes.parquet.
    """
    power_reason: str = ""
    """Why power is null; empty when it is not. Source: session.json."""
    memory_bytes: int | None = None  # peak of the worker, mean over sessions
    artifact_bytes: int | None = None  # of what the runtime loads
    mass_g: float | None = None
    size_mm: tuple[float, float, float] | None = None
    board_doubts: dict[str, str] = field(default_factory=dict)
    """By declared figure, such as mass_g: why it may be that of another machine, in words; empty where the
    machine is the declared board, or the figure was declared by itself. Source: the target's description
    and the sessions."""
    body: str = ""
    """Its boards with their sources; empty where none was named. Source: the target."""
    other_machine: str = ""
    """Why no time, power or energy is that of the declared board. Source: sessions."""
    requested: bool = False
    """Whether the command asked by name for this variant, which the device does not take; the exit code is
    then 5. Source: experiment.json."""
    image_s_values: tuple[tuple[float, ...], ...] = ()
    """image_s of the steady passes, by session, in time order. Unit: s. Source: passes.parquet."""
    infer_s_values: tuple[tuple[float, ...], ...] = ()
    """infer_s of the steady passes, by session, in time order. Unit: s. Source: passes.parquet."""
    request_ms: RequestLatency | None = None  # None where requests do not overlap
    in_flight: float | None = None  # requests at once, on average
    request_ms_values: tuple[Sequence[float], ...] = field(default=(), repr=False)
    """Internal: values by session, which batches.parquet has."""
    load_s_values: tuple[float, ...] = ()
    """Load time, one value a session. Unit: s. Source: session.json."""
    cold_values: dict[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    """Internal: values by session, which session.json has."""
    accuracy_drop: AccuracyDrop | None = None
    accuracy_drop_reason: str = ""
    """Why accuracy_drop is null; empty when it is not. Source: sessions."""
    failed_sessions: FailedSessions | None = None  # None where no session ended by itself
    start_s: Interval | None = None  # from the process's start to the first result, over the sessions
    start_s_values: tuple[float, ...] = ()
    """start_s, one value a session that has it. Unit: s. Source: session.json."""
    memory_bytes_values: tuple[int, ...] = ()
    """Peak resident memory, one value a session. Unit: byte. Source: session.json."""
    workers: tuple[dict[str, Any], ...] = ()
    """The workers that shared the sessions; of several each with its figures. Source: session.json."""
    ticks: dict[str, float] = field(default_factory=dict)
    """By metric of time, such as image_s, one tick of the device's clock in the metric's unit: no interval of
    it is narrower on either side. Empty where the tick is not known. Source: session.json."""
    sharing: Sharing | None = None
    """What several workers cost each other and have together; null for one worker. Source: sessions."""
    paced: Paced | None = None
    """Deadlines of paced passes (--period); null when passes ran back to back. Source: derived by fit."""
    sustained: Sustained | None = None
    """How latency moved over sustained sessions (--sustained); null when sessions had a number of passes.
    Source: derived by fit."""
    ended: Ended | None = None
    """Why no further session of the trial was measured; null where none was to be. Source: derived by fit."""
    interval_confidence: float = 0.95
    """Confidence at which Student's t is taken for the intervals of image_s and infer_s: 0.95, or more where
    the interval's own width ended the trial, so that it still covers 95 %. Source: derived by fit."""
    cautions: tuple[Caution, ...] = ()
    """Internal: documents have them as sentences, under warnings and said."""
    interfered: tuple[int, int] = (0, 0)
    """Internal: how many finished sessions other programs disturbed, as cautions say, and of how many."""
    undisturbed: Any = field(default=None, repr=False)
    """Internal: TrialSummary without those sessions; None if there are none, or too few others."""
    failures: tuple[str, ...] = field(default=())
    """What ended sessions early, one sentence each. Source: session.json."""
    timed: str = ""
    """What a pass is, in words: the scene and how it is cut, or how many samples; empty where it was not
    kept. Source: experiment.json."""
    mark: str = ""
    """Remark on every figure of this trial, such as that it was measured on the processor; empty for
    most. Source: experiment.json."""
    assumed: tuple[str, ...] = ()
    """What was assumed of the model's input, because neither its file nor the user says it, such as how
    pixels become numbers; empty where nothing was. Source: experiment.json."""
    state: State = "none"
    """Treatment of what the model carries from one inference to the next: none, reset, kept, partly (reset)
    or resources (kept). Source: experiment.json."""
    built: BuiltArtifact | None = None
    """What the device made of the artifact on the board, and loaded; null where it loads the artifact itself:
    as its first session has it. Source: agent."""
    power_curves: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)
    """Internal: samples, which probes.parquet has."""
    scene_covered: Share | None = None
    """The share of the scene's pixels in at least one patch; null for samples. Unit: share of one.
    Source: experiment.json."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The settings in which the trial's target differs from the others of its sweep, by name: options (--set)
    and power_mode; empty for a target that is not swept. Source: command line or targets file."""
    concurrency: Positive = 1
    """Inferences that the device has in flight at once, under the target's options. Source: the device's
    backend."""
    measured_patches: Positive | None = None
    """The fewest patches of the scene that a steady pass covered, or a session's steady windows together, or
    that its device says it measured. Unit: patch. Source: passes.parquet, windows.parquet, session.json.
    """
    untimed_stages: tuple[str, ...] = ()
    """Stages of an image that its passes do not hold, because the host does them before the device is sent
    what it times: image_s is without patchify then; where preprocess is among them, there is no image_s.
    Source: session.json."""
    extrapolated: bool = False
    """Whether measured_patches are fewer than the scene's: its times are then scaled up to the scene. Never
    of an emulated trial, which has none. Source: passes.parquet, windows.parquet, session.json."""
    emulated: bool = False
    """Whether no device carried out a session of it: it has then no figure in seconds, W or J, and every
    verdict is unknown. Source: session.json."""
    instructions: float | None = None  # an inference; mean over sessions of each session's median
    instructions_reason: str = ""
    """Of an emulated trial, why it has no instructions; empty where it has. Source: session.json."""
    declared_power: tuple[DeclaredPower, ...] = ()  # of its target as a whole, at most one of each kind
    declared_sources: Mapping[str, str] = field(default_factory=dict)
    """Who states the declared mass_g and size_mm, where a flag declared them. Source: experiment.json."""
    boot_s: DeclaredBoot | None = None
    image_bytes: Count | None = None
    """Bytes of one picture of the scene as RGB, of which a mission's backlog makes storage_bytes; null for
    samples. Unit: byte. Source: experiment.json."""
    update_bytes: Count | None = None
    """Bytes of the artifact that is sent to the device: of what the device builds from, where it builds what
    it loads. A profile's uplink_bps makes update_s of them. Unit: byte. Source:
    experiment.json."""
    update_companions: tuple[str, ...] = ()
    """Files that are sent with it and whose sizes are not recorded, such as a calibration. Source:
    experiment.json."""
    stamp_doubt: str = ""
    """Why its stamps are too short, so that nothing that follows from them passes a limit; empty where they
    account for the time that the device was waited for. Source: sessions."""
    power_doubts: dict[PowerKind, str] = field(default_factory=dict)
    """By kind of declared power: which meter contradicts it, in words; it decides nothing then. Empty where
    none does. Source: probes.parquet."""
    published: tuple[Published, ...] = ()
    """Of a trial that others published and nobody measured here: its figures with their sources; empty for a
    measured trial. Source: published figures."""
    # What was computed of its values for one requirement serves those of other profiles.
    figures_of_values: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Internal: what was computed once."""

    def once(self, about: Hashable, compute: Callable[[], T]) -> T:
        """What is computed of the trial, kept under `about` for the other profiles that ask for it."""
        kept: T | None = self.figures_of_values.get(about)
        if kept is None:
            kept = self.figures_of_values[about] = compute()
        return kept

    @property
    def swept_target(self) -> str:
        """Its target without the settings of a sweep: `nano` of `nano[power_mode=10W]`."""
        return self.target.partition("[")[0] if self.settings else self.target

    @property
    def primary_rail(self) -> PowerFigure | None:
        """The meter and rail that a board's power is judged by; None without a meter."""
        return next((rail for rail in self.power or () if rail.primary), None)

    @property
    def latency_quantity(self) -> Literal["image_s", "infer_s"] | None:
        """Which time stands for its latency: `infer_s` where there is no `image_s`; None without either."""
        return "image_s" if self.image_s is not None else "infer_s" if self.infer_s is not None else None

    @property
    def latency(self) -> Interval | None:
        """The time that `latency_quantity` names."""
        return self.image_s if self.image_s is not None else self.infer_s

    @property
    def latency_values(self) -> tuple[tuple[float, ...], ...]:
        """Its values by session, in time order."""
        return self.image_s_values or self.infer_s_values

    @property
    def untimed_reason(self) -> str:
        """Why a trial that was measured has no `image_s`; empty where nothing but its sessions says so."""
        untimed = self.untimed_stages
        alone = f"the device times inference alone, without {_sentence(untimed)}" if untimed else IN_WINDOWS
        reasons = (
            (self.emulated, EMULATED),
            (self.image_s is not None, ""),
            (self.published, self.unpublished("image_s")),
            (self.infer_s is None, ""),
        )
        return next((reason for holds, reason in reasons if holds), alone)

    @property
    def omission(self) -> str:
        """What its `image_s` lacks, and why; empty where it is whole, and where there is none."""
        return "" if self.image_s is None else omission(self.untimed_stages)

    @property
    def has_windows(self) -> bool:
        """Whether its latency is of windows; else of passes."""
        return self.latency_quantity == "infer_s" and not self.untimed_stages and not self.published

    def unpublished(self, quantity: str) -> str:
        """Of a published trial, why a table has no number of a quantity; empty for a measured trial."""
        if not self.published:
            return ""
        figure = next((figure for figure in self.published if figure.quantity == quantity), None)
        if figure is None:
            return "no figure was published"
        return f"no number of it was published: {figure.quote}"

    @property
    def whole_scene(self) -> bool:
        """Whether a pass leaves nothing of the picture out, as far as a tenth of a percent shows."""
        return self.scene_covered is not None and self.scene_covered >= WHOLE

    @property
    def unpooled(self) -> str:
        """Why the trial has no figures of its own: several workers have; empty where one measured alone."""
        several = len(self.workers)
        return f"{several} workers shared the device, and their figures are not pooled" if several > 1 else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The cautions as sentences."""
        return tuple(caution.sentence() for caution in self.cautions)

    @property
    def said(self) -> tuple[str, ...]:
        """Those of the warnings that its device or runtime gave itself."""
        return tuple(caution.sentence() for caution in self.cautions if caution.flag is Flag.SAID)


@dataclass(frozen=True)
class Verdict:
    """One requirement against one trial. `margin` is limit - value (negative when failed), in `unit`."""

    trial: str
    """Key of the trial that is judged. Source: experiment.json."""
    profile: str
    """Name of the profile. Source: profile."""
    requirement: str
    """Name of the requirement. Source: profile."""
    quantity: str
    """What is limited, such as image_s. Source: profile."""
    statistic: str
    """Which statistic of it: median, p90, p99, max or declared. Source: profile."""
    limit: float | tuple[float, ...]
    """The limit, in unit; three numbers for a size. Source: profile."""
    unit: str
    """Unit of limit, value, low, high and margin. Source: profile."""
    value: float | tuple[float, ...] | None
    """The statistic, in unit; null when it is unknown. Source: trial."""
    low: float | None
    """Lower end of its 95 % interval, in unit; null without one. Source: trial."""
    high: float | None
    """Upper end, in unit. Source: trial."""
    verdict: Literal["pass", "fail", "inconclusive", "unknown"]
    """pass, fail, inconclusive (the data cannot decide) or unknown (there is no figure). Source: fit."""
    margin: float | None
    """How far the value keeps from the limit, in unit; negative when failed. Source: fit."""
    reason: str
    """Why, in words. Source: fit."""
    averaging_s: float | None = None
    """Time over which a limit on power means its average; null where it means any moment, and for all else.
    Unit: s. Source: profile."""
    scope: str = ""
    """Of power and energy: what the meter covers whose figure was judged (chip, module, board, usb or wall);
    empty without a meter, and for all else. Source: trial."""
    declared: PowerKind | Literal[""] = ""
    """Which kind of declared figure was judged: of power, where no meter decides, and of a boot time maximum
    or typical. Empty for a measured figure, and for all else. Source: trial."""
    wanted: bool = False
    """Whether it is a wish, which counts neither for the whole profile nor for the exit code. Source:
    profile."""
    bound: Bound | Literal[""] = ""
    """Side of an unknown value's one known end: above or at least low, below or at most high; above
    and below leave that end out. Empty where value is known, or nothing is. Source: trial."""


# What stands beside every figure of a trial: what a pass of it is, and its marks.


def planned_fields(trial: TrialRecord) -> dict[str, Any]:
    """What a summary has of its trial as it was planned, by field."""
    return {name: getattr(trial, name) for name in _PLANNED}


_PLANNED = (
    "key", "target", "variant", "depth_multiplier", "precision", "batch", "concurrency", "requested",
    "assumed", "state",
)  # fmt: skip


def timed_with(scene: SceneRecord) -> str:
    """What a pass is, in words."""
    if scene.kind == "samples":
        return f"{scene.name} (image_s is the time of {scene.patches} inferences)"
    across = scene.patch_width or scene.patch
    apart = "" if scene.stride is None else f", {scene.stride} apart"
    many = f"{scene.patches} patches" if scene.patches != 1 else "1 patch"
    covered = scene.covered
    share = "" if covered is None or covered >= WHOLE else f", {100 * covered:.1f} % of the scene"
    return (
        f"{scene.name}, {scene.width} x {scene.height} pixels, "
        f"{many} of {across} x {scene.patch}{apart}{share}"
    )


def mark_of(
    trial: TrialRecord, ok: Sequence[SessionRecord], untimed: Sequence[str], *, extrapolated: bool
) -> str:
    """The marks of a trial with these finished sessions; that its clock was moved for a test among them."""
    marks = {
        trial.mark: bool(trial.mark),
        "on a test clock": any("test_clock" in record.clock for record in ok),
        "extrapolated": extrapolated,
        f"without {' and '.join(untimed)}": bool(untimed) and times_images(untimed),
        "emulated": any(record.emulated for record in ok),
    }
    return " ".join(mark for mark, holds in marks.items() if mark and holds)
