"""What published figures say of a limit: only a bound, and k of n, can fail or pass it."""

from dataclasses import replace

import pytest

from edgebench.judge.estimates import STATED
from edgebench.judge.requirement import Requirement
from edgebench.judge.trial_summary import Published
from edgebench.judge.verdict import is_settled
from edgebench.stats.compare import wilson
from tests.fit.summaries import summary, verdict

SOURCE = "Them, 2024"
PEAK = Published("power_peak_w", "max", SOURCE, words="exceeds 5 W peak")
LOW, HIGH = wilson(638, 734)
SHARE = Published(
    "accuracy", "share", SOURCE, value=638 / 734, low=LOW, high=HIGH, k=638, n=734, covers="photographs"
)


def judged(figure, **requirement):
    return verdict(
        summary((), published=(figure,), mark="published"), quantity=figure.quantity, **requirement
    )


def peak(bound, watts):
    low, high = (watts, None) if bound in ("above", "at least") else (None, watts)
    return replace(PEAK, bound=bound, low=low, high=high)


@pytest.mark.parametrize(
    ("bound", "limit", "word"),
    [
        ("above", 5.0, "fail"),  # its own number is left out
        ("above", 4.0, "fail"),
        ("above", 6.0, "inconclusive"),
        ("at least", 5.0, "inconclusive"),
        ("at least", 4.9, "fail"),
        ("at most", 5.0, "pass"),
        ("at most", 4.9, "inconclusive"),
        ("below", 5.0, "pass"),
        ("below", 4.0, "inconclusive"),
    ],
)
def test_a_bound_decides_where_all_of_it_meets_or_misses_the_limit(bound, limit, word):
    done = judged(peak(bound, 5.0), limit=limit, averaging_s=1.0)
    assert done.verdict == word
    assert done.bound == bound
    assert done.value is None and done.margin is None
    assert {done.low, done.high} == {5.0, None}
    assert '"exceeds 5 W peak" (Them, 2024)' in done.reason
    assert "over what time it is averaged was not published" in done.reason


@pytest.mark.parametrize(
    ("bound", "limit", "word"),
    [
        ("below", 0.9, "fail"),
        ("at most", 0.9, "inconclusive"),
        ("at least", 0.9, "pass"),
        ("above", 0.95, "inconclusive"),
        ("at most", 0.95, "fail"),
    ],
)
def test_a_limit_that_is_to_be_reached_turns_the_bounds_round(bound, limit, word):
    low, high = (0.9, None) if bound in ("above", "at least") else (None, 0.9)
    share = Published("accuracy", "share", SOURCE, low=low, high=high, bound=bound, words="w")
    assert judged(share, limit=limit).verdict == word


def test_k_of_n_is_judged_by_its_wilson_interval():
    assert judged(SHARE, limit=0.8).verdict == "pass"
    assert judged(SHARE, limit=0.95).verdict == "fail"
    open_ = judged(SHARE, limit=0.87)
    assert (open_.verdict, open_.value) == ("inconclusive", 638 / 734)
    assert "638 of 734" in open_.reason and SOURCE in open_.reason and "photographs" in open_.reason


@pytest.mark.parametrize("limit", [1.0, 65.0, 1000.0])
def test_a_number_without_an_interval_decides_nothing_however_far_it_is(limit):
    time = Published("infer_s", "median", SOURCE, value=65.512, covers="inference only", scaled=400)
    done = judged(time, limit=limit)
    assert (done.verdict, done.value) == ("inconclusive", 65.512)
    for part in ("65.51 s", "times 400", "without an interval", SOURCE, "inference only"):
        assert part in done.reason


def test_a_picture_another_statistic_and_nothing_are_unknown():
    picture = Published("power_peak_w", "max", SOURCE, words="draws least power")
    done = judged(picture, limit=5.0)
    assert done.verdict == "unknown"
    assert "picture" in done.reason and '"draws least power"' in done.reason
    time = Published("image_s", "median", SOURCE, high=4.42, bound="at most", words="satisfies")
    assert judged(time, limit=5.0).verdict == "pass"
    assert judged(time, limit=5.0, statistic="p99").verdict == "unknown"
    trial = summary((), published=(time,))
    for quantity, limit in (("mass_g", 150.0), ("size_mm", [10.0, 70.0, 80.0]), ("infer_s", 5.0)):
        nothing = verdict(trial, quantity=quantity, limit=limit)
        assert (nothing.verdict, nothing.value) == ("unknown", None)
        assert nothing.reason == "no figure was published"


def test_a_published_figure_settles_no_verdict():
    asked = Requirement.model_validate({"name": "peak", "quantity": "power_peak_w", "limit": 5.0})
    for figure in (peak("above", 5.0), peak("at most", 5.0), replace(PEAK, words="")):
        assert not is_settled(summary((), published=(figure,)), asked, STATED)
