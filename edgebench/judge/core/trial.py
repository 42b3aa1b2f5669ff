"""Trials and their estimates. Numbers are in base units; documents and texts convert them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from edgebench.judge.schedule import Schedule
from edgebench.stats.interval import Count, tick_bounds

if TYPE_CHECKING:  # commands about profiles do without numpy
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
    """Stage of an image, such as "patchify", or side of a size: longest, middle, shortest."""
    profile: str = ""
    """Profile whose schedule or uplink the estimate depends on."""


@dataclass(frozen=True)
class Estimate:
    """Estimate with its 95 % interval.

    An exact number has low = high = value. A one-sided bound ("more than 5 W") has one end and no value.

    Attributes:
        sessions: one value per session, for tests and comparisons.
        n: passes, images or samples behind it; a missing value with n > 0 is inconclusive, else unknown.
        basis: origin.
        reason: cause of a missing value or end.
        objection: cause why it passes no limit however long one measures: scope, gaps, rate, short stamps.
        strict: whether the one end of a bound is itself excluded, as in "above 5 W".
        final: whether more sessions leave it as it is, as for accuracy and declared numbers.
        notes: source, quote, overlap, slowest worker.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    sessions: tuple[float, ...] = ()
    n: int = 0
    basis: Basis = ""
    reason: str = ""
    objection: str = ""
    strict: bool = False
    final: bool = False
    notes: tuple[str, ...] = ()

    @classmethod
    def exact(cls, value: float, **fields: Any) -> Estimate:
        """Estimate of a number without uncertainty."""
        return cls(value, value, value, **{"final": True, **fields})

    @property
    def is_missing(self) -> bool:
        """Whether neither a value nor an end is known."""
        return self.value is None and self.low is None and self.high is None

    @property
    def is_exact(self) -> bool:
        """Whether the interval is a point."""
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

    def with_notes(self, *notes: str) -> Estimate:
        """Same estimate with further notes; empty ones are left out."""
        more = tuple(note for note in notes if note)
        return replace(self, notes=(*self.notes, *more)) if more else self


MISSING = Estimate()
"""Estimate of a metric that a trial does not have."""


@dataclass(frozen=True)
class Rail:
    """One channel of a meter in one trial: scope, sampling quality and one curve per session.

    Attributes:
        name: meter and channel, such as "ina:0 in"; the `rail` of estimate keys.
        total: whether all other rails of its meter are part of it.
        rate_hz: nominal rate.
        effective_hz: samples per second within the steady window, of the session with the fewest.
        longest_gap_s: longest time within a steady window without a sample.
        averaging_ms: time that a reading is the mean over; None where unknown.
        window_s: steady time of the session with the least.
        samples: samples in the steady windows.
        rejected: readings that could not be parsed or were out of range.
        uncovered: sessions whose steady windows the samples do not cover, and why; else empty.
        unknown_lag_s: greatest shift of its readings where the lag is unknown; None where it is known.
        idle_drift_w: idle power after the last pass less that before the first.
        pauses: largest share of pauses between passes in a session's mean.
        reason: cause of missing numbers.
        curves: samples of the steady time, one curve per session; none of a stored trial.
    """

    name: str
    meter: str
    channel: str
    scope: Scope
    total: bool = False
    rate_hz: float = 0.0
    effective_hz: float | None = None
    longest_gap_s: float | None = None
    averaging_ms: float | None = None
    window_s: float | None = None
    samples: int = 0
    rejected: int = 0
    uncovered: str = ""
    unknown_lag_s: float | None = None
    idle_drift_w: float | None = None
    pauses: float = 0.0
    reason: str = ""
    curves: tuple[PowerCurve, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True)
class Worker:
    """One of several workers that shared a device. Its estimates have this number in their keys.

    Attributes:
        alone: key of the trial that measures its variant alone; empty without one.
        cores: cores that it was pinned to; empty where it was not.
        warnings: cautions on its passes, as sentences.
    """

    number: int
    variant: str
    alone: str
    cores: tuple[int, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Confusion:
    """Counts of a labelled set by class.

    Attributes:
        images: the set.
        classes: names of the artifact's classes, in their order.
        n: labelled images per class.
        right: right ones per class.
        counts: images as [label][predicted], of at most 200 classes; else empty.
        commonest: label, prediction and images of the ten commonest confusions.
        worker: number of the worker that predicted them; None of a lone one.
    """

    images: Literal["images", "scene"]
    classes: tuple[str, ...]
    n: tuple[int, ...]
    right: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...] = ()
    commonest: tuple[tuple[int, int, int], ...] = ()
    worker: int | None = None


