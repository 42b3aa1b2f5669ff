"""Mass and size of targets, by the boards that they are made of."""

import pytest

from edgebench import registry
from edgebench.contract import Body
from edgebench.errors import UsageError
from edgebench.plan.bodies import HOSTS, made_of
from edgebench.plan.targets import make_targets
from edgebench.plan.targets_file import DeclaredTarget
from tests.fakes import FakeBackend

PARTS = {
    "stick": Body("Stick", 20.0, (10.0, 70.0, 30.0), "its data sheet"),
    "plate": Body("Plate", 100.0, (5.0, 60.0, 90.0), "its drawing"),
    "unweighed": Body("Unweighed", None, (1.0, 2.0, 3.0), "its page"),
    "unmeasured": Body("Unmeasured", 3.0, None, "its page"),
}


class Backend(FakeBackend):
    def bodies(self):
        return PARTS


def test_masses_are_added_and_boxes_are_stacked_flat():
    made = made_of(("stick", "plate"), Backend())
    assert made.mass_g == 120.0
    assert made.size_mm == (90.0, 60.0, 15.0)
    assert "Stick (20 g, 10 x 70 x 30 mm: its data sheet) + Plate (100 g" in made.said
    assert "lying on each other" in made.said


def test_one_alone_is_as_its_maker_says():
    made = made_of(("stick",), Backend())
    assert (made.mass_g, made.size_mm) == (20.0, (70.0, 30.0, 10.0))


def test_what_no_source_gives_leaves_the_sum_out_and_says_so():
    made = made_of(("stick", "unweighed"), Backend())
    assert made.mass_g is None and made.size_mm is not None
    assert "no mass: no source gives that of Unweighed" in made.said
    made = made_of(("stick", "unmeasured"), Backend())
    assert made.mass_g == 23.0 and made.size_mm is None
    assert "no size: no source gives that of Unmeasured" in made.said


def test_hosts_are_known_to_every_backend():
    assert made_of(("raspberry-pi-4b",), FakeBackend()).mass_g == 46.0


def test_a_name_that_is_none_is_told_with_those_that_are():
    with pytest.raises(UsageError, match="no board 'stik'") as caught:
        made_of(("stik",), Backend())
    assert "did you mean 'stick'" in caught.value.fix
    assert "raspberry-pi-4b" in caught.value.fix


def test_a_targets_own_figures_beat_those_of_its_boards():
    declared = DeclaredTarget(name="one", device="fake", board=("stick", "plate"), mass_g=99.0)
    [target] = make_targets({"fake": Backend()}, (), (), devices=(), declared=(declared,))
    assert (target.mass_g, target.size_mm) == (99.0, (90.0, 60.0, 15.0))
    assert "Plate" in target.body


def test_a_flag_says_it_of_the_devices():
    [target] = make_targets({"fake": Backend()}, (), (), boards=("stick", "plate"))
    assert (target.mass_g, target.size_mm) == (120.0, (90.0, 60.0, 15.0))
    [target] = make_targets({"fake": Backend()}, (), ())
    assert (target.mass_g, target.size_mm, target.body) == (None, None, "")


def test_the_flag_has_no_use_without_a_device():
    declared = DeclaredTarget(name="one", device="fake")
    with pytest.raises(UsageError, match="--board belongs to --device"):
        make_targets({"fake": Backend()}, (), (), devices=(), declared=(declared,), boards=("stick",))


@pytest.mark.parametrize("name", registry.names("edgebench.backends"))
def test_every_body_names_its_source(name):
    for body in {**HOSTS, **registry.backend(name).bodies()}.values():
        assert body.title and body.source
        assert body.mass_g is None or body.mass_g > 0
        assert body.size_mm is None or all(side > 0 for side in body.size_mm)


def test_a_stick_on_its_host():
    made = made_of(("coral-usb", "raspberry-pi-4b"), registry.backend("coral"))
    assert made.size_mm == (85.0, 56.0, 25.0)
    assert made.mass_g is None  # nobody says what the stick weighs
    card = made_of(("coral-m2-ae", "raspberry-pi-4b"), registry.backend("coral"))
    assert card.mass_g == pytest.approx(49.1)
