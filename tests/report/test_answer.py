"""The decision of a profile in words."""

from __future__ import annotations

from dataclasses import replace

from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.verdict import judge_all
from edgebench.report.answer import Answer, answer_of, shared_answers
from edgebench.report.matrix import cells_of
from tests.judge.trials import exact, keyed, meter, profile_of
from tests.report.samples import judged


def answer(trials: list[Trial], profile: Profile) -> Answer:
    result = judged(trials, judge_all(trials, [profile]))
    (decision,) = result.decisions
    return answer_of(decision, trials, result.verdicts, cells_of(result), "Mine")


def named(key: str, precision: str, seconds: float = 1.0, mass_g: float = 0.0, **changes: object) -> Trial:
    estimates = {"mass_g": exact(mass_g)} if mass_g else {}
    variant = f"mobilenet_v1-0.25-{precision}"
    trial: Trial = keyed(key, seconds, precision=precision, variant=variant, estimates=estimates, **changes)
    return trial


MASS = {"quantity": "mass_g", "limit": 100.0}
ENERGY = {"quantity": "energy_j", "limit": 50.0}


def test_the_fastest_the_most_accurate_and_the_lightest_of_those_that_satisfy_it() -> None:
    trials = [
        named("a", "fp32", 1.0, mass_g=90.0, accuracy=(95, 100)),
        named("b", "int8", 1.5, mass_g=20.0, accuracy=(96, 100)),
        named("c", "fp16", 9.0, mass_g=10.0),
    ]
    both = answer(trials, profile_of({"limit": 2.0}, MASS))
    assert both.word == "pass"
    assert both.text("Mine") == (
        "2 of 3 variants satisfy Mine. Fastest: 0.25 fp32, 1.00 s per image. Most accurate: 0.25 int8, "
        "96.0 %. Lightest: 0.25 int8, 20.0 g. Not satisfied by 0.25 fp16 (r0)."
    )
    alone = answer(trials[:1], profile_of({"limit": 1.2}))
    assert alone.text("it").startswith("0.25 fp32 satisfies it. Fastest: 0.25 fp32, 1.00 s per image.")


def test_so_far_is_said_where_something_required_was_not_measured() -> None:
    trials = [named("a", "fp32", 1.0), named("b", "int8", 0.5), named("c", "fp16", 9.0)]
    so_far = answer(trials, profile_of({"limit": 2.0}, MASS))
    assert (so_far.word, so_far.after) == ("so far", "in everything measured so far")
    assert so_far.text("it").startswith("2 of 3 variants satisfy it in everything measured so far. Fastest: ")
    trials[0] = named("a", "fp32", 1.0, mass_g=50.0)
    mixed = answer(trials, profile_of({"limit": 2.0}, MASS))
    assert mixed.word == "pass" and mixed.before == "1 of 3 variants satisfies"
    assert "0.25 int8 satisfies everything measured so far." in mixed.more


def test_a_trial_whose_interval_overlaps_the_fastest_is_named() -> None:
    trials = [named("a", "fp32", 1.0), named("b", "int8", 1.001), named("c", "fp16", 1.5)]
    text = answer(trials, profile_of({"limit": 2.0})).text("it")
    assert text == (
        "All 3 variants satisfy it. Fastest: 0.25 fp32, 1.00 s per image, within the interval of 0.25 int8."
    )


def test_the_nearest_miss_and_by_how_much() -> None:
    trials = [named("a", "fp32", 3.0), named("b", "int8", 2.5), named("c", "fp16", 9.0)]
    assert answer(trials, profile_of({"limit": 2.0})).text("it") == (
        "No variant satisfies it. Nearest: 0.25 int8, which misses latency per image ≤ 2 s by 0.500 s "
        "(25.0 % of it)."
    )
    metered = named("a", "fp32", 30.0, power=(meter(),))
    unmetered = [metered, named("b", "int8", 2.1), named("c", "fp16", status="not_run", reason="")]
    text = answer(unmetered, profile_of({"limit": 2.0}, ENERGY)).text("it")
    assert text.startswith("No variant is shown to satisfy it.")


def test_what_is_undecided_is_named_with_what_decides() -> None:
    trials = [named("a", "fp32", 1.0), named("b", "int8", 9.0)]
    undecided = answer(trials, profile_of({"limit": 1.005}))
    assert undecided.word == "inconclusive"
    assert undecided.text("it") == (
        "No variant is shown to satisfy it. Undecided: 0.25 fp32 (r0). Not satisfied by 0.25 int8 (r0)."
    )
    three = [*trials[:1], named("b", "int8", 1.001), named("c", "fp16", 1.002)]
    for count, every in ((2, "both"), (3, "all 3")):
        text = answer(three[:count], profile_of({"limit": 1.005})).text("it")
        assert text == f"No variant is shown to satisfy it. Undecided: {every} (r0)."
    unknown = answer(trials, profile_of(MASS))
    assert unknown.text("it") == "Nothing is known about the requirements of it."


def test_nothing_was_measured() -> None:
    nothing = answer([keyed("a", status="not_run", reason="")], profile_of({"limit": 2.0}))
    assert nothing.text("it") == "No variant was measured for it."


def test_profiles_with_the_same_answer_share_it() -> None:
    mine = answer([named("a", "fp32", 1.0)], profile_of({"limit": 2.0}))
    alike = [replace(mine, titles=(f"Mission number {n}",)) for n in range(1, 10)]
    apart = replace(mine, word="fail", before="No variant satisfies", more=())
    shared, other = shared_answers([*alike, apart])
    assert shared.title == "Mission number 1, 2, 3 and 6 more" and shared.titles[-1] == "Mission number 9"
    assert shared.text().startswith("0.25 fp32 satisfies them. Fastest: ")
    assert other.text() == "No variant satisfies it."
