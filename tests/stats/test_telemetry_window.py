import numpy as np
import pytest

from edgebench.stats.warnings import (
    around,
    clock_drop,
    others_cores,
    rate_per_s,
    stolen_share,
    throttle_events,
    throttle_flags,
    waiting_share,
    within,
)


def test_within_keeps_finite_samples_in_order():
    t_ns = np.array([30, 10, 20, 40, 25])
    values = np.array([3.0, 1.0, np.nan, 4.0, 2.5])
    stamps, finite = within(t_ns, values, 10, 30)
    assert stamps.tolist() == [10, 25, 30]
    assert finite.tolist() == [1.0, 2.5, 3.0]


@pytest.mark.parametrize(
    ("clocks", "drop"),
    [
        ([1500.0] * 8, 0.0),
        ([1500.0] * 4 + [1200.0] * 4, 0.2),
        ([1200.0] * 4 + [1500.0] * 4, -0.25),
        ([1500.0, 600.0, 1500.0, 1500.0] * 4, 0.0),  # a dip is not a drop
        ([1500.0] * 7, None),
        ([0.0] * 8, None),
    ],
)
def test_a_clock_drop_is_the_last_quarter_against_the_first(clocks, drop):
    share = clock_drop(np.array(clocks))
    assert share == (None if drop is None else pytest.approx(drop))


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([0, 0, 0], ()),
        ([0, 0x50005, 0x50000], ("under-voltage", "throttled")),
        ([0x50000, 0x50000], ()),  # it happened before this window
        ([0x10000, 0x90000], ("soft temperature limit",)),
        ([0x2], ("clock capped",)),
        ([-1.0, 1e300], ()),
        ([], ()),
    ],
)
def test_the_firmwares_bits_in_words(flags, words):
    assert throttle_flags(np.array(flags, float)) == words


def test_counters():
    assert throttle_events(np.array([5.0, 5.0, 9.0])) == 4
    assert throttle_events(np.array([9.0, 5.0])) == 0
    assert throttle_events(np.array([9.0])) == 0
    seconds = np.array([0, 1, 2]) * 1_000_000_000
    assert rate_per_s(seconds, np.array([0.0, 10.0, 300.0])) == 150.0
    assert rate_per_s(seconds // 10, np.array([0.0, 10.0, 300.0])) is None
    assert rate_per_s(seconds[:1], np.array([1.0])) is None


def test_the_share_of_waiting():
    assert waiting_share(np.array([100.0, 200.0, 400.0]), np.array([0.0, 50.0, 100.0])) == 0.25
    assert waiting_share(np.array([1.0, 1.0]), np.array([0.0, 0.0])) is None
    assert waiting_share(np.array([1.0]), np.array([0.0])) is None


def test_time_that_was_stolen():
    seconds = np.array([0, 1, 2]) * 1_000_000_000
    busy, stolen = np.array([0.0, 5e8, 9e8]), np.array([0.0, 0.0, 1e8])
    assert stolen_share(seconds, busy, stolen) == pytest.approx(0.1)
    assert stolen_share(seconds, busy, 0 * stolen) == 0.0
    assert stolen_share(seconds, 0 * busy, 0 * stolen) is None  # an idle machine
    assert stolen_share(seconds // 10, busy, stolen) is None  # ten clock ticks say little
    assert stolen_share(seconds[:1], busy[:1], stolen[:1]) is None


def test_other_work_in_cores():
    seconds = np.array([0, 1, 2]) * 1_000_000_000
    busy, ran = np.array([0.0, 2e9, 4e9]), np.array([0.0, 1e9, 2e9])
    assert others_cores(seconds, busy, ran) == pytest.approx(1.0)
    assert others_cores(seconds, ran, busy) == 0.0  # ticks lag behind what the scheduler counts
    assert others_cores(seconds // 10, busy, ran) is None
    assert others_cores(seconds, busy, ran[:1]) is None


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (21, 29, [20, 30]),
        (20, 30, [20, 30]),
        (5, 12, [10, 20]),
        (35, 99, [30, 40]),
        (0, 99, [10, 20, 30, 40]),
    ],
)
def test_a_counter_covers_a_window_from_outside(start, end, expected):
    t_ns = np.array([10, 30, 20, 25, 40])
    counts = np.array([1.0, 3.0, 2.0, np.nan, 4.0])
    stamps, values = around(t_ns, counts, start, end)
    assert stamps.tolist() == expected
    assert values.tolist() == [stamp / 10 for stamp in expected]
