"""The catalogue of metrics: what a trial comes to, each metric described once.

Requirements, the CSV's columns, the tables, the `--json` document with its reasons and the schemas'
descriptions iterate over it. A new metric is one entry here and, where no figure of `TrialSummary` holds it
yet, what computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # statistics take long to import, and requirements are read without them
    from edgebench.fit.figure import Certainty, Figure
    from edgebench.fit.trial_summary import PowerFigure, TrialSummary

SHARE_UNITS = {"1": 1.0, "%": 0.01}
TIME_UNITS = {"s": 1.0, "ms": 1e-3}
POWER_UNITS = {"W": 1.0, "mW": 1e-3}
ENERGY_UNITS = {"J": 1.0, "mJ": 1e-3}
BYTE_UNITS = {"bytes": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
MASS_UNITS = {"g": 1.0, "kg": 1e3}
LENGTH_UNITS = {"mm": 1.0, "cm": 10.0}


@dataclass(frozen=True)
class Question:
    """What a requirement asks of a trial.

    Attributes:
        metric: the name of what it is about.
        statistic: one of the metric's.
        limit: in the metric's base unit; infinite for a body, which has three.
        averaging_s: of power: the time over which the limit means its average.
    """

    metric: str
    statistic: str
    limit: float
    averaging_s: float | None = None


Judge = Callable[["TrialSummary", Question, "Certainty"], "Figure"]
"""What gives the figure that a requirement is held against, in the metric's base unit."""


@dataclass(frozen=True)
class Sampled:
    """Judged by the values of the sessions, with an interval over sessions.

    Attributes:
        values: of a trial, by session; sessions without any are left out.
        of: what a value is of, in the plural.
        absent: why there is no figure where there are no values.
        above_zero: whether a value that is not above 0 cannot have been measured.
    """

    values: Callable[[TrialSummary], Sequence[Sequence[float]]]
    of: Literal["passes", "sessions"]
    absent: str
    above_zero: bool = True


@dataclass(frozen=True)
class Stated:
    """Judged by one number that was declared or recorded, and has no interval.

    Attributes:
        what: it is, in words.
        absent: why there is no figure where it is missing.
        doubted: whether the trial's `board_doubts` may say that it is another machine's.
    """

    what: str
    absent: str
    doubted: bool = False


Judging = Sampled | Stated | Literal["accuracy", "deadlines", "peak power", "mean power", "energy"] | Judge


@dataclass(frozen=True)
class Metric:
    """One thing that a trial comes to.

    Attributes:
        name: in requirements, and in the JSON and the CSV unless these say otherwise.
        sentence: what it is, for the documentation and the schemas.
        value: of a trial: a number, an Interval, an Accuracy, a mapping by stage, ...; None where missing.
        units: unit -> how many of the base unit it is, the base unit (that of the figures) first.
        source: the file or the clock that it comes from.
        better: which values are better.
        statistics: those that a requirement may ask for, the default first; none where no requirement may be
            about it. `declared` is what the target's description says, `share` is k of n, `recorded` is a
            single number.
        judged: how a requirement's figure comes about.
        missing: why the value is missing in a trial that was measured; empty where only a trial that was not
            measured lacks it. Of the metrics that share a field, the first says it.
        json_field: the field of a trial's document that holds it; None for one of its own name.
        csv: heading -> which field of the value, the value itself where that is empty; None for one column
            of the metric's name.
        keyed: whether the value is a mapping whose keys differ between trials; `{key}` in a heading of `csv`
            stands for them.
        share_of: what a share is of, in the singular; empty for what is no share.
    """

    name: str
    sentence: str
    value: Callable[[TrialSummary], Any]
    units: Mapping[str, float]
    source: str
    better: Literal["lower", "higher"] = "lower"
    statistics: tuple[str, ...] = ()
    judged: Judging | None = None
    missing: Callable[[TrialSummary], str] = field(default=lambda trial: "")
    json_field: str | None = None
    csv: Mapping[str, str] | None = None
    keyed: bool = False
    is_power: bool = False
    is_size: bool = False
    share_of: str = ""

    @property
    def unit(self) -> str:
        """The base unit."""
        return next(iter(self.units))

    @property
    def at_least(self) -> bool:
        """Whether a requirement wants its figure to reach the limit rather than to stay below it."""
        return self.better == "higher"

    @property
    def csv_fields(self) -> Mapping[str, str]:
        """Heading -> which field of the value, the value itself where that is empty."""
        return {self.name: ""} if self.csv is None else self.csv

    @property
    def json_place(self) -> str:
        """The field of a trial's document that holds it."""
        return self.json_field or self.name


