"""What a trial comes to: the figures that verdicts and reports are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from edgebench.fit.published import Bound, Published
from edgebench.fit.untimed_stages import inference_alone, omission
from edgebench.stats.interval import Interval
from edgebench.stats.warnings import Caution, Flag
from edgebench.vocabulary.built_artifact import BuiltArtifact
from edgebench.vocabulary.declared_conditions import DeclaredBoot, DeclaredTemperature
from edgebench.vocabulary.declared_power import DeclaredPower, PowerKind

WHOLE = 0.9995
"""From this share of a scene on the rest, which a tenth of a percent does not show, is not spoken of."""

EMULATED = "emulated: no device carried it out, so that nothing of it is a device's time, power or verdict"
"""Why a trial has no figure in seconds and no verdict."""

IN_WINDOWS = "measured in windows of one resident patch: no pass over the scene was timed"
"""Why a trial has `infer_s` and no `image_s`."""

UNKNOWN_SCOPE = "scope unknown"
"""Stands for the scope of a meter that does not say what it covers."""

TrialStatus = Literal["done", "partial", "failed", "unsupported", "not_run"]


@dataclass(frozen=True)
class Accuracy:
    """k right of n, with the Wilson interval at 95 %, and the confusion matrix [label][predicted]."""

    k: int
    n: int
    low: float
    high: float
    confusion: tuple[tuple[int, ...], ...] = ()
    class_names: tuple[str, ...] = ()
    overlapping: bool = False


@dataclass(frozen=True)
class Agreement:
    """How often a variant predicts what the fp32 variant of its depth on the same target predicts."""

    k: int
    n: int
    only_this_right: int
    only_fp32_right: int
    mcnemar_p: float | None


@dataclass(frozen=True)
class AccuracyDrop:
    """Points of accuracy below the fp32 variant of its depth on the same target, over the same n images.

    `low` and `high` are the ends of the paired interval at 95 % (`edgebench.stats.paired`); below 0 where it
    is right more often than fp32.
    """

    points: float
    low: float
    high: float
    n: int
    only_this_right: int
    only_fp32_right: int


@dataclass(frozen=True)
class FailedSessions:
    """k of the n sessions that came to an end by themselves failed, with the Wilson interval at 95 %.

    A session that was interrupted is none of them: who interrupts it says nothing about the device.
    """

    k: int
    n: int
    low: float
    high: float


@dataclass(frozen=True)
class RequestLatency:
    """From a request's submission to its completion, in ms, over the steady passes; a request is a batch.

    `median` is the mean over sessions of each session's median; `p99` is of all requests, and None where
    they are too few, as `reason` then says.
    """

    median: float
    p99: float | None
    n: int
    reason: str = ""


@dataclass(frozen=True)
class PowerFigure:
    """One meter and rail over the steady windows; energy is an image's, gross and net of idle."""

    meter: str
    channel: str
    scope: str
    primary: bool
    rate_hz: float
    samples: int
    mean_w: float | None
    peak_w: float | None
    idle_w: float | None
    energy_j: float | None
    net_energy_j: float | None
    reason: str = ""  # why a figure above is None, or what mean and energy hold beside the passes
    window_s: float | None = None  # the shortest steady window over the sessions
    mean_w_sessions: tuple[float, ...] = ()  # one value a session that has one; intervals come from these
    energy_j_sessions: tuple[float, ...] = ()
    uncovered: str = ""  # which sessions' windows it did not see all of, and why: it passes no limit then
    p99_w: float | None = None  # of all samples in the windows; None below the n that the percentile takes
    mean_low_w: float | None = None  # the interval of mean_w, and so on (stats.power_spread)
    mean_high_w: float | None = None
    energy_low_j: float | None = None
    energy_high_j: float | None = None
    net_low_j: float | None = None
    net_high_j: float | None = None
    effective_hz: float | None = None  # how many samples a second truly came: the least over the sessions
    longest_gap_s: float | None = None  # the longest time within a window without a sample
    averaging_ms: float | None = None  # what a reading is the mean over; None where it is not known
    total: bool = False  # the rail that all others of its meter are part of
    rejected: int = 0  # readings of its meter that were none, or out of range, over the sessions
    idle_drift_w: float | None = None  # idle power after the passes less that before them


@dataclass(frozen=True)
class Paced:
    """Steady passes that began at their due times, over all sessions.

    `misses` were not done when the next was due; `worst_lateness_s` is the greatest end against deadline,
    below 0 when every pass was in time. `by_session` has the misses and the passes of each session.
    """

    period_s: float
    passes: int
    misses: int
    worst_lateness_s: float
    by_session: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Minute:
    """One minute of sustained work, counted from 0: the mean over sessions of its median; passes in all."""

    minute: int
    median_s: float
    n: int


@dataclass(frozen=True)
class Sustained:
    """How the trial's latency moved over sessions that went on for a time; means over the sessions.

    The quarters' medians, their ratio and the slope (Theil-Sen, seconds of the scene an hour) are None below
    8 passes a session. `because` says which of the tests for heat found something.
    """

    minutes: tuple[Minute, ...]
    first_quarter_s: float | None
    last_quarter_s: float | None
    ratio: float | None
    slope_per_hour: float | None
    suspected: bool
    because: tuple[str, ...]


EndedBy = Literal["sessions", "rule", "most", "time", "interrupted", "failures"]


