"""Loading blocks into the firmware's core: pieces, hashes, models that are refused."""

import pytest

from tests.backends.coralmicro.firmware.micro_core import (
    IDENTITY_TABLE,
    MEMORY,
    PIECE_BYTES,
    CoreProgram,
    b64,
    mean_model,
    sha256,
)

TABLE = b64(IDENTITY_TABLE)


def begin(core, content, block="scene", **params):
    named = {"block": block, "sha256": sha256(content), "size": len(content)}
    return core.result("load", **named | params)["held"]


def piece(content, offset, end, block="scene", **params):
    named = {"block": block, "sha256": sha256(content), "offset": offset, "data": b64(content[offset:end])}
    return named | params


def held(core, block):
    return core.result("describe")[block]


def test_a_block_comes_in_pieces_and_is_not_asked_for_again(core):
    content = bytes(range(250)) * 20
    assert begin(core, content) == 0
    assert core.result("load", **piece(content, 0, 3001)) == {"held": 3001}
    assert held(core, "scene") is None
    assert begin(core, content) == 3001
    assert core.result("load", **piece(content, 3001, 5000)) == {"held": 5000}
    assert begin(core, content) == 5000
    assert held(core, "scene") == sha256(content)


def test_a_piece_that_is_there_is_acknowledged_and_changes_nothing(core):
    content = bytes(range(200))
    begin(core, content)
    core.result("load", **piece(content, 0, 100))
    assert core.result("load", **piece(content, 0, 100)) == {"held": 100}
    core.result("load", **piece(content, 100, 200))
    assert core.result("load", **piece(content, 100, 200)) == {"held": 200}
    assert held(core, "scene") == sha256(content)


def test_another_hash_or_size_begins_anew(core):
    first, second = bytes(100), bytes(range(100))
    core.load("scene", first)
    assert begin(core, second) == 0
    assert held(core, "scene") is None
    core.result("load", **piece(second, 0, 50))
    assert begin(core, second, size=99) == 0


def test_blocks_are_apart(core):
    core.load("scene", bytes(30))
    core.load("images", bytes(40))
    core.load("model", mean_model())
    described = core.result("describe")
    assert (described["scene"], described["images"]) == (sha256(bytes(30)), sha256(bytes(40)))
    assert described["model"]["sha256"] == sha256(mean_model())


@pytest.mark.attack("a board is sent content of another hash: nothing of it is held")
def test_another_hash_than_was_said(core):
    content = bytes(100)
    begin(core, content, sha256=sha256(b"other"))
    wrong = piece(content, 0, 100, sha256=sha256(b"other"))
    assert core.error("load", **wrong) == (-32003, None)
    assert begin(core, content, sha256=sha256(b"other")) == 0
    assert held(core, "scene") is None


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"block": "flash"}, "block"),
        ({"block": 1}, "block"),
        ({"sha256": "0" * 63}, "sha256"),
        ({"sha256": "A" * 64}, "sha256"),
        ({"size": 0}, "size"),
        ({"size": -1}, "size"),
        ({"size": 1.5}, "size"),
        ({"size": 2**32}, "size"),
        ({"size": "100"}, "size"),
        ({"table": TABLE}, "table"),
        ({"n": 1}, "n"),
    ],
)
def test_beginnings_that_are_none(core, change, param):
    named = {"block": "scene", "sha256": "0" * 64, "size": 100} | change
    assert core.error("load", **named) == (-32602, param)


@pytest.mark.parametrize("missing", ["block", "sha256", "size"])
def test_beginnings_that_lack_something(core, missing):
    named = {"block": "scene", "sha256": "0" * 64, "size": 100}
    del named[missing]
    assert core.error("load", **named) == (-32602, missing)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"offset": 41}, (-32602, "offset")),
        ({"offset": 39}, (-32602, "offset")),
        ({"offset": 2**32 - 1}, (-32602, "offset")),
        ({"offset": -1}, (-32602, "offset")),
        ({"offset": None}, (-32602, "offset")),
        ({"data": b64(bytes(61))}, (-32602, "data")),
        ({"data": ""}, (-32602, "data")),
        ({"data": None}, (-32602, "data")),
        ({"data": "AAAA="}, (-32602, "data")),
        ({"data": "AAA\n"}, (-32602, "data")),
        ({"data": "AA-_"}, (-32602, "data")),
        ({"data": "AAB="}, (-32602, "data")),
        ({"data": "===="}, (-32602, "data")),
        ({"data": "A==="}, (-32602, "data")),
        ({"data": "AA==AAAA"}, (-32602, "data")),
        ({"data": b64(bytes(PIECE_BYTES + 1))}, (-32002, PIECE_BYTES)),
        ({"sha256": "0" * 64}, (-32602, "sha256")),
        ({"size": 100}, (-32602, "size")),
    ],
)
def test_pieces_that_are_none_change_nothing(core, change, error):
    content = bytes(range(100))
    begin(core, content)
    core.result("load", **piece(content, 0, 40))
    assert core.error("load", **piece(content, 40, 100) | change) == error
    assert core.result("load", **piece(content, 40, 100)) == {"held": 100}
    assert held(core, "scene") == sha256(content)


