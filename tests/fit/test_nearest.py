"""The nearest yes, on trials made by hand and on any."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgebench.judge.answers import answers
from edgebench.judge.decision import RelaxedLimit, relaxed_limit
from edgebench.judge.profile import Profile
from edgebench.judge.verdict import judge, judge_all, judgement
from edgebench.records.target import DeclaredBoot, DeclaredPower
from tests.fit.summaries import STEADY, meter, summary


def of(*requirements, name="mine"):
    named = [{"name": f"r{at}", **requirement} for at, requirement in enumerate(requirements)]
    return Profile.from_record({"name": name, "requirements": named})


def trial(key, seconds=1.0, **changes):
    sessions = tuple(tuple(seconds * value for value in session) for session in STEADY)
    return replace(summary(sessions, **changes), key=key * 16)


def nearest_of(trials, *profiles):
    return list(answers(trials, profiles, judge_all(trials, profiles)).nearest)


def test_a_target_whose_trials_all_pass_has_no_entry():
    assert nearest_of([trial("a"), trial("b", 1.2)], of({"limit": 2.0})) == []


def test_another_trial_of_the_target_that_passed_is_named():
    (entry,) = nearest_of([trial("a", 3.0), trial("b"), trial("c")], of({"limit": 2.0}))
    assert (entry.target, entry.profile, entry.passing) == ("cpu", "mine", ("b" * 16, "c" * 16))
    assert (entry.trial, entry.relax, entry.measure, entry.undecided) == (None, (), (), ())


def test_the_settings_of_a_sweep_are_one_target():
    slow = replace(trial("a", 3.0), target="nano[power_mode=5W]", settings={"power_mode": "5W"})
    fast = replace(trial("b"), target="nano[power_mode=10W]", settings={"power_mode": "10W"})
    (entry,) = nearest_of([slow, fast], of({"limit": 2.0}))
    assert (entry.target, entry.passing) == ("nano", ("b" * 16,))


def test_the_least_relaxation_over_the_trials_by_the_bound_that_a_pass_needs():
    (entry,) = nearest_of([trial("a", 4.0), trial("b", 3.0)], of({"limit": 2000.0, "unit": "ms"}))
    high = trial("b", 3.0).image_s.high
    (limit,) = entry.relax
    assert entry.trial == "b" * 16
    assert limit.to == pytest.approx(1000 * high) and limit.to > 3000  # not the value
    assert (limit.by, limit.share) == (limit.to - 2000, pytest.approx((limit.to - 2000) / 2000))
    assert (limit.unit, limit.limit, limit.verdict, limit.statistic) == ("ms", 2000.0, "fail", "median")


def test_one_limit_goes_before_two_however_far():
    both = of({"limit": 2.0}, {"quantity": "mass_g", "limit": 100.0})
    near_in_both = trial("a", 2.1, mass_g=101.0)
    far_in_one = trial("b", 9.0, mass_g=50.0)
    (entry,) = nearest_of([near_in_both, far_in_one], both)
    assert [(limit.requirement, entry.trial) for limit in entry.relax] == [("r0", "b" * 16)]
    (alone,) = nearest_of([near_in_both], both)
    assert [limit.requirement for limit in alone.relax] == ["r0", "r1"]
    assert (alone.relax[1].to, alone.relax[1].by) == (101.0, 1.0)


def test_what_is_unknown_has_to_be_measured_and_is_not_assumed():
    (entry,) = nearest_of([trial("a", 3.0)], of({"limit": 2.0}, {"quantity": "energy_j", "limit": 5.0}))
    assert [limit.quantity for limit in entry.relax] == ["image_s"]
    assert [(lack.quantity, lack.reason) for lack in entry.measure] == [("energy_j", "no meter")]
    assert entry.undecided == ()


def test_a_trial_that_misses_nothing_but_lacks_a_figure_stands_beside_the_nearest():
    profile = of({"limit": 2.0}, {"quantity": "accuracy", "limit": 0.9})
    complete, lacking = trial("a", 3.0, accuracy=(990, 1000)), trial("b")
    (entry,) = nearest_of([complete, lacking], profile)
    assert (entry.trial, [limit.quantity for limit in entry.relax]) == ("a" * 16, ["image_s"])
    (open_trial,) = entry.undecided
    assert (open_trial.trial, [lack.quantity for lack in open_trial.measure]) == ("b" * 16, ["accuracy"])


def test_two_sessions_pass_no_limit_at_all():
    few = replace(summary(STEADY[:2]), key="a" * 16)
    (entry,) = nearest_of([few], of({"limit": 0.5}))
    assert entry.relax == () and entry.measure[0].reason.startswith("2 sessions are too few")


def test_a_wish_is_no_hindrance():
    wished = of({"limit": 2.0}, {"quantity": "mass_g", "limit": 10.0, "wanted": True})
    assert nearest_of([trial("a", mass_g=20.0)], wished) == []


def test_trials_that_the_target_does_not_take_do_not_fail_it():
    unsupported = trial("b", status="unsupported", reason="fp32 is not taken")
    assert nearest_of([trial("a"), unsupported], of({"limit": 2.0})) == []
    (entry,) = nearest_of([unsupported], of({"limit": 2.0}))
    assert entry.measure[0].reason == "the target does not support it: fp32 is not taken"


def test_an_accuracy_is_relaxed_to_the_lower_end():
    tried = trial("a", accuracy=(950, 1000))
    (entry,) = nearest_of([tried], of({"quantity": "accuracy", "limit": 97.0, "unit": "%"}))
    (limit,) = entry.relax
    assert limit.to == pytest.approx(100 * tried.accuracy.low)
    assert limit.by == pytest.approx(97.0 - limit.to)


def test_a_body_is_relaxed_side_by_side():
    (entry,) = nearest_of(
        [trial("a", size_mm=(80.0, 12.0, 30.0))], of({"quantity": "size_mm", "limit": [10.0, 70.0, 40.0]})
    )
    (limit,) = entry.relax
    assert limit.to == (12.0, 80.0, 40.0)
    assert (limit.by, limit.share) == (10.0, pytest.approx(0.2))


def test_a_narrow_meter_that_fails_a_limit_lets_none_pass():
    chip = meter(scope="chip")
    (entry,) = nearest_of([trial("a", power=(chip,))], of({"quantity": "power_mean_w", "limit": 2.0}))
    assert entry.relax == () and "never pass it" in entry.measure[0].reason


def test_a_narrow_meter_and_one_of_the_board_both_have_to_be_met():
    board = meter(mean_w=3.0)
    chip = meter(scope="chip", primary=False, meter="rapl:", mean_w=5.0, mean_w_sessions=(4.99, 5.0, 5.01))
    chip = replace(chip, peak_w=5.2)
    tried, requirement = trial("a", power=(board, chip)), {"quantity": "power_mean_w", "limit": 2.0}
    (entry,) = nearest_of([tried], of(requirement))
    (limit,) = entry.relax
    assert 4.9 < limit.to < 5.0
    assert judge(tried, of({**requirement, "limit": limit.to}))[0].verdict == "pass"
    assert judge(tried, of({**requirement, "limit": limit.to * 0.999}))[0].verdict == "fail"


def test_a_declared_maximum_is_the_limit_that_passes():
    declared = (DeclaredPower(9.5, "maximum", "its label"),)
    (entry,) = nearest_of(
        [trial("a", declared_power=declared)], of({"quantity": "power_peak_w", "limit": 5.0})
    )
    (limit,) = entry.relax
    assert (limit.to, limit.verdict) == (9.5, "inconclusive")


def test_a_typical_boot_time_passes_no_limit():
    tried = trial("a", boot_s=DeclaredBoot(30.0, "typical", "sheet"))
    (entry,) = nearest_of([tried], of({"quantity": "boot_s", "limit": 20.0}))
    assert entry.relax == () and "never pass it" in entry.measure[0].reason


QUANTITIES = {
    "image_s": ({}, {"unit": "ms"}, {"statistic": "max"}, {"statistic": "p90"}),
    "accuracy": ({}, {"unit": "%"}),
    "power_mean_w": ({}, {"unit": "mW"}),
    "power_peak_w": ({}, {"averaging_s": 1.0}),
    "energy_j": ({}, {"unit": "mJ"}),
    "mass_g": ({}, {"unit": "kg"}),
}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_trial_passes_the_relaxed_limit_and_none_much_nearer(data):
    quantity = data.draw(st.sampled_from(sorted(QUANTITIES)))
    level = data.draw(st.floats(0.1, 30.0))
    scopes = data.draw(st.lists(st.sampled_from(["board", "chip", "wall"]), max_size=3))
    rails = [
        meter(
            scope=scope,
            primary=not at,
            meter=f"m{at}",
            mean_w=level * (1 + at),
            peak_w=level * (2 + at),
            mean_w_sessions=tuple(level * (1 + at) * (1 + 0.01 * n) for n in range(3)),
            energy_j_sessions=tuple(level * (3 + at) * (1 + 0.01 * n) for n in range(3)),
        )
        for at, scope in enumerate(scopes)
    ]
    values = tuple(tuple(level * (1 + 0.001 * n + 0.01 * m) for n in range(100)) for m in range(4))
    tried = summary(
        values, power=tuple(rails) or None, accuracy=(data.draw(st.integers(1, 199)), 200), mass_g=level
    )
    asked = data.draw(st.sampled_from(QUANTITIES[quantity]))
    limit = data.draw(st.floats(0.01, 0.99 if quantity == "accuracy" else 50.0))
    (requirement,) = of({"quantity": quantity, "limit": limit, **asked}).requirements
    assume(judgement(tried, requirement).word in ("fail", "inconclusive"))
    change = relaxed_limit(tried, requirement)

    def under(limit):
        return judgement(tried, requirement.model_copy(update={"limit": limit})).word

    if isinstance(change, RelaxedLimit):
        assert under(change.to) == "pass"
        assert change.by > 0
        assert under(change.to + 1e-6 * (limit - change.to)) != "pass"
    else:
        assert under(1e-9 if requirement.at_least else 1e17) != "pass"
