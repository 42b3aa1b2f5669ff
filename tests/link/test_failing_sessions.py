"""Sessions that end early: each way is distinguished, keeps its stderr, and leaves the device usable."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from edgebench.errors import SessionError
from edgebench.records.model import Artifact
from edgebench.records.session import SessionWindows


def go(device, rig, artifact=None, **chosen):
    with device.session(artifact or rig.artifact(), rig.settings(**chosen)) as session:
        session.golden()
        passes = list(session.measure(rig.plan(passes=1)))
        session.predict(rig.images)
    return session, passes


@pytest.mark.attack(
    "a runtime aborts, crashes, exits, raises or runs out of memory in each stage: each is distinguished"
)
@pytest.mark.parametrize("stage", ["load", "golden", "measure", "predict"])
@pytest.mark.parametrize(
    ("fault", "status", "ended_by", "why"),
    [
        ("abort", "crash", "SIGABRT", "SIGABRT"),
        ("segfault", "crash", "SIGSEGV", "SIGSEGV"),
        ("exit", "crash", None, "exit code 7"),
        ("raise", None, None, "RuntimeError: the toy was asked to fail"),
        ("out_of_memory", "out_of_memory", None, "ran out of memory"),
    ],
)
def test_each_fault_is_told_apart_at_each_stage(rig, device, fault, status, ended_by, why, stage):
    with pytest.raises(SessionError) as caught:
        go(device, rig, fault=fault, fault_stage=stage)
    error = caught.value
    assert error.status == (status or ("load_failed" if stage == "load" else "error"))
    assert error.stage == stage
    assert error.signal == ended_by
    assert why in error.why
    assert "toy: loading" in error.stderr_tail
    assert error.fix


def test_the_device_goes_on_after_a_crash(rig, device):
    with pytest.raises(SessionError):
        go(device, rig, fault="abort")
    assert len(go(device, rig)[1]) >= 2


@pytest.mark.attack("a worker crashes after its passes: they are kept")
def test_what_was_measured_before_a_crash_is_kept(rig, device):
    with (
        pytest.raises(SessionError) as caught,
        device.session(rig.artifact(), rig.settings(fault="segfault", fault_stage="predict")) as session,
    ):
        passes = list(session.measure(rig.plan(passes=1)))
        try:
            session.predict(rig.images)
        finally:
            facts = session.facts()
    assert caught.value.stage == "predict"
    assert len(passes) >= 2
    assert facts.cold.first_pass_s > 0
    assert facts.windows_ns.steady
    assert "toy: loading" in facts.stderr_tail


@pytest.mark.attack("a worker hangs while it loads or measures: it is ended at its limit")
@pytest.mark.parametrize("stage", ["load", "measure"])
def test_a_worker_that_hangs_is_ended(rig, stage):
    opened = rig.device(**{stage: 3.0})
    try:
        agent = psutil.Process(opened._connection._process.pid)
        with pytest.raises(SessionError) as caught:
            go(opened, rig, fault="hang", fault_stage=stage)
        assert (caught.value.status, caught.value.stage) == ("timeout", stage)
        assert "EDGEBENCH_STAGE_TIMEOUT_S" in caught.value.fix
        assert agent.children(recursive=True) == []
    finally:
        opened.close()


@pytest.mark.attack("a runtime prints frames of its own on stdout: no frame breaks")
def test_what_a_runtime_prints_breaks_no_frame(rig, device):
    session, passes = go(device, rig, fault="garbage")
    assert len(passes) >= 2
    assert "this is no frame" in session.facts().stderr_tail


@pytest.mark.attack("a worker writes 4 MB to stderr: the end of it is kept")
def test_a_flood_on_stderr_is_bounded_and_its_end_kept(rig, device):
    session, passes = go(device, rig, fault="stderr_flood", fault_stage="golden")
    assert len(passes) >= 2
    tail = session.facts().stderr_tail
    assert len(tail) <= 65536
    assert "the last line" in tail


@pytest.mark.attack("an artifact is torn: the session says that it cannot be loaded")
def test_an_artifact_that_cannot_be_read(rig, device, tmp_path):
    artifact = rig.artifact()
    broken = tmp_path / "broken.json"
    broken.write_bytes(artifact.path.read_bytes()[:-20])
    record = Artifact.model_validate({**artifact.model_dump(), "path": broken})
    with pytest.raises(SessionError) as caught:
        go(device, rig, artifact=record)
    assert (caught.value.status, caught.value.stage) == ("load_failed", "load")
    assert "JSONDecodeError" in caught.value.why
    assert "Traceback" in caught.value.stderr_tail


@pytest.mark.attack("a worker is killed from outside: a crash with its signal")
def test_a_worker_killed_from_outside_is_a_crash_unless_memory_ran_out(rig, device):
    agent = psutil.Process(device._connection._process.pid)
    with pytest.raises(SessionError) as caught, device.session(rig.artifact(), rig.settings()) as session:
        session.golden()
        os.kill(agent.children()[0].pid, signal.SIGKILL)
        session.golden()
    assert (caught.value.status, caught.value.signal) == ("crash", "SIGKILL")


@pytest.mark.attack("an agent is killed: the session is lost, the next has a new agent")
def test_a_lost_agent_is_a_lost_connection_and_the_next_session_has_a_new_one(rig):
    opened = rig.device()
    try:
        agent = psutil.Process(opened._connection._process.pid)
        with pytest.raises(SessionError) as caught, opened.session(rig.artifact(), rig.settings()) as session:
            [worker] = agent.children()
            agent.kill()
            list(session.measure(rig.plan()))
        assert caught.value.status == "lost_connection"
        assert not psutil.wait_procs([worker], timeout=20)[1]
        assert len(go(opened, rig)[1]) >= 2
    finally:
        opened.close()


HOST = """
import os, sys
from pathlib import Path
from tests.link.rig import make_rig
os.environ["EDGEBENCH_BOARD_DIR"] = os.environ["EDGEBENCH_BOARD_LOCK"] = sys.argv[1]  # the tests hold theirs
rig = make_rig(Path(sys.argv[1]))
device = rig.device()
session = device.session(rig.artifact(), rig.settings(fault="hang", fault_stage="measure"))
session.__enter__()
print(device._connection._process.pid, flush=True)
golden = {"op": "golden", "limit_s": 600, "path": str(rig.images.path)}
session._board.connection.send({"to": "worker", "worker": 0, **golden})
os.read(0, 1)
os.kill(os.getpid(), 9)
"""


@pytest.mark.attack("the harness is killed during a session: agent and worker end")
def test_nothing_survives_a_host_that_is_killed(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as host:
        assert host.stdout
        agent = psutil.Process(int(host.stdout.readline()))
        family = [agent, *agent.children(recursive=True)]
        assert len(family) == 2
    assert host.returncode == -signal.SIGKILL
    assert not psutil.wait_procs(family, timeout=30)[1]


# --- Ctrl-C ---


def interrupting(monkeypatch, session, times):
    """Make the host's waits for the next pass end in KeyboardInterrupt, as a signal makes them."""
    connection = session._board.connection
    receive, send = connection._receive, connection.send
    left = [times]
    in_hand = []

    def sending(message, *payload_and_limit):
        if message["op"] == "pass":
            in_hand.append(True)
        return send(message, *payload_and_limit)

    def interrupted(timeout_s):
        if left[0] and in_hand:
            left[0] -= 1
            raise KeyboardInterrupt
        return receive(timeout_s)

    monkeypatch.setattr(connection, "_receive", interrupted)
    monkeypatch.setattr(connection, "send", sending)


