"""Which requirement excludes which targets."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.judge.answers import excluded_by
from edgebench.judge.verdict import judge_all
from tests.fit.test_nearest import of, trial


def test_a_requirement_excludes_the_targets_all_of_whose_trials_fail_it():
    trials = [
        replace(trial("a", 3.0, mass_g=60.0), target="nano"),
        replace(trial("b", mass_g=60.0), target="nano"),
        replace(trial("c", 3.0, mass_g=10.0), target="stick"),
        replace(trial("d", 3.0, status="unsupported", mass_g=10.0), target="stick"),
    ]
    profile = of({"limit": 2.0}, {"quantity": "mass_g", "limit": 50.0})
    slow, heavy = excluded_by(trials, judge_all(trials, [profile]))
    assert (slow.profile, slow.requirement, slow.quantity, slow.wanted) == ("mine", "r0", "image_s", False)
    assert [(entry.target, entry.excluded, entry.fails, entry.trials) for entry in slow.targets] == [
        ("nano", False, 1, 2),
        ("stick", True, 1, 1),
    ]
    assert [(entry.target, entry.excluded) for entry in heavy.targets] == [("nano", True), ("stick", False)]


def test_a_wish_and_a_trial_that_was_not_measured_exclude_nothing():
    trials = [trial("a", 3.0), trial("b", 3.0, status="failed")]
    missed, wished = excluded_by(
        trials, judge_all(trials, [of({"limit": 2.0}, {"limit": 2.0, "statistic": "max", "wanted": True})])
    )
    assert [(entry.excluded, entry.fails, entry.trials) for entry in missed.targets] == [(False, 1, 2)]
    assert [entry.excluded for entry in wished.targets] == [False]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.floats(0.5, 4.0)), min_size=1, max_size=8))
def test_it_agrees_with_the_verdicts(levels):
    trials = [
        replace(trial("a", seconds), key=f"{at:016x}", target=target)
        for at, (target, seconds) in enumerate(levels)
    ]
    verdicts = judge_all(trials, [of({"limit": 2.0})])
    (row,) = excluded_by(trials, verdicts)
    for entry in row.targets:
        keys = {each.key for each in trials if each.target == entry.target}
        ours = [verdict.verdict for verdict in verdicts if verdict.trial in keys]
        assert entry.excluded == all(word == "fail" for word in ours)
        assert (entry.fails, entry.trials) == (ours.count("fail"), len(ours))
