"""Agents that are not there, not agents, silent, or of another version."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from edgebench.agent.frames import Frame
from edgebench.errors import UnavailableError, UsageError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.connection import Connection, LinkLost, NoAnswer
from edgebench.link.local import LocalLink, agent_bytes, agent_file
from edgebench.link.session_loop import Timeouts
from edgebench.session_stages import TIMEOUT

ANSWER = """
import os
from edgebench.agent.frames import FrameStream
stream = FrameStream(0, os.dup(1))
while True:
    frame = stream.read()
    if frame is None: break
    {answer}
"""


def pretend(tmp_path, code):
    """A link whose agent is this code."""
    script = tmp_path / "agent.py"
    script.write_text(code)
    return LocalLink(script, sys.executable)


def unheard(frame: Frame) -> None:
    pytest.fail(f"unasked: {frame}")


def opened(link, **timeouts):
    return AgentDevice(link, (Path("runner.py"),), Timeouts(**timeouts))


@pytest.mark.attack("something else answers than an agent: it is unavailable, with the reason")
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('Welcome to the board!')", "Welcome to the board!"),
        ("import sys; sys.exit('no module named numpy')", "no module named numpy"),
        ("", "ended"),
        (ANSWER.format(answer="stream.write({'re': frame.message['id'], 'protocol': 7})"), "python"),
        (
            ANSWER.format(
                answer="stream.write(dict(re=frame.message['id'], protocol=7, python='3', platform='x'))"
            ),
            "version 7",
        ),
    ],
)
def test_what_is_no_agent_is_unavailable(tmp_path, code, why):
    with pytest.raises(UnavailableError) as caught:
        opened(pretend(tmp_path, code))
    assert why in caught.value.why
    assert caught.value.fix


@pytest.mark.attack("an agent says nothing: it is unavailable after its time")
def test_an_agent_that_says_nothing(tmp_path):
    with pytest.raises(UnavailableError) as caught:
        opened(pretend(tmp_path, "import sys; sys.stdin.read()"), connect=0.2)
    assert "0.2 s" in caught.value.why


def test_a_python_that_does_not_exist(rig):
    with pytest.raises(UnavailableError, match="/no/such/python"):
        rig.device(python="/no/such/python")


@pytest.mark.attack("an agent answers when no call waits any more: the answer goes nowhere")
def test_late_answers_go_to_nobody(tmp_path):
    code = ANSWER.format(
        answer="held = globals().setdefault('held', []); held.append(frame.message['id'])\n"
        "    if len(held) == 2: [stream.write({'re': one}) for one in held]"
    )
    link = pretend(tmp_path, code)
    with contextlib.closing(Connection(link.start(), unheard)) as connection:
        given_up = connection.send({"op": "first"})
        with pytest.raises(NoAnswer):
            connection.wait(given_up, 0.05)
        assert connection.request({"op": "second"}, 30.0).message["re"] == given_up + 1


def test_what_comes_unasked_goes_to_the_listener(tmp_path):
    code = ANSWER.format(
        answer="stream.write({'event': 'news'}, b'xyz'); stream.write({'re': frame.message['id']})"
    )
    heard: list[Frame] = []
    with contextlib.closing(Connection(pretend(tmp_path, code).start(), heard.append)) as connection:
        connection.request({"op": "any"}, 30.0)
    assert [(frame.message, frame.payload) for frame in heard] == [({"event": "news"}, b"xyz")]


def test_a_closed_connection_says_so(tmp_path):
    connection = Connection(pretend(tmp_path, "import sys; sys.stdin.read()").start(), unheard)
    connection.close()
    assert not connection.alive
    connection.poll()
    with pytest.raises(LinkLost):
        connection.send({"op": "any"})
    with pytest.raises(LinkLost):
        connection.wait(1, 1.0)


@pytest.mark.attack("an agent does not end: it is killed")
def test_an_agent_that_does_not_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("edgebench.link.connection.CLOSE_S", 0.1)
    process = pretend(tmp_path, "import time; time.sleep(600)").start()
    Connection(process, unheard).close()
    assert process.returncode == -9


def test_describe_gives_the_boards_facts(device):
    facts = device.describe()
    assert facts["link"] == "this machine"
    assert facts["python"] == ".".join(str(part) for part in sys.version_info[:3])
    assert facts["memory_bytes"] > 1 << 20


def test_the_zipapp_is_stable_and_complete(rig):
    assert agent_bytes() == agent_bytes()
    path, digest = agent_file(rig.cache)
    assert agent_file(rig.cache) == (path, digest)
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "usage: agent serve" in ran.stderr


def test_timeouts_from_the_environment(monkeypatch):
    monkeypatch.delenv(TIMEOUT, raising=False)
    assert Timeouts.from_environment() == Timeouts()
    monkeypatch.setenv(TIMEOUT, "7.5")
    assert Timeouts.from_environment().measure == 7.5
    assert Timeouts.from_environment().stop == Timeouts().stop
    for wrong in ("soon", "0", "-1", "nan", "inf"):
        monkeypatch.setenv(TIMEOUT, wrong)
        with pytest.raises(UsageError, match=f"{TIMEOUT}='{wrong}'"):
            Timeouts.from_environment()
