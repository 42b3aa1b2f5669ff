"""What a metric is: where it comes from, how it is judged, where it is printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from edgebench.judge.figure import Certainty, Figure

if TYPE_CHECKING:
    from edgebench.judge.schedule import Schedule
    from edgebench.judge.trial_summary import TrialSummary

# What judges takes numpy, which commands about profiles do without: it is imported where it is used.


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


IMPOSSIBLE = "a session recorded"
"""How the reason begins why a value that cannot be gives no figure."""
DECLARED = "the target's description"
"""Source of what no run measures."""


class Asked(Protocol):
    """What of a requirement its figure may depend on; `edgebench.judge.requirement` describes it."""

    quantity: str
    statistic: str
    averaging_s: float | None
    uplink_bps: float | None
    schedule: Schedule | None

    @property
    def metric(self) -> Metric:
        """The quantity's entry in the catalogue."""

    @property
    def base_limit(self) -> float:
        """The limit in the figures' unit."""


Judge = Callable[["TrialSummary", Asked, Certainty], Figure]
"""Gives a trial's figure for a requirement, in the metric's base unit."""


@dataclass(frozen=True)
class BySession:
    """Compared between results by the sessions' values: the median of each session's.

    Attributes:
        values: of a trial, by session; sessions without any are left out.
    """

    values: Callable[[TrialSummary], Sequence[Sequence[float]]]

    def by_session(self, trial: TrialSummary) -> Sequence[float]:
        """The median of each session's values."""
        from edgebench.stats.intervals import session_medians

        return session_medians(self.values(trial))


@dataclass(frozen=True)
class ByRail:
    """Compared between results by the sessions of meters of one scope.

    Attributes:
        field: of a meter and rail: one value a session.
    """

    field: str

    def by_session(self, trial: TrialSummary) -> Sequence[float]:
        """The values as the primary meter and rail see them; empty without a meter."""
        values: Sequence[float] = getattr(trial.primary_rail, self.field, ())
        return values


@dataclass(frozen=True)
class ByImages:
    """Compared between results image by image, of the labelled set or of the scene."""

    of: Literal["images", "scene"]


@dataclass(frozen=True)
class ByCount:
    """Compared between results by how many of its cases there are: the value has `k` of `n`."""


@dataclass(frozen=True)
class ByArea:
    """Compared between results as areas under ROC curves, by the scores of normal and anomalous units."""


@dataclass(frozen=True)
class Exactly:
    """Compared between results as two exact numbers, which no test is needed for."""


