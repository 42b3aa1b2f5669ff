"""When a trial has been measured enough."""

from dataclasses import replace

import numpy as np
import pytest

from edgebench.judge.profile import Profile
from edgebench.judge.stopping import Rule, rule_of, standing
from edgebench.results.record_reading import read_experiment
from edgebench.stats.intervals import STOPPING_CONFIDENCE, look_confidence, session_interval
from tests.fit.summaries import meter, summary
from tests.synthetic_results import QUARTER, made_experiment

STEPS = ((1.0,), (1.01,), (0.99,), (1.005,), (0.995,))
TWELVE = (*STEPS, *STEPS, (0.992,), (1.008,))


def profile(name="mine", **requirement):
    return Profile.from_record({"name": name, "requirements": [{"name": "it", **requirement}]})


def rule(*, target_ci=None, most=30, least=3, **requirement):
    return Rule(target_ci, (profile(**requirement),) if requirement else None, least, most)


def judged(trial, asked, sessions=None):
    return standing(trial, sessions or len(trial.image_s_values), asked)


def test_a_narrow_interval_ends_a_trial():
    trial = summary(TWELVE)
    half = trial.image_s.half_width
    assert half == pytest.approx(trial.image_s.high / trial.image_s.median - 1)
    assert judged(trial, rule(target_ci=half)).reached
    assert not judged(trial, rule(target_ci=half * 0.999)).reached
    assert judged(trial, rule(target_ci=half * 0.999)).half_width == half


def test_a_narrow_interval_ends_no_trial_before_twelve_sessions():
    assert not judged(summary(TWELVE[:11]), rule(target_ci=0.5)).reached
    assert judged(summary(TWELVE), rule(target_ci=0.5)).reached


@pytest.mark.parametrize("side", [-1, 1])
def test_before_twelve_sessions_a_verdict_is_settled_only_with_a_margin_above_ten_percent(side):
    near, far = (1 / (1 + side * margin) for margin in (0.099, 0.101))
    same = ((1.0,),) * 12
    for sessions, settled in ((3, False), (11, False), (12, True)):
        assert judged(summary(same[:sessions]), rule(limit=near)).decided is settled
        assert judged(summary(same[:sessions]), rule(limit=far)).decided
    # Nor does the mean of a meter settle a limit that is near.
    power = meter(mean_w_sessions=(2.0,) * 11)
    mean = {"quantity": "power_mean_w"}
    assert judged(summary(same[:11], power=(power,)), rule(limit=2.1, **mean)).unsettled
    assert judged(summary(same[:11], power=(power,)), rule(limit=2.3, **mean)).decided


def test_sessions_that_resemble_the_one_before_them_end_a_trial_later():
    steps = (1.0, 1.0, 1.01, 1.01, 1.02, 1.01, 1.02, 1.01, 1.0, 1.0, 1.0, 0.99)
    shuffled = tuple((steps[at],) for at in (0, 4, 8, 5, 1, 6, 10, 2, 11, 7, 3, 9))
    resembling = tuple((step,) for step in steps)
    assert judged(summary(shuffled), rule(target_ci=0.01)).narrow
    assert not judged(summary(resembling), rule(target_ci=0.01)).narrow
    assert judged(summary(shuffled), rule(limit=1.02)).decided
    assert not judged(summary(resembling), rule(limit=1.02)).decided


def test_a_margin_is_asked_of_no_figure_that_further_sessions_leave_as_it_is():
    trial = summary(STEPS, artifact_bytes=5, mass_g=99.0, accuracy=(9500, 10000))
    for requirement in (
        {"quantity": "artifact_bytes", "limit": 5},
        {"quantity": "mass_g", "limit": 100.0},
        {"quantity": "accuracy", "limit": 0.94},  # taken once
        {"statistic": "max", "limit": 1.0},  # a pass above it is there already
    ):
        assert judged(trial, rule(**requirement)).decided, requirement


def test_nothing_ends_a_trial_below_the_least_sessions():
    trial = summary(((1.0,), (1.0,)))
    assert not judged(trial, rule(target_ci=0.5)).reached
    assert not judged(trial, rule(limit=9.0)).reached
    same = summary(((1.0,),) * 14)
    assert not judged(same, rule(target_ci=0.5, least=15)).reached
    assert judged(same, rule(target_ci=0.5, least=14)).reached


def test_without_a_rule_nothing_is_reached():
    assert not judged(summary(((1.0,),) * 5), rule()).reached


@pytest.mark.parametrize("limit", [0.2, 5.0])
def test_a_verdict_far_from_its_limit_is_settled_early(limit):
    assert judged(summary(STEPS[:3]), rule(limit=limit)).decided


def test_a_verdict_near_its_limit_is_settled_at_the_confidence_of_the_look_only():
    trial = summary(TWELVE)
    # The look at 12 sessions of at most 30 is the tenth of 28.
    bound = session_interval(TWELVE, look_confidence(10, 28))
    assert bound.high is not None and trial.image_s.high < bound.high
    between = (trial.image_s.high + bound.high) / 2
    assert judged(trial, rule(limit=between)).unsettled == ("mine: it",)  # though 95 % says pass
    assert judged(trial, rule(limit=bound.high)).decided


