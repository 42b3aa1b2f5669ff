"""Declared power against limits: what a maximum and a typical figure decide, and what a meter says first."""

from dataclasses import replace

import pytest

from edgebench.judge.estimates import STATED
from edgebench.judge.power_limits import with_power_doubts
from edgebench.judge.requirement import Requirement
from edgebench.judge.verdict import is_settled
from edgebench.records.target import KINDS, DeclaredPower
from tests.fit.summaries import meter, summary, verdict

SLOW = {"effective_hz": 2.0, "longest_gap_s": 0.5}


def declared(**watts):
    """A figure of each kind."""
    return tuple(DeclaredPower(watts[kind], kind, f"the {kind} sheet") for kind in KINDS if kind in watts)


@pytest.mark.parametrize("quantity", ["power_peak_w", "power_mean_w"])
@pytest.mark.parametrize("averaging_s", [None, 1.0])
@pytest.mark.parametrize(
    ("watts", "word", "value", "kind", "reason"),
    [
        (
            {"maximum": 2.0},
            "pass",
            2.0,
            "maximum",
            "declared maximum power of 2 W (the maximum sheet) meets",
        ),
        ({"maximum": 5.0}, "pass", 5.0, "maximum", "meets the limit"),
        ({"maximum": 9.0}, "inconclusive", 9.0, "maximum", "may never be drawn"),
        (
            {"typical": 6.0},
            "fail",
            6.0,
            "typical",
            "declared typical power of 6 W (the typical sheet) misses",
        ),
        ({"typical": 5.0}, "inconclusive", 5.0, "typical", "it can fail this limit, never pass it"),
        ({"typical": 2.0}, "inconclusive", 2.0, "typical", "says nothing of this load's peak and mean"),
        ({"typical": 2.0, "maximum": 4.0}, "pass", 4.0, "maximum", "maximum power of 4 W"),
        ({"typical": 6.0, "maximum": 9.0}, "fail", 6.0, "typical", "typical power of 6 W"),
        ({"typical": 2.0, "maximum": 9.0}, "inconclusive", 9.0, "maximum", "typical power of 2 W"),
    ],
)
def test_without_a_meter_a_maximum_passes_a_typical_power_fails_and_the_rest_is_open(
    watts, word, value, kind, reason, quantity, averaging_s
):
    judged = verdict(
        summary(declared_power=declared(**watts)), quantity=quantity, limit=5, averaging_s=averaging_s
    )
    assert (judged.verdict, judged.value, judged.declared) == (word, value, kind)
    assert judged.scope == ""
    assert judged.margin == 5 - value
    assert reason in judged.reason
    assert "no meter" in judged.reason


def test_the_bounds_of_a_declared_figure_are_those_that_it_has_and_it_gives_no_energy():
    maximum = verdict(summary(declared_power=declared(maximum=2.0)), quantity="power_peak_w", limit=5)
    assert (maximum.low, maximum.high) == (None, 2.0)
    typical = verdict(summary(declared_power=declared(typical=6.0)), quantity="power_peak_w", limit=5)
    assert (typical.low, typical.high) == (6.0, None)
    energy = verdict(summary(declared_power=declared(maximum=2.0)), quantity="energy_j", limit=5)
    assert (energy.verdict, energy.value, energy.declared) == ("unknown", None, "")
    milliwatts = verdict(
        summary(declared_power=declared(maximum=2.0)), quantity="power_peak_w", limit=5000, unit="mW"
    )
    assert (milliwatts.verdict, milliwatts.value) == ("pass", 2000.0)


def test_a_meter_that_decides_goes_first():
    trial = summary(power=(meter(),), declared_power=declared(typical=3.5, maximum=9.0))
    for limit, word in ((5, "pass"), (3.4, "fail")):
        judged = verdict(trial, quantity="power_peak_w", limit=limit)
        assert (judged.verdict, judged.value, judged.declared, judged.scope) == (word, 4.0, "", "board")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (SLOW, "no meter decides it: at 2 Hz, as they came"),
        ({"scope": "chip"}, "no meter decides it: ina:0 (in) covers the chip only"),
        ({"uncovered": "1 of 3 sessions"}, "did not see the whole steady window of 1 of 3 sessions"),
        ({"peak_w": None, "reason": "it was unplugged"}, "ina:0 (in): it was unplugged"),
    ],
)
def test_a_meter_that_does_not_decide_leaves_it_to_the_declared_figure_with_both_reasons(change, why):
    trial = summary(power=(meter(**change),), declared_power=declared(maximum=4.5))
    judged = verdict(trial, quantity="power_peak_w", limit=5)
    assert (judged.verdict, judged.value, judged.declared) == ("pass", 4.5, "maximum")
    assert why in judged.reason


