"""Ranking by weighted margins, and how far it hangs on the weights."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgebench.fit.profile import load_profile
from edgebench.fit.published_experiment import judge_published
from edgebench.fit.ranking import ONLY_A_BOUND, rankings
from edgebench.fit.verdict import judge_all
from edgebench.fit.weight_sensitivity import Margins, first_shares, smallest_change
from edgebench.vocabulary.declared_conditions import DeclaredTemperature
from tests.fit.summaries import meter
from tests.fit.test_nearest import of, trial


def ranking_of(trials, *requirements):
    profile = of(*requirements)
    (ranking,) = rankings(trials, [profile], judge_all(trials, [profile]))
    return ranking


MASS = {"quantity": "mass_g", "limit": 100.0}


def test_the_score_is_the_weighted_mean_of_margins_as_shares_of_the_limits():
    trials = [trial("a", 1.0, mass_g=90.0), trial("b", 1.8, mass_g=20.0)]
    ranking = ranking_of(trials, {"limit": 2.0, "weight": 3.0}, MASS)
    assert ranking.weights == {"r0": 0.75, "r1": 0.25}
    first, second = ranking.trials
    assert (first.trial[0], first.rank, first.verdict) == ("a", 1, "pass")
    assert first.margins == pytest.approx({"r0": 0.5, "r1": 0.1})
    assert first.score == pytest.approx(0.75 * 0.5 + 0.25 * 0.1)
    assert second.score == pytest.approx(0.75 * 0.1 + 0.25 * 0.8)


def test_margins_are_clipped_and_of_what_is_to_be_at_least_the_other_way_round():
    (only,) = ranking_of(
        [trial("a", 30.0, accuracy=(950, 1000), size_mm=(80.0, 12.0, 30.0))],
        {"limit": 2.0},
        {"quantity": "accuracy", "limit": 0.9},
        {"quantity": "size_mm", "limit": [10.0, 100.0, 40.0]},
    ).trials
    assert only.margins == pytest.approx({"r0": -1.0, "r1": 0.05 / 0.9, "r2": -0.2})
    assert only.verdict == "fail"


def test_margins_of_temperatures_are_of_the_distance_from_absolute_zero():
    (only,) = ranking_of(
        [trial("a", temperature_c=DeclaredTemperature(-40.0, 85.0, "sheet"))],
        {"quantity": "temperature_c", "statistic": "lowest", "limit": -20.0},
    ).trials
    assert only.margins == pytest.approx({"r0": 20.0 / 253.15})


def test_unknown_is_unknown_and_not_0():
    trials = [trial("a", 1.9), trial("b", 1.0, mass_g=50.0)]
    ranking = ranking_of(trials, {"limit": 2.0}, MASS)
    scored, unscored = ranking.trials
    assert (scored.trial[0], scored.rank) == ("b", 1)
    assert (unscored.rank, unscored.score, unscored.first_share) == (None, None, None)
    assert unscored.reason == "r1: the target's description gives no mass"


def test_what_nobody_has_a_figure_of_is_left_out_for_all():
    ranking = ranking_of([trial("a", 1.0), trial("b", 1.5)], {"limit": 2.0}, MASS)
    assert ranking.weights == {"r0": 1.0}
    assert [(left.requirement, left.reason) for left in ranking.left_out] == [
        ("r1", "the target's description gives no mass")
    ]
    assert [each.rank for each in ranking.trials] == [1, 2]


def test_a_meter_of_a_part_gives_no_margin_to_a_limit_on_the_board():
    ranking = ranking_of([trial("a", power=(meter(scope="chip"),))], {"quantity": "energy_j", "limit": 50.0})
    assert ranking.trials[0].score is None and ranking.change is None
    assert ranking.left_out[0].reason == "a meter of the chip sees part of the board"


def test_a_bound_without_a_number_gives_no_margin() -> None:
    judged = judge_published([load_profile("disco-realtime")])
    (ranking,) = rankings(judged.summaries, judged.profiles, judged.verdicts)
    assert {left.requirement: left.reason for left in ranking.left_out}["peak power"] == ONLY_A_BOUND
    assert all(each.score is None for each in ranking.trials)


def test_equal_scores_share_a_rank_and_are_first_together():
    ranking = ranking_of([trial("a"), trial("b"), trial("c", 1.9)], {"limit": 2.0})
    assert [(each.rank, each.first_share) for each in ranking.trials] == [(1, 1.0), (1, 1.0), (3, 0.0)]


def test_with_two_requirements_of_equal_weight_first_shares_are_those_of_a_uniform_mixture():
    """Of the margins (1, 0) and (0, 0.5) the first leads where its weight is above 1/3."""
    margins = Margins(("a", "b"), {"x": 1.0, "y": 1.0}, np.array([[1.0, 0.0], [0.0, 0.5]]))
    shares = first_shares(margins)
    assert shares == first_shares(margins)  # seeded
    assert shares["a"] == pytest.approx(2 / 3, abs=0.03)
    assert shares["a"] + shares["b"] == pytest.approx(1.0)


def test_the_smallest_change_of_one_weight():
    margins = Margins(("a", "b"), {"x": 1.0, "y": 1.0}, np.array([[1.0, 0.0], [0.0, 0.5]]))
    change = smallest_change(margins)
    assert change is not None
    assert (change.requirement, change.first, change.then) == ("x", "a", "b")
    assert (change.weight, change.to, change.share) == (1.0, 0.5, 0.5)


def test_a_trial_that_is_best_in_all_is_first_under_all_weights():
    margins = Margins(("a", "b"), {"x": 1.0, "y": 1.0}, np.array([[1.0, 0.5], [0.0, 0.5]]))
    assert smallest_change(margins) is None
    assert first_shares(margins) == {"a": 1.0, "b": 0.0}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_beyond_the_smallest_change_another_trial_leads_and_before_it_none_does(data):
    requirements = data.draw(st.integers(1, 4))
    rows = st.lists(st.floats(-1, 1), min_size=requirements, max_size=requirements)
    shares = np.round(np.array(data.draw(st.lists(rows, min_size=2, max_size=6))), 2)
    listed = data.draw(st.lists(st.floats(0.1, 10), min_size=requirements, max_size=requirements))
    weights = {f"r{at}": weight for at, weight in enumerate(listed)}
    margins = Margins(tuple(f"t{at}" for at in range(len(shares))), weights, shares)
    change = smallest_change(margins)
    scores = shares @ np.array(listed)
    assume(np.sort(scores)[-1] - np.sort(scores)[-2] > 1e-6)

    def first(name, weight):
        moved = np.array([weight if each == name else other for each, other in weights.items()])
        return f"t{int(np.argmax(shares @ moved))}"

    winner = f"t{int(np.argmax(scores))}"
    least = 1.0 if change is None else min(change.share, 1.0)
    for name, weight in weights.items():
        for part in (0.5, 0.999):
            assert first(name, weight * (1 - part * least)) == winner
            assert first(name, weight * (1 + part * least)) == winner
    if change is not None and change.share < 1e6:
        assert change.first == winner
        beyond = change.to + 1e-3 * (change.to - change.weight)
        if beyond > 0:
            assert first(change.requirement, beyond) != winner


def test_rounding_is_no_sensitivity_and_a_weight_that_would_vanish_no_change():
    """Of trials alike in a margin but for its last digit, and of one that only a weight's end would help."""
    alike = np.array([[0.5, 1 / 3], [0.4, 1 / 3 + 1e-16]])
    assert smallest_change(Margins(("a", "b"), {"x": 1.0, "y": 1.0}, alike)) is None
    tiny = np.array([[0.5, 0.2], [0.1, 0.2 + 1e-5]])
    assert smallest_change(Margins(("a", "b"), {"x": 1.0, "y": 1.0}, tiny)) is None
    less = np.array([[0.5, 0.2], [0.1, 0.21]])
    change = smallest_change(Margins(("a", "b"), {"x": 1.0, "y": 1.0}, less))
    assert change is not None and (change.requirement, change.then) == ("x", "b")
    assert change.to == pytest.approx(0.025)
