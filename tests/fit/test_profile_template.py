import re

import pytest

from edgebench.errors import UsageError
from edgebench.judge.metrics import required_metrics
from edgebench.judge.requirements.profile import parse_profile
from edgebench.judge.requirements.profile_file import limit_of, profile_text


def _profile(**draft):
    return parse_profile(profile_text(name="mine", **draft).encode(), "mine")


def test_every_quantity_can_be_written():
    for name, metric in required_metrics().items():
        example = "65 x 30 x 8 mm" if metric.is_size else f"0.5 {metric.unit}".removesuffix(" 1")
        for statistic in metric.statistics:
            (requirement,) = _profile(limits=(limit_of(f"{name}:{statistic}={example}"),)).requirements
            assert (requirement.quantity, requirement.statistic) == (name, statistic)


def test_all_that_is_said_is_in_it():
    profile = _profile(
        title='a "quoted" title: \\ é',
        cycle="95.65 min",
        images=80,
        burst="6 min",
        deadline="1 h",
        limits=(limit_of("power_peak_w=5"), limit_of("image_s:p99 = 90 s")),
    )
    assert profile.title == 'a "quoted" title: \\ é'
    assert profile.schedule is not None
    assert (profile.schedule.images, profile.schedule.burst_s, profile.schedule.deadline_s) == (80, 360, 3600)
    assert [(each.name, each.limit, each.unit) for each in profile.requirements] == [
        ("Peak power", 5.0, "W"),
        ("Latency per image p99", 90.0, "s"),
    ]


def test_a_schedule_alone_limits_the_latency():
    assert _profile(cycle="1 min", images=30).requirements[0].limit == 2.0


def test_one_that_extends_another_needs_no_limit(tmp_path):
    (tmp_path / "base.toml").write_text(profile_text(name="base", limits=(limit_of("mass_g=150 g"),)))
    text = profile_text((), tmp_path, name="mine", extends="base.toml", cycle="1 min", images=2)
    assert len(parse_profile(text.encode(), "mine", tmp_path).requirements) == 1


def test_what_stands_in_comments_is_taken_without_their_signs():
    text = profile_text([limit_of("power_peak_w=5 W")], name="mine", cycle="95.65 min", images=80)
    said = re.sub(r"^# (?!extends|wanted)(\w+ = )", r"\1", text, flags=re.MULTILINE)
    profile = parse_profile(said.encode(), "mine")
    latency, power = profile.requirements
    assert (latency.limit, power.averaging_s) == (71.7375, 1.0)
    assert profile.schedule is not None
    assert (profile.schedule.deadline_s, profile.schedule.burst_s) == (3600.0, 360.0)
    assert profile.description and profile.source


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ({}, "the profile has no requirement"),
        ({"images": 3}, "the schedule gives no time"),
        ({"cycle": "1 d"}, "the schedule has no images"),
        ({"cycle": "1 W", "images": 3}, "W is a power, and cycle is a time"),
        ({"limits": (limit_of("mass_g=5 W"),)}, "W is a power, and mass_g is a mass"),
        ({"limits": (limit_of('mass_g=5 g"\nwanted = true'),)}, "is not a number with a unit"),
        ({"extends": "disco-artic"}, "did you mean 'disco-arctic'"),
        ({"title": "\x1b[31m", "limits": (limit_of("mass_g=5 g"),)}, "control characters"),
    ],
)
def test_what_makes_no_profile(draft, expected):
    with pytest.raises(UsageError) as caught:
        profile_text(name="mine", **draft)
    assert expected in str(caught.value)


def test_a_name_that_is_none():
    with pytest.raises(UsageError, match="up to 80 letters"):
        profile_text([limit_of("mass_g=5 g")], name="../x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mass_g", "says no limit"),
        ("mass_g=", "says no limit"),
        ("mas_g=5 g", "did you mean 'mass_g'"),
        ("image_s:mean=5 s", "unknown statistic 'mean' of image_s"),
    ],
)
def test_limits_that_are_none(text, expected):
    with pytest.raises(UsageError) as caught:
        limit_of(text)
    assert expected in str(caught.value)
