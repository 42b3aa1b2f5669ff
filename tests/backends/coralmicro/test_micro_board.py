"""A client and a played board: what it says, blocks in, passes and scores out."""

import base64
import importlib
import json
import socket

import numpy as np
import pytest

from edgebench.link.clock_match import BoardFault
from tests.backends.coralmicro import played_faults as faults
from tests.backends.coralmicro.conftest import HASTY, PATIENT, MicroBoard, board_address, client_of, rpc_call
from tests.backends.coralmicro.played_board import PlayedBoard
from tests.backends.coralmicro.played_engines import FloatEngine, SumEngine
from tests.backends.coralmicro.played_firmware import TURN, PlayedFirmware

micro_faults = importlib.import_module("edgebench.backends.coralmicro.faults")

MODEL = bytes(range(256)) * 12
TABLE = bytes((value - 128) % 256 for value in range(256))
PATCHES = np.random.default_rng(1).integers(0, 256, (4, 12), np.uint8)


def ignore(there, size):
    pass


def due_scores(patches, table=TABLE):
    """Of the cheap engine, by the table."""
    tables = np.frombuffer(table, np.int8).reshape(-1, 256)
    channels = np.arange(12) % 3 % len(tables)
    return np.array([SumEngine(MODEL).infer(tables[channels, patch]) for patch in patches])


def dequantised(raw):
    return ((raw.astype(float) + 128) / 256).astype(np.float32)


@pytest.fixture
def loaded(micro):
    """The client of a board with a model, a scene and images."""
    micro.load("model", MODEL, TABLE, ignore)
    micro.load("scene", PATCHES.tobytes(), None, ignore)
    micro.load("images", PATCHES[2:].tobytes(), None, ignore)
    return micro


def test_it_says_what_it_is(micro):
    described = micro.describe()
    board = described.answer
    assert (board.firmware, board.board, board.times) == (
        "edgebench-coral-micro",
        "Coral Dev Board Micro",
        "pass",
    )
    assert board.held() == {"model": None, "scene": None, "images": None}
    assert described.sent_ns < described.received_ns


def test_a_run(loaded):
    run = loaded.run(3, 1.0)
    assert run.stages == ("preprocess", "infer") and run.stamps_ns.shape == (3, 2, 2)
    taken_ns = [run.start_ns, *run.stamps_ns.ravel(), run.end_ns]
    assert taken_ns == sorted(taken_ns)
    assert run.scores.dtype == np.float32
    assert np.array_equal(run.scores, dequantised(due_scores(PATCHES[:3])))


def test_predictions(loaded):
    scores = loaded.predict(2, 1.0)
    assert np.array_equal(scores, dequantised(due_scores(PATCHES[2:])))
    assert scores.dtype == np.float32 and scores.shape == (2, 5)


def test_a_table_for_each_channel(loaded):
    table = TABLE + TABLE[::-1] + bytes(256)
    loaded.load("model", MODEL[1:], table, ignore)
    assert np.array_equal(loaded.predict(2, 1.0), dequantised(due_scores(PATCHES[2:], table)))


def test_scores_in_float32():
    with PlayedBoard(PlayedFirmware(FloatEngine)) as board:
        micro = client_of(board)
        micro.load("model", MODEL, TABLE, ignore)
        micro.load("images", PATCHES.tobytes(), None, ignore)
        scores = micro.predict(4, 1.0)
    assert np.array_equal(scores, due_scores(PATCHES).astype(np.float32) / 256)


def test_firmware_that_times_inference_alone():
    with PlayedBoard(PlayedFirmware(times="inference")) as board:
        micro = client_of(board)
        micro.load("model", MODEL, TABLE, ignore)
        micro.load("scene", PATCHES.tobytes(), None, ignore)
        assert micro.run(4, 1.0).stamps_ns.shape == (4, 1, 2)


