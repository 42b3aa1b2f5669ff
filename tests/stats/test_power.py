import numpy as np
import pytest

from edgebench.stats.power import energy_per_image, passes_power, window_power
from edgebench.stats.power_curve import power_curve

S = 1_000_000_000
BOOT = 3_456_789_012_345_678  # a monotonic clock's stamps, far from 0


def _samples(rate_hz, seconds, watts):
    at_s = np.arange(0, seconds, 1 / rate_hz)
    return BOOT + (at_s * 1e9).astype(np.int64), watts(at_s)


def test_constant_power():
    t_ns, watts = _samples(50, 10, lambda at_s: np.full(at_s.size, 4.0))
    window = window_power(power_curve(t_ns, watts), BOOT + 2 * S, BOOT + 6 * S)
    assert window.mean_w == pytest.approx(4.0)
    assert window.peak_w == 4.0
    assert window.window_s == 4.0
    assert window.periods == pytest.approx(200)
    idle = window_power(power_curve(t_ns, np.full(t_ns.size, 1.0)), BOOT, BOOT + S)
    energy = energy_per_image(window, 8, idle)
    assert (energy.gross_j, energy.net_j) == pytest.approx((2.0, 1.5))
    assert energy.reason == ""
    assert energy.gross_margin_j == pytest.approx((0.0, 0.0))


def test_a_ramp_is_integrated_exactly_with_its_edges_between_samples():
    t_ns, watts = _samples(3, 10, lambda at_s: 2 * at_s)
    window = window_power(power_curve(t_ns, watts), BOOT + int(1.1 * S), BOOT + int(5.3 * S))
    assert window.mean_w == pytest.approx(1.1 + 5.3)


def test_uneven_stamps_weigh_by_their_time():
    t_ns = BOOT + (np.array([0.0, 1.0, 1.1, 1.2, 2.2]) * 1e9).astype(np.int64)
    watts = np.array([1.0, 1.0, 9.0, 1.0, 1.0])
    window = window_power(power_curve(t_ns, watts), BOOT, BOOT + int(2.2 * S))
    assert window.mean_w == pytest.approx((2.2 + 0.5 * 0.2 * 8) / 2.2)
    assert window.mean_w != pytest.approx(watts.mean())


def test_order_and_doubles_do_not_matter():
    t_ns, watts = _samples(20, 5, lambda at_s: 1 + at_s)
    order = np.random.default_rng(0).permutation(t_ns.size)
    doubled = np.concatenate((t_ns[order], t_ns[:7])), np.concatenate((watts[order], watts[:7]))
    plain = window_power(power_curve(t_ns, watts), BOOT + S, BOOT + 4 * S)
    assert window_power(power_curve(*doubled), BOOT + S, BOOT + 4 * S) == plain


def test_a_sample_from_before_the_window_never_stands_for_it():
    t_ns = BOOT + np.array([0, 1, 2]) * S
    window = window_power(power_curve(t_ns, np.array([9.0, 9.0, 9.0])), BOOT + 3 * S, BOOT + 5 * S)
    assert (window.mean_w, window.peak_w, window.samples) == (None, None, 0)
    assert window.reason == "0 samples are in the window"


def test_the_peak_is_that_of_the_window():
    t_ns, watts = _samples(10, 10, lambda at_s: np.where(at_s < 1, 50.0, 2.0))
    assert window_power(power_curve(t_ns, watts), BOOT + 2 * S, BOOT + 9 * S).peak_w == 2.0


def test_samples_that_stop_early_give_no_mean():
    t_ns, watts = _samples(10, 5, lambda at_s: np.ones(at_s.size))
    window = window_power(power_curve(t_ns, watts), BOOT + S, BOOT + 9 * S)
    assert window.mean_w is None
    assert "short of the window's edge" in window.reason
    assert window.peak_w == 1.0


def test_a_hole_in_the_samples_gives_no_mean():
    t_ns, watts = _samples(100, 10, lambda at_s: np.ones(at_s.size))
    keep = (t_ns < BOOT + 4 * S - 1000) | (t_ns > BOOT + 6 * S + 1000)
    window = window_power(power_curve(t_ns[keep], watts[keep]), BOOT + S, BOOT + 9 * S)
    assert window.mean_w is None
    assert window.reason == "the samples have a hole of 2.02 s in a window of 8 s"


