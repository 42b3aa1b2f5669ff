"""Verdicts of sessions that other programs disturbed: a pass stands, a fail is judged again without them."""

from dataclasses import replace

import pytest

from edgebench.judge.trial import Certainty
from edgebench.judge.verdicts.next_steps import settling_steps
from edgebench.judge.verdicts.verdict import exit_code, is_settled
from tests.judge.trials import exact, judge, meter, profile, trial, verdict

CALM = ((1.0, 1.01), (1.02, 1.01), (0.98, 0.99))
DISTURBED = ((1.6, 1.61), (1.55, 1.56), (1.7, 1.72))


def test_a_fail_from_disturbed_sessions_alone_is_undecided():
    disturbed = trial(DISTURBED * 3, disturbed=(9, 9))
    judged = verdict(disturbed, limit=1.2)
    assert (judged.word, judged.estimate.low > 1.2) == ("inconclusive", True)
    assert "9 of 9 sessions, which other programs disturbed" in judged.reason
    assert "0 without them are too few" in judged.reason
    assert [exit_code([judged], [disturbed], strict) for strict in (False, True)] == [0, 4]
    (step,) = settling_steps(disturbed, judged)
    assert step.kind == "more sessions" and "without other programs" in step.reason
    assert not is_settled(disturbed, profile(limit=1.2).requirements[0], Certainty(0.95, 0.95))


@pytest.mark.parametrize(
    ("limit", "word", "code"), [(1.1, "pass", 0), (1.01, "inconclusive", 0), (0.9, "fail", 3)]
)
def test_a_fail_is_judged_again_without_the_disturbed_sessions(limit, word, code):
    slow, slower, slowest = DISTURBED
    sessions = tuple(session for calm in CALM for session in (slow, calm, slower, slowest))
    disturbed = trial(sessions, disturbed=(9, 12), undisturbed=trial(CALM))
    assert verdict(replace(disturbed, disturbed=(0, 0), undisturbed=None), limit=limit).word == "fail"
    judged = verdict(disturbed, limit=limit)
    assert (judged.word, judged.estimate.value) == (word, pytest.approx(1.0017, abs=1e-3))
    assert judged.reason.startswith("without 9 of 12 sessions, which other programs disturbed: ")
    assert exit_code([judged], [disturbed], False) == code


def test_the_sessions_that_settle_it_come_on_top_of_the_disturbed_ones():
    slow, slower, slowest = DISTURBED
    sessions = tuple(session for calm in CALM for session in (slow, calm, slower, slowest))
    disturbed = trial(sessions, disturbed=(9, 12), undisturbed=trial(CALM))
    (calm,) = settling_steps(trial(CALM), verdict(trial(CALM), limit=1.01))
    (step,) = settling_steps(disturbed, verdict(disturbed, limit=1.01))
    assert int(step.arguments[1]) == int(calm.arguments[1]) + 9
    assert step.reason == f"{calm.reason} without other programs"


def test_a_pass_of_disturbed_sessions_stands():
    judged = verdict(trial(DISTURBED, disturbed=(3, 3)), limit=2.5)
    assert (judged.word, "disturbed" in judged.reason) == ("pass", False)


@pytest.mark.parametrize(
    ("requirement", "word"),
    [
        ({"quantity": "power_mean_w", "limit": 2}, "inconclusive"),
        ({"quantity": "power_peak_w", "limit": 2, "averaging_s": 1}, "inconclusive"),
        ({"quantity": "energy_j", "limit": 2}, "inconclusive"),
        ({"quantity": "load_s", "limit": 1}, "inconclusive"),
        ({"quantity": "accuracy", "limit": 0.9}, "fail"),
        ({"quantity": "mass_g", "limit": 10}, "fail"),
        ({"quantity": "memory_bytes", "limit": 1}, "fail"),
    ],
)
def test_disturbance_excuses_times_and_power_and_nothing_else(requirement, word):
    calm = trial(
        DISTURBED,
        power=(meter(),),
        accuracy=(10, 100),
        estimates={"mass_g": exact(100)},
        values={"memory_bytes": ((10,), (11,), (12,)), "load_s": ((2.0,), (2.1,), (2.2,))},
    )
    assert judge(calm, profile(**requirement))[0].word == "fail"
    assert judge(replace(calm, disturbed=(3, 3)), profile(**requirement))[0].word == word
