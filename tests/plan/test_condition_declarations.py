import pytest

from edgebench.errors import UsageError
from edgebench.records.target import DeclaredBoot, DeclaredPower
from edgebench.run.boards import declared_figures
from edgebench.run.targets import make_targets
from tests.fakes import FakeBackend

NANO = {"nano": ("nano",)}
SWEPT = {"nano[threads=1]": ("nano[threads=1]", "nano"), "nano[threads=2]": ("nano[threads=2]", "nano")}
TWO = {"nano": ("nano",), "pi": ("pi",)}


def test_what_is_declared_becomes_fields_of_the_target():
    declared = declared_figures(["9.5:maximum:label"], ["boot_s:25:typical:watch: mine"], NANO)
    assert declared == {
        "nano": {
            "declared_power": (DeclaredPower(9.5, "maximum", "label"),),
            "boot_s": DeclaredBoot(25.0, "typical", "watch: mine"),
        }
    }
    assert declared_figures([], [], TWO) == {}
    assert set(declared_figures([], ["pi=boot_s:25:maximum:x"], TWO)) == {"pi"}


def test_a_targets_own_name_beats_that_of_its_sweep_figure_by_figure():
    texts = ["nano=boot_s:25:typical:a", "nano[threads=2]=boot_s:9:maximum:c"]
    first, second = declared_figures([], texts, SWEPT).values()
    assert (first["boot_s"].seconds, second["boot_s"].seconds) == (25.0, 9.0)


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


@pytest.mark.parametrize(
    ("texts", "what", "fix"),
    [
        (["nano=boot:25:typical:x"], "'boot' is nothing that is declared", "did you mean 'boot_s'"),
        (["nano=mass_g:25:x"], "'mass_g' is nothing", "targets file"),
        ([""], "'' is nothing", "boot_s"),
        (["nano=boot_s"], "names no source", "boot_s:25:typical"),
        (["nano=boot_s:25:typical"], "names no source", "boot_s:25:typical"),
        (["nano=boot_s:25:typical: "], "names no source", "boot_s:25:typical"),
        (["nano=boot_s:25:usual:x"], "'usual' is no kind", "maximum"),
        (["nano=boot_s:soon:typical:x"], "no number of seconds", "boot_s:25:typical"),
        (["nano=boot_s:0:typical:x"], "not above 0", "boot_s:25"),
        (["nano=boot_s:nan:typical:x"], "not above 0", "boot_s:25"),
        (["nano=boot_s:inf:typical:x"], "at most 86400 s", "boot_s:25"),
        (["nano=boot_s:25:typical:a\x1b"], "no line of at most", "in a few words"),
        (["nano=temperature_c:-20..60:x"], "'temperature_c' is nothing", "boot_s"),
        (["boot_s:25:typical:x"], "does not say of which target", "nano=boot_s"),
        (["nono=boot_s:25:typical:x"], "there is no target 'nono'", "known: nano, pi"),
        (["nano=boot_s:25:typical:x", "nano=boot_s:9:maximum:y"], "boot_s is there twice", "leave one"),
    ],
)
def test_what_cannot_be_declared_is_refused_with_the_fix(texts, what, fix):
    with pytest.raises(UsageError) as caught:
        declared_figures([], texts, TWO)
    assert what in caught.value.what
    assert fix in caught.value.fix
