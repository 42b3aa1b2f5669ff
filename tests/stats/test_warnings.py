import pytest

from edgebench.stats.warnings import Caution, Flag


@pytest.mark.parametrize("flag", Flag)
def test_every_flag_has_a_sentence_without_open_places(flag):
    sentence = Caution(flag, count=2, of=5, ratio=1.1).sentence()
    assert "{" not in sentence and "}" not in sentence
    assert not sentence.endswith(".") and "\n" not in sentence


def test_the_numbers_are_in_the_sentence():
    assert "2 of 5 sessions" in Caution(Flag.NOT_STEADY, count=2, of=5).sentence()
    assert "1.12 times" in Caution(Flag.THERMAL_SUSPECTED, count=1, of=3, ratio=1.123).sentence()
