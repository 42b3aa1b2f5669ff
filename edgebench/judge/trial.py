"""Trials and their estimates. Numbers are in base units; documents and texts convert them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

from edgebench.stats.interval import Count, tick_bounds

if TYPE_CHECKING:  # lists of devices do without pydantic and numpy
    from edgebench.judge.requirements.schedule import Schedule
    from edgebench.records.described import Unwritten
    from edgebench.records.model import BuiltArtifact, State
    from edgebench.records.stored import TrialStatus
    from edgebench.stats.power_curve import PowerCurve
    from edgebench.stats.warnings import Caution

T = TypeVar("T")

Values = tuple[Sequence[float], ...]
"""One array per session that has values, in time order."""

Scope = Literal["chip", "module", "board", "usb", "wall", "scope unknown"]
Basis = Literal["", "declared", "declared maximum", "declared typical", "published"] | Scope
"""Origin of an estimate: empty for a measured one; the meter's scope for power and energy."""

PUBLISHED = "published"
"""Mark of a trial that others published and nobody measured here."""
EMULATED = "emulated: times, power and verdicts do not apply"
"""Reason for missing seconds, watts and verdicts of an emulated trial."""
FULLY_COVERED = 0.9995
"""Share of a scene from which on the rest, which a tenth of a percent does not show, is not mentioned."""
UNPOOLED = "not pooled"
"""Words in the reason of an estimate that several workers do not share."""

UNKNOWN_SCOPE: Scope = "scope unknown"


class Certainty(NamedTuple):
    """Confidence of two-sided intervals over sessions, and of one-sided bounds such as a percentile's."""

    interval: float = 0.95
    bound: float = 0.95

    @classmethod
    def of_look(cls, confidence: float) -> Certainty:
        """Certainty at a look with two-sided intervals of this confidence, half of the rest on each side."""
        return cls(confidence, (1 + confidence) / 2)

    def at_least(self, interval: float) -> Certainty:
        """Same certainty with intervals of at least this confidence."""
        return self if interval <= self.interval else Certainty(interval, self.bound)


STATED = Certainty()
"""Certainty of documents and reports."""


class EstimateKey(NamedTuple):
    """Key of an estimate within its trial. Parts that do not apply are empty."""

    metric: str
    statistic: str
    worker: int | None = None
    rail: str = ""
    """Meter and channel, such as "ina:0 in"."""
    stage: str = ""
    """Stage of an image ("patchify"), side of a size (longest, middle, shortest), kind of declared power."""
    profile: str = ""
    """Profile whose schedule or uplink the estimate depends on."""


