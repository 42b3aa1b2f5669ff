"""Limits at which the best trial would pass, as sentences."""

from __future__ import annotations

from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.verdict import judge_all
from edgebench.report.answer import paragraphs, passing_sentences
from tests.judge.trials import keyed, profile_of, size
from tests.report.samples import judged


def sentences(trials: list[Trial], *profiles: Profile) -> list[str]:
    return passing_sentences(trials, judge_all(trials, profiles))


def test_a_requirement_that_some_trial_passes_has_none() -> None:
    trials = [keyed("a", 3.0), keyed("b", precision="fp16", variant="mobilenet_v1-0.25-fp16")]
    assert sentences(trials, profile_of({"limit": 2.0})) == []


def test_a_limit_is_never_rounded_to_where_the_trial_would_fail() -> None:
    slow, slower = keyed("a", 2.997), keyed("b", 4.0, precision="fp16", variant="mobilenet_v1-0.25-fp16")
    high_s = slow.estimate("image_s").high
    assert high_s is not None and 3.07 < high_s < 3.075
    assert sentences(
        [slower, slow], profile_of({"limit": 2.0}), profile_of({"limit": 2.0}, name="other")
    ) == ["mine and other: latency per image ≤ 3.08 s in place of 2.00 s (54 % more), with 0.25 int8"]


def test_an_accuracy_is_less_and_a_body_has_its_sides() -> None:
    profile = profile_of(
        {"quantity": "accuracy", "limit": 97.0, "unit": "%"},
        {"quantity": "size_mm", "limit": [10.0, 70.0, 40.0]},
        {"quantity": "energy_j", "limit": 5.0},
    )
    trial = keyed("a", accuracy=(950, 1000), estimates=size(80.0, 12.0, 30.0))
    assert sentences([trial], profile) == [
        "mine: accuracy ≥ 93.4 % in place of 97.0 % (3.64 % less), with 0.25 int8",
        "mine: size ≤ 12.0 x 80.0 x 40.0 mm in place of 10 x 70 x 40 mm (20 % more), with 0.25 int8",
    ]


def test_names_from_outside_do_not_steer_the_terminal() -> None:
    hostile, profile = keyed("a", 3.0, target="na\x1b[31mno"), profile_of({"limit": 2.0})
    result = judged([hostile], judge_all([hostile], [profile]))
    texts = dict(paragraphs(result.decisions, [], result.trials, result.verdicts))
    assert list(texts) == ["What would pass"]
    assert "\x1b" not in str(texts)
