"""Coverage and width of the intervals of mean power and energy of a bursty load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgebench.stats.intervals import MIN_SESSIONS
from edgebench.stats.power import widened_interval
from proofs.power_loads import Bursts, Floats, Generator
from proofs.power_meters import Measured, Meter, metered, window
from proofs.topic import Row, Size, Topic, percent, slack

MOST_CASES = 500
LEAST, WIDEST = 0.93, 2.0
CYCLES = (0.05, 0.3, 1.5, 4.0)
DUTIES = (0.05, 0.3, 0.9)
KINDS = ((None, "random"), (0.1, "regular to 10 %"), (0.01, "regular to 1 %"))
PERIODS = 250.0
TRIAL_PERIODS = 150.0
SESSIONS = (1, 2, 3, 5, 10)
IMAGES = 25.0
METERS = ((Meter(100.0, step_w=50e-6), "moments"), (Meter(20.0, 1.0), "means"))
BURSTS_CLAIM = (
    "The stated 95 % interval of one session holds the load's own mean in at least 93 % of cases, and its "
    "half-width, the middle one of all cases, is at most twice what would have done, the 95 % quantile of "
    "the errors (`x`). Bursts of 5 W over 1 W last for `duty` of a `cycle`, which is given in periods of the "
    "meter and differs by up to 20 % from case to case; random bursts and pauses are exponential, regular "
    "cycles scatter. The window has 250 periods. The meter reads moments at 100 Hz, or means over "
    "all of its period at 20 Hz, as unevenly and with as much lost as above."
)


@dataclass(frozen=True)
class Outcome:
    """Errors of one figure in many cases, and the ends of its interval round it."""

    errors: Floats
    below: Floats
    above: Floats

    @property
    def covered(self) -> float:
        """Share of cases in which the interval holds the truth."""
        return float(np.mean((self.errors <= self.below) & (-self.errors <= self.above)))

    @property
    def width(self) -> float:
        """The usual half-width in units of what would have done: the 95 % quantile of the errors."""
        halves = (self.below + self.above) / 2
        return float(np.median(halves) / np.quantile(np.abs(self.errors), 0.95))

    @property
    def cells(self) -> tuple[str, str]:
        """Cells of a table."""
        return percent(self.covered), f"{self.width:.2f}"

    @property
    def covers(self) -> bool:
        """Return True if it covers as claimed, two standard errors of the simulation allowed."""
        return self.covered >= LEAST - slack(LEAST, len(self.errors))

    @property
    def is_narrow(self) -> bool:
        """Return True if it is no wider than claimed."""
        return self.width <= WIDEST


def bursts(size: Size) -> Topic:
    """A row a load, two columns a meter and a length of the window."""
    rows = []
    for scatter, words in KINDS:
        for cycle in CYCLES:
            for duty in DUTIES:
                outcomes = [_one_session(size, Bursts(cycle, duty, scatter), meter) for meter, _ in METERS]
                cells = [cell for outcome in outcomes for cell in outcome.cells]
                met = all(outcome.covers and outcome.is_narrow for outcome in outcomes)
                rows.append(Row((f"{words}, cycle {cycle:g}, duty {duty:g}", *cells), met))
    columns = ("case", *(column for _, words in METERS for column in (f"{words}, %", "x")))
    title = "Interval of mean power over one session"
    return Topic("bursts", title, BURSTS_CLAIM, columns, tuple(rows))


def _one_session(size: Size, kind: Bursts, meter: Meter) -> Outcome:
    scatter = 0 if kind.scatter is None else 1 + round(1000 * kind.scatter)
    seed = (63, scatter, round(100 * kind.cycle), round(100 * kind.duty), round(meter.rate_hz))
    generator = np.random.default_rng(seed)
    cases = []
    for _ in range(cases_of(size)):
        load = _near(generator, kind).draw(generator, PERIODS)
        power = window(generator, meter, Measured(load, np.array([[0.0, PERIODS]])))
        assert power.mean_w is not None, power.reason
        low_w, high_w = widened_interval([power.mean_w], [power.mean_margin_w])
        cases.append((power.mean_w, low_w, high_w, load.mean_w))
    return outcome_of(cases)


def _near(generator: Generator, kind: Bursts) -> Bursts:
    """One of that kind, its cycle by up to 20 % another."""
    return replace(kind, cycle=kind.cycle * generator.uniform(0.8, 1.2))


def outcome_of(cases: Sequence[tuple[float | None, float | None, float | None, float]]) -> Outcome:
    """Outcome from the value, the ends of the interval and the truth in each case."""
    value, low, high, truth = np.array(cases, np.float64).T
    return Outcome(value - truth, value - low, high - value)


def cases_of(size: Size) -> int:
    """Number of cases in a row."""
    return min(size.single, MOST_CASES)


TRIALS = (
    ("moments, random, cycle 0.3", 0, Bursts(0.3, 0.3), 0.0),
    ("moments, random, cycle 4", 0, Bursts(4.0, 0.3), 0.0),
    ("moments, sessions differ by 2 %", 0, Bursts(0.3, 0.3), 0.02),
    ("means, random, cycle 4", 1, Bursts(4.0, 0.3), 0.0),
    ("means, regular to 10 %, cycle 4", 1, Bursts(4.0, 0.3, 0.1), 0.0),
    ("means, sessions differ by 2 %", 1, Bursts(4.0, 0.3, 0.1), 0.02),
)
IDLE_PERIODS = 120.0
TRIALS_CLAIM = (
    "The same of trials of K sessions of 150 periods, with an idle window of 120 each: energy of an image, "
    "gross and net. `sessions differ`: their power, by that standard deviation. From three sessions on the "
    "interval speaks for all sessions, below it for the load as those sessions had it. `x` is not claimed of "
    "K = 3, where Student's t alone is 1.8 times as wide as would do, because three sessions hardly know how "
    "much they differ."
)


def trials(size: Size) -> Topic:
    """A row a load and a number of sessions."""
    rows = []
    for place, (words, meter, kind, shift) in enumerate(TRIALS):
        for sessions in SESSIONS:
            if shift and sessions < MIN_SESSIONS:
                continue
            generator = np.random.default_rng((64, place, sessions))
            count = max(50, cases_of(size) // (1 if sessions < 5 else 2))
            cases = [_trial(generator, METERS[meter][0], kind, shift, sessions) for _ in range(count)]
            gross, net = (outcome_of([case[side] for case in cases]) for side in range(2))
            met = all(outcome.covers and (outcome.is_narrow or sessions == 3) for outcome in (gross, net))
            rows.append(Row((f"{words}, K = {sessions}", *gross.cells, *net.cells), met))
    columns = ("case", "gross, %", "x", "net, %", "x")
    return Topic("trials", "Interval of energy an image over K sessions", TRIALS_CLAIM, columns, tuple(rows))


_Case = tuple[float | None, float | None, float | None, float]


def _trial(
    generator: Generator, meter: Meter, kind: Bursts, shift: float, sessions: int
) -> tuple[_Case, _Case]:
    """Gross and net energy of an image, each with its interval and the truth."""
    idle = Bursts(3.0, 0.1)
    measured = []
    for _ in range(sessions):
        factor = 1 + shift * generator.standard_normal()
        load = _near(generator, kind).draw(generator, TRIAL_PERIODS)
        load = replace(load, levels=load.levels * factor)
        idle_load = idle.draw(generator, IDLE_PERIODS)
        idle_load = replace(idle_load, levels=idle_load.levels / 2)
        spans = np.array([[0.0, TRIAL_PERIODS]])
        measured.append(Measured(load, spans, (idle_load, IDLE_PERIODS), IMAGES))
    estimates = metered(generator, meter, measured).estimates
    gross, net = estimates["energy_j"], estimates["net_energy_j"]
    image_s = TRIAL_PERIODS / meter.rate_hz / IMAGES
    gross_j, net_j = kind.mean_w * image_s, (kind.mean_w - idle.mean_w / 2) * image_s
    return (
        (gross.value, gross.low, gross.high, gross_j),
        (net.value, net.low, net.high, net_j),
    )