def _columns(name: str, *of: str) -> dict[str, str]:
    return {f"{name}_{part}": part for part in of}


def _cold(name: str) -> Callable[[TrialSummary], float | None]:
    return lambda trial: trial.cold.get(name)


def _primary(name: str) -> Callable[[TrialSummary], float | None]:
    """A field of the meter and rail that a board's power is judged by."""

    def value(trial: TrialSummary) -> float | None:
        rail: PowerFigure | None = next((rail for rail in trial.power or () if rail.primary), None)
        return None if rail is None else getattr(rail, name)

    return value


def _by_session(name: str) -> Callable[[TrialSummary], Sequence[Sequence[float]]]:
    """A field of one value a session as values by session."""
    return lambda trial: [[float(value)] for value in getattr(trial, name)]


def _missed_share(trial: TrialSummary) -> float | None:
    return trial.paced.misses / trial.paced.passes if trial.paced and trial.paced.passes else None


def _was_measured(trial: TrialSummary) -> bool:
    return trial.latency is not None or trial.emulated


def _no_session_said(trial: TrialSummary) -> str:
    return "the session did not say" if _was_measured(trial) else ""


def _no_scene_accuracy(trial: TrialSummary) -> str:
    return "" if not _was_measured(trial) else "the scene has no labels in the artifact's classes"


def _no_agreement(trial: TrialSummary) -> str:
    is_fp32 = trial.precision == "fp32"
    return "this is the fp32 variant" if is_fp32 else "there is no fp32 variant to compare with"


def _no_pace(trial: TrialSummary) -> str:
    return trial.untimed_reason or ("" if trial.image_s is None else "the passes were not paced (--period)")


_INTERVAL = ("median", "low", "high", "sessions", "n")
_SHARE = ("k", "n", "low", "high")

