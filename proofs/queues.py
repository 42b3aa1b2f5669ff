"""Does the simulated device wait as long as queueing theory says?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator

from edgebench.stats.mission_cycles import Cycle, Floats, completions_s, work_through
from proofs.topic import Row, Size, Topic

LOADS = (0.3, 0.7, 0.9)
RUNS = 20
IMAGES_AN_EXPERIMENT = 5
ERRORS = 4.0
BURST = 80

CLAIM = (
    "The mean wait of an image, in service times, is that of the closed form, within four standard errors of "
    "the simulation: none where images come evenly and take the same (D/D/1), half a service for each other "
    "image of a burst, and load (1 + c^2) / (2 (1 - load)) where they come at random (Pollaczek and "
    "Khinchine; c: standard deviation of a service over its mean). The number of images in the system, "
    "integrated over time, is their rate times their mean age (Little's law)."
)

Services = Callable[[Generator, int], Floats]
SERVICES: Mapping[str, tuple[float, Services]] = {
    "M/D/1": (0.0, lambda generator, count: np.ones(count)),
    "M/gamma/1": (0.25, lambda generator, count: generator.gamma(4.0, 0.25, count)),
    "M/M/1": (1.0, lambda generator, count: generator.exponential(1.0, count)),
}


def proof(size: Size) -> Topic:
    """A row a kind of queue and a load."""
    rows = [_even(load, size) for load in LOADS]
    rows.append(_burst(size))
    rows += [_random(name, load, size) for name in SERVICES for load in LOADS]
    columns = ("queue", "load", "wait", "closed form", "in the system", "rate x age")
    return Topic("queues", "Waits, in service times", CLAIM, columns, tuple(rows))


def _even(load: float, size: Size) -> Row:
    cycle = Cycle(np.arange(100) / load, 100 / load)
    worked = work_through(np.ones(1), cycle, size.single, np.random.default_rng(1), np.inf)
    busy = worked.busy_s / cycle.cycle_s
    met = math.isclose(worked.age_s, 1.0, rel_tol=1e-9) and math.isclose(busy, load, rel_tol=1e-9)
    return Row(("D/D/1", f"{load:g}", f"{worked.age_s - 1:.3f}", "0.000", f"{busy:.3f}", f"{load:.3f}"), met)


def _burst(size: Size) -> Row:
    cycle = Cycle(np.zeros(BURST), 2.0 * BURST)
    worked = work_through(np.ones(1), cycle, size.single, np.random.default_rng(1), np.inf)
    wait, expected = worked.age_s - 1, (BURST - 1) / 2
    in_system = worked.age_s * BURST / cycle.cycle_s
    met = math.isclose(wait, expected, rel_tol=1e-9) and worked.most_held == BURST
    # At once in the system, integrated: 80 for a service, 79 for the next, ... over a cycle.
    integrated = BURST * (BURST + 1) / 2 / cycle.cycle_s
    met = met and math.isclose(in_system, integrated, rel_tol=1e-9)
    cells = (f"{wait:.3f}", f"{expected:.3f}", f"{integrated:.3f}", f"{in_system:.3f}")
    return Row((f"bursts of {BURST}", "0.5", *cells), met)


def _random(name: str, load: float, size: Size) -> Row:
    squared_variation, draw = SERVICES[name]
    generator = np.random.default_rng((82, len(name), round(100 * load)))
    count = max(10_000, size.experiments * IMAGES_AN_EXPERIMENT)
    runs = np.array([_run(generator, load, draw, count) for _ in range(RUNS)])
    wait, in_system, by_age = runs.mean(axis=0)
    expected = load * (1 + squared_variation) / (2 * (1 - load))
    error = runs[:, 0].std(ddof=1) / math.sqrt(RUNS)
    met = abs(wait - expected) <= ERRORS * error and math.isclose(in_system, by_age, rel_tol=1e-6)
    cells = (f"{wait:.3f}", f"{expected:.3f}", f"{in_system:.3f}", f"{by_age:.3f}")
    return Row((name, f"{load:g}", *cells), bool(met))


def _run(generator: Generator, load: float, draw: Services, count: int) -> tuple[float, float, float]:
    """Mean wait, mean number in the system until the last result, and the rate times the mean age."""
    arrivals = np.cumsum(generator.exponential(1 / load, count))
    services = draw(generator, count)
    done = completions_s(arrivals, services)
    events = np.concatenate((arrivals, done))
    order = np.argsort(events, kind="stable")
    in_system = np.cumsum(np.repeat([1, -1], count)[order])[:-1]
    until = done[-1]
    held = float((in_system * np.diff(events[order])).sum() / until)
    ages = done - arrivals
    return float((ages - services).mean()), held, float(count / until * ages.mean())
