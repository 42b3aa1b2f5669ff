"""The order of sessions."""

from collections import Counter

from edgebench.run.trials import turns

KEYS = ["a", "b", "c", "d", "e"]


def order(seed=7, finished=None, together=frozenset(), sessions=4):
    return turns(KEYS, sessions, seed, finished=finished or {}, together=together)


def test_every_round_holds_every_trial_once():
    rounds: dict[int, list[str]] = {}
    for turn in order():
        rounds.setdefault(turn.round, []).append(turn.key)
    assert list(rounds) == [0, 1, 2, 3]
    assert all(sorted(keys) == KEYS for keys in rounds.values())


def test_rounds_are_shuffled_by_the_seed_alone():
    assert order() == order()
    assert order() != order(seed=8)
    assert len({tuple(turn.key for turn in order() if turn.round == number) for number in range(4)}) > 1


def test_a_resumed_experiment_goes_on_where_it_was():
    whole = order()
    done = Counter(turn.key for turn in whole[:7])
    assert order(finished=done) == whole[7:]


def test_slow_placements_keep_their_sessions_together():
    keys = [turn.key for turn in order(together=frozenset({"b"}))]
    assert keys[-4:] == ["b"] * 4
    assert "b" not in keys[:-4]
