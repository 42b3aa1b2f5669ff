"""Decisions: the answer to a profile."""

from __future__ import annotations

from dataclasses import replace

from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Estimate, Trial
from edgebench.judge.verdicts.decision import Decision, decisions
from edgebench.judge.verdicts.verdict import judge_all, overall
from tests.judge.trials import exact, keyed, meter, profile_of


def decided(trials: list[Trial], *profiles: Profile) -> list[Decision]:
    return decisions(trials, overall(judge_all(trials, profiles)))


def test_a_decision_for_each_profile() -> None:
    trials = [keyed("a", 1.0), keyed("b", 3.0)]
    loose, tight = decided(
        trials, profile_of({"limit": 9.0}, name="loose"), profile_of({"limit": 0.5}, name="tight")
    )
    assert (loose.profile, loose.outcome, loose.passing) == ("loose", "satisfied", ("a" * 16, "b" * 16))
    assert (loose.trial, loose.level) == ("a" * 16, ())
    assert (tight.outcome, tight.failing, tight.trials, tight.trial) == ("missed", 2, 2, "a" * 16)
    (missed,) = tight.open
    assert (missed.requirement, missed.verdict, missed.trials) == ("r0", "fail", ("a" * 16,))
    assert [(step.kind, step.limit) for step in missed.next_steps] == [
        ("relax", trials[0].estimate("image_s").high)
    ]


def test_times_of_inference_alone_are_no_quickest_image() -> None:
    windows = keyed("a", 0.1, estimates={"image_s": Estimate(reason="windows")})
    (decision,) = decided([windows, keyed("b")], profile_of({"quantity": "infer_s", "limit": 2.0}))
    assert (decision.trial, decision.level) == ("b" * 16, ())


def test_all_of_the_least_mass_are_the_lightest() -> None:
    masses = {"a": 9.0, "b": 5.0, "c": 5.0}
    trials = [keyed(key, estimates={"mass_g": exact(mass_g)}) for key, mass_g in masses.items()]
    (decision,) = decided([*trials, keyed("d")], profile_of({"limit": 2.0}))
    assert decision.lightest == ("b" * 16, "c" * 16)


def test_the_nearest_miss_takes_fewest_and_smallest_changes() -> None:
    slow, near = keyed("a", 9.0, target="nano"), keyed("b", 2.5, target="coral")
    assert decided([slow, near], profile_of({"limit": 2.0}))[0].trial == "b" * 16
    both = profile_of({"limit": 2.0}, {"quantity": "mass_g", "limit": 100.0})
    near_in_both = keyed("a", 2.1, estimates={"mass_g": exact(101)})
    far_in_one = keyed("b", 9.0, estimates={"mass_g": exact(50)})
    assert decided([near_in_both, far_in_one], both)[0].trial == "b" * 16
    # A failed limit that no looser one mends is further than any that is relaxed.
    hot = keyed("a", 1.0, power=(meter(scope="chip", mean_w=(9.0, 9.0, 9.0)),))
    cool = profile_of({"limit": 2.0}, {"quantity": "power_mean_w", "limit": 3.0})
    assert decided([hot, keyed("b", 9.0)], cool)[0].trial == "b" * 16


def test_a_trial_that_was_not_measured_is_no_miss_and_settles_nothing() -> None:
    trials = [keyed("a", status="failed", reason="it crashed"), keyed("b", 9.0)]
    (decision,) = decided(trials, profile_of({"limit": 2.0}))
    assert (decision.outcome, decision.trial, decision.failing) == ("missed", "b" * 16, 1)
    (nothing,) = decided(trials[:1], profile_of({"limit": 2.0}))
    assert (nothing.outcome, nothing.trial, nothing.open) == ("unmeasured", None, ())


def test_open_requirements_stand_together_by_the_steps_that_settle_them() -> None:
    trials = [keyed("a", estimates={"mass_g": exact(9)}), keyed("b"), keyed("c", 9.0)]
    wish = {"quantity": "energy_j", "limit": 1.0, "wanted": True}
    profile = profile_of({"limit": 1.0}, {"quantity": "mass_g", "limit": 10.0}, wish)
    (decision,) = decided(trials, profile)
    assert (decision.outcome, decision.trial, decision.failing) == ("open", "a" * 16, 1)
    assert [(entry.requirement, entry.verdict, entry.trials) for entry in decision.open] == [
        ("r0", "inconclusive", ("a" * 16, "b" * 16)),
        ("r1", "unknown", ("b" * 16,)),
    ]
    assert [step.arguments for step in decision.open[1].next_steps] == [("--board", "NAME")]


def test_a_wish_is_no_hindrance() -> None:
    heavy = keyed("a", estimates={"mass_g": exact(20)})
    wished = profile_of({"limit": 2.0}, {"quantity": "mass_g", "limit": 10.0, "wanted": True})
    assert decided([heavy], wished)[0].outcome == "satisfied"
    assert decided([replace(heavy, status="unsupported")], wished)[0].outcome == "unmeasured"
