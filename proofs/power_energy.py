"""Errors of energy where the load moves slowly, and of mean power where pauses lie between passes."""

from __future__ import annotations

import numpy as np

from proofs.power_loads import Floats, Generator, Steps, smooth
from proofs.power_meters import Measured, Meter, metered, window
from proofs.topic import Row, Size, Topic

MOST_CASES = 500
MOST_ERROR = 0.01
RATES_HZ = (2.0, 20.0, 100.0, 1000.0)
AVERAGING = ((0.0, "moments"), (0.25, "means of a quarter"), (1.0, "means of all"))
FEWEST, MOST = 103.0, 1000.0
"""Sample periods of a window: with a hundredth of the samples lost, 100 are left."""

PAUSES = (0.037, 0.10, 0.18)
PASS_READINGS = (2.5, 8.0, 40.0)
PASS_W, PAUSE_W = 5.0, 2.0
SURE = 0.005
"""By how many periods the stamps of a meter may be off whose clock is matched."""

SMOOTH_CLAIM = (
    "The worst energy of all cases is within 1 % of the truth. Loads move by 10 to 80 % of their mean at no "
    "more than a tenth of the rate; windows of 100 to 1,000 periods, idle ones of 100 to 300; readings "
    "are moments, or means of a part of the period or of all; each is off by 0.5 %, rounded to 1 mW (from "
    "100 Hz on to 50 uW), at uneven times, its stamp off by up to 2 % of a period; 1 % are lost. "
    "The truth is what was drawn in the window, net of what was drawn in the idle one."
)
PAUSES_CLAIM = (
    "The worst mean within passes is within 1 %, whatever the pauses between them, where a pass holds two "
    "readings. Passes draw 5 W and pauses 2 W; lengths scatter by 5 %, "
    "stamps are off by up to 0.5 % of a period. `first to last` is what the mean "
    "from the first pass to the last would say, in W, for a truth of 5."
)


def slow(size: Size) -> Topic:
    """A row a meter, a column a figure."""
    rows = []
    for place, rate_hz in enumerate(RATES_HZ):
        for averaging, words in AVERAGING:
            meter = Meter(rate_hz, averaging, step_w=50e-6 if rate_hz >= 100 else 1e-3)
            generator = np.random.default_rng((61, place, round(100 * averaging)))
            errors = np.array([_slow_errors(generator, meter) for _ in range(_cases(size))])
            worst = np.abs(errors).max(axis=0)
            cells = (f"{rate_hz:,.0f} Hz, {words}", *(f"{100 * error:.2f}" for error in worst))
            rows.append(Row(cells, bool((worst <= MOST_ERROR).all())))
    title = "Worst error of energy an image, %"
    return Topic("energy", title, SMOOTH_CLAIM, ("case", "gross", "net"), tuple(rows))


def _slow_errors(generator: Generator, meter: Meter) -> tuple[float, float]:
    """Errors of gross and of net energy, as shares."""
    periods = generator.uniform(FEWEST, MOST)
    idle = smooth(generator, generator.uniform(0.5, 2.0)), generator.uniform(FEWEST, 300.0)
    load = smooth(generator, generator.uniform(3.0, 8.0))
    session = Measured(load, np.array([[0.0, periods]]), idle)
    power = metered(generator, meter, [session])
    gross_j, net_j = (power.estimates[name].value for name in ("energy_j", "net_energy_j"))
    assert gross_j is not None and net_j is not None, power.rail.reason
    window_s = periods / meter.rate_hz
    gross, net = session.window_w * window_s, session.net_w() * window_s
    return gross_j / gross - 1, net_j / net - 1


def pauses(size: Size) -> Topic:
    """A row a share of pauses and a length of passes."""
    rows = []
    for place, share in enumerate(PAUSES):
        for readings in PASS_READINGS:
            generator = np.random.default_rng((62, place, round(10 * readings)))
            cases = [_pause_case(generator, share, readings) for _ in range(_cases(size))]
            worst = max(abs(mean_w / PASS_W - 1) for mean_w, _ in cases)
            spanned_w = float(np.mean([spanned for _, spanned in cases]))
            cells = (f"{100 * share:g} % pauses, {readings:g} readings a pass", f"{100 * worst:.2f}")
            rows.append(Row((*cells, f"{spanned_w:.2f}"), worst <= MOST_ERROR))
    columns = ("case", "worst, %", "first to last")
    return Topic("passes", "Mean power within passes", PAUSES_CLAIM, columns, tuple(rows))


def _pause_case(generator: Generator, share: float, readings: float) -> tuple[float, float]:
    """The mean within passes that is stated, and the true one from the first to the last, in W."""
    meter = Meter(100.0, generator.choice([0.0, 1.0]), unsure=SURE, step_w=50e-6)
    load, spans = passes(generator, readings, share, max(FEWEST, 6 * readings))
    session = Measured(load, spans)
    power = window(generator, meter, session)
    assert power.mean_w is not None, power.reason
    assert not power.note, power.note
    first, last = spans[0, 0], spans[-1, 1]
    spanned = float(np.diff(load.energy(np.array([first, last])))[0]) / (last - first)
    return power.mean_w, spanned


def passes(generator: Generator, length: float, share: float, periods: float) -> tuple[Steps, Floats]:
    """A load of passes with pauses between them, over so many periods in passes, and their spans."""
    count = int(np.ceil(periods / length))
    lengths = length * (1 + 0.05 * np.clip(generator.standard_normal((count, 2)), -3, 3))
    lengths[:, 1] *= share / (1 - share)
    edges = np.concatenate(([-100.0, 0.0], np.cumsum(lengths)))
    levels = np.resize([PAUSE_W, PASS_W], len(edges) - 1)
    spans = np.stack((edges[1:-1:2], edges[2::2]), axis=1)
    return Steps(np.append(edges[:-1], edges[-1] + 100.0), levels, PASS_W), spans


def _cases(size: Size) -> int:
    return min(size.single, MOST_CASES)