def test_what_no_session_can_change_is_settled():
    trial = summary(STEPS, artifact_bytes=5, accuracy=(9, 10))
    assert trial.power is None
    for requirement in (
        {"quantity": "power_peak_w", "limit": 5.0},  # unknown: there is no meter
        {"quantity": "mass_g", "limit": 5.0},  # unknown: none is declared
        {"quantity": "artifact_bytes", "limit": 5},
        {"quantity": "accuracy", "limit": 0.9},  # inconclusive, and taken once
    ):
        assert judged(trial, rule(**requirement)).decided, requirement


def test_a_percentile_that_needs_more_passes_is_open():
    open_ = {"statistic": "p99", "limit": 5.0}
    assert judged(summary(STEPS), rule(**open_)).unsettled
    many = summary(tuple(tuple(1 + 0.0001 * n for n in range(700)) for _ in range(9)))
    assert judged(many, rule(**open_)).decided


def test_a_maximum_has_to_speak_for_all_and_fails_at_once():
    highest = {"statistic": "max", "limit": 1.5}
    assert judged(summary(STEPS), rule(**highest)).unsettled
    assert judged(summary(((1.0,), (1.0,), (1.6,))), rule(**highest)).decided
    # 299 values speak at 95 %; the look asks for more of them.
    assert judged(summary(((1.0,) * 34,) * 9), rule(**highest)).unsettled
    assert judged(summary(((1.0,) * 134,) * 9), rule(**highest)).decided
    # Nor do three sessions show a stall of some sessions.
    assert judged(summary(((1.0,) * 400,) * 3), rule(**highest)).unsettled


def test_a_meter_that_can_only_fail_is_settled_where_it_cannot():
    narrow = meter(scope="chip", mean_w_sessions=(2.99, 3.0, 3.01))
    mean = {"quantity": "power_mean_w"}
    assert judged(summary(STEPS[:3], power=(narrow,)), rule(limit=4.0, **mean)).decided
    assert judged(summary(STEPS[:3], power=(narrow,)), rule(limit=3.005, **mean)).unsettled  # may yet fail
    assert judged(summary(STEPS[:3], power=(narrow,)), rule(limit=2.0, **mean)).decided


def test_a_peak_waits_for_samples_but_not_for_a_better_meter():
    peak = {"quantity": "power_peak_w", "limit": 5.0}
    assert judged(summary(STEPS, power=(meter(samples=100),)), rule(**peak)).unsettled
    assert judged(summary(STEPS, power=(meter(effective_hz=10.0),)), rule(**peak)).decided
    assert judged(summary(STEPS, power=(meter(effective_hz=10.0, samples=100),)), rule(**peak)).unsettled


def test_an_averaging_time_that_no_session_lasts_is_settled():
    peak = {"quantity": "power_peak_w", "limit": 5.0, "averaging_s": 60.0}
    assert judged(summary(STEPS, power=(meter(window_s=10.0),)), rule(**peak)).decided


def test_every_profile_is_settled_or_none():
    both = Rule(None, (profile("easy", limit=9.0), profile("close", limit=1.001)), 3, 30)
    assert judged(summary(STEPS), both).unsettled == ("close: it",)


def test_the_rule_is_what_the_experiment_was_planned_with(tmp_path):
    record = read_experiment(made_experiment(tmp_path, variants=QUARTER[:1], sessions=1))
    plain = rule_of(record)
    assert (plain.asked, plain.most, plain.confidence) == (False, 1, 0.95)
    mine = profile(limit=1.0)
    asked = rule_of(record.model_copy(update={"decide": True, "profiles": (mine.as_record(),)}))
    assert asked.profiles is not None and asked.profiles[0].name == "mine"
    assert (asked.least, asked.confidence) == (3, STOPPING_CONFIDENCE)
    narrow = rule_of(record.model_copy(update={"target_ci": 0.01, "min_sessions": 7}))
    assert (narrow.target_ci, narrow.least, narrow.confidence) == (0.01, 7, STOPPING_CONFIDENCE)


def test_few_trials_are_decided_wrongly_however_often_they_are_looked_at():
    rng = np.random.default_rng(3)
    asked = rule(limit=1.0)
    wrong = 0
    blank = summary(STEPS)
    for medians in rng.normal(1.001, 0.02, (200, 30)):  # hardly above the limit
        for sessions in range(3, 31):
            values = tuple((float(median),) for median in medians[:sessions])
            trial = replace(blank, image_s=session_interval(values), image_s_values=values)
            if judged(trial, asked).decided:
                wrong += medians[:sessions].mean() < 1
                break
    assert wrong <= 5  # 1 % of them, and what 200 draws may add; 95 % at every look errs in 21


def test_a_wish_does_not_prolong_a_trial():
    open_wish = {"name": "wish", "quantity": "infer_s", "limit": 1.0, "wanted": True}
    need = {"name": "need", "limit": 9.0}
    trial = summary(STEPS)
    for requirements, decided in (([need, open_wish], True), ([need, open_wish | {"wanted": False}], False)):
        asked = Rule(
            None, (Profile.from_record({"name": "mine", "requirements": requirements}),), least=3, most=30
        )
        assert judged(trial, asked).decided is decided
