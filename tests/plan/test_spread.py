"""What is remembered of how far sessions lie apart."""

import pytest

from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.run.cost import ASSUMED, Spread, known_spread, note_spread, spread_of
from edgebench.stats.forecast import sessions_for


def test_the_spread_of_a_trial_is_remembered(tmp_path):
    cache = Cache(tmp_path)
    assert known_spread(cache, {"a": 1}) == Spread(ASSUMED, 0)
    seen = spread_of([[1.0, 1.0], [1.02], [0.98, 5.0, 0.98]])
    assert seen is not None
    assert seen.share == pytest.approx(0.02)
    assert (seen.sessions, seen.measured) == (3, True)
    note_spread(cache, {"a": 1}, seen)
    assert known_spread(cache, {"a": 1}) == seen
    assert not known_spread(cache, {"a": 2}).measured


def test_few_sessions_have_no_spread():
    assert spread_of([[1.0], [1.1]]) is None
    assert spread_of([]) is None


@pytest.mark.parametrize(
    "note",
    [
        {},
        {"share": "wide", "sessions": 5},
        {"share": -0.1, "sessions": 5},
        {"share": 0.1},
        {"share": 0.1, "sessions": 2},
        {"share": 0.1, "sessions": 1e9},
        {"share": 1e9, "sessions": 5},
    ],
)
def test_a_damaged_note_is_not_believed(tmp_path, note):
    cache = Cache(tmp_path)
    cache.note_recipe("session-spread", canonical_hash({"a": 1}), note)
    assert known_spread(cache, {"a": 1}) == Spread()


def test_a_forecast_from_an_assumption_and_from_sessions():
    assumed = Spread()
    needed = sessions_for(ASSUMED, 0.01)
    assert needed is not None
    assert assumed.forecast(needed, 0.01, 0.95).resolves == "yes"
    assert assumed.forecast(needed - 1, 0.01, 0.95).resolves == "no"
    # Three sessions hardly tell the spread: where so many are needed nobody knows.
    assert Spread(0.02, 3).forecast(needed, 0.01, 0.95).resolves == "unclear"
    assert Spread(0.02, 30).forecast(5, 0.01, 0.95).resolves == "no"
    assert Spread(0.02, 30).forecast(2, 0.01, 0.95).resolves == "no"
    assert Spread(0.0, 3).forecast(5, 0.01, 0.95).resolves == "yes"
