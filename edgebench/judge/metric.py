"""Metrics: declaration of one quantity of a trial, from the stored sessions to its estimates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from edgebench.judge.trial import STATED, Conditions, Estimate, EstimateKey, Trial, Values

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded

SHARE_UNITS = {"1": 1.0, "%": 0.01}
TIME_UNITS = {"s": 1.0, "ms": 1e-3}
POWER_UNITS = {"W": 1.0, "mW": 1e-3}
ENERGY_UNITS = {"J": 1.0, "mJ": 1e-3}
BYTE_UNITS = {"bytes": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}

DECLARED_SOURCE = "the target's description"
"""Source of numbers that no run measures."""


class Reading(NamedTuple):
    """One estimate of a metric from the stored sessions of a trial, with the values behind it.

    Attributes:
        rail, stage: parts of its key.
        statistic: statistic of it. Default: the metric's first.
    """

    estimate: Estimate
    values: Values = ()
    rail: str = ""
    stage: str = ""
    statistic: str = ""


class Option(NamedTuple):
    """Arguments of a command that measure or declare a metric, with a condition in words."""

    arguments: tuple[str, ...] = ()
    reason: str = ""


Table = Literal["matrix", "trials", "latency", "start", "accuracy", "power", "sharing"]
"""Tables of the report: `matrix` begins every report, `trials` is the terminal's."""


@dataclass(frozen=True)
class Sampled:
    """Values by session, of which statistics over sessions are computed.

    Attributes:
        noun: the values, in the plural; passes are called windows in trials that have those.
        values: values of a trial, or of one of its workers, from the stored sessions.
        absent: reason for a missing estimate.
    """

    noun: Literal["passes", "requests", "sessions"]
    values: Callable[[Recorded, int | None], Values]
    absent: Callable[[Recorded], str]

    def read(self, recorded: Recorded, worker: int | None, metric: Metric) -> tuple[Reading, ...]:
        """Estimate at the default statistic."""
        from edgebench.judge.latency import omission
        from edgebench.judge.sessions import over_values

        values = self.values(recorded, worker)
        if impossible := impossible_reason(values, metric.name):
            return (Reading(Estimate(reason=impossible, final=True), values),)
        if not values:
            is_unpooled = worker is None and metric.by_worker and recorded.is_shared
            absent = recorded.unpooled_reason if is_unpooled else self.absent(recorded)
            return (Reading(Estimate(reason=absent if recorded.ok else "")),)
        certainty = STATED if self.noun == "sessions" else STATED.at_least(recorded.confidence)
        estimate = over_values(values, self.noun, metric.statistics[0], certainty)
        estimate = estimate.widened(recorded.ticks(worker).get(metric.name, 0.0))
        note = omission(recorded.untimed_stages) if metric.part else ""
        return (Reading(estimate.with_notes(note), values),)

    def estimate(self, trial: Trial, metric: Metric, conditions: Conditions) -> Estimate:
        """Estimate at the asked statistic and certainty; of several workers that of the slowest."""
        from edgebench.judge.sessions import over_values
        from edgebench.judge.workers import slowest_worker

        previous, values = trial.estimate(metric.name), trial.values_of(metric.name)
        statistic, certainty = conditions.statistic, conditions.certainty
        if trial.is_shared and metric.is_latency and statistic == "median":
            return slowest_worker(trial, metric.name, certainty.at_least(trial.confidence)) or previous
        is_kept = statistic == metric.statistics[0] and certainty == STATED
        if is_kept or not values or impossible_reason(values, metric.name):
            return previous
        noun = "windows" if self.noun == "passes" and trial.in_windows else self.noun
        certainty = certainty if self.noun == "sessions" else certainty.at_least(trial.confidence)
        estimate = over_values(values, noun, statistic, certainty)
        estimate = estimate.widened(trial.ticks.get(metric.name, 0.0))
        return estimate.with_notes(*(note for note in previous.notes if note not in estimate.notes))


def once_per_session(numbers: Iterable[float]) -> Values:
    """One number per session as values by session."""
    return tuple([float(number)] for number in numbers)


def impossible_reason(values: Values, name: str) -> str:
    """Reason for a missing estimate where a value is impossible: nothing takes no time and no memory."""
    least = min((min(session) for session in values if len(session)), default=math.inf)
    return f"a session recorded {name} = {least:g}: only values above 0 are possible" if least <= 0 else ""


