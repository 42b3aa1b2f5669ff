"""An agent that says nonsense of its board: what cannot be held is a protocol error, in words."""

import json
import sys
from pathlib import Path

import pytest

from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.board_findings import board_findings
from edgebench.link.local import LocalLink
from edgebench.link.session_loop import Timeouts
from edgebench.records.board_facts import BoardFacts
from edgebench.results.redaction import PrivateNames

AGENT = """
import os, struct, sys
from edgebench.agent.frames import FrameStream
stream = FrameStream(0, os.dup(1))
facts = open(sys.argv[0] + ".json", "rb").read()
while True:
    frame = stream.read()
    if frame is None: break
    asked = frame.message["id"]
    if frame.message["op"] == "facts":
        text = b'{"re": %d, "facts": %s}' % (asked, facts)
        os.write(1, struct.pack(">4sHHIQ", b"EdBn", 1, 0, len(text), 0) + text)
    else:
        stream.write({"re": asked, "protocol": 1, "python": "3.11", "platform": "x", "pid": 1, "held": True})
"""


@pytest.fixture
def described(tmp_path: Path):
    """What a device says whose agent sends these facts, as they are."""

    def describe(facts: str):
        script = tmp_path / "agent.py"
        script.write_text(AGENT)
        (tmp_path / "agent.py.json").write_text(facts)
        device = AgentDevice(LocalLink(script, sys.executable), (Path("runner.py"),), Timeouts(), locks=False)
        try:
            return device.describe()
        finally:
            device.close()

    return describe


REFUSED = "protocol error in words"
NESTED = '{"board": ' + "[" * 250 + "]" * 250 + "}"


def attack(what: str, facts: str, why: str):
    return pytest.param(facts, why, id=what, marks=pytest.mark.attack(f"a board {what}: {REFUSED}"))


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        attack("nests its facts 250 deep", NESTED, "nested more than 32 deep"),
        attack("runs at NaN MHz", '{"clock_now_mhz": NaN}', "the number nan"),
        attack("runs at 1e999 MHz", '{"clock_now_mhz": 1e999}', "the number inf"),
        attack("has 2^80 bytes of memory", json.dumps({"memory_bytes": 2**80}), "more than 64 bits"),
        attack("gives a list for its facts", "[1]", "without facts"),
    ],
)
def test_facts_that_cannot_be_held(described, facts, why):
    with pytest.raises(SessionError, match="an unexpected answer") as caught:
        described(facts)
    assert caught.value.status == "protocol_error"
    assert why in caught.value.why


@pytest.mark.attack("a board has lone surrogates in its facts: they are kept as their escapes")
def test_lone_surrogates_are_escapes(described):
    facts = described(r'{"board": "Nano\udce9", "private": {"home": "/home/\udce9"}, "\udce9": 1}')
    assert facts["board"] == r"Nano\udce9"
    assert r"\udce9" in facts
    json.dumps(facts, ensure_ascii=False).encode()
    assert PrivateNames.of(private=facts["private"]).text(r"in /home/\udce9/x") == "in ~/x"


@pytest.mark.attack("a board has facts of the wrong kinds: they are ignored")
def test_facts_of_the_wrong_kinds_count_for_nothing(described):
    wrong = {name: [{"x": None}] for name in BoardFacts.model_fields}
    facts = described(json.dumps({**wrong, "private": [1], "link": "ssh", "absent": 5}))
    assert facts["link"] == "this machine"
    known = BoardFacts.of(facts).model_dump()
    assert all(value is None for value in known.values())
    board_findings(facts)
