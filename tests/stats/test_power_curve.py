import numpy as np
import pytest

from edgebench.stats.power_curve import BLOCK, Integral, highest_mean_w, highest_touched_mean_w, power_curve

BOOT = 3_456_789_012_345_678


def _curve(at_s, watts):
    return power_curve(BOOT + np.round(np.asarray(at_s) * 1e9).astype(np.int64), np.asarray(watts, float))


def _random_curve(rng, n=60):
    return _curve(np.cumsum(rng.uniform(0.01, 0.2, n)), rng.uniform(1.0, 6.0, n))


def test_the_energy_of_spans_is_that_of_the_trapezoid_rule():
    rng = np.random.default_rng(3)
    curve = _random_curve(rng)
    at_s = curve.seconds_from(BOOT)
    edges = np.sort(rng.uniform(at_s[0] - 0.5, at_s[-1] + 0.5, (40, 2)), axis=1)
    energies = Integral(curve).energies_j(BOOT + np.round(edges * 1e9).astype(np.int64))
    for (start, end), energy in zip(edges, energies, strict=True):
        grid = np.unique(np.concatenate(([start, end], at_s[(at_s > start) & (at_s < end)])))
        assert energy == pytest.approx(np.trapezoid(np.interp(grid, at_s, curve.watts), grid), rel=1e-6)


def test_the_energy_of_more_samples_than_a_block_has():
    rng = np.random.default_rng(8)
    curve = _random_curve(rng, 2 * BLOCK + 3)
    at_s = curve.seconds_from(int(curve.t_ns[0]))
    ends = np.array([1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 2])
    spans = np.stack((np.full(ends.size, curve.t_ns[0]), curve.t_ns[ends]), axis=1)
    expected = [np.trapezoid(curve.watts[: end + 1], at_s[: end + 1]) for end in ends.tolist()]
    assert Integral(curve).energies_j(spans).tolist() == pytest.approx(expected, rel=1e-9)


def test_a_curve_of_one_sample_is_level():
    energies = Integral(_curve([1.0], [3.0])).energies_j(np.array([[BOOT, BOOT + 2_000_000_000]]))
    assert energies.tolist() == pytest.approx([6.0])


def test_the_highest_mean_is_that_of_every_stretch():
    rng = np.random.default_rng(4)
    for averaging_s in (0.05, 0.3, 1.0, 2.5):
        curve = _random_curve(rng)
        length_s = float(curve.seconds_from(int(curve.t_ns[0]))[-1])
        highest, begin_ns = highest_mean_w(curve, averaging_s)
        begins = np.linspace(0, length_s - averaging_s, 5001)
        spans = int(curve.t_ns[0]) + np.round(np.stack((begins, begins + averaging_s), axis=1) * 1e9)
        means = Integral(curve).energies_j(spans.astype(np.int64)) / averaging_s
        assert means.max() <= highest + 1e-6
        assert means.max() == pytest.approx(highest, rel=1e-3)
        span = np.array([[begin_ns, begin_ns + round(averaging_s * 1e9)]])
        assert Integral(curve).energies_j(span)[0] / averaging_s == pytest.approx(highest, rel=1e-6)


def test_a_burst_of_exactly_the_averaging_time_has_its_full_mean():
    at_s = np.arange(0, 10, 0.001)
    curve = _curve(at_s, np.where((at_s >= 4) & (at_s < 5), 6.0, 1.0))
    assert highest_mean_w(curve, 1.0)[0] == pytest.approx(6.0, rel=1e-3)
    assert highest_mean_w(curve, 2.0)[0] == pytest.approx(3.5, rel=1e-3)
    assert curve.watts.mean() == pytest.approx(1.5)


def test_no_load_exceeds_the_bound_of_readings_that_are_means():
    rng = np.random.default_rng(5)
    for period_s in (0.5, 0.3, 0.05):
        fine_s = np.arange(0, 12, 0.001)
        load = np.where(np.sin(2 * np.pi * fine_s / rng.uniform(0.4, 3.0)) > rng.uniform(-0.5, 0.9), 6.0, 1.0)
        joules = np.concatenate(([0.0], np.cumsum(load * 0.001)))[:-1]
        at_s = np.arange(0.0, 12, period_s)
        energies = np.interp(at_s, fine_s, joules)
        readings = np.concatenate(([load[0]], np.diff(energies) / period_s))
        true = max(np.convolve(load, np.ones(1000) / 1000, "valid"))
        bound = highest_touched_mean_w(_curve(at_s, readings), 1.0)
        assert true - 0.02 <= bound <= 6.0 * (1 + 2 * period_s) + 1e-9


def test_a_level_load_is_bounded_by_the_readings_that_a_stretch_touches():
    assert highest_touched_mean_w(_curve(np.arange(0, 10, 0.5), np.full(20, 3.0)), 1.0) == pytest.approx(4.5)
    assert highest_touched_mean_w(_curve(np.arange(0, 10, 0.02), np.full(500, 3.0)), 1.0) < 3.0 * 1.05
