"""Verdicts on power and energy: what a meter's scope, rate and windows allow."""

import numpy as np
import pytest

from edgebench.judge.trial import UNKNOWN_SCOPE, Estimate, EstimateKey
from edgebench.stats.power_curve import power_curve
from tests.judge.trials import POWER, meter, trial, verdict

# Power


def test_without_a_meter_power_is_unknown_with_the_reason():
    reason = "no meter, because /sys/class/powercap is not there"
    keys = [EstimateKey(*key) for key in POWER]
    metered = trial(estimates=dict.fromkeys(keys, Estimate(reason=reason)))
    for quantity in ("power_peak_w", "power_mean_w", "energy_j"):
        judged = verdict(metered, quantity=quantity, limit=5)
        assert (judged.word, judged.reason) == ("unknown", reason)


def test_a_board_meter_passes_and_fails_a_peak():
    metered = trial(power=(meter(),))
    assert verdict(metered, quantity="power_peak_w", limit=5).word == "pass"
    failed = verdict(metered, quantity="power_peak_w", limit=3.5)
    assert (failed.word, failed.margin) == ("fail", -0.5)
    assert "ina:0 (in)" in failed.reason
    assert verdict(metered, quantity="power_peak_w", limit=5000, unit="mW").margin == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"scope": "chip"}, "covers the chip only: it can fail this limit, never pass it"),
        ({"scope": "chip", "meter": "usb:", "channel": "bus"}, "usb (bus) covers the chip only"),
        ({"scope": "module"}, "covers the module only"),
        ({"scope": UNKNOWN_SCOPE}, "covers the unknown part only"),
        ({"effective_hz": 100.0}, "at 100 Hz, as they came, the highest sample is a lower bound of the peak"),
        ({"effective_hz": 16.0}, "at 16 Hz"),  # which states 1000
        ({"effective_hz": None}, "at 0 Hz"),
        ({"longest_gap_s": 0.3}, "no sample came for 0.3 s, and 0.1 s are the most"),
        ({"samples": 298}, "298 samples cannot speak for all"),
    ],
)
def test_a_narrow_or_slow_meter_fails_a_peak_and_never_passes_it(change, reason):
    metered = trial(power=(meter(**change),))
    judged = verdict(metered, quantity="power_peak_w", limit=5)
    assert judged.word == "inconclusive"
    assert reason in judged.reason
    assert verdict(metered, quantity="power_peak_w", limit=3).word == "fail"


@pytest.mark.parametrize("quantity", ["power_peak_w", "power_mean_w"])
def test_the_power_chip_of_a_raspberry_pi_5_fails_a_limit_and_never_passes_one(quantity):
    chip = meter(
        name="rpi5: total", scope="module", effective_hz=10.0, peak_w=4.0, mean_w=(4.0,) * 3,
    )  # fmt: skip
    undecided = verdict(trial(power=(chip,)), quantity=quantity, limit=6)
    assert undecided.word == "inconclusive"
    assert "rpi5 (total) covers the module only" in undecided.reason
    assert verdict(trial(power=(chip,)), quantity=quantity, limit=3).word == "fail"


def test_any_meter_that_misses_the_limit_fails_it():
    chip = meter(name="rapl: package", scope="chip", peak_w=6.0)
    judged = verdict(trial(power=(meter(), chip)), quantity="power_peak_w", limit=5)
    assert (judged.word, judged.estimate.value) == ("fail", 6.0)
    assert "rapl (package)" in judged.reason