@dataclass(frozen=True)
class Estimate:
    """Estimate with its 95 % interval.

    An exact number has low = high = value. A one-sided bound ("more than 5 W") has one end and no value.
    """

    value: float | None = None
    """Value in the metric's unit; null where there is none, or where one end alone is known. Source: fit."""
    low: float | None = None
    """Lower end of its interval; null without one. Source: fit."""
    high: float | None = None
    """Upper end of its interval; null without one. Source: fit."""
    sessions: tuple[float, ...] = ()
    """One value per session, for tests and comparisons; empty where sessions have none. Source: sessions."""
    n: int = 0
    """Passes, images or samples behind it; a missing value with some is inconclusive, else unknown. Source:
    sessions."""
    basis: Basis = ""
    """Origin: empty for a measured estimate, the meter's scope for power and energy, else declared (maximum,
    typical) or published. Source: fit."""
    reason: str = ""
    """Cause of a missing value or end; empty without one. Source: fit."""
    objection: str = ""
    """Cause why it passes no limit however long one measures: scope, gaps, rate, short stamps; else empty.
    Source: fit."""
    strict: bool = False
    """Internal: whether the one end of a bound is itself excluded, as in "above 5 W"."""
    final: bool = False
    """Internal: whether more sessions leave it as it is, as for accuracy and declared numbers."""
    notes: tuple[str, ...] = ()
    """Remarks: source, quote, overlap, slowest worker. Source: fit."""

    @classmethod
    def exact(cls, value: float, **fields: Any) -> Estimate:
        """Estimate of a number without uncertainty."""
        return cls(value, value, value, **{"final": True, **fields})

    @property
    def is_missing(self) -> bool:
        """True if neither a value nor an end is known."""
        return self.value is None and self.low is None and self.high is None

    @property
    def is_exact(self) -> bool:
        """True if the interval is a point."""
        return self.value is not None and self.low == self.value == self.high

    @property
    def longer_side(self) -> float | None:
        """Distance from the value to the farther end; None without an interval."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return max(self.high - self.value, self.value - self.low)

    @property
    def half_width(self) -> float | None:
        """Longer side as a share of the value; None without an interval or a value above 0."""
        side = self.longer_side
        return None if side is None or not self.value or self.value < 0 else side / self.value

    def widened(self, tick: float) -> Estimate:
        """Same estimate with each end at least one tick of the device's clock away from the value."""
        if not tick or self.value is None:
            return self
        low, high = tick_bounds(self.value, self.low, self.high, tick)
        return replace(self, low=low, high=high)

    def in_unit(self, scale: float) -> Estimate:
        """Same estimate in a unit of `scale` base units."""
        ends = (self.value, self.low, self.high)
        value, low, high = (None if end is None else end / scale for end in ends)
        sessions = tuple(number / scale for number in self.sessions)
        return replace(self, value=value, low=low, high=high, sessions=sessions)

    def with_notes(self, *notes: str) -> Estimate:
        """Same estimate with further notes; empty ones are left out."""
        more = tuple(note for note in notes if note)
        return replace(self, notes=(*self.notes, *more)) if more else self


MISSING = Estimate()
"""Estimate of a metric that a trial does not have."""


@dataclass(frozen=True)
class Rail:
    """One channel of a meter in one trial: scope, sampling quality and one curve per session."""

    name: str
    """Meter and channel, such as "ina:0 in"; the `rail` of estimate keys. Source: session.json."""
    meter: str
    """Meter as kind:address. Source: session.json."""
    channel: str
    """Channel of the meter. Source: session.json."""
    scope: Scope
    """Part that it sees: chip, module, board, usb or wall. Source: session.json."""
    total: bool = False
    """True if all other rails of its meter are part of it. Source: session.json."""
    rate_hz: float = 0.0
    """Nominal rate. Unit: Hz. Source: session.json."""
    effective_hz: float | None = None
    """Samples per second within the steady window, of the session with the fewest. Unit: Hz. Source:
    probes.parquet."""
    longest_gap_s: float | None = None
    """Longest time within a steady window without a sample. Unit: s. Source: probes.parquet."""
    averaging_ms: float | None = None
    """Time that a reading is the mean over, of a counter the time between two readings; null where it is
    unknown. Unit: ms. Source: session.json."""
    window_s: float | None = None
    """Steady time of the session with the least. Unit: s. Source: passes.parquet."""
    samples: int = 0
    """Samples in the steady windows. Source: probes.parquet."""
    rejected: int = 0
    """Readings that could not be parsed or were out of range. Source: session.json."""
    uncovered: str = ""
    """Sessions whose steady windows the samples do not cover, and why; else empty. Source: probes.parquet."""
    unknown_lag_s: float | None = None
    """Greatest shift of its readings where the lag is unknown; null where it is known. Unit: s. Source:
    session.json."""
    idle_drift_w: float | None = None
    """Idle power after the last pass less that before the first. Unit: W. Source: probes.parquet."""
    pauses: float = 0.0
    """Largest share of pauses between passes in a session's mean. Source: probes.parquet, passes.parquet."""
    reason: str = ""
    """Cause of missing numbers; else empty. Source: sessions."""
    curves: Annotated[tuple[PowerCurve, ...], Unwritten()] = field(default=(), repr=False, compare=False)
    """Internal: samples of the steady time, one curve per session; none of a stored trial."""


