"""An agent that reads nothing, floods, never ends, or answers without a question."""

import os
import stat
import sys
import threading
from typing import Any

import pytest

from edgebench import interruption
from edgebench.agent.frames import Frame, ProtocolError
from edgebench.agent.worker import PREDICT_STEP
from edgebench.errors import SessionError, UnavailableError
from edgebench.link import connection as connections
from edgebench.link import connection as pipes
from edgebench.link import ssh
from edgebench.link.clock_match import SessionClock
from edgebench.link.connection import Connection, LinkLost, NoAnswer
from edgebench.link.failures import WorkerEnded
from edgebench.link.local import LocalLink
from edgebench.link.replies import Ended
from edgebench.link.session_loop import Timeouts
from edgebench.link.ssh import SshLink
from edgebench.link.worker import Board, SessionContext, Worker, counted
from edgebench.records.session import SessionSettings
from edgebench.records.target import Launch

LONG_S = 60.0
"""A limit that none of these may reach."""

SPEAKING = """
import os, sys, time
from edgebench.agent.frames import FrameStream
stream = FrameStream(0, os.dup(1))
def asked():
    frame = stream.read()
    if frame is None: sys.exit()
    return frame.message
"""


@pytest.fixture
def hostile(tmp_path):
    """Connections to agents that are this code."""
    opened: list[Connection] = []

    def connect(code, listener=lambda frame: None, stall_s=LONG_S):
        script = tmp_path / f"agent{len(opened)}.py"
        script.write_text(SPEAKING + code)
        connection = Connection(LocalLink(script, sys.executable).start(), listener, stall_s)
        opened.append(connection)
        return connection

    yield connect
    for one in opened:
        one._process.kill()
        one.close()


@pytest.fixture
def small_pipes(monkeypatch):
    monkeypatch.setattr(pipes, "PIPE_BYTES", 4096)


# --- what is never read ---


@pytest.mark.attack("an agent reads nothing during a file: the transfer ends with its reason at the limit")
def test_a_write_that_nobody_takes_in_has_a_limit(hostile, small_pipes):
    stuck = hostile("time.sleep(600)", stall_s=0.3)
    with pytest.raises(NoAnswer, match=r"took in nothing for 0\.3 s"):
        stuck.send({"op": "put"}, bytes(1 << 20))
    assert not stuck.alive  # half a frame is on its way
    with pytest.raises(LinkLost, match="cut short"):
        stuck.send({"op": "tail"})


@pytest.mark.attack("an agent reads a file a little at a time: the transfer ends, as too slow")
def test_a_write_that_is_taken_in_too_slowly_says_so(hostile, small_pipes, monkeypatch):
    monkeypatch.setattr(pipes, "SLOWEST_BYTES_S", 1 << 40)
    slow = hostile(
        "stream.write({'re': asked()['id']})\nwhile True: os.read(0, 4096); time.sleep(0.02)", stall_s=1.0
    )
    slow.request({"op": "tail"}, LONG_S)
    with pytest.raises(NoAnswer, match="took in less than"):
        slow.send({"op": "put"}, bytes(1 << 20))


@pytest.mark.attack("an agent reads a file slowly and says a great deal meanwhile: the file arrives")
def test_a_slow_reader_that_speaks_is_not_stuck(hostile, small_pipes, monkeypatch):
    code = """
left = 600_000
while left > 0:
    left -= len(os.read(0, 60_000))
    stream.write({"event": "news"}, bytes(30_000))
stream.write({"re": 1})
time.sleep(600)
"""
    heard: list[Frame] = []
    slow = hostile(code, heard.append, stall_s=20.0)
    assert slow.request({"op": "put"}, LONG_S, bytes(600_000)).message == {"re": 1}
    assert sum(len(frame.payload) for frame in heard) >= 300_000
    assert slow.pipes.longest_stall_s > 0


@pytest.mark.attack("Ctrl-C while an agent reads nothing: the thread that writes ends at once")
def test_an_interrupt_wakes_a_write(hostile, small_pipes):
    caught = []
    with interruption.Interrupts() as interrupts:

        def write():
            with interruption.heard_here(interrupts):
                stuck = hostile("time.sleep(600)")
                try:
                    stuck.send({"op": "put"}, bytes(1 << 20))
                except KeyboardInterrupt:
                    caught.append(stuck.alive)

        thread = threading.Thread(target=write)
        thread.start()
        interrupts.pass_on()
        thread.join(LONG_S)
        assert not thread.is_alive()
    assert caught == [False]


@pytest.fixture
def fake_ssh(tmp_path, monkeypatch):
    """An `ssh` whose connection stands, and whose board is this code."""

    def make(code):
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "ssh"
        program.write_text(
            f"#!{sys.executable}\nimport json, os, sys, time\n"
            "if 'exec cat' in sys.argv[-1]:\n"
            f"    print({ssh.READY!r}, flush=True)\n    sys.stdin.read()\n    sys.exit()\n"
            "def say(**words): print('edgebench-board:' + json.dumps(words), flush=True)\n"
            f"{code}"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        agent = tmp_path / "agent.pyz"
        agent.write_bytes(bytes(3 << 20))
        return SshLink("board", agent, "0" * 64, timeout_s=0.7)

    return make


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param(
            "sys.stdin.buffer.readline()\nfor _ in range(1000): say(state='send')\ntime.sleep(600)",
            "read nothing in time",
            marks=pytest.mark.attack(
                "a board asks for the agent again and again and never reads: it is unavailable, with why"
            ),
        ),
        pytest.param(
            "sys.stdin.buffer.readline()\nsay(state='send')\nsys.stdin.buffer.read(3 << 20)\n"
            "for _ in range(1000): say(state='send')\ntime.sleep(600)",
            "again and again",
            marks=pytest.mark.attack(
                "a board takes the agent and asks for it again: it is unavailable, with why"
            ),
        ),
    ],
)
def test_a_board_that_asks_for_the_agent_for_ever(fake_ssh, code, words):
    link = fake_ssh(code)
    try:
        with pytest.raises(UnavailableError) as caught:
            link.start()
        assert words in str(caught.value)
    finally:
        link.close()


