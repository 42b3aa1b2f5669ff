import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from edgebench.stats.compare import paired_difference, score


@pytest.mark.parametrize(("only_a", "only_b", "n"), [(12, 2, 50), (2, 12, 50), (3, 0, 20), (1, 1, 30)])
def test_the_score_is_that_of_the_likeliest_table(only_a, only_b, n):
    for difference in (-0.3, -0.02, 0.01, 0.25):
        least = max(0.0, -difference) + 1e-12

        def unlikely(q, difference=difference):
            cells = ((only_a, q + difference), (only_b, q), (n - only_a - only_b, 1 - 2 * q - difference))
            return -sum(count * math.log(share) for count, share in cells if count)

        most = (1 - difference) / 2 - 1e-12
        q = optimize.minimize_scalar(unlikely, bounds=(least, most), options={"xatol": 1e-10}).x
        error = math.sqrt(n * (2 * q + difference - difference**2))
        assert score(only_a, only_b, n, difference) == pytest.approx(
            (only_a - only_b - n * difference) / error, rel=1e-3
        )


def test_its_ends_are_where_the_test_begins_to_refuse():
    difference, low, high = paired_difference(12, 2, 50)
    assert difference == 0.2 and -1 < low < difference < high < 1
    z = stats.norm.ppf(0.975)
    assert score(12, 2, 50, low) == pytest.approx(z) and score(12, 2, 50, high) == pytest.approx(-z)
    assert paired_difference(2, 12, 50) == pytest.approx((-0.2, -high, -low))


def test_two_that_never_differ_differ_by_little():
    difference, low, high = paired_difference(0, 0, 1000)
    assert difference == 0 and high == -low == pytest.approx(1.96**2 / (1000 + 1.96**2), rel=1e-3)


@pytest.mark.parametrize("counts", [(7, 0, 7), (0, 7, 7), (1, 0, 1)])
def test_an_end_of_what_is_possible_is_an_end(counts):
    difference, low, high = paired_difference(*counts)
    assert -1 <= low <= difference <= high <= 1 and abs(difference) == 1


@pytest.mark.parametrize(
    ("p_a", "p_b"), [(0.05, 0.05), (0.1, 0.02), (0.02, 0.1), (0.3, 0.1), (0.02, 0.02), (0.25, 0.25)]
)
def test_it_covers_the_truth_as_often_as_it_says(p_a, p_b):
    """Not simulated: every table of 60 images, with its probability."""
    n = 60
    tables = [(a, b) for a, b in itertools.product(range(n + 1), repeat=2) if a + b <= n]
    counts = np.array([(a, b, n - a - b) for a, b in tables])
    probabilities = stats.multinomial.pmf(counts, n, [p_a, p_b, 1 - p_a - p_b])
    likely = probabilities > 1e-7
    covered = sum(
        probability
        for (a, b), probability in zip(np.array(tables)[likely].tolist(), probabilities[likely], strict=True)
        if (ends := paired_difference(a, b, n))[1] <= p_a - p_b <= ends[2]
    )
    assert 0.93 <= covered <= 0.99
