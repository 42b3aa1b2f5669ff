"""How long the agent waits for each worker, and that it waits for none that does not read."""

import os
import sys
import time

import psutil
import pytest

from edgebench.agent import supervisor
from edgebench.agent.children import Child, DescriptorWatch
from edgebench.agent.frames import Frame
from edgebench.agent.supervisor import Supervisor
from edgebench.agent.worker_slots import WorkerSlots


@pytest.fixture
def now(monkeypatch):
    """The time, which stands still."""
    moment = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    return moment


@pytest.fixture
def sent():
    """What the host is sent."""
    return []


@pytest.fixture
def slots(now, sent):
    """Two slots, each with a worker that neither reads nor says anything."""
    watch = DescriptorWatch()
    both = WorkerSlots(watch, lambda message, payload: sent.append(message), lambda: 4711)
    for number in (0, 1):
        slot = both.named({"worker": number})
        slot.worker = Child([sys.executable, "-c", "import time; time.sleep(600)"], {}, slot.hear)
        watch.add_child(slot.worker)
    yield both
    for slot in both.values():
        slot.close()


def ask(slot, number):
    slot.ask({"to": "worker", "op": "predict", "id": number, "limit_s": 10.0}, b"")


@pytest.mark.attack(
    "a runner reports the same progress for ever: the agent ends its worker at the stage's limit"
)
def test_only_what_gets_further_has_its_time_again(slots, now):
    slot = slots.named({"worker": 0})
    ask(slot, 1)
    for at, progress, deadline in [
        (1001.0, 5, 1011.0),
        (1002.0, 5, 1011.0),
        (1003.0, 4, 1011.0),
        (1004.0, "9", 1011.0),
        (1005.0, float("nan"), 1011.0),
        (1006.0, 6, 1016.0),
    ]:
        now[0] = at
        slot.renew({"re": 1, "progress": progress})
        assert slots.deadlines() == [deadline]
    slot.renew({"re": 1})
    assert slots.deadlines() == []


def test_an_answer_ends_the_watch_when_nothing_else_was_asked(slots):
    slot = slots.named({"worker": 0})
    ask(slot, 1)
    ask(slot, 2)
    slot.renew({"re": 1})
    assert slot.deadline == 1010.0
    slot.renew({"re": 2})
    assert slot.deadline is None


def test_each_worker_has_its_own_deadline_and_its_own_end(slots, now, sent):
    # This process stands for the agent, and may have children that no worker left behind, such as an sshd.
    children_of_other_tests = {child.pid for child in psutil.Process().children()}
    late, answering = (slots.named({"worker": number}) for number in (0, 1))
    for slot in (late, answering):
        ask(slot, 1)
    answering.hear(Frame({"re": 1}, b""))
    assert sent == [{"re": 1, "now_ns": 4711, "asked_ns": 4711, "worker": 1}]
    assert slots.deadlines() == [1010.0]
    late.kill_if_late(1010.0)
    answering.kill_if_late(1010.0)
    late.worker._process.wait(30)
    slots.collect_the_ended(children_of_other_tests)
    assert [(end["event"], end["worker"], end["timed_out"]) for end in sent[1:]] == [("ended", 0, True)]
    assert list(slots.running()) == [1] and answering.stderr_tail == ""
    with pytest.raises(RuntimeError, match="slot 1"):
        answering.start({"worker": 1})
    ask(late, 2)  # nobody is there any more
    assert sent[-1]["event"] == "ended" and sent[-1]["worker"] == 0


@pytest.mark.parametrize("number", [-1, 64, "0", None, 1.0, [0]])
def test_what_names_no_slot_is_refused(slots, number):
    with pytest.raises(ValueError):
        slots.named({"worker": number})


@pytest.mark.attack(
    "a worker stops reading its requests: the agent goes on answering, and ends it at the limit"
)
def test_a_worker_that_does_not_read_blocks_no_agent(slots):
    slot = slots.named({"worker": 0})
    for number in range(3):
        slot.ask({"to": "worker", "id": number, "limit_s": 10.0}, bytes(1 << 20))
    assert slot.worker.flush()  # the rest waits
    assert slot.deadline == 1010.0


@pytest.mark.attack(
    "a runner floods a host that has stopped: it has to wait, and the agent's memory stays bounded"
)
def test_what_a_host_does_not_read_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "MOST_WAITING_BYTES", 1 << 20)
    into, out = os.pipe(), os.pipe()
    agent = Supervisor(into[0], out[1], str(tmp_path), str(tmp_path))
    monkeypatch.setattr(agent, "_silent_at", lambda: 0.0)  # it handles what is there and does not sleep
    flood = (
        "from edgebench.agent.frames import FrameStream\nframes = FrameStream(0, 1)\n"
        "while True: frames.write({}, bytes(1 << 16))"
    )
    slot = agent._workers.named({"worker": 0})
    slot.worker = Child([sys.executable, "-c", flood], {}, slot.hear)
    agent._watch.add_child(slot.worker)
    try:
        over = time.monotonic() + 30
        while agent._host_out.waiting_bytes <= 1 << 20 and time.monotonic() < over:
            agent._turn()
        held = agent._host_out.waiting_bytes
        assert held > 1 << 20
        for _ in range(3):
            agent._turn()
        assert agent._host_out.waiting_bytes == held  # the worker has more to say, and nobody reads it
        agent._host_out.drop()
        while not agent._host_out.waiting_bytes and time.monotonic() < over:
            agent._turn()
        assert agent._host_out.waiting_bytes
    finally:
        slot.close()
        for descriptor in (*into, *out):
            os.close(descriptor)
