import pytest

from edgebench.stats.warnings import Caution, Flag, Interference, sentence_of


@pytest.mark.parametrize("flag", Flag)
def test_every_flag_has_a_sentence_without_open_places(flag):
    sentence = Caution(flag, count=2, of=5, ratio=1.1).sentence()
    assert "{" not in sentence and "}" not in sentence
    assert not sentence.endswith(".") and "\n" not in sentence


def test_the_numbers_are_in_the_sentence():
    assert "2 of 5 sessions" in Caution(Flag.NOT_STEADY, count=2, of=5).sentence()
    assert "1.12 times" in Caution(Flag.THERMAL_SUSPECTED, count=1, of=3, ratio=1.123).sentence()


def test_cautions_of_several_trials_are_one_sentence_with_ranges():
    several = [
        Caution(Flag.THERMAL_SUSPECTED, count=1, of=5, ratio=1.1),
        Caution(Flag.THERMAL_SUSPECTED, count=4, of=5, ratio=1.28),
    ]
    assert sentence_of(several) == (
        "thermal: suspected in 1 to 4 of 5 sessions; the last quarter took up to 1.28 times the first"
    )
    assert sentence_of([Caution(Flag.THERMAL_SHORT, of=3, ratio=0.05)] * 2) == (
        "thermal: suspected over the 3 sessions together; "
        "their passes became 5% slower from the first to the last"
    )


def test_the_worst_interference_of_several_trials_is_told():
    several = [
        Caution(Flag.INTERFERENCE, 2, 5, what=Interference(others_cores=1.5)),
        Caution(Flag.INTERFERENCE, 5, 5, what=Interference(others_cores=0.8, stolen_share=0.2)),
    ]
    assert sentence_of(several) == (
        "interference: other work competed for the worker's cores in 2 to 5 of 5 sessions; "
        "the hypervisor gave up to 20% of their time to others; "
        "other processes kept up to 1.5 of them busy"
    )


def test_what_devices_say_is_one_warning_only_where_the_words_are_the_same():
    hot_of_5, hot_of_6, slow_bus = (
        Caution(Flag.SAID, 5, of, what=text) for of, text in ((5, "hot"), (6, "hot"), (5, "slow bus"))
    )
    assert hot_of_5.kind == hot_of_6.kind != slow_bus.kind
    assert sentence_of([hot_of_5, hot_of_6]) == "hot (in 5 of 5 to 6 sessions)"
    # In all sessions: the device's words alone.
    assert sentence_of([hot_of_5, Caution(Flag.SAID, 6, 6, what="hot")]) == "hot"


def test_texts_that_differ_are_told_as_far_as_they_fit():
    def groups(*texts):
        return sentence_of([Caution(Flag.THROTTLED, 1, 3, what=text) for text in texts])

    assert "throttled: under-voltage or capped, as" in groups("under-voltage", "capped")
    assert "throttled: a (or another, of 3), as" in groups("a", "b", "c")