def test_a_run_over_the_end_of_the_clock():
    firmware = PlayedFirmware(least_us=2_000)
    with PlayedBoard(firmware) as board:
        micro = client_of(board)
        micro.load("model", MODEL, TABLE, ignore)
        micro.load("scene", PATCHES.tobytes(), None, ignore)
        board.before("run", lambda: turn_soon(firmware))
        run = micro.run(4, 1.0)
    assert run.start_ns < TURN * 1000 < run.end_ns
    taken_ns = [run.start_ns, *run.stamps_ns.ravel(), run.end_ns]
    assert taken_ns == sorted(taken_ns)
    assert 4 * 2 * 2_000 <= (run.end_ns - run.start_ns) // 1000 < TURN // 2


def turn_soon(firmware):
    """The clock is about to wrap; nothing else changes."""
    blocks, engine, table = firmware.blocks, firmware.engine, firmware.table
    firmware.restart(TURN - 3_000)
    firmware.blocks, firmware.engine, firmware.table = blocks, engine, table


# --- loading ---


def test_a_block_goes_in_pieces_and_once(board, micro):
    told = []
    assert micro.load("model", MODEL, TABLE, lambda *progress: told.append(progress)) == 3072
    assert told == [(0, 3072), (1024, 3072), (2048, 3072), (3072, 3072)]
    board.firmware.calls.clear()
    assert client_of(board).load("model", MODEL, TABLE, ignore) == 0
    assert board.firmware.calls == [("describe",), ("load", "model", "begin"), ("describe",)]


def test_a_block_that_was_left_amid_goes_on(board, micro):
    board.befall("load", faults.body(b"{}"), skip=2)
    with pytest.raises(micro_faults.BadReply):
        micro.load("model", MODEL, TABLE, ignore)
    assert client_of(board).load("model", MODEL, TABLE, ignore) == 1024


def test_another_block_takes_its_place(loaded):
    loaded.load("scene", PATCHES[::-1].tobytes(), None, ignore)
    assert np.array_equal(loaded.run(4, 1.0).scores, dequantised(due_scores(PATCHES[::-1])))


