"""How many inferences a window holds."""

import pytest

from edgebench.link.window_session import USUAL


@pytest.mark.parametrize(
    ("inference_s", "inferences"),
    [
        (0.16, 69),
        (1e-3, 11_000),
        (1.0, 11),
        (1.5, 10),
        (2.5, 10),
        (2.6, 9),
        (24.0, 1),
        (60.0, 1),
        (1e-9, 1_000_000),
    ],
)
def test_at_least_ten_inferences_and_ten_seconds_and_at_most_25_seconds(inference_s, inferences):
    assert USUAL.inferences(inference_s) == inferences


@pytest.mark.parametrize(("inference_s", "warm_ups"), [(0.16, 10), (1.0, 2), (2.5, 1), (3.0, 0)])
def test_a_warm_up_takes_at_most_two_and_a_half_seconds(inference_s, warm_ups):
    assert USUAL.warm_ups(inference_s, 10) == warm_ups
