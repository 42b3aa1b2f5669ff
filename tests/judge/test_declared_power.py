"""Declared power against limits: decisions of a maximum, of a typical power, and of a meter before them."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from edgebench.judge.metrics import METRICS
from edgebench.judge.power.rails import RailPower, power_doubts
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.trial import STATED
from edgebench.judge.verdicts.verdict import is_settled
from edgebench.records.target import KINDS, DeclaredPower
from tests.judge.trials import meter, trial, verdict

SLOW = {"effective_hz": 2.0, "longest_gap_s": 0.5}
PEAK = Requirement.model_validate({"name": "peak", "quantity": "power_peak_w", "limit": 5.0})


def recorded(rails=(), target="board", board_doubts=None, **watts):
    """Stored sessions of a trial: its target's declared power, and what its meters gave."""
    power = tuple(DeclaredPower(watts[kind], kind, f"the {kind} sheet") for kind in KINDS if kind in watts)
    found = tuple(
        RailPower(rail, {metric: estimate for (metric, _), estimate in estimates})
        for rail, estimates in rails
    )
    alone = SimpleNamespace(
        shown_target=SimpleNamespace(declared_power=power),
        board_doubts=board_doubts or {},
        trial=SimpleNamespace(target=target),
        once=lambda question, compute: found,
    )
    alone.siblings = {"": alone}
    return alone


def declared(*rails, board_doubts=None, **watts):
    """A trial with those rails and declared power of each kind."""
    metric, sessions = METRICS["declared_power"], recorded(rails, board_doubts=board_doubts, **watts)
    estimates = {key: reading.estimate for key, reading in metric.readings(sessions)}
    return trial(power=rails, estimates=estimates, doubts=power_doubts(sessions))


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
            "declared maximum power of 2 W (the maximum sheet)",
        ),
        ({"maximum": 5.0}, "pass", 5.0, "maximum", "meets the limit"),
        ({"maximum": 9.0}, "inconclusive", 9.0, "maximum", "may never be reached"),
        (
            {"typical": 6.0},
            "fail",
            6.0,
            "typical",
            "declared typical power of 6 W (the typical sheet)",
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
    judged = verdict(declared(**watts), quantity=quantity, limit=5, averaging_s=averaging_s)
    assert (judged.word, judged.estimate.value) == (word, value)
    assert judged.estimate.basis == f"declared {kind}"
    assert judged.margin == 5 - value
    assert reason in judged.reason
    assert "no meter" in judged.reason


def test_declared_power_has_one_end_and_gives_no_energy():
    maximum = verdict(declared(maximum=2.0), quantity="power_peak_w", limit=5).estimate
    assert (maximum.low, maximum.high) == (None, 2.0)
    typical = verdict(declared(typical=6.0), quantity="power_peak_w", limit=5).estimate
    assert (typical.low, typical.high) == (6.0, None)
    energy = verdict(declared(maximum=2.0), quantity="energy_j", limit=5)
    assert (energy.word, energy.estimate.value, energy.estimate.basis) == ("unknown", None, "")
    assert verdict(declared(maximum=2.0), quantity="power_peak_w", limit=5000, unit="mW").margin == 3.0


def test_a_meter_that_decides_goes_first():
    metered = declared(meter(), typical=3.5, maximum=9.0)
    for limit, word in ((5, "pass"), (3.4, "fail")):
        judged = verdict(metered, quantity="power_peak_w", limit=limit)
        assert (judged.word, judged.estimate.value, judged.estimate.basis) == (word, 4.0, "board")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (SLOW, "no meter decides it: at 2 Hz, as they came"),
        ({"scope": "chip"}, "no meter decides it: ina:0 (in) covers the chip only"),
        ({"uncovered": "1 of 3 sessions"}, "did not see the whole steady window of 1 of 3 sessions"),
        ({"mean_w": (), "reason": "it was unplugged"}, "ina:0 (in): it was unplugged"),
    ],
)
def test_a_meter_that_does_not_decide_leaves_it_to_the_declared_figure_with_both_reasons(change, why):
    judged = verdict(declared(meter(**change), maximum=4.5), quantity="power_peak_w", limit=5)
    assert (judged.word, judged.estimate.value, judged.estimate.basis) == ("pass", 4.5, "declared maximum")
    assert why in judged.reason


def test_where_neither_decides_the_measured_figure_stands_with_both_reasons():
    judged = verdict(declared(meter(**SLOW), maximum=9.0, typical=2.0), quantity="power_peak_w", limit=5)
    assert (judged.word, judged.estimate.value, judged.estimate.basis) == ("inconclusive", 4.0, "board")
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
def test_declared_power_that_a_meter_contradicts_decides_nothing(change, watts, sentence):
    judged = verdict(declared(meter(**change), **watts), quantity="power_peak_w", limit=5)
    assert (judged.word, judged.estimate.basis) == ("inconclusive", change.get("scope", "board"))
    assert sentence in judged.reason


@pytest.mark.parametrize("change", [{"scope": "chip"}, {"uncovered": "1 of 3 sessions"}, {"mean_w": ()}])
def test_a_meter_that_sees_less_than_the_whole_does_not_contradict_a_typical_power(change):
    assert not power_doubts(recorded([meter(**change)], typical=6.0))
    assert not power_doubts(recorded([meter()], typical=3.9, maximum=4.0))


def test_a_maximum_is_the_targets_and_a_typical_power_that_of_a_load():
    for watts, kinds in (
        ({"maximum": 3.9}, [{"power.maximum"}] * 2),
        ({"typical": 6.0}, [{"power.typical"}, set()]),
    ):
        trials = [recorded([meter(**SLOW)], **watts), recorded(**watts), recorded(target="other", **watts)]
        for sessions in trials:
            sessions.siblings = dict(enumerate(trials))
        assert [set(power_doubts(sessions)) for sessions in trials] == [*kinds, set()]


def test_a_doubt_about_the_board_stands_at_the_verdict():
    doubt = "the machine was declared as Pi, and calls itself ThinkPad"
    doubted = declared(board_doubts={"declared_power": doubt}, maximum=2.0)
    assert doubt in verdict(doubted, quantity="power_peak_w", limit=5).reason


def test_no_further_session_is_measured_for_a_limit_that_declared_power_leaves_open():
    for watts in ({"maximum": 9.0}, {"typical": 6.0}, {"maximum": 2.0}):
        assert is_settled(declared(**watts), PEAK, STATED)


def test_what_declared_power_decides_is_settled_where_no_meter_can_decide_it_yet():
    for change, settled in (
        ({"samples": 20}, False),
        ({"scope": "chip"}, True),
        ({"scope": "chip", "samples": 20}, False),
    ):
        assert is_settled(declared(meter(**change), maximum=4.5), PEAK, STATED) == settled


def test_an_emulated_or_failed_trial_is_not_judged_by_declared_power():
    for change in ({"marks": ("emulated",)}, {"status": "failed", "reason": "it crashed"}):
        undecided = replace(declared(maximum=2.0), **change)
        assert verdict(undecided, quantity="power_peak_w", limit=5).word == "unknown"
