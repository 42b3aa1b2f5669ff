"""Rules that end a trial's measuring."""

import numpy as np
import pytest

from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Estimate, Trial
from edgebench.judge.verdicts.stopping import Rule, half_width_of, rule_of
from edgebench.results.record_reading import read_experiment
from edgebench.stats.intervals import STOPPING_CONFIDENCE, look_confidence, session_interval
from tests.judge.trials import exact, meter, profile, trial
from tests.synthetic_results import QUARTER, made_experiment

STEPS = ((1.0,), (1.01,), (0.99,), (1.005,), (0.995,))
TWELVE = (*STEPS, *STEPS, (0.992,), (1.008,))


def rule(*, target_ci=None, most=30, least=3, **requirement):
    return Rule(target_ci, (profile(**requirement),) if requirement else None, least, most)


def count(measured):
    return len(measured.values_of("image_s"))


def narrow(measured, asked):
    return asked.is_narrow(measured, count(measured))


def decided(measured, asked):
    sessions = count(measured)
    return asked.is_decided(measured, sessions, asked.unsettled(measured, sessions))


def test_a_narrow_interval_ends_a_trial_from_twelve_sessions_on():
    half = half_width_of(trial(TWELVE))
    assert half is not None
    assert narrow(trial(TWELVE), rule(target_ci=half))
    assert not narrow(trial(TWELVE), rule(target_ci=half * 0.999))
    assert not narrow(trial(TWELVE[:11]), rule(target_ci=0.5))


@pytest.mark.parametrize("side", [-1, 1])
def test_before_twelve_sessions_a_verdict_is_settled_only_with_a_margin_above_ten_percent(side):
    near, far = (1 / (1 + side * margin) for margin in (0.099, 0.101))
    same = ((1.0,),) * 12
    for sessions, is_settled in ((3, False), (11, False), (12, True)):
        assert decided(trial(same[:sessions]), rule(limit=near)) is is_settled
        assert decided(trial(same[:sessions]), rule(limit=far))
    # Nor does the mean of a meter settle a limit that is near.
    metered = trial(same[:11], power=(meter(mean_w=(2.0,) * 11),))
    assert not decided(metered, rule(limit=2.1, quantity="power_mean_w"))
    assert decided(metered, rule(limit=2.3, quantity="power_mean_w"))
    # Equal values of all sessions are measured, and no recorded number.
    equal = trial(same[:11], values={"memory_bytes": ((100.0,),) * 11})
    assert not decided(equal, rule(limit=105, quantity="memory_bytes"))


def test_sessions_that_resemble_the_one_before_them_end_a_trial_later():
    steps = (1.0, 1.0, 1.01, 1.01, 1.02, 1.01, 1.02, 1.01, 1.0, 1.0, 1.0, 0.99)
    shuffled = trial(tuple((steps[at],) for at in (0, 4, 8, 5, 1, 6, 10, 2, 11, 7, 3, 9)))
    resembling = trial(tuple((step,) for step in steps))
    for ends, asked in ((narrow, rule(target_ci=0.01)), (decided, rule(limit=1.02))):
        assert ends(shuffled, asked) and not ends(resembling, asked)


@pytest.mark.parametrize(
    "requirement",
    [
        {"quantity": "artifact_bytes", "limit": 5},
        {"quantity": "mass_g", "limit": 100.0},
        {"quantity": "accuracy", "limit": 0.94},  # taken once
        {"statistic": "max", "limit": 1.0},  # a pass above it is there already
        {"quantity": "power_peak_w", "limit": 5.0},  # unknown: there is no meter
        {"quantity": "auc", "limit": 0.9},  # unknown
        {"quantity": "accuracy", "limit": 0.95},  # inconclusive, and taken once
    ],
)
def test_a_verdict_that_no_session_changes_is_settled_without_a_margin(requirement):
    estimates = {"artifact_bytes": exact(5), "mass_g": exact(99)}
    assert decided(trial(STEPS, accuracy=(9500, 10000), estimates=estimates), rule(**requirement))


def test_nothing_ends_a_trial_below_the_least_sessions_or_without_a_rule():
    assert not decided(trial(((1.0,), (1.0,))), rule(limit=9.0))
    same = trial(((1.0,),) * 14)
    assert not narrow(same, rule(target_ci=0.5, least=15)) and narrow(same, rule(target_ci=0.5, least=14))
    assert not narrow(same, rule()) and not decided(same, rule())


