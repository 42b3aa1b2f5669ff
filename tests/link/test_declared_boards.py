"""Whether a machine is the board that it was declared to be."""

import pytest

from edgebench.link.declared_boards import declared_finding, unconfirmed
from edgebench.vocabulary.target import DeclaredBoard

PI_3 = DeclaredBoard("Raspberry Pi 3 Model B", ("Raspberry Pi 3 Model B",))
PI_4 = DeclaredBoard("Raspberry Pi 4 Model B", ("Raspberry Pi 4 Model B",))
PLATE = DeclaredBoard("Plate")


@pytest.mark.parametrize(
    ("boards", "model"),
    [
        ((PI_4,), "Raspberry Pi 4 Model B Rev 1.4"),
        ((PI_4,), "raspberry pi 4 model b"),
        ((PLATE, PI_4), "Raspberry Pi 4 Model B Rev 1.1"),
        ((), "ThinkPad"),
    ],
)
def test_a_machine_that_calls_itself_so_is_confirmed(boards, model):
    assert unconfirmed(boards, model) == ""


@pytest.mark.parametrize(
    ("boards", "model", "doubt"),
    [
        ((PI_4,), "ThinkPad", "declared as Raspberry Pi 4 Model B, and calls itself ThinkPad"),
        ((PI_4,), None, "declared as Raspberry Pi 4 Model B, and does not say what it is"),
        ((PI_3,), "Raspberry Pi 3 Model B Plus Rev 1.3", "and calls itself Raspberry Pi 3 Model B Plus Rev"),
        ((PLATE,), "Plate", "no source tells what it calls itself, and calls itself Plate"),
        ((PLATE, PI_4), "ThinkPad", "declared as Plate + Raspberry Pi 4 Model B, and calls itself ThinkPad"),
    ],
)
def test_another_machine_or_a_silent_one_is_doubted(boards, model, doubt):
    assert doubt in unconfirmed(boards, model)


def test_doctor_warns_with_a_fix_or_names_the_board():
    wrong = declared_finding((PI_4,), "ThinkPad", ("mass_g", "declared_power"))
    assert "mass and declared power may be another machine's" in wrong.message
    assert (wrong.level, wrong.subject) == ("warning", "board")
    assert "ThinkPad" in wrong.message and "mass_g" in wrong.fix
    right = declared_finding((PI_4,), "Raspberry Pi 4 Model B Rev 1.4", ("mass_g",))
    assert (right.level, right.fix) == ("ok", "")
