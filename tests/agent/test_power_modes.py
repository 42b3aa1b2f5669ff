"""Setting a power mode on the board itself, against stand-ins for nvpmodel, jetson_clocks and sudo."""

from __future__ import annotations

import os

import pytest

from edgebench.agent import power_modes
from edgebench.agent import power_modes as board_commands
from edgebench.agent.power_modes import PowerModes
from tests.jetson_board import jetson_board


@pytest.fixture
def board(tmp_path, monkeypatch):
    return on_path(jetson_board(tmp_path), monkeypatch)


def on_path(board, monkeypatch):
    for name, value in board.environment.items():
        monkeypatch.setenv(name, value)
    return board


def modes_of(board):
    return PowerModes(str(board.notes), str(board.root))


def notes_of(board):
    return sorted(path.name for path in board.notes.iterdir())


@pytest.mark.parametrize("pinned", [False, True])
def test_a_mode_is_set_with_its_clocks_and_both_are_put_back(tmp_path, monkeypatch, pinned):
    board = on_path(jetson_board(tmp_path, pinned=pinned), monkeypatch)
    modes = modes_of(board)
    assert modes.set(1) == ""
    assert (board.mode, board.pinned) == (1, True)
    assert notes_of(board) == ["power-mode", "power-mode.clocks"]
    put_back = modes.put_back()
    assert put_back == (True, "power mode 0 (MAXN) and its clocks are put back")
    assert (board.mode, board.pinned, notes_of(board)) == (0, pinned, [])
    assert modes.put_back() is None
    assert all(asked.startswith("-n ") for asked in board.asked)


def test_what_is_put_back_is_what_was_there_before_the_first_mode(board):
    modes = modes_of(board)
    assert modes.set(1) == "" and modes.set(0) == "" and modes.set(1) == ""
    modes.put_back()
    assert (board.mode, board.pinned) == (0, False)


def test_a_mode_that_is_in_force_is_not_set_and_its_clocks_are_pinned(board):
    assert modes_of(board).set(0) == ""
    assert board.pinned
    assert "-n nvpmodel -m 0" not in board.asked


def test_whether_a_mode_could_be_set_is_asked_without_changing_anything(board):
    assert modes_of(board).obstacle() == ""
    board.behave("password")
    assert modes_of(board).obstacle() == "sudo: a password is required"
    assert (board.mode, board.pinned, board.notes.exists()) == (0, False, False)


@pytest.mark.parametrize(
    ("how", "number", "obstacle"),
    [
        pytest.param(
            "password",
            1,
            "sudo: a password is required",
            marks=pytest.mark.attack(
                "sudo asks for a password: no power mode is set, and nothing is waited for"
            ),
        ),
        pytest.param(
            "",
            2,
            power_modes.NEEDS_REBOOT,
            marks=pytest.mark.attack("nvpmodel asks whether to reboot: it is never told yes, the mode stays"),
        ),
        pytest.param(
            "",
            7,
            "NVPM ERROR: request for bad power mode 7",
            marks=pytest.mark.attack("a power mode does not exist: nvpmodel's words are the reason"),
        ),
        pytest.param(
            "deaf",
            1,
            "nvpmodel -m 1 ended well, and power mode 0 (MAXN) is still in force",
            marks=pytest.mark.attack("nvpmodel ends well and changes nothing: it is read back, and refused"),
        ),
        pytest.param(
            "unpinned",
            1,
            "jetson_clocks ended well, and the CPU and GPU clock is not pinned",
            marks=pytest.mark.attack("jetson_clocks pins nothing: the mode is put back, and refused"),
        ),
        pytest.param("clocks-fail", 1, "jetson_clocks: Error: Failed to max GPU frequency!"),
    ],
)
def test_a_mode_that_is_not_in_force_is_put_back_at_once(board, how, number, obstacle):
    if how:
        board.behave(how)
    assert modes_of(board).set(number) == obstacle
    assert (board.mode, board.pinned, board.rebooted) == (0, False, False)
    assert not board.notes.exists() or notes_of(board) == []


@pytest.mark.attack("nvpmodel hangs: it is ended after its time, and the mode is put back")
def test_a_program_that_hangs_is_ended(board, monkeypatch):
    monkeypatch.setattr(board_commands, "COMMAND_S", 0.5)
    board.behave("hangs")
    obstacle = modes_of(board).set(1)
    assert "nvpmodel -m 1 did not end within 0.5 s, and was ended" in obstacle
    assert (board.mode, board.pinned) == (0, False)


@pytest.mark.attack("nvpmodel closes its output and goes on, or writes for ever: it is ended after its time")
@pytest.mark.parametrize("command", ["exec >&- 2>&-; sleep 1000", "sleep 1 & exit 0", "yes"])
def test_no_program_is_waited_for_longer_than_it_may_take(command):
    ended = board_commands.run_command(["sh", "-c", command], 0.3)
    assert (ended.code == 0) == ("exit 0" in command)
    assert len(ended.output) < board_commands.MOST_OUTPUT + 1000


def test_clocks_that_are_not_all_restored_are_told_once(board):
    modes = modes_of(board)
    assert modes.set(1) == ""
    board.behave("complains")
    put_back = modes.put_back()
    assert not put_back.done and "Failed to restore" in put_back.text
    assert modes.put_back() is None


@pytest.mark.attack("the folder of the note can be written by others, or is full: no mode is set")
def test_without_a_note_nothing_is_changed(board):
    board.notes.mkdir()
    board.notes.chmod(0o777)
    assert "can be written by other users" in modes_of(board).set(1)
    assert (board.mode, board.pinned) == (0, False)


@pytest.fixture
def left(board, monkeypatch):
    """A board whose agent was killed with a mode set; its process is gone."""
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 2**22 + 1)
        assert modes_of(board).set(1) == ""
    return board


def test_what_a_killed_agent_left_is_named_with_the_commands(left):
    by_hand = (
        f"sudo nvpmodel -m 0 && sudo jetson_clocks --restore {left.notes}/power-mode.clocks "
        f"&& rm {left.notes}/power-mode"
    )
    assert modes_of(left).left().endswith(by_hand)
    assert "power mode 0 (MAXN)" in modes_of(left).left()
    assert modes_of(left).put_back() is None
    assert (left.mode, left.pinned) == (1, True)


def test_who_sets_a_mode_after_a_killed_agent_puts_back_what_was_before_both(left):
    modes = modes_of(left)
    assert modes.set(0) == "" and modes.left() == ""
    assert modes.put_back().done
    assert (left.mode, left.pinned, notes_of(left)) == (0, False, [])


def test_a_mode_of_an_agent_that_runs_is_not_left(board):
    assert modes_of(board).set(1) == ""
    assert modes_of(board).left() == ""


def test_what_cannot_be_put_back_is_told_with_the_commands(board):
    modes = modes_of(board)
    assert modes.set(1) == ""
    board.behave("password")
    put_back = modes.put_back()
    assert not put_back.done
    assert "sudo: a password is required" in put_back.text
    assert "sudo nvpmodel -m 0 && sudo jetson_clocks --restore" in put_back.text
    assert notes_of(board) == ["power-mode", "power-mode.clocks"]


@pytest.mark.attack("the note of what was in force is damaged: it is no note, and nothing is set by it")
@pytest.mark.parametrize("note", ["", "[]", "-1 7 MAXN", "0; x 7", "0 7 MAXN; x", "99999 7 A", "9" * 9000])
def test_a_damaged_note_is_none(board, note):
    board.notes.mkdir(mode=0o700)
    (board.notes / power_modes.NOTE).write_text(note)
    assert modes_of(board).left() == ""
    assert board.asked == []
