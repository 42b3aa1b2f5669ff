"""Pareto fronts and rankings as sentences."""

from __future__ import annotations

from dataclasses import replace

from edgebench.fit.answers import answers
from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary
from edgebench.fit.verdict import judge_all
from edgebench.report.pareto_text import pareto_sentences
from edgebench.report.ranking_text import ranking_sentences
from tests.fit.test_nearest import of, trial


def named(key: str, precision: str, seconds: float, grams: float) -> TrialSummary:
    measured: TrialSummary = trial(key, seconds, mass_g=grams)
    return replace(measured, precision=precision, variant=f"mobilenet_v1-0.25-{precision}")


TRIALS = [named("a", "int8", 1.0, 90.0), named("b", "fp16", 1.5, 50.0), named("c", "fp32", 1.6, 90.0)]
BOTH = ({"limit": 2.0}, {"quantity": "mass_g", "limit": 100.0})


def pareto(trials: list[TrialSummary], *profiles: Profile) -> list[str]:
    return pareto_sentences(answers(trials, profiles, judge_all(trials, profiles)).pareto, trials)


def ranking(trials: list[TrialSummary], *profiles: Profile) -> list[str]:
    return ranking_sentences(answers(trials, profiles, judge_all(trials, profiles)).ranking, trials)


def test_the_front_what_it_dominates_and_what_lacks_a_figure() -> None:
    lacking = replace(named("d", "mixed", 1.0, 1.0), mass_g=None)
    profiles = of(*BOTH), of(*BOTH, name="other")
    assert pareto([*TRIALS, lacking], *profiles) == [
        "mine and other over image_s median and mass_g: on the front 0.25 int8 and 0.25 fp16; dominated "
        "0.25 fp32; 0.25 mixed: no mass_g: the target's description gives no mass"
    ]
    assert pareto(TRIALS[:1], *profiles) == []


def test_overlapping_intervals_are_said() -> None:
    close = [TRIALS[0], named("b", "fp16", 1.01, 90.0)]
    (text,) = pareto(close, of(*BOTH))
    assert text.endswith(
        "on the front 0.25 int8; behind it by value, but with overlapping intervals of image_s, 0.25 fp16"
    )


def test_who_leads_and_under_which_weights_another_would() -> None:
    unsure = of(*BOTH, {"quantity": "accuracy", "limit": 0.9})
    (text,) = ranking(TRIALS, unsure)
    # Margins: int8 0.5 and 0.1, fp16 0.25 and 0.5, fp32 0.2 and 0.1; level where 0.25 w = 0.4.
    assert text.startswith("mine: 1. 0.25 fp16 0.38 (unknown, first under 62 % of weights), 2. 0.25 int8 ")
    assert "3. 0.25 fp32 0.15 (unknown, first under 0 % of weights)" in text
    assert "; without r2, of which no trial has a margin. " in text
    assert text.endswith("0.25 int8 is first with the weight of r1 from 1 to below 0.625")
    assert ranking(TRIALS[:1], unsure) == []


def test_a_leader_in_everything_stays_first() -> None:
    (text,) = ranking([named("a", "int8", 1.0, 20.0), TRIALS[2]], of(*BOTH))
    assert text.endswith("No change of one weight puts another first")