def test_a_short_window_has_a_mean_and_no_energy():
    t_ns, watts = _samples(50, 10, lambda at_s: np.full(at_s.size, 4.0))
    window = window_power(power_curve(t_ns, watts), BOOT + S, BOOT + 2 * S)
    assert window.mean_w == pytest.approx(4.0)
    energy = energy_per_image(window, 3, window)
    assert (energy.gross_j, energy.net_j) == (None, None)
    assert energy.reason == "window too short: 50 sample periods, energy takes 100"


def test_the_periods_are_those_that_came_not_those_promised():
    t_ns, watts = _samples(10, 10, lambda at_s: np.ones(at_s.size))
    window = window_power(power_curve(t_ns, watts), BOOT + S, BOOT + 9 * S)
    assert window.periods == pytest.approx(80)


def test_without_an_idle_window_there_is_no_net_energy():
    t_ns, watts = _samples(50, 10, lambda at_s: np.full(at_s.size, 4.0))
    window = window_power(power_curve(t_ns, watts), BOOT + S, BOOT + 9 * S)
    energy = energy_per_image(window, 4, None)
    assert energy.gross_j == pytest.approx(8.0)
    assert (energy.net_j, energy.reason) == (None, "no idle window was sampled")
    assert energy_per_image(window, 0, None).reason == "no image is in the window"


def test_samples_that_are_not_finite_are_left_out():
    t_ns, watts = _samples(50, 10, lambda at_s: np.full(at_s.size, 4.0))
    watts[::17] = np.nan
    assert window_power(power_curve(t_ns, watts), BOOT + S, BOOT + 9 * S).mean_w == pytest.approx(4.0)


def test_a_window_without_length():
    t_ns, watts = _samples(50, 10, lambda at_s: np.ones(at_s.size))
    window = window_power(power_curve(t_ns, watts), BOOT + S, BOOT + S)
    assert (window.mean_w, window.reason) == (None, "the window has no length")
    assert energy_per_image(window, 1, None).reason == "the window has no length"


def _spans(pass_s, pause_s, count, start_s=1.0):
    begins = start_s + np.arange(count) * (pass_s + pause_s)
    return BOOT + np.round(np.stack((begins, begins + pass_s), axis=1) * 1e9).astype(np.int64)


def _load(spans, fine_hz=10_000):
    """5.0 W in the passes and 0.5 W between and around them, as moments and as the integral up to each."""
    at_s = np.arange(0, (spans[-1, 1] - BOOT) / 1e9 + 1.0, 1 / fine_hz)
    t_ns = BOOT + np.round(at_s * 1e9).astype(np.int64)
    within = np.searchsorted(spans.ravel(), t_ns, side="right") % 2 == 1
    watts = np.where(within, 5.0, 0.5)
    return t_ns, watts, np.concatenate(([0.0], np.cumsum(watts[:-1]) / fine_hz))


def _readings(spans, rate_hz, averaging_s):
    """What a meter says of that load: means over `averaging_s` before each stamp, or moments for 0."""
    t_ns, watts, joules = _load(spans)
    at_s = np.arange(0.5, (t_ns[-1] - BOOT) / 1e9, 1 / rate_hz)
    at_ns = BOOT + np.round(at_s * 1e9).astype(np.int64)
    fine_s = (t_ns - BOOT) / 1e9
    if averaging_s == 0:
        return at_ns, watts[np.searchsorted(fine_s, at_s, side="right") - 1]
    return at_ns, (
        np.interp(at_s, fine_s, joules) - np.interp(at_s - averaging_s, fine_s, joules)
    ) / averaging_s