class Minute(NamedTuple):
    """One minute of sustained work."""

    minute: int
    """Minute since the session's first steady pass, from 0; a pass belongs to the one in which it began.
    Source: derived by fit."""
    median_s: float
    """Mean over the sessions of the minute's median latency. Unit: s. Source: derived by fit."""
    n: int
    """Passes of that minute over all sessions. Source: derived by fit."""


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
    """Scene of a trial's passes.

    Attributes:
        text: scene, size and patches in words.
        patches: patches of the scene, or samples.
        covered: share of the scene's pixels in at least one patch; None for samples.
        measured_patches: fewest patches that a steady pass covered; None without a pass.
        untimed_stages: stages that the host does before the device is sent what it times.
        image_bytes: bytes of one picture as RGB; None for samples.
        update_bytes: bytes of the artifact that is sent to the device.
        companions: files that are sent with it and whose sizes are not recorded.
    """

    text: str = ""
    patches: int = 0
    covered: float | None = None
    measured_patches: int | None = None
    untimed_stages: tuple[str, ...] = ()
    image_bytes: int | None = None
    update_bytes: int | None = None
    companions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """One planned trial: identity, status, estimates, and the conditions of the measurement.

    Attributes:
        settings: options and power mode that differ from the other targets of its sweep.
        requested: whether the command named this variant.
        reason: cause of a status that is not "done".
        estimates: estimates at default statistics, those that represent the trial first.
        values: values per pass, request or session behind them; none of a stored trial.
        rails: rails of its meters; the first represents the board.
        body: boards of its target with their sources.
        confidence: confidence of its intervals: higher where their width ended the measuring.
        ticks: by metric of time one tick of the device's clock, in the metric's unit.
        disturbed: finished sessions that other programs disturbed, and finished sessions.
        undisturbed: the trial of the other sessions; None where none or too few are left.
        marks: "published", "emulated", "extrapolated", "on the CPU".
        doubts: by "stamps", "machine", "power.maximum", "power.typical" or declared metric: cause of a doubt.
    """

    key: str
    target: str
    variant: str
    depth_multiplier: float | None
    precision: str
    batch: int
    concurrency: int = 1
    state: State = "none"
    settings: Mapping[str, Any] = field(default_factory=dict)
    requested: bool = False
    status: TrialStatus = "done"
    reason: str = ""
    estimates: Mapping[EstimateKey, Estimate] = field(default_factory=dict)
    values: Mapping[EstimateKey, Values] = field(default_factory=dict, repr=False)
    rails: tuple[Rail, ...] = ()
    workers: tuple[Worker, ...] = ()
    share: str = ""
    confusions: tuple[Confusion, ...] = ()
    sustained: Any = None
    ended: Ended | None = None
    cautions: tuple[Caution, ...] = ()
    failures: tuple[str, ...] = ()
    confidence: float = 0.95
    ticks: Mapping[str, float] = field(default_factory=dict)
    period_s: float | None = None
    scene: SceneOfTrial = SceneOfTrial()
    built: BuiltArtifact | None = None
    body: str = ""
    marks: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    doubts: Mapping[str, str] = field(default_factory=dict)
    disturbed: tuple[int, int] = (0, 0)
    undisturbed: Trial | None = field(default=None, repr=False)
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, question: Hashable, compute: Callable[[], T]) -> T:
        """Result of `compute`, kept for the next time that the question is asked."""
        if question not in self.cache:
            self.cache[question] = compute()
        answer: T = self.cache[question]
        return answer

    def estimates_of(self, metric: str) -> Iterator[tuple[EstimateKey, Estimate]]:
        """Estimates of a metric with their keys, the one that represents the trial first."""
        by_metric: dict[str, list[EstimateKey]] = self.once("estimates by metric", self._by_metric)
        return ((key, self.estimates[key]) for key in by_metric.get(metric, ()))

    def _by_metric(self) -> dict[str, list[EstimateKey]]:
        keys: dict[str, list[EstimateKey]] = {}
        for key in self.estimates:
            keys.setdefault(key.metric, []).append(key)
        return keys

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
        return self.values_of("image_s") or self.values_of("infer_s")

    @property
    def is_published(self) -> bool:
        """Whether others published it and nobody measured it here."""
        return PUBLISHED in self.marks

    @property
    def is_emulated(self) -> bool:
        """Whether no device carried out one of its finished sessions."""
        return "emulated" in self.marks

    @property
    def was_measured(self) -> bool:
        """Whether it has a latency, or what an emulated device did."""
        return self.latency_metric is not None or self.is_emulated

    @property
    def is_shared(self) -> bool:
        """Whether several workers shared the device."""
        return len(self.workers) > 1

    @property
    def in_windows(self) -> bool:
        """Whether its latency is of windows; else of passes."""
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
