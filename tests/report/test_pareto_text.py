"""Pareto fronts as sentences."""

from __future__ import annotations

from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Estimate, Trial
from edgebench.judge.verdicts.front import fronts
from edgebench.report.answer import pareto_sentences
from tests.judge.trials import exact, keyed, profile_of


def named(key: str, precision: str, seconds: float, mass: Estimate) -> Trial:
    variant = f"mobilenet_v1-0.25-{precision}"
    trial: Trial = keyed(key, seconds, precision=precision, variant=variant, estimates={"mass_g": mass})
    return trial


TRIALS = [
    named("a", "int8", 1.0, exact(90)),
    named("b", "fp16", 1.5, exact(50)),
    named("c", "fp32", 1.6, exact(90)),
]
BOTH = ({"limit": 2.0}, {"quantity": "mass_g", "limit": 100.0})


def pareto(trials: list[Trial], *profiles: Profile) -> list[str]:
    return pareto_sentences(fronts(trials, profiles), trials)


def test_the_front_what_it_dominates_and_what_lacks_a_figure() -> None:
    lacking = named("d", "mixed", 1.0, Estimate(reason="the target's description gives no mass"))
    profiles = profile_of(*BOTH), profile_of(*BOTH, name="other")
    assert pareto([*TRIALS, lacking], *profiles) == [
        "mine and other over latency per image and mass: on the front 0.25 int8 and 0.25 fp16; dominated "
        "0.25 fp32; 0.25 mixed: no mass: the target's description gives no mass"
    ]
    assert pareto(TRIALS[:1], *profiles) == []


def test_overlapping_intervals_are_said() -> None:
    close = [TRIALS[0], named("b", "fp16", 1.01, exact(90))]
    (text,) = pareto(close, profile_of(*BOTH))
    assert text.endswith(
        "on the front 0.25 int8; behind it by value, but with overlapping intervals of latency per image, "
        "0.25 fp16"
    )
