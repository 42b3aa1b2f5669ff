"""Is the planner right when it says that so many sessions will not resolve that?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgebench.stats.forecast import Forecast, forecast
from edgebench.stats.intervals import mean_interval, session_interval
from proofs.topic import Row, Size, Topic, percent, slack
from proofs.worlds import Passes, World

WRONG = 0.10
RIGHT = 0.90
SHIFTS = (0.005, 0.007, 0.01, 0.014, 0.02, 0.05)
TARGET = 0.01

CLAIM = (
    "In every case at most 10 % of all experiments get `no` and resolve it (`wrong`), and over "
    "all cases `no` is right in at least 90 % of its uses (`right`). target: a half-width of "
    "1 %; limit: the interval excludes a limit that is 2 % off; each told after k of K sessions."
)

Floats = NDArray[np.float64]


def proof(size: Size) -> Topic:
    """A row a question, a world, and a number of sessions; the last over all of them."""
    rows: list[Row] = []
    total: Counter[str] = Counter()
    for kind, tell in _KINDS.items():
        for sessions, planned in ((3, 5), (3, 10), (5, 20)):
            for shift in SHIFTS:
                world = World("normal", shift, Passes(0.3))
                counts = _counts(tell, world, (sessions, planned), size)
                total += counts
                name = (kind, f"{sessions} of {planned}")
                met = counts["wrong no"] / size.single <= WRONG + slack(WRONG, size.single)
                rows.append(_row(name, f"{100 * shift:g}", counts, met))
    answered_no = total["right no"] + total["wrong no"]
    overall = total["right no"] / answered_no >= RIGHT - slack(RIGHT, answered_no)
    rows.append(_row(("all", ""), "", total, overall))
    columns = ("asked", "told", "shift %", "resolved", "no", "wrong", "right", "yes right")
    return Topic("forecast", "Forecasts, % of experiments", CLAIM, columns, tuple(rows))


def _row(name: tuple[str, str], shift: str, counts: Counter[str], met: bool) -> Row:
    every = counts["every"]
    cells = [percent(counts["resolved"] / every)]
    cells.append(percent((counts["right no"] + counts["wrong no"]) / every))
    cells.append(percent(counts["wrong no"] / every))
    for word in ("no", "yes"):
        answers = counts[f"right {word}"] + counts[f"wrong {word}"]
        cells.append(percent(counts[f"right {word}"] / answers) if answers else "")
    return Row((*name, shift, *cells), met)


Tell = Callable[[Floats, int, float], tuple[Forecast, bool]]


def _counts(tell: Tell, world: World, numbers: tuple[int, int], size: Size) -> Counter[str]:
    sessions, planned = numbers
    generator = np.random.default_rng((5, sessions, planned, round(10_000 * world.shift)))
    medians = world.draw(generator, (size.single, sessions + planned), size.pool).medians
    truth = world.truth(size.pool)
    counts: Counter[str] = Counter(every=size.single)
    for session_medians in medians:
        prediction, resolved = tell(session_medians, sessions, truth)
        counts["resolved"] += resolved
        if prediction.resolves != "unclear":
            counts[
                f"{'right' if resolved == (prediction.resolves == 'yes') else 'wrong'} {prediction.resolves}"
            ] += 1
    return counts


def _target(medians: Floats, sessions: int, truth: float) -> tuple[Forecast, bool]:
    planned = medians[:-sessions]
    prediction = forecast(medians[:sessions].tolist(), planned.size, target_half_width=TARGET)
    return prediction, _narrow(planned)


def _limit(medians: Floats, sessions: int, truth: float) -> tuple[Forecast, bool]:
    planned, limit = medians[:-sessions], truth * 1.02
    bounds = mean_interval(planned)
    prediction = forecast(medians[:sessions].tolist(), planned.size, limit=limit)
    return prediction, bool(bounds.low > limit or bounds.high < limit)


def _narrow(medians: Floats) -> bool:
    half_width = session_interval([[median] for median in medians.tolist()]).half_width
    return half_width is not None and half_width <= TARGET


_KINDS: dict[str, Tell] = {"target": _target, "limit": _limit}