@pytest.mark.parametrize("piece_bytes", [1024, 2048, 1 << 20, 1 << 22])
def test_pieces_are_as_large_as_the_board_takes(piece_bytes):
    with PlayedBoard(PlayedFirmware(piece_bytes=piece_bytes)) as board:
        client_of(board).load("scene", bytes(2050), None, ignore)
        pieces = [call for call in board.firmware.calls if call[0] == "load"]
    assert len(pieces) == 1 + -(-2050 // piece_bytes)


@pytest.mark.attack(
    "the answer to a piece of a block is lost: it is asked again, and the board keeps it once"
)
@pytest.mark.parametrize("lost", [faults.hang_up, faults.reset, faults.half, faults.half_without_length])
def test_a_lost_answer_of_a_piece(board, micro, lost):
    board.befall("load", lost, skip=1, times=2)
    assert micro.load("scene", bytes(range(200)) * 12, None, ignore) == 2400
    offsets = [call[2] for call in board.firmware.calls if call[0] == "load"]
    assert offsets == ["begin", 0, 0, 0, 1024, 2048]


@pytest.mark.attack("every answer to a piece of a block is lost: the load ends after three of them")
def test_every_answer_of_a_piece_is_lost(board, micro):
    board.befall("load", faults.hang_up, skip=1, times=9)
    with pytest.raises(micro_faults.LostAnswer):
        micro.load("scene", bytes(100), None, ignore)
    assert board.firmware.calls.count(("load", "scene", 0)) == 3


@pytest.mark.attack(
    "a byte of a block flips on its way to a board: its hash differs, and it is sent once more"
)
def test_a_flipped_byte(board, micro):
    board.firmware.flips = 1
    micro.load("model", MODEL, TABLE, ignore)
    assert board.firmware.calls.count(("load", "model", 0)) == 2
    assert board.firmware.describe({})["model"]["sha256"]


@pytest.mark.attack("bytes of a block flip each time that it is sent: the load ends and says that it did")
def test_bytes_that_go_on_flipping(board, micro):
    board.firmware.flips = 99
    with pytest.raises(micro_faults.HashDiffers) as fault:
        micro.load("model", MODEL, TABLE, ignore)
    assert fault.value.status == "load_failed" and "cable" in fault.value.fix
    assert board.firmware.calls.count(("load", "model", 0)) == 2


@pytest.mark.attack("the answer that says that a block's hash differs is lost: the block is sent once more")
def test_the_lost_answer_of_a_hash_that_differs(board, micro):
    board.firmware.flips = 1
    board.befall("load", faults.hang_up, skip=3)
    micro.load("model", MODEL, TABLE, ignore)
    assert board.firmware.calls.count(("load", "model", 0)) == 2


def test_a_model_that_the_interpreter_refuses(micro):
    with pytest.raises(micro_faults.ModelRefused, match="not a flatbuffer") as fault:
        micro.load("model", SumEngine.REFUSED, TABLE, ignore)
    assert fault.value.status == "load_failed"


def test_what_does_not_fit():
    with PlayedBoard(PlayedFirmware(room={"scene": 100})) as board:
        with pytest.raises(micro_faults.ModelTooLarge) as fault:
            client_of(board).load("scene", bytes(101), None, ignore)
        assert fault.value.status == "out_of_memory" and "100" in fault.value.why


# --- restarts ---


@pytest.mark.attack("a board restarts during a load: it ends and says so, and a new load succeeds")
def test_a_restart_amid_a_load(board, micro):
    board.before("load", board.firmware.restart, skip=2)
    with pytest.raises(micro_faults.BoardRestarted, match="restarted") as fault:
        micro.load("model", MODEL, TABLE, ignore)
    assert fault.value.status == "crash" and "0 bytes of the model" in fault.value.why
    assert micro.load("model", MODEL, TABLE, ignore) == len(MODEL)


@pytest.mark.attack("a board restarts between passes: the next one ends and says so")
@pytest.mark.parametrize("method", ["run", "predict"])
def test_a_restart_between_passes(board, loaded, method):
    board.before(method, board.firmware.restart)
    with pytest.raises(micro_faults.BoardRestarted, match="restarted"):
        getattr(loaded, method)(2, 1.0)


@pytest.mark.attack("a board restarts between two looks at it: the next one ends and says so")
def test_a_restart_between_two_looks(board, loaded):
    board.firmware.restart()
    with pytest.raises(micro_faults.BoardRestarted) as fault:
        loaded.describe()
    assert "model" in fault.value.why and "scene" in fault.value.why
    assert loaded.describe().answer.model is None


@pytest.mark.attack("a board's clock restarts though nothing was loaded: the next look ends and says so")
@pytest.mark.parametrize("clock_us", [0, 60_000_000, TURN - 60_000_000])
def test_a_clock_that_begins_anew(board, micro, clock_us):
    micro.describe()
    board.firmware.restart(clock_us)
    with pytest.raises(micro_faults.BoardRestarted, match="restarted") as fault:
        micro.describe()
    assert "clock" in fault.value.why
    micro.describe()


@pytest.mark.attack("a board, or its model, is another one at the next look: the fault says by what")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": "2.0"}, "its version is 2.0 now, and was 1.0"),
        ({"tpu": "Edge TPU at 500 MHz"}, "its tpu is Edge TPU at 500 MHz"),
        ({"times": "inference"}, "its times is inference"),
        ({"images_bytes": 0}, "its images_bytes is 0"),
        ({"model": lambda model: {**model, "output_scale": 0.5}}, "its model's output_scale is 0.5"),
    ],
)
def test_a_board_that_is_another_one(board, loaded, changes, words):
    loaded.describe()
    board.befall("describe", faults.edited(**changes))
    with pytest.raises(micro_faults.BoardRestarted) as fault:
        loaded.describe()
    assert words in fault.value.why
    loaded.describe()


def test_a_clock_that_wraps_is_no_restart():
    with PlayedBoard(PlayedFirmware(clock_us=TURN - 1)) as board:
        micro = client_of(board)
        micro.describe()
        micro.describe()