def test_meters_of_different_scopes_are_not_held_against_each_other():
    board = meter(peak_w=5.5)
    wall = meter(name="plug: in", scope="wall", peak_w=9.0)
    chips = [
        meter(name=f"rapl: {channel}", scope="chip", peak_w=peak_w)
        for channel, peak_w in (("a", 8.5), ("b", 8.0))
    ]
    judged = verdict(trial(power=(board, wall, *chips)), quantity="power_peak_w", limit=5)
    assert (judged.word, judged.estimate.value, judged.estimate.basis) == ("fail", 5.5, "board")
    judged = verdict(trial(power=(meter(), *chips)), quantity="power_peak_w", limit=5)
    assert (judged.word, judged.estimate.value, judged.estimate.basis) == ("fail", 8.5, "chip")
    unnamed = verdict(trial(power=(meter(scope=UNKNOWN_SCOPE),)), quantity="power_peak_w", limit=5)
    assert (unnamed.word, unnamed.estimate.basis) == ("inconclusive", "scope unknown")
    assert verdict(trial(), quantity="power_peak_w", limit=5).estimate.basis == ""


def test_a_verdict_keeps_the_averaging_time_of_its_limit():
    metered = trial(power=(meter(),))
    assert verdict(metered, quantity="power_peak_w", limit=5, averaging_s=1).requirement.averaging_s == 1.0
    assert verdict(metered, quantity="power_peak_w", limit=5).requirement.averaging_s is None


def test_a_meter_that_gave_nothing_leaves_it_unknown():
    silent = meter(
        mean_w=(),
        reason="0 samples are in the window",
    )
    for quantity in ("power_peak_w", "power_mean_w", "energy_j"):
        judged = verdict(trial(power=(silent,)), quantity=quantity, limit=5)
        assert (judged.word, judged.reason) == ("unknown", "ina:0 (in): 0 samples are in the window")
    averaged = verdict(trial(power=(silent,)), quantity="power_peak_w", limit=5, averaging_s=1)
    assert averaged.word == "unknown"


def test_an_averaging_time_lets_a_slow_meter_pass():
    slow = trial(power=(meter(effective_hz=50.0, longest_gap_s=0.02, samples=500),))
    assert verdict(slow, quantity="power_peak_w", limit=5).word == "inconclusive"
    assert verdict(slow, quantity="power_peak_w", limit=5, averaging_s=2).word == "pass"


def bursts(rate_hz, burst_w=6.0):
    """Ten seconds at 3 W, of which the fifth is a burst."""
    at_s = np.arange(0, 10, 1 / rate_hz)
    watts = np.where((at_s >= 4) & (at_s < 5), burst_w, 3.0)
    return (power_curve(np.round(at_s * 1e9).astype(np.int64), watts),) * 3


def test_an_averaged_peak_is_the_highest_rolling_mean_of_the_samples():
    metered = trial(power=(meter(peak_w=6.0, curves=bursts(1000)),))
    judged = verdict(metered, quantity="power_peak_w", limit=6.5, averaging_s=1)
    assert (judged.word, judged.estimate.value) == ("pass", pytest.approx(6.0, rel=1e-2))
    assert verdict(metered, quantity="power_peak_w", limit=5.0, averaging_s=1).word == "fail"
    assert verdict(metered, quantity="power_peak_w", limit=5.0, averaging_s=2).word == "pass"
    assert verdict(metered, quantity="power_peak_w", limit=4.2, averaging_s=2).word == "fail"
    assert verdict(metered, quantity="power_peak_w", limit=3.0, averaging_s=8).word == "fail"
    none = trial(power=(meter(curves=()),))
    assert "no samples over 1 s" in verdict(none, quantity="power_peak_w", limit=5, averaging_s=1).reason


def test_a_meter_of_100_hz_that_loses_a_packet_decides_a_second():
    for effective_hz, outcome in ((99.8, "pass"), (91.0, "pass"), (89.0, "inconclusive")):
        metered = trial(power=(meter(effective_hz=effective_hz, curves=bursts(100, burst_w=4.0)),))
        judged = verdict(metered, quantity="power_peak_w", limit=5, averaging_s=1)
        assert judged.word == outcome, (effective_hz, judged.reason)