_ENTRIES = (
    Metric(
        "image_s",
        "Seconds from the scene in the device's memory to the last score: patchify, preprocess, infer.",
        attrgetter("image_s"),
        TIME_UNITS,
        source="sessions",
        statistics=("median", "p90", "p99", "max"),
        judged=Sampled(
            attrgetter("image_s_values"), "passes", absent="no finished session holds a steady pass"
        ),
        missing=attrgetter("untimed_reason"),
        csv=_columns("image_s", *_INTERVAL),
    ),
    Metric(
        "infer_s",
        "Seconds in which the runtime works on the scene's patches: the union of the inference intervals "
        "where they overlap; of windows their duration over their inferences, times the scene's patches.",
        attrgetter("infer_s"),
        TIME_UNITS,
        source="sessions",
        statistics=("median", "p90", "p99", "max"),
        judged=Sampled(
            attrgetter("infer_s_values"),
            "passes",
            absent="no finished session holds a time of a stage called infer",
        ),
        missing=attrgetter("untimed_reason"),
        csv=_columns("infer_s", *_INTERVAL),
    ),
    Metric(
        "stages_ms",
        "Time of each stage a patch, mean over sessions of each session's median over its steady passes.",
        attrgetter("stages_ms"),
        {"ms": 1.0},
        source="passes.parquet",
        csv={"{key}_ms": ""},
        keyed=True,
    ),
    Metric(
        "import_s",
        "Import of the runtime, mean over sessions.",
        _cold("import_s"),
        TIME_UNITS,
        source="session.json",
        json_field="cold",
    ),
    Metric(
        "load_s",
        "Load of the artifact, mean over sessions.",
        _cold("load_s"),
        TIME_UNITS,
        source="session.json",
        statistics=("median", "max"),
        judged=Sampled(
            _by_session("load_s_values"), "sessions", absent="no finished session says how long loading took"
        ),
        json_field="cold",
    ),
    Metric(
        "first_inference_s",
        "First inference after the load, mean over sessions.",
        _cold("first_inference_s"),
        TIME_UNITS,
        source="session.json",
        json_field="cold",
    ),
    Metric(
        "first_pass_s",
        "First pass over the scene, mean over sessions.",
        _cold("first_pass_s"),
        TIME_UNITS,
        source="session.json",
        json_field="cold",
    ),
    Metric(
        "accuracy",
        "Right ones of the labelled images, predicted by the very artifact that was timed.",
        attrgetter("accuracy"),
        SHARE_UNITS,
        source="sessions",
        better="higher",
        statistics=("share",),
        judged="accuracy",
        missing=attrgetter("accuracy_reason"),
        csv=_columns("accuracy", *_SHARE),
        share_of="image",
    ),
    Metric(
        "scene_accuracy",
        "Right ones of the scene's own patches.",
        attrgetter("scene_accuracy"),
        SHARE_UNITS,
        source="sessions",
        better="higher",
        missing=_no_scene_accuracy,
        csv={},
    ),
    Metric(
        "agreement",
        "How often it predicts what the fp32 variant of its depth predicts on the same target.",
        attrgetter("agreement"),
        SHARE_UNITS,
        source="sessions",
        better="higher",
        missing=_no_agreement,
        csv={},
    ),
    Metric(
        "power_mean_w",
        "Mean power over the steady windows, as the primary meter and rail see it.",
        _primary("mean_w"),
        POWER_UNITS,
        source="probes.parquet",
        statistics=("median",),
        judged="mean power",
        missing=attrgetter("power_reason"),
        json_field="power",
        csv={"mean_w": ""},
        is_power=True,
    ),
    Metric(
        "power_peak_w",
        "Highest power over the steady windows, as the primary meter and rail see it.",
        _primary("peak_w"),
        POWER_UNITS,
        source="probes.parquet",
        statistics=("max",),
        judged="peak power",
        json_field="power",
        csv={"peak_w": ""},
        is_power=True,
    ),
    Metric(
        "energy_j",
        "Energy of an image, idle power included.",
        _primary("energy_j"),
        ENERGY_UNITS,
        source="probes.parquet",
        statistics=("median",),
        judged="energy",
        json_field="power",
    ),
    Metric(
        "net_energy_j",
        "Energy of an image above that of the idle device.",
        _primary("net_energy_j"),
        ENERGY_UNITS,
        source="probes.parquet",
        json_field="power",
    ),
    Metric(
        "memory_bytes",
        "Peak resident memory of the worker, mean over sessions.",
        attrgetter("memory_bytes"),
        BYTE_UNITS,
        source="session.json",
        statistics=("median", "max"),
        judged=Sampled(
            _by_session("memory_bytes_values"),
            "sessions",
            absent="no finished session says how much memory it took",
        ),
        missing=_no_session_said,
    ),
    Metric(
        "artifact_bytes",
        "Size of the file that the runtime loads.",
        attrgetter("artifact_bytes"),
        BYTE_UNITS,
        source="experiment.json",
        statistics=("recorded",),
        judged=Stated("the artifact's size", absent="the artifact's size was not recorded"),
        missing=_no_session_said,
    ),
    Metric(
        "deadline_misses",
        "Share of the paced passes that were not done when the next was due.",
        _missed_share,
        SHARE_UNITS,
        source="passes.parquet",
        statistics=("share",),
        judged="deadlines",
        missing=_no_pace,
        json_field="paced",
        csv={},
        share_of="paced pass",
    ),
    Metric(
        "mass_g",
        "Declared mass.",
        attrgetter("mass_g"),
        MASS_UNITS,
        source="the target's description",
        statistics=("declared",),
        judged=Stated("the declared mass", absent="the target's description gives no mass", doubted=True),
        missing=lambda trial: "the target's description gives no mass",
        csv={},
    ),
    Metric(
        "size_mm",
        "Declared outer dimensions.",
        attrgetter("size_mm"),
        LENGTH_UNITS,
        source="the target's description",
        statistics=("declared",),
        judged=Stated(
            "the declared size, turned to fit,",
            absent="the target's description gives no size",
            doubted=True,
        ),
        missing=lambda trial: "the target's description gives no size",
        csv={},
        is_size=True,
    ),
)

METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ENTRIES}
"""Every metric by name, in the order of the CSV's columns."""


def required_metrics() -> dict[str, Metric]:
    """Those that a requirement may be about, by name."""
    return {name: metric for name, metric in METRICS.items() if metric.statistics}