def test_nothing_loaded_is_no_restart(micro):
    for method in ("run", "predict"):
        with pytest.raises(micro_faults.NothingLoaded):
            getattr(micro, method)(1, 1.0)
    micro.load("model", MODEL, TABLE, ignore)
    with pytest.raises(micro_faults.NothingLoaded, match="no scene"):
        MicroBoard(micro._client).run(1, 1.0)


def test_more_patches_than_there_are(loaded):
    with pytest.raises(micro_faults.ModelTooLarge, match="more patches than are loaded") as fault:
        loaded.run(5, 1.0)
    assert fault.value.data == "4"


def test_an_inference_that_fails(board, loaded):
    board.firmware.invoke_fails = True
    with pytest.raises(micro_faults.Refused) as fault:
        loaded.run(1, 1.0)
    assert fault.value.code == -32005 and fault.value.status == "error"


# --- what comes instead of an answer ---


@pytest.mark.attack(
    "a board stalls, drips or hangs during an answer: the call ends in its time and says what it waited"
)
@pytest.mark.parametrize("fault", [faults.stall, faults.stall_amid, faults.drip, faults.drip_headers])
def test_an_answer_that_does_not_come(board, fault):
    board.befall("describe", fault)
    with pytest.raises(micro_faults.CallStalled, match=r"within 0\.3 s") as stalled:
        client_of(board, HASTY).describe()
    assert stalled.value.status == "timeout"


ENDLESS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"
"""http.client takes this chunk's length for that of all that comes."""

