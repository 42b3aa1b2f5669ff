"""What a host relies on: the same of a played board and of the real core of the firmware."""

import numpy as np
import pytest

from tests.backends.coralmicro.conftest import client_of
from tests.backends.coralmicro.core_board import CoreBoard, CoreFirmware
from tests.backends.coralmicro.played_board import PlayedBoard
from tests.backends.coralmicro.played_engines import FloatEngine, SumEngine
from tests.backends.coralmicro.played_firmware import TURN, PlayedFirmware
from tests.backends.coralmicro.test_micro_board import (
    MODEL,
    PATCHES,
    TABLE,
    dequantised,
    due_scores,
    ignore,
    micro_faults,
)

BLOCKS = {"model": MODEL, "scene": PATCHES.tobytes(), "images": PATCHES[2:].tobytes()}


@pytest.fixture(params=["played", "core"])
def board_of(request):
    """Opens a board; the options of both kinds of firmware."""
    boards = []

    def board_of(engine_of=SumEngine, **options):
        if request.param == "played":
            board = PlayedBoard(PlayedFirmware(engine_of, **options))
        else:
            board = CoreBoard(CoreFirmware(request.getfixturevalue("library"), engine_of, **options))
        boards.append(board)
        return board.__enter__()

    yield board_of
    for board in boards:
        board.__exit__(None, None, None)
        if isinstance(board.firmware, CoreFirmware):
            board.firmware.close()


@pytest.fixture
def board(board_of):
    return board_of()


@pytest.fixture
def loaded(board):
    micro = client_of(board)
    load_all(micro)
    return micro


def load_all(micro, table=TABLE):
    for block, content in BLOCKS.items():
        micro.load(block, content, table if block == "model" else None, ignore)


def test_it_says_what_it_is_and_what_it_holds(board):
    micro = client_of(board)
    described = micro.describe().answer
    assert (described.firmware, described.protocol, described.times) == ("edgebench-coral-micro", 1, "pass")
    assert described.held() == {"model": None, "scene": None, "images": None}
    load_all(micro)
    described = micro.describe().answer
    assert all(described.held().values())
    assert described.model.input_bytes == 12 and described.model.classes == 5
    assert np.float32(described.model.input_scale) == np.float32(1 / 127.5)
    assert (described.model.input_type, described.model.output_type) == ("int8", "int8")


def test_a_pass(loaded):
    run = loaded.run(3, 1.0)
    moments = [run.start_ns, *run.stamps_ns.ravel().tolist(), run.end_ns]
    assert run.stamps_ns.shape == (3, 2, 2) and moments == sorted(moments)
    assert np.array_equal(run.scores, dequantised(due_scores(PATCHES[:3])))


def test_predictions(loaded):
    assert np.array_equal(loaded.predict(2, 1.0), dequantised(due_scores(PATCHES[2:])))


def test_a_table_for_each_channel(board):
    micro = client_of(board)
    table = TABLE + TABLE[::-1] + bytes(256)
    load_all(micro, table)
    assert np.array_equal(micro.run(4, 1.0).scores, dequantised(due_scores(PATCHES, table)))


def test_scores_in_float32(board_of):
    micro = client_of(board_of(FloatEngine))
    load_all(micro)
    assert np.array_equal(micro.run(4, 1.0).scores, due_scores(PATCHES).astype(np.float32) / 256)


def test_a_pass_over_the_end_of_the_clock(board_of):
    micro = client_of(board_of(clock_us=TURN - 1))
    load_all(micro)
    assert micro.run(4, 1.0).end_ns % (TURN * 1000) < 60 * 10**9


def test_what_is_there_is_not_sent_again(board, loaded):
    again = client_of(board)
    for block, content in BLOCKS.items():
        table = TABLE if block == "model" else None
        assert again.load(block, content, table, ignore) == 0


def test_a_block_in_many_pieces_goes_on_where_it_was_left(board):
    micro = client_of(board)
    piece_bytes = micro.describe().answer.piece_bytes
    content = bytes(range(251)) * (piece_bytes * 3 // 251)
    board.befall("load", lambda exchange: exchange.send(b"{}"), skip=2)
    with pytest.raises(micro_faults.BadReply):
        micro.load("scene", content, None, ignore)
    assert client_of(board).load("scene", content, None, ignore) == len(content) - 2 * piece_bytes
    assert micro.describe().answer.scene is not None


def test_a_lost_answer_of_the_last_piece(board):
    board.befall("load", lambda exchange: exchange.reset(), skip=1)
    micro = client_of(board)
    micro.load("model", MODEL[:1000], TABLE, ignore)
    assert micro.describe().answer.model is not None


def test_a_model_that_is_refused_says_why(board):
    with pytest.raises(micro_faults.ModelRefused, match="not a flatbuffer"):
        client_of(board).load("model", SumEngine.REFUSED, TABLE, ignore)
    assert client_of(board).describe().answer.model is None


def test_what_does_not_fit(board_of):
    with pytest.raises(micro_faults.ModelTooLarge):
        client_of(board_of(room={"scene": 100})).load("scene", bytes(101), None, ignore)


def test_a_pass_over_nothing(board):
    with pytest.raises(micro_faults.NothingLoaded):
        client_of(board).run(1, 1.0)


def test_an_inference_that_fails(board, loaded):
    board.firmware.invoke_fails = True
    with pytest.raises(micro_faults.Refused) as caught:
        loaded.run(1, 1.0)
    assert (caught.value.code, "Edge TPU" in caught.value.fix) == (-32005, True)
    board.firmware.invoke_fails = False
    assert len(loaded.run(4, 1.0).scores) == 4


def test_a_restart_is_noticed(board, loaded):
    board.firmware.restart()
    with pytest.raises(micro_faults.BoardRestarted):
        loaded.run(1, 1.0)