def test_a_verdict_near_its_limit_is_settled_at_the_confidence_of_the_look_only():
    measured = trial(TWELVE)
    # The look at 12 sessions of at most 30 is the tenth of 28.
    bound = session_interval(TWELVE, look_confidence(10, 28))
    high = measured.estimate("image_s").high
    assert bound.high is not None and high < bound.high
    between = rule(limit=(high + bound.high) / 2)
    assert between.unsettled(measured, 12) == ("mine: it",)  # though 95 % says pass
    assert decided(measured, rule(limit=bound.high))
    assert all(decided(trial(STEPS[:3]), rule(limit=limit)) for limit in (0.2, 5.0))


def test_a_tail_has_to_speak_for_all_and_fails_at_once():
    tail = {"statistic": "p99", "limit": 5.0}
    assert not decided(trial(STEPS), rule(**tail))
    assert decided(trial((tuple(1 + 0.0001 * n for n in range(700)),) * 9), rule(**tail))
    highest = {"statistic": "max", "limit": 1.5}
    assert not decided(trial(STEPS), rule(**highest))
    assert decided(trial(((1.0,), (1.0,), (1.6,))), rule(**highest))
    # 299 values speak at 95 %; the look takes more of them, and three sessions show no stall of some.
    words = [
        decided(trial(((1.0,) * passes,) * n), rule(**highest)) for passes, n in ((34, 9), (134, 9), (400, 3))
    ]
    assert words == [False, True, False]


def test_a_meter_that_can_only_fail_is_settled_where_it_cannot():
    for high, limit, is_settled in ((3.02, 4.0, True), (3.02, 3.01, False), (3.02, 2.0, True)):
        estimate = Estimate(3.0, 2.98, high, n=9, basis="chip", objection="it sees the chip only")
        measured = trial(TWELVE, estimates={"request_ms": estimate})
        assert decided(measured, rule(quantity="request_ms", limit=limit)) is is_settled


def test_published_and_emulated_trials_settle_nothing():
    for mark in ("published", "emulated"):
        assert not decided(trial(TWELVE, marks=(mark,)), rule(limit=9.0))


def test_every_profile_is_settled_or_none_and_a_wish_does_not_count():
    wish = {"name": "wish", "quantity": "infer_s", "limit": 1.0, "wanted": True}
    for wanted, unsettled in ((True, ()), (False, ("close: wish",))):
        record = {
            "name": "close",
            "requirements": [{"name": "need", "limit": 9.0}, wish | {"wanted": wanted}],
        }
        asked = Rule(None, (profile(limit=9.0), Profile.from_record(record)), 3, 30)
        assert asked.unsettled(trial(STEPS), 5) == unsettled


def test_the_rule_is_that_of_the_plan(tmp_path):
    record = read_experiment(made_experiment(tmp_path, variants=QUARTER[:1], sessions=1))
    plain = rule_of(record)
    assert (plain.is_adaptive, plain.most, plain.confidence) == (False, 1, 0.95)
    mine = profile(limit=1.0)
    asked = rule_of(record.model_copy(update={"decide": True, "profiles": (mine.as_record(),)}))
    assert asked.profiles is not None and asked.profiles[0].name == "mine"
    assert (asked.least, asked.confidence) == (3, STOPPING_CONFIDENCE)
    narrower = rule_of(record.model_copy(update={"target_ci": 0.01, "min_sessions": 7}))
    assert (narrower.target_ci, narrower.least, narrower.confidence) == (0.01, 7, STOPPING_CONFIDENCE)


def test_few_trials_are_decided_wrongly_however_often_they_are_looked_at():
    rng = np.random.default_rng(3)
    asked, wrong = rule(limit=1.0), 0
    for medians in rng.normal(1.001, 0.02, (200, 30)):  # hardly above the limit
        for sessions in range(3, 31):
            measured: Trial = trial(tuple((float(median),) for median in medians[:sessions]))
            if decided(measured, asked):
                wrong += medians[:sessions].mean() < 1
                break
    assert wrong <= 5  # 1 % of them, and as many as 200 draws may add; 95 % at every look errs in 21
