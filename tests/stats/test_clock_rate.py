"""Two clocks are held to what their round trips allow, and to no more."""

import numpy as np
import pytest

from edgebench.stats.clock import MAX_DRIFT, MAX_SLEW, TICK_NS, ClockRate, RoundTrip, fit_clocks, strayed

S = 1_000_000_000
OFFSET_NS = 3_600 * S


def trips(rates, seconds, way_ns=50_000, seed=0):
    """Of a device whose clock changes its rate from trip to trip; the ways there and back are uneven."""
    draws = np.random.default_rng(seed)
    host_ns, device_ns, round_trips = 7 * S, OFFSET_NS, []
    for rate, span_s in zip(rates, seconds, strict=True):
        out, back = (int(way) for way in draws.exponential(way_ns, 2))
        host_ns, device_ns = host_ns + int(span_s * S), device_ns + int(rate * span_s * S)
        round_trips.append(RoundTrip(host_ns - out, device_ns, host_ns + back))
    return round_trips


def verdicts(round_trips):
    rate = ClockRate()
    return [rate.take_in(trip) for trip in round_trips]


@pytest.mark.parametrize("way_ns", [1_000, 50_000, 200_000_000])
def test_no_clock_within_the_share_is_ever_doubted(way_ns):
    draws = np.random.default_rng(5)
    for seed in range(20):
        rates = 1 + draws.uniform(-MAX_DRIFT, MAX_DRIFT, 300)
        seconds = draws.exponential(2.0, 300) + 2 * way_ns / 1e9
        assert verdicts(trips(rates, seconds, way_ns, seed)) == [None] * 300


def test_a_clock_that_counts_ticks_is_not_doubted():
    coarse = [
        trip._replace(device_ns=trip.device_ns // TICK_NS * TICK_NS)
        for trip in trips([1.0] * 900, [0.005] * 900)
    ]
    assert verdicts(coarse) == [None] * 900


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.97, 1.03, 10.0])
def test_a_clock_beyond_it_is_known_by_its_trips(rate):
    round_trips = [*trips([1.0, rate], [1.0, 2.0])]
    first, finding = verdicts(round_trips)
    assert first is None and finding is not None
    assert finding.device_ns == pytest.approx(rate * 2 * S, abs=2)
    assert finding.host_least_ns <= 2 * S <= finding.host_most_ns
    assert f"its clock went {rate * 2:.4g} s while this machine's went 2 s" in str(finding)


def test_a_slow_clock_is_not_hidden_by_trips_that_say_little():
    round_trips = trips([1.0, *[0.9] * 50], [1.0, *[0.02] * 50])
    wide = [
        RoundTrip(trip.sent_ns - S // 100, trip.device_ns, trip.received_ns + S // 100)
        for trip in round_trips
    ]
    assert verdicts(wide)[-1] is not None


def test_a_reply_that_was_held_up_says_nothing_against_the_clock():
    early, later = trips([1.0, 1.0], [1.0, 1.0])
    late = RoundTrip(early.sent_ns, early.device_ns, early.received_ns + 60 * S)
    after = RoundTrip(later.sent_ns + 60 * S, later.device_ns + 60 * S, later.received_ns + 60 * S)
    assert verdicts([late, after]) == [None, None]


@pytest.mark.parametrize(("rate", "warned"), [(1.0, False), (1.0009, False), (0.998, True), (1.004, True)])
def test_a_fit_says_how_far_a_clock_has_strayed(rate, warned):
    fit = fit_clocks(trips([rate] * 30, [2.0] * 30))
    assert fit is not None
    assert (strayed(fit) > MAX_SLEW) == warned
    assert strayed(fit) == pytest.approx(abs(rate - 1), abs=1e-4)


def test_a_misfit_is_a_stray_too():
    fit = fit_clocks(trips([1.0] * 15 + [1.009] * 15, [10.0] * 30))
    assert fit is not None and fit.misfit_ns > 100_000_000
    assert strayed(fit) > MAX_SLEW