@dataclass(frozen=True)
class Worker:
    """One of several workers that shared a device. Its estimates have this number in their keys."""

    number: int
    """Number of the worker, from 0. Source: session.json."""
    variant: str
    """Variant that it loads. Source: plan."""
    alone: str
    """Key of the trial that measures its variant alone; empty without one. Source: plan."""
    cores: tuple[int, ...]
    """Cores that it was pinned to; empty where it was not. Source: session.json."""
    warnings: tuple[str, ...] = ()
    """Cautions on its passes, as sentences. Source: sessions."""


@dataclass(frozen=True)
class Confusion:
    """Counts of a labelled set by class."""

    images: Literal["images", "scene"]
    """Labelled set: the images, or the patches of the scene. Source: predictions.parquet."""
    classes: tuple[str, ...]
    """Names of the artifact's classes, in their order. Source: the artifact."""
    n: tuple[int, ...]
    """Labelled images per class. Source: predictions.parquet."""
    right: tuple[int, ...]
    """Right ones per class. Source: predictions.parquet."""
    counts: tuple[tuple[int, ...], ...] = ()
    """Images as [label][predicted], of at most 200 classes; else empty. Source: predictions.parquet."""
    commonest: tuple[tuple[int, int, int], ...] = ()
    """Label, prediction and images of the ten commonest confusions. Source: predictions.parquet."""
    worker: int | None = None
    """Number of the worker that predicted them; null for a lone one. Source: predictions.parquet."""


@dataclass(frozen=True)
class Minute:
    """One minute of sustained work."""

    minute: int
    """Minute since the session's first steady pass, from 0; a pass belongs to the one in which it began.
    Source: derived by fit."""
    median_s: float
    """Mean over the sessions of the minute's median latency. Unit: s. Source: derived by fit."""
    n: int
    """Passes of that minute over all sessions. Source: derived by fit."""


@dataclass(frozen=True)
class Sustained:
    """Latency over sessions that went on for a time; means over the sessions."""

    minutes: tuple[Minute, ...]
    """Minutes in order; those in which no pass began are left out. Source: derived by fit."""
    first_quarter_s: float | None
    """Median latency of the first quarter of the passes; null below 8 passes a session. Unit: s. Source:
    derived by fit."""
    last_quarter_s: float | None
    """Median latency of the last quarter of the passes; null below 8 passes a session. Unit: s. Source:
    derived by fit."""
    ratio: float | None
    """Ratio of last_quarter_s to first_quarter_s. Source: derived by fit."""
    slope_per_hour: float | None
    """Theil-Sen slope of the latency over time. Unit: s/h. Source: derived by fit."""
    suspected: bool
    """True if a test for heat found something in any session. Source: derived by fit."""
    because: tuple[str, ...]
    """Tests for heat that found something, in words: quarters, slope, clock, throttling by the board. Source:
    derived by fit."""


EndedBy = Literal["sessions", "rule", "most", "time", "interrupted", "failures"]


@dataclass(frozen=True)
class Ended:
    """End of a trial's measuring."""

    by: EndedBy
    """`sessions`: as many as planned; `rule`: a rule that was asked for was met; `most`: the most sessions
    were there first; `time`: the run's time was over; `interrupted`: the run was, or was killed;
    `failures`: its sessions failed again and again. Source: derived by fit."""
    sessions: Count
    """Sessions that ended well. Source: derived by fit."""
    half_width: float | None
    """Longer side of the latency's 95 % interval as a share of its value; null below three sessions.
    Source: derived by fit."""
    unsettled: tuple[str, ...]
    """Requirements whose verdict is not settled, as profile: name; empty without --decide. Source: derived by
    fit."""
    text: str
    """Ending in words. Source: derived by fit."""


@dataclass(frozen=True)
class SceneOfTrial:
    """Scene of a trial's passes."""

    text: str = ""
    """Scene, size and patches in words. Source: experiment.json."""
    patches: int = 0
    """Patches of the scene, or samples. Source: experiment.json."""
    covered: float | None = None
    """Share of the scene's pixels in at least one patch; null for samples. Source: experiment.json."""
    measured_patches: int | None = None
    """Fewest patches that a steady pass covered; null without a pass. Source: sessions."""
    untimed_stages: tuple[str, ...] = ()
    """Stages that the host does before the device is sent what it times. Source: session.json."""
    image_bytes: int | None = None
    """Size of one picture as RGB; null for samples. Unit: byte. Source: experiment.json."""
    update_bytes: int | None = None
    """Size of the artifact that is sent to the device. Unit: byte. Source: the artifact."""
    companions: tuple[str, ...] = ()
    """Files that are sent with it and whose sizes are not recorded. Source: the artifact."""