def estimates_at(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    """Estimate of a metric under conditions.

    The stored one of a metric without values by session; of a size the three sides, the longest first.
    """
    if isinstance(metric.read, Sampled):
        return (metric.read.estimate(trial, metric, conditions),)
    if metric.is_size:
        return tuple(estimate for _, estimate in trial.estimates_of(metric.name))
    return (trial.estimate(metric.name),)


@dataclass(frozen=True)
class Metric:
    """One quantity of a trial, declared in one file of `edgebench.judge.metrics`.

    Attributes:
        name: in requirements and documents.
        sentence: description for the documentation and the schemas.
        units: unit -> base units, the base unit first.
        source: file or clock that it comes from.
        statistics: statistics that may be asked for, the default first. `declared` is from the target's
            description, `share` is k of n, `recorded` a single number, `difference` one of two shares.
        read: estimate at the default statistic from the stored sessions of a trial, or of a worker, or
            several readings; where nothing was measured one with its reason. An empty reason stands for the
            trial's status.
        estimates: estimates that may decide a question on a trial; see `edgebench.judge.verdicts.verdict`.
        by_worker: whether each of several workers has estimates of its own.
        label: name that people see. Default: the name without its unit.
        better: which values are better.
        options: actions that measure or declare it, as alternatives; a requirement may ask for a metric that
            has any.
        option_of: command or file that takes the options.
        tables: tables of the report that have a column of it.
        heading: heading of that column, with the unit that it is shown in; empty for label and base unit.
        compared: how two results are compared by it: `sessions` by their values, `rails` likewise between
            meters of one scope, `images` image by image, `scores` as areas under ROC curves, `counts` as k
            of n, `exact` as two numbers; empty for not at all.
        conditions: fields of a requirement, besides its limit, that it depends on.
        part: a metric that is part of it, and so never larger.
        belongs_to: `pass` for times and energies of passes, `machine` for other numbers of the measured
            machine, `board` for properties of the board or model, `sharing` for numbers of several workers.
        share_of: singular of the things that a share counts, such as "image".
        most: largest useful limit, in the base unit.
        usual: whether results are compared by it where no metric is named: `speed` for the first of these
            that both results have, `also` for each that both have.
    """

    name: str
    sentence: str
    units: Mapping[str, float]
    source: str
    statistics: tuple[str, ...]
    read: Sampled | Callable[[Recorded, int | None], Estimate | Iterable[Reading]]
    estimates: Callable[[Trial, Metric, Conditions], tuple[Estimate, ...]] = estimates_at
    by_worker: bool = False
    label: str = ""
    better: Literal["lower", "higher"] = "lower"
    options: tuple[Option, ...] = ()
    option_of: Literal["run", "fit", "profile"] = "run"
    tables: tuple[Table, ...] = ()
    heading: str = ""
    compared: Literal["sessions", "rails", "images", "scores", "counts", "exact", ""] = "sessions"
    conditions: tuple[str, ...] = ()
    part: str = ""
    belongs_to: Literal["pass", "machine", "board", "sharing"] = "machine"
    share_of: str = ""
    most: float = math.inf
    usual: Literal["speed", "also", ""] = ""

    def key(self, worker: int | None = None, rail: str = "", stage: str = "") -> EstimateKey:
        """Key of an estimate at the default statistic."""
        return EstimateKey(self.name, self.statistics[0], worker, rail, stage)

    def readings(self, recorded: Recorded) -> Iterator[tuple[EstimateKey, Reading]]:
        """Estimates of a trial and of its workers from the stored sessions, with their keys."""
        for worker in (None, *(recorded.several_workers if self.by_worker else ())):
            if isinstance(self.read, Sampled):
                result: Estimate | Iterable[Reading] = self.read.read(recorded, worker, self)
            else:
                result = self.read(recorded, worker)
            for reading in (Reading(result),) if isinstance(result, Estimate) else result:
                statistic = reading.statistic or self.statistics[0]
                yield EstimateKey(self.name, statistic, worker, reading.rail, reading.stage), reading

    @property
    def required(self) -> bool:
        """True if a requirement may ask for it: there is a way to measure or declare it."""
        return bool(self.options)

    @property
    def unit(self) -> str:
        """Base unit."""
        return next(iter(self.units))

    @property
    def at_least(self) -> bool:
        """True if a requirement wants it to reach the limit rather than to stay below it."""
        return self.better == "higher"

    @property
    def is_power(self) -> bool:
        """True if a limit on it may state an averaging time."""
        return "averaging_s" in self.conditions

    @property
    def is_scheduled(self) -> bool:
        """True if it depends on the schedule of the requirement's profile."""
        return "schedule" in self.conditions

    @property
    def is_size(self) -> bool:
        """True if it is the three sides of a body."""
        return self.unit == "mm"

    @property
    def is_latency(self) -> bool:
        """True if it is the time of an image, which a schedule limits."""
        return self.belongs_to == "pass" and self.unit == "s" and self.required

    @property
    def follows_stamps(self) -> bool:
        """Tell whether it grows with the time that passes or requests take by the device's stamps."""
        return self.belongs_to == "pass" or self.is_scheduled or self.unit == "J"

    @property
    def of_machine(self) -> bool:
        """Tell whether it is a number of the measured machine, as times, power and energy are."""
        is_board = self.belongs_to == "board"
        return self.belongs_to == "pass" or (self.unit in ("s", "ms", "W", "J", "images/s") and not is_board)

    @property
    def suffers_from_others(self) -> bool:
        """Tell whether other programs on the device make it worse, as they do times and power."""
        is_shared = self.belongs_to == "sharing" and self.unit != "bytes"
        return self.follows_stamps or self.of_machine or is_shared

    @property
    def words(self) -> str:
        """Name that people see: `Latency per image`."""
        return self.label or self.name.removesuffix(f"_{self.unit.lower()}").replace("_", " ").capitalize()

    @property
    def titled(self) -> str:
        """Label with its unit: `Latency per image, s`."""
        unit = {"1": "", "bytes": "", "instruction": ""}.get(self.unit, self.unit)
        return f"{self.words}, {unit}" if unit else self.words

    @property
    def inside(self) -> str:
        """Label within a sentence: `latency per image`, but `AUC`."""
        return self.words if self.words[1:2].isupper() else self.words[:1].lower() + self.words[1:]
