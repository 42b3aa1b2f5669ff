"""What would pass and what excludes targets, as sentences."""

from __future__ import annotations

from dataclasses import replace

from edgebench.judge.answers import answers
from edgebench.judge.trial_summary import TrialSummary
from edgebench.judge.verdict import judge_all

from edgebench.judge.profile import Profile
from edgebench.report.answer import exclusion_sentences, nearest_sentences, paragraphs
from tests.fit.test_nearest import of, trial


def sentences(trials: list[TrialSummary], *profiles: Profile) -> list[str]:
    beyond = answers(trials, profiles, judge_all(trials, profiles))
    return nearest_sentences(beyond.nearest, trials) + exclusion_sentences(beyond.excluded_by)


def test_what_passed_is_named() -> None:
    trials = [trial("a", 3.0), replace(trial("b"), precision="fp16", variant="mobilenet_v1-0.25-fp16")]
    assert sentences(trials, of({"limit": 2.0})) == ["cpu, mine: passes with 0.25 fp16"]


def test_a_setting_of_a_sweep_is_named() -> None:
    trials = [
        replace(trial("a", 3.0), target="nano[power_mode=5W]", settings={"power_mode": "5W"}),
        replace(trial("b"), target="nano[power_mode=10W]", settings={"power_mode": "10W"}),
    ]
    assert sentences(trials, of({"limit": 2.0})) == ["nano, mine: passes with 0.25 int8 power_mode=10W"]


def test_a_relaxed_limit_is_never_rounded_to_where_the_trial_would_fail() -> None:
    tried = trial("a", 2.997)
    assert tried.image_s is not None and tried.image_s.high is not None
    assert 3.07 < tried.image_s.high < 3.075
    nearest, excluded = sentences([tried], of({"limit": 2.0}), of({"limit": 2.0}, name="other"))
    assert nearest == (
        "cpu, mine and other: 0.25 int8 would pass with latency per image ≤ 3.08 s in place of 2.00 s "
        "(54 % more)"
    )
    assert excluded == "cpu is excluded from mine and other by r0: its one trial fails it"


def test_what_has_to_be_measured_is_said_with_its_reason() -> None:
    both = of({"limit": 2.0}, {"quantity": "energy_j", "limit": 5.0})
    (slow, _) = sentences([trial("a", 3.0)], both)
    assert slow.endswith("and with what it lacks: energy per image (no meter)")
    (fast,) = sentences([trial("a")], both)
    assert fast == (
        "cpu, mine: 0.25 int8 misses no limit but is undecided: it lacks energy per image (no meter)"
    )
    (failed,) = sentences([trial("a", status="failed", reason="it crashed")], both)
    assert failed.startswith(
        "cpu, mine: no other limit lets 0.25 int8 (the nearest) pass: latency per image and "
    )


def test_an_accuracy_is_less_and_a_body_has_its_sides() -> None:
    profile = of(
        {"quantity": "accuracy", "limit": 97.0, "unit": "%"},
        {"quantity": "size_mm", "limit": [10.0, 70.0, 40.0]},
    )
    (text, *_) = sentences([trial("a", accuracy=(950, 1000), size_mm=(80.0, 12.0, 30.0))], profile)
    assert "accuracy ≥ 93.4 % in place of 97.0 % (3.64 % less)" in text
    assert "size ≤ 12.0 x 80.0 x 40.0 mm in place of 10 x 70 x 40 mm (20 % more)" in text


def test_what_comes_from_outside_does_not_steer_the_terminal() -> None:
    hostile = replace(trial("a", 3.0), target="na\x1b[31mno")
    profile = of({"limit": 2.0})
    beyond = answers([hostile], [profile], judge_all([hostile], [profile]))
    texts = dict(paragraphs(beyond, [hostile]))
    assert list(texts) == ["What would pass", "What excludes targets"]
    assert "\x1b" not in str(texts)
