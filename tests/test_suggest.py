"""What could have been meant, in messages."""

from edgebench.suggest import choose


def test_of_many_names_the_nearest_and_the_first_are_said() -> None:
    names = [f"run-{number:03}" for number in range(300)]
    text = choose("run-2999", names)
    assert text.startswith("did you mean 'run-299'")
    assert text.endswith("run-079 and 220 more")
    assert choose("b", ["a"]) == "known: a"
    assert choose("b", []) == "known: none"