@pytest.mark.parametrize(
    ("rate_hz", "averaging_s", "known", "pass_s", "pause_s", "count"),
    [
        (1000, 0, 0.0, 0.0537, 0.0111, 40),
        (1000, 0, None, 0.0537, 0.0111, 40),
        (1000, 1 / 1000, 1 / 1000, 0.0537, 0.0111, 40),
        (100, 0, 0.0, 0.537, 0.021, 9),
        (100, 1 / 100, 1 / 100, 0.537, 0.021, 9),
        (100, 1 / 100, None, 0.537, 0.111, 9),
        (20, 1 / 20, None, 0.737, 0.031, 12),
        (2, 1 / 2, 1 / 2, 6.37, 0.25, 12),
        (2, 0, None, 6.37, 0.25, 12),
    ],
)
def test_what_lies_between_the_passes_is_left_out(rate_hz, averaging_s, known, pass_s, pause_s, count):
    spans = _spans(pass_s, pause_s, count)
    t_ns, watts = _readings(spans, rate_hz, averaging_s)
    window = passes_power(power_curve(t_ns, watts), spans, known)
    assert window.mean_w == pytest.approx(5.0, abs=1e-6)
    assert window.window_s == pytest.approx(count * pass_s)
    assert window.effective_hz == pytest.approx(rate_hz, rel=0.01)
    assert window.note == ""


def test_power_that_moves_within_a_pass_is_integrated_over_the_passes_alone():
    spans = _spans(0.8, 0.4, 10)
    t_ns, watts = _samples(500, 14, lambda at_s: 3 + np.sin(2 * np.pi * (at_s - 1.0) / 1.2))
    exact = 3 + (1.2 / (2 * np.pi * 0.8)) * (1 - np.cos(2 * np.pi * 0.8 / 1.2))
    assert passes_power(power_curve(t_ns, watts), spans, 0.0).mean_w == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("known", [None, 0.02])
def test_passes_too_short_for_the_meter_keep_their_pauses_and_say_so(known):
    spans = _spans(0.03, 0.01, 200)
    t_ns, watts = _readings(spans, 50, 0.02)
    window = passes_power(power_curve(t_ns, watts), spans, known)
    assert window.mean_w == pytest.approx((5.0 * 0.03 + 0.5 * 0.01) / 0.04, rel=0.01)
    assert window.window_s == pytest.approx(200 * 0.04 - 0.01)
    assert window.note == (
        "passes of 0.03 s are too short for readings over 0.02 s: mean power holds the pauses between "
        "them, 24.9% of the time, and there is no energy of an image"
    )
    energy = energy_per_image(window, 200, None)
    assert (energy.gross_j, energy.net_j, energy.reason) == (None, None, window.note)


def test_energy_reaches_as_low_as_short_pauses_may_have_drawn_it():
    spans = _spans(0.03, 0.002, 200)
    t_ns, watts = _readings(spans, 50, 0.02)
    window = passes_power(power_curve(t_ns, watts), spans)
    assert "mean and energy hold the pauses" in window.note
    energy = energy_per_image(window, 200, None)
    assert energy.gross_j is not None and energy.gross_margin_j is not None
    assert energy.gross_j - energy.gross_margin_j.below < 5.0 * 0.03 < energy.gross_j


def test_the_peak_is_that_of_the_pauses_too():
    spans = _spans(0.5, 0.1, 6)
    t_ns, watts = _samples(100, 8, lambda at_s: np.where(np.abs(at_s - 1.55) < 0.02, 9.0, 5.0))
    window = passes_power(power_curve(t_ns, watts), spans)
    assert window.peak_w == 9.0
    assert window.mean_w == pytest.approx(5.0)


def test_the_rate_and_the_gap_are_those_of_the_samples_in_the_window():
    t_ns, watts = _samples(100, 10, lambda at_s: np.ones(at_s.size))
    keep = (t_ns < BOOT + 4 * S - 1000) | (t_ns > BOOT + int(4.15 * S) + 1000)
    window = window_power(power_curve(t_ns[keep], watts[keep]), BOOT + 2 * S, BOOT + 6 * S)
    assert window.effective_hz == pytest.approx(384 / 4, rel=0.01)
    assert window.longest_gap_s == pytest.approx(0.17)
    assert window.mean_w == pytest.approx(1.0)
    assert window_power(power_curve(t_ns[:0], watts[:0]), BOOT, BOOT + S).effective_hz is None