@dataclass(frozen=True)
class Sampled(BySession):
    """Judges by the values of the sessions, with an interval over sessions.

    Attributes:
        of: what a value is of, in the plural.
        absent: why there is no figure where there are no values.
    """

    of: Literal["passes", "requests", "sessions"]
    absent: str

    def __call__(self, trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
        """The figure, computed once for all limits."""
        about = (asked.metric.name, asked.statistic, certainty)
        return trial.once(about, lambda: self._figure(trial, asked.metric, asked.statistic, certainty))

    def _figure(self, trial: TrialSummary, metric: Metric, statistic: str, certainty: Certainty) -> Figure:
        from edgebench.judge.estimates import over_values

        values = self.values(trial)
        if not values:
            return Figure(reason=metric.missing(trial) or self.absent)
        if impossible := impossible_reason(values, metric.name):
            return Figure(reason=impossible)
        if self.of == "sessions":
            figure = over_values(values, "sessions", statistic, certainty)
            return figure.no_narrower(trial.ticks.get(metric.name, 0.0))
        of = "windows" if self.of == "passes" and trial.has_windows else self.of
        figure = over_values(values, of, statistic, certainty.at_least(trial.interval_confidence))
        figure = figure.no_narrower(trial.ticks.get(metric.name, 0.0))
        if more := [note for note in (trial.omission if metric.part else "", trial.reason) if note]:
            figure = replace(figure, note="; ".join(filter(None, (figure.note, *more))))
        return figure


@dataclass(frozen=True)
class Stated:
    """Judges by one number that was declared or recorded, and has no interval.

    Attributes:
        what: it is, in words.
        absent: why there is no figure where it is missing.
    """

    what: str
    absent: str

    def __call__(self, trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
        """The number; with the trial's `board_doubts` that it is another machine's."""
        value = asked.metric.value(trial)
        if value is None:
            return Figure(reason=self.absent)
        note = trial.board_doubts.get(asked.metric.name, "")
        source = trial.declared_sources.get(asked.metric.name)
        what = f"{self.what} ({source})" if source else self.what
        return Figure(value if isinstance(value, tuple) else float(value), exact=True, what=what, note=note)


def impossible_reason(values: Sequence[Sequence[float]], name: str) -> str:
    """Why there is no figure where a value cannot have been measured: nothing takes no time and no memory."""
    least = min((min(session) for session in values if session), default=math.inf)
    return f"{IMPOSSIBLE} {name} = {least:g}: only values above 0 are possible" if least <= 0 else ""


Compared = BySession | ByRail | ByImages | ByArea | ByCount | Exactly
"""How the metric of two trials is compared; `edgebench.judge.comparison` does it."""

Form = Literal[
    "interval", "percent", "right of n", "points", "k of n", "p", "bytes", "number", "milliseconds", "median",
    "p99", "count", "area",
]  # fmt: skip
"""How a value is printed; `edgebench.report.tables.FORMS` does it."""

ShownIn = Literal["matrix", "trials", "latency", "start", "accuracy", "power", "sharing"]


@dataclass(frozen=True)
class Shown:
    """One place where a metric is printed.

    Attributes:
        table: which gets a column; every report begins with `matrix`, `trials` is for the terminal.
        heading: of the column; `{label}` is replaced by the metric's label with its unit.
        form: how the value is printed.
        where_present: whether the column is left out where no trial has a value.
    """

    table: ShownIn
    heading: str = "{label}"
    form: Form = "number"
    where_present: bool = False


@dataclass(frozen=True)
class Metric:
    """One quantity of a trial.

    Attributes:
        name: in requirements, and in the JSON and the CSV unless these say otherwise.
        sentence: what it is, for the documentation and the schemas.
        units: unit -> how many of the base unit it is, the base unit (that of the figures) first.
        source: the file or the clock that it comes from.
        read: gives its value of a trial. Default: the summary's field of its name.
        label: what people see, as the heading of its columns; its name where empty.
        better: which values are better.
        statistics: those that a requirement may ask for, the default first; none where no requirement may be
            about it. `declared` is what the target's description says, `share` is k of n, `recorded` is a
            single number, `difference` one of two shares of the same images.
        judged: gives a requirement's figure; None where no requirement may be about it.
        conditions: fields of a requirement, besides its limit, that the figure depends on, such as
            averaging_s.
        part: a metric that is part of it, and so never larger; empty for none.
        of_board: whether it is the board's and not the work's of one worker or machine.
        missing: why the value is missing in a trial that was measured; empty where only a trial that was not
            measured lacks it. Of the metrics that share a field, the first says it.
        json_field: the field of a trial's document that holds it; None for one of its own name.
        csv: heading -> which field of the value, its place where the value is a tuple, or which field of the
            meter and rail that it is of (see `rail`); the value itself where that is empty; None for one
            column a field of the value where it is a record, else one of the metric's name.
        keyed: whether the value is a mapping whose keys differ between trials; `{key}` in a heading of `csv`
            is replaced by them.
        shown: where it is printed, in the order of the columns.
        rail: which field of a meter and rail it is, of power; empty for what no meter sees.
        rail_bounds: which fields of a meter and rail are the ends of its interval; empty for none.
        is_size: whether it is three sides of a body.
        share_of: what a share is of, in the singular; empty for what is no share.
        brought_by: what brings its figure where a requirement's is not known: an option of `edgebench run` or
            `fit`, or what to write in the profile; behind `with`. Every metric with statistics has it.
        compared: how two results are compared by it; None where they are not, or by what it is `judged` by.
        of_a_pass: whether it is of passes: the longer their stamps, the larger it is, and only passes over
            alike scenes compare.
        most: the most that is of use, in the base unit: no looser limit lets a trial pass.
        usual: whether results are compared by it where no metric is named: `speed` for the first of these in
            the catalogue that both results have, `also` for each that both have; empty for no.
        together: whether it is of several workers that share a device, and one worker has nothing of it.
    """

    name: str
    sentence: str
    units: Mapping[str, float]
    source: str
    read: Callable[[TrialSummary], Any] | None = None
    label: str = ""
    better: Literal["lower", "higher"] = "lower"
    statistics: tuple[str, ...] = ()
    judged: Judge | None = None
    conditions: tuple[str, ...] = ()
    part: str = ""
    of_board: bool = False
    missing: Callable[[TrialSummary], str] = field(default=lambda trial: "")
    json_field: str | None = None
    csv: Mapping[str, str] | None = None
    keyed: bool = False
    shown: tuple[Shown, ...] = ()
    rail: str = ""
    rail_bounds: tuple[str, str] | tuple[()] = ()
    is_size: bool = False
    share_of: str = ""
    brought_by: str = ""
    compared: Compared | None = None
    of_a_pass: bool = False
    most: float = math.inf
    usual: Literal["speed", "also", ""] = ""
    together: bool = False

    def value(self, trial: TrialSummary) -> Any:
        """A number, an Interval, an Accuracy, a mapping by stage, ...; None where it is missing."""
        return getattr(trial, self.name) if self.read is None else self.read(trial)

    @property
    def is_power(self) -> bool:
        """Whether a limit on it may state an averaging time."""
        return "averaging_s" in self.conditions

    @property
    def of_schedule(self) -> bool:
        """Whether it is judged by the schedule of the requirement's profile."""
        return "schedule" in self.conditions

    @property
    def of_stamps(self) -> bool:
        """Whether it is larger the longer passes or requests take by the device's stamps."""
        timed = isinstance(self.judged, Sampled) and self.judged.of != "sessions"
        return timed or self.of_a_pass or self.of_schedule

    @property
    def comparison(self) -> Compared | None:
        """How two results are compared by it; None where they are not."""
        sampled = self.judged if isinstance(self.judged, Sampled) else None
        return self.compared or sampled

    @property
    def of_machine(self) -> bool:
        """Whether its figure is that of the machine that was measured, as times, power and energy are."""
        return self.of_a_pass or (self.unit in ("s", "ms", "W", "J", "images/s") and not self.of_board)

    @property
    def suffers_from_others(self) -> bool:
        """Whether other programs on the device make it worse, as they do times and power."""
        return self.of_stamps or self.of_machine or (self.together and self.unit != "bytes")

    @property
    def unit(self) -> str:
        """The base unit."""
        return next(iter(self.units))

    @property
    def unit_text(self) -> str:
        """The base unit as descriptions call it; empty for a pure number."""
        return {"1": "", "bytes": "byte"}.get(self.unit, self.unit)

    @property
    def at_least(self) -> bool:
        """Whether a requirement wants it to reach the limit rather than to stay below it."""
        return self.better == "higher"

    @property
    def is_latency(self) -> bool:
        """Whether it is the time of an image, which a schedule limits."""
        return self.of_a_pass and isinstance(self.judged, Sampled)

    @property
    def json_place(self) -> str:
        """The field of a trial's document that holds it."""
        return self.json_field or self.name

    @property
    def titled(self) -> str:
        """Its label with its unit: `Latency per image, s`."""
        unit = {"1": "", "bytes": "", "instruction": ""}.get(self.unit, self.unit)
        return f"{self.words}, {unit}" if unit else self.words

    @property
    def words(self) -> str:
        """What people call it: `Latency per image`."""
        return self.label or self.name.replace("_", " ")

    @property
    def inside(self) -> str:
        """The same within a sentence: `latency per image`, but `AUC`."""
        return self.words if self.words[1:2].isupper() else self.words[:1].lower() + self.words[1:]


def by_session(name: str) -> Callable[[TrialSummary], Sequence[Sequence[float]]]:
    """A field of one value a session as values by session."""
    return lambda trial: [[float(value)] for value in getattr(trial, name)]


def was_measured(trial: TrialSummary) -> bool:
    """Whether there is a figure of it: a latency, or what an emulated device did."""
    return trial.latency is not None or trial.emulated


def where_measured(reason: str) -> Callable[[TrialSummary], str]:
    """Why a trial lacks a figure, where that is not that it was not measured."""
    return lambda trial: reason if was_measured(trial) else ""
