from __future__ import annotations

import numpy as np
import pytest

from edgebench.stats.power import power_line


def test_few_samples_are_all_drawn() -> None:
    t_s = np.array([0.0, 1.0, 2.0, 3.0])
    watts = np.array([1.0, 5.0, 2.0, 2.5])
    drawn_s, drawn_w = power_line(t_s, watts, 600)
    assert drawn_s.tolist() == t_s.tolist()
    assert drawn_w.tolist() == watts.tolist()


def test_many_samples_keep_their_extremes_where_they_were() -> None:
    rng = np.random.default_rng(3)
    t_s = np.arange(1_000_000) / 1e5
    watts = 3 + 0.1 * rng.standard_normal(len(t_s))
    watts[123_456], watts[765_432] = 40.0, 0.25  # a sample each
    drawn_s, drawn_w = power_line(t_s, watts, 500)
    assert len(drawn_s) <= 1_000
    assert (np.diff(drawn_s) >= 0).all()
    for extreme in (40.0, 0.25):
        [at] = np.flatnonzero(drawn_w == extreme)
        assert drawn_s[at] == pytest.approx(t_s[watts == extreme][0], abs=10 / 500)
    for first in range(0, len(t_s), len(t_s) // 10):  # and of any part of the time
        part = watts[first : first + 100_000]
        inside = (drawn_s >= t_s[first] - 1e-9) & (drawn_s <= t_s[first + 99_999] + 1e-9)
        assert drawn_w[inside].max() == part.max() and drawn_w[inside].min() == part.min()


@pytest.mark.parametrize("rate_hz", [10.0, 1e4])
def test_a_gap_breaks_the_line(rate_hz: float) -> None:
    t_s = np.arange(int(60 * rate_hz)) / rate_hz
    silent = (t_s > 20) & (t_s < 22)
    failed = (t_s > 40) & (t_s < 40.5)
    watts = np.where(failed, np.nan, 2.0)[~silent]
    drawn_s, drawn_w = power_line(t_s[~silent], watts, 600)
    broken_s = drawn_s[np.isnan(drawn_w)]
    assert broken_s == pytest.approx([22.0, 40.5], abs=2 / rate_hz)
    assert (drawn_w[~np.isnan(drawn_w)] == 2.0).all()


def test_one_failed_reading_of_a_slow_meter_breaks_the_line_and_a_late_one_does_not() -> None:
    t_s = np.array([0.0, 0.5, 1.0, 1.5, 3.0, 3.5])
    watts = np.array([1.0, 1.0, np.nan, 1.0, 2.0, 2.0])
    assert power_line(t_s, watts, 100)[1].tolist() == pytest.approx([1, 1, np.nan, 1, 2, 2], nan_ok=True)


def test_a_meter_that_fails_all_the_time_gives_no_more_points() -> None:
    watts = np.where(np.arange(1_000_000) % 2, 3.0, np.nan)
    drawn_s, drawn_w = power_line(np.arange(1_000_000) / 1e5, watts, 400)
    assert len(drawn_s) == len(drawn_w) <= 5 * 400
    assert not np.isnan(drawn_w).any()  # what is narrower than a column is not seen


@pytest.mark.parametrize("watts", [[], [np.nan], [2.0], [np.nan, 2.0, np.nan], [2.0, 2.0]])
def test_next_to_nothing_is_drawn_as_it_is(watts: list[float]) -> None:
    values = np.array(watts, np.float64)
    drawn = power_line(np.arange(len(values), dtype=np.float64), values, 10)[1]
    assert drawn.tolist() == values[np.isfinite(values)].tolist()