class Cached:
    """Mixin that keeps what is computed once."""

    cache: dict[Any, Any]

    def once(self, question: Hashable, compute: Callable[[], T]) -> T:
        """Result of `compute`, kept for the next time that the question is asked."""
        if question not in self.cache:
            self.cache[question] = compute()
        answer: T = self.cache[question]
        return answer


@dataclass(frozen=True)
class Trial(Cached):
    """One planned trial: identity, status, estimates, and the conditions of the measurement."""

    key: str
    """Key of the trial. Source: experiment.json."""
    target: str
    """Name of its target. Source: plan."""
    variant: str
    """Model and precision, such as mobilenet_v1-0.25-int8. Source: plan."""
    depth_multiplier: float | None
    """Width of the network; null for a model of one width. Source: plan."""
    precision: str
    """Precision: fp32, fp16 or int8; mixed for a file of several. Source: plan."""
    batch: int
    """Patches in one call of the runtime. Source: plan."""
    concurrency: int = 1
    """Inferences that the device has in flight. Source: experiment.json."""
    state: State = "none"
    """Treatment of the state between inferences: none, reset, kept, partly or resources. Source: the
    artifact."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Options and power mode that differ from the other targets of its sweep. Source: experiment.json."""
    requested: bool = False
    """True if the command named this variant. Source: preparation."""
    status: TrialStatus = "done"
    """Progress: done, partial, failed, unsupported or not_run. Source: sessions."""
    reason: str = ""
    """Cause of a status that is not done; else empty. Source: sessions."""
    estimates: Mapping[EstimateKey, Estimate] = field(default_factory=dict)
    """Internal: estimates at default statistics, those that represent the trial first."""
    values: Annotated[Mapping[EstimateKey, Values], Unwritten()] = field(default_factory=dict, repr=False)
    """Internal: values per pass, request or session behind them; none of a stored trial."""
    rails: tuple[Rail, ...] = ()
    """Rails of its meters; the first represents the board. Source: sessions."""
    workers: tuple[Worker, ...] = ()
    """Workers, where several shared the device; else empty. Source: sessions."""
    share: str = ""
    """Sharing of the cores among several workers: naive or cores; empty for one. Source: plan."""
    confusions: tuple[Confusion, ...] = ()
    """Counts by class of the labelled images, by worker, and of the scene. Source: predictions.parquet."""
    sustained: Sustained | None = None
    """Latency over sessions that went on for a time; null without such. Source: sessions."""
    ended: Ended | None = None
    """Reason why no further session was measured; null where it is unknown. Source: sessions."""
    cautions: Annotated[tuple[Caution, ...], Unwritten()] = ()
    """Internal: documents have them as sentences."""
    failures: tuple[str, ...] = ()
    """Sessions that failed, one sentence each. Source: sessions."""
    confidence: float = 0.95
    """Confidence of its intervals: higher where their width ended the measuring. Source: experiment.json."""
    ticks: Mapping[str, float] = field(default_factory=dict)
    """One tick of the device's clock by metric of time, in the metric's unit. Source: session.json."""
    period_s: float | None = None
    """Time between the due times of two passes; null where they were not paced. Unit: s. Source:
    experiment.json."""
    scene: SceneOfTrial = SceneOfTrial()
    """Scene of its passes. Source: experiment.json."""
    built: BuiltArtifact | None = None
    """File that was built on the board; null where none was. Source: session.json."""
    body: str = ""
    """Boards of its target with their sources. Source: experiment.json."""
    marks: tuple[str, ...] = ()
    """Marks on all its estimates: published, emulated, extrapolated, on the CPU. Source: fit."""
    assumed: tuple[str, ...] = ()
    """Assumptions on the model's input. Source: the artifact."""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """Cause of a doubt by its subject: stamps, machine, power.maximum, power.typical or a declared metric.
    Source: sessions."""
    disturbed: tuple[int, int] = (0, 0)
    """Finished sessions that other programs disturbed, and finished sessions. Source: sessions."""
    undisturbed: Annotated[Trial | None, Unwritten()] = field(default=None, repr=False)
    """Internal: the trial of the other sessions; None where none or too few are left."""
    cache: Annotated[dict[Any, Any], Unwritten()] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Internal: results of `once`."""

    def estimates_of(self, metric: str) -> Iterator[tuple[EstimateKey, Estimate]]:
        """Estimates of a metric with their keys, the one that represents the trial first."""
        keys = self.once(("keys", metric), lambda: [key for key in self.estimates if key.metric == metric])
        return ((key, self.estimates[key]) for key in keys)

    def estimate(self, metric: str, worker: int | None = None) -> Estimate:
        """Estimate that represents a metric: of the trial, or of one of its workers; MISSING without one."""
        estimates = self.estimates_of(metric)
        return next((estimate for key, estimate in estimates if key.worker == worker), MISSING)

    def values_of(self, metric: str, worker: int | None = None) -> Values:
        """Values by session behind the metric's estimate; empty where none are kept."""
        keys = (key for key, _ in self.estimates_of(metric) if key.worker == worker)
        return next((self.values[key] for key in keys if key in self.values), ())

    @property
    def latency_metric(self) -> Literal["image_s", "infer_s"] | None:
        """Time that represents the latency: `infer_s` where there is no `image_s`; None without either."""
        names: tuple[Literal["image_s", "infer_s"], ...] = ("image_s", "infer_s")
        return next((name for name in names if self.estimate(name).value is not None), None)

    @property
    def latency(self) -> Estimate | None:
        """Estimate of `latency_metric`."""
        return self.estimate(self.latency_metric) if self.latency_metric else None

    @property
    def latency_values(self) -> Values:
        """Latencies by session, in time order."""
        return self.values_of(self.latency_metric) if self.latency_metric else ()

    @property
    def mark(self) -> str:
        """Marks in one text: `on the CPU extrapolated`."""
        return " ".join(self.marks)

    @property
    def is_published(self) -> bool:
        """True if others published it and nobody measured it here."""
        return PUBLISHED in self.marks

    @property
    def is_emulated(self) -> bool:
        """True if a finished session was emulated."""
        return "emulated" in self.marks

    @property
    def has_estimates(self) -> bool:
        """True if a session of it finished, or others published it."""
        return self.status in ("done", "partial")

    @property
    def was_measured(self) -> bool:
        """True if it has a latency, or was emulated."""
        return self.latency_metric is not None or self.is_emulated

    @property
    def is_shared(self) -> bool:
        """True if several workers shared the device."""
        return len(self.workers) > 1

    @property
    def in_windows(self) -> bool:
        """True if its latency is of windows; else of passes."""
        return self.latency_metric == "infer_s" and not self.scene.untimed_stages and not self.is_published

    @property
    def swept_target(self) -> str:
        """Target without the settings of a sweep: `nano` of `nano[power_mode=10W]`."""
        return self.target.partition("[")[0] if self.settings else self.target

    @property
    def warnings(self) -> tuple[str, ...]:
        """Cautions as sentences."""
        return tuple(caution.sentence() for caution in self.cautions)

    @property
    def device_warnings(self) -> tuple[str, ...]:
        """Warnings that its device or runtime gave itself."""
        from edgebench.stats.warnings import Flag

        return tuple(caution.sentence() for caution in self.cautions if caution.flag is Flag.SAID)


class Conditions(NamedTuple):
    """Everything besides the trial that an estimate depends on."""

    statistic: str
    certainty: Certainty = STATED
    averaging_s: float | None = None
    schedule: Schedule | None = None
    uplink_bps: float | None = None
