import pytest

from edgebench.stats.warnings import Caution, Flag


@pytest.mark.parametrize("flag", Flag)
def test_every_flag_has_a_sentence_without_open_places(flag):
    sentence = Caution(
        flag, count=2, of=5, ratio=1.1, difference=0.25, tolerance=0.1, reference="r"
    ).sentence()
    assert "{" not in sentence and "}" not in sentence
    assert not sentence.endswith(".") and "\n" not in sentence


def test_the_numbers_are_in_the_sentence():
    assert "2 of 5 sessions" in Caution(Flag.NOT_STEADY, count=2, of=5).sentence()
    assert "1.12 times" in Caution(Flag.THERMAL_SUSPECTED, count=1, of=3, ratio=1.123).sentence()


def test_outside_text_is_data_and_not_a_template():
    text = Caution(Flag.GOLDEN_TOP1, count=1, of=8, reference="{count.__class__}").sentence()
    assert "{count.__class__}" in text
