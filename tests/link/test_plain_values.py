"""JSON from a device becomes data that records, tables and pages can hold, or a protocol error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgebench.agent.frames import ProtocolError
from edgebench.link.connection import MAX_DEPTH, plain_message


def nested(depth):
    return json.loads('{"facts": ' + "[" * (depth - 1) + "1" + "]" * (depth - 1) + "}")


TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)


def lists_and_objects(inner):
    return st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)


VALUES = st.recursive(st.none() | st.booleans() | NUMBERS | TEXTS, lists_and_objects, max_leaves=20)


@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_whatever_json_can_carry_stays_as_it_is(message):
    assert plain_message(message) == message


def test_a_lone_surrogate_becomes_its_escape_in_texts_and_keys():
    message = json.loads(r'{"facts": {"user\udce9": ["\ud800x", "caf\u00e9 \ud83d\ude00"]}}')
    plain = plain_message(message)
    assert plain == {"facts": {r"user\udce9": [r"\ud800x", "café 😀"]}}
    json.dumps(plain, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (nested(MAX_DEPTH + 1), "nested more than 32 deep"),
        (nested(250), "nested more than 32 deep"),
        (json.loads('{"rate": NaN}'), "the number nan"),
        (json.loads('{"rate": 1e999}'), "the number inf"),
        ({"bytes": 1 << 64}, "more than 64 bits"),
        ({"bytes": -(1 << 63) - 1}, "more than 64 bits"),
    ],
)
def test_what_cannot_be_held_is_refused_with_the_reason(message, why):
    with pytest.raises(ProtocolError, match=why):
        plain_message(message)


def test_the_bounds_themselves_are_allowed():
    assert plain_message(nested(MAX_DEPTH))
    assert plain_message({"n": 1 << 63})
