"""Many cycles of a schedule against closed forms."""

import numpy as np
import pytest

from edgebench.stats import mission_cycles
from edgebench.stats.mission_cycles import Cycle, completions_s, load_of, work_through

DAY_S = 86_400.0
EVENLY = Cycle(np.linspace(0.0, DAY_S, 320, endpoint=False), DAY_S, deadline_s=5.0)


def test_even_images_wait_for_nothing():
    worked = work_through(np.array([4.0]), EVENLY, 10, np.random.default_rng(1), least_pause_s=60.0)
    assert worked.busy_s == pytest.approx(320 * 4.0)
    assert (worked.most_held, worked.missed, worked.long_pauses) == (1, 0, 320)
    assert worked.age_s == pytest.approx(4.0)
    assert worked.oldest_s == pytest.approx(4.0)
    assert worked.long_pauses_s == pytest.approx(320 * (DAY_S / 320 - 4.0))


def test_a_burst_waits_in_line():
    """D/D/1 with all at once: the k-th is k services old."""
    burst = Cycle(np.zeros(80), 5739.0, deadline_s=100.0)
    worked = work_through(np.array([2.0]), burst, 3, np.random.default_rng(1), least_pause_s=np.inf)
    assert worked.most_held == 80
    assert worked.age_s == pytest.approx(2.0 * 81 / 2)
    assert worked.oldest_s == pytest.approx(160.0)
    assert worked.missed == pytest.approx(30 / 80)
    assert (worked.long_pauses, worked.long_pauses_s) == (0, 0)


def test_work_that_outlasts_its_cycle_is_carried_over_from_block_to_block(monkeypatch):
    late = Cycle(np.full(10, 90.0), 100.0)
    whole = work_through(np.array([1.0, 16.0]), late, 60, np.random.default_rng(3), least_pause_s=1.0)
    monkeypatch.setattr(mission_cycles, "BLOCK_IMAGES", 70)
    in_blocks = work_through(np.array([1.0, 16.0]), late, 60, np.random.default_rng(3), least_pause_s=1.0)
    assert whole.most_held > 10
    assert vars(in_blocks) == pytest.approx(vars(whole))


@pytest.mark.parametrize(
    ("arrivals_s", "pauses_s"),
    [
        ([0.0], 92.0),
        ([30.0, 31.0], 84.0),  # after the last image, and before the first of the next cycle
        ([0.0, *[90.0] * 10], 12.0),  # the last ones are worked on in the next cycle
    ],
)
def test_a_cycle_is_the_same_however_many_are_played(arrivals_s, pauses_s):
    """D/D/1, 8 s an image: every cycle of 100 s has the same pauses, its last and its first one too."""
    cycle = Cycle(np.array(arrivals_s), 100.0, deadline_s=20.0)
    one, many = (
        work_through(np.array([8.0]), cycle, cycles, np.random.default_rng(1), least_pause_s=1.0)
        for cycles in (1, 500)
    )
    assert one.long_pauses_s == pytest.approx(pauses_s)
    assert vars(many) == pytest.approx(vars(one))


def test_images_in_the_system_are_their_rate_times_their_age():
    """Little's law, with the number in the system integrated over time."""
    generator = np.random.default_rng(4)
    arrivals_s = np.sort(generator.uniform(0, 1000.0, 400))
    cycle = Cycle(arrivals_s, 1000.0)
    values_s = generator.gamma(4.0, 0.5, 200)
    worked = work_through(values_s, cycle, 200, np.random.default_rng(5), least_pause_s=np.inf)
    drawn = np.random.default_rng(5)
    before_s = completions_s(arrivals_s - 1000.0, values_s[drawn.integers(200, size=400)], -1000.0)
    arrivals_s = (np.arange(200)[:, None] * 1000.0 + arrivals_s).ravel()
    done_s = completions_s(arrivals_s, values_s[drawn.integers(200, size=80_000)], before_s[-1])
    times_s = np.concatenate((arrivals_s, done_s))
    order = np.argsort(times_s)
    in_system = np.cumsum(np.repeat([1, -1], 80_000)[order])
    mean_in_system = (in_system[:-1] * np.diff(times_s[order])).sum() / 200_000.0
    assert mean_in_system == pytest.approx(0.4 * worked.age_s, rel=0.01)


def test_the_load_is_the_share_of_a_cycle():
    assert load_of(270.0, 320, DAY_S) == 1.0
    assert load_of(np.full(7, 5739.0 / 80).mean(), 80, 5739.0) == 1.0  # which rounding makes no overload
