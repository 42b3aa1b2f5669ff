import pytest

from edgebench.errors import UsageError
from edgebench.judge.requirements.profile import Profile, parse_profile
from edgebench.judge.trial import SceneOfTrial
from tests.judge.trials import judge, trial

UPDATE = '[[requirements]]\nname = "update"\nquantity = "update_s"\nlimit = "10 min"\n'


def judged(head="", tail="", **changes):
    profile = parse_profile(f'name = "x"\n{head}\n{UPDATE}{tail}'.encode(), "x.toml")
    assert Profile.from_record(profile.as_record()) == profile
    scene = SceneOfTrial(**{"update_bytes": 600_000, **changes})
    [verdict] = judge(trial(scene=scene), profile)
    return verdict


@pytest.mark.parametrize("head", ["uplink_bps = 9600.0", 'uplink_bps = "9.6 kbit/s"', "uplink_bps = 9600"])
def test_the_artifacts_bytes_over_the_profiles_uplink(head):
    verdict = judged(head)
    assert (verdict.word, verdict.estimate.value, verdict.margin) == ("pass", 500.0, 100.0)
    assert verdict.reason == "the value meets the limit; the artifact's 600000 bytes over 9600 bit/s"
    assert judged("uplink_bps = 4800.0").word == "fail"


def test_a_requirements_own_uplink_goes_before_the_profiles():
    assert judged("uplink_bps = 4800.0", "uplink_bps = 19200.0\n").estimate.value == 250.0


def test_without_an_uplink_or_a_size_it_is_unknown():
    assert judged().reason.startswith("the profile states no uplink: add uplink_bps")
    verdict = judged("uplink_bps = 9600.0", update_bytes=None)
    assert (verdict.word, verdict.reason) == ("unknown", "the artifact's size was not recorded")


def test_files_of_unknown_size_that_travel_with_it_can_only_make_it_longer():
    more = {"companions": ("weights.bin",)}
    assert judged("uplink_bps = 4800.0", **more).word == "fail"
    verdict = judged("uplink_bps = 9600.0", **more)
    assert (verdict.word, verdict.estimate.low, verdict.estimate.high) == ("inconclusive", 500.0, None)
    assert "weights.bin" in verdict.reason


@pytest.mark.parametrize(
    ("head", "tail", "what"),
    [
        ("uplink_bps = 0", "", "uplink_bps"),
        ("uplink_bps = -5.0", "", "uplink_bps"),
        ("uplink_bps = nan", "", "uplink_bps"),
        ("uplink_bps = true", "", "uplink_bps"),
        ('uplink_bps = "5 g"', "", "uplink_bps is a data rate"),
        ('uplink_bps = "fast"', "", "'fast' is not a number"),
        ("uplink = 9600", "", "unknown key 'uplink'"),
        (
            "",
            '[[requirements]]\nname = "r"\nlimit = 1\nuplink_bps = 5.0\n',
            "uplink_bps does not belong to image_s",
        ),
    ],
)
def test_an_uplink_that_is_none(head, tail, what):
    with pytest.raises(UsageError) as caught:
        judged(head, tail)
    assert what in caught.value.what
    assert caught.value.fix
