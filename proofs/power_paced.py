"""Coverage of the interval of power where paced passes are in step with a meter."""

from __future__ import annotations

import numpy as np

from proofs.power_bursts import Outcome, cases_of, outcome_of
from proofs.power_loads import BASE_W, BURST_W, LEAD, Generator, Steps
from proofs.power_meters import Measured, Meter, metered
from proofs.topic import Row, Size, Topic

WIDEST = 3.0
METER = Meter(50.0, jitter=0.005, unsure=0.005, step_w=50e-6, lost=0.0)
STEADY = Meter(50.0, jitter=0.0, unsure=0.0, noise=0.0, step_w=50e-6, lost=0.0)
IN_STEP = (50.0, 12.0, 10.5, 33 + 1 / 3)
OTHERS = (49.99, 50.31)
PASSES = (30, 120)
DUTIES = (0.1, 0.9)

CLAIM = (
    "The stated 95 % interval of mean power and of energy an image of one session holds the truth in at"
    " least 93 % of cases where passes begin at a fixed period. The meter reads moments at 50 Hz; "
    "`cycle` is the period in readings. At a whole number of readings, or a fraction with few parts, "
    "each pass is read at the same moments. Passes draw 5 W and pauses 1 W; a pass lasts 10 to 90 % of "
    "the period, to 1e-3 the same each time. `exact` meters have even readings without noise. The width"
    " (`x`) is at most three times what would have done; that is not claimed of cycles of 49.99 and "
    "50.31 readings, whose passes are read at all moments in turn, so that the mean is off by next to "
    "nothing."
)


def paced(size: Size) -> Topic:
    """A row a meter, a cycle and a number of passes."""
    rows = []
    for place, (meter, words) in enumerate(((METER, "uneven"), (STEADY, "exact"))):
        for cycle in (*IN_STEP, *OTHERS):
            for passes in PASSES:
                generator = np.random.default_rng((66, place, round(100 * cycle), passes))
                outcomes = _outcomes(generator, meter, cycle, passes, cases_of(size))
                cells = [cell for outcome in outcomes for cell in outcome.cells]
                met = all(each.covers and (each.width <= WIDEST or cycle in OTHERS) for each in outcomes)
                rows.append(Row((f"{words}, cycle {cycle:.4g}, {passes} passes", *cells), met))
    columns = ("case", "mean, %", "x", "energy, %", "x")
    return Topic("paced", "Interval of paced passes over one session", CLAIM, columns, tuple(rows))


def _outcomes(generator: Generator, meter: Meter, cycle: float, passes: int, cases: int) -> list[Outcome]:
    """Outcomes of mean power and of energy an image."""
    means, energies = [], []
    for _ in range(cases):
        duty = generator.uniform(*DUTIES)
        starts = np.arange(passes, dtype=np.float64) * cycle
        ends = starts + duty * cycle * (1 + 1e-3 * generator.standard_normal(passes))
        length = passes * cycle
        edges = np.concatenate(([-LEAD], np.stack((starts, ends), axis=1).ravel(), [length + LEAD]))
        levels = np.resize([BASE_W, BURST_W], len(edges) - 1)
        true_w = BASE_W + (BURST_W - BASE_W) * duty
        load = Steps(edges, levels, true_w)
        session = Measured(load, np.array([[0.0, length]]), images=float(passes), starts=starts)
        estimates = metered(generator, meter, [session]).estimates
        mean, energy = estimates["power_mean_w"], estimates["energy_j"]
        means.append((mean.value, mean.low, mean.high, true_w))
        image_s = cycle / meter.rate_hz
        energies.append((energy.value, energy.low, energy.high, true_w * image_s))
    return [outcome_of(means), outcome_of(energies)]
