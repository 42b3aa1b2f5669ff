"""Pareto fronts over metrics, on trials made by hand and on any."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.errors import UsageError
from edgebench.judge.verdicts.front import axes_of, fronts
from tests.judge.trials import STEADY, exact, keyed, meter, profile_of, trial


def weighing(letter, seconds, mass_g, **changes):
    return keyed(letter, seconds, estimates={"mass_g": exact(mass_g)}, **changes)


def front_of(trials, text):
    (front,) = fronts(trials, [], axes_of(text))
    return front


def standings(front):
    return {one.trial[0]: (one.standing, (one.by or " ")[0], one.overlaps) for one in front.trials}


def test_a_trial_that_is_worse_in_all_beyond_its_intervals_is_dominated():
    trials = [weighing("a", 1.0, 50), weighing("b", 2.0, 60), weighing("c", 3.0, 40), weighing("d", 2.0, 50)]
    assert standings(front_of(trials, "image_s,mass_g")) == {
        "a": ("front", " ", ()),
        "b": ("dominated", "a", ()),
        "c": ("front", " ", ()),
        "d": ("dominated", "a", ()),  # an equal declared mass is no overlap
    }


def test_where_intervals_overlap_no_dominance_is_claimed():
    trials = [keyed("a", 1.0, accuracy=(955, 1000)), keyed("b", 2.0, accuracy=(952, 1000))]
    assert standings(front_of(trials, "image_s,accuracy"))["b"] == ("overlapping", "a", ("accuracy",))
    few = [trial(((s,), (s,)), key=key * 16) for key, s in (("a", 1.0), ("b", 2.0))]
    assert standings(front_of(few, "image_s"))["b"] == ("overlapping", "a", ("image_s",))
    # Stamps that are too short give no upper end.
    short = replace(keyed("a", 1.0), doubts={"stamps": "too short"})
    assert standings(front_of([short, keyed("b", 2.0)], "image_s"))["b"][0] == "overlapping"


def test_more_accuracy_is_better():
    trials = [keyed("a", 1.0, accuracy=(700, 1000)), keyed("b", 2.0, accuracy=(990, 1000))]
    front = front_of(trials, "image_s,accuracy")
    assert [axis.better for axis in front.axes] == ["lower", "higher"]
    assert {one.standing for one in front.trials} == {"front"}


def test_a_trial_without_an_estimate_is_listed_with_the_reason():
    front = front_of([keyed("a", accuracy=(9, 10)), keyed("b")], "image_s,accuracy")
    assert [one.trial[0] for one in front.trials] == ["a"]
    assert [(lack.trial[0], lack.metric, lack.reason) for lack in front.lacking] == [
        ("b", "accuracy", "no images were given")
    ]


def test_energy_of_different_scopes_is_not_compared():
    small = keyed("b", power=(meter(scope="chip", energy_j=(0.1, 0.1, 0.1)),))
    mixed = front_of([keyed("a", power=(meter(),)), small], "energy_j")
    assert {one.standing for one in mixed.trials} == {"front"}
    assert [one.estimates[0].basis for one in mixed.trials] == ["board", "chip"]
    alike = front_of([keyed("a", power=(meter(scope="chip"),)), small], "energy_j")
    assert standings(alike)["a"] == ("dominated", "b", ())


def test_without_axes_each_profile_has_those_of_which_there_are_numbers():
    profile = profile_of(
        {"limit": 2000.0, "unit": "ms"},
        {"statistic": "p90", "limit": 0.5},
        {"quantity": "energy_j", "limit": 5.0},
        {"quantity": "size_mm", "limit": [10.0, 10.0, 10.0]},
        {"quantity": "mass_g", "limit": 100.0, "wanted": True},
    )
    nothing = profile_of({"quantity": "energy_j", "limit": 5.0}, name="other")
    trials = [weighing("a", 1.0, 50), weighing("b", 3.0, 40)]
    (front,) = fronts(trials, [profile, nothing])
    assert front.profile == "mine"
    assert [(axis.metric, axis.unit) for axis in front.axes] == [("image_s", "ms"), ("mass_g", "g")]
    assert front.trials[0].estimates[0].value == pytest.approx(1.0, abs=0.01)


def test_a_percentile_keeps_its_own_interval_where_the_median_fails_its_limit():
    many = trial(tuple(tuple(value + 0.001 * n for n in range(40)) for value, *_ in STEADY))
    (front,) = fronts([many], [profile_of({"statistic": "p90", "limit": 0.5})])
    assert front.trials[0].estimates[0].high is not None


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("image_t", "did you mean"),
        ("", "unknown quantity ''"),
        ("image_s,", "unknown quantity ''"),
        ("size_mm", "three numbers"),
        ("image_s:p98", "unknown statistic"),
        ("image_s,image_s:median", "twice"),
    ],
)
@pytest.mark.attack(
    "quantities of a Pareto front that do not exist: a usage error with the nearest known name"
)
def test_unknown_metrics_are_refused(text, match):
    with pytest.raises(UsageError) as refused:
        axes_of(text)
    assert match in f"{refused.value} {refused.value.fix}"


def test_a_statistic_may_be_named():
    assert [(axis.quantity, axis.statistic) for axis in axes_of("image_s:p99, energy_j")] == [
        ("image_s", "p99"),
        ("energy_j", "median"),
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([1.0, 1.01, 1.5, 2.0, 4.0]),
            st.sampled_from([10.0, 20.0, 30.0]),
            st.integers(1, 20),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_no_member_of_the_front_is_dominated_and_all_others_are(levels):
    trials = [
        replace(weighing("a", seconds, grams, accuracy=(50 * k, 1000)), key=f"{at:016x}")
        for at, (seconds, grams, k) in enumerate(levels)
    ]
    front = front_of(trials, "image_s,mass_g,accuracy")
    points = {one.trial: one for one in front.trials}

    def better(one, other):  # by value; written out, apart from the code under test
        a, b = ([estimate.value for estimate in points[key].estimates] for key in (one, other))
        no_worse = a[0] <= b[0] and a[1] <= b[1] and a[2] >= b[2]
        return no_worse and (a[0], a[1], a[2]) != (b[0], b[1], b[2])

    assert any(one.standing == "front" for one in front.trials)
    for key, one in points.items():
        assert (one.standing == "front") == (not any(better(other, key) for other in points))
        if one.standing != "front":
            assert better(one.by, key)
            (image, _, accuracy), (by_image, _, by_accuracy) = one.estimates, points[one.by].estimates
            apart = by_image.high <= image.low and by_accuracy.low >= accuracy.high
            assert (one.standing == "dominated") == apart == (not one.overlaps)