def test_ctrl_c_lets_the_pass_in_hand_end_and_keeps_it(rig, device, monkeypatch, caplog):
    passes = []
    with (
        monkeypatch.context() as patch,
        pytest.raises(KeyboardInterrupt),
        device.session(rig.artifact(), rig.settings()) as session,
    ):
        for measured_pass in session.measure(rig.plan(passes=5)):
            passes.append(measured_pass.phase)
            if passes.count("steady") == 1:
                interrupting(patch, session, times=1)
    assert passes == ["first", "warmup", "steady", "steady"]
    assert session.facts().windows_ns.steady
    assert session.facts().stderr_tail
    assert "the pass in hand is waited for, 30 s at most" in caplog.text


@pytest.mark.attack("Ctrl-C is pressed twice: the session ends at once, what was measured is kept")
def test_a_second_ctrl_c_ends_at_once(rig, device, monkeypatch):
    passes = []
    with (
        monkeypatch.context() as patch,
        pytest.raises(KeyboardInterrupt),
        device.session(rig.artifact(), rig.settings()) as session,
    ):
        for measured_pass in session.measure(rig.plan(passes=5)):
            passes.append(measured_pass.phase)
            if passes.count("steady") == 1:
                interrupting(patch, session, times=2)
    assert passes == ["first", "warmup", "steady"]


@pytest.mark.attack("Ctrl-C meets a pass that never ends: it is not waited for")
def test_ctrl_c_does_not_wait_for_a_pass_that_never_ends(rig):
    opened = rig.device(interrupt=0.1)
    with pytest.MonkeyPatch.context() as patch:
        try:
            with (
                pytest.raises(KeyboardInterrupt),
                opened.session(rig.artifact(), rig.settings(fault="hang")) as session,
            ):
                passes = session.measure(rig.plan())
                session._board.connection.request(
                    {"to": "worker", "worker": 0, "op": "scene", "limit_s": 60, "path": str(rig.scene.path)},
                    60,
                )
                patch.setattr(session._workers[0], "call", lambda *arguments, **more: None)
                interrupting(patch, session, times=1)
                next(passes)
        finally:
            opened.close()
    assert session.facts().windows_ns == SessionWindows()
