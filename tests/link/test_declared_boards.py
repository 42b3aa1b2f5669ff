"""Whether a machine is the board that it was declared to be."""

import pytest

from edgebench.records.board_facts import BoardFacts, contradiction, declared_finding, unconfirmed
from edgebench.records.target import DeclaredBoard

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
        ((PLATE,), "Plate", "no source says what it calls itself, and calls itself Plate"),
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


COMPUTER = DeclaredBoard("Pi 4", ("Raspberry Pi 4 Model B",), "arm", "BCM2711, 4 Arm Cortex-A72")


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"machine": "x86_64", "cpu": "AMD EPYC"}, "AMD EPYC, x86_64"),
        ({"machine": "AMD64"}, "AMD64"),
        ({"machine": "aarch64", "board": "Raspberry Pi 3 Model B Rev 1.2"}, "Raspberry Pi 3 Model B"),
        ({"machine": "armv7l", "cpu": "Cortex-A53"}, "Cortex-A53, armv7l"),
    ],
)
def test_a_machine_contradicts_a_computer_by_model_processor_or_architecture(facts, word):
    text = contradiction((COMPUTER,), BoardFacts.of(facts))
    assert word in text and "Pi 4" in text


@pytest.mark.parametrize(
    ("boards", "facts"),
    [
        ((), {"machine": "x86_64"}),
        ((COMPUTER,), {}),
        ((COMPUTER,), {"board": "Raspberry Pi 4 Model B Rev 1.4", "machine": "aarch64", "cpu": "Cortex-A72"}),
        ((COMPUTER,), {"machine": "armv7l", "cpu": "CPU part 0xd0c"}),
        ((PI_4,), {"machine": "x86_64", "board": "ThinkPad"}),  # not said to be a whole computer
        ((COMPUTER, PLATE), {"machine": "x86_64"}),
    ],
)
def test_what_is_not_said_and_what_is_no_computer_contradicts_nothing(boards, facts):
    assert contradiction(boards, BoardFacts.of(facts)) == ""