def test_a_piece_of_nothing_that_has_begun(core):
    assert core.error("load", **piece(bytes(9), 0, 9)) == (-32602, "sha256")


@pytest.mark.parametrize("block", ["model", "scene", "images"])
def test_content_that_does_not_fit_leaves_what_is_there(core, block):
    content = mean_model()
    core.load(block, content)
    too_large = {"block": block, "sha256": "0" * 64, "size": MEMORY[block] + 1, "table": TABLE}
    if block != "model":
        del too_large["table"]
    assert core.error("load", **too_large) == (-32002, MEMORY[block])
    assert core.result("describe")[block] is not None
    assert core.load(block, bytes(MEMORY[block] - len(content)) + content).get("error", {}).get("code") in (
        (-32004,) if block == "model" else (None,)
    )


def test_a_model_takes_the_longest_piece(core):
    content = mean_model() + bytes(PIECE_BYTES * 2)
    begin(core, content, "model", table=TABLE)
    assert core.result("load", **piece(content, 0, PIECE_BYTES, "model")) == {"held": PIECE_BYTES}
    assert "error" not in core.load("model", content)
    assert core.result("describe")["model"]["sha256"] == sha256(content)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (b"TFL3" + bytes(100), 'operator "SHAPE" is not in this firmware'),
        (mean_model(input_type="float32"), "int8 or uint8"),
        (mean_model(input_bytes=0), "empty"),
        (mean_model(classes=0), "empty"),
        (mean_model(input_scale=0), "no scale"),
        (mean_model(input_scale=float("nan")), "no scale"),
        (mean_model(output_scale=float("inf")), "no scale"),
    ],
)
@pytest.mark.attack("a board is sent a file that is no model: it says why, and holds none")
def test_models_that_are_refused(core, model, words):
    error = core.load("model", model)["error"]
    assert error["code"] == -32004
    assert words in error["message"]
    assert core.result("describe")["model"] is None
    assert "error" not in core.load("model", mean_model())


def test_a_new_model_takes_the_place_of_the_old_one_from_its_beginning(core):
    core.load("model", mean_model())
    begin(core, mean_model(classes=2), "model", table=TABLE)
    assert core.result("describe")["model"] is None
    assert core.error("run", n=1) == (-32001, None)


@pytest.mark.parametrize(
    "table",
    [None, "", "AAAA", TABLE[:-4], b64(bytes(257)), b64(bytes(512)), b64(bytes(769)), TABLE[:-2] + "-="],
)
def test_tables_that_are_none(core, table):
    named = {"block": "model", "sha256": "0" * 64, "size": 10}
    params = named if table is None else named | {"table": table}
    assert core.error("load", **params) == (-32602, "table")


def test_a_table_by_channel_takes_an_input_of_three_channels(core):
    by_channel = bytes(768)
    assert core.load("model", mean_model(input_bytes=13), by_channel)["error"]["code"] == -32004
    model = mean_model(input_bytes=13)
    assert "error" not in core.load("model", model)
    named = {"block": "model", "sha256": sha256(model), "size": len(model), "table": b64(by_channel)}
    assert core.error("load", **named) == (-32602, "table")
    assert "error" not in core.load("model", mean_model(input_bytes=15), by_channel)


@pytest.mark.parametrize(
    "size", [1, 2, 3, 54, 55, 56, 57, 63, 64, 65, 118, 119, 120, 121, 127, 128, 129, 447, 1000, 2999, 3000]
)
def test_hashes_of_all_lengths_and_splits(core_program, size):
    content = bytes((index * index + 7) % 256 for index in range(size))
    with CoreProgram(core_program) as core:
        for split in sorted({1, size // 3 + 1, size}):
            core.load("scene", b"another")
            begin(core, content)
            for offset in (0, split) if split < size else (0,):
                core.result("load", **piece(content, offset, split if offset == 0 else size))
            assert held(core, "scene") == sha256(content)