BROKEN = [
    (faults.half, "LostAnswer", "bytes are missing"),
    (faults.half_without_length, "LostAnswer", "lacks its end"),
    (faults.reset, "LostAnswer", "reset"),
    (faults.reset_amid, "LostAnswer", "reset"),
    (faults.hang_up, "LostAnswer", "without an answer"),
    (faults.raw(b"\x00\x01SSH-2.0\r\n\r\n"), "BadReply", "BadStatusLine"),
    (faults.raw(b"HTTP/1.0 200 OK\r\nContent-Length: 99999999\r\n\r\n"), "BadReply", "announces 99,999,999"),
    (faults.body(b" " * 10_000), "BadReply", "announces 10,000"),
    (faults.raw(b"HTTP/1.0 200 OK\r\n\r\n" + b" " * 10_000), "BadReply", "more than"),
    (faults.raw(b"HTTP/1.0 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"), "BadReply", "headers"),
    (faults.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "LostAnswer", "chunk"),
    (faults.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}"), "LostAnswer", "chunk"),
    (faults.raw(ENDLESS + b" " * (1 << 20)), "BadReply", "goes on"),
    (faults.raw(b"HTTP/1.1 100 Continue\r\n\r\n" * (1 << 13)), "BadReply", "goes on"),
    (faults.status(404), "BadReply", "Not Found"),
    (faults.status(500), "BadReply", "Internal Server Error"),
    (faults.status(204), "BadReply", "No Content"),
    (faults.status(302, "http://127.0.0.1:1/x"), "BadReply", "redirects are not followed"),
    (faults.status(307, "file:///etc/passwd"), "BadReply", "redirects are not followed"),
    (faults.body(b""), "BadReply", "empty"),
    (faults.body(b"<html>router</html>"), "BadReply", "<html>router"),
    (faults.body(b"\xff\xfe{}"), "BadReply", "no JSON"),
    (faults.body(b"[]"), "BadReply", "it is"),
    (faults.body(b"7"), "BadReply", "it is"),
    (faults.body(b'{"id":1}'), "BadReply", "not one of"),
    (faults.body(b'{"id":1,"result":{},"error":{}}'), "BadReply", "not one of"),
    (faults.body(b'{"id":1,"result":{},"jsonrpc":"1.0"}'), "BadReply", "it is"),
    (faults.body(b'{"id":1,"result":{"us":NaN}}'), "BadReply", "no JSON"),
    (faults.body(b'{"id":1,"result":{"us":-Infinity}}'), "BadReply", "Infinity"),
    (faults.body(b'{"id":1e999,"result":{}}'), "BadReply", "1 was due"),
    (faults.body(b'{"id":1,"result":{"us":' + b"1" * 5000 + b"}}"), "BadReply", "out of range"),
    (faults.body(b'{"id":1,"result":' + b"[" * 300 + b"]" * 300 + b"}"), "BadReply", "recursion limit"),
    (faults.body(b'{"id":1,"result":' + b"[" * 4000 + b"]" * 4000 + b"}"), "BadReply", "recursion limit"),
    (faults.body(b'{"id":1,"result":{}} {}'), "BadReply", "trailing"),
    (faults.body(b'{"id":1,"error":"no"}'), "BadReply", "its error"),
    (faults.body(b'{"id":1,"error":{"code":true,"message":""}}'), "BadReply", "its error"),
    (faults.body(b'{"id":1,"error":{"code":-1e3,"message":""}}'), "BadReply", "its error"),
    (faults.body(b'{"id":1,"error":{"code":-32002}}'), "BadReply", "its error"),
    (faults.body(b'{"id":1,"error":{"code":-31000,"message":"x"}}'), "BadReply", "-31000"),
    (faults.body(b'{"id":2,"result":{}}'), "BadReply", "its id is 2, 1 was due"),
    (faults.body(b'{"id":"1","result":{}}'), "BadReply", "1 was due"),
    (faults.body(b'{"id":true,"result":{}}'), "BadReply", "1 was due"),
    (faults.body(b'{"id":1.0,"result":{}}'), "BadReply", "1 was due"),
    (faults.body(b'{"id":null,"result":{}}'), "BadReply", "1 was due"),
    (faults.body(b'{"result":{}}'), "BadReply", "1 was due"),
    (faults.body(b'{"id":7,"error":{"code":-32601,"message":"x"}}'), "BadReply", "1 was due"),
    (faults.body(b'{"id":null,"error":{"code":-32700,"message":"x"}}'), "Refused", ""),
    (
        faults.body(b'{"id":1,"error":{"code":-32601,"message":"method not found"}}'),
        "OtherFirmware",
        "describe",
    ),
    (faults.body(b'{"id":1,"result":{}}'), "OtherFirmware", "firmware"),
    (faults.edited(firmware="camera"), "OtherFirmware", "`camera` 1.0"),
    (faults.edited(protocol=2), "OtherFirmware", "protocol 2"),
    (faults.edited(us="5"), "BadReply", "us:"),
    (faults.edited(us=-1), "BadReply", "us:"),
    (faults.edited(us=TURN), "BadReply", "us:"),
    (faults.edited(us=1.0), "BadReply", "us:"),
    (faults.edited(clock_bits=64), "BadReply", "clock_bits:"),
    (faults.edited(times="windows"), "BadReply", "times:"),
    (faults.edited(piece_bytes=1023), "BadReply", "piece_bytes:"),
    (faults.edited(scene="f" * 63), "BadReply", "scene:"),
    (faults.edited(model=[]), "BadReply", "model"),
    (faults.edited(temperature_c=1e9), "BadReply", "temperature_c:"),
    (faults.edited(board="x" * 201), "BadReply", "board:"),
    (faults.answered(lambda answer: answer.update(result=[])), "BadReply", "result:"),
]


@pytest.mark.attack(
    "what answers breaks off, is no HTTP, JSON or JSON-RPC, another call's answer, other firmware, or has "
    "fields of wrong types and ranges: each ends by its name"
)
@pytest.mark.parametrize(("fault", "name", "words"), BROKEN)
def test_a_broken_answer(board, micro, fault, name, words):
    board.befall("describe", fault)
    with pytest.raises(getattr(micro_faults, name)) as broken:
        micro.describe()
    assert type(broken.value).__name__ == name
    assert words in broken.value.why
    assert broken.value.fix and len(str(broken.value)) < 1000
    micro.describe()  # the next call is another connection


