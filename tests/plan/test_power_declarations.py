"""`--declared-power`: its form, whose it is, and what is refused with which fix."""

import pytest

from edgebench.errors import UsageError
from edgebench.records.target import DeclaredPower
from edgebench.run.boards import declared_powers

NANO = {"nano": ("nano", "nano")}
SWEPT = {f"nano[threads={n}]": (f"nano[threads={n}]", "nano") for n in (1, 2)}
TWO = {**NANO, "pi": ("pi", "pi")}


@pytest.mark.parametrize(
    ("text", "power"),
    [
        ("9.5:maximum:label", (9.5, "maximum", "label")),
        ("nano=9.5W:typical:data sheet v1.4", (9.5, "typical", "data sheet v1.4")),
        (" nano = 5 W : maximum : https://example.org/a?b=c:d ", (5.0, "maximum", "https://example.org/a?b=c:d")),
        ("1e1:maximum:label", (10.0, "maximum", "label")),
    ],
)  # fmt: skip
def test_a_figure_has_watts_a_kind_and_a_source(text, power):
    assert declared_powers([text], NANO) == {"nano": (DeclaredPower(*power),)}


def test_one_of_each_kind_and_of_each_target():
    texts = ["nano=2:typical:a", "nano=4:maximum:b", "pi=6:maximum:c"]
    powers = declared_powers(texts, TWO)
    assert [power.kind for power in powers["nano"]] == ["typical", "maximum"]
    assert [power.watts for power in powers["pi"]] == [6.0]
    assert declared_powers([], TWO) == {}


def test_a_combination_of_a_sweep_is_named_by_itself_or_with_all_of_them():
    assert {power.watts for (power,) in declared_powers(["4:maximum:a"], SWEPT).values()} == {4.0}
    powers = declared_powers(["nano=4:maximum:a", "nano[threads=2]=6:maximum:b"], SWEPT)
    assert [power.watts for (power,) in powers.values()] == [4.0, 6.0]


@pytest.mark.parametrize(
    ("texts", "what", "fix"),
    [
        (["9.5"], "names no kind and source", "nano=9.5:maximum:"),
        (["9.5:maximum"], "names no source", "nano=9.5:maximum:"),
        (["9.5:label"], "names no kind or source", "nano=9.5:maximum:"),
        (["9.5:maximum: "], "names no source", "which data sheet or label"),
        (["9.5:peak:label"], "'peak' is no kind of power", "known: maximum, typical"),
        (["9.5:maximum:a\nb"], "no line of at most 200", "in a few words"),
        (["9.5:maximum:" + "x" * 201], "no line of at most 200", "in a few words"),
        (["0:maximum:label"], "not above 0", "in watts"),
        (["-1:maximum:label"], "not above 0", "in watts"),
        (["nan:maximum:label"], "not above 0", "in watts"),
        (["inf:maximum:label"], "at most 2000 W", "in watts"),
        (["9500:maximum:label"], "at most 2000 W", "not in milliwatts"),
        (["1.2kW:maximum:label"], "not in watts", "write 1200"),
        (["950 mW:maximum:label"], "not in watts", "write 0.95"),
        (["5V:maximum:label"], "no number of watts", "nano=9.5:maximum:"),
        ([":maximum:label"], "no number of watts", "nano=9.5:maximum:"),
        (["1.2.3:maximum:label"], "no number of watts", "nano=9.5:maximum:"),
        (["many:maximum:label"], "no number of watts", "nano=9.5:maximum:"),
        (["nanu=9:maximum:label"], "no target 'nanu'", "did you mean 'nano'"),
        (["9:maximum:label"], "of which target", "write nano=9:maximum:label"),
        (["pi=9:maximum:a", "pi=9:maximum:b"], "two figures of kind 'maximum'", "leave one"),
        (["pi=9:typical:a", "pi=8:maximum:b"], "typical power of 9 W is above the maximum of 8 W", "leave"),
    ],
)
def test_what_cannot_be_a_declared_power_is_refused_with_the_fix(texts, what, fix):
    with pytest.raises(UsageError) as caught:
        declared_powers(texts, TWO)
    assert what in caught.value.what
    assert fix in caught.value.fix
