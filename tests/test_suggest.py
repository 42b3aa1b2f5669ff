"""What could have been meant, in messages."""

from edgebench.suggest import choose


def test_of_many_names_the_nearest_are_suggested_else_the_first_are_listed() -> None:
    names = [f"run-{number:03}" for number in range(300)]
    assert choose("run-2999", names) == "did you mean 'run-299' or 'run-298'?"
    assert choose("walk", names).endswith("run-079 and 220 more")
    assert choose("cap", ["cup", "saucer"]) == "did you mean 'cup'? known: cup, saucer"
    assert choose("b", ["a"]) == "known: a"
    assert choose("b", []) == "known: none"
