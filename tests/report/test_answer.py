"""The decision of a profile in words."""

from __future__ import annotations

from dataclasses import replace

from edgebench.judge.answers import answers
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary
from edgebench.judge.verdict import judge_all
from edgebench.report.answer import answer_of
from tests.fit.summaries import meter
from tests.fit.test_nearest import of, trial


def sentences(trials: list[TrialSummary], profile: Profile) -> list[str]:
    verdicts = judge_all(trials, [profile])
    (decision,) = answers(trials, [profile], verdicts).decisions
    return answer_of(decision, trials, verdicts).sentences


def named(key: str, precision: str, seconds: float = 1.0, **changes: object) -> TrialSummary:
    variant = f"mobilenet_v1-0.25-{precision}"
    summary: TrialSummary = replace(trial(key, seconds, **changes), precision=precision, variant=variant)
    return summary


def test_the_quickest_and_the_lightest_of_those_that_satisfy_it() -> None:
    trials = [
        named("a", "fp32", 1.0, mass_g=90.0),
        named("b", "int8", 1.5, mass_g=20.0),
        named("c", "fp16", 9.0, mass_g=10.0),
    ]
    (text,) = sentences(trials, of({"limit": 2.0}, {"quantity": "mass_g", "limit": 100.0}))
    assert text.startswith("2 of 3 trials satisfy it. The quickest is 0.25 fp32 (image_s 1.00 ")
    assert text.endswith("; the lightest is 0.25 int8 (20.0 g).")
    (alone,) = sentences(trials, of({"limit": 1.2}))
    assert alone.startswith("0.25 fp32 alone satisfies it (image_s 1.00 ") and alone.endswith(", 90.0 g).")


def test_a_quickest_trial_whose_interval_others_reach_is_not_told_apart_from_them() -> None:
    trials = [named("a", "fp32", 1.0), named("b", "int8", 1.001), named("c", "fp16", 1.5)]
    (text,) = sentences(trials, of({"limit": 2.0}))
    assert text.startswith("All 3 trials satisfy it. The quickest is 0.25 fp32 (image_s ")
    assert text.endswith("), not told apart from 0.25 int8 by its interval.")


def test_the_nearest_miss_and_by_how_much() -> None:
    trials = [named("a", "fp32", 3.0), named("b", "int8", 2.5), named("c", "fp16", 9.0)]
    (text,) = sentences(trials, of({"limit": 2.0}))
    assert text == (
        "No trial satisfies it. The nearest is 0.25 int8: it misses image_s median ≤ 2 s by 0.500 s "
        "(25.0 % of it)."
    )
    (one,) = sentences([trials[1]], of({"limit": 2.0}))
    assert one == "The one trial misses image_s median ≤ 2 s by 0.500 s (25.0 % of it)."


def test_where_all_miss_a_limit_one_without_a_meter_may_be_the_nearest() -> None:
    metered = named("a", "fp32", 30.0, power=(meter(),))
    trials = [metered, named("b", "int8", 2.1), named("c", "fp16", status="not_run", reason="")]
    (text,) = sentences(trials, of({"limit": 2.0}, {"quantity": "energy_j", "limit": 50.0}))
    assert "The nearest is 0.25 int8: it misses image_s median ≤ 2 s by 0.100 s" in text


def test_what_is_open_and_what_would_settle_it() -> None:
    trials = [
        named("a", "fp32", 1.0, mass_g=50.0),
        named("b", "int8", 0.5),
        named("c", "fp16", 9.0),
    ]
    wanted = ({"limit": 2.0}, {"quantity": "energy_j", "limit": 5.0}, {"quantity": "mass_g", "limit": 99.0})
    headline, settling = sentences(trials, of(*wanted))
    assert headline == (
        "No trial is shown to satisfy it: 2 of 3 trials cannot be decided and 1 fails. The nearest of these "
        "is 0.25 fp32 (image_s 1.00 ±0.03 s), open in energy_j (unknown)."
    )
    assert settling == "To settle: energy_j by --meter KIND; mass_g by --board NAME (of 0.25 int8)."


def test_one_trial_that_is_open() -> None:
    headline, settling = sentences([trial("a")], of({"limit": 2.0}, {"quantity": "mass_g", "limit": 9.0}))
    assert headline.startswith("It is open whether 0.25 int8 (image_s 1.00 ±0.03 s) satisfies it: mass_g")
    assert settling == "To settle: mass_g by --board NAME."


def test_nothing_was_measured() -> None:
    assert sentences([trial("a", status="not_run", reason="")], of({"limit": 2.0})) == [
        "No trial was measured: 1 trial without a session."
    ]