# --- answers to nothing ---

UNASKED = [
    pytest.param(
        "while True: stream.write({'re': 4711})",
        marks=pytest.mark.attack("an agent answers without a question: the session ends, protocol_error"),
    ),
    pytest.param(
        "n = asked()['id']\nwhile True: stream.write({'re': n + 1}); stream.write({'re': [n]})",
        marks=pytest.mark.attack(
            "an agent's answer does not say which request it answers: the session ends, protocol_error"
        ),
    ),
]


@pytest.mark.parametrize("code", UNASKED)
def test_an_answer_to_nothing_ends_a_wait(hostile, code):
    flooding = hostile(code)
    for _ in range(2):  # also where the first to hear of it could not say so
        with pytest.raises(ProtocolError, match="not open"):
            flooding.request({"op": "tail"}, LONG_S)
    assert not flooding.alive


@pytest.mark.attack(
    "an agent answers without a question, heard between two waits: the next wait ends, protocol_error"
)
def test_a_wait_after_nonsense_ends_at_once(hostile):
    broken = hostile("asked(); stream.write({'re': 4711}); time.sleep(600)")
    request = broken.send({"op": "tail"})
    with pytest.raises(ProtocolError, match="not open"):
        broken.listen_until(lambda: False, LONG_S)
    with pytest.raises(ProtocolError, match="not open"):
        broken.wait(request, 0.2)


@pytest.mark.attack("an agent sends news between answers: who listens may fail, and every answer stays")
def test_a_listener_that_fails_loses_no_frame(hostile):
    heard = []

    def listen(frame):
        heard.append(frame.message["event"])
        if heard == ["first"]:
            raise WorkerEnded(Ended())

    agent = hostile(
        "asked(); asked()\n"
        "stream.write({'re': 1, 'progress': 1}); stream.write({'event': 'first'}); stream.write({'re': 1})\n"
        "stream.write({'event': 'second'}); stream.write({'re': 2})\n"
        "time.sleep(600)",
        listen,
    )
    first, second = agent.send({"op": "a"}), agent.send({"op": "b"})
    while len(agent._arrived) < 5:
        assert agent._receive(LONG_S)
    with pytest.raises(WorkerEnded):
        agent.poll()
    assert "progress" in agent.follow({first}, LONG_S).message
    assert agent.follow({first}, LONG_S).message == {"re": first}
    assert agent.wait(second, LONG_S).message == {"re": second}
    assert heard == ["first", "second"]


@pytest.mark.attack("an agent sends faster than the host reads: reading what has come ends all the same")
def test_a_poll_of_a_flood_ends(hostile, monkeypatch):
    monkeypatch.setattr(connections, "POLL_BYTES", 1 << 20)
    heard: list[Frame] = []
    flooding = hostile("while True: stream.write({'event': 'noise'}, bytes(200_000))", heard.append)
    for _ in range(3):
        assert flooding.listen_until(lambda: bool(heard), LONG_S)
        heard.clear()
        flooding.poll()
        assert sum(len(frame.payload) for frame in heard) < 2 << 20
        heard.clear()


@pytest.mark.attack("an agent floods the host with events or progress: a wait ends at its limit")
@pytest.mark.parametrize("words", ["{'event': 'noise'}", "{'re': 1, 'progress': 1}"])
def test_a_flood_renews_no_deadline(hostile, words):
    flooding = hostile(f"asked()\nwhile True: stream.write({words})")
    with pytest.raises(NoAnswer):
        flooding.request({"op": "tail"}, 0.5)


# --- progress ---

PREDICTING = "n = asked()['id']\nend = time.monotonic() + 600\n"
"""What follows has to end the session long before that."""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "while True: stream.write({'re': n, 'progress': 7, 'now_ns': 1}); time.sleep(0.02)",
            marks=pytest.mark.attack(
                "an agent reports the same progress for ever: the stage ends at its limit"
            ),
        ),
        pytest.param(
            "k = 100\nwhile True: k += 1; stream.write({'re': n, 'progress': k, 'now_ns': 1}); "
            "time.sleep(0.02)",
            marks=pytest.mark.attack(
                "an agent predicts more images than there are: the stage ends at its limit"
            ),
        ),
        pytest.param(
            "k = 0\nwhile True: k = min(k + 1, 99); stream.write({'re': n, 'progress': k, 'now_ns': 1}); "
            "time.sleep(0.02)",
            marks=pytest.mark.attack("an agent crawls from image to image: the stage has a longest time"),
        ),
    ],
)
def test_progress_that_is_none_renews_no_deadline(hostile, monkeypatch, code):
    monkeypatch.setattr(SessionClock, "note_reply", lambda self, sent_ns, worker: None)
    agent = hostile(PREDICTING + code)
    unused: Any = None
    board = Board(agent, unused, (), Timeouts(stop=0.2))
    session = SessionContext(board, unused, SessionSettings(1, {}, Launch()))
    worker = Worker(session)
    progress = counted(lambda done, images: None, 100, PREDICT_STEP)
    with pytest.raises(SessionError) as caught, session.faults.at("predict"):
        worker.wait(worker.send("predict", 0.4, {}), 0.4, 0.2, progress)
    assert caught.value.status == "timeout"
    assert progress.done <= 100
