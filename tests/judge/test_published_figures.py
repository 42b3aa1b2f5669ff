"""Verdicts of published figures: a bound and k of n alone can fail or pass a limit."""

import pytest

from edgebench.judge.metrics import METRICS
from edgebench.judge.published import FigureEntry, Source, judge_published
from edgebench.judge.requirements.profile import load_profile
from edgebench.judge.trial import STATED, Estimate
from edgebench.judge.verdicts.verdict import is_settled
from tests.judge.trials import profile, trial, verdict

SOURCE = Source(title="Them, 2024")
UNPUBLISHED = Estimate(reason="no figure was published")


def published(quantity, **form):
    """A trial of which one figure was published."""
    figure = FigureEntry(quantity=quantity, source="them", **form)
    estimates = {metric.key(): UNPUBLISHED for metric in METRICS.values()}
    estimates[METRICS[quantity].key()] = figure.estimate(SOURCE)
    return trial((), estimates=estimates, marks=("published",))


def judged(quantity, form, **requirement):
    return verdict(published(quantity, **form), quantity=quantity, **requirement)


@pytest.mark.parametrize(
    ("bound", "limit", "word"),
    [
        ("above", 5.0, "fail"),  # its own number is left out
        ("above", 4.0, "fail"),
        ("above", 6.0, "inconclusive"),
        ("at_least", 5.0, "inconclusive"),
        ("at_least", 4.9, "fail"),
        ("at_most", 5.0, "pass"),
        ("at_most", 4.9, "inconclusive"),
        ("below", 5.0, "pass"),
        ("below", 4.0, "inconclusive"),
    ],
)
def test_a_bound_decides_where_all_of_it_meets_or_misses_the_limit(bound, limit, word):
    form = {bound: 5.0, "words": "exceeds 5 W peak"}
    done = judged("power_peak_w", form, limit=limit, averaging_s=1.0)
    estimate = done.estimate
    assert (done.word, done.margin) == (word, None)
    assert (estimate.value, estimate.strict, estimate.basis) == (
        None,
        bound in ("above", "below"),
        "published",
    )
    ends = (5.0, None) if bound in ("above", "at_least") else (None, 5.0)
    assert (estimate.low, estimate.high) == ends
    assert '"exceeds 5 W peak" (Them, 2024)' in done.reason
    assert "over what time it is averaged was not published" in done.reason


@pytest.mark.parametrize(
    ("bound", "limit", "word"),
    [
        ("below", 0.9, "fail"),
        ("at_most", 0.9, "inconclusive"),
        ("at_least", 0.9, "pass"),
        ("above", 0.95, "inconclusive"),
        ("at_most", 0.95, "fail"),
    ],
)
def test_a_limit_that_is_to_be_reached_turns_the_bounds_round(bound, limit, word):
    assert judged("accuracy", {bound: 0.9, "words": "w"}, limit=limit).word == word


def test_k_of_n_is_judged_by_its_wilson_interval():
    share = {"k": 638, "n": 734, "covers": "photographs"}
    assert judged("accuracy", share, limit=0.8).word == "pass"
    assert judged("accuracy", share, limit=0.95).word == "fail"
    undecided = judged("accuracy", share, limit=0.87)
    assert (undecided.word, undecided.estimate.value) == ("inconclusive", 638 / 734)
    assert all(part in undecided.reason for part in ("638 of 734", SOURCE.title, "photographs"))


@pytest.mark.parametrize("limit", [1.0, 65.0, 1000.0])
def test_a_number_without_an_interval_decides_nothing_however_far_it_is(limit):
    time = {"value": 163.78, "unit": "ms", "patches": 1, "covers": "inference only"}
    done = judged("infer_s", time, limit=limit)
    assert (done.word, done.estimate.value) == ("inconclusive", pytest.approx(65.512))
    for part in ("times 400", "without an interval", SOURCE.title, "inference only"):
        assert part in done.reason


def test_a_time_of_some_patches_is_in_proportion():
    done = judged("infer_s", {"value": 3.0, "patches": 150, "covers": "it"}, limit=1.0)
    assert done.estimate.value == pytest.approx(8.0)


def test_a_strict_bound_of_a_part_is_one_of_the_whole():
    above = published("infer_s", above=5.0, words="more than 5 s", covers="it")
    assert verdict(above, quantity="image_s", limit=5.0).word == "fail"
    at_least = published("infer_s", at_least=5.0, words="5 s or more", covers="it")
    assert verdict(at_least, quantity="image_s", limit=5.0).word == "unknown"


def test_inference_above_a_limit_of_the_whole_image_misses_it():
    done = verdict(published("infer_s", value=6.0, covers="inference only"), quantity="image_s", limit=5.0)
    assert (done.word, done.estimate.low) == ("fail", 6.0)
    assert "infer_s, a part of image_s, is at least 6 s" in done.reason and SOURCE.title in done.reason
    below = verdict(published("infer_s", value=4.0, covers="it"), quantity="image_s", limit=5.0)
    assert (below.word, below.reason) == ("unknown", "no figure was published")


def test_a_picture_another_statistic_and_nothing_are_unknown():
    done = judged("power_peak_w", {"picture": True, "words": "draws least power"}, limit=5.0)
    assert done.word == "unknown"
    assert "picture" in done.reason and '"draws least power"' in done.reason
    time = {"at_most": 4.42, "words": "satisfies"}
    assert judged("image_s", time, limit=5.0).word == "pass"
    assert judged("image_s", time, limit=5.0, statistic="p99").word == "unknown"
    for quantity, limit in (
        ("mass_g", 150.0),
        ("size_mm", [10.0, 70.0, 80.0]),
        ("infer_s", 5.0),
        ("slowdown", 2.0),
        ("load", 1.0),
    ):
        nothing = verdict(published("image_s", **time), quantity=quantity, limit=limit)
        assert (nothing.word, nothing.estimate.value) == ("unknown", None)
        assert nothing.reason == "no figure was published"


def test_a_published_figure_settles_no_verdict():
    [requirement] = profile(quantity="power_peak_w", limit=5.0).requirements
    for form in ({"above": 5.0, "words": "w"}, {"at_most": 5.0, "words": "w"}, {"picture": True}):
        assert not is_settled(published("power_peak_w", **form), requirement, STATED)


def test_every_shipped_trial_has_its_figures_and_the_mass_and_size_of_its_boards():
    judged = judge_published([load_profile("disco-realtime")])
    by_target = {trial.target: trial for trial in judged.trials}
    assert all(trial.is_published and trial.status == "done" for trial in judged.trials)
    mini = by_target["coral-mini"]
    assert (mini.estimate("image_s").high, mini.estimate("size_mm").value) == (4.42, 64.0)
    coral = by_target["coral-dev-board"]
    assert coral.marks == ("published", "extrapolated") and coral.scene.measured_patches == 1
    words = {verdict.trial: verdict.word for verdict in judged.verdicts if verdict.requirement.name == "size"}
    assert words[mini.key] == "fail"
