"""How long a run will take."""

import pytest

from edgebench.models.cache import Cache
from edgebench.models.variant import Variant
from edgebench.plan.estimate import Cost, estimate, known_cost, note_cost, rough_cost, total_s


def test_a_guess_is_marked_and_grows_with_the_model():
    small, large = rough_cost(Variant(0.25, "int8")), rough_cost(Variant(1.0, "int8"))
    assert not small.measured
    assert 0 < small.patch_s < large.patch_s


def test_what_was_measured_replaces_the_guess(tmp_path):
    cache, variant = Cache(tmp_path), Variant(0.25, "int8")
    note_cost(cache, {"a": 1}, 0.002)
    assert known_cost(cache, {"a": 1}, variant) == Cost(0.002, measured=True)
    assert not known_cost(cache, {"a": 2}, variant).measured


@pytest.mark.parametrize("value", ["fast", -1, 0, None, 1e9])
def test_a_damaged_note_is_not_believed(tmp_path, value):
    from edgebench.models.cache import canonical_hash

    cache = Cache(tmp_path)
    cache.note_recipe("image-cost", canonical_hash({"a": 1}), {"patch_s": value})
    assert not known_cost(cache, {"a": 1}, Variant(0.25, "int8")).measured


def test_sessions_passes_and_accuracy_add_up():
    one = estimate(Cost(0.01, measured=True), patches=400, passes=3, idle_s=2.0, images=1000)
    assert one.session_s == pytest.approx(0.8 + 2 + 0.01 * 400 * 4)
    assert total_s([one, one], 3) == pytest.approx(2 * (3 * one.session_s + 10))


def session_s(**more):
    return estimate(
        Cost(0.01, measured=True), patches=400, passes=3, idle_s=0.0, images=0, **more
    ).session_s  # fmt: skip


def test_a_paced_pass_takes_its_period_or_longer():
    plain = session_s()
    assert session_s(period_s=10.0) == pytest.approx(plain + 3 * 6.0)
    assert session_s(period_s=1.0) == pytest.approx(plain)


def test_sustained_passes_take_as_long_as_they_are_told_to():
    first = session_s() - 3 * 4.0
    assert session_s(sustained_s=600.0) == pytest.approx(first + 600)
    assert session_s(sustained_s=1.0) == pytest.approx(first + 4.0)
    assert session_s(sustained_s=1.0, period_s=30.0) == pytest.approx(first + 30.0)
