"""Wrong passes of a limit on the highest mean over an averaging time."""

from __future__ import annotations

import numpy as np

from edgebench.judge.metrics import METRICS
from edgebench.judge.power.limits import power_candidates
from edgebench.judge.trial import Conditions, Trial
from edgebench.judge.verdicts.verdict import word_of
from proofs.power_bursts import cases_of
from proofs.power_loads import Bursts, Floats, Generator, Steps
from proofs.power_meters import Measured, Meter, metered
from proofs.topic import Row, Size, Topic, percent, slack

AVERAGING_S = 1.0
WINDOW = 10.0
"""Averaging times that the passes last."""

METERS = (
    ("moments, 200 Hz", Meter(200.0, step_w=50e-6, lost=0.0)),
    ("means, 100 Hz", Meter(100.0, 1.0, step_w=50e-6, lost=0.0)),
    ("means, 20 Hz", Meter(20.0, 1.0, lost=0.0)),
    ("means, 2.5 Hz", Meter(2.5, 1.0, lost=0.0)),
    ("moments, 91 Hz", Meter(91.0, step_w=50e-6, lost=0.0)),
)
CYCLES = (0.003, 0.03, 0.3, 3.0)
BROKEN = (0.995, 0.97)
KEPT = (1.1, 1.3, 2.0)
MOST_WRONG = 0.05

CLAIM = (
    "A limit that the load breaks in the measured passes, by 0.5 or 3 %, is passed in at most 5 % of cases. "
    "Random bursts of 5 W over 1 W for 5 to 90 % of the time; `cycle` in averaging times of 1 s; the passes "
    "last ten of those. Behind it how often a limit is passed that is 1.1, 1.3 and 2 times the truth."
)


def peaks(size: Size) -> Topic:
    """A row a meter and a length of bursts, a column a limit."""
    rows = []
    for place, (words, meter) in enumerate(METERS):
        for cycle in CYCLES:
            generator = np.random.default_rng((65, place, round(1000 * cycle)))
            passed = np.array([_passed(generator, meter, cycle) for _ in range(cases_of(size))])
            shares = passed.mean(axis=0)
            most = MOST_WRONG + slack(MOST_WRONG, len(passed))
            met = bool((shares[: len(BROKEN)] <= most).all())
            rows.append(Row((f"{words}, cycle {cycle:g}", *(percent(share) for share in shares)), met))
    columns = ("case", *(f"x {limit:g}" for limit in (*BROKEN, *KEPT)))
    title = "Limits on the mean over 1 s that are passed, by limit over truth, %"
    return Topic("peaks", title, CLAIM, columns, tuple(rows))


def _passed(generator: Generator, meter: Meter, cycle: float) -> list[bool]:
    """Flag the limits that are passed in one case."""
    averaging = AVERAGING_S * meter.rate_hz
    length = WINDOW * averaging
    load = Bursts(cycle * averaging, generator.uniform(0.05, 0.9)).draw(generator, length)
    power = metered(generator, meter, [Measured(load, np.array([[0.0, length]]))])
    truth_w = highest_mean_w(load, averaging, length)
    estimates = {METRICS[name].key(rail=power.rail.name): found for name, found in power.estimates.items()}
    trial = Trial("", "board", "", None, "int8", 1, estimates=estimates, rails=(power.rail,))
    [peak] = power_candidates(trial, METRICS["power_peak_w"], Conditions("max", averaging_s=AVERAGING_S))
    return [word_of(peak, share * truth_w, False) == "pass" for share in (*BROKEN, *KEPT)]


def highest_mean_w(load: Steps, averaging: float, length: float) -> float:
    """The highest mean over any stretch of `averaging` from 0 to `length`: it begins or ends with a step."""
    ends: Floats = np.concatenate((load.edges, load.edges + averaging, [averaging, length]))
    ends = ends[(ends >= averaging) & (ends <= length)]
    return float((load.energy(ends) - load.energy(ends - averaging)).max() / averaging)
