"""When a warm-up is over: pyperf's test on two halves of the most recent values (pure).

Source: pyperf's calibration of warm-ups (`test_calibrate_warmups`, samples of 20 values).
"""

from typing import List, Optional, Sequence

HALF = 20


def steady_after(values: Sequence[float], floor: int, cap: int, step: int = 10) -> Optional[int]:
    """The least number of values, in steps, after which they are steady; None if there is none up to `cap`.

    It is at least `floor`, and at least the values that the test itself needs.
    """
    for count in range(max(floor, 2 * HALF), min(cap, len(values)) + 1, step):
        if is_steady(values[:count]):
            return count
    return None


def is_steady(values: Sequence[float], half: int = HALF) -> bool:
    """Whether the last 2 x `half` values look like one another; False while there are fewer.

    The first value is not above Q3 + 1.5 IQR of the others, the means differ by -50..+10 %, the median
    absolute deviations by at most 10 %, the quartiles by at most 5 %.
    """
    recent = list(values[-2 * half :])
    if len(recent) < 2 * half:
        return False
    older, newer = recent[:half], recent[half:]
    rest = sorted(recent[1:])
    upper = quantile(rest, 0.75)
    if recent[0] > upper + 1.5 * (upper - quantile(rest, 0.25)):
        return False
    if not -0.5 <= _difference(sum(older), sum(newer)) <= 0.10:
        return False
    older.sort()
    newer.sort()
    return (
        abs(_difference(_deviation(older), _deviation(newer))) <= 0.10
        and abs(_difference(quantile(older, 0.25), quantile(newer, 0.25))) <= 0.05
        and abs(_difference(quantile(older, 0.75), quantile(newer, 0.75))) <= 0.05
    )


def quantile(ordered: List[float], share: float) -> float:
    """The quantile of sorted values, interpolated between neighbours."""
    position = (len(ordered) - 1) * share
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _deviation(ordered: List[float]) -> float:
    middle = quantile(ordered, 0.5)
    return quantile(sorted(abs(value - middle) for value in ordered), 0.5)


def _difference(first: float, second: float) -> float:
    if first == second:
        return 0.0
    return (first - second) / second if second else float("inf")