def test_readings_that_are_means_over_their_whole_period_decide_from_two_periods_on():
    slow = {"effective_hz": 1.99, "longest_gap_s": 0.51, "averaging_ms": 500.0}
    level = bursts(2, burst_w=3.0)
    metered = trial(power=(meter(**slow, curves=level),))
    judged = verdict(metered, quantity="power_peak_w", limit=5, averaging_s=1)
    # A second touches three readings, of which nobody knows how the power lay within the first and the last.
    assert (judged.word, judged.estimate.value, judged.estimate.high) == (
        "pass",
        pytest.approx(3.0),
        pytest.approx(4.5),
    )
    assert verdict(metered, quantity="power_peak_w", limit=4.2, averaging_s=1).word == "inconclusive"
    assert verdict(metered, quantity="power_peak_w", limit=2.9, averaging_s=1).word == "fail"
    for change, reason in (
        ({"averaging_ms": None}, "1 s are 1.99 sample periods as they came, and it takes 100"),
        ({"averaging_ms": 100.0}, "and it takes 100"),
        ({"effective_hz": 1.5, "averaging_ms": 700.0}, "and it takes 2"),
        ({"longest_gap_s": 1.0}, "no sample came for 1 s, and 0.754 s are the most"),
    ):
        other = trial(power=(meter(**slow | change, curves=level),))
        judged = verdict(other, quantity="power_peak_w", limit=5, averaging_s=1)
        assert (judged.word, reason in judged.reason) == ("inconclusive", True), judged.reason


def test_an_averaging_time_does_not_widen_a_scope_or_a_window():
    chip = trial(power=(meter(scope="chip"),))
    assert verdict(chip, quantity="power_peak_w", limit=5, averaging_s=1).word == "inconclusive"
    long = verdict(trial(power=(meter(),)), quantity="power_peak_w", limit=5, averaging_s=20)
    assert long.word == "inconclusive"
    assert "longer than the steady window of 10 s" in long.reason
    few = verdict(trial(power=(meter(effective_hz=20.0),)), quantity="power_peak_w", limit=5, averaging_s=1)
    assert few.word == "inconclusive"
    assert "1 s are 20 sample periods as they came, and it takes 100" in few.reason


def test_mean_power_and_energy_come_from_sessions():
    metered = trial(power=(meter(effective_hz=50.0),))
    assert verdict(metered, quantity="power_mean_w", limit=3.2).word == "pass"
    assert verdict(metered, quantity="power_mean_w", limit=3.01).word == "inconclusive"
    assert verdict(metered, quantity="power_mean_w", limit=2.5).word == "fail"
    assert verdict(metered, quantity="energy_j", limit=7).word == "pass"
    assert verdict(metered, quantity="energy_j", limit=5).word == "fail"
    two = trial(power=(meter(mean_w=(3.0, 3.0)),))
    assert "2 sessions" in verdict(two, quantity="power_mean_w", limit=5).reason


def test_mean_power_over_too_short_a_window_passes_nothing():
    metered = trial(power=(meter(effective_hz=5.0),))
    judged = verdict(metered, quantity="power_mean_w", limit=5)
    assert judged.word == "inconclusive"
    assert "window too short: 50 sample periods" in judged.reason
    long = verdict(trial(power=(meter(),)), quantity="power_mean_w", limit=5, averaging_s=60)
    assert "longer than the steady window" in long.reason
    chip = trial(power=(meter(scope="chip"),))
    assert verdict(chip, quantity="power_mean_w", limit=5).word == "inconclusive"
    assert verdict(chip, quantity="power_mean_w", limit=2).word == "fail"


@pytest.mark.parametrize(
    ("averaging_ms", "compared"),
    [
        (8.0, "the largest of 8 ms means of ina:0 (in)"),
        (None, "the largest of 30000 readings of ina:0 (in), whose averaging time is not known"),
    ],
)
def test_a_peak_without_an_averaging_time_names_what_was_compared(averaging_ms, compared):
    metered = trial(power=(meter(averaging_ms=averaging_ms),))
    for limit in (5, 3.5):
        assert compared in verdict(metered, quantity="power_peak_w", limit=limit).reason
    averaged = verdict(metered, quantity="power_peak_w", limit=5, averaging_s=1)
    assert "the highest mean over 1 s of ina:0 (in)" in averaged.reason
