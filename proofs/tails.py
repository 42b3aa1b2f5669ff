"""Percentiles and maxima: refused below their n, and bounds that hold although sessions differ or stall."""

from __future__ import annotations

import numpy as np

from edgebench.judge.sessions import NEARLY_ALL, over_values
from edgebench.stats.percentiles import STALL_SHARE, least_n, percentile_interval, percentile_over_sessions
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import Floats, Passes, World

LEAST = 0.90
WRONG = 0.05
CASES = ((0.9, 3, 20), (0.9, 5, 20), (0.9, 5, 100), (0.9, 10, 100), (0.99, 5, 100), (0.99, 10, 100))
SHIFTS = (0.0, 0.01, 0.05)
MAXIMA = ((9, 34), (9, 60), (10, 100), (20, 100))
MAXIMUM_SHIFTS = (0.0, 0.01, 0.02, 0.05)

CLAIM = (
    "p90 and p99 are refused below 29 and 299 values. Each bound is stated at 95 %, and holds in at least "
    "90 %, also where sessions shift. `all at once` is the upper bound that treats all passes as independent."
)
STALLS = ((3, 100), (5, 100), (8, 100), (9, 34), (9, 100), (20, 100))
STALLED_PASSES = (0.05, 0.2)
STALL_STEP = 1.0

MAXIMUM_CLAIM = (
    "At most 1 % of all passes are above a maximum's upper bound: stated at 95 %, it holds in at least 90 %, "
    "also where sessions shift by several times what passes scatter (1 %). `highest` is how often it would "
    "hold of the highest pass itself."
)


STALL_CLAIM = (
    "30 % of all sessions stall: of their passes 5 or 20 % take twice as long, so that the true p99 is a "
    "stalled pass. A limit below it is passed in at most 5 % of trials of 100 passes a session, by a "
    "requirement on p99 or on the maximum; with fewer passes a session that stalls may not show it. "
    "`bound` is how often the bound of p99 over sessions would hold: as often as a session shows a stall, "
    "which is why fewer than 9 sessions give none."
)


def proof(size: Size) -> Topic:
    """A row a percentile, a number of sessions and passes, and a shift."""
    rows = [_refusal(p) for p in (0.9, 0.99)]
    for p, sessions, passes in CASES:
        for shift in SHIFTS:
            low, high, pooled = _held(p, sessions, passes, shift, size)
            least = LEAST - slack(LEAST, size.single)
            cells = (f"p{100 * p:g}, {sessions} x {passes}", f"{100 * shift:g}")
            shares = tuple(percent(share) for share in (low, high, pooled))
            rows.append(Row((*cells, *shares), low >= least and high >= least))
    columns = ("case", "shift %", "lower", "upper", "all at once")
    return Topic("percentiles", "Bounds of percentiles that hold, %", CLAIM, columns, tuple(rows))


def maxima(size: Size) -> Topic:
    """A row a number of sessions and passes, and a shift."""
    rows = []
    for sessions, passes in MAXIMA:
        for shift in MAXIMUM_SHIFTS:
            held, highest = _speaks_for_all(sessions, passes, shift, size)
            cells = (f"{sessions} x {passes}", f"{100 * shift:g}", percent(held), percent(highest))
            rows.append(Row(cells, held >= LEAST - slack(LEAST, size.single)))
    columns = ("case", "shift %", "held", "highest")
    return Topic("maxima", "Maxima that speak for all passes, %", MAXIMUM_CLAIM, columns, tuple(rows))


def stalls(size: Size) -> Topic:
    """A row a number of sessions and passes, and a share of passes that stall in the sessions that do."""
    rows = []
    for sessions, passes in STALLS:
        for share in STALLED_PASSES:
            of_p99, of_maximum, bound = _passed_below(sessions, passes, share, size)
            cells = (f"{sessions} x {passes}", f"{100 * share:g}")
            most = WRONG + slack(WRONG, size.single)
            shown = tuple(percent(each) for each in (bound, of_p99, of_maximum))
            met = of_p99 <= most and of_maximum <= most
            rows.append(Row((*cells, *shown), met if passes >= 100 else None))
    columns = ("case", "passes that stall, %", "bound", "p99 passed", "maximum passed")
    title = "Limits below the true p99 that are passed where some sessions stall, %"
    return Topic("stalls", title, STALL_CLAIM, columns, tuple(rows))


def _passed_below(sessions: int, passes: int, share: float, size: Size) -> tuple[float, float, float]:
    """The shares in which a limit just below p99 is passed, as p99 and as a maximum, and its bound holds."""
    generator = np.random.default_rng((8, sessions, passes, round(100 * share)))
    drawn = World("normal", 0.01, Passes()).passes_of(generator, size.single, sessions, passes)
    stalls_at = generator.random((size.single, sessions, 1)) < STALL_SHARE
    drawn += STALL_STEP * (stalls_at & (generator.random(drawn.shape) < share))
    limit = 1.0 + STALL_STEP / 2  # no pass is near it, and more than 1 % of all passes lie above
    p99 = maximum = bound = 0
    for experiment in drawn:
        of_p99 = over_values(experiment.tolist(), "passes", "p99")
        of_maximum = over_values(experiment.tolist(), "passes", "max")
        p99 += of_p99.high is not None and of_p99.high <= limit
        maximum += of_maximum.high is not None and of_maximum.high <= limit
        high = percentile_over_sessions(list(experiment), NEARLY_ALL).high
        bound += high is not None and high > limit
    return p99 / size.single, maximum / size.single, bound / size.single


def _refusal(p: float) -> Row:
    n = least_n(p)
    values = np.arange(float(n))
    met = (
        percentile_interval(values[:-1], p).value is None and percentile_interval(values, p).value is not None
    )
    return Row((f"p{100 * p:g}, {n - 1} values", "", "", "", ""), met, "refused" if met else "")


def _held(p: float, sessions: int, passes: int, shift: float, size: Size) -> tuple[float, float, float]:
    """The shares in which the lower bound, the upper bound, and the upper bound from all at once hold."""
    drawn, truth = _drawn(p, sessions, passes, shift, size)
    low = high = pooled = 0
    for experiment in drawn:
        interval = percentile_over_sessions(list(experiment), p)
        at_once = percentile_interval(experiment.ravel(), p)
        low += interval.low is not None and interval.low <= truth
        high += interval.high is not None and interval.high >= truth
        pooled += at_once.high is not None and at_once.high >= truth
    return low / size.single, high / size.single, pooled / size.single


def _speaks_for_all(sessions: int, passes: int, shift: float, size: Size) -> tuple[float, float]:
    """The shares in which at most 1 % of all passes lie above the upper bound, and above the highest pass."""
    drawn, truth = _drawn(NEARLY_ALL, sessions, passes, shift, size)
    held = highest = 0
    for experiment in drawn:
        bound = over_values(experiment.tolist(), "passes", "max")
        held += bound.high is not None and bound.high >= truth
        highest += float(experiment.max()) >= truth
    return held / size.single, highest / size.single


def _drawn(p: float, sessions: int, passes: int, shift: float, size: Size) -> tuple[Floats, float]:
    """Every pass of the experiments, and the true percentile."""
    world = World("normal", shift, Passes())
    generator = np.random.default_rng((6, sessions, passes, round(1000 * shift), round(100 * p)))
    # A percentile over all sessions: of one pass each from a great many.
    truth = float(np.quantile(world.passes_of(generator, 1, 500_000, 1), p))
    return world.passes_of(generator, size.single, sessions, passes), truth
