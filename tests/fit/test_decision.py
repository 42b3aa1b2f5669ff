"""What the verdicts of a profile come to."""

from __future__ import annotations

from dataclasses import replace

from edgebench.judge.answers import answers
from edgebench.judge.decision import Decision
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary
from edgebench.judge.verdict import judge_all
from tests.fit.summaries import meter
from tests.fit.test_nearest import of, trial


def decided(trials: list[TrialSummary], *profiles: Profile) -> list[Decision]:
    return list(answers(trials, profiles, judge_all(trials, profiles)).decisions)


def test_an_answer_a_profile() -> None:
    trials = [trial("a", 1.0), trial("b", 3.0)]
    loose, tight = decided(trials, of({"limit": 9.0}, name="loose"), of({"limit": 0.5}, name="tight"))
    assert (loose.profile, loose.outcome, loose.passing) == ("loose", "satisfied", ("a" * 16, "b" * 16))
    assert (tight.outcome, tight.failing, tight.trials, tight.trial) == ("missed", 2, 2, "a" * 16)
    assert [limit.requirement for limit in tight.relax] == ["r0"] and tight.relax[0].by > 0.5


def test_times_of_inference_alone_are_no_quickest_image() -> None:
    windows = replace(trial("a", 0.1), image_s=None, image_s_values=())
    (decision,) = decided([windows, trial("b")], of({"quantity": "infer_s", "limit": 2.0}))
    assert (decision.trial, decision.level) == ("b" * 16, ())


def test_all_of_the_least_mass_are_the_lightest() -> None:
    trials = [trial(key, mass_g=mass_g) for key, mass_g in (("a", 9.0), ("b", 5.0), ("c", 5.0), ("d", None))]
    (decision,) = decided(trials, of({"limit": 2.0}))
    assert decision.lightest == ("b" * 16, "c" * 16)


def test_the_nearest_miss_is_over_all_targets() -> None:
    trials = [replace(trial("a", 9.0), target="nano"), replace(trial("b", 2.5), target="coral")]
    (decision,) = decided(trials, of({"limit": 2.0}))
    assert decision.trial == "b" * 16


def test_a_limit_that_no_looser_one_mends_is_further_than_one_that_is_relaxed() -> None:
    chip = meter(scope="chip", mean_w=9.0, mean_w_sessions=(9.0, 9.0, 9.0))
    hot = trial("a", 1.0, power=(chip,))
    slow = trial("b", 9.0)
    (decision,) = decided([hot, slow], of({"limit": 2.0}, {"quantity": "power_mean_w", "limit": 3.0}))
    assert decision.trial == "b" * 16


def test_what_was_not_measured_is_no_miss_and_settles_nothing() -> None:
    trials = [trial("a", status="failed", reason="it crashed"), trial("b", 9.0)]
    (decision,) = decided(trials, of({"limit": 2.0}))
    assert (decision.outcome, decision.trial, decision.failing) == ("missed", "b" * 16, 1)
    (nothing,) = decided(trials[:1], of({"limit": 2.0}))
    assert (nothing.outcome, nothing.trial, nothing.open) == ("unmeasured", None, ())


def test_what_is_open_stands_by_requirement_and_by_what_settles_it() -> None:
    trials = [trial("a", mass_g=9.0), trial("b"), trial("c", 9.0)]
    wish = {"quantity": "energy_j", "limit": 1.0, "wanted": True}
    (decision,) = decided(trials, of({"limit": 1.0}, {"quantity": "mass_g", "limit": 10.0}, wish))
    assert (decision.outcome, decision.trial, decision.failing) == ("open", "a" * 16, 1)
    assert [(each.requirement, each.verdict, each.trials) for each in decision.open] == [
        ("r0", "inconclusive", ("a" * 16, "b" * 16)),
        ("r1", "unknown", ("b" * 16,)),
    ]
    assert decision.open[1].by == "--board NAME"
