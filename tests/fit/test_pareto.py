"""The Pareto front over quantities, on trials made by hand and on any."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.errors import UsageError
from edgebench.judge.answers import axes_of, fronts
from tests.fit.summaries import meter
from tests.fit.test_nearest import of, trial


def front_of(trials, text):
    (front,) = fronts(trials, [], axes_of(text))
    return front


def standings(front):
    return {each.trial[0]: (each.standing, (each.by or " ")[0], each.overlaps) for each in front.trials}


def test_a_trial_that_is_worse_in_all_beyond_its_intervals_is_dominated():
    trials = [trial("a", 1.0, mass_g=50.0), trial("b", 2.0, mass_g=60.0), trial("c", 3.0, mass_g=40.0)]
    assert standings(front_of(trials, "image_s,mass_g")) == {
        "a": ("front", " ", ()),
        "b": ("dominated", "a", ()),
        "c": ("front", " ", ()),
    }


def test_where_intervals_overlap_it_is_said_and_no_dominance_is_claimed():
    trials = [trial("a", 1.0, accuracy=(955, 1000)), trial("b", 2.0, accuracy=(952, 1000))]
    assert standings(front_of(trials, "image_s,accuracy")) == {
        "a": ("front", " ", ()),
        "b": ("overlapping", "a", ("accuracy",)),
    }


def test_more_accuracy_is_better():
    trials = [trial("a", 1.0, accuracy=(700, 1000)), trial("b", 2.0, accuracy=(990, 1000))]
    front = front_of(trials, "image_s,accuracy")
    assert [axis.better for axis in front.axes] == ["lower", "higher"]
    assert {each.standing for each in front.trials} == {"front"}


def test_figures_without_an_interval_dominate_nothing_surely():
    few = [trial("a", 1.0), trial("b", 2.0)]
    few = [
        replace(each, image_s_values=each.image_s_values[:2], infer_s_values=each.infer_s_values[:2])
        for each in few
    ]
    assert standings(front_of(few, "image_s"))["b"] == ("overlapping", "a", ("image_s",))


def test_the_same_declared_mass_is_no_overlap():
    trials = [trial("a", 1.0, mass_g=50.0), trial("b", 2.0, mass_g=50.0)]
    assert standings(front_of(trials, "image_s,mass_g"))["b"] == ("dominated", "a", ())


def test_a_trial_without_a_figure_is_listed_with_the_reason():
    front = front_of([trial("a", power=(meter(),)), trial("b")], "image_s,energy_j")
    assert [each.trial[0] for each in front.trials] == ["a"]
    assert [(lack.trial[0], lack.quantity, lack.reason) for lack in front.lacking] == [
        ("b", "energy_j", "no meter")
    ]


def test_energy_of_meters_of_different_scopes_is_not_held_against_each_other():
    small = meter(scope="chip", energy_j=0.1, energy_j_sessions=(0.1, 0.1, 0.1))
    mixed = front_of([trial("a", power=(meter(),)), trial("b", power=(small,))], "energy_j")
    assert {each.standing for each in mixed.trials} == {"front"}
    assert [each.figures[0].basis for each in mixed.trials] == ["board", "chip"]
    large = meter(scope="chip", energy_j=6.0, energy_low_j=5.9, energy_high_j=6.1)
    little = replace(small, energy_low_j=0.09, energy_high_j=0.11)
    alike = front_of([trial("a", power=(large,)), trial("b", power=(little,))], "energy_j")
    assert standings(alike)["a"] == ("dominated", "b", ())


def test_without_axes_each_profile_has_those_that_it_has_numbers_of():
    profile = of(
        {"limit": 2000.0, "unit": "ms"},
        {"quantity": "energy_j", "limit": 5.0},
        {"quantity": "size_mm", "limit": [10.0, 10.0, 10.0]},
        {"quantity": "mass_g", "limit": 100.0, "wanted": True},
    )
    nothing = of({"quantity": "energy_j", "limit": 5.0}, name="other")
    trials = [trial("a", 1.0, mass_g=50.0), trial("b", 3.0, mass_g=40.0)]
    profiles = [profile, nothing]
    (front,) = fronts(trials, profiles)
    assert front.profile == "mine"
    assert [(axis.quantity, axis.unit) for axis in front.axes] == [("image_s", "ms"), ("mass_g", "g")]
    assert front.trials[0].figures[0].value == pytest.approx(1000.0)


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
def test_quantities_that_are_none_are_refused(text, match):
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
        replace(trial("a", seconds, mass_g=grams, accuracy=(50 * k, 1000)), key=f"{at:016x}")
        for at, (seconds, grams, k) in enumerate(levels)
    ]
    front = front_of(trials, "image_s,mass_g,accuracy")
    points = {each.trial: each for each in front.trials}

    def better(one, other):  # by value; written out, apart from what is tested
        a, b = ([figure.value for figure in points[key].figures] for key in (one, other))
        no_worse = a[0] <= b[0] and a[1] <= b[1] and a[2] >= b[2]
        return no_worse and (a[0], a[1], a[2]) != (b[0], b[1], b[2])

    assert any(each.standing == "front" for each in front.trials)
    for key, each in points.items():
        assert (each.standing == "front") == (not any(better(other, key) for other in points))
        if each.standing != "front":
            assert better(each.by, key)
            (image, _, accuracy), (by_image, _, by_accuracy) = each.figures, points[each.by].figures
            apart = by_image.high <= image.low and by_accuracy.low >= accuracy.high
            assert (each.standing == "dominated") == apart == (not each.overlaps)
