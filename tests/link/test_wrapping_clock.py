"""A board's clock of 32 bits, unwrapped beside the host's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgebench.link.clock_match import BoardFault, WrappingClock
from edgebench.stats.clock import fit_clocks


@given(
    st.integers(0, 2**32 - 1),
    st.floats(-500e-6, 500e-6),
    st.lists(st.integers(0, 12 * 3_600_000_000), min_size=1, max_size=12),
)
def test_laps_are_unwrapped_however_far_apart(start_us, drift, gaps_us):
    clock = WrappingClock()
    host_us, board_us = 0, start_us
    assert clock.unwrap(start_us, 0) == start_us
    for gap_us in gaps_us:
        host_us += gap_us
        board_us += round(gap_us * (1 + drift))
        assert clock.unwrap(board_us % 2**32, host_us * 1000) == board_us


def test_an_emulated_clock_only_goes_on():
    clock = WrappingClock(follows_host=False)
    laps = [clock.unwrap(lap_us, hour * 3600 * 10**9) for hour, lap_us in enumerate((2**32 - 1, 5, 5, 4))]
    assert laps == [2**32 - 1, 2**32 + 5, 2**32 + 5, 2**33 + 4]


def test_a_host_that_stamps_a_little_late_sees_no_turn_back():
    clock = WrappingClock()
    assert clock.unwrap(10, 10**9) == 10
    assert clock.unwrap(8, 10**9 + 5) == 8
    assert clock.unwrap(2**32 - 3, 10**9 + 5) == -3


def test_round_trips_fit_a_clock_that_wraps():
    clock = WrappingClock()
    trips = []
    for minute in range(0, 200, 5):
        host_ns = minute * 60 * 10**9
        board_us = 4_000_000_000 + round(minute * 60e6 * (1 + 40e-6))
        trips.append(clock.round_trip(host_ns - 300_000, board_us % 2**32, host_ns + 300_000))
    fit = fit_clocks(trips)
    assert fit is not None
    assert fit.misfit_ns == 0
    assert fit.drift_ppm == pytest.approx(40, abs=1)
    assert fit.bound_ns < 1_000_000


def test_a_window_that_wraps():
    clock = WrappingClock()
    second_ns = 10**9
    clock.round_trip(0, 2**32 - 10_000_000, second_ns // 1000)
    stamps_us = clock.stamps_us(5 * second_ns, (2**32 - 4_000_000, 2**32 - 1, 9_000_000), 20 * second_ns)
    assert stamps_us == [2**32 - 4_000_000, 2**32 - 1, 2**32 + 9_000_000]
    assert clock.unwrap(10_000_000, 21 * second_ns) == 2**32 + 10_000_000


@pytest.mark.parametrize(
    "stamps_us", [pytest.param((5, 2_000_005), id="too far apart"), pytest.param((5, 7, 6, 8), id="falling")]
)
def test_stamps_further_apart_than_the_answer_took(stamps_us):
    with pytest.raises(BoardFault, match="further apart"):
        WrappingClock().stamps_us(0, stamps_us, 10**9)


def test_an_emulated_clock_has_no_host_to_be_held_against():
    assert WrappingClock(follows_host=False).stamps_us(0, (5, 2_000_005), 10**9) == [5, 2_000_005]
