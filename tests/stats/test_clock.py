"""The line through round trips, and that its bound holds however the delays were split."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgebench.stats.clock import RoundTrip, fit_clocks

delays = st.one_of(st.integers(0, 10_000), st.integers(0, 80_000_000))
steps = st.lists(st.tuples(st.integers(0, 5_000_000_000), delays, delays), min_size=1, max_size=25)


class Device:
    """A clock that runs evenly; exact, so that a test of a bound tests the bound."""

    def __init__(self, offset_ns, drift_ppm, zero_ns):
        self.offset_ns, self.drift, self.zero_ns = (
            offset_ns,
            Fraction(drift_ppm).limit_denominator(1000),
            zero_ns,
        )

    def offset_at(self, host_ns):
        return self.offset_ns + self.drift / 1_000_000 * (host_ns - self.zero_ns)

    def read(self, host_ns):
        return int(host_ns + self.offset_at(host_ns))


def _offset_ns(fit, host_ns):
    """Device minus host at a moment of the host's clock, as stamps are brought over."""
    [device_ns] = fit.stamps_to_device(np.array([host_ns], np.int64))
    return int(device_ns) - host_ns


def trips_of(device, start_ns, gaps_and_delays):
    now, trips = start_ns, []
    for gap, there, back in gaps_and_delays:
        sent = now + gap
        now = sent + there + back
        trips.append(RoundTrip(sent, device.read(sent + there), now))
    return trips


@given(
    st.integers(-(10**15), 10**18),
    st.floats(-500, 500),
    st.integers(0, 10**16),
    steps,
    st.floats(0, 1),
)
def test_the_true_clock_lies_within_the_bound_for_any_delays(offset, drift, start, gaps_and_delays, where):
    device = Device(offset, drift, start)
    trips = trips_of(device, start, gaps_and_delays)
    fit = fit_clocks(trips)
    assert fit is not None
    assert fit.n == len(trips)
    assert fit.misfit_ns == 0
    assert (fit.from_ns, fit.to_ns) == (trips[0].sent_ns, max(trips[-1].received_ns, trips[0].sent_ns + 2))
    moments = [fit.from_ns, fit.to_ns, fit.reference_ns, fit.from_ns + int(where * (fit.to_ns - fit.from_ns))]
    for host_ns in moments:
        assert abs(_offset_ns(fit, host_ns) - device.offset_at(host_ns)) <= fit.bound_ns
    if fit.drift_ppm is not None and fit.drift_bound_ppm is not None:
        assert abs(fit.drift_ppm - float(device.drift)) <= fit.drift_bound_ppm + 1e-6


@given(st.integers(-(10**12), 10**12), st.floats(-200, 200), st.integers(0, 60_000_000))
def test_delays_of_one_way_only_do_not_mislead(offset, drift, there):
    device = Device(offset, drift, 0)
    trips = trips_of(device, 0, [(100_000_000, there, 0)] * 20)
    fit = fit_clocks(trips)
    assert fit is not None
    assert abs(_offset_ns(fit, fit.reference_ns) - device.offset_at(fit.reference_ns)) <= fit.bound_ns


def test_one_quick_trip_at_each_end_tells_both_offset_and_drift():
    device = Device(7_000_000_000, 80, 0)
    slow = [(1_000_000_000, 9_000_000, 1_000_000)] * 8
    quick = [(1_000_000_000, 20_000, 20_000)]
    fit = fit_clocks(trips_of(device, 10**15, quick + slow + quick))
    assert fit is not None
    assert fit.bound_ns < 50_000
    assert fit.drift_ppm == pytest.approx(80, abs=5)
    assert fit.drift_bound_ppm is not None and fit.drift_bound_ppm < 10


def test_more_trips_never_make_the_bound_wider():
    device = Device(5, 40, 0)
    gaps = [(10_000_000, 50_000 + 10_000 * (n % 7), 30_000 + 15_000 * (n % 5)) for n in range(40)]
    trips = trips_of(device, 0, gaps)
    ends = [trips[0], trips[-1]]
    few, many = fit_clocks(ends), fit_clocks(trips)
    assert few is not None and many is not None
    assert many.bound_ns <= few.bound_ns + 1


def test_one_trip_gives_an_offset_and_no_drift():
    fit = fit_clocks([RoundTrip(1000, 501_500, 2000)])
    assert fit is not None
    assert (fit.reference_ns, fit.offset_ns, fit.n) == (1500, 500_000, 1)
    assert fit.drift_ppm is None and fit.drift_bound_ppm is None
    assert 500 <= fit.bound_ns <= 520


def test_no_trip_gives_no_fit():
    assert fit_clocks([]) is None


def test_a_clock_that_jumped_says_so_and_its_bound_holds_at_every_trip():
    steady = trips_of(Device(0, 0, 0), 0, [(10_000_000, 1_000, 1_000)] * 10)
    jumped = trips_of(Device(5_000_000, 0, 0), 10**9, [(10_000_000, 1_000, 1_000)] * 10)
    fit = fit_clocks(steady + jumped)
    assert fit is not None
    assert 100_000 < fit.misfit_ns <= fit.bound_ns
    for trip, true in [(trip, 0) for trip in steady] + [(trip, 5_000_000) for trip in jumped]:
        assert abs(_offset_ns(fit, trip.sent_ns) - true) <= fit.bound_ns
