"""What earlier sessions, of this run and of others, say about those to come."""

from dataclasses import replace

import pytest

from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.records.values import Variant
from edgebench.run.cost import KnownCosts, note_cost, noted_cost, noted_costs
from edgebench.run.estimate import Cost
from edgebench.run.settings import RunConfig
from edgebench.run.trials import make_trials
from tests.fakes import FakeBackend, made_images, made_scene, make_targets

SMALL, HALF, WHOLE = (Variant(depth, "int8") for depth in (0.25, 0.5, 1.0))
FLOAT = Variant(0.25, "fp32")
COST = Cost(0.002, 1.0, 30)


def trials(variants=(SMALL, HALF, WHOLE, FLOAT), hosts=(None,), batches=(1,)):
    backends = {"fake": FakeBackend()}
    [plain] = make_targets(backends, [], [])
    targets = [replace(plain, name=f"t{at}", host=host) for at, host in enumerate(hosts)]
    return make_trials(
        targets, backends, {"fake": variants}, batches=batches, scene=made_scene(), images=made_images()
    )


def costs(planned, before=None):
    return KnownCosts({trial.key: trial for trial in planned}, before or {})


def test_what_was_noted_is_known_of_that_trial_alone(tmp_path):
    cache = Cache(tmp_path)
    first, *others = trials()
    note_cost(cache, first.inputs, COST)
    assert noted_costs(cache, [first, *others]) == {first.key: COST}


def test_what_a_board_took_says_nothing_of_this_machine_or_another_board(tmp_path):
    cache = Cache(tmp_path)
    backends = {"fake": FakeBackend()}
    [plain] = make_targets(backends, [], [])
    here, pi, nano = (
        make_trials(
            [replace(plain, host=host)],
            backends,
            {"fake": (SMALL,)},
            batches=(1,),
            scene=made_scene(),
            images=made_images(),
        )[0]
        for host in (None, "ann@pi", "ann@nano")
    )
    note_cost(cache, pi.inputs, COST)
    assert [noted_cost(cache, trial.inputs) for trial in (here, pi, nano)] == [None, COST, None]


def test_a_pass_takes_as_long_however_many_follow_it_and_whatever_is_classified_after_them(tmp_path):
    cache = Cache(tmp_path)
    backends = {"fake": FakeBackend()}
    [plain] = make_targets(backends, [], [])

    def planned(images=None, **pace):
        [trial] = make_trials(
            [plain],
            backends,
            {"fake": (SMALL,)},
            batches=(1,),
            scene=made_scene(),
            images=images,
            config=RunConfig(**pace),
        )
        return trial.inputs

    note_cost(cache, planned(made_images()), COST)
    for inputs in (planned(), planned(period=0.1), planned(sustained=1.0)):
        assert noted_cost(cache, inputs) == COST


@pytest.mark.parametrize(
    "damage",
    [{"patch_s": "fast"}, {"patch_s": -1}, {"overhead_s": None}, {"overhead_s": 1e9}, {"patch_s": True}],
)
def test_a_damaged_note_is_not_believed(tmp_path, damage):
    cache = Cache(tmp_path)
    value = {"patch_s": 0.002, "overhead_s": 1.0, "warmup_batches": 30, **damage}
    cache.note_recipe("session-cost", canonical_hash({"a": 1, "settings": None}), value)
    assert noted_cost(cache, {"a": 1}) is None


def test_batches_that_can_be_none_leave_the_warm_up_open(tmp_path):
    cache = Cache(tmp_path)
    value = {"patch_s": 0.002, "overhead_s": 1.0, "warmup_batches": -3}
    cache.note_recipe("session-cost", canonical_hash({"a": 1, "settings": None}), value)
    assert noted_cost(cache, {"a": 1}) == replace(COST, warmup_batches=None)


def test_where_nothing_was_measured_nothing_is_known():
    planned = trials()
    assert [costs(planned).of(trial.key) for trial in planned] == [None] * 4


def test_a_first_session_says_what_the_others_of_its_target_take():
    small, half, whole, single = trials()
    known = costs((small, half, whole, single))
    known.learn(small.key, COST)
    assert known.of(small.key) == COST
    scaled = [known.of(trial.key) for trial in (half, whole, single)]
    patches = [cost.patch_s for cost in scaled if cost is not None]
    # More operations take longer, and so does the same model with wider numbers.
    assert COST.patch_s < patches[0] < patches[1] and patches[2] > COST.patch_s
    assert [(cost.overhead_s, cost.warmup_batches, cost.measured) for cost in scaled if cost is not None] == [
        (1.0, 30, False)
    ] * 3


def test_the_nearest_trial_is_scaled_and_its_own_precision_comes_first():
    small, half, whole, single = trials()
    known = costs((small, half, whole, single))
    known.learn(half.key, Cost(0.004, 2.0))
    known.learn(small.key, COST)
    known.learn(single.key, Cost(0.5, 9.0))
    cost = known.of(whole.key)
    assert cost is not None and cost.overhead_s == 2.0


def test_another_batch_leaves_the_warm_up_open():
    single, many = trials(variants=(SMALL,), batches=(1, 32))
    known = costs((single, many))
    known.learn(single.key, COST)
    assert known.of(many.key) == Cost(COST.patch_s, COST.overhead_s, None, measured=False)


def test_a_target_says_nothing_of_another_one():
    here, there = trials(variants=(SMALL,), hosts=(None, "pi"))
    known = costs((here, there))
    known.learn(here.key, COST)
    assert known.of(there.key) is None


def test_a_model_whose_operations_nobody_counted_is_not_guessed():
    small, tower = trials(variants=(SMALL, Variant(None, "int8", "tower-1a2b3c4d")))
    known = costs((small, tower))
    known.learn(small.key, COST)
    assert known.of(tower.key) is None
    known = costs((small, tower))
    known.learn(tower.key, COST)
    assert known.of(small.key) is None


def test_a_target_that_is_slower_today_is_so_for_all_that_was_noted():
    small, half, whole, _ = trials()
    known = costs((small, half, whole), {small.key: COST, half.key: Cost(0.004, 1.0)})
    before = known.of(whole.key)
    known.learn(small.key, replace(COST, patch_s=2 * COST.patch_s))
    corrected, after = known.of(half.key), known.of(whole.key)
    assert before is not None and corrected is not None and after is not None
    assert corrected.patch_s == pytest.approx(0.008)
    assert after.patch_s == pytest.approx(2 * before.patch_s)


def test_an_emulated_board_says_nothing_of_the_next_one(tmp_path):
    cache = Cache(tmp_path)
    trial = trials()[0]
    note_cost(cache, trial.inputs, Cost(0.0, 1.4))
    assert noted_cost(cache, trial.inputs) is None
