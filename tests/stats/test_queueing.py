"""Queues against closed forms, and against the recursion that they are defined by."""

import numpy as np
import pytest

from edgebench.stats.mission_cycles import completions_s, held, pauses_s


def by_recursion(arrivals_s, services_s, free_at_s=0.0):
    done = []
    for arrival, service in zip(arrivals_s, services_s, strict=True):
        free_at_s = max(arrival, free_at_s) + service
        done.append(free_at_s)
    return np.array(done)


@pytest.mark.parametrize("free_at_s", [0.0, 3.5])
def test_completions_are_those_of_the_recursion(free_at_s):
    generator = np.random.default_rng(1)
    arrivals_s = np.sort(generator.uniform(0, 100, 300))
    services_s = generator.uniform(0.01, 0.6, 300)
    expected_s = by_recursion(arrivals_s, services_s, free_at_s)
    np.testing.assert_allclose(completions_s(arrivals_s, services_s, free_at_s), expected_s, rtol=1e-12)


def test_images_are_counted_from_their_arrival_to_their_result():
    arrivals_s, services_s = np.array([0.0, 1.0, 2.0, 10.0]), np.array([3.0, 3.0, 3.0, 1.0])
    done_s = completions_s(arrivals_s, services_s)
    np.testing.assert_array_equal(done_s, [3.0, 6.0, 9.0, 11.0])
    np.testing.assert_array_equal(held(arrivals_s, done_s, np.empty(0)), [1, 2, 3, 1])
    np.testing.assert_array_equal(held(arrivals_s, done_s, np.array([0.5, 1.5])), [3, 3, 3, 1])
    np.testing.assert_array_equal(pauses_s(arrivals_s, done_s), [0.0, 0.0, 0.0, 1.0])


def test_images_that_come_evenly_and_take_less_never_wait():
    """D/D/1 below a load of 1."""
    arrivals_s = np.linspace(0.0, 1998.0, 1000)
    done_s = completions_s(arrivals_s, np.full(1000, 1.5))
    np.testing.assert_allclose(done_s - arrivals_s, 1.5)
    assert held(arrivals_s, done_s, np.empty(0)).max() == 1


def test_images_that_come_evenly_and_take_more_wait_longer_and_longer():
    """D/D/1 above a load of 1: the k-th waits k times what is lacking."""
    arrivals_s = np.linspace(0.0, 999.0, 1000)
    done_s = completions_s(arrivals_s, np.full(1000, 1.25))
    np.testing.assert_allclose(done_s - arrivals_s - 1.25, 0.25 * np.arange(1000))


@pytest.mark.parametrize(("load", "squared_variation"), [(0.3, 0.0), (0.7, 0.0), (0.7, 1.0)])
def test_waiting_is_what_pollaczek_and_khinchine_say(load, squared_variation):
    """M/D/1 and M/M/1: the mean wait is load (1 + c^2) / (2 (1 - load)) of a service."""
    generator = np.random.default_rng(2)
    count = 400_000
    arrivals_s = np.cumsum(generator.exponential(1 / load, count))
    services_s = np.ones(count) if squared_variation == 0 else generator.exponential(1.0, count)
    done_s = completions_s(arrivals_s, services_s)
    wait_s = (done_s - arrivals_s - services_s).mean()
    assert wait_s == pytest.approx(load * (1 + squared_variation) / (2 * (1 - load)), rel=0.05)
    busy = services_s.sum() / done_s[-1]
    assert busy == pytest.approx(load, rel=0.01)
