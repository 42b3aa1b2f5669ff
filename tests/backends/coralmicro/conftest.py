"""A played board, and its client with small limits."""

import importlib

import pytest

from tests.backends.coralmicro.core_board import core_library
from tests.backends.coralmicro.played_board import PlayedBoard

board_address = importlib.import_module("edgebench.backends.coralmicro.board_address").board_address
rpc_call = importlib.import_module("edgebench.backends.coralmicro.micro_board")
MicroBoard = importlib.import_module("edgebench.backends.coralmicro.micro_board").MicroBoard

PATIENT = rpc_call.Limits(connect_s=10.0, answer_s=30.0, bytes_a_second=1e9)
"""Of a busy machine: what should be answered is."""
HASTY = rpc_call.Limits(connect_s=10.0, answer_s=0.3, build_s=0.0, bytes_a_second=1e9, run_s=0.0)
"""For what never is."""


@pytest.fixture(autouse=True)
def folder_of_locks(tmp_path, monkeypatch):
    """Nothing is left in the user's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def board():
    with PlayedBoard() as board:
        yield board


@pytest.fixture
def micro(board):
    """The client of the board."""
    return client_of(board)


def client_of(board, limits=PATIENT):
    return MicroBoard(rpc_call.RpcClient(board_address(board.address), limits))


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The core of the board's firmware, for CoreFirmware; skips where no compiler is."""
    return core_library(tmp_path_factory.mktemp("core-library"))