@dataclass(frozen=True)
class Ended:
    """Why no further session of a trial was measured.

    Attributes:
        by: as many as planned; a rule that was met (an interval that is narrow enough, verdicts that are
            settled); the most sessions allowed, before it was met; the run's time; an interrupt or a kill;
            sessions that failed again and again.
        sessions: how many ended well.
        half_width: of the latency's interval (see Interval.half_width); None where it has none.
        unsettled: requirements whose verdict is open, as `profile: name`; empty where nobody asked.
        text: the same in words.
    """

    by: EndedBy
    sessions: int
    half_width: float | None
    unsettled: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class TrialSummary:
    """One trial, summed up from its finished sessions.

    Attributes:
        power_curves: by entry of `power`, of each session the samples of its steady time, a PowerCurve.
    """

    key: str
    target: str
    variant: str
    depth_multiplier: float | None
    precision: str
    batch: int
    status: TrialStatus
    reason: str
    image_s: Interval | None
    infer_s: Interval | None
    stages_ms: dict[str, float]  # a patch; mean over sessions of each session's median
    cold: dict[str, float | None]  # means over sessions: import_s, load_s, first_inference_s, first_pass_s
    accuracy: Accuracy | None
    accuracy_reason: str
    scene_accuracy: Accuracy | None
    agreement: Agreement | None
    power: tuple[PowerFigure, ...] | None
    power_reason: str
    memory_bytes: int | None  # peak of the worker, mean over sessions
    artifact_bytes: int | None  # of what the runtime loads
    mass_g: float | None
    size_mm: tuple[float, float, float] | None
    board_doubts: dict[str, str] = field(default_factory=dict)  # why what its boards bring may be another's
    requested: bool = False  # unsupported, although the command asked for it by name
    image_s_values: tuple[tuple[float, ...], ...] = ()  # steady passes by session, in time order
    infer_s_values: tuple[tuple[float, ...], ...] = ()
    request_ms: RequestLatency | None = None  # None where requests do not overlap
    in_flight: float | None = None  # requests at once, on average
    request_ms_values: tuple[Sequence[float], ...] = field(default=(), repr=False)  # by session; not stored
    load_s_values: tuple[float, ...] = ()  # one a session
    cold_values: dict[str, tuple[float, ...]] = field(default_factory=dict, repr=False)  # same; not stored
    accuracy_drop: AccuracyDrop | None = None
    accuracy_drop_reason: str = ""  # why there is none
    failed_sessions: FailedSessions | None = None  # None where no session ended by itself
    start_s: Interval | None = None  # from the process's start to the first result, over the sessions
    start_s_values: tuple[float, ...] = ()  # one a session that has it
    memory_bytes_values: tuple[int, ...] = ()  # peak of each session
    workers: tuple[dict[str, Any], ...] = ()
    paced: Paced | None = None
    sustained: Sustained | None = None
    ended: Ended | None = None
    interval_confidence: float = 0.95  # of Student's t for image_s and infer_s; they cover 95 % all the same
    cautions: tuple[Caution, ...] = ()
    failures: tuple[str, ...] = field(default=())
    timed: str = ""  # what a pass is, in words
    mark: str = ""  # what stands beside every figure, such as "on the CPU"
    assumed: tuple[str, ...] = ()  # of the model's input, because neither the file nor the user says it
    built: BuiltArtifact | None = None  # on the board, as its first session has it
    power_curves: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)  # not stored
    scene_covered: float | None = None  # share of the picture that its patches cover; None for samples
    settings: dict[str, Any] = field(default_factory=dict)  # in which its target differs within a sweep
    concurrency: int = 1  # inferences that the device has in flight
    measured_patches: int | None = None  # the fewest of a steady pass, or of a session's windows
    untimed_stages: tuple[str, ...] = ()  # of an image, that its passes do not hold, such as patchify
    extrapolated: bool = False  # fewer than the scene has: its times are scaled up to the whole scene
    emulated: bool = False  # no device carried it out: no figure in seconds, no verdict
    instructions: float | None = None  # an inference; mean over sessions of each session's median
    instructions_reason: str = ""  # of an emulated trial: why there are none
    declared_power: tuple[DeclaredPower, ...] = ()  # of its target as a whole, at most one of each kind
    boot_s: DeclaredBoot | None = None
    temperature_c: DeclaredTemperature | None = None
    image_bytes: int | None = None  # of one picture of the scene, as RGB; None for samples
    update_bytes: int | None = None  # of the artifact that is sent, be it built from on the board
    update_companions: tuple[str, ...] = ()  # files that are sent with it, whose sizes are not recorded
    power_doubts: dict[PowerKind, str] = field(default_factory=dict)  # by kind: which meter contradicts it
    published: tuple[Published, ...] = ()  # of a trial that others published: all that is known of it
    # What was computed of its values for one requirement serves those of other profiles.
    figures_of_values: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

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
        if self.emulated:
            return EMULATED
        if self.image_s is not None:
            return ""
        if self.published:
            return self.unpublished("image_s")
        if self.infer_s is None:
            return ""
        return inference_alone(self.untimed_stages) if self.untimed_stages else IN_WINDOWS

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
            return f"nothing was published of {quantity}"
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
    profile: str
    requirement: str
    quantity: str
    statistic: str
    limit: float | tuple[float, ...]
    unit: str
    value: float | tuple[float, ...] | None
    low: float | None
    high: float | None
    verdict: Literal["pass", "fail", "inconclusive", "unknown"]
    margin: float | None
    reason: str
    averaging_s: float | None = None  # of power: the time over which the limit means its average
    scope: str = ""  # of power and energy: what the meter covers whose figure was judged
    declared: PowerKind | Literal["range", ""] = ""  # which kind of declared figure was judged, if one was
    wanted: bool = False  # a wish: it counts neither for the whole profile nor for the exit code
    bound: Bound | Literal[""] = ""  # how an unknown value lies to `low` or `high`, which alone is known
