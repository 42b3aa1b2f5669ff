"""What the firmware's core answers to bodies that are no calls: strict JSON, strict JSON-RPC."""

import json

import pytest

GOOD = {"jsonrpc": "2.0", "id": 1, "method": "describe", "params": [{}]}


def body(**change):
    call = GOOD | change
    return json.dumps({name: value for name, value in call.items() if value is not None}).encode()


def code(answer):
    assert answer["jsonrpc"] == "2.0"
    return answer["error"]["code"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"nul",
        b"{",
        b'{"id":1',
        b'{"id":1,}',
        b'{"id" 1}',
        b"{id:1}",
        b"[1,]",
        b"[1 2]",
        b"{}{}",
        b"{} x",
        b"01",
        b"+1",
        b"1.",
        b".5",
        b"1e",
        b"-",
        b"NaN",
        b'"a',
        b'"\\',
        b'"\\x"',
        b'"\\u12g4"',
        b'"\\u12',
        b'"a\nb"',
        b'"\xc3\xa9"',
        b'"\x00"',
        b"\xef\xbb\xbf{}",
        b"[[[[[[[1]]]]]]]",
        b"[" * 40_000,
        b'{"a":' * 8000,
    ],
)
@pytest.mark.attack("a board is sent a body that is no JSON, or nested without end: it says so, and goes on")
def test_bodies_that_are_no_json(core, text):
    answer = core.respond(text)
    assert (code(answer), answer["id"]) == (-32700, None)
    assert "result" in core.respond(body())


@pytest.mark.parametrize(
    "text",
    [
        b"null",
        b"7",
        b"[]",
        b'"call"',
        b"true",
        b"false",
        b"-0.5e-3",
        b"[[[[[[1]]]]]]",
        b"{}",
        b"[" + body() + b"]",
        body(jsonrpc=None),
        body(jsonrpc="1.0"),
        body(jsonrpc=2.0),
        body(id=None),
        body(id=-1),
        body(id=1.5),
        body(id=True),
        body(id=[1]),
        body(id=2**32),
        body(id="i" * 65),
        body(method=None),
        body(method=1),
        body(extra=1),
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"describe","params":[{}]}',
    ],
)
def test_json_that_is_no_call(core, text):
    assert code(core.respond(text)) == -32600
    assert "result" in core.respond(body())


@pytest.mark.parametrize("params", [None, {}, [], [[]], [{}, {}], [1], 1, "n", [{}, 1]])
def test_parameters_are_a_list_of_one_object(core, params):
    answer = core.respond(body(params=params))
    assert (code(answer), answer["error"]["data"]) == (-32602, "params")


def test_a_parameter_twice_or_too_many(core):
    twice = core.respond(b'{"jsonrpc":"2.0","id":1,"method":"run","params":[{"n":1,"n":2}]}')
    assert (code(twice), twice["error"]["data"]) == (-32602, "n")
    many = core.respond(body(params=[{f"p{index}": index for index in range(9)}]))
    assert (code(many), many["error"]["data"]) == (-32602, "p8")


@pytest.mark.parametrize("method", ["", "Describe", "describe ", "reset", 'a"b', "x" * 30_000])
def test_methods_that_are_not_there(core, method):
    answer = core.respond(body(method=method))
    assert (code(answer), answer["id"]) == (-32601, 1)


@pytest.mark.parametrize("identity", [0, 1, 2**32 - 1, "a", "", 'quote " and \\ and \n', "i" * 64])
def test_the_id_comes_back(core, identity):
    assert core.respond(body(id=identity))["id"] == identity
    assert core.respond(body(id=identity, method="none"))["id"] == identity


def test_the_id_comes_back_where_the_call_is_wrong(core):
    answer = core.respond(body(id=12, jsonrpc="1.0"))
    assert (code(answer), answer["id"]) == (-32600, 12)


@pytest.mark.parametrize("name", ['q"\\', "n" * 40_000, "", "\u00e9", "\n"])
def test_parameters_of_any_name_are_answered(core, name):
    assert code(core.respond(body(params=[{name: 1}]))) == -32602


def test_spaces_and_order_do_not_matter(core):
    text = b' {\t"params" : [ { } ] ,\r\n "method":"describe" , "id" : 3 , "jsonrpc" : "2.0" } \n'
    assert core.respond(text)["result"]["protocol"] == 1
