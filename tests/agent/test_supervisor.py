"""How long the agent waits for a worker, and that it waits for none that does not read."""

import os
import sys
import time

import pytest

from edgebench.agent import supervisor
from edgebench.agent.children import Child
from edgebench.agent.frames import Frame
from edgebench.agent.supervisor import Supervisor


@pytest.fixture
def serving(tmp_path, monkeypatch):
    """A supervisor beside a worker that neither reads nor says anything, and the time, which stands still."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    into, out = os.pipe(), os.pipe()
    one = Supervisor(into[0], out[1], str(tmp_path), str(tmp_path))
    one._worker = Child([sys.executable, "-c", "import time; time.sleep(600)"], {})
    yield one, now
    one._worker.close()
    for descriptor in (*into, *out):
        os.close(descriptor)


def ask(agent, number):
    agent._handle(Frame({"to": "worker", "op": "predict", "id": number, "limit_s": 10.0}, b""))


@pytest.mark.attack(
    "a runner reports the same progress for ever: the agent ends its worker at the stage's limit"
)
def test_only_what_gets_further_has_its_time_again(serving):
    agent, now = serving
    ask(agent, 1)
    for at, progress, deadline in [
        (1001.0, 5, 1011.0),
        (1002.0, 5, 1011.0),
        (1003.0, 4, 1011.0),
        (1004.0, "9", 1011.0),
        (1005.0, float("nan"), 1011.0),
        (1006.0, 6, 1016.0),
    ]:
        now[0] = at
        agent._renew({"re": 1, "progress": progress})
        assert agent._worker_deadline == deadline
    agent._renew({"re": 1})
    assert agent._worker_deadline is None


def test_an_answer_ends_the_watch_when_nothing_else_was_asked(serving):
    agent, _ = serving
    ask(agent, 1)
    ask(agent, 2)
    agent._renew({"re": 1})
    assert agent._worker_deadline == 1010.0
    agent._renew({"re": 2})
    assert agent._worker_deadline is None


@pytest.mark.attack(
    "a worker stops reading its requests: the agent goes on answering, and ends it at the limit"
)
def test_a_worker_that_does_not_read_blocks_no_agent(serving):
    agent, _ = serving
    for number in range(3):
        agent._handle(Frame({"to": "worker", "id": number, "limit_s": 10.0}, bytes(1 << 20)))
    assert agent._worker.flush()  # the rest waits
    assert agent._worker_deadline == 1010.0


@pytest.mark.attack(
    "a runner floods a host that has stopped: it has to wait, and the agent's memory stays bounded"
)
def test_what_a_host_does_not_read_is_bounded(serving, monkeypatch):
    agent, _ = serving
    monkeypatch.setattr(supervisor, "MOST_WAITING_BYTES", 1 << 20)
    agent._watch(agent._worker, "worker")
    agent._send({}, bytes(2 << 20))  # nobody reads
    for _ in range(2):
        agent._hold_back()
        assert agent._worker.stdout not in agent._selector.get_map()
        assert agent._worker.stderr in agent._selector.get_map()
    agent._host_out.drop()
    agent._hold_back()
    assert agent._worker.stdout in agent._selector.get_map()
    agent._send({}, bytes(2 << 20))
    agent._hold_back()
    agent._forget(agent._worker)
    agent._host_out.drop()
    agent._hold_back()  # a worker that has ended meanwhile is not read again
    assert all(callable(key.data) for key in agent._selector.get_map().values())
