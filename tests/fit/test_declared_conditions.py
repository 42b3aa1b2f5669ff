import pytest

from edgebench.errors import UsageError
from edgebench.fit.figure import STATED
from edgebench.fit.profile import parse_profile
from edgebench.fit.verdict import is_settled
from edgebench.vocabulary.declared_conditions import DeclaredBoot, DeclaredTemperature
from tests.fit.summaries import profile, summary, verdict


@pytest.mark.parametrize(
    ("kind", "limit", "word", "reason"),
    [
        ("maximum", 30, "pass", "the declared maximum boot time of 25 s (sheet) meets the limit"),
        ("maximum", 20, "inconclusive", "may never be reached"),
        ("typical", 20, "fail", "the declared typical boot time of 25 s (sheet) misses the limit"),
        ("typical", 30, "inconclusive", "it can fail this limit, never pass it"),
    ],
)
def test_a_declared_boot_passes_where_it_is_a_bound_and_fails_where_it_is_usual(kind, limit, word, reason):
    trial = summary(boot_s=DeclaredBoot(25.0, kind, "sheet"))
    judged = verdict(trial, quantity="boot_s", limit=limit)
    assert (judged.verdict, judged.value, judged.declared, judged.margin) == (word, 25.0, kind, limit - 25)
    assert reason in judged.reason
    assert is_settled(trial, profile(quantity="boot_s", limit=limit).requirements[0], STATED)


@pytest.mark.parametrize(
    ("statistic", "limit", "word", "margin"),
    [
        ("lowest", -10, "pass", 10),
        ("lowest", -20, "pass", 0),
        ("lowest", -40, "fail", -20),
        ("highest", 50, "pass", 10),
        ("highest", 70, "fail", -10),
    ],
)
def test_a_declared_range_has_to_hold_the_one_that_is_required(statistic, limit, word, margin):
    trial = summary(temperature_c=DeclaredTemperature(-20.0, 60.0, "sheet"))
    judged = verdict(trial, quantity="temperature_c", statistic=statistic, limit=limit)
    assert (judged.verdict, judged.margin, judged.declared) == (word, margin, "range")
    assert "the declared temperature range of -20 to 60 °C (sheet)" in judged.reason


def test_what_nobody_declared_is_unknown():
    judged = verdict(summary(), quantity="boot_s", limit=30)
    assert (judged.verdict, judged.declared) == ("unknown", "")
    assert judged.reason == "the target's description gives no boot time"
    judged = verdict(summary(), quantity="temperature_c", statistic="lowest", limit=-20)
    assert judged.reason == "the target's description gives no temperature range"


def test_another_machine_than_the_declared_board_is_said():
    doubts = {"boot_s": "the machine was a ThinkPad"}
    trial = summary(boot_s=DeclaredBoot(25.0, "maximum", "sheet"), board_doubts=doubts)
    assert verdict(trial, quantity="boot_s", limit=30).reason.endswith("; the machine was a ThinkPad")


def limited(*limits):
    entries = (f'[[requirements]]\nname = "r{at}"\n{text}\n' for at, text in enumerate(limits))
    return parse_profile(('name = "x"\n' + "".join(entries)).encode(), "x.toml")


def temperature(statistic, limit):
    return f'quantity = "temperature_c"\nstatistic = "{statistic}"\nlimit = {limit}'


def test_limits_of_temperature_may_be_below_0_and_have_a_unit():
    low, high = limited(temperature("lowest", '"-20 °C"'), temperature("highest", '"333.15 K"')).requirements
    assert (low.limit, low.comparison, low.unit) == (-20.0, "at most", "°C")
    assert (high.limit, high.comparison) == (pytest.approx(60.0), "at least")


@pytest.mark.parametrize(
    ("limits", "what", "fix"),
    [
        (['quantity = "temperature_c"\nlimit = 60'], "the statistic of temperature_c is missing", "highest"),
        ([temperature("lowest", -300)], "-300 is not above -273.15", "degrees Celsius"),
        ([temperature("lowest", '"5 W"')], "W is a power, and temperature_c is a temperature", "°C"),
        (
            [temperature("lowest", 60), temperature("highest", -20)],
            "from 60 to -20 °C is no range",
            "'lowest'",
        ),
    ],
)
def test_limits_of_temperature_that_are_none(limits, what, fix):
    with pytest.raises(UsageError) as caught:
        limited(*limits)
    assert what in caught.value.what and fix in str(caught.value.fix)
