"""Random and mutated calls into the firmware's core, under sanitizers; all answers have to be JSON."""

import json
import random

import pytest

from tests.backends.coralmicro.firmware.micro_core import IDENTITY_TABLE, CoreProgram, b64, mean_model, sha256

CODES = {-32700, -32600, -32601, -32602, -32001, -32002, -32003, -32004, -32005}
TOKENS = [
    *(
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\\",
        b"\\u0041",
        b"0",
        b"-1",
        b"1e9",
        b"null",
        b"true",
        b"=",
    ),
    *(b"4294967295", b"4294967296", b"18446744073709551616", b'"n"', b'"offset"', b"\x00", b"\xff", b" "),
]


def sound_call(draw, number):
    content = draw.choice([bytes(12), bytes(range(36)), bytes(3000)])
    model = draw.choice(
        [mean_model(), mean_model(classes=3, fails_at=0), b"no model", mean_model(input_bytes=13)]
    )
    table = draw.choice([IDENTITY_TABLE, IDENTITY_TABLE * 3])
    block = draw.choice(["model", "scene", "images"])
    data = model if block == "model" else content
    offset = draw.choice([0, 0, 0, 6, len(data) - 1])
    begin = {"block": block, "sha256": sha256(data), "size": len(data)}
    if block == "model":
        begin["table"] = b64(table)
    piece = {"block": block, "sha256": sha256(data), "offset": offset, "data": b64(data[offset:])}
    method, params = draw.choice(
        [
            *(("load", begin), ("load", piece), ("load", begin), ("load", piece), ("describe", {})),
            *(("run", {"n": draw.randrange(4)}), ("predict", {"n": draw.randrange(4)})),
        ]
    )
    call = {"jsonrpc": "2.0", "id": number, "method": method, "params": [params]}
    return json.dumps(call).encode()


def mutated(draw, body):
    body = bytearray(body)
    for _ in range(draw.choice([0, 0, 1, 1, 2, 5])):
        start = draw.randrange(len(body) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            body[start:start] = draw.choice(TOKENS)
        elif kind == 1:
            del body[start : start + draw.choice([1, 2, 8, 200])]
        elif kind == 2 and start < len(body):
            body[start] = draw.randrange(256)
        else:
            end = start + draw.randrange(20)
            body[start:start] = body[start:end] * draw.choice([1, 1, 50])
    return bytes(body)


def run(core_program, calls, seed):
    draw = random.Random(seed)
    counts = {"result": 0, "error": 0}
    codes = set()
    with CoreProgram(core_program) as core:
        for number in range(calls):
            answer = core.respond(mutated(draw, sound_call(draw, number)))
            assert answer["jsonrpc"] == "2.0"
            kind = "result" if "result" in answer else "error"
            counts[kind] += 1
            if kind == "error":
                assert answer["error"]["code"] in CODES
                codes.add(answer["error"]["code"])
    assert min(counts.values()) > calls / 10
    return codes


@pytest.mark.attack(
    "a host sends a Dev Board Micro random and mutated calls: each is answered in JSON, none crashes it"
)
def test_some_calls(core_program):
    assert run(core_program, 8000, 1) == CODES


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_many_calls(core_program, seed):
    assert run(core_program, 100_000, seed) == CODES
