"""One harness a board: what a second one of the same user hears."""

import importlib
import subprocess
import sys

import pytest

from edgebench.errors import UnavailableError
from edgebench.records.target import Target
from tests.backends.coralmicro.played_board import PlayedBoard

harness_lock = importlib.import_module("edgebench.backends.coralmicro.board_address")
board_address = importlib.import_module("edgebench.backends.coralmicro.board_address").board_address
CoralMicroBackend = importlib.import_module("edgebench.backends.coralmicro.backend").CoralMicroBackend

ELSEWHERE = """
import importlib, sys
module = importlib.import_module("edgebench.backends.coralmicro.board_address")
address = importlib.import_module("edgebench.backends.coralmicro.board_address").board_address(sys.argv[1])
lock = module.HarnessLock(address)
lock.take(0.0)
print("taken", flush=True)
sys.stdin.read()
"""


@pytest.mark.attack("two runs measure on one Dev Board Micro: the second one waits, then ends and says so")
def test_another_harness(monkeypatch):
    monkeypatch.setenv("EDGEBENCH_LOCK_WAIT_S", "0.01")
    with PlayedBoard() as board:
        target = Target("micro", "coral-micro", {"address": board.address})
        command = [sys.executable, "-c", ELSEWHERE, board.address]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None and other.stdout.readline() == "taken\n"
            with pytest.raises(UnavailableError, match="in use") as refusal:
                CoralMicroBackend().open(target)
            assert board.address not in str(refusal.value)
            other.kill()
        CoralMicroBackend().open(target).close()


def test_targets_of_one_harness_share_their_board():
    first, second, third = (harness_lock.HarnessLock(board_address("10.10.10.1")) for _ in range(3))
    first.take(0.0)
    second.take(0.0)
    first.release()
    first.release()
    second.release()
    third.take(0.0)
    third.release()


def test_a_board_that_is_given_back_in_time_is_taken(monkeypatch):
    answers = iter([False, False, True])
    monkeypatch.setattr(harness_lock, "_taken", lambda lock: next(answers))
    pauses: list[float] = []
    harness_lock.HarnessLock(board_address("10.10.10.1"), pauses.append).take(60.0)
    assert len(pauses) == 2


@pytest.mark.attack(
    "the folder of locks cannot be made: the board is measured without one, and it is reported"
)
def test_without_a_folder_for_locks(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    harness_lock.HarnessLock(board_address("10.10.10.1")).take(0.0)
    assert "keeps no lock" in caplog.text