@pytest.mark.attack("a board's firmware says in its name where it is: no record of it has the address")
def test_a_board_that_says_its_address(board, micro):
    host, _, _ = board.address.partition(":")
    board.befall("describe", faults.edited(board=f"at http://{host}/", cpu=f"{host}1", tpu=f"({host})"))
    told = micro.describe().answer
    assert (told.board, told.cpu, told.tpu) == ("at http://(host)/", f"{host}1", "((host))")


@pytest.mark.attack("a board's words steer the terminal: they are shown without")
def test_words_that_steer(board, micro):
    evil = "\x1b]0;x\x07\u202e\n"
    answer = {"id": 1, "error": {"code": -32000, "message": evil, "data": {"x": evil}}}
    board.befall("describe", faults.body(json.dumps(answer).encode()))
    with pytest.raises(micro_faults.Refused) as fault:
        micro.describe()
    assert not set(fault.value.what + fault.value.why) & set("\x1b\x07\u202e\n")
    board.befall("describe", faults.edited(firmware=evil))
    with pytest.raises(micro_faults.OtherFirmware) as other:
        micro.describe()
    assert not set(other.value.why) & set("\x1b\x07\u202e\n")


def base64_of(data):
    return base64.b64encode(data).decode()


def stamps(*values):
    return base64_of(np.array(values, "<u4").tobytes())


BROKEN_RUNS = [
    (faults.edited(n=1), "n: 1 patches, 2 were asked for"),
    (faults.edited(n=3), "n: 3 patches"),
    (faults.edited(n=True), "n:"),
    (faults.edited(stamps="AAA"), "stamps: 3 characters"),
    (faults.edited(stamps=lambda text: text[:-4]), "stamps: 28 characters"),
    (faults.edited(stamps=lambda text: "!" + text[1:]), "stamps: no base64"),
    (faults.edited(stamps=lambda text: "é" + text[1:]), "stamps: no base64"),
    (faults.edited(stamps=lambda text: text[:-2] + "=="), "stamps: 22 bytes, 24 were due"),
    (faults.edited(stamps=[]), "stamps:"),
    (faults.edited(start_us=0, end_us=9, stamps=stamps(1, 2, 3, 2, 5, 6)), "patch 1 run backwards"),
    (faults.edited(start_us=3, end_us=9, stamps=stamps(1, 4, 5, 6, 7, 8)), "patch 0 run backwards"),
    (faults.edited(start_us=1, end_us=7, stamps=stamps(1, 4, 5, 6, 7, 8)), "patch 1 run backwards"),
    (faults.edited(start_us=-1), "start_us:"),
    (faults.edited(end_us=1e3), "end_us:"),
    (faults.edited(scores="AAAA"), "scores: 4 characters"),
    (faults.edited(scores=lambda text: text[:-4] + "===="), "scores:"),
]


@pytest.mark.attack(
    "a board's pass has another number of patches, stamps that run backwards or last longer than the call, "
    "or broken base64: it is refused"
)
@pytest.mark.parametrize(("fault", "words"), BROKEN_RUNS)
def test_a_broken_run(board, loaded, fault, words):
    board.befall("run", fault)
    with pytest.raises(micro_faults.BadReply) as broken:
        loaded.run(2, 1.0)
    assert words in broken.value.why
    assert loaded.run(2, 1.0).stamps_ns.shape == (2, 2, 2)


@pytest.mark.attack("a board's scores are not numbers: they are refused")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_numbers(value):
    scores = np.zeros((2, 5), "<f4")
    scores[1, 3] = value
    with PlayedBoard(PlayedFirmware(FloatEngine)) as board:
        micro = client_of(board)
        micro.load("model", MODEL, TABLE, ignore)
        micro.load("images", PATCHES.tobytes(), None, ignore)
        board.befall("predict", faults.edited(scores=base64_of(scores.tobytes())))
        with pytest.raises(micro_faults.BadReply) as fault:
            micro.predict(2, 1.0)
    assert "those of patch 1 are not finite" in fault.value.why


