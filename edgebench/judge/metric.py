"""What is said of a metric: where it comes from, how it is judged, where it is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from edgebench.judge.figure import Certainty, Figure
    from edgebench.judge.trial_summary import TrialSummary


SHARE_UNITS = {"1": 1.0, "%": 0.01}
POINT_UNITS = {"points": 1.0, "1": 100.0}
TIME_UNITS = {"s": 1.0, "ms": 1e-3}
MILLISECOND_UNITS = {"ms": 1.0, "s": 1e3}
POWER_UNITS = {"W": 1.0, "mW": 1e-3}
ENERGY_UNITS = {"J": 1.0, "mJ": 1e-3}
IMAGE_UNITS = {"images": 1.0}
BYTE_UNITS = {"bytes": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
MASS_UNITS = {"g": 1.0, "kg": 1e3}
LENGTH_UNITS = {"mm": 1.0, "cm": 10.0}


Judge = Callable[["TrialSummary", Any, "Certainty"], "Figure"]
"""What gives a trial's figure for a requirement, in the metric's base unit. A `Requirement` knows its metric,
so that its type cannot be named here."""


@dataclass(frozen=True)
class Sampled:
    """Judged by the values of the sessions, with an interval over sessions.

    Attributes:
        values: of a trial, by session; sessions without any are left out.
        of: what a value is of, in the plural.
        absent: why there is no figure where there are no values.
    """

    values: Callable[[TrialSummary], Sequence[Sequence[float]]]
    of: Literal["passes", "requests", "sessions"]
    absent: str


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


@dataclass(frozen=True)
class BySession:
    """Compared between results by the sessions' values: the median of each session's.

    Attributes:
        values: of a trial, by session; sessions without any are left out.
    """

    values: Callable[[TrialSummary], Sequence[Sequence[float]]]


Compared = BySession | Literal["rails", "images", "scene", "failures", "exact"]
"""How the metric of two trials is compared: by their sessions; by the sessions of meters of one scope; image
by image, of the labelled set or of the scene; by how many sessions failed; or as numbers that are exact."""

Form = Literal[
    "interval", "share", "right of n", "points", "k of n", "Wilson interval", "p", "bytes", "number",
    "milliseconds", "median and p99", "median", "p99", "count",
]  # fmt: skip
"""How a value is printed; `edgebench.report.metric_text.FORMS` does it."""


@dataclass(frozen=True)
class Shown:
    """One place where a metric is printed.

    Attributes:
        table: `latency` gives it a table of its own, the others a column; `terminal` is what a run ends
            with, `instructions` is of emulated trials alone.
        heading: of the column, or of the table of its own; empty for what a pass is, in words.
        form: how the value is printed.
        where_present: whether the column is left out where no trial has a value.
    """

    table: Literal[
        "terminal", "latency", "requests", "instructions", "stages", "cold", "accuracy", "power", "memory"
    ]
    heading: str
    form: Form
    where_present: bool = False


Judging = (
    Sampled
    | Stated
    | Literal["accuracy", "accuracy drop", "deadlines", "failures", "peak power", "mean power", "energy"]
    | Literal["boot", "update", "cycle energy", "load", "mission"]
    | Judge
)


OF_MISSIONS = ("cycle energy", "load", "mission")
"""Judged by the schedule of the requirement's profile."""


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
            single number, `difference` one of two shares of the same images.
        judged: how a requirement's figure comes about.
        missing: why the value is missing in a trial that was measured; empty where only a trial that was not
            measured lacks it. Of the metrics that share a field, the first says it.
        json_field: the field of a trial's document that holds it; None for one of its own name.
        csv: heading -> which field of the value, its place where the value is a tuple, or which field of the
            meter and rail that it is of (see `rail`); the value itself where that is empty; None for one
            column of the metric's name.
        keyed: whether the value is a mapping whose keys differ between trials; `{key}` in a heading of `csv`
            stands for them.
        shown: where it is printed, in the order of the columns.
        rail: which field of a meter and rail it is, of power; empty for what no meter sees.
        rail_sessions: which field of a meter and rail has a value a session; empty for none.
        rail_bounds: which fields of a meter and rail are the ends of its interval; empty for none.
        share_of: what a share is of, in the singular; empty for what is no share.
        compared: how two results are compared by it; None where they are not, or by what it is `judged` by.
        of_a_pass: whether it is the time or the energy of a pass, and only passes over alike scenes compare.
        brought_by: what brings its figure where a requirement's is not known: an option of `edgebench run` or
            `fit`, or what to write in the profile; behind `with`. Every metric with statistics has it.
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
    shown: tuple[Shown, ...] = ()
    rail: str = ""
    rail_sessions: str = ""
    rail_bounds: tuple[str, str] | tuple[()] = ()
    is_power: bool = False
    is_size: bool = False
    share_of: str = ""
    brought_by: str = ""
    compared: Compared | None = None
    of_a_pass: bool = False

    @property
    def of_stamps(self) -> bool:
        """Whether it is larger the longer passes or requests take by the device's stamps."""
        timed = isinstance(self.judged, Sampled) and self.judged.of != "sessions"
        return timed or self.of_a_pass or self.judged in ("deadlines", *OF_MISSIONS)

    @property
    def comparison(self) -> Compared | None:
        """How two results are compared by it; None where they are not."""
        if self.compared is None and isinstance(self.judged, Sampled):
            return BySession(self.judged.values)
        return self.compared

    @property
    def of_machine(self) -> bool:
        """Whether its figure is that of the machine that was measured, as times, power and energy are."""
        is_measured = self.unit in ("s", "ms", "W", "J") and self.judged not in ("boot", "update")
        return is_measured or self.judged == "deadlines"

    @property
    def unit(self) -> str:
        """The base unit."""
        return next(iter(self.units))

    @property
    def at_least(self) -> bool:
        """Whether a requirement wants it to reach the limit rather than to stay below it."""
        return self.better == "higher"

    @property
    def is_latency(self) -> bool:
        """Whether it is the time of an image, which a schedule limits."""
        return any(shown.table == "latency" for shown in self.shown)

    @property
    def valid_limit(self) -> float | tuple[float, ...]:
        """A limit that a requirement on it may have, whatever its unit."""
        return (1.0, 1.0, 1.0) if self.is_size else 0.5

    @property
    def csv_fields(self) -> Mapping[str, str]:
        """Heading -> which field of the value, the value itself where that is empty."""
        return {self.name: ""} if self.csv is None else self.csv

    @property
    def json_place(self) -> str:
        """The field of a trial's document that holds it."""
        return self.json_field or self.name


def csv_columns(name: str, *parts: str) -> dict[str, str]:
    """A column for each part of a figure: its name and what it holds."""
    return {f"{name}_{part}": part for part in parts}


def by_session(name: str) -> Callable[[TrialSummary], Sequence[Sequence[float]]]:
    """A field of one value a session as values by session."""
    return lambda trial: [[float(value)] for value in getattr(trial, name)]


def was_measured(trial: TrialSummary) -> bool:
    """Whether there is a figure of it: a latency, or what an emulated device did."""
    return trial.latency is not None or trial.emulated
