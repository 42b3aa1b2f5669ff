"""Whatever bytes a board's answer is made of: an answer, or a fault by its name."""

import importlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.coralmicro.conftest import PATIENT, MicroBoard, board_address, rpc_call
from tests.backends.coralmicro.played_firmware import PlayedFirmware

http_call = importlib.import_module("edgebench.backends.coralmicro.http_call")
micro_faults = importlib.import_module("edgebench.backends.coralmicro.faults")

RIGHT = json.dumps({"id": 1, "result": PlayedFirmware().describe({})}).encode()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def describe(body):
    """By a client whose HTTP brings this body; None where the client names a fault."""

    client = rpc_call.RpcClient(board_address("10.10.10.1"), PATIENT)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(http_call, "post", lambda *_, **__: (body, 1, 2))
        try:
            return MicroBoard(client).describe()
        except micro_faults.MicroFault as fault:
            assert fault.what and fault.fix and "\n" not in fault.what + fault.why
            return None


def test_the_right_bytes():
    assert describe(RIGHT) is not None


@pytest.mark.attack("a board's answer is any bytes: the client names a fault, and nothing else is raised")
@given(st.binary(max_size=200))
def test_any_bytes(body):
    assert describe(body) is None


@pytest.mark.attack("bytes of a board's answer are changed, lost or doubled: it is taken or a fault is named")
@given(st.integers(0, len(RIGHT) - 1), st.integers(0, 40), st.binary(max_size=8))
def test_changed_bytes(start, size, between):
    describe(RIGHT[:start] + between + RIGHT[start + size :])


@pytest.mark.attack("a field of a board's answer is any value: it is taken or a fault is named")
@settings(max_examples=25)
@given(st.sampled_from(sorted(PlayedFirmware().describe({}))), VALUES)
def test_any_value(field, value):
    result = {**PlayedFirmware().describe({}), field: value}
    describe(json.dumps({"id": 1, "result": result}).encode())
    describe(json.dumps({"id": 1, "error": value}).encode())
    describe(json.dumps({"id": value, "result": result}).encode())
