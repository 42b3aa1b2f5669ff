"""`--declared-power` and `--declared`: their form, whose they are, and what is refused with which fix."""

from pathlib import Path

import pytest

from edgebench.board_catalogue import declared_powers, with_declared
from edgebench.errors import UsageError
from edgebench.records.target import DeclaredBoot, DeclaredPower, Target
from tests.fakes import FakeBackend, make_targets
from tests.golden_text import assert_golden

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


def declared(powers, figures, aliases=NANO):
    targets = [Target(name=name, device="cpu") for name in aliases]
    return with_declared(targets, powers, figures, aliases)


def test_what_is_declared_becomes_fields_of_the_target():
    [target] = declared(["9.5:maximum:label"], ["boot_s:25:typical:watch: mine"])
    assert target.declared_power == (DeclaredPower(9.5, "maximum", "label"),)
    assert target.boot_s == DeclaredBoot(25.0, "typical", "watch: mine")
    assert [target.boot_s for target in declared([], ["pi=boot_s:25:maximum:x"], TWO)] == [
        None,
        DeclaredBoot(25.0, "maximum", "x"),
    ]


@pytest.mark.parametrize(
    ("text", "field", "value", "source"),
    [
        ("mass_g:180:weighed", "mass_g", 180.0, "weighed"),
        ("nano=mass_g: 61.5 g :scale: March", "mass_g", 61.5, "scale: March"),
        ("size_mm:100x80x29:its drawing", "size_mm", (100.0, 80.0, 29.0), "its drawing"),
        ("size_mm:100, 80, 29 mm:ruler", "size_mm", (100.0, 80.0, 29.0), "ruler"),
    ],
)
def test_mass_and_size_are_declared_with_their_source(text, field, value, source):
    [target] = declared([], [text])
    assert getattr(target, field) == value
    assert target.declared_sources == {field: source}


def test_a_declared_mass_keeps_the_source_of_a_declared_size():
    [sized] = declared([], ["size_mm:1x2x3:ruler"])
    [target] = with_declared([sized], [], ["mass_g:180:weighed"], NANO)
    assert target.declared_sources == {"size_mm": "ruler", "mass_g": "weighed"}


def test_a_targets_own_name_beats_that_of_its_sweep_figure_by_figure():
    texts = ["nano=boot_s:25:typical:a", "nano[threads=2]=boot_s:9:maximum:c"]
    first, second = declared([], texts, SWEPT)
    assert (first.boot_s.seconds, second.boot_s.seconds) == (25.0, 9.0)


def test_a_run_takes_it_in_place_of_the_boards():
    [target] = make_targets(
        {"fake": FakeBackend()},
        (),
        (),
        boards=("raspberry-pi-4b",),
        declared_conditions=["boot_s:9:typical:x"],
    )
    assert target.boot_s == DeclaredBoot(9.0, "typical", "x")
    assert "boot_s" not in target.from_boards and "mass_g" in target.from_boards


REFUSED_POWERS = [
    *("9.5", "9.5:maximum", "9.5:label", "9.5:maximum: ", "9.5:peak:label", "9.5:maximum:a\nb"),
    *("9.5:maximum:" + "x" * 201, "0:maximum:label", "-1:maximum:label", "nan:maximum:label"),
    *("inf:maximum:label", "9500:maximum:label", "1.2kW:maximum:label", "950 mW:maximum:label"),
    *(":maximum:label", "1.2.3:maximum:label", "many:maximum:label"),
]
REFUSED_BOOTS = [
    *(
        "boot:25:typical:x",
        "mass_g:25",
        "mass_g:0:x",
        "mass_g:1x2x3:x",
        "mass_g:2 kg:x",
        "size_mm:1x2:x",
        "",
        "boot_s",
        "boot_s:25:typical",
        "boot_s:25:typical: ",
    ),
    *("boot_s:25:usual:x", "boot_s:soon:typical:x", "boot_s:0:typical:x", "boot_s:nan:typical:x"),
    *("boot_s:inf:typical:x", "boot_s:25:typical:a\x1b", "temperature_c:-20..60:x"),
]


def test_what_cannot_be_declared_is_refused_with_the_fix():
    cases = [
        *(([f"nano={text}"], []) for text in REFUSED_POWERS),
        *(([], [f"nano={text}"]) for text in REFUSED_BOOTS),
        (["nanu=9:maximum:label"], []),
        (["9:maximum:label"], []),
        (["pi=9:maximum:a", "pi=9:maximum:b"], []),
        (["pi=9:typical:a", "pi=8:maximum:b"], []),
        ([], ["boot_s:25:typical:x"]),
        ([], ["nano=boot_s:25:typical:x", "nano=boot_s:9:maximum:y"]),
    ]
    lines = []
    for powers, boots in cases:
        with pytest.raises(UsageError) as caught:
            declared(powers, boots, TWO)
        lines += [caught.value.what, f"    {caught.value.fix}"]
    assert_golden(Path(__file__).parent / "golden" / "declarations.txt", "\n".join(lines))