@pytest.mark.attack(
    "a board's clock runs a thousand times too fast, or falls by a bit: its passes are refused"
)
def test_a_clock_that_runs_too_fast(board, loaded):
    board.befall("run", faults.edited(start_us=9, end_us=8, stamps=stamps(9, 9, 9, 9, 9, 9)))
    for clock_speed in (1.0, 1000.0):
        board.firmware.clock_speed = clock_speed
        with pytest.raises(BoardFault, match="further apart than its answer took"):
            loaded.run(2, 1.0)
    with pytest.raises(micro_faults.BoardRestarted) as restarted:
        loaded.describe()
    assert "does not count microseconds" in restarted.value.why


MODEL_FIELDS = [
    ("sha256", "f" * 64),
    ("input_bytes", 0),
    ("input_type", "float32"),
    ("input_scale", 0),
    ("input_zero_point", 128),
    ("output_scale", 0),
    ("output_scale", 1e31),
    ("output_zero_point", -129),
    ("output_type", "int16"),
    ("classes", 10_001),
    ("classes", 0),
    ("edgetpu", None),
]


@pytest.mark.attack("a board describes a model that cannot be, or another than was loaded: the load ends")
@pytest.mark.parametrize(("field", "value"), MODEL_FIELDS)
def test_a_model_that_cannot_be(board, micro, field, value):
    micro.describe()
    board.befall("describe", faults.edited(model=lambda model: {**model, field: value}))
    with pytest.raises(micro_faults.BadReply) as fault:
        micro.load("model", MODEL, TABLE, ignore)
    assert "model" in fault.value.why


@pytest.mark.attack("a board says that it holds more, or less, than it was sent: the load ends")
@pytest.mark.parametrize(
    ("skip", "held", "words"),
    [
        (0, 101, "101 bytes of a scene of 100"),
        (0, -1, "held:"),
        (1, 99, "99 bytes behind"),
        (1, "100", "held:"),
    ],
)
def test_a_board_that_counts_wrong(board, micro, skip, held, words):
    board.befall("load", faults.edited(held=held), skip=skip)
    with pytest.raises(micro_faults.BadReply) as fault:
        micro.load("scene", bytes(100), None, ignore)
    assert words in fault.value.why


# --- nobody there ---


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        micro = MicroBoard(rpc_call.RpcClient(board_address(address), PATIENT))
        with pytest.raises(micro_faults.NobodyAnswers) as fault:
            micro.describe()
    assert address in fault.value.what and fault.value.status == "lost_connection"
    assert "flash EdgeBench's firmware" in fault.value.fix


@pytest.mark.attack("an address takes connections and never answers one: the call ends in its time")
def test_a_listener_that_takes_no_connection():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = board_address(f"127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(micro_faults.CallStalled):
            MicroBoard(rpc_call.RpcClient(address, HASTY)).describe()


@pytest.mark.attack("a board's name is never resolved, or to nothing: the call ends in its time")
def test_a_name_that_is_not_resolved(monkeypatch, board):
    http_call = importlib.import_module("edgebench.backends.coralmicro.http_call")
    micro = MicroBoard(rpc_call.RpcClient(board_address("nobody.invalid"), rpc_call.Limits(connect_s=0.1)))
    answers = {0: lambda: board.ended.wait(60), socket.AI_NUMERICHOST: lambda: False}

    def getaddrinfo(*_, flags, **__):
        answers[flags]()
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(http_call.socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(micro_faults.NobodyAnswers, match=r"nobody\.invalid") as fault:
        micro.describe()
    assert "within 0.1 s" in fault.value.why
    answers[0] = answers[socket.AI_NUMERICHOST]
    with pytest.raises(micro_faults.NobodyAnswers) as fault:
        micro.describe()
    assert "Name or service not known" in fault.value.why


@pytest.mark.attack("the environment names a proxy: no call to a board goes through it")
def test_no_proxy_is_taken(monkeypatch, micro):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert micro.describe().answer.protocol == 1