def test_where_neither_decides_the_measured_figure_stands_with_both_reasons():
    trial = summary(power=(meter(**SLOW),), declared_power=declared(maximum=9.0, typical=2.0))
    judged = verdict(trial, quantity="power_peak_w", limit=5)
    assert (judged.verdict, judged.value, judged.declared, judged.scope) == ("inconclusive", 4.0, "", "board")
    for reason in ("lower bound of the peak", "maximum power of 9 W", "typical power of 2 W"):
        assert reason in judged.reason


@pytest.mark.parametrize(
    ("change", "watts", "sentence"),
    [
        (SLOW, {"maximum": 3.9}, "the declared maximum power of 3.9 W (the maximum sheet) decides nothing: "
         "ina:0 (in, board) saw 4 W"),
        ({"scope": "chip"}, {"maximum": 3.9}, "ina:0 (in, chip) saw 4 W"),
        (SLOW, {"typical": 6.0}, "ina:0 (in, board) saw no more than 4 W"),
    ],
)  # fmt: skip
def test_a_declared_figure_that_a_meter_contradicts_decides_nothing_and_is_warned_of(change, watts, sentence):
    [trial] = with_power_doubts([summary(power=(meter(**change),), declared_power=declared(**watts))])
    judged = verdict(trial, quantity="power_peak_w", limit=5)
    assert (judged.verdict, judged.declared) == ("inconclusive", "")
    assert sentence in judged.reason
    assert [sentence in warning for warning in trial.warnings] == [True] * ("maximum" in watts)


@pytest.mark.parametrize("change", [{"scope": "chip"}, {"uncovered": "1 of 3 sessions"}, {"peak_w": None}])
def test_a_meter_that_sees_less_than_the_whole_does_not_contradict_a_typical_power(change):
    assert not doubts(declared(typical=6.0), meter(**change))
    assert not doubts(declared(typical=3.9, maximum=4.0), meter())


def test_a_maximum_is_the_targets_and_a_typical_power_that_of_a_load():
    metered = summary(power=(meter(**SLOW),), declared_power=declared(maximum=3.9))
    unmetered = summary(declared_power=declared(maximum=3.9))
    other = replace(unmetered, target="other")
    trials = with_power_doubts([metered, unmetered, other])
    assert [set(trial.power_doubts) for trial in trials] == [{"maximum"}, {"maximum"}, set()]
    typical = [replace(trial, declared_power=declared(typical=6.0)) for trial in (metered, unmetered)]
    assert [set(trial.power_doubts) for trial in with_power_doubts(typical)] == [{"typical"}, set()]


def doubts(powers, rail):
    [trial] = with_power_doubts([summary(power=(rail,), declared_power=powers)])
    return trial.power_doubts


def test_a_doubt_about_the_board_stands_at_the_verdict():
    trial = summary(
        declared_power=declared(maximum=2.0),
        board_doubts={"declared_power": "the machine was declared as Pi, and calls itself ThinkPad"},
    )
    assert "calls itself ThinkPad" in verdict(trial, quantity="power_peak_w", limit=5).reason


def test_no_further_session_is_measured_for_a_limit_that_declared_power_leaves_open():
    requirement = Requirement.model_validate({"name": "peak", "quantity": "power_peak_w", "limit": 5.0})
    for watts in ({"maximum": 9.0}, {"typical": 6.0}, {"maximum": 2.0}):
        assert is_settled(summary(declared_power=declared(**watts)), requirement, STATED)


def test_what_declared_power_decides_is_settled_where_no_meter_can_decide_it_yet():
    requirement = Requirement.model_validate({"name": "peak", "quantity": "power_peak_w", "limit": 5.0})
    few, chip = meter(samples=20), meter(scope="chip")
    for rail, settled in ((few, False), (chip, True), (replace(chip, samples=20), False)):
        trial = summary(power=(rail,), declared_power=declared(maximum=4.5))
        assert is_settled(trial, requirement, STATED) == settled


def test_an_emulated_or_failed_trial_is_not_judged_by_declared_power():
    for change in ({"emulated": True}, {"status": "failed", "reason": "it crashed"}):
        trial = summary(declared_power=declared(maximum=2.0), **change)
        assert verdict(trial, quantity="power_peak_w", limit=5).verdict == "unknown"
