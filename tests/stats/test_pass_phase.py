import numpy as np
import pytest

from edgebench.stats.power import MIN_PASSES, passes_in_step, phase_half_width
from edgebench.stats.power_curve import power_curve

S = 1_000_000_000
T_NS = 77 * S + np.arange(200, dtype=np.int64) * S // 2  # twice a second


def _starts(period_s, count=60, scatter_s=0.0):
    scatter = np.random.default_rng(1).normal(0.0, scatter_s, count)
    return 78 * S + np.rint((np.arange(count) * period_s + scatter) * 1e9).astype(np.int64)


@pytest.mark.parametrize(
    ("period_s", "cycle"), [(1.0, 2.0), (0.5, 1.0), (0.25, 0.5), (1.25, 2.5), (1.0005, 2.0)]
)
def test_passes_at_a_period_that_fits_the_readings_are_in_step(period_s, cycle):
    in_step = passes_in_step(T_NS, _starts(period_s))
    assert in_step is not None
    assert in_step.cycle == pytest.approx(cycle, rel=0.01)
    assert in_step.places == pytest.approx(cycle * (2 if cycle % 1 else 1), rel=0.01)


@pytest.mark.parametrize(
    ("period_s", "count", "scatter_s"),
    [
        (1.037, 60, 0.0),  # they run through all phases
        (1.0, 60, 0.2),
        (1.0, MIN_PASSES - 1, 0.0),
    ],
)
def test_others_are_not(period_s, count, scatter_s):
    assert passes_in_step(T_NS, _starts(period_s, count, scatter_s)) is None


def test_passes_that_are_followed_are_in_step_at_many_places():
    t_ns = 77 * S + np.arange(4000, dtype=np.int64) * S // 50
    in_step = passes_in_step(t_ns, _starts(1.0))
    assert in_step is not None and in_step.places == pytest.approx(50)


def _read(rate_hz, period_s, phase, on_s=0.3, passes=40):
    """The error of the mean of moments of 5 W for `on_s` of each cycle, 1 W otherwise, and its bound."""
    starts_s = np.arange(passes) * period_s
    at_s = np.arange(0, passes * period_s, 1 / rate_hz) + phase / rate_hz
    watts = np.where(at_s % period_s < on_s, 5.0, 1.0)
    starts_ns, t_ns = (np.rint(each * 1e9).astype(np.int64) for each in (starts_s, at_s))
    within = watts[at_s < starts_s[-1]]
    error_w = float(within.mean()) - (1.0 + 4.0 * on_s / period_s)
    return error_w, phase_half_width(power_curve(t_ns, watts), starts_ns)


@pytest.mark.parametrize(("rate_hz", "period_s"), [(50.0, 1.0), (20.0, 1.0), (20.0, 0.975), (100.0, 1.0)])
def test_what_readings_in_step_may_miss_is_bounded(rate_hz, period_s):
    errors_w, halves_w = np.transpose(
        [
            _read(rate_hz, period_s, phase, on_s=0.3 + part / rate_hz)
            for phase in np.linspace(0.01, 0.99, 20)
            for part in np.linspace(0.03, 0.97, 9)
        ]
    )
    assert (abs(errors_w) <= halves_w).all()
    assert abs(errors_w).max() > 0.8 * halves_w.max()


def test_readings_that_run_through_all_phases_miss_little():
    _, locked_w = _read(50.0, 1.0, 0.4)
    error_w, free_w = _read(50.0, 1.0 + 0.01 * (5**0.5 - 1), 0.4)
    assert abs(error_w) <= free_w < locked_w / 5


def test_one_cycle_alone_says_nothing_of_phases():
    curve = power_curve(T_NS, np.ones(len(T_NS)))
    assert phase_half_width(curve, _starts(1.0, count=2)) == 0.0
    assert phase_half_width(curve, _starts(1.0, count=0)) == 0.0


def test_without_readings_nothing_is_in_step():
    assert passes_in_step(T_NS[:1], _starts(1.0)) is None
