"""Pareto fronts as sentences."""

from __future__ import annotations

from dataclasses import replace

from edgebench.judge.answers import answers
from edgebench.judge.trial_summary import TrialSummary
from edgebench.judge.verdict import judge_all

from edgebench.judge.profile import Profile
from edgebench.report.answer import pareto_sentences
from tests.fit.test_nearest import of, trial


def named(key: str, precision: str, seconds: float, grams: float) -> TrialSummary:
    measured: TrialSummary = trial(key, seconds, mass_g=grams)
    return replace(measured, precision=precision, variant=f"mobilenet_v1-0.25-{precision}")


TRIALS = [named("a", "int8", 1.0, 90.0), named("b", "fp16", 1.5, 50.0), named("c", "fp32", 1.6, 90.0)]
BOTH = ({"limit": 2.0}, {"quantity": "mass_g", "limit": 100.0})


def pareto(trials: list[TrialSummary], *profiles: Profile) -> list[str]:
    return pareto_sentences(answers(trials, profiles, judge_all(trials, profiles)).pareto, trials)


def test_the_front_what_it_dominates_and_what_lacks_a_figure() -> None:
    lacking = replace(named("d", "mixed", 1.0, 1.0), mass_g=None)
    profiles = of(*BOTH), of(*BOTH, name="other")
    assert pareto([*TRIALS, lacking], *profiles) == [
        "mine and other over latency per image and mass: on the front 0.25 int8 and 0.25 fp16; dominated "
        "0.25 fp32; 0.25 mixed: no mass: the target's description gives no mass"
    ]
    assert pareto(TRIALS[:1], *profiles) == []


def test_overlapping_intervals_are_said() -> None:
    close = [TRIALS[0], named("b", "fp16", 1.01, 90.0)]
    (text,) = pareto(close, of(*BOTH))
    assert text.endswith(
        "on the front 0.25 int8; behind it by value, but with overlapping intervals of latency per image, "
        "0.25 fp16"
    )
